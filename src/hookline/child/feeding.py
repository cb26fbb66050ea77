"""Fills a child's stdin."""

import contextlib
import fcntl
import os
import select
import signal
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any

_SMALLEST_PIPE_BYTES = select.PIPE_BUF
_USUAL_PIPE_BYTES = 1 << 16
_LARGEST_PIPE_BYTES = 1 << 20
# Then others get their turn, however fast the hook reads.
_WRITES_IN_A_ROW = range(16)
_NOTHING = memoryview(b"")


class SharedInputs:
    """Large inputs that several jobs of a batch have in common, kept once and lent to each pipe page by page."""

    def __init__(self, inputs: Iterable[bytes]) -> None:
        self._fds: dict[int, int] = {}
        self._shared: set[int] = set()
        seen: set[int] = set()
        for data in inputs:
            if len(data) > _USUAL_PIPE_BYTES and hasattr(os, "memfd_create"):
                (self._shared if id(data) in seen else seen).add(id(data))

    def close(self) -> None:
        """Gives the memory back."""
        while self._fds:
            os.close(self._fds.popitem()[1])

    def lend(self, data: bytes, feed: int) -> int:
        """How many bytes of a shared input are in the pipe now, without a copy."""
        if id(data) not in self._shared:
            return 0
        lent = 0
        try:
            source = self._fds.get(id(data))
            if source is None:
                source = self._fds[id(data)] = os.memfd_create("hookline-input", os.MFD_CLOEXEC)
                os.write(source, data)
            while lent < len(data) and (now := os.splice(source, feed, len(data) - lent, offset_src=lent)):
                lent += now
        except OSError:
            pass  # what goes wrong with it, goes right by writing
        return lent


def put_before_start(feed: int, data: bytes) -> memoryview | None:
    """Puts a short input into a new pipe and returns the rest, mostly nothing; None for a long one."""
    if len(data) > _USUAL_PIPE_BYTES:
        return None
    if len(data) <= _SMALLEST_PIPE_BYTES:
        os.write(feed, data)
        return _NOTHING
    os.set_blocking(feed, False)
    return write(feed, memoryview(data))


def put_after_start(feed: int, data: bytes, shared: SharedInputs | None) -> memoryview:
    """Puts as much of a long input into the pipe as it takes now and returns the rest."""
    os.set_blocking(feed, False)
    _enlarge(feed, len(data))
    with _without_sigpipe():
        lent = shared.lend(data, feed) if shared else 0
        return _write(feed, memoryview(data)[lent:])


def write(feed: int, rest: memoryview) -> memoryview:
    """Writes what the pipe takes now and returns the rest; nothing is left for a hook that does not read."""
    with _without_sigpipe():
        return _write(feed, rest)


def _write(feed: int, rest: memoryview) -> memoryview:
    try:
        for _ in _WRITES_IN_A_ROW:
            if not rest:
                break
            rest = rest[os.write(feed, rest) :]
    except BlockingIOError:
        return rest
    except BrokenPipeError:
        return _NOTHING
    return rest


def _without_sigpipe() -> contextlib.AbstractContextManager[None]:
    """Python ignores SIGPIPE, but a program may have taken it back: then a hook that does not read would end it."""
    if _getsignal(signal.SIGPIPE) == signal.SIG_IGN:
        return _AS_IT_IS
    return _sigpipe_blocked()


_AS_IT_IS = contextlib.nullcontext()
# signal.getsignal itself looks for the name of what it finds, which takes longer than the write.
_getsignal: Callable[[int], Any] = getattr(import_module("_signal"), "getsignal", signal.getsignal)


@contextlib.contextmanager
def _sigpipe_blocked() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGPIPE,))
    try:
        yield
    finally:
        if signal.SIGPIPE not in before and signal.SIGPIPE in signal.sigpending():
            _take_sigpipe()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _take_sigpipe() -> None:
    if hasattr(signal, "sigtimedwait"):
        # Without waiting: it may have been sent to the whole program, and another thread has taken it meanwhile.
        signal.sigtimedwait((signal.SIGPIPE,), 0)
    else:
        signal.sigwait((signal.SIGPIPE,))


def _enlarge(feed: int, wanted: int) -> None:
    try:  # noqa: SIM105 - costs nothing
        fcntl.fcntl(feed, fcntl.F_SETPIPE_SZ, min(wanted, _LARGEST_PIPE_BYTES))
    except (OSError, AttributeError):
        pass  # an unprivileged user may have a few large pipes only; a small one works too, in more turns
