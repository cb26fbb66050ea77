"""The conversation of google-genai: contents and parts as objects, as JSON in either spelling, or as strings."""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any

from hookline.errors import FormatError
from hookline.formats import messages as shared
from hookline.formats.conversation import ContentView
from hookline.formats.genai import sdk
from hookline.formats.hook_format import Role, listed
from hookline.formats.messages import SystemPrompt
from hookline.formats.native import shape_of

_EXPECTED = """a string, a Content, a Part, or their JSON, such as {"role": "user", "parts": [{"text": "hi"}]}"""
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
_CONTENT = frozenset({"role", "parts"})
_NO_CONTENT = object()


def new_content(role: Role, text: str) -> Any:
    """Return a new content with this text alone."""
    types = sdk.types()
    return types.Content(role=role, parts=[types.Part(text=text)])


def checked(contents: Any) -> list[Any]:
    """Return the contents as a list; raise FormatError for contents in which hooks would miss a text."""
    if contents is None:
        raise FormatError("contents", shape_of(contents), _EXPECTED)
    found = listed(contents)
    for number, content in enumerate(found):
        check_content(content, f"contents[{number}]")
    return found


def check_content(content: Any, where: str) -> None:
    """Raise FormatError for a content in which hooks would miss a text."""
    is_json = isinstance(content, Mapping)
    if is_json and not (content and (content.keys() <= _CONTENT or not is_content(content))):
        raise FormatError(where, shape_of(content), _EXPECTED)
    for part in parts_of(content):
        if not (type(part) is dict and type(part.get("text")) is str and part.keys() <= _FIELDS) and not _is_part(part):
            unknown = unknown_fields(part) if isinstance(part, Mapping) else []
            with_unknown = f" with a part that has the unknown {', '.join(unknown)}" if unknown else ""
            raise FormatError(where, f"{shape_of(content)}{with_unknown}", _EXPECTED)


def field(value: Any, name: str) -> Any:
    """Return the field of an SDK object or of its JSON form, named in snake case; None when there is none."""
    if not isinstance(value, Mapping):
        return getattr(value, name, None)
    found = value.get(name)
    return value.get(_camel(name)) if found is None else found


def fields(value: Any, attributes: Mapping[str, str]) -> dict[str, Any]:
    """Return several fields under their names on the wire; `attributes` has the SDK's name of each."""
    if not isinstance(value, Mapping):
        return {name: getattr(value, attribute, None) for name, attribute in attributes.items()}
    given = {name: value.get(attribute) for name, attribute in attributes.items()}
    return {name: value.get(name) if found is None else found for name, found in given.items()}


def with_fields(value: Any, **changes: Any) -> Any:
    """Return a copy of an SDK object or of its JSON form with these fields changed."""
    if not isinstance(value, Mapping):
        return value.model_copy(update=changes)
    changed = dict(value)
    for name, given in changes.items():
        changed[_camel(name) if _camel(name) in changed else name] = given
    return changed


def word(value: Any) -> Any:
    """Return an enumeration's value, and anything else as it is."""
    return value.value if isinstance(value, Enum) else value


@cache
def snake(name: str) -> str:
    """Return the SDK's attribute for a name on the wire."""
    return re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name)


@cache
def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


def parts_of(content: Any) -> list[Any]:
    """Return the parts of a content; a bare string or part is its own only part."""
    if isinstance(content, list | tuple):
        return list(content)
    if isinstance(content, Mapping):
        if "parts" not in content and "role" not in content:
            return [content]
        parts = content.get("parts")
    else:
        parts = getattr(content, "parts", _NO_CONTENT)
        if parts is _NO_CONTENT:
            return [content]
    return [] if parts is None else list(parts) if isinstance(parts, list | tuple) else [parts]


def with_parts(content: Any, parts: list[Any]) -> Any:
    """Return a copy of a content with other parts; a bare string or part is replaced by its only part."""
    if isinstance(content, list | tuple):
        return parts
    return with_fields(content, parts=parts) if is_content(content) else parts[0]


def is_content(value: Any) -> bool:
    """True for a content that holds parts, false for a bare part."""
    if isinstance(value, Mapping):
        return "parts" in value or "role" in value
    return hasattr(value, "parts")


def text_of_part(part: Any) -> str | None:
    """Return the text of a part, or None for a part of another kind."""
    text = part if isinstance(part, str) else field(part, "text")
    return text if isinstance(text, str) else None


def texts_of(content: Any) -> list[str]:
    """Return the texts of a content's text parts, thoughts included."""
    return _texts(parts_of(content))


def unknown_fields(part: Mapping[str, Any]) -> list[str]:
    """Return the names in the JSON of a part that neither the SDK's parts nor its uploaded files have."""
    names = {str(name): snake(str(name)) for name in part}
    if "uri" in names and _FILE_FIELDS.issuperset(names.values()):
        return []
    return [name for name, own in names.items() if own not in _FIELDS]


def is_thought(part: Any) -> bool:
    """True for a part that holds the model's thoughts."""
    return field(part, "thought") is True


def has_call(content: Any) -> bool:
    """True when a content calls something."""
    return not _payloads_of(parts_of(content)).isdisjoint(_CALLS)


def replace_text(parts: Sequence[Any], text: str) -> list[Any]:
    """Return the parts with another text; a part that loses its text but carries a signature stays."""
    return shared.replace_text(parts, text, FORM)


def replace_texts(parts: Sequence[Any], texts: Sequence[str]) -> list[Any]:
    """Return the parts with one text for each text part, in order."""
    return shared.replace_texts(parts, texts, FORM)


def remove_text(parts: Sequence[Any]) -> list[Any]:
    """Return the parts without their text; signatures stay only beside something that is not text."""
    if not any(text_of_part(part) is None for part in parts) and not _payloads_of(parts):
        return []
    return replace_texts(parts, [""] * len(parts))


def _texts(parts: Iterable[Any]) -> list[str]:
    given = (
        part
        if isinstance(part, str)
        else part.get("text")
        if isinstance(part, Mapping)
        else getattr(part, "text", None)
        for part in parts
    )
    return [text for text in given if isinstance(text, str)]


def _payloads_of(parts: Iterable[Any]) -> set[str]:
    """Return the names of what the parts hold beside text, in snake case."""
    return {
        name
        for part in parts
        for name, camel in _PAYLOAD_NAMES
        if (
            part.get(name) is not None or part.get(camel) is not None
            if isinstance(part, Mapping)
            else getattr(part, name, None) is not None
        )
    }


def _is_part(part: Any) -> bool:
    if isinstance(part, Mapping):
        return isinstance(part.get("text", ""), str | None) and (part.keys() <= _FIELDS or not unknown_fields(part))
    # The SDK also accepts its uploaded files, and images.
    return isinstance(part, str) or hasattr(part, "text") or type(part).__module__.startswith(("google.", "PIL."))


_PAYLOAD_NAMES = [(name, _camel(name)) for name in _PAYLOADS]


class _Form:
    """The `ContentFormat` and the `PartFormat` of google-genai."""

    text_of_part = staticmethod(text_of_part)
    is_thought = staticmethod(is_thought)

    def part_with_text(self, part: Any, text: str) -> Any | None:
        """Return the part with this text, or None when nothing is left of it."""
        if isinstance(part, str):
            return text or None
        if not text and _payloads_of([part]):
            return with_fields(part, text=None)
        # The model expects its signature back, even with an empty text.
        return with_fields(part, text=text) if text or field(part, "thought_signature") is not None else None

    def read(self, content: Any) -> ContentView:
        """Return the content as a turn."""
        if isinstance(content, SystemPrompt):
            return ContentView(content, "system", content.value)
        parts = parts_of(content)
        payloads = _payloads_of(parts)
        has_call, has_response = not payloads.isdisjoint(_CALLS), not payloads.isdisjoint(_RESPONSES)
        if isinstance(content, Mapping):
            given = content.get("role") if is_content(content) else None
        else:
            given = getattr(content, "role", None)
        if given is None and has_call and not is_content(content):
            given = "model"  # the SDK makes the contents of bare parts
        role: Any = given if given in ("model", "system") else "user"
        return ContentView(content, role, "".join(_texts(parts)), has_call, has_response)

    def make(self, role: Role, text: str) -> Any:
        """Return a new content; the API refuses one with the role `system`, so that is a prompt."""
        return SystemPrompt(text) if role == "system" else new_content(role, text)

    def with_text(self, content: Any, text: str) -> Any:
        """Return the content with another text."""
        return with_parts(content, replace_text(parts_of(content), text))

    def without_text(self, content: Any) -> Any | None:
        """Return the content without its text, or None if nothing is left of it."""
        left = remove_text(parts_of(content))
        return with_parts(content, left) if left else None


FORM = _Form()
