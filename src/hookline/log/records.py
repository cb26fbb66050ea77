import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Any, Protocol, TypeGuard

import msgspec

from hookline.contract.wire import MAX_DEPTH, to_plain, utc_timestamp

_OWN_KEYS = frozenset({"time", "level", "message"})


class LogLevel(StrEnum):
    """How much a record matters."""

    DEBUG = "debug"
    INFO = "info"
    WARN = "warn"
    ERROR = "error"


class LogRecord(msgspec.Struct, frozen=True):
    """One thing that happened; its fields belong to the log from now on and are not to be changed."""

    time: float
    """Seconds since 1970."""
    level: LogLevel
    message: str
    fields: Mapping[str, Any] = {}

    def to_dict(self) -> dict[str, Any]:
        """The record as plain JSON values; a field named like one of the record's own gets an underscore at its end."""
        return {
            "time": _timestamp(self.time),
            "level": str(self.level),
            "message": readable(self.message),
            **{f"{key}_" if key in _OWN_KEYS else key: readable(value) for key, value in self.fields.items()},
        }


class LogSink(Protocol):
    """Where records go."""

    def write(self, record: LogRecord) -> None:
        """Take one record, without making the caller wait."""
        ...

    def close(self) -> None:
        """Finish what was taken, within bounded time."""
        ...


class DeferringSink:
    """Base of sinks with a thread of their own, in which records can be made as well."""

    @property
    def defers(self) -> bool:
        """Whether it does so; else it is given records, like any other sink."""
        return True

    def write_later(self, tell: "Tell", seconds: float, count: int) -> None:
        """Take what there is to tell of a moment, about so many records, without making the caller wait."""
        raise NotImplementedError


class HookLogger:
    """The log that every part of hookline writes to; no call of it ever raises."""

    def __init__(self, sinks: Sequence[LogSink] = (), *, clock: Callable[[], float] = time.time) -> None:
        self._sinks = tuple(sinks)
        self._deferring = tuple(sink for sink in self._sinks if _defers(sink))
        self._immediate = tuple(sink for sink in self._sinks if not _defers(sink))
        self._clock = clock

    def debug(self, message: str, /, **fields: Any) -> None:
        """Record the ordinary course of things."""
        self._emit(LogLevel.DEBUG, message, fields)

    def info(self, message: str, /, **fields: Any) -> None:
        """Record something a person may want to know."""
        self._emit(LogLevel.INFO, message, fields)

    def warn(self, message: str, /, **fields: Any) -> None:
        """Record something a person should look at."""
        self._emit(LogLevel.WARN, message, fields)

    def error(self, message: str, /, **fields: Any) -> None:
        """Record something that went wrong."""
        self._emit(LogLevel.ERROR, message, fields)

    def later(self, tell: "Tell", count: int) -> None:
        """Record what is told of this moment, about so many records: in the threads of sinks that have one, else now.

        What it tells of must not change any more.
        """
        if not self._sinks:
            return
        now = self._clock()
        for sink in self._deferring:
            try:  # noqa: SIM105 - this is on the way of every event, where a context manager can be measured
                sink.write_later(tell, now, count)
            except Exception:  # noqa: BLE001, S110 - as in _write
                pass
        if self._immediate:
            for record in records_of(tell, now):
                _write(record, self._immediate)

    def close(self) -> None:
        """Let every sink finish, within bounded time."""
        for sink in self._sinks:
            with suppress(Exception):
                sink.close()

    def _emit(self, level: LogLevel, message: str, fields: Mapping[str, Any]) -> None:
        if not self._sinks:
            return
        _write(LogRecord(self._clock(), level, message, fields), self._sinks)


# Says to a logger what has happened.
Tell = Callable[[HookLogger], None]


def records_of(tell: Tell, seconds: float) -> list[LogRecord]:
    """What is told of that moment; a fault in the telling is told as well."""
    records = _Records()
    log = HookLogger((records,), clock=lambda: seconds)
    try:
        tell(log)
    except Exception as error:  # noqa: BLE001 - what cannot be told must not cost what comes after it
        said = f"hookline failed while logging ({type(error).__name__}), so the log lacks something"
        log.warn(f"{said}; please report this", kind="fault", stage="logging")
    return records


class _Records(list[LogRecord]):
    """A sink that is the list of its records."""

    def write(self, record: LogRecord) -> None:
        self.append(record)

    def close(self) -> None:
        pass


def _defers(sink: LogSink) -> TypeGuard[DeferringSink]:
    return isinstance(sink, DeferringSink) and sink.defers


def _write(record: LogRecord, sinks: Sequence[LogSink]) -> None:
    for sink in sinks:
        # A broken sink must not break the agent, nor keep the record from the next sink.
        with suppress(Exception):
            sink.write(record)


def readable(value: Any) -> Any:
    """The value as plain JSON types, with bytes as text; never an exception."""
    try:
        return to_plain(_decode_bytes(value, MAX_DEPTH))
    except Exception as error:  # noqa: BLE001 - the log takes anything, even an object whose own methods fail
        return f"(a {type(value).__name__} that could not be read: {type(error).__name__})"


def _decode_bytes(value: Any, depth: int) -> Any:
    """The value with bytes as text; plain JSON would show them in base64, which nobody can read or search."""
    match value:
        case bytes() | bytearray() | memoryview():
            return bytes(value).decode("utf-8", "replace")
        case Mapping() if depth:
            return {key: _decode_bytes(item, depth - 1) for key, item in value.items()}
        case list() | tuple() if depth:
            return [_decode_bytes(item, depth - 1) for item in value]
        case _:
            return value


def _timestamp(seconds: float) -> str | None:
    try:
        return utc_timestamp(seconds)
    except (ValueError, OverflowError, TypeError, OSError):
        return None
