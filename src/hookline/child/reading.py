"""Reads what a child writes."""

import os
from collections.abc import Callable

import msgspec

from hookline.child.watch import Watcher

# What a pipe holds; a larger buffer would be mapped and unmapped for each read.
_READ_BYTES = 1 << 16
_READS_IN_A_ROW = range(16)
_CRUMB_BYTES = 1 << 15


class Stream(msgspec.Struct, eq=False):
    """Our end of a pipe that a child writes to, and what is kept of it."""

    fd: int
    """Negative when it is closed."""
    room: int
    """How many bytes more are kept."""
    is_cut: bool = False
    first: bytes = b""
    """What was read first; a short answer is nothing but that."""
    pieces: list[bytes] | None = None
    crumbs: bytearray | None = None
    watcher: Watcher | None = None

    def watch(self, watcher: Watcher, ready: Callable[[], None]) -> None:
        """Has `ready` called while there is something to read, until it is closed."""
        if self.fd >= 0:
            watcher.reads(self.fd, ready)
            self.watcher = watcher

    def reads(self) -> bool:
        """Reads once; False at the end."""
        try:
            data = os.read(self.fd, _READ_BYTES)
        except BlockingIOError:
            return True
        if data:
            self._keep(data)
        return bool(data)

    def reads_to_the_end(self) -> bool:
        """Reads what an ended process left in its pipe, and closes it; False if somebody else holds it open."""
        if self.fd < 0:
            return True
        try:
            for _ in _READS_IN_A_ROW:
                if not (data := os.read(self.fd, _READ_BYTES)):
                    self.close()
                    return True
                self._keep(data)
        except BlockingIOError:
            pass
        return False

    def close(self) -> None:
        """Reads no more; a second call does nothing."""
        if self.fd >= 0:
            if self.watcher is not None:
                self.watcher.forget(self.fd)
            os.close(self.fd)
            self.fd = -1

    def kept(self) -> bytes:
        """Everything that was read, up to the limit."""
        if self.pieces is None or self.crumbs is None:
            return self.first
        return b"".join((self.first, *self.pieces, self.crumbs))

    def _keep(self, data: bytes) -> None:
        if len(data) > self.room:
            self.is_cut = True
            data = data[: self.room]
        self.room -= len(data)
        if self.first:
            self._keep_more(data)
        else:
            self.first = data

    def _keep_more(self, data: bytes) -> None:
        # Crumbs are collected, because each of them lies in a block as large as the read; large pieces stay apart,
        # because one buffer that grows with them would be copied again and again.
        if self.pieces is None or self.crumbs is None:
            self.pieces, self.crumbs = [], bytearray()
        if len(data) < _CRUMB_BYTES:
            self.crumbs += data
            if len(self.crumbs) < _READ_BYTES:
                return
            data = b""
        if self.crumbs:
            self.pieces.append(bytes(self.crumbs))
            self.crumbs.clear()
        if data:
            self.pieces.append(data)
