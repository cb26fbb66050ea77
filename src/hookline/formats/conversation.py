"""Bringing a hook's messages back into the conversation that they were taken from."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice, takewhile
from operator import eq
from typing import Any

from hookline.contract.llm import LLMMessage
from hookline.formats._parts import remove_text, replace_text
from hookline.formats._reading import Role, has_call, has_response, parts_of, role_of, texts_of, with_parts

# Beyond this much work (a hook must not keep the agent waiting) only the beginning and the end are compared.
_MAX_MATCHES = 3_000_000
# Beyond this many comparisons messages are paired by position alone.
_MAX_COMPARISONS = 2_500
# How much of either end of a text is compared; whole texts can be very long.
_COMPARED_CHARS = 200

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
    gone = set(places.moved.values())
    rewritten: list[Any] = []
    waiting: list[Any] = []
    done = 0
    for number, turn in enumerate(turns):
        if number in gone:
            continue
        place = places.kept.get(number)
        if place is None:
            rewritten += _without_text(turn)
            continue
        waiting += _arrivals(messages, range(done, place), turns, places.moved, make_content)
        done = place + 1
        if not (rewritten and _awaits_response(rewritten[-1]) and has_response(turn.content)):
            rewritten += waiting
            waiting = []
        rewritten += _with_text(turn, messages[place]["content"])
    return [*rewritten, *waiting, *_arrivals(messages, range(done, len(messages)), turns, places.moved, make_content)]


@dataclass(frozen=True, slots=True)
class _Places:
    kept: Mapping[int, int]
    """Which message now stands for a turn that stays in its place."""
    moved: Mapping[int, int]
    """Which turn a message brings to a new place."""


def _match(turns: Sequence[Turn], wanted: Sequence[Key]) -> _Places:
    visible = [number for number, turn in enumerate(turns) if turn.text]
    kept: dict[int, int] = {}
    for place, same in _unchanged([turns[number].key for number in visible], wanted).items():
        kept[visible[place]] = same
    moved, carried = _moves(turns, [number for number in visible if number not in kept], wanted, set(kept.values()))
    settled = set(kept.values()) | set(moved) | set(carried.values())
    gone = set(moved.values()) | set(carried)
    for numbers, places in list(_gaps(visible, len(wanted), kept)):
        left = [number for number in numbers if number not in gone]
        kept |= _pair(turns, left, wanted, [place for place in places if place not in settled])
    return _Places(kept, moved)


def _unchanged(shown: Sequence[Key], wanted: Sequence[Key]) -> dict[int, int]:
    """Which of the messages that were shown stand where among those that are wanted, in the same order."""
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
    if len(numbers) == len(places) or len(numbers) * len(places) > _MAX_COMPARISONS:
        pairs = zip(numbers, places, strict=False)
        return {number: place for number, place in pairs if turns[number].role == wanted[place][0]}
    return _pair_by_likeness(turns, numbers, wanted, places)


def _pair_by_likeness(
    turns: Sequence[Turn], numbers: list[int], wanted: Sequence[Key], places: list[int]
) -> dict[int, int]:
    best: list[list[tuple[float, dict[int, int]]]] = [[(0.0, {})] * (len(places) + 1) for _ in range(len(numbers) + 1)]
    for row, number in enumerate(numbers, start=1):
        for column, place in enumerate(places, start=1):
            score, pairs = best[row - 1][column - 1]
            likeness = _likeness(turns[number].key, wanted[place])
            both = (score + likeness, {**pairs, number: place}) if likeness else (score, pairs)
            best[row][column] = max(best[row - 1][column], best[row][column - 1], both, key=lambda found: found[0])
    return best[-1][-1][1]


def _likeness(old: Key, new: Key) -> float:
    if old[0] != new[0]:
        return 0.0
    return 1.0 + SequenceMatcher(None, _ends(old[1]), _ends(new[1]), autojunk=False).quick_ratio()


def _ends(text: str) -> str:
    return text if len(text) <= 2 * _COMPARED_CHARS else text[:_COMPARED_CHARS] + text[-_COMPARED_CHARS:]


def _awaits_response(content: Any) -> bool:
    return has_call(content) and not has_response(content)


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
