"""Reads and filters the log: all of it in order, its newest records page by page, one event in full, or its numbers.

    with LogReader(path) as reader:
        page = reader.page(LogQuery(hook="guard"), 50)          the newest records first
        older = reader.page(LogQuery(hook="guard"), 50, before=page.next)
        records = reader.whole_records(page.entries[0].fire)    everything about one event, with its texts
        sessions = reader.sessions(50)                          the sessions, the latest first
        hooks = reader.statistics(LogQuery(since=…)).hooks      counts, failures and times of each hook

Each reads as much of the log as it needs: 60 MB, all that is kept by default, take about a second.
"""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from hookline.extensions import lazy_module
from hookline.log.files import LogFile, open_all, open_one, opened
from hookline.log.read.entry import ENDS, LogEntry, LogQuery, decode_block, ended_in
from hookline.protocol.text.json_text import parse_json

if TYPE_CHECKING:
    from hookline.log.read import statistics
    from hookline.log.read.statistics import SessionSummary, Statistics
else:
    statistics = lazy_module("hookline.log.read.statistics")

_POLL_S = 0.2


class RecordPosition(NamedTuple):
    """Where a record stands, even after its file was rotated."""

    inode: int
    offset: int

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"{self.inode:x}.{self.offset:x}"

    @classmethod
    def parse(cls, text: str) -> "RecordPosition | None":
        """The place that was written so; None for any other text."""
        inode, _, offset = text.partition(".")
        try:
            return cls(int(inode, 16), int(offset, 16))
        except ValueError:
            return None


class Page(NamedTuple):
    """Some records, the newest first."""

    entries: list[LogEntry]
    next: RecordPosition | None
    """The `before` of the page after this one; None on the last page."""


class _Found(NamedTuple):
    """A wanted record, and where it stands: in a block, counted in lines that are not blank."""

    entry: LogEntry
    file: LogFile
    offset: int
    block: bytes
    number: int

    @property
    def place(self) -> RecordPosition:
        at, number = self.offset, -1
        for line in self.block.split(b"\n"):
            number += bool(line.strip())
            if number == self.number:
                break
            at += len(line) + 1
        return RecordPosition(self.file.identity[1], at)


class LogReader:
    """The log with its rotated files, as it is now; a context manager that closes them.

    Raises HooklineError if the log can't be read. A log that does not exist is empty.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        """The file that is written to."""
        self._files = open_all(path)
        self.unreadable = 0
        """The number of lines so far that were not records."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files."""
        while self._files:
            self._files.pop().close()

    def entries(self, query: LogQuery) -> Iterator[LogEntry]:
        """Yield the wanted records, oldest first; the start of an event only if the log has no end of it."""
        unfinished = self._unfinished if query.wants_starts else set()
        for entry in self._wanted(query):
            if not entry.is_start or (entry.fire or "") in unfinished:
                yield entry

    def whole(self, query: LogQuery) -> Iterator[dict[str, Any]]:
        """Yield the wanted records with all their texts, oldest first, with the starts of events that ended."""
        for _, line in self.lines(query):
            yield parse_json(line.decode("utf-8", "replace"))

    def lines(self, query: LogQuery) -> Iterator[tuple[LogEntry, bytes]]:
        """Yield the same records, each with its line, from which the texts can be read where they are needed."""
        for block in self._blocks():
            lines = (line for line in block.split(b"\n") if line.strip())
            for entry, line in zip(self._decode(block), lines, strict=False):
                if entry is not None and query.wants(entry):
                    yield entry, line

    def newest(self, query: LogQuery, count: int) -> list[LogEntry]:
        """Return the latest of these records, oldest first; reads only as much of the log as needed."""
        return self.page(query, count).entries[::-1]

    def page(self, query: LogQuery, count: int, before: RecordPosition | None = None) -> Page:
        """Return so many of these records, the newest first: of the whole log, or of the part before a place."""
        entries: list[LogEntry] = []
        for found in self._newest_first(query, before) if count > 0 else ():
            entries.append(found.entry)
            if len(entries) >= count:
                return Page(entries, found.place)
        return Page(entries, None)

    def whole_records(self, run: str) -> list[dict[str, Any]]:
        """Return everything about one run or one event, by the beginning of its id: the records with all their texts.

        The start of an event is among them only if the log has no end of it.
        """
        clue = f'"fire":"{run.partition("-")[0]}'.encode()
        found = []
        for line in (line for block in self._blocks() if clue in block for line in block.split(b"\n") if clue in line):
            with suppress(ValueError):
                found.append(parse_json(line.decode("utf-8", "replace")))
        found = [record for record in found if isinstance(record, dict) and _is_called(record, run)]
        ended = {record.get("fire") for record in found if record.get("kind") in ENDS}
        return [record for record in found if record.get("kind") != "start" or record.get("fire") not in ended]

    def sessions(self, count: int | None = None) -> "dict[str, SessionSummary]":
        """Return the sessions by their ids, the one with the latest record first."""
        found = statistics.count_sessions(
            entry for block in self._blocks() for entry in decode_block(block) if entry is not None
        )
        latest = sorted(found.items(), key=lambda item: item[1].last, reverse=True)
        return dict(latest[:count])

    def statistics(self, query: LogQuery) -> "Statistics":
        """Return the numbers of the hooks and events that the wanted records are about."""
        found, unreadable_before = statistics.Statistics(), self.unreadable
        for entry in self._wanted(query):
            found.add(entry)
        found.unreadable = self.unreadable - unreadable_before
        return found

    def follow(self, query: LogQuery, *, wait: Callable[[], None] = lambda: time.sleep(_POLL_S)) -> Iterator[LogEntry]:
        """Yield the wanted records that are written from now on, but no starts; calls `wait` when there is none."""
        while True:
            for block in self._grown():
                for entry in self._decode(block):
                    if entry is not None and query.wants(entry) and not entry.is_start:
                        yield entry
            wait()

    def _blocks(self) -> Iterator[bytes]:
        for file in list(self._files):
            yield from file.blocks()

    def _wanted(self, query: LogQuery) -> Iterator[LogEntry]:
        for block in self._blocks():
            for entry in self._decode(block):
                if entry is not None and query.wants(entry):
                    yield entry

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

    def _newest_first(self, query: LogQuery, before: RecordPosition | None) -> Iterator[_Found]:
        """Yield the wanted records before a place; none if its file was removed, as all older ones were then."""
        ended = set[str]()
        is_before = before is None
        for file in reversed(self._files):
            end = file.size
            if not is_before and before is not None and file.identity[1] == before.inode:
                is_before, end = True, min(end, before.offset)
                if query.wants_starts:
                    for block in file.blocks(end):
                        ended |= ended_in(decode_block(block))
            if is_before:
                for offset, block in file.blocks_from_the_end(end=end):
                    yield from self._wanted_from_the_end(file, offset, block, query, ended)
            elif query.wants_starts:
                for block in file.blocks():
                    ended |= ended_in(decode_block(block))

    def _wanted_from_the_end(
        self, file: LogFile, offset: int, block: bytes, query: LogQuery, ended: set[str]
    ) -> Iterator[_Found]:
        entries = self._decode(block)
        ended |= ended_in(entries)
        for number in range(len(entries) - 1, -1, -1):
            entry = entries[number]
            if entry is not None and query.wants(entry) and not (entry.is_start and (entry.fire or "") in ended):
                yield _Found(entry, file, offset, block, number)

    @cached_property
    def _unfinished(self) -> set[str]:
        """The events whose start is in the log, and whose end is not."""
        started, ended = set[str](), set[str]()
        for block in self._blocks():
            entries = decode_block(block)
            ended |= ended_in(entries)
            started.update(entry.fire or "" for entry in entries if entry is not None and entry.is_start)
        return started - ended

    def _decode(self, block: bytes) -> Sequence[LogEntry | None]:
        entries = decode_block(block)
        self.unreadable += entries.count(None)
        return entries


def _is_called(record: dict[str, Any], run: str) -> bool:
    return str(record.get("id") if "-" in run else record.get("fire")).startswith(run)


Records = list[dict[str, Any]]

_FIRE = b'"fire":"'
_KINDS = ("hook", "event")


def whole_events(path: Path, fires: Collection[str]) -> Iterator[Records]:
    """Yield the runs and the end of each of these events, oldest first; events without an end are left out."""
    wanted = {fire.encode() for fire in fires}
    waiting: dict[str, Records] = {}
    with opened(path) as files:
        for line in (line for file in files for block in file.blocks() for line in block.split(b"\n")):
            begin = line.find(_FIRE) + len(_FIRE)
            if begin < len(_FIRE) or line[begin : line.find(b'"', begin)] not in wanted:
                continue
            with suppress(ValueError):
                record = parse_json(line.decode("utf-8", "replace"))
                if isinstance(record, dict) and record.get("kind") in _KINDS and isinstance(record.get("fire"), str):
                    waiting.setdefault(record["fire"], []).append(record)
                    if record["kind"] == "event":
                        yield waiting.pop(record["fire"])
