"""The part of the log that is not sent yet, as batches of whole lines.

The log is its own queue. Nothing is copied: a cursor says how far it was sent, and rotation keeps the unsent files.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from hookline.log.files import LogFile, opened
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
    end: Cursor
    """Where the log is sent to when these lines have arrived."""
    dropped: tuple[int, int] | None = None
    """The sequence numbers that rotation removed before they were sent."""
    is_new_chain: bool = False
    """True if the log has another chain than the one that was sent: it was removed or replaced."""


def next_batch(path: Path, cursor: Cursor, most: int) -> Batch | None:
    """Return the lines after the cursor, at most so many bytes but at least one line; None at the end of the log.

    Raises HooklineError if the log can't be read.
    """
    with opened(path) as files:
        start = _position_of(files, cursor)
        index, offset = start or (0, 0)
        data = b""
        while index < len(files):
            data = _lines_at(files[index], offset, most, is_rotated=index < len(files) - 1)
            if data:
                break
            index, offset = index + 1, 0
        if not data:
            return None
        links = [link for line in data.split(b"\n") if (link := Link.read(line)) is not None]
        before, dropped, is_new_chain = cursor.head, None, False
        if start is None and links:
            first = links[0]
            before, is_new_chain = Head(0, first.prev or ""), first.seq <= cursor.seq
            dropped = (cursor.seq + 1, first.seq - 1) if first.seq > cursor.seq + 1 else None
        last = Head(links[-1].seq, links[-1].hash) if links else before
        end = Cursor(last.seq, last.hash, files[index].identity[1], offset + len(data))
        return Batch(lines=data, prev=before.hash, end=end, dropped=dropped, is_new_chain=is_new_chain)


def waiting_bytes(path: Path, cursor: Cursor) -> int:
    """Return the number of bytes after the cursor; raises HooklineError if the log can't be read."""
    with opened(path) as files:
        index, offset = _position_of(files, cursor) or (0, 0)
        return max(0, sum(file.size for file in files[index:]) - offset)


def _lines_at(file: LogFile, offset: int, most: int, *, is_rotated: bool) -> bytes:
    """Return whole lines from this offset. The last line of a rotated file may lack its newline."""
    size = os.fstat(file.descriptor).st_size if is_rotated else file.size
    wanted = most
    while offset < size:
        data = os.pread(file.descriptor, min(wanted, size - offset), offset)
        end = data.rfind(b"\n") + 1
        if end:
            return data[:end]
        if not data or offset + len(data) >= size:
            return data + b"\n" if data and is_rotated else b""
        wanted *= 2
    return b""


def _position_of(files: Sequence[LogFile], cursor: Cursor) -> tuple[int, int] | None:
    """Return the file and offset of the cursor; None if its record is not in the log."""
    if cursor == Cursor():
        return (0, 0) if files else None
    for index, file in enumerate(files):
        size = os.fstat(file.descriptor).st_size
        # Another file may have this inode by now, so its content decides.
        if file.identity[1] == cursor.inode and cursor.offset <= size + 1:
            tail = read_tail(file.descriptor, min(cursor.offset, size))
            if tail.head == cursor.head or (tail.head is None and not tail.is_torn):
                return index, cursor.offset
    for index, file in enumerate(files):
        if (offset := _end_of(file, cursor.head)) is not None:
            return index, offset
    return None


def _end_of(file: LogFile, head: Head) -> int | None:
    """Return where the line with this head ends, if the file has it."""
    clue = b'"hash":"%b"}\n' % head.hash.encode()
    offset = 0
    for block in file.blocks() if head.hash else ():
        found = block.find(clue)
        if found >= 0:
            return offset + found + len(clue)
        offset += len(block)
    return None
