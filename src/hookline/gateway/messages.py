"""Reads and writes JSON-RPC envelopes; the contents remain undecoded."""

import json
import re
from typing import Any, NoReturn

import msgspec
from msgspec import UNSET, Raw, UnsetType

from hookline.protocol.text.json_text import parse_json, stringify_json

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
SERVER_ENDED = -32000

Id = int | str | float


class Message(msgspec.Struct, kw_only=True):
    """One message, with its contents as bytes and without members that JSON-RPC does not define.

    Encoding writes each member once, so a duplicate `method` or `id` can't reach the other side.
    """

    jsonrpc: str = "2.0"
    id: Id | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET

    @property
    def has_answer(self) -> bool:
        """True for a message with a member that only answers have."""
        return self.result is not UNSET or self.error is not UNSET


_CONTENTS = frozenset({"params", "result", "error"})
_decode = msgspec.json.Decoder(Message).decode
_decode_batch = msgspec.json.Decoder(list[Raw]).decode
encode_message = msgspec.json.Encoder().encode
# Most programs write the id first or last; an id elsewhere in a long message is not found.
_FIRST_ID = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d+|"[^"\\]*")\s*,')
_LAST_ID = re.compile(rb',\s*"id"\s*:\s*(-?\d+|"[^"\\]*")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')


def read_messages(line: bytes) -> list[Message]:
    """Return the message of a line, or the messages of a batch. Raises ValueError for anything else."""
    # JSON allows carriage returns between values, and some readers would split the line at them.
    line = line.replace(b"\r", b" ") if b"\r" in line else line
    try:
        if line.lstrip()[:1] == b"[":
            return [_decode(item) for item in _decode_batch(line)]
        return [_decode(line)]
    except msgspec.ValidationError:
        raise
    except ValueError:
        # A lone surrogate, which JavaScript writes for half an emoji: only the slower decoder reads it.
        return _read_slowly(line)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def _read_slowly(line: bytes) -> list[Message]:
    try:
        value = json.loads(line.decode(), parse_constant=_refuse_constant)
        return [_decode_value(item) for item in (value if isinstance(value, list) else [value])]
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def _decode_value(value: Any) -> Message:
    """Return the message of a decoded value; surrogates in its contents are escaped."""
    value = _require_object(value)
    known = {name: value[name] for name in Message.__struct_fields__ if name in value}
    for name in known.keys() - _CONTENTS:
        str(known[name]).encode()  # raises for a lone surrogate, which can't be encoded
    raws = {name: Raw(json.dumps(item).encode()) for name, item in known.items() if name in _CONTENTS}
    return msgspec.convert({**known, **raws}, Message)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def read_object(raw: Raw | UnsetType) -> dict[str, Any]:
    """Return the object in a message. Raises ValueError for another type."""
    return _require_object({} if raw is UNSET else parse_json(bytes(raw).decode()))


def _require_object(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise ValueError("it is not an object")


def to_raw(value: Any) -> Raw:
    """Return the value as JSON."""
    try:
        return Raw(encode_message(value))
    except (ValueError, OverflowError, UnicodeError):  # a lone surrogate, or a number of many digits
        return Raw(stringify_json(value))


def error_answer(request_id: Id | None, code: int, message: str) -> Message:
    """Return an answer with an error."""
    return Message(id=request_id, error=to_raw({"code": code, "message": message}))


def id_of_long_line(beginning: bytes, end: bytes) -> Id | None:
    """Return the id of a message that is too long to be read, or None if it is not found."""
    found = _FIRST_ID.match(beginning) or _LAST_ID.search(end)
    if found is None:
        return None
    try:
        return msgspec.json.decode(found[1], type=int | str)
    except ValueError:
        return None
