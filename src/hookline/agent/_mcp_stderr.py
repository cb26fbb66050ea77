"""Keeps the end of what a server says on stderr: why it did not start is mostly told there."""

import asyncio
import os
from contextlib import suppress

_KEPT_BYTES = 4096


class StderrTail:
    """A pipe that is read on the running loop, and forgotten but for its end."""

    def __init__(self) -> None:
        self._fd, writing = os.pipe()
        os.set_blocking(self._fd, False)
        self.stream = os.fdopen(writing, "w")
        self._tail = b""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._fd, self._read)

    def let_go(self) -> None:
        """Closes our end for writing, once the server has its own."""
        self.stream.close()

    def last_line(self) -> str:
        """The last line, after a dash, or nothing."""
        self._read()
        lines = self._tail.decode("utf-8", "replace").strip().splitlines()
        return f" - {lines[-1].strip()}" if lines else ""

    def close(self) -> None:
        """Stops reading."""
        self.let_go()
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
                # At its end a pipe is readable for ever.
                self._loop.remove_reader(self._fd)
