import fcntl
import os
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from itertools import count
from pathlib import Path

from hookline.files import make_private_directory, open_regular
from hookline.log.paths import why_unwritable
from hookline.log.write.chain import LINK_BYTES, START, Head, link_lines, read_tail
from hookline.stderr import warn_user

# Large enough to save system calls, small enough that other processes do not wait long.
_CHUNK = 256 * 1024

_LOCK_WAIT_S = 1.0
_LOCK_POLL_S = 0.0005


class Appender:
    """Appends whole lines to a file that other processes share, links them, and rotates the file when it is full.

    Every chunk of lines is one write under a lock on the file itself, so lines of several processes neither mix nor
    break the chain. Only a process that holds the lock of the file that has the name renames it.
    """

    def __init__(self, path: Path, max_bytes: int, backups: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._backups = backups
        self._descriptor: int | None = None
        self._file = (0, 0)
        # Other threads of this process; a lock on a file does not keep them apart.
        self._lock = threading.Lock()
        self._head = START
        # The file whose last line is the head, and its size then: if both are the same, no other process has appended.
        self._seen: tuple[tuple[int, int], int] | None = None
        # False after a wait for the lock that was in vain, until it is free again.
        self._waits = True
        self._complaints = set[str]()

    def append(self, lines: Iterable[bytes]) -> bool:
        """Write the lines, or say once on stderr why that is impossible; returns whether the file has them all."""
        chunk: list[bytes] = []
        size = 0
        is_written = True
        for line in lines:
            if chunk and size + len(line) > min(_CHUNK, self._max_bytes) - LINK_BYTES:
                is_written &= self._append_chunk(chunk, size)
                chunk, size = [], 0
            chunk.append(line)
            size += len(line) + LINK_BYTES
        return (not chunk or self._append_chunk(chunk, size)) and is_written

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._close()

    def _append_chunk(self, chunk: list[bytes], size: int) -> bool:
        with self._lock:
            try:
                self._write(*self._open_for(size), chunk)
            except (OSError, ValueError) as error:  # ValueError: a path with a null character in it
                reason = why_unwritable(error)
                self._complain(f"cannot write the log {self._path} ({reason}); hooks run, but unrecorded")
                return False
            else:
                return True
            finally:
                if self._descriptor is not None:
                    _unlock(self._descriptor)

    def _write(self, descriptor: int, size: int, is_linked: bool, lines: list[bytes]) -> None:  # noqa: FBT001
        head, names_prev, is_torn = self._head, False, False
        if self._seen != (self._file, size):
            tail = read_tail(descriptor, size)
            last = tail.head or self._head_of(self._backup(1))
            # A chain that ends before the last line that we know lacks lines; linking to that line shows it.
            head = last if last.seq > head.seq else head
            names_prev, is_torn = head != tail.head, tail.is_torn
        self._seen = None
        data, new_head = link_lines(lines, head, names_prev=names_prev) if is_linked else (b"".join(lines), head)
        # A line that was cut short, by a full disk or the end of a process, must not swallow the next one.
        written = _write_all(descriptor, b"\n" + data if is_torn else data)
        if is_linked:
            self._head, self._seen = new_head, (self._file, size + written)
            if not size:
                # Only now: until the new file had a line, the head was to be found in the rotated one.
                self._remove_oldest()

    def _open_for(self, size: int) -> tuple[int, int, bool]:
        """The file that has the name now, with room for this much: its descriptor, its size, whether it is locked."""
        while True:
            if self._descriptor is None:
                self._descriptor = self._open()
            descriptor = self._descriptor
            is_locked = self._try_lock(descriptor)
            present = self._size_by_name()
            if present is None:  # it was rotated by another process, or taken away
                self._close()
            elif is_locked and present and present + size > self._max_bytes:
                self._shift_names()
                self._close()
            else:
                return descriptor, present, is_locked

    def _try_lock(self, descriptor: int) -> bool:
        """Lock the file; False if that is impossible, or if another process keeps the lock for too long."""
        deadline = None
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                reason = "another process keeps it locked"
            except OSError as error:
                reason, self._waits = str(error.strerror), False
            else:
                self._waits = True
                return True
            now = time.monotonic()
            deadline = deadline or now + _LOCK_WAIT_S
            if not self._waits or now >= deadline:
                self._waits = False
                self._complain(f"cannot lock the log {self._path} ({reason}); its records lack hashes until that works")
                return False
            time.sleep(_LOCK_POLL_S)

    def _size_by_name(self) -> int | None:
        """The size of our file; None if it no longer has the name."""
        try:
            named = os.stat(self._path)
        except FileNotFoundError:
            return None
        return named.st_size if (named.st_dev, named.st_ino) == self._file else None

    def _open(self) -> int:
        # Read, because the next line is linked to the last one.
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
        # Rotate the target of a symbolic link, not the link.
        self._path = Path(os.path.realpath(self._path))
        try:
            descriptor = open_regular(self._path, flags)
        except FileNotFoundError:
            make_private_directory(self._path.parent)
            descriptor = open_regular(self._path, flags)
        status = os.fstat(descriptor)
        self._file = (status.st_dev, status.st_ino)
        return descriptor

    def _close(self) -> None:
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            _unlock(descriptor)
            os.close(descriptor)

    def _shift_names(self) -> None:
        """Rename the file and the rotated ones; there is one more of them until the new file has its first line."""
        last = 1
        while last <= self._backups and self._backup(last).exists():
            last += 1
        for number in range(last, 1, -1):
            self._backup(number - 1).replace(self._backup(number))
        self._path.replace(self._backup(1))

    def _remove_oldest(self) -> None:
        with suppress(OSError):  # such as FileNotFoundError, behind the last of them
            for number in count(self._backups + 1):
                self._backup(number).unlink()

    def _backup(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")

    def _head_of(self, path: Path) -> Head:
        try:
            descriptor = open_regular(path, os.O_RDONLY)
        except OSError:
            return START
        try:
            return read_tail(descriptor, os.fstat(descriptor).st_size).head or START
        finally:
            os.close(descriptor)

    def _complain(self, message: str) -> None:
        if message not in self._complaints:
            self._complaints.add(message)
            warn_user(message)


def _write_all(descriptor: int, data: bytes) -> int:
    written = os.write(descriptor, data)
    while written < len(data):
        written += os.write(descriptor, data[written:])
    return written


def _unlock(descriptor: int) -> None:
    # Explicitly, also before it is closed: a child that was forked has a copy of the descriptor, which keeps the lock.
    try:  # noqa: SIM105 - hooks wait for this, and a context manager takes measurable time
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    except OSError:
        pass
