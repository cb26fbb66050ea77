"""The log that every part of hookline writes to, and where its records go."""

import abc
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Protocol

from msgspec.structs import replace

from hookline.protocol.records import LogLevel, LogRecord, UnmatchedRecord, about

_MOST_KEYS = 1_000

# Event, subject, reason.
_Key = tuple[str, str | None, str]


class Loggable(Protocol):
    """A record, or an event whose records are made when they are requested."""

    def records(self) -> Iterable[LogRecord]:
        """The records, in order; safe to call in any thread, and more than once."""


class LogSink(Protocol):
    """Where the log goes."""

    def write(self, entry: Loggable) -> None:
        """Take one entry, without making the caller wait."""

    def close(self) -> None:
        """Finish what was taken, within bounded time."""


class DurableSink(abc.ABC):
    """The base class of sinks whose records outlive this program."""

    @abc.abstractmethod
    def write_now(self, *entries: Loggable) -> bool:
        """Write entries before this returns, because a hook can end this program; False if that is impossible."""


class MemorySink:
    """Keeps the records in memory, readable even after it is closed."""

    def __init__(self) -> None:
        self.records = list[LogRecord]()

    def write(self, entry: Loggable) -> None:
        """Keep the entry's records."""
        self.records += entry.records()

    def close(self) -> None:
        """Do nothing."""


class HookLogger:
    """The log that every part of hookline writes to; no call of it ever raises."""

    def __init__(self, sinks: Sequence[LogSink] = (), project: str | None = None) -> None:
        self.project = project
        """The project that everything here is about, unless a record says another."""
        self.use(sinks)

    def use(self, sinks: Sequence[LogSink]) -> None:
        """Write to these sinks from now on; a sink that is not among them finishes by itself."""
        self._sinks = tuple(sinks)
        self._durable = tuple(sink for sink in sinks if isinstance(sink, DurableSink))

    def write(self, entry: Loggable) -> None:
        """Pass the entry to every sink; a sink that fails affects neither the caller nor the other sinks."""
        if self.project is not None and isinstance(entry, LogRecord) and entry.project is None:
            entry = replace(entry, project=self.project)
        for sink in self._sinks:
            with suppress(Exception):
                sink.write(entry)

    def write_now(self, entry: Loggable) -> None:
        """Write an entry to every sink whose records outlive this program, before this returns."""
        for sink in self._durable:
            with suppress(Exception):
                sink.write_now(entry)

    def close(self) -> None:
        """Let every sink finish, within bounded time."""
        for sink in self._sinks:
            with suppress(Exception):
                sink.close()


class UnmatchedCounter:
    """Counts the events that no hook ran for: the first of a kind makes a record, the others are counted.

    Adding up the `count` of all records gives the number of events.
    """

    def __init__(self, most_keys: int = _MOST_KEYS) -> None:
        self._most_keys = most_keys
        self._counts: dict[_Key, int] = {}
        self._lock = threading.Lock()

    def count(self, event: str, subject: str | None, reason: str) -> UnmatchedRecord | None:
        """Count an event; return its record if it is the first of this event, subject and reason."""
        key = (event, subject, reason)
        with self._lock:
            if key not in self._counts and len(self._counts) >= self._most_keys:
                # A program with endless subjects or sessions must not fill the memory: one key per event counts on.
                key = (event, None, "various reasons; there are too many subjects to list them")
            seen = self._counts.get(key)
            self._counts[key] = 0 if seen is None else seen + 1
        return _record(key, 1) if seen is None else None

    def flush(self) -> list[UnmatchedRecord]:
        """The records of what was counted since the last call; to be written before the log is closed."""
        with self._lock:
            counted = [(key, count) for key, count in self._counts.items() if count]
            self._counts |= dict.fromkeys((key for key, _ in counted), 0)
        return [_record(key, count, f", {count} more time{'s' * (count > 1)}") for key, count in counted]


def _record(key: _Key, count: int, more: str = "") -> UnmatchedRecord:
    event, subject, reason = key
    return UnmatchedRecord(
        level=LogLevel.DEBUG,
        message=f"{about(event, subject)}: no hook ran{more}: {reason}",
        event=event,
        subject=subject,
        reason=reason,
        hooks=0,
        duration=0.0,
        success=True,
        count=count,
    )
