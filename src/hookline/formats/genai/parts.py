"""Parts and contents in every form that the SDK accepts: objects, their JSON in either spelling, strings."""

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from hookline.formats import parts as shared
from hookline.formats.hook_format import listed

_CALLS = ("function_call", "tool_call", "executable_code")
_RESPONSES = ("function_response", "tool_response", "code_execution_result")
_PAYLOADS = (*_CALLS, *_RESPONSES, "inline_data", "file_data")
_MARKS = ("thought", "thought_signature", "video_metadata", "media_resolution", "part_metadata")
_SPEECH = ("audio_transcription", "media_processing", "speech_metadata")
_FIELDS = frozenset({"text", *_PAYLOADS, *_MARKS, *_SPEECH})
_FILE_FIELDS = frozenset(
    {
        "create_time",
        "display_name",
        "download_uri",
        "error",
        "expiration_time",
        "mime_type",
        "name",
        "sha256_hash",
        "size_bytes",
        "source",
        "state",
        "update_time",
        "uri",
        "video_metadata",
    }
)


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


def unknown_fields(part: Mapping[str, Any]) -> list[str]:
    """The names in the JSON of a part that neither the SDK's parts nor its uploaded files have."""
    names = {str(name): snake(str(name)) for name in part}
    if "uri" in names and _FILE_FIELDS.issuperset(names.values()):
        return []
    return [name for name, own in names.items() if own not in _FIELDS]


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
    """The parts with another text; a part that loses its text but carries a signature stays."""
    return shared.replace_text(parts, text, _FORM)


def replace_texts(parts: Sequence[Any], texts: Sequence[str]) -> list[Any]:
    """The parts with one text for each text part, in order."""
    return shared.replace_texts(parts, texts, _FORM)


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


class _Form:
    """What `formats/parts.py` has to know of these parts."""

    text_of_part = staticmethod(text_of_part)
    is_thought = staticmethod(is_thought)

    @staticmethod
    def part_with_text(part: Any, text: str) -> Any | None:
        """The part with this text, or None when nothing is left of it."""
        if isinstance(part, str):
            return text or None
        if not text and _has_any(part, _PAYLOADS):
            return with_fields(part, text=None)
        # The model expects its signature back, even with an empty text.
        return with_fields(part, text=text) if text or _has_any(part, ("thought_signature",)) else None


_FORM = _Form()
