"""Changing the text of a content's parts and nothing else about them."""

from collections.abc import Sequence
from typing import Any

from hookline.formats._reading import has_payload, is_signed, is_thought, text_of_part, with_fields


def replace_text(parts: Sequence[Any], text: str) -> list[Any]:
    """The parts with another text: text parts that agree with it stay, one takes what differs, the others go.

    A part that loses its text but carries a signature stays. There must be a text part among them.
    """
    slots = [number for number, part in enumerate(parts) if text_of_part(part) is not None]
    texts = _spread(text, [parts[slot] for slot in slots])
    return replace_texts(parts, texts)


def replace_texts(parts: Sequence[Any], texts: Sequence[str]) -> list[Any]:
    """The parts with one text for each text part, in order."""
    remaining = iter(texts)
    replaced = [part if text_of_part(part) is None else _retold(part, next(remaining)) for part in parts]
    return [part for part in replaced if part is not None]


def remove_text(parts: Sequence[Any]) -> list[Any]:
    """The parts without their text; signatures stay only beside something that is not text."""
    if not any(text_of_part(part) is None or has_payload(part) for part in parts):
        return []
    return replace_texts(parts, [""] * len(parts))


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
    # What the model says must not turn into what it thinks.
    taker = next((slot for slot in range(head, tail) if not is_thought(parts[slot])), head)
    return [told if not head <= slot < tail else text if slot == taker else "" for slot, told in enumerate(texts)]


def _retold(part: Any, text: str) -> Any:
    """The part with this text, or None when nothing is left of it."""
    if text == text_of_part(part):
        return part
    if isinstance(part, str):
        return text or None
    if text or (is_signed(part) and not has_payload(part)):
        return with_fields(part, text=text)
    return with_fields(part, text=None) if has_payload(part) else None
