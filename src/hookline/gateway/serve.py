"""Serves one client on stdin and stdout until it leaves, the server ends or a signal comes."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from hookline.client import Hooks, Session
from hookline.client.config import Config
from hookline.gateway.asking import Asker
from hookline.gateway.guard import Guard
from hookline.gateway.lines import LIMIT, LineReader, LineWriter
from hookline.gateway.relay import Relay
from hookline.protocol.text.strings import warn_user

# How long requests may still take when the client has closed our stdin.
_FINISH_S = 1.0
_FLUSH_S = 0.5
# How long the hooks of SessionEnd have when somebody waits for us already.
_HURRY_S = 1.0


class Server(Protocol):
    """What is behind the gateway."""

    @property
    def name(self) -> str:
        """Its name, for matchers and messages."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """What hooks are told about it."""

    @property
    def writer(self) -> LineWriter | None:
        """Where its messages are written, if that may have to wait."""

    async def open(self, reader: LineReader) -> None:
        """Begins; the reader gets the server's messages, and ends with them."""

    @property
    def send(self) -> Callable[[bytes], None]:
        """Sends a message to it."""

    async def why_ended(self) -> str:
        """Why there are no more messages, as the end of a sentence."""

    async def close(self, hurry: asyncio.Event) -> None:
        """Ends everything within bounded time, and sooner when `hurry` is set."""


async def serve(config: Config, server: Server, *, limit: int = LIMIT) -> int:
    """Serves the client on our stdin and stdout, and returns the exit code."""
    with Hooks.from_config(config) as hooks, _own_stdio() as (stdin, stdout):
        return await _Gateway(hooks, server, limit).run(stdin, stdout)


@contextmanager
def _own_stdio() -> Iterator[tuple[int, int]]:
    """Copies of stdin and stdout. The loop makes them non-blocking, and others may share them with us."""
    modes = [(fd, os.get_blocking(fd)) for fd in (0, 1)]
    try:
        yield os.dup(0), os.dup(1)
    finally:
        for fd, mode in modes:
            with suppress(OSError):
                os.set_blocking(fd, mode)


class _Gateway:
    def __init__(self, hooks: Hooks, server: Server, limit: int) -> None:
        self._server = server
        self._session: Session = hooks.session(agent=f"mcp:{server.name}")
        self._client_out = LineWriter()
        asker = Asker(self._client_out.write)
        self._guard = Guard(hooks, self._session, server.facts, asker)
        self._relay = relay = Relay(self._guard, asker, self._client_out.write, server.send)
        self._client_in = LineReader(relay.from_client, relay.long_line_from_client, limit)
        self._server_out = LineReader(relay.from_server, relay.long_line_from_server, limit)
        self._signal: int | None = None
        self._hurry = asyncio.Event()
        """Set when we have to end at once."""

    async def run(self, stdin: int, stdout: int) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, self._on_signal, number)
        starting = asyncio.create_task(self._start_session())
        try:
            await self._client_out.open(stdout)
            await self._server.open(self._server_out)
            self._client_out.source = self._server_out
            if self._server.writer is not None:
                self._server.writer.source = self._client_in
            await self._client_in.read(stdin)
            has_ended = await self._until_end()
        finally:
            await asyncio.gather(self._server.close(self._hurry), self._end_session(starting))
            await self._client_out.close(_FLUSH_S)
            self._client_in.close()
        if self._signal is not None:
            return 128 + self._signal
        return 1 if has_ended else 0

    async def _until_end(self) -> bool:
        """Waits until the client leaves, the server ends or a signal comes; True if the server ended by itself."""
        await self._first(self._client_in.ended, self._client_out.lost, self._server_out.ended)
        has_ended = self._server_out.ended.is_set() and not self._client_in.ended.is_set()
        if self._server_out.ended.is_set():
            text = f"the MCP server {self._server.name} {await self._server.why_ended()}"
            if has_ended:
                warn_user(text)
            self._relay.server_ended(text)
            # Hooks that judge the last results have as long as their timeouts allow.
            await self._first(self._relay.idle, self._client_in.ended, self._client_out.lost)
        await self._first(self._relay.idle, self._client_out.lost, timeout_s=_FINISH_S)
        await self._relay.close()
        return has_ended

    async def _first(self, *events: asyncio.Event, timeout_s: float | None = None) -> None:
        """Waits for one of these, or for a signal."""
        tasks = [asyncio.create_task(event.wait()) for event in (*events, self._hurry)]
        try:
            await asyncio.wait(tasks, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()

    async def _start_session(self) -> None:
        try:
            await self._session.__aenter__()
        finally:
            self._guard.start()

    async def _end_session(self, starting: "asyncio.Task[None]") -> None:
        if not starting.done():
            starting.cancel()
            await asyncio.wait({starting}, timeout=_HURRY_S)
        ending = asyncio.create_task(self._session.__aexit__(None, None, None))
        hurry = asyncio.create_task(self._hurry.wait())
        await asyncio.wait({ending, hurry}, return_when=asyncio.FIRST_COMPLETED)
        hurry.cancel()
        _, late = await asyncio.wait({ending}, timeout=_HURRY_S)
        for task in late:
            task.cancel()
            await asyncio.wait({task}, timeout=_HURRY_S)

    def _on_signal(self, number: int) -> None:
        self._signal = self._signal or number
        self._hurry.set()
