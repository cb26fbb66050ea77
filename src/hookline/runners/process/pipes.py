"""Our ends of a process's three pipes."""

import contextlib
import fcntl
import io
import os
import select
from collections.abc import Callable

from hookline.runners.process.job import Stdio
from hookline.runners.process.watcher import Watcher

_DEFAULT_PIPE_BYTES = 1 << 16
_LARGEST_PIPE_BYTES = 1 << 20
# A larger buffer would be mapped and unmapped for every read.
_READ_BYTES = 1 << 16
# After this many system calls in a row the event loop gets its turn, however fast the hook is.
_CALLS_IN_A_ROW = range(16)
_ONE_CALL = range(1)


class _Pipe:
    fd: int
    """Negative when closed."""
    _watcher: Watcher | None = None

    def close(self) -> None:
        """Stop watching and close the pipe; a second call does nothing."""
        if self.fd >= 0:
            fd, self.fd = self.fd, -1
            if self._watcher is not None:
                self._watcher.close(fd)
            else:
                os.close(fd)


class InputPipe(_Pipe):
    """The end of a hook's stdin that we write to; it closes itself after the last byte."""

    def __init__(self, fd: int, data: bytes, read_end: int | None) -> None:
        """Write a short input into the new, empty pipe; a long one is written by `send` while the process starts.

        With a second read end here, which is closed along with the pipe, a hook that doesn't read causes no SIGPIPE.
        """
        self.fd = fd
        self._read_end = read_end
        self._rest = memoryview(data)
        if len(data) <= select.PIPE_BUF:
            os.write(fd, data)
            os.close(fd)
            self.fd = -1
        elif len(data) <= _DEFAULT_PIPE_BYTES:
            os.set_blocking(fd, False)
            self._write()

    def send(self, watcher: Watcher) -> None:
        """Write what the pipe takes now, and the rest whenever the watcher reports room."""
        if len(self._rest) > _DEFAULT_PIPE_BYTES:
            os.set_blocking(self.fd, False)
            _enlarge(self.fd, len(self._rest))
            self._write()
        if self.fd >= 0:
            watcher.watch(self.fd, self._write, for_writing=True)
            self._watcher = watcher

    def close(self) -> None:
        """Stop watching and close the pipe; a second call does nothing."""
        super().close()
        if self._read_end is not None:
            os.close(self._read_end)
            self._read_end = None

    def _write(self) -> None:
        with contextlib.suppress(BlockingIOError):
            for _ in _CALLS_IN_A_ROW:
                self._rest = self._rest[os.write(self.fd, self._rest) :]
                if not self._rest:
                    self.close()
                    break


class OutputPipe(_Pipe):
    """The end of a hook's stdout or stderr that we read from, and what was read, up to a limit."""

    def __init__(self, fd: int, room: int) -> None:
        self.fd = fd
        self.room = room
        self.content = io.BytesIO()
        self.is_truncated = False

    def watch(self, watcher: Watcher, on_eof: Callable[[], None]) -> None:
        """Read whenever there is something to read, and call `on_eof` when that was all."""

        def on_readable() -> None:
            if self.read(_ONE_CALL):
                on_eof()

        if self.fd >= 0:
            watcher.watch(self.fd, on_readable)
            self._watcher = watcher

    def read(self, calls: range = _CALLS_IN_A_ROW) -> bool:
        """Read what is there; True at EOF, which closes the pipe, and False while any process holds it open."""
        try:
            for _ in calls:
                if self.fd < 0 or not (data := os.read(self.fd, _READ_BYTES)):
                    self.close()
                    return True
                if len(data) > self.room:
                    self.is_truncated = True
                    data = data[: self.room]
                self.room -= len(data)
                self.content.write(data)
        except BlockingIOError:
            pass
        return False


def open_pipes(stdin: bytes, output_bytes: int) -> tuple[Stdio, InputPipe, OutputPipe, OutputPipe]:
    """Open three pipes and return the child's ends, for the caller to close, and ours."""
    fds: list[int] = []
    try:
        fds += os.pipe()
        fds += os.pipe()
        fds += os.pipe()
        read_end = os.dup(fds[0]) if len(stdin) > select.PIPE_BUF else None
    except OSError:
        for fd in fds:
            os.close(fd)
        raise
    child_stdin, our_stdin, our_stdout, child_stdout, our_stderr, child_stderr = fds
    os.set_blocking(our_stdout, False)
    os.set_blocking(our_stderr, False)
    outputs = OutputPipe(our_stdout, output_bytes), OutputPipe(our_stderr, output_bytes)
    return (child_stdin, child_stdout, child_stderr), InputPipe(our_stdin, stdin, read_end), *outputs


def _enlarge(pipe: int, size: int) -> None:
    # An unprivileged user gets only a few large pipes. A small one works too, in more writes.
    with contextlib.suppress(OSError, AttributeError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, min(size, _LARGEST_PIPE_BYTES))
