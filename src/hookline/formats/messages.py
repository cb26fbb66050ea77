"""Messages of a role and parts: what the formats of most APIs and frameworks have in common.

Parts that agree with a new text stay as they are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hookline.errors import FormatError
from hookline.formats.conversation import ContentView
from hookline.formats.hook_format import Role
from hookline.formats.native import check_type, field, kind_of, shape_of, with_fields

# Fields that quote the old text, so they are removed when the text changes.
_QUOTES = ("logprobs", "citations", "annotations", "parsed")
_TEXT_KINDS = ("text", "input_text", "output_text")


class PartFormat(Protocol):
    """How one model API writes the parts of a message."""

    def text_of_part(self, part: Any) -> str | None:
        """The text of a part, or None for a part of another kind."""

    def is_thought(self, part: Any) -> bool:
        """True for a text part that holds the model's thoughts."""

    def part_with_text(self, part: Any, text: str) -> Any | None:
        """The text part with another text, or None when nothing is left of it."""


def replace_text(parts: Sequence[Any], text: str, form: PartFormat) -> list[Any]:
    """The parts with another text: text parts that agree with it stay, one takes the difference, the others go.

    There must be a text part among them.
    """
    spoken = [part for part in parts if form.text_of_part(part) is not None]
    return replace_texts(parts, spread(text, spoken, form), form)


def replace_texts(parts: Sequence[Any], texts: Sequence[str], form: PartFormat) -> list[Any]:
    """The parts with one text for each text part, in order."""
    remaining = iter(texts)
    replaced: list[Any] = []
    for part in parts:
        old = form.text_of_part(part)
        text = None if old is None else next(remaining)
        kept = part if text is None or text == old else form.part_with_text(part, text)
        if kept is not None:
            replaced.append(kept)
    return replaced


def spread(text: str, parts: Sequence[Any], form: PartFormat) -> list[str]:
    """The text divided among these text parts, so that as many as possible keep what they have."""
    texts = [form.text_of_part(part) or "" for part in parts]
    head, tail = 0, len(texts)
    while head < tail - 1 and text.startswith(texts[head]):
        text = text[len(texts[head]) :]
        head += 1
    while head < tail - 1 and text.endswith(texts[tail - 1]):
        text = text[: len(text) - len(texts[tail - 1])]
        tail -= 1
    # An answer must not turn into a thought.
    taker = next((slot for slot in range(head, tail) if not form.is_thought(parts[slot])), head)
    return [old if not head <= slot < tail else text if slot == taker else "" for slot, old in enumerate(texts)]


class TextParts:
    """Text parts as OpenAI and Anthropic write them: `{"type": "text", "text": …}` and its relatives, or bare texts."""

    def text_of_part(self, part: Any) -> str | None:
        """The text of a part, or None for a part of another kind."""
        if isinstance(part, str):
            return part
        text = field(part, "text")
        return text if isinstance(text, str) else None

    def is_thought(self, _part: Any) -> bool:
        """False: thoughts are separate parts, which hooks do not see."""
        return False

    def part_with_text(self, part: Any, text: str) -> Any | None:
        """The part with another text, or None for no text: APIs refuse an empty one."""
        if isinstance(part, str) or not text:
            return text or None
        quotes: dict[str, Any] = {
            name: [] if isinstance(field(part, name), list) else None for name in _QUOTES if field(part, name)
        }
        return with_fields(part, text=text, **quotes)

    def new_part(self, text: str) -> Any:
        """A new text part."""
        return {"type": "text", "text": text}

    def texts(self, parts: Sequence[Any]) -> list[str]:
        """The text of each text part."""
        return [text for part in parts if (text := self.text_of_part(part)) is not None]

    def text(self, parts: Sequence[Any]) -> str:
        """The text of all parts together."""
        return "".join(self.texts(parts))

    def others(self, parts: Sequence[Any]) -> list[Any]:
        """The parts that are not text."""
        return [part for part in parts if self.text_of_part(part) is None]

    def with_text(self, parts: Sequence[Any], text: str) -> list[Any]:
        """The parts with another text, in a new first part if none of them has a text."""
        return replace_text(parts, text, self) if self.texts(parts) else [self.new_part(text), *parts]


TEXTS = TextParts()


@dataclass(frozen=True, slots=True)
class SystemPrompt:
    """A system prompt that is a separate parameter, as the first content of the conversation."""

    value: Any
    """A text, or a list of parts."""

    @property
    def parts(self) -> list[Any]:
        """Its parts; a text is its own only part."""
        return [self.value] if isinstance(self.value, str) else list(self.value)


def split_prompt(contents: Sequence[Any]) -> tuple[Any | None, list[Any]]:
    """The system prompts as one text or one list of parts, None without any; and the messages of the conversation."""
    prompts = [one.value for one in contents if isinstance(one, SystemPrompt)]
    messages = [one for one in contents if not isinstance(one, SystemPrompt)]
    if len(prompts) <= 1:
        return prompts[0] if prompts else None, messages
    if all(isinstance(prompt, str) for prompt in prompts):
        return "\n\n".join(prompts), messages
    parts = [part for prompt in prompts for part in SystemPrompt(prompt).parts]
    return [TEXTS.new_part(part) if isinstance(part, str) else part for part in parts], messages


class MessageForm:
    """The `ContentFormat` of messages with a role and parts; a subclass overrides what its API writes differently."""

    roles: Mapping[str, Role] = {"user": "user", "assistant": "model", "system": "system"}
    texts: TextParts = TEXTS
    has_system_parameter = False
    """True if a new system message becomes a `SystemPrompt`."""

    def parts(self, message: Any) -> list[Any]:
        """The parts of a message; a bare text is its own only part."""
        content = field(message, "content")
        return [content] if isinstance(content, str) else list(content or ())

    def with_parts(self, message: Any, parts: list[Any]) -> Any:
        """The message with other parts."""
        is_bare = isinstance(field(message, "content"), str)
        return with_fields(message, content=("".join(parts) if is_bare else parts) or None)

    def role(self, message: Any) -> Role:
        """The role of a message, for hooks."""
        return self.roles[str(field(message, "role"))]

    def has_call(self, _message: Any) -> bool:
        """True if the message calls a tool."""
        return False

    def has_response(self, _message: Any) -> bool:
        """True if the message has a tool's result."""
        return False

    def has_more(self, message: Any) -> bool:
        """True if the message holds something beside its parts, and so stays without a text."""
        return self.has_call(message)

    def new_message(self, role: Role, text: str) -> Any:
        """A new message of this text alone."""
        return {"role": "assistant" if role == "model" else role, "content": text}

    def read(self, content: Any) -> ContentView:
        """The message as a turn."""
        if isinstance(content, SystemPrompt):
            return ContentView(content, "system", TEXTS.text(content.parts))
        text = self.texts.text(self.parts(content))
        return ContentView(content, self.role(content), text, self.has_call(content), self.has_response(content))

    def make(self, role: Role, text: str) -> Any:
        """A new message, or a system prompt."""
        is_prompt = role == "system" and self.has_system_parameter
        return SystemPrompt(text) if is_prompt else self.new_message(role, text)

    def with_text(self, content: Any, text: str) -> Any:
        """The message with another text; every part that is not text stays."""
        if isinstance(content, SystemPrompt):
            changed: Any = text if isinstance(content.value, str) else replace_text(content.parts, text, TEXTS)
            return SystemPrompt(changed)
        return self.with_parts(content, self.texts.with_text(self.parts(content), text))

    def without_text(self, content: Any) -> Any | None:
        """The message without its text, or None if nothing is left of it."""
        if isinstance(content, SystemPrompt):
            return None
        left = self.texts.others(self.parts(content))
        return self.with_parts(content, left) if left or self.has_more(content) else None


def check_content(content: Any, where: str, known: frozenset[str]) -> None:
    """FormatError for the content of a response's message in which a text could be missed."""
    if not isinstance(content, str | list | tuple | None):
        raise FormatError(where, shape_of(content), "a text or a list of parts")
    check_parts(content, where, known)


def check_parts(content: Any, where: str, known: frozenset[str]) -> None:
    """FormatError for a part that is neither a text nor of a known type: hooks could miss a text in it."""
    for number, part in enumerate(() if isinstance(content, str | None) else content):
        check_part(part, f"{where}[{number}]", known)


def check_part(part: Any, where: str, known: frozenset[str]) -> None:
    """FormatError for one part that is neither a text nor of a known type."""
    if not isinstance(part, str) and not kind_of(part):
        raise FormatError(where, shape_of(part), 'a part with a type, such as {"type": "text", "text": "hi"}')
    check_type(part, where, known)
    if kind_of(part) in _TEXT_KINDS and TEXTS.text_of_part(part) is None:
        raise FormatError(where, f"a {kind_of(part)} part whose text is {shape_of(field(part, 'text'))}", "a text")
