"""Reads what a child writes."""

import os
from collections.abc import Callable

from hookline.child.watch import Watcher

# What a pipe holds; a larger buffer would be mapped and unmapped for each read.
_READ_BYTES = 1 << 16
_READS_IN_A_ROW = range(16)
_CRUMB_BYTES = 1 << 15


class Stream:
    """Our end of a pipe that a child writes to, and what is kept of it."""

    is_cut = False
    _watcher: Watcher | None = None
    # A short answer is nothing but this.
    _first = b""
    _pieces: list[bytes] | None = None
    _crumbs: bytearray | None = None

    def __init__(self, fd: int, limit: int) -> None:
        self.fd = fd
        """Negative when it is closed."""
        self._room = limit

    def watch(self, watcher: Watcher, ready: Callable[[], None]) -> None:
        """Has `ready` called while there is something to read, until it is closed."""
        if self.fd >= 0:
            watcher.reads(self.fd, ready)
            self._watcher = watcher

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
            if self._watcher is not None:
                self._watcher.forget(self.fd)
            # Noted first: after an interruption the number may be somebody else's.
            fd, self.fd = self.fd, -1
            os.close(fd)

    def kept(self) -> bytes:
        """Everything that was read, up to the limit."""
        if self._pieces is None or self._crumbs is None:
            return self._first
        return b"".join((self._first, *self._pieces, self._crumbs))

    def _keep(self, data: bytes) -> None:
        if len(data) > self._room:
            self.is_cut = True
            data = data[: self._room]
        self._room -= len(data)
        if self._first:
            self._keep_more(data)
        else:
            self._first = data

    def _keep_more(self, data: bytes) -> None:
        # Crumbs are collected, because each of them lies in a block as large as the read; large pieces stay apart,
        # because one buffer that grows with them would be copied again and again.
        if self._pieces is None or self._crumbs is None:
            self._pieces, self._crumbs = [], bytearray()
        if len(data) < _CRUMB_BYTES:
            self._crumbs += data
            if len(self._crumbs) < _READ_BYTES:
                return
            data = b""
        if self._crumbs:
            self._pieces.append(bytes(self._crumbs))
            self._crumbs.clear()
        if data:
            self._pieces.append(data)
