"""Find and end processes that left a hook's process group, by `setsid` or as daemons. Linux only: it reads /proc.

There are two traces. Descendants are found by their parents, as long as no parent in between has exited. And each
run has a unique mark in its environment, which all its processes inherit: a daemon has another parent, but still
the mark. Only a process that lost both (a daemon that was started with an empty environment, or by another service)
is not found.
"""

import contextlib
import os
import signal
from collections.abc import Iterable, Iterator
from itertools import count
from typing import NamedTuple

from hookline.protocol.constants import CHILD_MARK

_MARK_ENTRY = CHILD_MARK.encode() + b"="
# A bound for hooks that start one process after another.
_MOST = 1024
_LONGEST_ENVIRONMENT = 1 << 22
# The fields of /proc/PID/stat behind the name.
_STATE, _START_TIME = 0, 19


def _fresh_marks() -> Iterator[bytes]:
    # Without a Python function: each run takes one. The slash ends a mark, so that none is the beginning of another.
    return map((os.urandom(8).hex().encode() + b"-%d/").__mod__, count(1))


MARKS = _fresh_marks()
"""Each mark is given once, on the whole machine."""


def _after_fork() -> None:
    global MARKS  # noqa: PLW0603 - parent and child must not give the same marks
    MARKS = _fresh_marks()


os.register_at_fork(after_in_child=_after_fork)


class _Orphan(NamedTuple):
    """A process that is not mistaken for a later one with the same number."""

    pid: int
    started: bytes


class OrphanSearch:
    """The search for all processes of one run that are not in its group.

    At the end of the program two threads may be here, so each goes over a copy.
    """

    def __init__(self, group: int, mark: bytes) -> None:
        """Find descendants, which must be done before a process between them and the hook ends."""
        self.group = group
        self.mark = mark
        self._found: set[_Orphan] = set()
        self._warned: set[_Orphan] = set()
        self._add(_descendants([group]))

    def look(self, environments: Iterable[tuple[int, bytes]]) -> bool:
        """Look for further processes among those with marks; return whether any is left."""
        self._add(pid for pid, environment in environments if self.mark in environment)
        self._found = {orphan for orphan in tuple(self._found) if _orphan(orphan.pid) == orphan}
        self._add(_descendants([orphan.pid for orphan in tuple(self._found)]))
        return bool(self._found)

    def terminate(self) -> None:
        """Send SIGTERM to all that have been found and did not get it yet."""
        for orphan in self._found - self._warned:
            _send(orphan, signal.SIGTERM)
            # A stopped process gets its SIGTERM only when it is continued.
            _send(orphan, signal.SIGCONT)
        self._warned |= self._found

    def kill(self) -> None:
        """Send SIGKILL to all that have been found."""
        for orphan in tuple(self._found):
            _send(orphan, signal.SIGKILL)

    def _add(self, pids: Iterable[int]) -> None:
        for pid in pids:
            # The group gets its signals as a whole, and each of its processes must get them once.
            if len(self._found) < _MOST and not _is_in_group(pid, self.group) and (orphan := _orphan(pid)):
                self._found.add(orphan)


def tagged_processes() -> list[tuple[int, bytes]]:
    """All processes of this user that hookline started, directly or not, each with its environment."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    pids = [int(name) for name in names if name.isdigit()]
    environments = ((pid, _read(f"/proc/{pid}/environ", _LONGEST_ENVIRONMENT)) for pid in pids)
    return [(pid, environment) for pid, environment in environments if _MARK_ENTRY in environment]


def _descendants(pids: list[int]) -> Iterator[int]:
    """The children of these processes, and theirs, as far as the kernel lists them."""
    known, ahead = {*pids}, [*pids]
    while ahead and len(known) < _MOST:
        pid = ahead.pop()
        try:
            threads = os.listdir(f"/proc/{pid}/task")
        except OSError:
            continue
        for thread in threads:
            children = {*map(int, _read(f"/proc/{pid}/task/{thread}/children", _LONGEST_ENVIRONMENT).split())} - known
            known |= children
            ahead += children
            yield from children


def _is_in_group(pid: int, group: int) -> bool:
    try:
        return os.getpgid(pid) == group
    except OSError:
        return False


def _orphan(pid: int) -> _Orphan | None:
    """The process with this number, or None if it has exited."""
    fields = _read(f"/proc/{pid}/stat", 4096).rpartition(b")")[2].split()
    return _Orphan(pid, fields[_START_TIME]) if len(fields) > _START_TIME and fields[_STATE] not in b"ZX" else None


def _send(orphan: _Orphan, number: int) -> None:
    """Send a signal to this very process."""
    try:
        pidfd = os.pidfd_open(orphan.pid)
    except ProcessLookupError:
        return
    except (AttributeError, OSError):  # an old kernel, or out of file descriptors
        pidfd = -1
    try:
        # If it is still the same one after the pidfd was opened, then the pidfd is of this one.
        if _orphan(orphan.pid) != orphan:
            return
        with contextlib.suppress(OSError):  # it has exited, or runs as another user
            if pidfd < 0:
                os.kill(orphan.pid, number)
            else:
                signal.pidfd_send_signal(pidfd, number)
    finally:
        if pidfd >= 0:
            os.close(pidfd)


def _read(path: str, most: int) -> bytes:
    """The content of a small file, or nothing if it can't be read."""
    try:
        with open(path, "rb", buffering=0) as file:
            parts = []
            while most > 0 and (part := file.read(most)):
                parts.append(part)
                most -= len(part)
            return b"".join(parts)
    except OSError:
        return b""
