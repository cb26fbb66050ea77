"""The conversation as google-genai writes it; this module is its `ContentFormat`."""

from collections.abc import Mapping
from typing import Any

from hookline.errors import FormatError
from hookline.formats.conversation import Turn
from hookline.formats.genai import sdk
from hookline.formats.genai.parts import (
    field,
    has_call,
    has_response,
    is_content,
    parts_of,
    remove_text,
    replace_text,
    texts_of,
    unknown_fields,
    with_parts,
)
from hookline.formats.hook_format import Role, listed
from hookline.formats.native import shape_of

_EXPECTED = """a string, a Content, a Part, or their JSON, such as {"role": "user", "parts": [{"text": "hi"}]}"""


def read(content: Any) -> Turn:
    """The content as a turn."""
    text = "".join(texts_of(content))
    return Turn(content, _role_of(content), text, has_call(content), has_response(content))


def make(role: Role, text: str) -> Any:
    """A new content with this text alone."""
    types = sdk.types()
    return types.Content(role=role, parts=[types.Part(text=text)])


def with_text(content: Any, text: str) -> Any:
    """The content with another text."""
    return with_parts(content, replace_text(parts_of(content), text))


def without_text(content: Any) -> Any | None:
    """The content without its text, or None if nothing is left of it."""
    left = remove_text(parts_of(content))
    return with_parts(content, left) if left else None


def list_contents(contents: Any) -> list[Any]:
    """The contents as a list, or FormatError for a shape in which hooks would miss a text, and for no contents."""
    if contents is None:
        raise FormatError("contents", shape_of(contents), _EXPECTED)
    found = listed(contents)
    for number, content in enumerate(found):
        check_content(content, f"contents[{number}]")
    return found


def check_content(content: Any, where: str) -> None:
    """FormatError for a content in which hooks would miss a text."""
    if isinstance(content, Mapping) and (not content or not _has_only_known(content)):
        raise FormatError(where, shape_of(content), _EXPECTED)
    for part in parts_of(content):
        if not _is_part(part):
            unknown = f" with a part that has the unknown {', '.join(unknown_fields(part))}" if _has_type(part) else ""
            raise FormatError(where, f"{shape_of(content)}{unknown}", _EXPECTED)


def _has_only_known(content: Mapping[str, Any]) -> bool:
    return not is_content(content) or content.keys() <= {"role", "parts"}


def _role_of(content: Any) -> Role:
    """The role as hooks know it: a role that is neither the model's nor the system's is the user's."""
    if not is_content(content):
        return "model" if has_call(content) else "user"
    role = field(content, "role")
    return role if role in ("model", "system") else "user"


def _has_type(part: Any) -> bool:
    return isinstance(part, Mapping) and bool(unknown_fields(part))


def _is_part(part: Any) -> bool:
    if isinstance(part, Mapping):
        return isinstance(part.get("text", ""), str | None) and not unknown_fields(part)
    # The SDK also accepts its uploaded files, and images.
    return isinstance(part, str) or hasattr(part, "text") or type(part).__module__.startswith(("google.", "PIL."))
