"""Putting a hook's messages back into the conversation they were taken from, without losing what hooks can't see."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import islice, takewhile
from operator import eq
from typing import Any, Protocol

from hookline.formats.hook_format import Role
from hookline.protocol.llm import LLMMessage

# Beyond this much work only the beginning and the end are compared: a hook must not keep the agent waiting.
_MAX_MATCHES = 3_000_000
# Beyond this many comparisons messages are paired by position alone.
_MAX_COMPARISONS = 2_500
# How much of either end of a text is compared; whole texts can be very long.
_COMPARED_CHARS = 200

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ContentView:
    """One content of the conversation with what hooks see of it; hooks do not see a content without text."""

    content: Any
    role: Role
    text: str
    has_call: bool = False
    has_response: bool = False

    @property
    def key(self) -> Key:
        """The role and the text, which identify this turn to a hook."""
        return self.role, self.text


class ContentFormat(Protocol):
    """How one model API writes a content; all functions return copies and leave the caller's objects alone."""

    def read(self, content: Any) -> ContentView:
        """The content as a turn."""

    def make(self, role: Role, text: str) -> Any:
        """A new content with this text alone."""

    def with_text(self, content: Any, text: str) -> Any:
        """The content with another text; every part that is not text stays."""

    def without_text(self, content: Any) -> Any | None:
        """The content without its text, or None if nothing is left of it."""


def read_messages_of(contents: Sequence[Any], form: ContentFormat) -> list[LLMMessage]:
    """The conversation as hooks see it."""
    turns = map(form.read, contents)
    return [{"role": turn.role, "content": turn.text} for turn in turns if turn.text]


def rewrite_contents(contents: Sequence[Any], messages: Sequence[LLMMessage], form: ContentFormat) -> list[Any]:
    """The conversation with its visible messages as the hook returned them; everything hidden stays.

    A message the hook left alone keeps its content, wherever the hook put it. A changed message keeps every part that
    is not text. A dropped message loses its text only. A content the hook could not see follows the content that it
    followed before, so a new message comes after the calls and responses that follow the message before it. Calls
    and responses never change their order, and nothing comes between a call and its response: a message that the hook
    put there comes after the response, and the text of a call's content that the hook moved elsewhere moves alone.
    """
    turns = [form.read(content) for content in contents]
    kept, moved = _match(turns, [(message["role"], message["content"]) for message in messages])

    def arrivals(first: int, end: int) -> list[ContentView]:
        """The turns for messages that no content in its old place stands for."""
        new = ((place, messages[place]) for place in range(first, end))
        return [
            turns[moved[place]] if place in moved else form.read(form.make(message["role"], message["content"]))
            for place, message in new
        ]

    gone = set(moved.values())
    rewritten: list[ContentView] = []
    waiting: list[ContentView] = []
    done = 0
    for number, turn in enumerate(turns):
        if number in gone:
            continue
        place = kept.get(number)
        if place is None:
            rewritten += _without_text(turn, form)
            continue
        waiting += arrivals(done, place)
        done = place + 1
        before = rewritten[-1] if rewritten else turn
        is_response_to_it = turn.has_response and before.has_call and not before.has_response
        if not is_response_to_it:
            rewritten += waiting
            waiting = []
        text = messages[place]["content"]
        is_same = text == turn.text
        rewritten.append(turn if is_same else replace(turn, content=form.with_text(turn.content, text), text=text))
    return [turn.content for turn in (*rewritten, *waiting, *arrivals(done, len(messages)))]


def _match(turns: Sequence[ContentView], wanted: Sequence[Key]) -> tuple[dict[int, int], dict[int, int]]:
    """Which message now stands for a turn that stays in its place, and which turn a message brings to a new place."""
    visible = [number for number, turn in enumerate(turns) if turn.text]
    unchanged = _unchanged([turns[number].key for number in visible], wanted)
    kept = {visible[place]: same for place, same in unchanged.items()}
    moved, carried = _moves(turns, [number for number in visible if number not in kept], wanted, set(kept.values()))
    settled = {*kept.values(), *moved, *carried.values()}
    gone = {*moved.values(), *carried}
    for numbers, places in list(_gaps(visible, len(wanted), kept)):
        left = [number for number in numbers if number not in gone]
        kept |= _pair(turns, left, wanted, [place for place in places if place not in settled])
    return kept, moved


def _unchanged(shown: Sequence[Key], wanted: Sequence[Key]) -> dict[int, int]:
    """Which of the messages that were shown stand where among those that are wanted, in the same order."""
    if len(shown) == len(wanted):
        same = {place: place for place, both in enumerate(zip(shown, wanted, strict=True)) if eq(*both)}
        # A hook that changed one message left the others where they were, also if two are alike now.
        if len(same) >= len(shown) - 1:
            return same
    places = Counter(wanted)
    if sum(places[key] for key in shown) * min(len(shown), len(wanted)) <= _MAX_MATCHES:
        blocks = SequenceMatcher(None, shown, wanted, autojunk=False).get_matching_blocks()
        return {block.a + step: block.b + step for block in blocks for step in range(block.size)}
    start = sum(1 for _ in takewhile(bool, map(eq, shown, wanted)))
    rest = min(len(shown), len(wanted)) - start
    end = sum(1 for _ in takewhile(bool, islice(map(eq, reversed(shown), reversed(wanted)), rest)))
    same = {place: place for place in range(start)}
    return same | {len(shown) - step: len(wanted) - step for step in range(1, end + 1)}


def _moves(
    turns: Sequence[ContentView], left: Sequence[int], wanted: Sequence[Key], taken: set[int]
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
        if places[turn.key]:
            place = places[turn.key].pop(0)
            # Calls and responses must stay in order and side by side.
            if turn.has_call or turn.has_response:
                carried[number] = place
            else:
                moved[place] = number
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


def _pair(turns: Sequence[ContentView], numbers: list[int], wanted: Sequence[Key], places: list[int]) -> dict[int, int]:
    """Which of these turns became which of these messages: the same role, in order, the most alike."""
    if len(numbers) == len(places) or len(numbers) * len(places) > _MAX_COMPARISONS:
        both = zip(numbers, places, strict=False)
        return {number: place for number, place in both if turns[number].role == wanted[place][0]}
    best: list[list[tuple[float, dict[int, int]]]] = [[(0.0, {})] * (len(places) + 1) for _ in range(len(numbers) + 1)]
    for row, number in enumerate(numbers, start=1):
        for column, place in enumerate(places, start=1):
            score, pairs = best[row - 1][column - 1]
            likeness = _likeness(turns[number].key, wanted[place])
            matched = (score + likeness, {**pairs, number: place}) if likeness else (score, pairs)
            best[row][column] = max(best[row - 1][column], best[row][column - 1], matched, key=lambda found: found[0])
    return best[-1][-1][1]


def _likeness(old: Key, new: Key) -> float:
    if old[0] != new[0]:
        return 0.0
    return 1.0 + SequenceMatcher(None, _ends(old[1]), _ends(new[1]), autojunk=False).quick_ratio()


def _ends(text: str) -> str:
    return text if len(text) <= 2 * _COMPARED_CHARS else text[:_COMPARED_CHARS] + text[-_COMPARED_CHARS:]


def _without_text(turn: ContentView, form: ContentFormat) -> list[ContentView]:
    if not turn.text:
        return [turn]
    left = form.without_text(turn.content)
    return [] if left is None else [replace(turn, content=left, text="")]
