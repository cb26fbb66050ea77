"""Whether arguments can be shown to hooks as they are: what a guard can't see whole, it can't judge."""

import datetime as dt
import enum
import os
import sys
from collections import UserString
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from math import isfinite
from numbers import Number
from types import SimpleNamespace
from typing import Any

from hookline.protocol.text.json_text import MAX_DEPTH, key_in_json

# The arguments stand two levels deep in the input of a hook.
_DEEPEST = MAX_DEPTH - 2
_LONGEST_NUMBER_BITS = 1024
_ATOMS = (
    *(str, Number, type(None), UserString, enum.Enum, os.PathLike),
    *(dt.date, dt.time, dt.timedelta),
)
_PLAIN = frozenset({str, bool, type(None)})
_BYTES = (bytes, bytearray, memoryview)


def why_not_whole(arguments: Any) -> str | None:
    """Why hooks would be shown something else than these arguments, or None."""
    pending: list[tuple[str, Any, int]] = [("", arguments, 1)]
    while pending:
        where, value, depth = pending.pop()
        if type(value) in _PLAIN:
            continue
        if type(value) is dict and depth == 1 and all(type(key) is str for key in value):
            pending += [(f".{name}", item, 2) for name, item in value.items() if type(item) not in _PLAIN]
            continue
        try:
            fault = _fault(value, depth)
            inner = [] if fault else [(f"{where}.{name}", item, depth + 1) for name, item in _items(value)]
        except Exception as error:  # noqa: BLE001 - foreign code: what can't be looked into can't be shown
            fault, inner = f"can't be read ({type(error).__name__})", []
        if fault:
            return f"the argument {where.lstrip('.')[:100] or 'object'} {fault}, so no hook could judge it"
        pending += inner
    return None


def _fault(value: Any, depth: int) -> str | None:
    if isinstance(value, int | float | Decimal):
        return _number_fault(value)
    if _is_atom(value):
        return None
    if isinstance(value, _BYTES):
        return f"is of the type {type(value).__name__}; pass it as text"
    if depth > _DEEPEST:
        return f"is nested deeper than {_DEEPEST} levels"
    if isinstance(value, Mapping) and len({key_in_json(key) for key in value}) < len(value):
        return 'has two keys that are the same in JSON (such as 1 and "1"); pass texts as keys'
    if hasattr(value, "model_dump") and not isinstance(value, type):
        return _hidden_in_model(value)
    if isinstance(value, type) or not _can_be_taken_apart(value):
        return f"is an object of the type {type(value).__name__}; pass JSON values"
    return None


def _number_fault(value: float | Decimal) -> str | None:
    if isinstance(value, int):
        return "is too large a number" if value.bit_length() > _LONGEST_NUMBER_BITS else None
    return None if isfinite(value) else f"is {value}, which hooks would read as null; pass a number, or a text"


def _is_atom(value: Any) -> bool:
    # Not imported here: most programs have none.
    return isinstance(value, _ATOMS) or type(value) is getattr(sys.modules.get("uuid"), "UUID", None)


def _can_be_taken_apart(value: Any) -> bool:
    if isinstance(value, Mapping | Sequence | AbstractSet | SimpleNamespace):
        return True
    return any(hasattr(value, name) for name in ("__dataclass_fields__", "__struct_fields__", "tolist"))


def _hidden_in_model(model: Any) -> str | None:
    """Return the fields that a pydantic model leaves out of its JSON, as text; None if there are none."""
    fields = type(model).model_fields
    hidden = [name for name, field in fields.items() if getattr(field, "exclude", None)]
    hidden += list(getattr(model, "__pydantic_private__", None) or ())
    if not hidden:
        dumped = model.model_dump(warnings=False)
        hidden = [name for name in fields if getattr(model, name) is not None and name not in dumped]
    return f"has fields that it does not show ({', '.join(hidden)[:100]})" if hidden else None


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    if _is_atom(value) or isinstance(value, range):
        return
    if isinstance(value, Mapping):
        yield from ((str(key), item) for key, item in value.items())
    elif isinstance(value, Sequence | AbstractSet):
        yield from ((str(number), item) for number, item in enumerate(value))
    elif hasattr(value, "model_dump"):
        yield from ((name, getattr(value, name)) for name in type(value).model_fields)
        yield from (getattr(value, "model_extra", None) or {}).items()
    elif isinstance(value, SimpleNamespace):
        yield from vars(value).items()
    else:
        names: Any = getattr(value, "__dataclass_fields__", None) or getattr(value, "__struct_fields__", ())
        yield from ((name, getattr(value, name)) for name in names)
