"""JSON objects → structs, field by field: a wrong option is ignored alone."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from hookline.protocol.constants import OnError, TrustLevel
from hookline.protocol.text.strings import nearest
from hookline.settings.read.files import Layer, Problem
from hookline.settings.read.jsonc import PathStep

Path = tuple[PathStep, ...]
_Struct = TypeVar("_Struct", bound=msgspec.Struct)

# A typo in one of these must not make a guard weaker than it was meant to be.
_STRICTER: Mapping[str, Any] = {
    "final": True,
    "required": True,
    "network": False,
    "on_error": OnError.BLOCK,
    "on_failure": "block",
    "on_fault": OnError.BLOCK,
    "warm": False,
    "trust": TrustLevel.STRICT,
}
# Values that are gone, each with the one to use instead.
_REPLACED = {("mode", "warn"): "shadow"}
# Guessing the word that was meant is slow, and a project's file may have many wrong ones.
_MOST_GUESSES = 200
_PLAIN_WORDS: Mapping[type[inspect.Type], str] = {
    inspect.BoolType: "true or false",
    inspect.DictType: "an object whose values are strings",
    inspect.ListType: "an array of strings",
    inspect.StrType: "a string",
    inspect.StructType: "an object",
    inspect.VarTupleType: "an array of strings",
}


class LayerProblems:
    """The problems of one layer, in the order in which they are found."""

    def __init__(self, layer: Layer) -> None:
        self.layer = layer
        self.found: list[Problem] = []
        self._guesses = _MOST_GUESSES

    def warn(self, path: Path, message: str) -> None:
        """Report something that is ignored, or not used as written."""
        self.found.append(self.layer.problem(path, message))

    def error(self, path: Path, message: str) -> None:
        """Report something that prevents a hook from running as intended."""
        self.found.append(self.layer.problem(path, message, is_error=True))

    def may_guess(self) -> bool:
        """Whether there is time to look for a word that was meant."""
        self._guesses -= 1
        return self._guesses >= 0


@lru_cache(maxsize=32)
def fields_of(struct: type[msgspec.Struct]) -> Mapping[str, msgspec.structs.FieldInfo]:
    """The fields of a struct by their names in JSON; asking msgspec for them takes longer than decoding."""
    return {field.encode_name: field for field in msgspec.structs.fields(struct)}


def decode_fields(raw: Mapping[str, Any], struct: type[_Struct], path: Path, problems: LayerProblems) -> _Struct:
    """The struct from all fields that are well typed; the others get a safe value and are reported."""
    fields = fields_of(struct)
    warn_of_typos(raw, struct, path, problems)
    if not any(isinstance(field.default, msgspec.Struct) for field in fields.values()):
        try:
            return msgspec.convert(raw, struct)
        except ValueError:  # also a UnicodeError, for a lone surrogate
            pass
    values = {
        field.name: _decode_field(raw[key], struct, field, (*path, key), problems)
        for key, field in fields.items()
        if key in raw
    }
    return struct(**values)


def warn_of_typos(raw: Mapping[str, Any], struct: type[msgspec.Struct], path: Path, problems: LayerProblems) -> None:
    """Reports keys that look like a field and are none."""
    fields = fields_of(struct)
    for key in raw:
        if key not in fields:
            _warn_of_typo(str(key), struct, path, problems)


def _decode_field(
    value: Any, struct: type[msgspec.Struct], field: msgspec.structs.FieldInfo, path: Path, problems: LayerProblems
) -> Any:
    if isinstance(field.default, msgspec.Struct) and isinstance(value, Mapping):
        return decode_fields(value, type(field.default), path, problems)
    try:
        return msgspec.convert(value, field.type)
    except ValueError:
        if isinstance(value, str) and (word := _REPLACED.get((field.encode_name, value))) is not None:
            problems.error(path, f'is "{value}", which is not supported; use "{word}"; until then the hook is enforced')
            return None
        used = field.default if value is None else _STRICTER.get(field.name, field.default)
        problems.warn(path, _ignored(struct, field.encode_name, used))
        return used


@lru_cache(maxsize=64)
def _ignored(struct: type[msgspec.Struct], key: str, used: Any) -> str:
    """The message for an option that is ignored because of its type; `used` is the value in its place."""
    field = fields_of(struct)[key]
    message = f"is ignored (expected {_expected(inspect.type_info(field.type))})"
    if not isinstance(used, bool | int | float | str):
        return f"{message}; fix or remove it"
    stricter = "" if used == field.default else "the stricter "
    return f"{message}; {stricter}{json.dumps(used)} is used until you fix or remove it"


def _expected(kind: inspect.Type) -> str:
    match kind:
        case inspect.Metadata(type=inner):
            return _expected(inner)
        case inspect.UnionType(types=types):
            return " or ".join(_expected(each) for each in types if not isinstance(each, inspect.NoneType))
        case inspect.EnumType(cls=words):
            return " or ".join(json.dumps(word.value) for word in words)
        case inspect.LiteralType(values=values):
            return " or ".join(map(json.dumps, values))
        case inspect.IntType(ge=least):
            return f"a whole number of at least {least}"
        case inspect.FloatType(ge=least):
            return f"a number of at least {least:g}"
        case _:
            return _PLAIN_WORDS[type(kind)]


def _warn_of_typo(key: str, struct: type[msgspec.Struct], path: Path, problems: LayerProblems) -> None:
    if not problems.may_guess():
        return
    meant = nearest(key, fields_of(struct), cutoff=0.75)
    if meant:
        problems.warn((*path, key), f"is not an option and is ignored; did you mean {meant}?")
