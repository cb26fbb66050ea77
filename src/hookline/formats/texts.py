"""Text parts of OpenAI's and Anthropic's messages: `{"type": "text", "text": …}` and its relatives, or bare texts."""

from typing import Any

from hookline.errors import FormatError
from hookline.formats.native import check_type, field, kind_of, shape_of, with_fields

# Fields that quote the old text, so they are removed when the text changes.
_TRACES = ("logprobs", "citations", "annotations", "parsed")


class TextParts:
    """The `PartFormat` of both APIs."""

    @staticmethod
    def text_of_part(part: Any) -> str | None:
        """The text of a part, or None for a part of another kind."""
        if isinstance(part, str):
            return part
        text = field(part, "text")
        return text if isinstance(text, str) else None

    @staticmethod
    def is_thought(_part: Any) -> bool:
        """False: thoughts are separate parts, which hooks do not see."""
        return False

    @staticmethod
    def part_with_text(part: Any, text: str) -> Any | None:
        """The part with another text, or None for no text: APIs refuse an empty one."""
        if isinstance(part, str) or not text:
            return text or None
        traces: dict[str, Any] = {
            name: [] if isinstance(field(part, name), list) else None for name in _TRACES if field(part, name)
        }
        return with_fields(part, text=text, **traces)


TEXTS = TextParts()


def check_content(content: Any, where: str, known: frozenset[str]) -> None:
    """FormatError for the content of a response's message in which a text could be missed."""
    if not isinstance(content, str | list | tuple | None):
        raise FormatError(where, shape_of(content), "a text or a list of parts")
    for number, part in enumerate(() if isinstance(content, str | None) else content):
        check_part(part, f"{where}[{number}]", known)


def check_part(part: Any, where: str, known: frozenset[str]) -> None:
    """FormatError for a part that is neither a text nor of a known type: hooks could miss a text in it."""
    if not isinstance(part, str) and not kind_of(part):
        raise FormatError(where, shape_of(part), 'a part with a type, such as {"type": "text", "text": "hi"}')
    check_type(part, where, known)
    if kind_of(part) in ("text", "input_text", "output_text") and TEXTS.text_of_part(part) is None:
        raise FormatError(where, f"a {kind_of(part)} part whose text is {shape_of(field(part, 'text'))}", "a text")
