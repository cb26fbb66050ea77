"""Are a program's arguments of the right types? Checked in every call, also where no hook would have to run."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

from hookline.protocol.arguments import Normalize, ToolArguments, Validate, own_copy

Word = TypeVar("Word", bound=StrEnum)


def check_text(what: str, value: object) -> None:
    """TypeError for anything but a text that is not empty."""
    if not isinstance(value, str) or not value:
        raise TypeError(f"{what} is {value!r}; expected a text that is not empty")


def check_type(what: str, value: object, kind: Any, expected: str) -> None:
    """TypeError for a value of another type."""
    if not isinstance(value, kind):
        raise TypeError(f"{what} is {value!r}; expected {expected}")


def check_names(tools: object) -> tuple[str, ...]:
    """The names of tools; TypeError for anything else, such as one text or the declarations of the tools."""
    if isinstance(tools, str | bytes) or not isinstance(tools, Iterable):
        raise TypeError(f"the tools are {tools!r}; expected the names of several, such as ['read_file']")
    names = tuple(tools)
    for name in names:
        check_text("a tool's name", name)
    return names


def check_call(call_id: object, mcp_context: object) -> None:
    """TypeError for what belongs to a tool call beside its name and arguments."""
    check_type("call_id", call_id, str | None, "a text or None")
    check_type("mcp_context", mcp_context, Mapping | None, "a mapping or None")


def rules_of(normalize: Normalize | None, validate: Validate | None, fn: object = own_copy) -> ToolArguments | None:
    """The program's rules for the arguments of a call; TypeError for a function that can't be called."""
    if not callable(fn):
        raise TypeError(f"fn is {fn!r}; expected a function of the tool's arguments")
    for function in (normalize, validate):
        if function is not None and not callable(function):
            raise TypeError(f"normalize or validate is {function!r}; expected a function or None")
    return ToolArguments.of(normalize, validate)


def read_word(what: str, value: object, words: type[Word]) -> Word:
    """The word of a vocabulary; TypeError for no text, ValueError for an unknown one."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is {value!r}; expected one of {', '.join(words)}")
    try:
        return words(value)
    except ValueError:
        raise ValueError(f"{what} is {value!r}; expected one of {', '.join(words)}") from None
