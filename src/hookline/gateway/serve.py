"""Serves one client on stdin and stdout until it disconnects, the server ends or a signal arrives."""

import asyncio
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from hookline.client import Hooks, Session
from hookline.client.config import Config
from hookline.gateway.elicitation import Elicitation
from hookline.gateway.guard import ToolGuard
from hookline.gateway.lines import LIMIT, LineReader, LineWriter, wait_for_any
from hookline.gateway.relay import Relay
from hookline.stderr import warn_user

# How long pending requests may take after EOF on stdin.
_FINISH_S = 1.0
_FLUSH_S = 0.5
# How long SessionEnd hooks may take after a signal.
_HURRY_S = 1.0


class UpstreamServer(Protocol):
    """The MCP server behind the gateway: a process or a URL."""

    @property
    def name(self) -> str:
        """Its name, for matchers and messages."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """Its description for hooks."""

    async def open(self, reader: LineReader, source: LineReader) -> None:
        """Connect; `reader` receives the server's messages until EOF, and `source` is paused while `send` blocks."""

    def send(self, line: bytes) -> None:
        """Send a message to it."""

    async def why_ended(self) -> str:
        """Return why there are no more messages, as the end of a sentence."""

    async def close(self, hurry: asyncio.Event) -> None:
        """Close the connection within bounded time, and sooner when `hurry` is set."""


async def serve(config: Config, server: UpstreamServer, *, limit: int = LIMIT) -> int:
    """Serve the client on stdin and stdout, and return the exit code."""
    with Hooks.from_config(config) as hooks, _duplicate_stdio() as (stdin, stdout):
        return await _Gateway(hooks, server, limit).run(stdin, stdout)


@contextmanager
def _duplicate_stdio() -> Iterator[tuple[int, int]]:
    """Duplicate stdin and stdout. The loop makes them non-blocking, which other processes that share them would see."""
    modes = [(fd, os.get_blocking(fd)) for fd in (0, 1)]
    try:
        yield os.dup(0), os.dup(1)
    finally:
        for fd, mode in modes:
            with suppress(OSError):
                os.set_blocking(fd, mode)


class _Gateway:
    def __init__(self, hooks: Hooks, server: UpstreamServer, limit: int) -> None:
        self._server = server
        self._session: Session = hooks.session(agent=f"mcp:{server.name}")
        self._client_out = LineWriter()
        elicitation = Elicitation(self._client_out.write)
        self._guard = ToolGuard(hooks, self._session, server.facts, elicitation)
        self._relay = relay = Relay(self._guard, elicitation, self._client_out.write, server.send)
        self._client_in = LineReader(relay.from_client, relay.long_line_from_client, limit)
        self._server_out = LineReader(relay.from_server, relay.long_line_from_server, limit)
        self._signal: int | None = None
        self._hurry = asyncio.Event()
        """Set by a signal: everything must end quickly."""

    async def run(self, stdin: int, stdout: int) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, self._on_signal, number)
        starting = asyncio.create_task(self._start_session())
        try:
            await self._client_out.open(stdout, self._server_out)
            await self._server.open(self._server_out, self._client_in)
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
        """Wait until the client disconnects, the server ends or a signal arrives. Return True if the server ended."""
        client_gone = (self._client_in.ended, self._client_out.lost, self._hurry)
        await wait_for_any(self._server_out.ended, *client_gone)
        has_ended = self._server_out.ended.is_set() and not self._client_in.ended.is_set()
        if self._server_out.ended.is_set():
            text = f"the MCP server {self._server.name} {await self._server.why_ended()}"
            if has_ended:
                warn_user(text)
            self._relay.server_ended(text)
            # Hooks that judge the last results are limited by their own timeouts.
            await wait_for_any(self._relay.idle, *client_gone)
        await wait_for_any(self._relay.idle, self._client_out.lost, self._hurry, timeout_s=_FINISH_S)
        await self._relay.close()
        return has_ended

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
