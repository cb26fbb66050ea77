"""What to say of an option whose value is of a wrong type, in the words of somebody who writes JSON."""

import json
from collections.abc import Mapping

import msgspec
from msgspec import inspect

from hookline.contract.hooks import OnError


def ignored(field: msgspec.structs.FieldInfo) -> str:
    """What to say of an option whose value is not of its type."""
    is_plain = isinstance(field.default, bool | int | float | str)
    counts = f"{json.dumps(field.default)} counts meanwhile" if is_plain else "it counts as not given"
    kind = inspect.type_info(field.type)
    expected = _expected(kind)
    if _bare(kind) == inspect.EnumType(OnError):
        return f"is ignored, so {counts}; write {expected}"
    return f"is ignored (expected {expected}), so {counts}; mend or remove it"


def _expected(kind: inspect.Type) -> str:
    """A type in the words of somebody who writes JSON."""
    match _bare(kind):
        case inspect.UnionType(types=types):
            return " or ".join(_expected(each) for each in types if not isinstance(each, inspect.NoneType))
        case inspect.EnumType(cls=words):
            return " or ".join(sorted((json.dumps(word.value) for word in words), reverse=True))
        case inspect.IntType(ge=least):
            return f"a whole number of at least {least}"
        case inspect.FloatType(ge=least):
            return f"a number of at least {least:g}"
        case bare:
            return _PLAIN_WORDS[type(bare)]


def _bare(kind: inspect.Type) -> inspect.Type:
    return _bare(kind.type) if isinstance(kind, inspect.Metadata) else kind


_PLAIN_WORDS: Mapping[type[inspect.Type], str] = {
    inspect.BoolType: "true or false",
    inspect.DictType: "an object whose values are strings",
    inspect.StrType: "a string",
    inspect.StructType: "an object",
    inspect.VarTupleType: "an array of strings",
}
