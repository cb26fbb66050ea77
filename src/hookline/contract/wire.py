"""JSON and text as JavaScript reads and writes them: the dialect that hook scripts already speak."""

import json
import re
import time
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Any, NoReturn

import msgspec

# What String.prototype.trim() removes. Python's strip() also takes U+001C to U+001F and U+0085, and leaves the BOM.
JS_WHITESPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)

# Deeper than anything a person writes, shallower than what recursive code on any Python can walk.
MAX_DEPTH = 100

# A string is never tried twice, closed or not: on a broken text that would take time by the square of its length.
_NESTING = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
_INTEGRAL_DIGITS = 21
_INTEGRAL_FLOAT_LIMIT = 10.0**_INTEGRAL_DIGITS
# A number that Python writes as 1.0 and JavaScript as 1, or text that looks like it.
_INTEGRAL_FLOAT = re.compile(rb"\.0(?:[,\]}]|\Z)")
_TEXT_OR_NUMBER = re.compile(rb'"(?:[^"\\]++|\\.)*+"|-?\d+(?:\.\d+)?(?:e-?\d+)?', re.DOTALL)
_NUMBER_BITS = 1024
# Of what makes its items when it is asked for them, as `range` does.
_MOST_ITEMS = 1_000_000


def trim(text: str) -> str:
    """The text without surrounding white space, as JavaScript's `trim()` does it."""
    return text.strip(JS_WHITESPACE)


def parse_json(text: str) -> Any:
    """The value that `JSON.parse` gives for this text, or ValueError; what lies deeper than MAX_DEPTH becomes null."""
    text = cut_depth(text)
    try:
        return _decode(text)
    except ValueError:
        # JavaScript takes a lone surrogate, 1e999 and endless digits; msgspec does not, and the slower decoder does.
        return json.loads(text, parse_int=_whole_number, parse_constant=_refuse_constant)


def cut_depth(text: str) -> str:
    """The JSON text with every value that is nested deeper than MAX_DEPTH replaced by null."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return text
    kept: list[str] = []
    depth = 0
    start = 0
    for token in _NESTING.finditer(text):
        mark = token[0]
        if mark in "[{":
            depth += 1
            if depth == MAX_DEPTH + 1:
                kept.append(text[start : token.start()])
        elif mark in "]}":
            if depth == MAX_DEPTH + 1:
                kept.append("null")
                start = token.end()
            depth -= 1
    if depth > MAX_DEPTH:
        return "".join(kept)
    return "".join(kept) + text[start:]


def stringify_json(value: Any) -> bytes:
    """What `JSON.stringify` gives: one line, no spaces, UTF-8 as it is, 1.0 as 1, never an exception.

    Only numbers beyond 1e16 and below 1e-5 may be spelled otherwise.
    """
    try:
        encoded = _encode(value)
    except Exception:  # noqa: BLE001 - foreign code: a tool's argument must not keep its guards from being asked
        encoded = _stringify_slowly(value)
    # The timestamp of every tenth event has the two characters, too.
    if b".0" in encoded and _INTEGRAL_FLOAT.search(encoded):
        encoded = _TEXT_OR_NUMBER.sub(_as_javascript_writes, encoded)
    return encoded


def to_plain(value: Any) -> Any:
    """The value as plain JSON types only: floats without a fraction as integers, NaN as null, the unknown as text."""
    return _plain(value, frozenset())


def utc_timestamp(seconds: float | None = None) -> str:
    """A moment (now, if not given) as `Date.toISOString()` writes it: `2025-02-18T16:30:00.000Z`."""
    now = time.time() if seconds is None else seconds
    whole = int(now)
    return f"{_utc_second(whole)}.{str(int((now - whole) * 1000)).zfill(3)}Z"


@lru_cache(maxsize=2)
def _utc_second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def _as_javascript_writes(token: re.Match[bytes]) -> bytes:
    text = token[0]
    if text.endswith(b".0"):
        return b"0" if text == b"-0.0" else text[:-2]
    mantissa, mark, exponent = text.partition(b"e")
    if text.startswith(b'"') or not mark or exponent.startswith(b"-"):
        return text
    if int(exponent) >= _INTEGRAL_DIGITS:
        return mantissa + b"e+" + exponent
    return str(int(float(text))).encode()


def _stringify_slowly(value: Any) -> bytes:
    text = json.dumps(to_plain(value), ensure_ascii=False, separators=(",", ":"))
    # A lone surrogate is the only thing UTF-8 cannot hold; backslashreplace writes it as JSON.stringify does.
    return text.encode("utf-8", "backslashreplace")


def _plain(value: Any, above: frozenset[int]) -> Any:
    """The value in plain types, given the identities of what it lies in: what lies too deep, or in itself, is null."""
    try:
        return _taken_apart(value, above)
    except Exception:  # noqa: BLE001 - the same: what can't be taken apart is told by its name
        return _text(value)


def _taken_apart(value: Any, above: frozenset[int]) -> Any:
    match value:
        case None | bool():
            return value
        case int():
            return _plain_int(value)
        case str():
            return str(value)
        case float():
            return _plain_float(value)
    if len(above) == MAX_DEPTH or id(value) in above:
        return None
    inner = above | {id(value)}
    match value:
        case Mapping():
            return {_text(key): _plain(item, inner) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_plain(item, inner) for item in value]
        case _:
            return _plain(msgspec.to_builtins(value, enc_hook=_stand_in), inner)


def _plain_int(value: int) -> int | None:
    # To JavaScript a longer one is Infinity, which it writes as null; Python may refuse to write it at all.
    return int(value) if value.bit_length() <= _NUMBER_BITS else None


def _plain_float(value: float) -> float | int | None:
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 - NaN is what differs from itself
        return None
    return int(value) if value.is_integer() and abs(value) < _INTEGRAL_FLOAT_LIMIT else value


def _stand_in(value: Any) -> Any:
    """What is written in place of a value that JSON has no form for."""
    match value:
        case Mapping():
            return dict(value)
        case Sequence() | AbstractSet() if len(value) <= _MOST_ITEMS:
            return list(value)
        case _:
            return _text(value)


def _text(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - foreign code: a tool's argument must not keep its guards from being asked
        return f"<{type(value).__name__}>"


def _whole_number(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder(enc_hook=_stand_in).encode
