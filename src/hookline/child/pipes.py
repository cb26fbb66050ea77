"""Our ends of a process's three pipes."""

import contextlib
import fcntl
import io
import os
import select
import signal
from collections.abc import Callable, Iterator, Sequence

from hookline.child.watcher import Watcher

_DEFAULT_PIPE_BYTES = 1 << 16
_LARGEST_PIPE_BYTES = 1 << 20
# A larger buffer would be mapped and unmapped for every read.
_READ_BYTES = 1 << 16
# After this many system calls in a row the event loop gets its turn, however fast the hook is.
_CALLS_IN_A_ROW = range(16)
# With fewer pipes, writing the input into each is cheaper than creating a memory file.
_FEWEST_SHARING = 6


class SharedInput:
    """A large stdin that many hooks have in common: kept in one memory file and spliced into each pipe, not copied."""

    def __init__(self, inputs: Sequence[bytes]) -> None:
        first = inputs[0]
        is_shared = len(first) > _DEFAULT_PIPE_BYTES and sum(data is first for data in inputs) >= _FEWEST_SHARING
        self._data = first if is_shared and hasattr(os, "memfd_create") else None
        self._fd = -1

    def splice(self, data: bytes, pipe: int) -> int:
        """Return how many bytes of the input are in the pipe now: 0 if it isn't the shared one."""
        if data is not self._data:
            return 0
        done = 0
        # If anything fails here, the caller writes the rest.
        with contextlib.suppress(OSError):
            if self._fd < 0:
                self._fd = os.memfd_create("hookline-stdin", os.MFD_CLOEXEC)
                os.write(self._fd, data)
            while done < len(data) and (count := os.splice(self._fd, pipe, len(data) - done, offset_src=done)):
                done += count
        return done

    def close(self) -> None:
        """Free the memory."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class _Pipe:
    fd: int
    """Negative when closed."""
    _watcher: Watcher | None = None

    def close(self) -> None:
        """Stop watching and close the pipe; a second call does nothing."""
        if self.fd >= 0:
            if self._watcher is not None:
                self._watcher.remove(self.fd)
            fd, self.fd = self.fd, -1
            os.close(fd)


class InputPipe(_Pipe):
    """The end of a hook's stdin that we write to."""

    _rest = memoryview(b"")

    def __init__(self, fd: int, data: bytes) -> None:
        """Write a short input into the new, empty pipe; a long one is written by `send` while the process starts."""
        self.fd = fd
        self._data = data
        if len(data) <= select.PIPE_BUF:
            os.write(fd, data)
        elif len(data) <= _DEFAULT_PIPE_BYTES:
            os.set_blocking(fd, False)
            self._write(memoryview(data))

    def send(self, watcher: Watcher, shared: SharedInput | None = None) -> None:
        """Write what the pipe takes now, and the rest whenever the watcher reports room; then close the pipe.

        The caller still holds the read end, so there is no SIGPIPE yet.
        """
        if len(self._data) > _DEFAULT_PIPE_BYTES:
            os.set_blocking(self.fd, False)
            _enlarge(self.fd, len(self._data))
            done = shared.splice(self._data, self.fd) if shared else 0
            self._write(memoryview(self._data)[done:])
        if self._rest:
            watcher.add_writer(self.fd, self._on_writable)
            self._watcher = watcher
        else:
            self.close()

    def _on_writable(self) -> None:
        with _sigpipe_blocked():
            self._write(self._rest)
        if not self._rest:
            self.close()

    def _write(self, rest: memoryview) -> None:
        try:
            for _ in _CALLS_IN_A_ROW:
                if not rest:
                    break
                rest = rest[os.write(self.fd, rest) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:  # the hook doesn't read its input, which is fine
            rest = rest[:0]
        self._rest = rest


class OutputPipe(_Pipe):
    """The end of a hook's stdout or stderr that we read from, and what was read, up to a limit."""

    is_truncated = False
    _buffer: io.BytesIO | None = None

    def __init__(self, fd: int, limit: int) -> None:
        self.fd = fd
        self._room = limit
        os.set_blocking(fd, False)

    @property
    def content(self) -> bytes:
        """Everything that was read, up to the limit."""
        return self._buffer.getvalue() if self._buffer else b""

    def watch(self, watcher: Watcher, on_eof: Callable[[], None]) -> None:
        """Read whenever there is something to read; at EOF close the pipe and call `on_eof`."""
        if self.fd < 0:
            return

        def on_readable() -> None:
            with contextlib.suppress(BlockingIOError):
                if data := os.read(self.fd, _READ_BYTES):
                    self._keep(data)
                else:
                    self.close()
                    on_eof()

        watcher.add_reader(self.fd, on_readable)
        self._watcher = watcher

    def drain(self) -> bool:
        """Read what an exited process left in its pipe; False if another process still holds the pipe open."""
        if self.fd < 0:
            return True
        try:
            for _ in _CALLS_IN_A_ROW:
                if not (data := os.read(self.fd, _READ_BYTES)):
                    self.close()
                    return True
                self._keep(data)
        except BlockingIOError:
            pass
        return False

    def _keep(self, data: bytes) -> None:
        if len(data) > self._room:
            self.is_truncated = True
            data = data[: self._room]
        self._room -= len(data)
        self._buffer = self._buffer or io.BytesIO()
        self._buffer.write(data)


def _enlarge(pipe: int, size: int) -> None:
    # An unprivileged user gets only a few large pipes. A small one works too, in more writes.
    with contextlib.suppress(OSError, AttributeError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, min(size, _LARGEST_PIPE_BYTES))


@contextlib.contextmanager
def _sigpipe_blocked() -> Iterator[None]:
    """Keep a hook that doesn't read from killing a program that has restored the default action of SIGPIPE."""
    if signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN:
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGPIPE,))
    try:
        yield
    finally:
        if signal.SIGPIPE not in before and signal.SIGPIPE in signal.sigpending():
            _consume_sigpipe()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _consume_sigpipe() -> None:
    if hasattr(signal, "sigtimedwait"):
        # Don't wait: the signal may have been sent to the whole program and another thread may have taken it.
        signal.sigtimedwait((signal.SIGPIPE,), 0)
    else:
        signal.sigwait((signal.SIGPIPE,))
