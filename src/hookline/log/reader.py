"""Reads and filters the log: all of it in order, its newest records page by page, one event in full, or its numbers.

    with LogReader(path) as reader:
        page = reader.page(LogQuery(hook="guard"), 50)          the newest records first
        older = reader.page(LogQuery(hook="guard"), 50, before=page.next)
        records = reader.whole_records(page.entries[0].fire)    everything about one event, with its texts
        sessions = reader.sessions(50)                          the sessions, the latest first
        hooks = reader.statistics(LogQuery(since=…)).hooks      counts, failures and times of each hook

A large log is read with its index (`log/index.py`), which is made on first use and extended afterwards: whatever can't
have a wanted record is skipped, and statistics are added up from summaries. The answers are the same without it.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import msgspec

from hookline.contract.wire import parse_json
from hookline.log._files import LogFile, open_all, open_one
from hookline.log.entry import ENDS, LogEntry, LogQuery, decode_block, ended_in

if TYPE_CHECKING:
    from hookline.log._summary import SessionSummary, Summary
    from hookline.log.index import LogIndex, Progress
    from hookline.log.statistics import Statistics

STRETCH_BYTES = 4 * 1024 * 1024
"""The size of what a summary is about: small enough to be read at once, large enough that summaries are small."""

_POLL_S = 0.2
# So much of the end is read before the index is asked for: the newest records are mostly all that is wanted.
_NEAR_BYTES = 2 * 1024 * 1024


class Place(NamedTuple):
    """Where a record stands, even after its file was rotated."""

    inode: int
    offset: int

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"{self.inode:x}.{self.offset:x}"

    @classmethod
    def parse(cls, text: str) -> "Place | None":
        """The place that was written so; None for any other text."""
        inode, _, offset = text.partition(".")
        try:
            return cls(int(inode, 16), int(offset, 16))
        except ValueError:
            return None


class Page(NamedTuple):
    """Some records, the newest first."""

    entries: list[LogEntry]
    next: Place | None
    """What to pass as `before` for the page after this one; None behind the last page."""


class _Stretch(NamedTuple):
    """A part of a file, and what is known about it."""

    file: LogFile
    start: int
    end: int
    summary: "Summary | None" = None


class _Found(NamedTuple):
    """A wanted record, and where it stands: in a block, counted in lines that are not blank."""

    entry: LogEntry
    file: LogFile
    offset: int
    block: bytes
    number: int

    @property
    def place(self) -> Place:
        at, number = self.offset, -1
        for line in self.block.split(b"\n"):
            number += bool(line.strip())
            if number == self.number:
                break
            at += len(line) + 1
        return Place(self.file.identity[1], at)


class LogReader:
    """The log with its rotated files, as it is now; a context manager that closes them.

    Raises HooklineError if the log can't be read. A log that does not exist is empty. `progress` is called while an
    index is made, which takes a while for a log of gigabytes.
    """

    def __init__(
        self,
        path: Path,
        *,
        progress: "Progress | None" = None,
        uses_index: bool = True,
        stretch_bytes: int = STRETCH_BYTES,
    ) -> None:
        self.path = path
        """The file that is written to."""
        self._progress = progress
        self._uses_index = uses_index
        self._stretch_bytes = stretch_bytes
        self._files = open_all(path)
        self.unreadable = 0
        """The number of lines so far that were not records."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the files."""
        while self._files:
            self._files.pop().close()

    def entries(self, query: LogQuery) -> Iterator[LogEntry]:
        """The wanted records, oldest first; the start of an event only if the log has no end of it."""
        unfinished = self._unfinished if query.wants_starts else set()
        for stretch in self._stretches():
            if self._may_have(stretch, query):
                for entry in self._wanted(stretch, query):
                    if not entry.is_start or (entry.fire or "") in unfinished:
                        yield entry

    def whole(self, query: LogQuery) -> Iterator[dict[str, Any]]:
        """The wanted records with all their texts, oldest first; starts are among them whether they ended or not."""
        for _, line in self.lines(query):
            yield parse_json(line.decode("utf-8", "replace"))

    def lines(self, query: LogQuery) -> Iterator[tuple[LogEntry, bytes]]:
        """The same records, each with its line, from which the texts can be read where they are needed."""
        for stretch in self._stretches():
            if self._may_have(stretch, query):
                for block in stretch.file.blocks(stretch.start, stretch.end):
                    lines = (line for line in block.split(b"\n") if line.strip())
                    for entry, line in zip(self._decode(block), lines, strict=False):
                        if entry is not None and query.wants(entry):
                            yield entry, line

    def newest(self, query: LogQuery, count: int) -> list[LogEntry]:
        """The latest of these records, oldest first; reads only as much of the log as needed."""
        return self.page(query, count).entries[::-1]

    def page(self, query: LogQuery, count: int, before: Place | None = None) -> Page:
        """So many of these records, the newest first: the newest of all, or those that stand before a place."""
        entries: list[LogEntry] = []
        for found in self._newest_first(query, before) if count > 0 else ():
            entries.append(found.entry)
            if len(entries) >= count:
                return Page(entries, found.place)
        return Page(entries, None)

    def whole_records(self, run: str) -> list[dict[str, Any]]:
        """Everything about one run or one event, by the beginning of its id: the records with all their texts.

        The start of an event is among them only if the log has no end of it.
        """
        event = run.partition("-")[0]
        clue = f'"fire":"{event}'.encode()
        stretches = (it for it in self._stretches() if it.summary is None or it.summary.may_have_event(event))
        blocks = (block for stretch in stretches for block in stretch.file.blocks(stretch.start, stretch.end))
        found = []
        for line in (line for block in blocks if clue in block for line in block.split(b"\n") if clue in line):
            with suppress(ValueError):
                found.append(parse_json(line.decode("utf-8", "replace")))
        found = [record for record in found if isinstance(record, dict) and _is_called(record, run)]
        ended = {record.get("fire") for record in found if record.get("kind") in ENDS}
        return [record for record in found if record.get("kind") != "start" or record.get("fire") not in ended]

    def sessions(self, count: int | None = None) -> "dict[str, SessionSummary]":
        """The sessions by their ids, the one with the latest record first."""
        found: dict[str, SessionSummary] = {}
        for stretch in self._stretches():
            parts = stretch.summary.sessions if stretch.summary else self._sessions_in(stretch)
            for name, part in parts.items():
                if name in found:
                    found[name].merge(part)
                else:
                    found[name] = msgspec.structs.replace(part)
        latest = sorted(found.items(), key=lambda item: item[1].last, reverse=True)
        return dict(latest[:count])

    def statistics(self, query: LogQuery) -> "Statistics":
        """The numbers of the hooks and events that the wanted records are about."""
        from hookline.log.statistics import Statistics  # noqa: PLC0415 - not needed by `hookline log`

        statistics, unreadable_before = Statistics(), self.unreadable
        for stretch in self._stretches():
            if self._may_have(stretch, query):
                if stretch.summary is not None and stretch.summary.can_count(query):
                    stretch.summary.count(query, statistics)
                    self.unreadable += stretch.summary.unreadable
                else:
                    for entry in self._wanted(stretch, query):
                        statistics.add(entry)
        statistics.unreadable = self.unreadable - unreadable_before
        return statistics

    def follow(self, query: LogQuery, *, wait: Callable[[], None] = lambda: time.sleep(_POLL_S)) -> Iterator[LogEntry]:
        """The wanted records that are written from now on, but no starts; calls `wait` when there is none."""
        while True:
            for block in self._grown():
                for entry in self._decode(block):
                    if entry is not None and query.wants(entry) and not entry.is_start:
                        yield entry
            wait()

    def _grown(self) -> Iterator[bytes]:
        # Open the current file first, then read the rest of the previous one: it can't grow after its rotation.
        current = open_one(self.path)
        if self._files:
            last = self._files[-1]
            grown = last.grown()
            yield from grown.blocks(start=last.size)
            self._files[-1] = grown
            if current is not None and current.identity == last.identity:
                current.close()
                return
        if current is not None:
            self._files.append(current)
            yield from current.blocks()

    @cached_property
    def _index(self) -> "LogIndex | None":
        stretch_bytes = self._stretch_bytes
        if not self._uses_index or sum(file.size for file in self._files) < stretch_bytes:
            return None
        from hookline.log.index import LogIndex  # noqa: PLC0415 - a small log does without

        return LogIndex(self.path, self._files, stretch_bytes=stretch_bytes, progress=self._progress)

    def _stretches(self) -> Iterator[_Stretch]:
        """All of the log in order: parts with a summary, and the rest."""
        for file in list(self._files):
            end = 0
            for summary in self._index.summaries(file) if self._index else ():
                if summary.start > end:
                    yield _Stretch(file, end, summary.start)
                yield _Stretch(file, summary.start, summary.end, summary)
                end = summary.end
            if file.size > end:
                yield _Stretch(file, end, file.size)

    def _stretches_before(self, place: Place) -> Iterator[_Stretch]:
        """What stands before a place, the newest first; nothing if its file is gone, because then all of it is."""
        found = []
        for stretch in self._stretches():
            if stretch.file.identity[1] == place.inode and stretch.end >= place.offset:
                found.append(_Stretch(stretch.file, stretch.start, place.offset))
                yield from reversed(found)
                return
            found.append(stretch)

    def _newest_first(self, query: LogQuery, before: Place | None) -> Iterator[_Found]:
        ended = set[str]()
        if before is not None:
            stretches = self._stretches_before(before)
            if query.wants_starts:
                ended = self._ended_after(before)
        else:
            stretches = self._stretches_from_the_end()
        for stretch in stretches:
            if self._may_have(stretch, query):
                for offset, block in stretch.file.blocks_from_the_end(stretch.start, stretch.end):
                    yield from self._wanted_from_the_end(stretch.file, offset, block, query, ended)
            elif stretch.summary is not None:
                ended.update(stretch.summary.late_ends)

    def _stretches_from_the_end(self) -> Iterator[_Stretch]:
        """All of the log, the newest first: the end without its index, then the rest with it."""
        near = 0
        for file in reversed(self._files):
            for offset, block in file.blocks_from_the_end():
                yield _Stretch(file, offset, offset + len(block))
                near += len(block)
                if near >= _NEAR_BYTES:
                    yield from self._stretches_before(Place(file.identity[1], offset))
                    return

    def _wanted_from_the_end(
        self, file: LogFile, offset: int, block: bytes, query: LogQuery, ended: set[str]
    ) -> Iterator[_Found]:
        entries = self._decode(block)
        ended |= ended_in(entries)
        for number in range(len(entries) - 1, -1, -1):
            entry = entries[number]
            if entry is not None and query.wants(entry) and not (entry.is_start and (entry.fire or "") in ended):
                yield _Found(entry, file, offset, block, number)

    def _ended_after(self, place: Place) -> set[str]:
        """The events whose end stands behind a place."""
        ended = set[str]()
        is_behind = False
        for stretch in self._stretches():
            start = stretch.start
            if not is_behind and stretch.file.identity[1] == place.inode and stretch.end > place.offset:
                is_behind, start = True, max(start, place.offset)
            if not is_behind:
                continue
            if stretch.summary is not None and start == stretch.start:
                ended.update(stretch.summary.late_ends)
            else:
                for block in stretch.file.blocks(start, stretch.end):
                    ended |= ended_in(decode_block(block))
        return ended

    @cached_property
    def _unfinished(self) -> set[str]:
        """The events whose start is in the log, and whose end is not."""
        started, ended = set[str](), set[str]()
        for stretch in self._stretches():
            if stretch.summary is not None:
                started.update(stretch.summary.open_starts)
                ended.update(stretch.summary.late_ends)
                continue
            for block in stretch.file.blocks(stretch.start, stretch.end):
                entries = decode_block(block)
                ended |= ended_in(entries)
                started.update(entry.fire or "" for entry in entries if entry is not None and entry.is_start)
        return started - ended

    def _may_have(self, stretch: _Stretch, query: LogQuery) -> bool:
        """Whether a stretch has to be looked at; if not, its lines that are no records are counted all the same."""
        summary = stretch.summary
        if summary is None:
            return True
        if query.kinds == frozenset({"start"}):
            # Most events of which a stretch has only the start have ended in the next one.
            is_wanted = not self._unfinished.isdisjoint(summary.open_starts) and summary.may_have(query)
        else:
            is_wanted = summary.may_have(query)
        if is_wanted:
            return True
        self.unreadable += summary.unreadable
        return False

    def _wanted(self, stretch: _Stretch, query: LogQuery) -> Iterator[LogEntry]:
        for block in stretch.file.blocks(stretch.start, stretch.end):
            for entry in self._decode(block):
                if entry is not None and query.wants(entry):
                    yield entry

    def _sessions_in(self, stretch: _Stretch) -> "dict[str, SessionSummary]":
        from hookline.log._summary import SummaryMaker  # noqa: PLC0415 - not needed by `hookline log`

        maker = SummaryMaker(stretch.start)
        for block in stretch.file.blocks(stretch.start, stretch.end):
            maker.add(decode_block(block))
        return maker.sessions()

    def _decode(self, block: bytes) -> Sequence[LogEntry | None]:
        entries = decode_block(block)
        self.unreadable += entries.count(None)
        return entries


def _is_called(record: dict[str, Any], run: str) -> bool:
    return str(record.get("id") if "-" in run else record.get("fire")).startswith(run)
