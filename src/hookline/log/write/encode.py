"""Entries of the log → lines of JSON."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace

from hookline.log.redact.by_name import REDACTED
from hookline.log.redact.redactor import SHORTEST_SECRET, Redactor
from hookline.log.write.logger import Loggable
from hookline.protocol.records import FaultRecord, HookRecord, LogLevel, LogRecord
from hookline.protocol.text.call_summary import LONGEST_CALL, short_call
from hookline.protocol.text.json_text import stringify_json
from hookline.protocol.text.patterns import lazy_pattern

# Longer texts are not read for the sake of secrets that are not written.
_MOST_READ = 4 * 1024 * 1024
_LONG_ANSWER = 1000
# The output of most hooks, which holds no secret.
_PLAIN_ANSWER = lazy_pattern(r'[\s{}":,]++|decision|allow|approve|continue|suppressOutput|true|false')


class Encoder:
    """Turns entries into lines, with secrets replaced and long texts cut; never raises."""

    def __init__(self, field_limit: int, redactor: Redactor) -> None:
        self._limit = field_limit
        self._redactor = redactor

    def lines(self, entry: Loggable) -> Iterator[bytes]:
        """The lines of an entry."""
        # Texts are cut first, because searching takes time; and a little later than where they are going to end,
        # to find a secret across the end.
        kept = self._limit + self._redactor.margin
        try:
            records = list(entry.records())
        except Exception as error:  # noqa: BLE001 - an entry that fails must not end the log's thread
            yield fault_line("an entry of the log could not be made", error=type(error).__name__)
            return
        try:
            yield from self._short_lines(records) or list(self._encode(records, kept))
        except Exception as error:  # noqa: BLE001 - records that can't be cleaned must not be shown
            for record in records:
                yield fault_line("a record could not be written", time=record.time, error=type(error).__name__)

    def _short_lines(self, records: Sequence[LogRecord]) -> list[bytes]:
        """The lines of records that are short and have no secret, as most do; empty where `_encode` has to look."""
        if any(isinstance(record, HookRecord) and len(record.stdin) > self._limit for record in records):
            return []
        try:
            data = _encode_lines(records)
        except (TypeError, ValueError):  # such as a lone surrogate
            return []
        lines = data.splitlines(keepends=True)
        is_short = len(data) <= self._limit or max(map(len, lines)) <= self._limit
        if not is_short or self._redactor.suspects(data):
            return []
        if any(map(_has_long_call, records)):
            short = (replace(record, call=short_call(record.call or "") or None) for record in records)
            return _encode_lines(list(short)).splitlines(keepends=True)
        return lines

    def _encode(self, records: Sequence[LogRecord], kept: int) -> Iterator[bytes]:
        whole = [record.to_dict() for record in records]
        secrets = self._redactor.find(_values_of_long_texts(records, kept))
        cleaned = self._redactor.clean_records([_cut(record, kept) for record in whole], secrets, self._limit)
        for clean, record in zip(cleaned, whole, strict=True):
            if clean.get("project") != record.get("project"):
                del clean["project"]  # half a path would be another project
            if isinstance(call := clean.get("call"), str):
                clean["call"] = short_call(call)
            yield _json(self._with_notes(clean, record)) + b"\n"

    def _with_notes(self, value: Any, whole: Any) -> Any:
        """The value, with a note behind each text of which not all is there."""
        if isinstance(value, str) and isinstance(whole, str) and len(whole) > self._limit and value != REDACTED:
            return f"{value}… ({len(whole) - self._limit} more characters)"
        if isinstance(value, dict) and isinstance(whole, dict) and len(value) == len(whole):
            pairs = zip(value.items(), whole.values(), strict=True)
            return {key: self._with_notes(item, before) for (key, item), before in pairs}
        if isinstance(value, list) and isinstance(whole, list):
            return [self._with_notes(*pair) for pair in zip(value, whole, strict=True)]
        return value


def fault_line(message: str, **fields: Any) -> bytes:
    """The line of a fault in the log itself."""
    return _json(FaultRecord(level=LogLevel.WARN, message=message, stage="logging", **fields).to_dict()) + b"\n"


def _cut(value: Any, limit: int) -> Any:
    if isinstance(value, str):
        return value[:limit]
    if isinstance(value, dict):
        return {key: _cut(item, limit) for key, item in value.items()}
    return [_cut(item, limit) for item in value] if isinstance(value, list) else value


def _values_of_long_texts(records: Iterable[LogRecord], kept: int) -> Iterator[Any]:
    """JSON values of texts that are going to be cut: a hook may have printed a secret from behind the cut."""
    runs = [record for record in records if isinstance(record, HookRecord)]
    if any(_may_show_a_secret(text) for run in runs for text in (run.stdout, run.stderr)):
        for text in {text for run in runs for text in (run.stdin, run.stdout) if len(text) > kept}:
            if len(text) <= _MOST_READ:
                with suppress(ValueError, RecursionError):
                    yield msgspec.json.decode(text)


def _has_long_call(record: LogRecord) -> bool:
    call = record.call
    return call is not None and (len(call) > LONGEST_CALL or "\n" in call or "\t" in call)


def _may_show_a_secret(printed: str) -> bool:
    return len(printed) > _LONG_ANSWER or len(_PLAIN_ANSWER.sub("", printed)) >= SHORTEST_SECRET


def _json(plain: dict[str, Any]) -> bytes:
    try:
        return _encode(plain)
    except UnicodeEncodeError:  # a lone surrogate
        return stringify_json(plain)


_encode = msgspec.json.Encoder().encode
_encode_lines = msgspec.json.Encoder(enc_hook=str).encode_lines
