"""Reads what a child writes."""

import os

# What a pipe holds; a larger buffer would be mapped and unmapped for each read.
_READ_BYTES = 1 << 16
_READS_IN_A_ROW = 16


class Output:
    """What is kept of one stream."""

    __slots__ = ("_first", "_more", "_room", "is_cut")

    def __init__(self, limit: int) -> None:
        self._first = b""
        self._more: bytearray | None = None
        self._room = limit
        self.is_cut = False

    def add(self, data: bytes) -> None:
        """Keeps the data as far as there is room."""
        if len(data) > self._room:
            self.is_cut = True
            data = data[: self._room]
        self._room -= len(data)
        if self._more is not None:
            self._more += data
        elif self._first:
            self._more = bytearray(self._first) + data
        else:
            self._first = data

    def kept(self) -> bytes:
        """Everything kept."""
        return self._first if self._more is None else bytes(self._more)


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
    for _ in range(_READS_IN_A_ROW if fd >= 0 else 0):
        try:
            data = os.read(fd, _READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            return True
        output.add(data)
    return False
