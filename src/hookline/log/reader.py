"""Reads and filters the log, one block at a time."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import msgspec

from hookline.contract.events import BLOCKING_DECISIONS
from hookline.contract.records import LogRecord
from hookline.contract.wire import parse_json
from hookline.errors import HooklineError

_BLOCK = 1024 * 1024
_POLL_S = 0.2


class LogEntry(LogRecord, frozen=True, kw_only=True, gc=False):
    """A record of any kind, also of another version, without its long texts; whatever is missing is None."""

    # A line may lack even what every record of ours has.
    time: str | None = None  # type: ignore[assignment]
    level: str | None = None  # type: ignore[assignment]
    message: str | None = None  # type: ignore[assignment]
    kind: str | None = None

    @property
    def is_run(self) -> bool:
        """True for the record of a hook that was started, or could not be."""
        return self.kind == "hook"

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
        try:
            self._files = _open_all(path)
        except OSError as error:
            raise HooklineError(f"the log {path} cannot be read: {error.strerror}") from error
        self.unreadable = 0
        """The number of lines so far that were not records."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the files."""
        while self._files:
            os.close(self._files.pop().descriptor)

    def entries(self, query: LogQuery) -> Iterator[LogEntry]:
        """The wanted records, oldest first."""
        for file in self._files:
            for block in _blocks(file):
                yield from self._wanted(block, query)

    def newest(self, query: LogQuery, count: int) -> list[LogEntry]:
        """The latest wanted records, oldest first; reads only as much of the log as needed."""
        found: list[LogEntry] = []
        for file in reversed(self._files):
            for block in _blocks_from_the_end(file):
                found += reversed(self._wanted(block, query))
                if len(found) >= count:
                    return found[:count][::-1]
        return found[::-1]

    def whole_records(self, run: str) -> list[dict[str, Any]]:
        """Everything about one run or one event, by the beginning of its id: the records with all their texts."""
        clue = f'"fire":"{run.partition("-")[0]}'.encode()
        blocks = (block for file in self._files for block in _blocks(file))
        found = []
        for line in (line for block in blocks for line in block.split(b"\n") if clue in line):
            with suppress(ValueError):
                found.append(parse_json(line.decode("utf-8", "replace")))
        return [record for record in found if isinstance(record, dict) and _is_called(record, run)]

    def follow(self, query: LogQuery, *, wait: Callable[[], None] = lambda: time.sleep(_POLL_S)) -> Iterator[LogEntry]:
        """The wanted records that are written from now on, forever; calls `wait` when there is no new one."""
        while True:
            for block in self._grown():
                yield from self._wanted(block, query)
            wait()

    def _grown(self) -> Iterator[bytes]:
        # Open the current file first, then read the rest of the previous one: it can't grow after its rotation.
        current = _open(self._path)
        if self._files:
            last = self._files[-1]
            grown = _File(last.descriptor, last.identity, _end_of_lines(last.descriptor))
            yield from _blocks(grown, start=last.size)
            self._files[-1] = grown
            if current is not None and current.identity == last.identity:
                os.close(current.descriptor)
                return
        if current is not None:
            self._files.append(current)
            yield from _blocks(current)

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


class _File(msgspec.Struct, frozen=True):
    descriptor: int
    identity: tuple[int, int]
    size: int
    """The end of the last whole line."""


_DECODER = msgspec.json.Decoder(LogEntry)


def _open_all(path: Path) -> list[_File]:
    """The files, oldest first, each once even while they are being rotated."""
    # Newest first: a file that is renamed meanwhile is then found twice, and never missed.
    found: dict[tuple[int, int], _File] = {}
    for name in (path, *_rotated(path)):
        file = _open(name)
        if file is None:
            continue
        if file.identity in found:
            os.close(file.descriptor)
        else:
            found[file.identity] = file
    return list(found.values())[::-1]


def _rotated(path: Path) -> list[Path]:
    target = Path(os.path.realpath(path))
    found = (name.name.removeprefix(f"{target.name}.") for name in target.parent.glob(f"{target.name}.*"))
    numbers = sorted(int(ending) for ending in found if ending.isdecimal())
    return [target.with_name(f"{target.name}.{number}") for number in numbers]


def _open(path: Path) -> _File | None:
    try:
        # If it is a pipe, don't wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    status = os.fstat(descriptor)
    return _File(descriptor, (status.st_dev, status.st_ino), _end_of_lines(descriptor))


def _end_of_lines(descriptor: int) -> int:
    """Where the last whole line ends; after it comes a line that is incomplete or still being written."""
    end = os.fstat(descriptor).st_size
    while end > 0:
        start = max(0, end - _BLOCK)
        newline = os.pread(descriptor, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


def _blocks(file: _File, start: int = 0) -> Iterator[bytes]:
    """The file in pieces of whole lines."""
    offset, rest = start, b""
    while offset < file.size and (data := os.pread(file.descriptor, min(_BLOCK, file.size - offset), offset)):
        offset += len(data)
        end = data.rfind(b"\n") + 1
        if end:
            yield rest + data[:end]
            rest = data[end:]
        else:
            rest += data


def _blocks_from_the_end(file: _File) -> Iterator[bytes]:
    """The same pieces, the last one first."""
    offset, rest = file.size, b""
    while offset > 0:
        start = max(0, offset - _BLOCK)
        data = os.pread(file.descriptor, offset - start, start)
        offset = start
        # The line before the first newline began in an earlier piece.
        begin = data.find(b"\n") + 1 if start else 0
        if begin or not start:
            yield data[begin:] + rest
            rest = data[:begin]
        else:
            rest = data + rest


def _has_decision(entry: LogEntry, decision: str) -> bool:
    return entry.is_block if decision in BLOCKING_DECISIONS else entry.is_run and entry.decision == decision


def _is_called(record: dict[str, Any], run: str) -> bool:
    return str(record.get("id") if "-" in run else record.get("fire")).startswith(run)
