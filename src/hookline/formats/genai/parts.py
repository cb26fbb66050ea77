"""Parts and contents in every form that the SDK accepts: objects, their JSON in either spelling, strings."""

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from hookline.formats.hook_format import listed

_CALLS = ("function_call", "tool_call", "executable_code")
_RESPONSES = ("function_response", "tool_response", "code_execution_result")
_PAYLOADS = (*_CALLS, *_RESPONSES, "inline_data", "file_data")
_MARKS = ("thought", "thought_signature", "video_metadata", "media_resolution", "part_metadata", "uri", "mime_type")
_FIELDS = ("text", *_PAYLOADS, *_MARKS)


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


def word(value: Any) -> Any:
    """An enumeration's value, and anything else as it is."""
    return value.value if isinstance(value, Enum) else value


def shape_of(value: Any) -> str:
    """What a value of an unknown format is, for an error message."""
    if isinstance(value, Mapping):
        return f"an object with {', '.join(map(str, value)) or 'no keys'}"
    return f"of the type {type(value).__name__}"


def snake(name: str) -> str:
    """The SDK's attribute for a name on the wire."""
    return re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name)


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


def text_of_part(part: Any) -> str | None:
    """The text of a part, or None for a part of another kind."""
    text = part if isinstance(part, str) else field(part, "text")
    return text if isinstance(text, str) else None


def texts_of(content: Any) -> list[str]:
    """The texts of a content's text parts, thoughts included."""
    return [text for part in parts_of(content) if (text := text_of_part(part)) is not None]


def has_field(part: Mapping[str, Any]) -> bool:
    """True when the JSON of a part has any field that the SDK's parts or files have."""
    return any(name in part or _camel(name) in part for name in _FIELDS)


def is_thought(part: Any) -> bool:
    """True for a part that holds the model's thoughts."""
    return field(part, "thought") is True


def has_call(content: Any) -> bool:
    """True when a content calls something."""
    return any(_has_any(part, _CALLS) for part in parts_of(content))


def has_response(content: Any) -> bool:
    """True when a content answers a call."""
    return any(_has_any(part, _RESPONSES) for part in parts_of(content))


def replace_text(parts: Sequence[Any], text: str) -> list[Any]:
    """The parts with another text: text parts that agree with it stay, one takes the difference, the others go.

    A part that loses its text but carries a signature stays. There must be a text part among them.
    """
    return replace_texts(parts, _spread(text, [part for part in parts if text_of_part(part) is not None]))


def replace_texts(parts: Sequence[Any], texts: Sequence[str]) -> list[Any]:
    """The parts with one text for each text part, in order."""
    remaining = iter(texts)
    replaced = [part if text_of_part(part) is None else _with_text(part, next(remaining)) for part in parts]
    return [part for part in replaced if part is not None]


def remove_text(parts: Sequence[Any]) -> list[Any]:
    """The parts without their text; signatures stay only beside something that is not text."""
    if not any(text_of_part(part) is None or _has_any(part, _PAYLOADS) for part in parts):
        return []
    return replace_texts(parts, [""] * len(parts))


def _has_any(part: Any, names: tuple[str, ...]) -> bool:
    return any(field(part, name) is not None for name in names)


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


def _spread(text: str, parts: Sequence[Any]) -> list[str]:
    """The text divided among these text parts, so that as many as possible keep what they have."""
    texts = [text_of_part(part) or "" for part in parts]
    head, tail = 0, len(texts)
    while head < tail - 1 and text.startswith(texts[head]):
        text = text[len(texts[head]) :]
        head += 1
    while head < tail - 1 and text.endswith(texts[tail - 1]):
        text = text[: len(text) - len(texts[tail - 1])]
        tail -= 1
    # An answer must not turn into a thought.
    taker = next((slot for slot in range(head, tail) if not is_thought(parts[slot])), head)
    return [old if not head <= slot < tail else text if slot == taker else "" for slot, old in enumerate(texts)]


def _with_text(part: Any, text: str) -> Any:
    """The part with this text, or None when nothing is left of it."""
    if text == text_of_part(part):
        return part
    if isinstance(part, str):
        return text or None
    if not text and _has_any(part, _PAYLOADS):
        return with_fields(part, text=None)
    # The model expects its signature back, even with an empty text.
    return with_fields(part, text=text) if text or _has_any(part, ("thought_signature",)) else None
