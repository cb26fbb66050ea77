"""Another text for a message that consists of parts: parts that agree with it stay as they are."""

from collections.abc import Sequence
from typing import Any, Protocol


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
