"""Functions of C for the parked interpreter.

They are called by `_ctypes` alone: the module `ctypes` would bring dozens of classes, which Python has to free at the
end of each run.
"""

import _ctypes
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# The numbers of system calls, by processor, and which argument of clone is the thread's address.
_NUMBERS = {
    "x86_64": {"clone": 56, "set_robust_list": 273, "get_robust_list": 274, "thread": 3},
    "aarch64": {"clone": 220, "set_robust_list": 99, "get_robust_list": 100, "thread": 4},
}
# clone(2): make the new process a child of our parent. hookline must be the parent of every run, so that it can wait
# for it, and so that no process id is used again before hookline has seen the exit.
_CLONE_PARENT, _CLONE_CHILD_SETTID, _CLONE_CHILD_CLEARTID, _SIGCHLD = 0x8000, 0x1000000, 0x200000, 17
_PR_GET_TID_ADDRESS = 40
_MADV_POPULATE_WRITE = 23
_PAGE = os.sysconf("SC_PAGE_SIZE")
# Of an entry in /proc/PID/pagemap, which has eight bytes.
_IS_PRESENT = bytes([bits >> 7 for bits in range(256)])


class Refused(Exception):
    """This interpreter can't be parked; the message has the reason."""


class Number(_ctypes._SimpleCData):  # type: ignore[type-arg]
    """A number of 64 bits in memory; as an argument, also an address."""

    _type_ = "l"

    @property
    def address(self) -> int:
        """Where it is."""
        return _ctypes.addressof(self)


class _Bytes(_ctypes._SimpleCData):  # type: ignore[type-arg]
    _type_ = "z"


class _Object(_ctypes._SimpleCData):  # type: ignore[type-arg]
    _type_ = "O"


class _Function(_ctypes.CFuncPtr):
    # With the second flag it keeps the interpreter's lock, as os.fork does.
    _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_PYTHONAPI
    _restype_ = Number


_PROGRAM = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]


def function(name: str, *types: type) -> "Callable[..., int]":
    """A function of the program or of its libraries; raise OSError if there is none of this name."""
    found = _Function(_ctypes.dlsym(_PROGRAM, name))
    found.argtypes = types
    return found


_system_call = function("syscall", *[Number] * 6)
_madvise = function("madvise", Number, Number, Number)
_before_fork = function("PyOS_BeforeFork")
_after_fork_in_parent = function("PyOS_AfterFork_Parent")
_after_fork_in_child = function("PyOS_AfterFork_Child")
_untrack = function("PyObject_GC_UnTrack", _Object)
_track = function("PyObject_GC_Track", _Object)
prctl = function("prctl", Number, Number, Number, Number, Number)
copy_bytes = function("memmove", Number, _Bytes, Number)


def call_by_name(name: str, *arguments: int) -> int:
    """Call a function that takes numbers or addresses."""
    return function(name, *[Number] * len(arguments))(*arguments)


def address_of(name: str) -> int:
    """Where a function is."""
    return int(_ctypes.dlsym(_PROGRAM, name))


def stored(data: bytes) -> int:
    """The address of a copy of these bytes."""
    address = call_by_name("malloc", len(data))
    copy_bytes(address, data, len(data))
    return address


def track_again(thing: object) -> None:
    """Take an object out of what gc.freeze has set aside."""
    _untrack(thing)
    _track(thing)


def copy_pages() -> None:
    """Copy the memory that this process shares with its parent now, instead of page by page during the event."""
    for start, end in _present_pages():
        _madvise(start, end - start, _MADV_POPULATE_WRITE)


def _present_pages() -> "list[tuple[int, int]]":
    """The ranges of writable private pages that exist: to copy those that were never used would take memory."""
    with open("/proc/self/maps", "rb", buffering=0) as file:
        text = file.readall()
    found = []
    with open("/proc/self/pagemap", "rb", buffering=0) as pagemap:
        for line in text.splitlines():
            span, access = line.split(None, 2)[:2]
            if access == b"rw-p":
                start, end = (int(each, 16) for each in span.split(b"-"))
                pagemap.seek(start // _PAGE * 8)
                present = pagemap.read((end - start) // _PAGE * 8)[7::8].translate(_IS_PRESENT) + b"\0"
                first = present.find(1)
                while first >= 0:
                    after = present.find(0, first)
                    found.append((start + first * _PAGE, start + after * _PAGE))
                    first = present.find(1, after)
    return found


class Copier:
    """Does what os.fork does, but the new process is a sibling of this one."""

    def __init__(self) -> None:
        numbers = _NUMBERS.get(os.uname().machine)
        if numbers is None or sys.maxsize < 1 << 32:
            raise Refused("this kind of processor is not known")
        thread, robust_list, size = Number(), Number(), Number()
        if prctl(_PR_GET_TID_ADDRESS, thread.address, 0, 0, 0) or not thread.value:
            raise Refused("the kernel does not say where the thread has its number")
        # The C library keeps both up to date in its own fork.
        _system_call(numbers["get_robust_list"], 0, robust_list.address, size.address, 0, 0)
        self._set_robust_list = numbers["set_robust_list"], robust_list.value, size.value, 0, 0, 0
        flags = _CLONE_PARENT | _CLONE_CHILD_SETTID | _CLONE_CHILD_CLEARTID | _SIGCHLD
        clone = [numbers["clone"], flags, 0, 0, 0, 0]
        clone[1 + numbers["thread"]] = thread.value
        self._clone = tuple(clone)

    def copy(self) -> bool:
        """Return False in this process and True in its copy."""
        _before_fork()
        if _system_call(*self._clone):
            _after_fork_in_parent()
            return False
        _system_call(*self._set_robust_list)
        _after_fork_in_child()
        return True
