"""Reads lines from pipes and writes lines to pipes on the event loop, with backpressure."""

import asyncio
import os
import stat
from collections.abc import Callable
from contextlib import suppress

from hookline.protocol.text.strings import visible_json

LIMIT = 64 * 1024 * 1024
"""The longest line, in bytes."""

_END_BYTES = 1024
_CHUNK = 1 << 18

OnLongLine = Callable[[bytes, bytes, int], None]
"""Called with the first and the last bytes of a line that is longer than the limit, and the limit."""


class LineReader(asyncio.Protocol):
    """Splits the data of a pipe into lines, without blank ones."""

    def __init__(self, on_line: Callable[[bytes], None], on_long_line: OnLongLine, limit: int = LIMIT) -> None:
        self._on_line = on_line
        self._on_long_line = on_long_line
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._transport: asyncio.ReadTransport | None = None
        self.ended = asyncio.Event()

    async def read(self, fd: int) -> None:
        """Start to read a file descriptor, and take ownership of it."""
        file = os.fdopen(fd, "rb", buffering=0)
        if _is_always_ready(fd):
            # The event loop can't poll it.
            while data := file.read(_CHUNK):
                self.data_received(data)
                await asyncio.sleep(0)
            file.close()
            self.connection_lost(None)
        else:
            self._transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: self, file)

    def data_received(self, data: bytes) -> None:
        """Handle data of the pipe."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._finish(line)
        if rest:
            self._keep(rest)

    def connection_lost(self, exc: Exception | None) -> None:
        """Handle EOF: the last line may have no line feed."""
        del exc
        if not self.ended.is_set():
            self._finish(b"")
            self.ended.set()

    def pause(self) -> None:
        """Stop reading until `resume`."""
        if self._transport is not None and self._transport.is_reading():
            self._transport.pause_reading()

    def resume(self) -> None:
        """Continue to read."""
        if self._transport is not None and not self._transport.is_closing() and not self._transport.is_reading():
            self._transport.resume_reading()

    def close(self) -> None:
        """Close the pipe."""
        if self._transport is not None:
            self._transport.close()

    def _keep(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size > self._limit:
            joined = b"".join(self._parts)
            self._parts = [joined[:_END_BYTES], joined[-_END_BYTES:]]

    def _finish(self, last: bytes) -> None:
        size = self._size + len(last)
        line = b"".join((*self._parts, last)) if self._parts else last
        self._parts, self._size = [], 0
        if size > self._limit:
            self._on_long_line(line[:_END_BYTES], line[-_END_BYTES:], self._limit)
        elif line and not line.isspace():
            self._on_line(line)


def _is_always_ready(fd: int) -> bool:
    """True for files, and for devices such as /dev/null."""
    mode = os.fstat(fd).st_mode
    return stat.S_ISREG(mode) or (stat.S_ISCHR(mode) and not os.isatty(fd))


class LineWriter(asyncio.BaseProtocol):
    """Writes lines to a pipe, and drops them once the other end is closed."""

    def __init__(self) -> None:
        self._fd = -1
        self._transport: asyncio.WriteTransport | None = None
        self._is_terminal = False
        self._source: LineReader | None = None
        self.lost = asyncio.Event()

    async def open(self, fd: int, source: LineReader) -> None:
        """Start to write to a file descriptor, and take ownership of it; a full pipe pauses `source`."""
        self._fd, self._source = fd, source
        self._is_terminal = os.isatty(fd)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            file = os.fdopen(fd, "wb", buffering=0)
            self._transport, _ = await asyncio.get_running_loop().connect_write_pipe(lambda: self, file)

    def write(self, line: bytes) -> None:
        """Write a line; on a terminal, control characters in it are escaped."""
        if self._is_terminal:
            line = visible_json(line.decode("utf-8", "replace")).encode()
        if self._transport is None:
            with suppress(OSError):
                os.write(self._fd, line + b"\n")
        elif not self._transport.is_closing():
            self._transport.write(line + b"\n")

    def pause_writing(self) -> None:
        """Handle a full pipe."""
        if self._source is not None:
            self._source.pause()

    def resume_writing(self) -> None:
        """Handle a pipe that is no longer full."""
        if self._source is not None:
            self._source.resume()

    def connection_lost(self, exc: Exception | None) -> None:
        """Handle a closed pipe."""
        del exc
        self.resume_writing()
        self.lost.set()

    async def close(self, timeout_s: float) -> None:
        """Flush and close the pipe; after the timeout, unwritten lines are dropped."""
        if self._transport is None:
            return
        self._transport.close()
        if not await wait_for_any(self.lost, timeout_s=timeout_s):
            self._transport.abort()


async def wait_for_any(*events: asyncio.Event, timeout_s: float | None = None) -> bool:
    """Wait until one of the events is set. Return False on timeout."""
    tasks = [asyncio.create_task(event.wait()) for event in events]
    try:
        done, _ = await asyncio.wait(tasks, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
    return bool(done)
