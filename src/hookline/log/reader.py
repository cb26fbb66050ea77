"""Reads the log back, filtered, without ever holding more of it than a block."""

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import msgspec

from hookline.contract.events import BLOCKING_DECISIONS
from hookline.contract.wire import parse_json
from hookline.errors import HooklineError

_BLOCK = 1024 * 1024
_POLL_S = 0.2
_EXIT_DENY = 2
_PLAIN = re.compile(r"[ !#-\[\]-~]+")


class LogEntry(msgspec.Struct, kw_only=True, rename="camel", gc=False):
    """What a record says in short: all but the texts that went in and out."""

    time: str | None = None
    level: str | None = None
    message: str | None = None
    kind: str | None = None
    id: str | None = None
    fire: str | None = None
    session: str | None = None
    event: str | None = None
    subject: str | None = None
    hook: str | None = None
    origin: str | None = None
    duration: float | None = None
    success: bool | None = None
    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool | None = None
    decision: str | None = None
    error: str | None = None
    reason: str | None = None
    blocked: bool | None = None

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
        """True for a hook that could not do its work; a deny by exit code is work well done."""
        return self.is_run and self.success is False and not (self.exit_code == _EXIT_DENY and self.error is None)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogQuery:
    """Which records are wanted; what is not given is not asked for."""

    event: str | None = None
    tool: str | None = None
    hook: str | None = None
    decision: str | None = None
    session: str | None = None
    failures: bool = False
    slower_than_ms: float | None = None
    since: str | None = None
    """The earliest time, as records write it."""
    kinds: frozenset[str] | None = None

    def wants(self, entry: LogEntry) -> bool:
        """True for a record that fits everything that was asked for."""
        return (
            (self.kinds is None or entry.kind in self.kinds)
            and (self.event is None or entry.event == self.event)
            and (self.tool is None or entry.subject == self.tool)
            and (self.hook is None or entry.hook == self.hook)
            and (self.session is None or entry.session == self.session)
            and (self.decision is None or _has_decision(entry, self.decision))
            and (not self.failures or entry.is_failure or entry.kind == "fault")
            and (self.slower_than_ms is None or (entry.is_run and (entry.duration or 0) > self.slower_than_ms))
            and (self.since is None or (entry.time or "") >= self.since)
        )

    def clue(self) -> bytes | None:
        """Bytes that stand in the line of every wanted record, or None when nothing is sure to."""
        asked = {"session": self.session, "hook": self.hook, "subject": self.tool}
        for key, value in asked.items():
            # Only text that JSON has no second spelling for.
            if value is not None and _PLAIN.fullmatch(value):
                return f'"{key}":"{value}"'.encode()
        if self.failures:
            # Hooks that failed, and faults of ours, are written as warnings.
            return b'"level":"warn"'
        return b'"decision":"' if self.decision is not None else None


class LogReader:
    """The log as it is at this moment, rotated files included; closed by `close()` or at the end of a `with`.

    HooklineError when it cannot be read; a log that is not there is empty.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._files = _open_all(path)
        except OSError as error:
            raise HooklineError(f"the log {path} cannot be read: {error.strerror}") from error
        self.unreadable = 0
        """How many lines so far were not records."""

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
        clue = query.clue()
        for file in self._files:
            for block in _blocks(file):
                yield from filter(query.wants, self._decode(block, clue))

    def newest(self, query: LogQuery, count: int) -> list[LogEntry]:
        """The latest wanted records, oldest first; reads no more of the log than that takes."""
        clue = query.clue()
        found: list[LogEntry] = []
        for file in reversed(self._files):
            for block in _blocks_from_the_end(file):
                found += reversed([entry for entry in self._decode(block, clue) if query.wants(entry)])
                if len(found) >= count:
                    return found[:count][::-1]
        return found[::-1]

    def whole_records(self, run: str) -> list[dict[str, Any]]:
        """Everything about one run or one event, by the beginning of its id: the records with all their texts."""
        clue = f'"fire":"{run.partition("-")[0]}'.encode()
        found = []
        for file in self._files:
            for block in _blocks(file):
                for line in _lines_with(block, clue):
                    with suppress(ValueError):
                        found.append(parse_json(line.decode("utf-8", "replace")))
        return [record for record in found if isinstance(record, dict) and _is_called(record, run)]

    def follow(self, query: LogQuery, *, wait: Callable[[], None] = lambda: time.sleep(_POLL_S)) -> Iterator[LogEntry]:
        """The wanted records that are written from now on, without an end; `wait` is called whenever there is none."""
        clue = query.clue()
        while True:
            for block in self._grown():
                yield from filter(query.wants, self._decode(block, clue))
            wait()

    def _grown(self) -> Iterator[bytes]:
        # Looked up before reading on: what is written to a file until it is rotated away is then read first.
        current = _open(self._path)
        is_same = current is not None and bool(self._files) and current.identity == self._files[-1].identity
        if self._files:
            file = self._files[-1]
            grown = _File(file.descriptor, file.identity, _end_of_lines(file.descriptor), start=file.size)
            yield from _blocks(grown)
            self._files[-1] = _File(file.descriptor, file.identity, grown.size)
        if current is None or is_same:
            if current is not None:
                os.close(current.descriptor)
            return
        self._files.append(current)
        yield from _blocks(current)

    def _decode(self, block: bytes, clue: bytes | None) -> Sequence[LogEntry]:
        if clue is None:
            with suppress(ValueError):
                return _DECODER.decode_lines(block)
        lines = block.split(b"\n") if clue is None else _lines_with(block, clue)
        return [entry for line in lines if line and (entry := self._decode_line(line)) is not None]

    def _decode_line(self, line: bytes) -> LogEntry | None:
        try:
            return _DECODER.decode(line)
        except ValueError:
            pass
        try:
            # JavaScript's JSON is a little wider than msgspec's.
            return msgspec.convert(parse_json(line.decode("utf-8", "replace")), LogEntry)
        except ValueError:
            self.unreadable += 1
            return None


@dataclass(frozen=True, slots=True)
class _File:
    descriptor: int
    identity: tuple[int, int]
    size: int
    """Up to where there are whole lines."""
    start: int = 0


_DECODER = msgspec.json.Decoder(LogEntry)


def _open_all(path: Path) -> list[_File]:
    """The files, oldest first, each once even while they are being rotated."""
    # From the newest on: should one be renamed meanwhile, it is met twice rather than never.
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
        # Not to wait for a writer, should it be a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    status = os.fstat(descriptor)
    return _File(descriptor, (status.st_dev, status.st_ino), _end_of_lines(descriptor))


def _end_of_lines(descriptor: int) -> int:
    """Where the last whole line ends: a longer one is still being written, or was cut short."""
    end = os.fstat(descriptor).st_size
    while end > 0:
        start = max(0, end - _BLOCK)
        newline = os.pread(descriptor, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


def _blocks(file: _File) -> Iterator[bytes]:
    """The file in pieces of whole lines."""
    offset, rest = file.start, b""
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


def _lines_with(block: bytes, clue: bytes) -> Iterator[bytes]:
    """The lines of a block in which these bytes stand, found without looking at the others."""
    at = block.find(clue)
    while at >= 0:
        start = block.rfind(b"\n", 0, at) + 1
        end = block.find(b"\n", at)
        yield block[start : end if end >= 0 else len(block)]
        at = block.find(clue, end) if end >= 0 else -1


def _has_decision(entry: LogEntry, decision: str) -> bool:
    return entry.is_block if decision in BLOCKING_DECISIONS else entry.is_run and entry.decision == decision


def _is_called(record: dict[str, Any], run: str) -> bool:
    return str(record.get("id") if "-" in run else record.get("fire")).startswith(run)
