import abc
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Protocol

from msgspec.structs import replace

from hookline.protocol.records import LogRecord, Start


class Loggable(Protocol):
    """A record, or an event whose records are made when they are asked for."""

    def records(self, keep: int | None = None) -> Iterable[LogRecord]:
        """The records, in order; safe to call in any thread, and more than once.

        If `keep` is given, only so many characters of each text are going to be used, and a longer one may be given as
        its `Beginning`.
        """


class Beginning(str):
    """The beginning of a long text in UTF-8, of which no more is needed."""

    __slots__ = ("whole",)

    whole: bytes

    @classmethod
    def of(cls, whole: bytes, keep: int) -> "Beginning":
        """So many characters of the text."""
        text = whole[:keep].decode("utf-8", "replace")
        if not text.isascii():  # a character has at most four bytes
            text = whole[: 4 * keep].decode("utf-8", "replace")[:keep]
        beginning = cls(text)
        beginning.whole = whole
        return beginning

    @property
    def length(self) -> int:
        """The number of characters of the whole text."""
        return len(self.whole) if self.whole.isascii() else len(self.whole.decode("utf-8", "replace"))


class LogSink(Protocol):
    """Where the log goes."""

    def write(self, entry: Loggable) -> None:
        """Take one entry, without making the caller wait."""

    def close(self) -> None:
        """Finish what was taken, within bounded time."""


class DurableSink(abc.ABC):
    """The base class of sinks whose records outlive this program."""

    @abc.abstractmethod
    def write(self, entry: Loggable) -> None:
        """Take one entry, without making the caller wait."""

    @abc.abstractmethod
    def write_start(self, start: Start) -> None:
        """Write a start before this returns, because a hook can end this program; the caller waits meanwhile."""

    @abc.abstractmethod
    def close(self) -> None:
        """Finish what was taken, within bounded time."""


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
            try:  # noqa: SIM105 - every event comes through here, and a context manager takes measurable time
                sink.write(entry)
            except Exception:  # noqa: BLE001, S110 - a broken sink must not break the agent
                pass

    def write_start(self, start: Start) -> None:
        """Write a start to every sink whose records outlive this program, before this returns."""
        for sink in self._durable:
            try:  # noqa: SIM105 - every event comes through here, and a context manager takes measurable time
                sink.write_start(start)
            except Exception:  # noqa: BLE001, S110 - a broken sink must not keep the guards from their work
                pass

    def close(self) -> None:
        """Let every sink finish, within bounded time."""
        for sink in self._sinks:
            with suppress(Exception):
                sink.close()
