"""Let a run exit at once; its memory is freed afterwards.

The kernel reports the exit of a process after it has freed the process's memory, which takes half a millisecond or
more. If another process shares the memory, the kernel leaves that to the last one. So shortly before an event the
standby starts the exit helper, which is a child of hookline, as the run is. The exit helper only sleeps, with every
signal blocked, and writes to no memory. hookline kills it when the event is over; otherwise it ends after a second.
"""

import _signal  # type: ignore[import-not-found]
import os
from sys import byteorder

from _hookline_c import Number, address_of, call_by_name, function, stored

_CLONE_VM, _CLONE_PIDFD, _CLONE_PARENT, _SIGCHLD = 0x100, 0x1000, 0x8000, 17
_STACK_BYTES = 1 << 14
_SLEEP_S = 1
# Before this version, clone wrote into the memory of the thread that calls it.
_OLDEST = (2, 25)


class ExitHelper:
    """Prepared before the event, so that starting it takes little time."""

    def __init__(self) -> None:
        """Raise OSError or ValueError where there can't be one."""
        library, version = (os.confstr("CS_GNU_LIBC_VERSION") or "none 0").split()
        if library != "glibc" or tuple(map(int, version.split("."))) < _OLDEST:
            raise OSError
        self._signals = _signal.valid_signals()
        self._pidfd = Number()
        # The first argument of nanosleep. Its second one may be anything: it is used after a signal only.
        duration = stored(_SLEEP_S.to_bytes(8, byteorder) + bytes(8))
        # It grows downwards.
        stack = (call_by_name("malloc", _STACK_BYTES) + _STACK_BYTES) & ~63
        flags = _CLONE_VM | _CLONE_PIDFD | _CLONE_PARENT | _SIGCHLD
        self._clone = function("clone", *[Number] * 5)
        self._arguments = address_of("nanosleep"), stack, flags, duration, self._pidfd.address

    def start(self) -> "tuple[int, int]":
        """Return the process id of a new one and a pidfd; the first is -1 if there can't be one."""
        before = _signal.pthread_sigmask(_signal.SIG_BLOCK, self._signals)
        try:
            pid = self._clone(*self._arguments)
        finally:
            _signal.pthread_sigmask(_signal.SIG_SETMASK, before)
        return pid, self._pidfd.value
