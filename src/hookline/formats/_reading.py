"""Reading and copying what the SDK takes: its objects, their JSON in either spelling, bare strings and bare parts."""

from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal

Role = Literal["user", "model", "system"]

_CALLS = ("function_call", "tool_call", "executable_code")
_RESPONSES = ("function_response", "tool_response", "code_execution_result")
_PAYLOADS = (*_CALLS, *_RESPONSES, "inline_data", "file_data")


def field(value: Any, name: str) -> Any:
    """The field of an SDK object or of its JSON form, named in snake case; None when there is none."""
    if not isinstance(value, Mapping):
        return getattr(value, name, None)
    found = value.get(name)
    return value.get(_camel(name)) if found is None else found


def with_fields(value: Any, **changes: Any) -> Any:
    """A copy of an SDK object or of its JSON form with these fields changed."""
    if not isinstance(value, Mapping):
        return value.model_copy(update=changes)
    changed = dict(value)
    for name, given in changes.items():
        changed[_camel(name) if _camel(name) in changed else name] = given
    return changed


def whole_text(text: str) -> str:
    """The text without lone surrogates, which JSON can hold and the SDK refuses."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def word(value: Any) -> Any:
    """An enumeration's value, and anything else as it is."""
    return value.value if isinstance(value, Enum) else value


def listed(value: Any) -> list[Any]:
    """A list of what may be one, many or nothing."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def parts_of(content: Any) -> list[Any]:
    """The parts of a content; a bare string or part is its own only part."""
    if isinstance(content, list | tuple):
        return list(content)
    return listed(field(content, "parts")) if is_content(content) else [content]


def with_parts(content: Any, parts: list[Any]) -> Any:
    """A copy of a content with other parts; a bare string or part is replaced by its only part."""
    if isinstance(content, list | tuple):
        return parts
    return with_fields(content, parts=parts) if is_content(content) else parts[0]


def is_content(value: Any) -> bool:
    """True for a content that holds parts, false for a bare part."""
    if isinstance(value, Mapping):
        return "parts" in value or "role" in value
    return hasattr(value, "parts")


def role_of(content: Any) -> Role:
    """The role as hooks know it: what is neither the model's nor the system's is the user's."""
    if is_content(content):
        match field(content, "role"):
            case "model":
                return "model"
            case "system":
                return "system"
            case _:
                return "user"
    return "model" if has_call(content) else "user"


def text_of_part(part: Any) -> str | None:
    """The text of a part, or None for a part of another kind."""
    text = part if isinstance(part, str) else field(part, "text")
    return text if isinstance(text, str) else None


def texts_of(content: Any) -> list[str]:
    """The texts of a content's text parts, thoughts included."""
    return [text for part in parts_of(content) if (text := text_of_part(part)) is not None]


def is_thought(part: Any) -> bool:
    """True for a part in which the model thinks aloud."""
    return field(part, "thought") is True


def is_signed(part: Any) -> bool:
    """True for a part with a signature that the model wants back."""
    return field(part, "thought_signature") is not None


def has_payload(part: Any) -> bool:
    """True for a part that holds something other than text."""
    return _has_any(part, _PAYLOADS)


def has_call(content: Any) -> bool:
    """True when a content calls something."""
    return any(_has_any(part, _CALLS) for part in parts_of(content))


def has_response(content: Any) -> bool:
    """True when a content answers a call."""
    return any(_has_any(part, _RESPONSES) for part in parts_of(content))


def _has_any(part: Any, names: tuple[str, ...]) -> bool:
    return any(field(part, name) is not None for name in names)


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)
