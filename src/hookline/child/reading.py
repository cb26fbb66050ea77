"""Reads what a child writes."""

import os

# What a pipe holds; a larger buffer would be mapped and unmapped for each read.
_READ_BYTES = 1 << 16
_READS_IN_A_ROW = range(16)
_CRUMB_BYTES = 1 << 15


class Output:
    """What is kept of one stream."""

    __slots__ = ("_crumbs", "_pieces", "_room", "is_cut")

    def __init__(self, limit: int) -> None:
        self._pieces: list[bytes] = []
        self._crumbs = bytearray()
        self._room = limit
        self.is_cut = False

    def add(self, data: bytes) -> None:
        """Keeps the data as far as there is room."""
        if len(data) > self._room:
            self.is_cut = True
            data = data[: self._room]
        self._room -= len(data)
        # Crumbs are collected, because each of them lies in a block as large as the read; large pieces stay apart,
        # because one buffer that grows with them would be copied again and again.
        if self._pieces and len(data) < _CRUMB_BYTES:
            self._crumbs += data
            if len(self._crumbs) < _READ_BYTES:
                return
            data = b""
        if self._crumbs:
            self._pieces.append(bytes(self._crumbs))
            self._crumbs.clear()
        if data:
            self._pieces.append(data)

    def kept(self) -> bytes:
        """Everything kept."""
        if not self._crumbs and len(self._pieces) <= 1:
            return self._pieces[0] if self._pieces else b""
        return b"".join((*self._pieces, self._crumbs))


def read(fd: int, output: Output) -> bool:
    """Reads once; False at the end."""
    try:
        data = os.read(fd, _READ_BYTES)
    except BlockingIOError:
        return True
    if data:
        output.add(data)
    return bool(data)


def reads_to_the_end(fd: int, output: Output) -> bool:
    """Reads what an ended process left in its pipe; False if somebody else holds it open."""
    try:
        for _ in _READS_IN_A_ROW:
            if not (data := os.read(fd, _READ_BYTES)):
                return True
            output.add(data)
    except BlockingIOError:
        pass
    return False
