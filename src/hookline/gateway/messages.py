"""JSON-RPC messages, read as far as a gateway has to understand them."""

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
    """One message. Its contents stay the bytes that they are; members that JSON-RPC does not know are left out.

    Written anew, a message has each member once. So nobody can hide a second `method` or `id` from the gateway that
    the other side would read.
    """

    jsonrpc: str = "2.0"
    id: Id | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET

    @property
    def has_answer(self) -> bool:
        """Whether it has what only an answer has."""
        return self.result is not UNSET or self.error is not UNSET


_CONTENTS = frozenset({"params", "result", "error"})
_decode = msgspec.json.Decoder(Message).decode
_decode_batch = msgspec.json.Decoder(list[Raw]).decode
encode_message = msgspec.json.Encoder().encode
# Programs write the id first or last; an id in the middle of a long message is not found.
_FIRST_ID = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d+|"[^"\\]*")\s*,')
_LAST_ID = re.compile(rb',\s*"id"\s*:\s*(-?\d+|"[^"\\]*")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')


def read_messages(line: bytes) -> list[Message]:
    """The message of a line, or all messages of a batch; ValueError if they can't be read."""
    # JSON has carriage returns only between values. A reader that takes them for the end of a line would see others.
    line = line.replace(b"\r", b" ") if b"\r" in line else line
    try:
        if line.lstrip()[:1] == b"[":
            return [_decode(item) for item in _decode_batch(line)]
        return [_decode(line)]
    except msgspec.ValidationError:
        raise
    except ValueError:
        # A lone surrogate, which JavaScript writes for half an emoji; of the two decoders only the slower reads it.
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
    """The message of a value, with contents in which surrogates are escapes."""
    if not isinstance(value, dict):
        raise ValueError("it is not an object")  # noqa: TRY004 - what is read is the value that is wrong
    known = {name: value[name] for name in Message.__struct_fields__ if name in value}
    for name in known.keys() - _CONTENTS:
        str(known[name]).encode()  # raises for a lone surrogate, which could not be written again
    raws = {name: Raw(json.dumps(item).encode()) for name, item in known.items() if name in _CONTENTS}
    return msgspec.convert({**known, **raws}, Message)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def read_object(raw: Raw | UnsetType) -> dict[str, Any]:
    """The object inside a message; ValueError if it is something else."""
    value = {} if raw is UNSET else parse_json(bytes(raw).decode())
    if not isinstance(value, dict):
        raise ValueError("it is not an object")  # noqa: TRY004 - what is read is the value that is wrong
    return value


def to_raw(value: Any) -> Raw:
    """The value as JSON."""
    try:
        return Raw(encode_message(value))
    except (ValueError, OverflowError, UnicodeError):  # a lone surrogate, or a number of many digits
        return Raw(stringify_json(value))


def error_answer(request_id: Id | None, code: int, message: str) -> Message:
    """An answer that says why there is no result."""
    return Message(id=request_id, error=to_raw({"code": code, "message": message}))


def id_of_long_line(beginning: bytes, end: bytes) -> Id | None:
    """The id of a message that is too long to be read, if it is found."""
    found = _FIRST_ID.match(beginning) or _LAST_ID.search(end)
    if found is None:
        return None
    try:
        return msgspec.json.decode(found[1], type=int | str)
    except ValueError:
        return None
