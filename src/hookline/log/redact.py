import json
import re
from collections.abc import Mapping, Sequence
from fnmatch import translate
from typing import Any, TypeVar

from msgspec.structs import replace

from hookline.contract.records import LogRecord
from hookline.contract.wire import MAX_DEPTH, parse_json, stringify_json

REDACTED = "[redacted]"

# Shorter values ("1", "true", "root") occur in ordinary text everywhere.
_SHORTEST_SECRET = 6

# A member of an object in text that is not JSON as a whole, such as output that was cut or is mixed with other text;
# its quotes may be escaped. A container hides everything after it, because its end can't be found.
_KEY = re.compile(r'"([^"\\\s]{1,100})\\*"\s*:\s*')
_VALUE = re.compile(r'(\\*")(?:(?!(?<!\\)\1).)*(?:\1|\Z)|[\[{].*|[^\s"{}\[\],\\]+', re.DOTALL)

_Record = TypeVar("_Record", bound=LogRecord)


class Redactor:
    """Replaces secrets: values under keys that match a pattern, and values of environment variables so named.

    Patterns are globs over whole names, such as `*TOKEN*` or `password`; upper and lower case are the same.
    """

    def __init__(self, patterns: Sequence[str], environ: Mapping[str, str]) -> None:
        self._names = re.compile("|".join(translate(pattern) for pattern in patterns) or r"(?!)", re.IGNORECASE)
        values = {value for name, value in environ.items() if self._names.match(name)}
        self._secrets = _any_of({value for value in values if len(value) >= _SHORTEST_SECRET})

    def redact(self, record: _Record) -> _Record:
        """The record with secrets replaced, in fields of a matching name and in all texts."""
        names = zip(record.__struct_fields__, record.__struct_encode_fields__, strict=True)
        cleaned = {
            name: self._member(key, value, MAX_DEPTH)
            for name, key in names
            if name not in ("time", "level") and (value := getattr(record, name)) is not None
        }
        return replace(record, **cleaned)

    def _member(self, key: str, value: Any, depth: int) -> Any:
        return REDACTED if self._names.match(key) else self._clean(value, depth)

    def _clean(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self._clean_text(value, depth)
        if isinstance(value, Mapping):
            return {self._without_secrets(key): self._member(key, item, depth - 1) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._clean(item, depth - 1) for item in value]
        return value

    def _clean_text(self, text: str, depth: int) -> str:
        if '"' in text:
            try:
                value = parse_json(text) if depth > 0 else None
            except (ValueError, RecursionError):
                value = None
            if isinstance(value, dict | list | str):
                # Always encoded again: of a duplicate key, the parser returns only the last value.
                text = stringify_json(self._clean(value, depth - 1)).decode()
            else:
                text = self._clean_members(text)
        return self._without_secrets(text)

    def _clean_members(self, text: str) -> str:
        cleaned: list[str] = []
        done = 0
        for key in _KEY.finditer(text):
            if key.start() >= done and self._names.match(key[1]) and (value := _VALUE.match(text, key.end())):
                quote = value[1] or '"'
                cleaned += (text[done : key.end()], quote, REDACTED, quote)
                done = value.end()
        return "".join(cleaned) + text[done:]

    def _without_secrets(self, text: str) -> str:
        return self._secrets.sub(REDACTED, text)


def _any_of(secrets: set[str]) -> re.Pattern[str]:
    """A pattern for all of them, longest first, also as they look inside JSON text."""
    spellings = secrets | {json.dumps(secret)[1:-1] for secret in secrets}
    spellings |= {json.dumps(secret, ensure_ascii=False)[1:-1] for secret in secrets}
    return re.compile("|".join(map(re.escape, sorted(spellings, key=len, reverse=True))) or r"(?!)")
