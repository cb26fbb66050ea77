"""Finds out which pages of memory a run writes to, so that a spare can have its own copies of them before its event.

A run reports them at its end, but it can't see what Python writes after that, while it frees what is left. That is seen
in another copy of the interpreter, which ends without having run anything.
"""

import atexit
import os
import time

# From here, because the module `os` has been emptied when a run reports.
from posix import O_RDONLY, close, getpid, open, pread  # noqa: A004
from sys import byteorder

from _hookline_c import address_of, call_by_name, map_now, populate, prctl, stored

_PAGE = os.sysconf("SC_PAGE_SIZE")
# The uppermost bits of an entry in /proc/PID/pagemap: present, neither of a file nor mapped by another process.
_FLAGS, _OWN = 0xA1, 0x81
_IS_OWN = bytes([bits & _FLAGS == _OWN for bits in range(256)])

_READABLE = (b"r-xp", b"r--p")
_SMALL = 16 * _PAGE

_SIGKILL, _SIGSTOP = 9, 19
_LOOKS, _LOOK_S = 500, 0.002
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38
_SECCOMP_FILTER = 2
# Steps of a filter with their jumps: load the number of the system call, skip a step if it is another one, return.
_LOAD, _SKIP_UNLESS, _RETURN = (0x20, 0, 0), (0x15, 0, 1), (0x06, 0, 0)
_ALLOW, _DENY = 0x7FFF0000, 0x00050001
# Everything that has to do with a process's own memory and signals, its own numbers, and exits.
_HARMLESS = {
    "x86_64": (9, 10, 11, 12, 13, 14, 15, 25, 28, 39, 60, 131, 186, 202, 231, 234),
    "aarch64": (93, 94, 98, 131, 132, 134, 135, 139, 172, 178, 214, 215, 216, 222, 226, 233),
}


class Pages:
    """The pages that a spare gets before its event, so that the run does not meet them one by one."""

    def __init__(self, reported: "list[tuple[int, int]]") -> None:
        """Find those that runs of this process's copies will use, besides the ones that a run has reported."""
        maps = _maps("self")
        programs = {path for _, _, access, path in maps if access == b"r-xp" and path.startswith(b"/")}
        # A copy of a process begins without the pages of files that it can only read. Mapped here as well, they are
        # shared for certain.
        self._read = [(start, end) for start, end, access, path in maps if path in programs and access in _READABLE]
        map_now(self._read)
        # As the last thing of all each library notes in a page of its own that it has ended.
        small = [(a, b) for a, b, access, path in maps if path in programs and access == b"rw-p" and b - a <= _SMALL]
        self._written = reported + pages_of_the_end() + small

    def prepare(self) -> None:
        """Get them now."""
        populate(self._written)
        map_now(self._read)


def pages_of_the_end() -> "list[tuple[int, int]]":
    """The ranges of pages that Python writes to when it ends, found by having a copy of this process do that."""
    parent, pid = getpid(), os.fork()
    if not pid:
        try:
            _end(parent)
        finally:
            os._exit(1)
    seen = status = 0
    for _ in range(_LOOKS):
        try:
            seen, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
        except ChildProcessError:  # it has ended, and its status is lost, because the program ignores SIGCHLD
            return []
        if seen:
            break
        time.sleep(_LOOK_S)
    if seen and not os.WIFSTOPPED(status):
        return []
    try:
        return own_pages(str(pid)) if seen else []
    finally:
        os.kill(pid, _SIGKILL)
        try:  # noqa: SIM105 - contextlib would be one module more
            os.waitpid(pid, 0)
        except ChildProcessError:
            pass


def own_pages(pid: str) -> "list[tuple[int, int]]":
    """The ranges of pages that a process does not share with the one that it is a copy of."""
    pagemap = open(f"/proc/{pid}/pagemap", O_RDONLY)
    found = []
    for start, end, access, _ in _maps(pid):
        if access == b"rw-p":
            is_own = pread(pagemap, (end - start) // _PAGE * 8, start // _PAGE * 8)[7::8].translate(_IS_OWN) + b"\0"
            first = is_own.find(1)
            while first >= 0:
                after = is_own.find(0, first)
                found.append((start + first * _PAGE, start + after * _PAGE))
                first = is_own.find(1, after)
    close(pagemap)
    return found


def _maps(pid: str) -> "list[tuple[int, int, bytes, bytes]]":
    """Where each piece of a process's memory begins and ends, how it may be used, and the file that it comes from."""
    maps, text, part = open(f"/proc/{pid}/maps", O_RDONLY), b"", b"x"
    while part:
        part = pread(maps, 1 << 16, len(text))
        text += part
    close(maps)
    found = []
    for line in text.splitlines():
        place, access, _, _, _, *path = line.split(None, 5)
        start, _, end = place.partition(b"-")
        found.append((int(start, 16), int(end, 16), access, b"".join(path)))
    return found


def _end(parent: int) -> None:
    """End as Python ends, and stop as the very last thing; do nothing else, whatever modules have in mind."""
    prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    if os.getppid() != parent or not _confine():
        return
    atexit._clear()
    # The C library calls this with the exit code, after all else: raise(SIGSTOP).
    call_by_name("on_exit", address_of("raise"), 0)
    call_by_name("Py_Exit", _SIGSTOP)


def _confine() -> bool:
    """Leave this process nothing that others could notice: no files, no sockets, no processes, no signals."""
    steps = [(*_LOAD, 0)]
    for number in _HARMLESS.get(os.uname().machine, ()):
        steps += [(*_SKIP_UNLESS, number), (*_RETURN, _ALLOW)]
    steps.append((*_RETURN, _DENY))
    code = b"".join([bytes((step, 0, yes, no)) + value.to_bytes(4, byteorder) for step, yes, no, value in steps])
    program = len(steps).to_bytes(8, byteorder) + stored(code).to_bytes(8, byteorder)
    prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    return prctl(_PR_SET_SECCOMP, _SECCOMP_FILTER, stored(program), 0, 0) == 0
