"""The index of a log: a summary of every few megabytes, in one small file per file of the log.

The log is the only source of truth: the index is made from it by readers when they need it, never while an event is
logged, and `verify` does not look at it. It stands beside the log, in the directory `<log>.index`, for its owner alone.
An index that is missing, damaged, of another version, or of a file that is no longer the same is made anew; where it
can't be kept, the log is read as if there were none.
"""

import os
import re
import stat
from binascii import crc32
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from hookline.files import make_private_directory, open_regular, write_atomically
from hookline.log._files import LogFile
from hookline.log._summary import Group, SessionSummary, Summary, SummaryMaker
from hookline.log.entry import decode_block
from hookline.log.statistics import Durations

Progress = Callable[[int, int], None]
"""Called while an index is made, with the number of bytes that are read and of those that have to be."""

# What a file has to lack before its index is made or extended; less is read quickly.
_SMALL_PART = 4
# Another layout of summaries is another version, by itself. Another way to count needs a new number.
_STORED = (Summary, SessionSummary, Group, Durations)
_VERSION = ",".join((*(name for stored in _STORED for name in stored.__struct_fields__), "6"))
_EDGE_BYTES = 512
_NAME = re.compile(r"[0-9a-f]+")
_SAVE_BYTES = 256 * 1024 * 1024
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


class FileIndex(msgspec.Struct, array_like=True):
    """The summaries of one file of the log, and how that file is recognized."""

    version: str
    size: int
    """The size and the time of its last change when the index was made."""
    changed_ns: int
    edges: bytes
    """The bytes at its beginning, and before `end`: with hashes, no two files have the same."""
    end: int
    """How far it is indexed."""
    checksum: int
    """The CRC-32 of all bytes before `end`."""
    summaries: list[Summary]
    """In the order of the file. A part without a summary has to be read."""


class LogIndex:
    """The index of the files of one log, oldest first, as far as it could be had."""

    def __init__(self, path: Path, files: Sequence[LogFile], *, stretch_bytes: int, progress: Progress | None) -> None:
        self._directory = _directory_of(path)
        self._stretch_bytes = stretch_bytes
        self._progress = progress
        self._files = files
        self._indexes = {file.identity: self._load(file) for file in files}
        if any(map(self._is_worth_it, files)) and self._can_be_kept():
            self._extend()

    def summaries(self, file: LogFile) -> Sequence[Summary]:
        """The summaries of a file, in its order."""
        index = self._indexes.get(file.identity)
        return () if index is None else index.summaries

    def _load(self, file: LogFile) -> FileIndex | None:
        try:
            descriptor = open_regular(self._path_of(file), os.O_RDONLY | os.O_NOFOLLOW)
        except (OSError, ValueError):
            return None
        with os.fdopen(descriptor, "rb") as stored:
            status = os.fstat(descriptor)
            # Whoever can write the log can change what it says; nobody else can by its index.
            if status.st_uid not in (os.geteuid(), 0, os.fstat(file.descriptor).st_uid):
                return None
            if status.st_mode & _OTHERS_MAY_WRITE:
                return None
            data = stored.read()
        with suppress(ValueError):
            if crc32(data[4:]) == int.from_bytes(data[:4], "big"):
                index = _DECODER.decode(memoryview(data)[4:])
                return index if _is_of(index, file) else None
        return None

    def _is_worth_it(self, file: LogFile) -> bool:
        index = self._indexes[file.identity]
        missing = file.size - (index.end if index else 0)
        if index is not None and file is not self._files[-1] and not _is_unchanged(index, file):
            return True  # or all of it is read each time, to see that it has only grown
        # The newest file grows, so its end is left to those who read it.
        least = self._stretch_bytes if file is self._files[-1] else max(1, self._stretch_bytes // _SMALL_PART)
        return missing >= least

    def _can_be_kept(self) -> bool:
        """Whether the directory for it is there, or could be made: by the owner of the log, who alone keeps one."""
        try:
            if os.fstat(self._files[-1].descriptor).st_uid != os.geteuid():
                return False
            make_private_directory(self._directory)
            status = self._directory.lstat()
        except (OSError, ValueError):
            return False
        is_private = status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_MAY_WRITE
        return stat.S_ISDIR(status.st_mode) and is_private and os.access(self._directory, os.W_OK)

    def _extend(self) -> None:
        self._remove_others()
        lacking = [file for file in self._files if self._is_worth_it(file)]
        ends = {file.identity: index.end if (index := self._indexes[file.identity]) else 0 for file in lacking}
        missing = sum(file.size - ends[file.identity] for file in lacking)
        done = 0
        for file in lacking:
            done = self._extend_file(file, done, missing)

    def _extend_file(self, file: LogFile, done: int, missing: int) -> int:
        status = os.fstat(file.descriptor)
        index = self._indexes[file.identity]
        if index is None:
            index = self._indexes[file.identity] = FileIndex(_VERSION, 0, 0, b"", 0, 0, [])
        begin = at = saved = index.end
        checksum = index.checksum
        maker = SummaryMaker(at)
        for block in file.blocks(start=index.end):
            maker.add(decode_block(block))
            at += len(block)
            checksum = crc32(block, checksum)
            if self._progress is not None:
                self._progress(done + at - begin, missing)
            if at - index.end >= self._stretch_bytes or (at == file.size and file is not self._files[-1]):
                if (summary := maker.finish(at)) is not None:
                    index.summaries.append(summary)
                index.end, index.checksum = at, checksum
                maker = SummaryMaker(at)
                # From time to time, so that little is lost when somebody does not want to wait.
                if at - saved >= _SAVE_BYTES:
                    self._store(file, index, status)
                    saved = at
        self._store(file, index, status)
        return done + at - begin

    def _store(self, file: LogFile, index: FileIndex, status: os.stat_result) -> None:
        index.size, index.changed_ns = status.st_size, status.st_mtime_ns
        index.edges = _edges(file, index.end)
        data = msgspec.msgpack.encode(index)
        # Without it the log is read once more.
        with suppress(OSError):
            write_atomically(self._path_of(file), crc32(data).to_bytes(4, "big") + data, is_durable=False)

    def _remove_others(self) -> None:
        """Remove the indexes of files that are gone."""
        kept = {self._path_of(file).name for file in self._files}
        _remove(self._directory, kept)

    def _path_of(self, file: LogFile) -> Path:
        # Not by its name, which changes when files are rotated.
        return self._directory / f"{file.identity[1]:x}"


def drop_index(path: Path) -> None:
    """Remove the index of this log, so that the next reader makes it anew."""
    with suppress(OSError, ValueError):
        directory = _directory_of(path)
        # Not what a symbolic link leads to.
        if stat.S_ISDIR(directory.lstat().st_mode):
            _remove(directory, kept=set())
            directory.rmdir()


def _directory_of(log: Path) -> Path:
    return Path(f"{os.path.realpath(log)}.index")


def _remove(directory: Path, kept: set[str]) -> None:
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.name not in kept and _NAME.fullmatch(entry.name):
                with suppress(OSError):
                    os.unlink(entry.path)  # noqa: PTH108 - an entry of scandir has no Path


def _is_of(index: FileIndex, file: LogFile) -> bool:
    """Whether the index is of this file, which may only have grown since; after a change it is read to find out."""
    status = os.fstat(file.descriptor)
    if index.version != _VERSION or not 0 < index.end <= min(index.size, file.size) or index.size > status.st_size:
        return False
    places = [place for summary in index.summaries for place in (summary.start, summary.end)]
    if [0, *places, index.end] != sorted([0, *places, index.end]) or index.edges != _edges(file, index.end):
        return False
    return _is_unchanged(index, file) or index.checksum == _checksum(file, index.end)


def _is_unchanged(index: FileIndex, file: LogFile) -> bool:
    status = os.fstat(file.descriptor)
    return (index.size, index.changed_ns) == (status.st_size, status.st_mtime_ns)


def _checksum(file: LogFile, end: int) -> int:
    checksum = 0
    for block in file.blocks(end=end):
        checksum = crc32(block, checksum)
    return checksum


def _edges(file: LogFile, end: int) -> bytes:
    last = max(0, end - _EDGE_BYTES)
    return os.pread(file.descriptor, min(_EDGE_BYTES, end), 0) + os.pread(file.descriptor, end - last, last)


_DECODER = msgspec.msgpack.Decoder(FileIndex)
