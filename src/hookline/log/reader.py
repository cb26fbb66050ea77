"""Reads and filters the log, one block at a time."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import msgspec

from hookline.contract.events import BLOCKING_DECISIONS
from hookline.contract.records import LogRecord
from hookline.contract.wire import parse_json
from hookline.log._files import open_all, open_one

_POLL_S = 0.2

# Each of them ends what a record of kind "start" with the same `fire` began.
_ENDS = frozenset({"event", "cancel", "fault"})


class LogEntry(LogRecord, frozen=True, kw_only=True, gc=False):
    """A record of any kind, also of another version, without its long texts; whatever is missing is None."""

    # A line may lack even what every record of ours has.
    time: str | None = None  # type: ignore[assignment]
    level: str | None = None  # type: ignore[assignment]
    message: str | None = None  # type: ignore[assignment]
    kind: str | None = None
    source: str | None = None

    @property
    def is_run(self) -> bool:
        """True for the record of a hook that was started, or could not be."""
        return self.kind == "hook"

    @property
    def is_start(self) -> bool:
        """True for hooks that were about to start."""
        return self.kind == "start"

    @property
    def is_block(self) -> bool:
        """True for a hook whose answer was block or deny."""
        return self.is_run and self.decision in BLOCKING_DECISIONS

    @property
    def is_failure(self) -> bool:
        """True for a hook that could not do its work, which is written as a warning; a deny by exit code is not."""
        return self.is_run and self.level == "warn"


# Structs rather than dataclasses: defining one takes a tenth of the time, and `hookline log` has to start quickly.
class LogQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which records are wanted; a field that is None allows all."""

    event: str | None = None
    tool: str | None = None
    hook: str | None = None
    decision: str | None = None
    session: str | None = None
    agent: str | None = None
    failures: bool = False
    slower_than_ms: float | None = None
    since: str | None = None
    """The earliest time, as records write it."""
    kinds: frozenset[str] | None = None

    @property
    def wants_starts(self) -> bool:
        """Whether the start of an event may be wanted."""
        return self.kinds is None or "start" in self.kinds

    def wants(self, entry: LogEntry) -> bool:
        """Whether a record matches all fields of the query."""
        return (
            (self.kinds is None or entry.kind in self.kinds)
            and (self.event is None or entry.event == self.event)
            and (self.tool is None or entry.subject == self.tool)
            and (self.hook is None or entry.hook == self.hook)
            and (self.session is None or entry.session == self.session)
            and (self.agent is None or entry.agent == self.agent)
            and (self.decision is None or _has_decision(entry, self.decision))
            and (not self.failures or entry.is_failure or entry.kind == "fault")
            and (self.slower_than_ms is None or (entry.is_run and (entry.duration or 0) > self.slower_than_ms))
            and (self.since is None or (entry.time or "") >= self.since)
        )


class LogReader:
    """The log with its rotated files, as it is now; a context manager that closes them.

    Raises HooklineError if the log can't be read. A log that does not exist is empty.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
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
        ended = self._ended() if query.wants_starts else set()
        for file in self._files:
            for block in file.blocks():
                yield from (
                    entry for entry in self._wanted(block, query) if entry.fire not in ended or not entry.is_start
                )

    def newest(self, query: LogQuery, count: int) -> list[LogEntry]:
        """The latest of these records, oldest first; reads only as much of the log as needed."""
        found: list[LogEntry] = []
        ended = set[str | None]()
        for file in reversed(self._files):
            for block in file.blocks_from_the_end():
                entries = self._decode(block)
                ended |= _ended(entries)
                found += (
                    entry
                    for entry in reversed(entries)
                    if query.wants(entry) and not (entry.is_start and entry.fire in ended)
                )
                if len(found) >= count:
                    return found[:count][::-1]
        return found[::-1]

    def whole_records(self, run: str) -> list[dict[str, Any]]:
        """Everything about one run or one event, by the beginning of its id: the records with all their texts.

        The start of an event is among them only if the log has no end of it.
        """
        clue = f'"fire":"{run.partition("-")[0]}'.encode()
        blocks = (block for file in self._files for block in file.blocks())
        found = []
        for line in (line for block in blocks for line in block.split(b"\n") if clue in line):
            with suppress(ValueError):
                found.append(parse_json(line.decode("utf-8", "replace")))
        found = [record for record in found if isinstance(record, dict) and _is_called(record, run)]
        ended = {record.get("fire") for record in found if record.get("kind") in _ENDS}
        return [record for record in found if record.get("kind") != "start" or record.get("fire") not in ended]

    def follow(self, query: LogQuery, *, wait: Callable[[], None] = lambda: time.sleep(_POLL_S)) -> Iterator[LogEntry]:
        """The wanted records that are written from now on, but no starts; calls `wait` when there is none."""
        while True:
            for block in self._grown():
                yield from (entry for entry in self._wanted(block, query) if not entry.is_start)
            wait()

    def _grown(self) -> Iterator[bytes]:
        # Open the current file first, then read the rest of the previous one: it can't grow after its rotation.
        current = open_one(self._path)
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

    def _ended(self) -> set[str | None]:
        """The events whose end is in the log."""
        before = self.unreadable
        ended = {fire for file in self._files for block in file.blocks() for fire in _ended(self._decode(block))}
        self.unreadable = before
        return ended

    def _wanted(self, block: bytes, query: LogQuery) -> list[LogEntry]:
        return [entry for entry in self._decode(block) if query.wants(entry)]

    def _decode(self, block: bytes) -> Sequence[LogEntry]:
        with suppress(ValueError):
            return _DECODER.decode_lines(block)
        return [entry for line in block.split(b"\n") if line and (entry := self._decode_line(line)) is not None]

    def _decode_line(self, line: bytes) -> LogEntry | None:
        with suppress(ValueError):
            return _DECODER.decode(line)
        with suppress(ValueError):
            # parse_json accepts lone surrogates, for example, and msgspec does not.
            return msgspec.convert(parse_json(line.decode("utf-8", "replace")), LogEntry)
        self.unreadable += 1
        return None


_DECODER = msgspec.json.Decoder(LogEntry)


def _ended(entries: Iterable[LogEntry]) -> set[str | None]:
    return {entry.fire for entry in entries if entry.kind in _ENDS}


def _has_decision(entry: LogEntry, decision: str) -> bool:
    return entry.is_block if decision in BLOCKING_DECISIONS else entry.is_run and entry.decision == decision


def _is_called(record: dict[str, Any], run: str) -> bool:
    return str(record.get("id") if "-" in run else record.get("fire")).startswith(run)
