"""JSON objects → structs, field by field: one wrong option costs that option only."""

import difflib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

from hookline.contract.hooks import OnError, TrustLevel
from hookline.settings.jsonc import PathStep
from hookline.settings.read import Layer, Problem

Path = tuple[PathStep, ...]
_Struct = TypeVar("_Struct", bound=msgspec.Struct)

# A typo in one of these must not make a guard weaker than somebody meant it to be.
_STRICTER: Mapping[str, Any] = {
    "final": True,
    "on_error": OnError.BLOCK,
    "on_fault": OnError.BLOCK,
    "trust": TrustLevel.STRICT,
}
# Finding the word that was meant is slow, and a stranger can write many wrong ones.
_MOST_GUESSES = 200


class LayerProblems:
    """The problems of one layer, in the order in which they are found."""

    def __init__(self, layer: Layer) -> None:
        self.layer = layer
        self.found: list[Problem] = []
        self._guesses = _MOST_GUESSES

    def warn(self, path: Path, message: str) -> None:
        """Reports something that is ignored, or used in another way than it is written."""
        self.found.append(self.layer.problem(path, message))

    def error(self, path: Path, message: str) -> None:
        """Reports something that keeps a hook from running as it is meant to."""
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
    for key in raw:
        if key not in fields:
            _warn_of_typo(str(key), struct, path, problems)
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


def _decode_field(
    value: Any, struct: type[msgspec.Struct], field: msgspec.structs.FieldInfo, path: Path, problems: LayerProblems
) -> Any:
    if isinstance(field.default, msgspec.Struct) and isinstance(value, Mapping):
        return decode_fields(value, type(field.default), path, problems)
    try:
        return msgspec.convert(value, field.type)
    except ValueError:
        used = field.default if value is None else _STRICTER.get(field.name, field.default)
        problems.warn(path, _ignored(struct, field.encode_name, used))
        return used


@lru_cache(maxsize=64)
def _ignored(struct: type[msgspec.Struct], key: str, used: Any) -> str:
    from hookline.settings._wrong_types import ignored  # noqa: PLC0415 - only needed when something is wrong

    return ignored(fields_of(struct)[key], used)


def _warn_of_typo(key: str, struct: type[msgspec.Struct], path: Path, problems: LayerProblems) -> None:
    if not problems.may_guess():
        return
    meant = difflib.get_close_matches(key, fields_of(struct), n=1, cutoff=0.75)
    if meant:
        problems.warn((*path, key), f"is not an option and is ignored; did you mean {meant[0]}?")
