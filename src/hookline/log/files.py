"""The files of the log, in blocks of whole lines."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from hookline.errors import HooklineError
from hookline.files import open_regular

_BLOCK = 1024 * 1024
# Nearly every file ends with a whole line, and a log may have a hundred files.
_LAST_BLOCK = 4096
# A log that is rotated this often while it is looked at is read as it was found last.
_MOST_LOOKS = 20


class LogFile(msgspec.Struct, frozen=True):
    """An open file of the log, as it was when it was opened."""

    path: Path
    descriptor: int
    identity: tuple[int, int]
    size: int
    """The end of the last whole line."""

    def close(self) -> None:
        """Closes the file."""
        os.close(self.descriptor)

    def blocks(self, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """The file, or a part of it that ends where a line does, in pieces of whole lines."""
        end = self.size if end is None else end
        offset, rest = start, b""
        while offset < end and (data := os.pread(self.descriptor, min(_BLOCK, end - offset), offset)):
            offset += len(data)
            whole = data.rfind(b"\n") + 1
            if whole:
                yield rest + data[:whole]
                rest = data[whole:]
            else:
                rest += data

    def blocks_from_the_end(self, start: int = 0, end: int | None = None) -> Iterator[tuple[int, bytes]]:
        """The same pieces with the places where they begin, the last one first."""
        offset, rest = self.size if end is None else end, b""
        while offset > start:
            before = max(start, offset - _BLOCK)
            data = os.pread(self.descriptor, offset - before, before)
            offset = before
            # The line before the first newline began in an earlier piece.
            begin = data.find(b"\n") + 1 if before > start else 0
            if begin or before == start:
                yield before + begin, data[begin:] + rest
                rest = data[:begin]
            else:
                rest = data + rest

    def grown(self) -> "LogFile":
        """The same file as it is now."""
        return LogFile(self.path, self.descriptor, self.identity, _end_of_lines(self.descriptor))


def open_all(path: Path) -> list[LogFile]:
    """The log and its rotated files, oldest first, each once and none missed even while they are being rotated.

    Raises HooklineError if one of them can't be read. A log that does not exist has no files.
    """
    for _ in range(_MOST_LOOKS):
        files = _open_named(path)
        # A rotation gives every file another name, and one that was named only after the names were listed is missed.
        if list(files) == list(dict.fromkeys(_identities(path))):
            break
        for file in files.values():
            file.close()
    else:
        files = _open_named(path)
    return list(files.values())[::-1]


@contextmanager
def opened(path: Path) -> Iterator[list[LogFile]]:
    """The same files, closed at the end of the block."""
    files = open_all(path)
    try:
        yield files
    finally:
        for file in files:
            file.close()


def _open_named(path: Path) -> dict[tuple[int, int], LogFile]:
    """The files by their identities, newest first."""
    files: dict[tuple[int, int], LogFile] = {}
    for name in (path, *_rotated(path)):
        file = open_one(name)
        if file is None:
            continue
        if file.identity in files:
            file.close()
        else:
            files[file.identity] = file
    return files


def _identities(path: Path) -> Iterator[tuple[int, int]]:
    for name in (path, *_rotated(path)):
        with suppress(FileNotFoundError):
            status = name.stat()
            yield status.st_dev, status.st_ino


def open_one(path: Path) -> LogFile | None:
    """The file of this name, or None; raises HooklineError if it can't be read."""
    try:
        descriptor = open_regular(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HooklineError(f"the log {path} cannot be read: {error.strerror}") from error
    status = os.fstat(descriptor)
    return LogFile(path, descriptor, (status.st_dev, status.st_ino), _end_of_lines(descriptor))


def _rotated(path: Path) -> list[Path]:
    target = Path(os.path.realpath(path))
    names: list[str] = []
    with suppress(OSError):
        names = os.listdir(target.parent)  # not `glob`, for which [ in the name of the log is special
    beginning = f"{target.name}."
    endings = (name.removeprefix(beginning) for name in names if name.startswith(beginning))
    numbers = sorted(int(ending) for ending in endings if ending.isdecimal())
    return [target.with_name(f"{beginning}{number}") for number in numbers]


def _end_of_lines(descriptor: int) -> int:
    """Where the last whole line ends; after it comes a line that is incomplete or still being written."""
    end, size = os.fstat(descriptor).st_size, min(_LAST_BLOCK, _BLOCK)
    while end > 0:
        start = max(0, end - size)
        newline = os.pread(descriptor, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end, size = start, _BLOCK
    return 0
