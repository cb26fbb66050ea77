"""Starts of hooks that the log does not have yet, in a file that outlives this program.

A hook can kill its parent at once, and making a record takes time. So a start is stored in a slot of a private file
beside the log before its hooks run. The log's thread writes the record and clears the slot. What a killed program left
in its slots is written by the next program that opens the log: the lock on the file is free then.
"""

import errno
import fcntl
import os
import re
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

import msgspec

from hookline.contract.records import FaultRecord, LogLevel, LogRecord, Start
from hookline.errors import HooklineError
from hookline.files import NotRegularError
from hookline.log._files import open_all

MOST_SLOTS = 10_000
# Longer starts are written to the log at once. A slot of a page of its own would take the time of a fresh page.
SLOT_BYTES = 1024
# Extending the file by every start would take as long as the rest of storing it.
_SLOTS_AHEAD = 64

_WHY_RECOVERED = "the program ended before this event did"

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Start).decode

# After a fork the files belong to the parent, and a copy of a descriptor would keep the lock of a parent that is gone.
_descriptors: set[int] = set()


class StoredStart(msgspec.Struct, frozen=True, gc=False):
    """An entry of the log whose record outlives this program."""

    start: Start
    slot: int
    size: int

    def records(self, keep: int | None = None) -> Sequence[LogRecord]:  # noqa: ARG002 - see log/logger.py
        """The record."""
        return self.start.records()


class StartFile:
    """The slots of one sink in one process. Threads may share it: a slot belongs to one start at a time."""

    def __init__(self, log: Path) -> None:
        """Make the file and lock it; OSError if that is impossible."""
        log = Path(os.path.realpath(log))
        if not log.is_file():
            raise NotRegularError(errno.EINVAL, "the log is no file", str(log))
        self._path = log.with_name(f".{log.name}.{os.getpid()}.{os.urandom(4).hex()}.started")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._descriptor = os.open(self._path, flags, 0o600)
        _descriptors.add(self._descriptor)
        self._new, self._free = count(), list[int]()
        self._room = 0
        self._lock = threading.Lock()
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.fstat(self._descriptor).st_nlink:
                raise FileNotFoundError
        except OSError:
            self.close()
            raise

    def store(self, start: Start) -> StoredStart | None:
        """Store a start before this returns; None if that is impossible."""
        try:
            data = _encode(start)
        except (TypeError, ValueError):  # such as a lone surrogate
            return None
        if len(data) > SLOT_BYTES:
            return None
        try:
            slot = self._free.pop() if self._free else next(self._new)
        except IndexError:  # another thread took the last one
            slot = next(self._new)
        if slot >= MOST_SLOTS:
            return None
        try:
            if slot >= self._room:
                self._extend(slot)
            written = os.pwrite(self._descriptor, data, slot * SLOT_BYTES)
            if written == len(data):
                return StoredStart(start, slot, len(data))
            os.pwrite(self._descriptor, bytes(written), slot * SLOT_BYTES)
        except OSError:  # a full disk; the slot is as it was
            pass
        self._free.append(slot)
        return None

    def _extend(self, slot: int) -> None:
        with self._lock:  # or one thread would cut off what another has stored
            if slot >= self._room:
                room = min(slot + _SLOTS_AHEAD, MOST_SLOTS)
                os.ftruncate(self._descriptor, room * SLOT_BYTES)
                self._room = room

    def clear(self, starts: Iterable[StoredStart]) -> None:
        """Overwrite what the log has by now."""
        for start in starts:
            with suppress(OSError):
                os.pwrite(self._descriptor, bytes(start.size), start.slot * SLOT_BYTES)
                self._free.append(start.slot)

    def close(self) -> None:
        """Remove the file."""
        with suppress(OSError):
            self._path.unlink()
        if self._descriptor in _descriptors:
            _descriptors.discard(self._descriptor)
            os.close(self._descriptor)


def recover(log: Path, write: Callable[[Sequence[LogRecord]], bool]) -> None:
    """Pass what killed programs left beside this log to `write`, which returns whether the log has it now."""
    with suppress(OSError, ValueError, HooklineError):  # ValueError: a path with a null character in it
        log = Path(os.path.realpath(log))
        name = re.compile(rf"\.{re.escape(log.name)}\.\d+\.[0-9a-f]{{8}}\.started")
        with os.scandir(log.parent) as entries:
            found = [entry.path for entry in entries if name.fullmatch(entry.name)]
        for path in found:
            if (descriptor := _open_abandoned(path)) is None:
                continue
            try:
                records = list(_records(descriptor, log))
                if not records or write(records):
                    os.unlink(path)  # noqa: PTH108 - an entry of scandir has no Path
            finally:
                os.close(descriptor)


def _open_abandoned(path: str) -> int | None:
    """A file of ours, locked, that no running program has; None for anything else, which is left alone."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        status = os.fstat(descriptor)
        is_ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        # Without a name it was recovered by another process while we waited for nothing but the lock.
        if is_ours and status.st_nlink == 1 and status.st_size <= MOST_SLOTS * SLOT_BYTES:
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def _records(descriptor: int, log: Path) -> Iterator[LogRecord]:
    """The starts in a file that the log does not have, and one record more if something else is in it."""
    starts: dict[str, Start] = {}
    unreadable = 0
    for offset in range(0, os.fstat(descriptor).st_size, SLOT_BYTES):
        if data := os.pread(descriptor, SLOT_BYTES, offset).rstrip(b"\0"):
            try:
                start = _decode(data)
                starts[start.fire] = msgspec.structs.replace(start, reason=_WHY_RECOVERED)
            except ValueError:
                unreadable += 1
    for known in _known(log, starts.keys()) if starts else ():
        del starts[known]
    for start in starts.values():
        yield from start.records()
    if unreadable:
        message = f"a program was ended while hooks ran, and {unreadable} of their starts can't be read"
        yield FaultRecord(level=LogLevel.WARN, message=message, stage="logging")


def _known(log: Path, fires: Iterable[str]) -> set[str]:
    """Which of these events are in the log: a program can be killed before it clears a slot."""
    clues = {fire: _encode({"fire": fire})[1:-1] for fire in fires}
    known: set[str] = set()
    for file in open_all(log):
        with closing(file):
            for block in file.blocks():
                known.update(fire for fire, clue in clues.items() if clue in block)
    return known


def _let_go() -> None:
    while _descriptors:
        os.close(_descriptors.pop())


os.register_at_fork(after_in_child=_let_go)
