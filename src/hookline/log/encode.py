"""Entries of the log → lines of JSON."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec

from hookline.contract.records import FaultRecord, LogLevel, LogRecord
from hookline.contract.wire import stringify_json
from hookline.log.logger import Loggable
from hookline.log.redact import Redactor


class Encoder:
    """Turns entries into lines, with secrets replaced and long texts cut; never raises."""

    def __init__(self, field_limit: int, redactor: Redactor | None) -> None:
        self._field_limit = field_limit
        self._redactor = redactor

    def lines(self, entry: Loggable) -> Iterator[bytes]:
        """The lines of an entry."""
        try:
            yield from map(self.line, entry.records())
        except Exception as error:  # noqa: BLE001 - an entry that fails must not end the log's thread
            yield fault_line("an entry of the log could not be made", error=type(error).__name__)

    def line(self, record: LogRecord) -> bytes:
        """The line of a record."""
        try:
            # Before cutting: JSON text that was cut can no longer be searched by key.
            return self._encode(self._redactor.redact(record) if self._redactor else record) + b"\n"
        except Exception as error:  # noqa: BLE001 - a record that can't be written must not stop the ones after it
            return fault_line("a record could not be written", time=record.time, error=type(error).__name__)

    def _encode(self, record: LogRecord) -> bytes:
        with suppress(UnicodeEncodeError):  # a lone surrogate, which stringify_json can write
            line = _json(record)
            # A line that is no longer than the limit has no field that is.
            if len(line) <= self._field_limit:
                return line
        return stringify_json(_shorten(record.to_dict(), self._field_limit))


def fault_line(message: str, **fields: Any) -> bytes:
    """The line of a fault in the log itself."""
    return _json(FaultRecord(level=LogLevel.WARN, message=message, stage="logging", **fields)) + b"\n"


def _shorten(value: Any, limit: int) -> Any:
    if isinstance(value, str):
        more = len(value) - limit
        return f"{value[:limit]}… ({more} more characters)" if more > 0 else value
    if isinstance(value, dict):
        return {key: _shorten(item, limit) for key, item in value.items()}
    if isinstance(value, list):
        return [_shorten(item, limit) for item in value]
    return value


# A session id may be any object.
_json = msgspec.json.Encoder(enc_hook=str).encode
