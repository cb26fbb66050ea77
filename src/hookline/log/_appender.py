import fcntl
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from hookline.contract.text import tell
from hookline.files import make_private_directory

# Large enough to save system calls, small enough that other processes do not wait long.
_CHUNK = 256 * 1024


class Appender:
    """Appends whole lines to a file that other processes share, and rotates it when it is full.

    Every chunk of lines is one write in append mode, so lines of several processes never mix. A process that still
    has the rotated file open appends there once more, then opens the new file: nothing is lost.
    """

    def __init__(self, path: Path, max_bytes: int, backups: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._backups = backups
        self._descriptor: int | None = None
        self._is_torn = False
        self._has_complained = False

    def append(self, lines: Iterable[bytes]) -> None:
        """Write the lines, or say once on stderr why that is impossible."""
        chunk = bytearray()
        for line in lines:
            if chunk and len(chunk) + len(line) > min(_CHUNK, self._max_bytes):
                self._append_chunk(bytes(chunk))
                chunk.clear()
            chunk += line
        if chunk:
            self._append_chunk(bytes(chunk))

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _append_chunk(self, chunk: bytes) -> None:
        try:
            descriptor = self._open_for(len(chunk))
            # After a full disk the file may end inside a line, which must not swallow this one.
            self._write(descriptor, b"\n" + chunk if self._is_torn else chunk)
        except (OSError, ValueError) as error:  # ValueError: a path with a null character in it
            self._complain(error)

    def _write(self, descriptor: int, data: bytes) -> None:
        remaining = memoryview(data)
        while remaining:
            written = os.write(descriptor, remaining)
            remaining = remaining[written:]
            self._is_torn = bool(remaining)

    def _open_for(self, size: int) -> int:
        descriptor = self._current()
        status = os.fstat(descriptor)
        if status.st_size and status.st_size + size > self._max_bytes and stat.S_ISREG(status.st_mode):
            self._rotate(status)
            descriptor = self._current()
        return descriptor

    def _current(self) -> int:
        """The descriptor of the file that has the name now; another process may have rotated ours."""
        if self._descriptor is not None and not self._has_name(os.fstat(self._descriptor)):
            self.close()
        if self._descriptor is None:
            self._descriptor = self._open()
        return self._descriptor

    def _has_name(self, status: os.stat_result) -> bool:
        try:
            return os.path.samestat(self._path.stat(), status)
        except FileNotFoundError:
            return False

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        # Rotate the target of a symbolic link, not the link.
        self._path = Path(os.path.realpath(self._path))
        try:
            return os.open(self._path, flags, 0o600)
        except FileNotFoundError:
            make_private_directory(self._path.parent)
            return os.open(self._path, flags, 0o600)

    def _rotate(self, full: os.stat_result) -> None:
        lock = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            # If another process has the lock, it is rotating; don't wait, and append to the old file.
            with suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._has_name(full):
                    self._shift_names()
                # Unlock explicitly: a child forked meanwhile has a copy of the descriptor, which keeps the lock.
                fcntl.flock(lock, fcntl.LOCK_UN)
        finally:
            os.close(lock)

    def _shift_names(self) -> None:
        if not self._backups:
            self._path.unlink()
            return
        last = 1
        while last < self._backups and self._backup(last).exists():
            last += 1
        for number in range(last, 1, -1):
            self._backup(number - 1).replace(self._backup(number))
        self._path.replace(self._backup(1))

    def _backup(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")

    def _complain(self, error: OSError | ValueError) -> None:
        if self._has_complained:
            return
        self._has_complained = True
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        tell(f"cannot write the log {self._path} ({reason}); hooks run, but unrecorded")
