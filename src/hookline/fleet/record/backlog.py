"""The part of the log that is not sent yet, as batches of whole lines from the end of the last batch.

The log is its own queue. Nothing is copied: a cursor says how far it was sent, and rotation keeps the files that wait.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from hookline.log.files import LogFile, open_all
from hookline.log.write.chain import Head, Link, read_tail


class Cursor(msgspec.Struct, frozen=True):
    """How far the log was sent: the last record, and where it ended."""

    seq: int = 0
    hash: str = ""
    inode: int = 0
    offset: int = 0

    @property
    def head(self) -> Head:
        """The last record that was sent."""
        return Head(self.seq, self.hash)


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Lines to send next."""

    lines: bytes
    prev: str
    """The hash of the record before the first."""
    first: int | None
    """The first sequence number; None if no line has one."""
    end: Cursor
    """Where the log is sent to when these lines have arrived."""
    dropped: tuple[int, int] | None = None
    """The sequence numbers that rotation removed before they were sent."""
    is_anew: bool = False
    """The log has another chain than the one that was sent: it was removed or replaced."""


def next_batch(path: Path, cursor: Cursor, most: int) -> Batch | None:
    """The lines after the cursor, at most so many bytes of them but always a whole line; None at the end of the log.

    Raises HooklineError if the log can't be read.
    """
    files = open_all(path)
    try:
        return _next(files, cursor, most)
    finally:
        for file in files:
            file.close()


def waiting_bytes(path: Path, cursor: Cursor) -> int:
    """Return the number of bytes after the cursor; raises HooklineError if the log can't be read."""
    files = open_all(path)
    try:
        index, offset = _place_of(files, cursor) or (0, 0)
        return max(0, sum(file.size for file in files[index:]) - offset)
    finally:
        for file in files:
            file.close()


def _next(files: Sequence[LogFile], cursor: Cursor, most: int) -> Batch | None:
    place = _place_of(files, cursor)
    index, offset = place or (0, 0)
    data = b""
    while index < len(files) and not data:
        is_last = index == len(files) - 1
        data = _lines_at(files[index], offset, most, is_whole=not is_last)
        if not data:
            index, offset = index + 1, 0
    if not data:
        return None
    links = [link for line in data.split(b"\n") if (link := Link.read(line)) is not None]
    before, dropped, is_anew = cursor.head, None, False
    if place is None and links:
        before = Head(0, links[0].prev or "")
        if links[0].seq > cursor.seq + 1:
            dropped = (cursor.seq + 1, links[0].seq - 1)
        is_anew = links[0].seq <= cursor.seq
    last = Head(links[-1].seq, links[-1].hash) if links else before
    end = Cursor(last.seq, last.hash, files[index].identity[1], offset + len(data))
    first = links[0].seq if links else None
    return Batch(lines=data, prev=before.hash, first=first, end=end, dropped=dropped, is_anew=is_anew)


def _lines_at(file: LogFile, offset: int, most: int, *, is_whole: bool) -> bytes:
    """Return whole lines from this offset. The last line of a rotated file may lack its newline."""
    size = os.fstat(file.descriptor).st_size if is_whole else file.size
    wanted = most
    while offset < size:
        data = os.pread(file.descriptor, min(wanted, size - offset), offset)
        end = data.rfind(b"\n") + 1
        if end:
            return data[:end]
        if not data or offset + len(data) >= size:
            return data + b"\n" if data and is_whole else b""
        wanted *= 2
    return b""


def _place_of(files: Sequence[LogFile], cursor: Cursor) -> tuple[int, int] | None:
    """The file and offset where the cursor stands; None if its record is not in the log."""
    if cursor == Cursor():
        return (0, 0) if files else None
    for index, file in enumerate(files):
        size = os.fstat(file.descriptor).st_size
        # The number of a file may belong to another one by now, so its content decides.
        if file.identity[1] == cursor.inode and cursor.offset <= size + 1:
            tail = read_tail(file.descriptor, min(cursor.offset, size))
            if tail.head == cursor.head or (tail.head is None and not tail.is_torn):
                return index, cursor.offset
    for index, file in enumerate(files):
        if (offset := _end_of(file, cursor.head)) is not None:
            return index, offset
    return None


def _end_of(file: LogFile, head: Head) -> int | None:
    """Where the line with this head ends, if the file has it."""
    clue = b'"hash":"%b"}\n' % head.hash.encode()
    offset = 0
    for block in file.blocks() if head.hash else ():
        found = block.find(clue)
        if found >= 0:
            return offset + found + len(clue)
        offset += len(block)
    return None
