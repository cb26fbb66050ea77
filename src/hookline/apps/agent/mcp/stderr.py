"""Keeps the end of a server's stderr, which usually says why it did not start."""

import asyncio
import os

_KEPT_BYTES = 4096


class StderrTail:
    """A pipe that the running loop reads; only the last bytes are kept."""

    def __init__(self) -> None:
        read_fd, write_fd = os.pipe()
        os.set_blocking(read_fd, False)
        self._reader = os.fdopen(read_fd, "rb", buffering=0)
        self.stream = os.fdopen(write_fd, "w")
        """Our write end; to be closed once the server has its own."""
        self._tail = b""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._reader, self._read)

    def last_line(self) -> str:
        """The last line, after a dash, or nothing."""
        self._read()
        lines = self._tail.decode("utf-8", "replace").strip().splitlines()
        return f" - {lines[-1].strip()}" if lines else ""

    def close(self) -> None:
        """Stops reading."""
        self.stream.close()
        self._loop.remove_reader(self._reader)
        self._reader.close()

    def _read(self) -> None:
        data = self._reader.read(65536)
        self._tail = (self._tail + (data or b""))[-_KEPT_BYTES:]
        if data == b"":
            # At EOF a pipe stays readable, and the loop would call this again and again.
            self._loop.remove_reader(self._reader)
