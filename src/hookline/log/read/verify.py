"""Checks the chain of hashes: which records were changed, removed, inserted or moved."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from hookline.log.files import LogFile, opened
from hookline.log.write.chain import Head, Link, read_tail
from hookline.protocol.text.json_text import parse_json

_UNLINKED = "has no sequence number and hash: inserted, changed, or written while the log could not be locked"
_INCOMPLETE = "is incomplete: a program was ended, or the disk was full, while it wrote this"


class ChainFault(msgspec.Struct, frozen=True):
    """A place in the log that is not as hookline wrote it."""

    message: str
    file: str | None = None
    line: int | None = None


class Verification(msgspec.Struct, rename="camel"):
    """The findings, and the part of the log that they are about."""

    files: int = 0
    records: int = 0
    """How many have a hash."""
    first: int | None = None
    """The sequence number at which the log begins."""
    last: Head | None = None
    without_hash: int = 0
    """The number of lines before the first hash."""
    confirmed: Head | None = None
    """The latest of the given heads that is in the log."""
    forgotten: int = 0
    """How many of the given heads are older than everything that is kept."""
    findings: list[ChainFault] = []
    incomplete: list[ChainFault] = []
    """Lines that were cut short; they have no part in the chain."""


def verify_log(path: Path, heads: Sequence[Head] = (), *, backups: int | None = None) -> Verification:
    """Check the log with its rotated files, and whether it has these heads; HooklineError if it can't be read.

    `backups` is how many rotated files are kept, if that is known: older ones are removed, but none before that.
    """
    done = Verification()
    chain, kept = ChainCheck(), set[Head]()
    wanted = {head.hash for head in heads}
    with opened(path) as files:
        done.files = len(files)
        for file in files:
            for number, line in enumerate(_lines(file), 1):
                link = Link.read(line)
                if link is None:
                    _check_unlinked(line, file, number, done)
                    continue
                if message := chain.check(link):
                    done.findings.append(ChainFault(message, str(file.path), number))
                done.records += 1
                done.first = done.first or link.seq
                done.last = Head(link.seq, link.hash)
                if link.hash in wanted:
                    kept |= {Head(link.seq, link.hash), Head(0, link.hash)}
    if done.first is not None and done.first > 1 and backups is not None and done.files <= backups:
        why = f"rotation keeps {backups} older files, and there are {done.files - 1}"
        done.findings.insert(0, ChainFault(f"the records before record {done.first} are missing: {why}"))
    _check_heads(heads, kept, done)
    return done


def log_head(path: Path) -> Head | None:
    """The last record with a hash, or None if there is none; HooklineError if the log can't be read."""
    with opened(path) as files:
        ends = (read_tail(file.descriptor, os.fstat(file.descriptor).st_size).head for file in reversed(files))
        return next(filter(None, ends), None)


def whole_lines(path: Path) -> Iterator[bytes]:
    """All lines of the log and its rotated files, oldest first, in blocks; HooklineError if it can't be read."""
    with opened(path) as files:
        for file in files:
            yield from file.blocks()


class _Point(msgspec.Struct, frozen=True):
    """A line that the next one may follow."""

    seq: int
    hashes: tuple[str, ...]
    """The hash that it has, and the one that it should have: the line or its hash may have been changed."""
    is_doubtful: bool = False


class ChainCheck:
    """Follows the chain from line to line, also behind a place where it is broken."""

    def __init__(self, before: Head | None = None) -> None:
        """Begins anywhere, or behind a record that is known."""
        self._main: _Point | None = None if before is None else _Point(before.seq, (before.hash,))
        # Lines that do not belong where they stand may be followed by their own successors.
        self._stray: _Point | None = None

    def check(self, link: Link) -> str | None:
        """Return the fault of a line, given the lines before it, or None."""
        if self._main is None:
            return self._begin(link)
        for point in (self._main, self._stray):
            if point is not None and any(map(link.follows, point.hashes)):
                return self._follow(point, link)
        return self._break(self._main, link)

    def _begin(self, link: Link) -> str | None:
        self._main = _point(link, link.prev or "")
        if link.seq > 1 and link.prev is None:
            return f"the records before record {link.seq} are missing"
        return None if link.follows(link.prev or "") else f"record {link.seq} was changed"

    def _follow(self, point: _Point, link: Link) -> str | None:
        if point is self._main:
            self._main = _Point(link.seq, (link.hash,))
        else:
            self._stray = _Point(link.seq, (link.hash,))
        if link.seq == point.seq + 1 or point.is_doubtful:
            return None
        return f"record {link.seq} follows record {point.seq}: it was numbered again"

    def _break(self, main: _Point, link: Link) -> str:
        if link.seq <= main.seq:
            self._stray = _point(link, link.prev or "")
            return f"record {link.seq} stands after record {main.seq}: it was copied, moved or inserted"
        self._main = _point(link, main.hashes[0])
        if link.seq == main.seq + 1:
            return f"record {link.seq}, or the hash of the record before it, was changed"
        missing = (
            f"record {main.seq + 1} is" if link.seq == main.seq + 2 else f"records {main.seq + 1} to {link.seq - 1} are"
        )
        # Its own content can be checked only if it names the line before.
        is_whole = link.prev is not None and link.follows(link.prev)
        return f"{missing} missing before record {link.seq}{'' if is_whole else ', or that one was changed'}"


def _point(link: Link, prev: str) -> _Point:
    return _Point(link.seq, (link.hash, link.hash_after(prev)), is_doubtful=True)


def _check_unlinked(line: bytes, file: LogFile, number: int, done: Verification) -> None:
    if not line:
        return
    if not done.records:
        done.without_hash += 1
        return
    if not is_record(line):
        done.incomplete.append(ChainFault(_INCOMPLETE, str(file.path), number))
        return
    done.findings.append(ChainFault(_UNLINKED, str(file.path), number))


def is_record(line: bytes) -> bool:
    """Whether `hookline log` would show this line."""
    try:
        return isinstance(parse_json(line.decode("utf-8", "replace")), dict)
    except (ValueError, RecursionError):
        return False


def _check_heads(heads: Sequence[Head], kept: set[Head], done: Verification) -> None:
    for head in heads:
        if head in kept:
            done.confirmed = head if done.confirmed is None or head.seq > done.confirmed.seq else done.confirmed
        elif head.seq and done.first is not None and head.seq < done.first:
            done.forgotten += 1
        else:
            which = f"the head {head.seq} ({head.hash[:12]}…)" if head.seq else f"the head {head.hash[:12]}…"
            done.findings.append(ChainFault(f"{which} is not in the log: its end was cut off, or it was replaced"))


def _lines(file: LogFile) -> Iterator[bytes]:
    for block in file.blocks():
        yield from block[:-1].split(b"\n")
    rest = os.fstat(file.descriptor).st_size - file.size
    if rest > 0:
        # Another process may be writing it right now, so it is read only up to where a line ends.
        yield os.pread(file.descriptor, rest, file.size).partition(b"\n")[0]
