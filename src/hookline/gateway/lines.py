"""Lines from and to pipes, in the event loop; a reader stops while what it reads can't be passed on."""

import asyncio
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from hookline.protocol.text.strings import visible_json

LIMIT = 64 * 1024 * 1024
"""The longest line, in bytes."""

_KEPT = 1024
_CHUNK = 1 << 18


class LongLine(Protocol):
    """Called in place of a line that is too long."""

    def __call__(self, beginning: bytes, end: bytes, limit: int, /) -> None:
        """Takes its first and its last bytes."""


class LineReader(asyncio.Protocol):
    """Splits what a pipe gives into lines; blank ones are left out."""

    def __init__(self, on_line: Callable[[bytes], None], on_long_line: LongLine, limit: int = LIMIT) -> None:
        self._on_line = on_line
        self._on_long_line = on_long_line
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._transport: asyncio.ReadTransport | None = None
        self.ended = asyncio.Event()

    async def read(self, fd: int) -> None:
        """Begins to read a descriptor, which is closed in the end."""
        file = os.fdopen(fd, "rb", buffering=0)
        if _is_always_ready(fd):
            # A loop can't wait for it, and need not.
            while data := file.read(_CHUNK):
                self.data_received(data)
                await asyncio.sleep(0)
            file.close()
            self.connection_lost(None)
        else:
            self._transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: self, file)

    def data_received(self, data: bytes) -> None:
        """Takes what was read."""
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._finish(data[start:end])
            start = end + 1
        if start < len(data):
            self._keep(data[start:])

    def connection_lost(self, exc: Exception | None) -> None:
        """Takes the end: the last line may have no line feed."""
        del exc
        if not self.ended.is_set():
            self._finish(b"")
            self.ended.set()

    def pause(self) -> None:
        """Stops reading for a while."""
        if self._transport is not None and self._transport.is_reading():
            self._transport.pause_reading()

    def resume(self) -> None:
        """Goes on reading."""
        if self._transport is not None and not self._transport.is_closing() and not self._transport.is_reading():
            self._transport.resume_reading()

    def close(self) -> None:
        """Stops reading."""
        if self._transport is not None:
            self._transport.close()

    def _keep(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size > self._limit:
            joined = b"".join(self._parts)
            self._parts = [joined[:_KEPT], joined[-_KEPT:]]

    def _finish(self, last: bytes) -> None:
        size = self._size + len(last)
        line = b"".join((*self._parts, last)) if self._parts else last
        self._parts, self._size = [], 0
        if size > self._limit:
            self._on_long_line(line[:_KEPT], line[-_KEPT:], self._limit)
        elif line and not line.isspace():
            self._on_line(line)


def _is_always_ready(fd: int) -> bool:
    """True for files, and for devices such as /dev/null."""
    mode = os.fstat(fd).st_mode
    return stat.S_ISREG(mode) or (stat.S_ISCHR(mode) and not os.isatty(fd))


class LineWriter(asyncio.BaseProtocol):
    """Writes lines to a pipe; when the other end is gone they are dropped."""

    def __init__(self) -> None:
        self._fd = -1
        self._transport: asyncio.WriteTransport | None = None
        self._is_terminal = False
        self.source: LineReader | None = None
        """Waits while the pipe is full."""
        self.lost = asyncio.Event()

    async def open(self, fd: int) -> None:
        """Begins to write to a descriptor, which is closed in the end."""
        self._fd = fd
        self._is_terminal = os.isatty(fd)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            file = os.fdopen(fd, "wb", buffering=0)
            self._transport, _ = await asyncio.get_running_loop().connect_write_pipe(lambda: self, file)

    def write(self, line: bytes) -> None:
        """Writes a line; texts of strangers in it are made harmless for a terminal."""
        if self._is_terminal:
            line = visible_json(line.decode("utf-8", "replace")).encode()
        if self._transport is None:
            with suppress(OSError):
                os.write(self._fd, line + b"\n")
        elif not self._transport.is_closing():
            self._transport.write(line + b"\n")

    def pause_writing(self) -> None:
        """Called when the pipe is full."""
        if self.source is not None:
            self.source.pause()

    def resume_writing(self) -> None:
        """Called when there is room again."""
        if self.source is not None:
            self.source.resume()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called when nobody reads any more."""
        del exc
        self.resume_writing()
        self.lost.set()

    async def close(self, wait_s: float) -> None:
        """Closes the pipe when everything has been written, or after this time."""
        if self._transport is None:
            return
        self._transport.close()
        try:
            async with asyncio.timeout(wait_s):
                await self.lost.wait()
        except TimeoutError:
            self._transport.abort()
