"""Messages of model APIs as programs have them: dictionaries, or an SDK's own objects. No SDK is imported."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from hookline.errors import FormatError
from hookline.protocol.text.strings import nearest


def field(value: Any, name: str) -> Any:
    """The field of an object or of its JSON form; None when there is none."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def with_fields(value: Any, **changes: Any) -> Any:
    """A copy of an object or of its JSON form with these fields changed; everything else stays."""
    if isinstance(value, Mapping):
        return {**value, **changes}
    if hasattr(value, "model_copy"):
        return value.model_copy(update=changes)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(value, **changes)
    raise FormatError("a message", shape_of(value), "a dictionary or an SDK's object, to change it")


def words(text: str) -> frozenset[str]:
    """The words of a text, for long lists of names."""
    return frozenset(text.split())


def kind_of(value: Any) -> str:
    """The `type` of a part or an item; empty when it has none."""
    kind = field(value, "type")
    return kind if isinstance(kind, str) else ""


def check_type(value: Any, where: str, known: frozenset[str]) -> None:
    """FormatError for a part or an item of a type that is not known; a bare text has none."""
    if not isinstance(value, str):
        check_name(kind_of(value), where, known)


def check_name(kind: Any, where: str, known: frozenset[str]) -> None:
    """FormatError for a type that is not known."""
    if kind not in known:
        close = nearest(str(kind), known)
        remedy = f"such as {close!r}" if close else "or a newer hookline that knows this one"
        raise FormatError(where, f"of the unknown type {kind!r}, in which hooks could miss a text", f"a type {remedy}")


def given(value: Any) -> Any:
    """The value, or None for an SDK's mark that a parameter is not given."""
    return None if type(value).__name__ in ("NotGiven", "Omit") else value


def shape_of(value: Any) -> str:
    """Describe a value of an unknown format for an error message."""
    if isinstance(value, Mapping):
        return f"an object with {', '.join(map(str, value)) or 'no keys'}"
    return "missing" if value is None else f"of the type {type(value).__name__}"


def listed(value: Any, where: str) -> list[Any]:
    """A list of messages, items or parts; FormatError for anything else."""
    if not isinstance(value, list | tuple):
        raise FormatError(where, shape_of(value), "a list")
    return list(value)
