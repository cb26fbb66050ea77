"""JSON and text as JavaScript reads and writes them, because that is what hook scripts expect."""

import json
import math
import re
from collections import Counter, UserString
from collections.abc import Callable, Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from itertools import islice
from numbers import Integral, Real
from types import NoneType, SimpleNamespace
from typing import Any, NoReturn

import msgspec

# String.prototype.trim() removes these. Python's strip() also removes U+001C to U+001F and U+0085, and leaves the BOM.
JS_WHITESPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)

# Deeper than any hand-written value, and shallower than the recursion limit of any Python.
MAX_DEPTH = 100

# Possessive quantifiers: backtracking on a string without end would take quadratic time.
_NESTING = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
# From here on JavaScript, too, writes an exponent.
_INTEGRAL_FLOAT_LIMIT = 1e21
_NUMBER_BITS = 1024
# A limit for values that make their items on demand, such as `range`.
_MOST_ITEMS = 1_000_000
# Of a number that msgspec writes as 1.0 and JavaScript as 1, of a decimal that is not finite, or of text like them.
_FIND_ODD_NUMBERS = [re.compile(odd).search for odd in (rb'\.0(?:[,\]}]|":|\Z)', b"NaN", b"Infinity")]
_CONTAINERS = frozenset({dict, list, tuple, set, frozenset})
_FLOATLESS = frozenset({str, int, bool, NoneType, bytes})


def trim(text: str) -> str:
    """The text without surrounding white space, as JavaScript's `trim()` does it."""
    return text.strip(JS_WHITESPACE)


def parse_json(text: str) -> Any:
    """The value that `JSON.parse` gives for this text, or ValueError; values deeper than MAX_DEPTH become null."""
    text = cut_depth(text)
    try:
        return _decode(text)
    except ValueError:
        # JavaScript accepts a lone surrogate, 1e999 and any number of digits; of the two decoders only the slower does.
        return json.loads(text, parse_int=_whole_number, parse_constant=_refuse_constant)


def repeated_key(text: str, among: frozenset[str] | None = None) -> tuple[str, list[Any]] | None:
    """A key that one object of a JSON text has twice, however it is escaped, with its values; None if there is none."""
    if text.count(":") < 2:  # noqa: PLR2004 - two keys
        return None
    found: list[tuple[str, list[Any]]] = []

    def read(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) != len(pairs):
            counts = Counter(name for name, _ in pairs)
            twice = (name for name, count in counts.items() if count > 1 and (among is None or name in among))
            found.extend((name, [value for key, value in pairs if key == name]) for name in islice(twice, 1))
        return fields

    with suppress(ValueError, RecursionError):
        json.loads(cut_depth(text), object_pairs_hook=read, parse_int=_whole_number, parse_constant=_refuse_constant)
    return found[-1] if found else None


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
    """Encode like `JSON.stringify`: one line, no spaces, UTF-8 unescaped, 1.0 as 1. Never raises.

    Only numbers beyond 1e16 and below 1e-5 may be spelled otherwise.
    """
    try:
        encoded = _encode(value)
        return _encode(_respelled(value)) if _needs_respelling(encoded) else encoded
    except Exception:  # noqa: BLE001 - foreign code: an argument of a tool must not prevent its guards from running
        return _stringify_slowly(value)


def to_plain(value: Any, above: frozenset[int] = frozenset()) -> Any:
    """The value as plain JSON types only: floats without a fraction as integers, NaN as null, the unknown as text.

    `above` has the identities of its containers: a value that is one of them, or nested too deep, becomes null.
    """
    try:
        return _taken_apart(value, above)
    except Exception:  # noqa: BLE001 - foreign code: a value that can't be taken apart is written as text
        return _text(value)


def utc_timestamp(seconds: float | None = None) -> str:
    """A moment (now, if not given) as `Date.toISOString()` writes it: `2025-02-18T16:30:00.000Z`."""
    moment = datetime.now(UTC) if seconds is None else datetime.fromtimestamp(round(seconds, 6), UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _needs_respelling(encoded: bytes) -> bool:
    """Return whether msgspec may have spelled a number otherwise than JavaScript: 1.0, or one that is not finite."""
    return any(find(encoded) for find in _FIND_ODD_NUMBERS)


def _respelled(value: Any) -> Any:
    """A copy in which floats without a fraction are integers; msgspec has already seen that it is not endless."""
    kind = type(value)
    if kind is float:
        return _plain_float(value)
    if kind is dict:
        return {
            key if type(key) is str else key_in_json(key): item if type(item) in _FLOATLESS else _respelled(item)
            for key, item in value.items()
        }
    if kind in _CONTAINERS:
        return [item if type(item) in _FLOATLESS else _respelled(item) for item in value]
    return value if kind in _FLOATLESS else to_plain(value)


def _stringify_slowly(value: Any) -> bytes:
    text = json.dumps(to_plain(value), ensure_ascii=False, separators=(",", ":"))
    # A lone surrogate is the only thing UTF-8 cannot hold; backslashreplace writes it as JSON.stringify does.
    return text.encode("utf-8", "backslashreplace")


def _taken_apart(value: Any, above: frozenset[int]) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str | Real | Decimal):
        return _plain_scalar(_stand_in(value))
    if len(above) == MAX_DEPTH or id(value) in above:
        return None
    inner = above | {id(value)}
    match value:
        case Mapping():
            return {key_in_json(key): to_plain(item, inner) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [to_plain(item, inner) for item in value]
        case _:
            return to_plain(msgspec.to_builtins(value, builtin_types=(Decimal,), enc_hook=_stand_in), inner)


def _plain_scalar(value: Any) -> Any:
    if isinstance(value, float):
        return _plain_float(value)
    # To JavaScript a longer integer is Infinity, which it writes as null; Python may refuse to write it at all.
    return None if isinstance(value, int) and value.bit_length() > _NUMBER_BITS else value


def _plain_float(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) < _INTEGRAL_FLOAT_LIMIT else value


def key_in_json(key: Any) -> str:
    """A key as JavaScript writes it: null, true and 1 for None, True and 1.0."""
    plain = to_plain(key)
    if isinstance(plain, str):
        return plain
    return _text(key) if isinstance(plain, list | dict) else json.dumps(plain)


def _items(value: Any) -> Any:
    return list(value) if len(value) <= _MOST_ITEMS else _text(value)


def _json_of_library(value: Any) -> Any:
    """The JSON of a pydantic model (the SDK's parts are some) and of numpy's numbers and arrays; else text."""
    if isinstance(value, type):
        return _text(value)
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True, warnings=False)
    return value.tolist() if hasattr(value, "tolist") else _text(value)


def _stand_in(value: Any) -> Any:
    """A value of a type that msgspec writes, in place of one that it does not know."""
    return next(convert for kinds, convert in _STAND_INS if isinstance(value, kinds))(value)


def _text(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - foreign code: an argument of a tool must not prevent its guards from running
        return f"<{type(value).__name__}>"


def _whole_number(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


# The base's own methods give what the tool will use, whatever a subclass shows of itself.
_STAND_INS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (str, str.__str__),
    (NoneType | bool, key_in_json),  # msgspec itself writes these, except as keys
    (int, int.__index__),
    (float, float.__float__),
    (Integral, int),
    (Real | Decimal, float),
    (bytes, lambda value: bytes(memoryview(value))),
    (Mapping, dict),
    (SimpleNamespace, vars),
    (UserString, str),
    (Sequence | AbstractSet | ValuesView, _items),
    (object, _json_of_library),
)
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder(enc_hook=_stand_in, decimal_format="number").encode
