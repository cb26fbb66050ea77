"""The message for an option whose value has a wrong type, in the words of somebody who writes JSON."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import inspect


def ignored(field: msgspec.structs.FieldInfo, used: Any) -> str:
    """What to say of an option that is ignored because of its type; `used` is the value in its place."""
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
        case inspect.IntType(ge=least):
            return f"a whole number of at least {least}"
        case inspect.FloatType(ge=least):
            return f"a number of at least {least:g}"
        case _:
            return _PLAIN_WORDS[type(kind)]


_PLAIN_WORDS: Mapping[type[inspect.Type], str] = {
    inspect.BoolType: "true or false",
    inspect.DictType: "an object whose values are strings",
    inspect.StrType: "a string",
    inspect.StructType: "an object",
    inspect.VarTupleType: "an array of strings",
}
