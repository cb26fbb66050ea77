"""Keeps the end of a server's stderr, which usually says why it did not start."""

import asyncio
import os
from contextlib import suppress

_KEPT_BYTES = 4096


class StderrTail:
    """A pipe that the running loop reads; only the last bytes are kept."""

    def __init__(self) -> None:
        self._fd, write_fd = os.pipe()
        os.set_blocking(self._fd, False)
        self.stream = os.fdopen(write_fd, "w")
        self._tail = b""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._fd, self._read)

    def close_writer(self) -> None:
        """Closes our write end, once the server has its own."""
        self.stream.close()

    def last_line(self) -> str:
        """The last line, after a dash, or nothing."""
        self._read()
        lines = self._tail.decode("utf-8", "replace").strip().splitlines()
        return f" - {lines[-1].strip()}" if lines else ""

    def close(self) -> None:
        """Stops reading."""
        self.close_writer()
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _read(self) -> None:
        if self._fd < 0:
            return
        with suppress(BlockingIOError):
            data = os.read(self._fd, 65536)
            self._tail = (self._tail + data)[-_KEPT_BYTES:]
            if not data:
                # At EOF a pipe stays readable, and the loop would call this again and again.
                self._loop.remove_reader(self._fd)
