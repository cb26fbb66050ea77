"""Sends new records of the log to every open page as server-sent events."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path

from hookline.apps.ui.records import row_of
from hookline.errors import HooklineError
from hookline.log.read.entry import LogEntry, LogQuery
from hookline.log.read.reader import LogReader
from hookline.protocol.text.json_text import stringify_json

_POLL_S = 0.3
# A page with a longer backlog reloads the newest records.
_MAX_QUEUED = 1000
_BEAT_S = 15.0


class _EndedError(Exception):
    """No page is open."""


class Live:
    """Follows the log in one thread for all pages; the thread runs while a page is open."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._pages: dict[asyncio.Queue[LogEntry | None], LogQuery] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = threading.Event()
        self._is_closed = False

    async def stream(self, query: LogQuery) -> AsyncGenerator[bytes, None]:
        """Yield the events for one page, until it disconnects or the server ends."""
        queue: asyncio.Queue[LogEntry | None] = asyncio.Queue(_MAX_QUEUED)
        self._join(queue, query)
        try:
            yield b": hello\n\n"
            while not self._is_closed:
                entries = await _next_entries(queue)
                if None in entries:
                    yield b"event: reload\ndata: {}\n\n"
                elif entries:
                    rows = stringify_json([row_of(entry) for entry in entries if entry is not None])
                    yield b"event: rows\ndata: " + rows + b"\n\n"
                else:
                    yield b": heartbeat\n\n"
        finally:
            self._leave(queue)

    def close(self) -> None:
        """End every stream, so that the server can end."""
        self._is_closed = True
        self._stop.set()
        for queue in self._pages:
            _offer(queue, None)

    def _join(self, queue: "asyncio.Queue[LogEntry | None]", query: LogQuery) -> None:
        self._pages[queue] = query
        if len(self._pages) == 1:
            self._loop, self._stop = asyncio.get_running_loop(), threading.Event()
            threading.Thread(target=self._follow, args=(self._stop,), name="hookline-ui-log", daemon=True).start()

    def _leave(self, queue: "asyncio.Queue[LogEntry | None]") -> None:
        self._pages.pop(queue, None)
        if not self._pages:
            self._stop.set()

    def _follow(self, stop: threading.Event) -> None:
        batch: list[LogEntry] = []

        def wait() -> None:
            if batch and self._loop is not None:
                with suppress(RuntimeError):  # the loop has ended
                    self._loop.call_soon_threadsafe(self._send, tuple(batch))
                batch.clear()
            if stop.wait(_POLL_S):
                raise _EndedError

        with suppress(_EndedError):
            while True:
                with suppress(HooklineError), LogReader(self._log) as reader:
                    for entry in reader.follow(LogQuery(), wait=wait):
                        batch.append(entry)  # noqa: PERF402 - `wait` sends it in between
                wait()  # a log that can't be read now may be readable later

    def _send(self, entries: tuple[LogEntry, ...]) -> None:
        for queue, query in self._pages.items():
            for entry in filter(query.wants, entries):
                _offer(queue, entry)


def _offer(queue: "asyncio.Queue[LogEntry | None]", entry: LogEntry | None) -> None:
    if queue.full():
        while not queue.empty():
            queue.get_nowait()
        entry = None
    queue.put_nowait(entry)


async def _next_entries(queue: "asyncio.Queue[LogEntry | None]") -> list[LogEntry | None]:
    """Return the queued entries, or an empty list after a while."""
    entries: list[LogEntry | None] = []
    with suppress(TimeoutError):
        async with asyncio.timeout(_BEAT_S):
            entries.append(await queue.get())
    while not queue.empty():
        entries.append(queue.get_nowait())
    return entries
