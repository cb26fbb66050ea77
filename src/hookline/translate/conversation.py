"""Bringing a hook's messages back into the conversation that they were taken from."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from hookline.contract.llm import LLMMessage
from hookline.translate._reading import (
    Role,
    has_call,
    has_payload,
    has_response,
    is_signed,
    is_thought,
    parts_of,
    role_of,
    text_of_part,
    texts_of,
    with_fields,
    with_parts,
)

# Beyond this many comparisons messages are paired by position alone.
_MAX_COMPARISONS = 2_500

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Turn:
    """One content of the conversation with what hooks see of it; no text means that they do not see it."""

    content: Any
    role: Role
    text: str

    @property
    def key(self) -> Key:
        """What identifies this turn to a hook."""
        return self.role, self.text

    @property
    def is_movable(self) -> bool:
        """False for calls and responses, which must stay in order and side by side."""
        return not has_call(self.content) and not has_response(self.content)


def read_turns(contents: Sequence[Any]) -> list[Turn]:
    """The conversation as turns, hidden ones included."""
    return [Turn(content, role_of(content), "".join(texts_of(content))) for content in contents]


def rewrite_contents(
    contents: Sequence[Any], messages: Sequence[LLMMessage], make_content: Callable[[str, str], Any]
) -> list[Any]:
    """The conversation with its visible messages as the hook wants them, and everything hidden still there.

    A message the hook left alone keeps its content, wherever the hook put it. A changed message keeps every part that
    is not text. A dropped message loses its text only. A content the hook could not see follows the content that it
    followed before, so a new message comes after the calls and responses that follow the message before it. Calls
    and responses never change their order, and nothing comes between a call and its response: a message that the hook
    put there comes after the response, and the text of a call's content that the hook moved elsewhere moves alone.
    """
    turns = read_turns(contents)
    places = _match(turns, [(message["role"], message["content"]) for message in messages])
    rewritten: list[Any] = []
    waiting: list[Any] = []
    done = 0
    for number, turn in enumerate(turns):
        if number in places.moved.values():
            continue
        place = places.kept.get(number)
        if place is None:
            rewritten += _without_text(turn)
            continue
        waiting += _arrivals(messages, range(done, place), turns, places.moved, make_content)
        done = place + 1
        if not (rewritten and has_call(rewritten[-1]) and has_response(turn.content)):
            rewritten += waiting
            waiting = []
        rewritten += _with_text(turn, messages[place]["content"])
    return [*rewritten, *waiting, *_arrivals(messages, range(done, len(messages)), turns, places.moved, make_content)]


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


@dataclass(frozen=True, slots=True)
class _Places:
    kept: Mapping[int, int]
    """Which message now stands for a turn that stays in its place."""
    moved: Mapping[int, int]
    """Which turn a message brings to a new place."""


def _match(turns: Sequence[Turn], wanted: Sequence[Key]) -> _Places:
    visible = [number for number, turn in enumerate(turns) if turn.text]
    kept: dict[int, int] = {}
    for block in SequenceMatcher(
        None, [turns[number].key for number in visible], wanted, autojunk=False
    ).get_matching_blocks():
        kept |= {visible[block.a + step]: block.b + step for step in range(block.size)}
    moved, carried = _moves(turns, [number for number in visible if number not in kept], wanted, set(kept.values()))
    settled = set(kept.values()) | set(moved) | set(carried.values())
    for numbers, places in _gaps(visible, len(wanted), kept):
        left = [number for number in numbers if number not in carried and number not in moved.values()]
        kept |= _pair(turns, left, wanted, [place for place in places if place not in settled])
    return _Places(kept, moved)


def _moves(
    turns: Sequence[Turn], left: Sequence[int], wanted: Sequence[Key], taken: set[int]
) -> tuple[dict[int, int], dict[int, int]]:
    """Turns that the hook put elsewhere: those that move whole, and those whose text alone is carried away."""
    places: dict[Key, list[int]] = defaultdict(list)
    for place, key in enumerate(wanted):
        if place not in taken:
            places[key].append(place)
    moved: dict[int, int] = {}
    carried: dict[int, int] = {}
    for number in left:
        turn = turns[number]
        if not places.get(turn.key):
            continue
        place = places[turn.key].pop(0)
        if turn.is_movable:
            moved[place] = number
        else:
            carried[number] = place
    return moved, carried


def _gaps(visible: Sequence[int], length: int, kept: Mapping[int, int]) -> Iterator[tuple[list[int], range]]:
    numbers: list[int] = []
    start = 0
    for number in visible:
        if number not in kept:
            numbers.append(number)
            continue
        yield numbers, range(start, kept[number])
        numbers, start = [], kept[number] + 1
    yield numbers, range(start, length)


def _pair(turns: Sequence[Turn], numbers: list[int], wanted: Sequence[Key], places: list[int]) -> dict[int, int]:
    """Which of these turns became which of these messages: the same role, in order, the most alike."""
    if not numbers or not places:
        return {}
    same_length = len(numbers) == len(places)
    if len(numbers) * len(places) > _MAX_COMPARISONS or same_length:
        return {
            number: place
            for number, place in zip(numbers, places, strict=False)
            if turns[number].role == wanted[place][0]
        }
    best: list[list[tuple[float, dict[int, int]]]] = [[(0.0, {})] * (len(places) + 1) for _ in range(len(numbers) + 1)]
    for row, number in enumerate(numbers, start=1):
        for column, place in enumerate(places, start=1):
            score, pairs = best[row - 1][column - 1]
            likeness = _likeness(turns[number].key, wanted[place])
            both = (score + likeness, {**pairs, number: place}) if likeness else (score, pairs)
            best[row][column] = max(best[row - 1][column], best[row][column - 1], both, key=lambda found: found[0])
    return best[-1][-1][1]


def _likeness(old: Key, new: Key) -> float:
    return 1.0 + SequenceMatcher(None, old[1], new[1], autojunk=False).quick_ratio() if old[0] == new[0] else 0.0


def _arrivals(
    messages: Sequence[LLMMessage],
    places: range,
    turns: Sequence[Turn],
    moved: Mapping[int, int],
    make_content: Callable[[str, str], Any],
) -> list[Any]:
    return [
        turns[moved[place]].content
        if place in moved
        else make_content(messages[place]["role"], messages[place]["content"])
        for place in places
    ]


def _with_text(turn: Turn, text: str) -> list[Any]:
    if text == turn.text:
        return [turn.content]
    return [with_parts(turn.content, replace_text(parts_of(turn.content), text))]


def _without_text(turn: Turn) -> list[Any]:
    if not turn.text:
        return [turn.content]
    left = remove_text(parts_of(turn.content))
    return [with_parts(turn.content, left)] if left else []


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
    if text == text_of_part(part) and text:
        return part
    if isinstance(part, str):
        return text or None
    if text or (is_signed(part) and not has_payload(part)):
        return with_fields(part, text=text)
    return with_fields(part, text=None) if has_payload(part) else None
