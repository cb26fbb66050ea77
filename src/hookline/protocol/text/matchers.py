"""The limits of matchers: a hostile pattern must not crash the regex engine or keep it busy."""

import math
import re

from hookline.protocol.text.patterns import lazy_pattern

# `regress` compiles recursively, and a stack overflow ends the process. Measured on a thread with a stack of 128 KiB:
# it crashes from 700 alternatives or 90 nested groups on; at both limits at once it uses three quarters.
LARGEST_BYTES = 4096
MOST_ALTERNATIVES = 400
DEEPEST_NESTING = 20
# Characters of a name that a matcher is searched in. A longer name counts as matched.
LONGEST_NAME = 256
# `regress` makes this many steps in a second and a half at most.
_MOST_STEPS = 2e8
# A larger power would overflow.
_LARGEST_LOGARITHM = 200

# An unclosed class runs to the end of the pattern: to try again at each bracket would be quadratic.
_PIECE = lazy_pattern(r"(\\(?:k<[^>]*>|[0-9]+)|\)|\\.|\[(?:\\.|[^\]\\])*+\]?|\()([*+?{]?)", re.DOTALL)
_ITEM = lazy_pattern(r"\\.|\[(?:\\.|[^\]\\])*+\]?|\{\d+(?:,\d*)?\}|.", re.DOTALL)
_NUMBER = lazy_pattern(r"\d+")
_REPETITIONS = ("*", "+", "{")


def pattern_fault(pattern: str) -> str | None:
    """Return why a pattern is not safe to compile and search with, or None.

    Takes time in proportion to the pattern's length, and compiles nothing.
    """
    # The length first: nothing else looks at a pattern of any size.
    if len(pattern) > LARGEST_BYTES or len(pattern.encode(errors="surrogatepass")) > LARGEST_BYTES:
        return f"is longer than {LARGEST_BYTES >> 10} KiB"
    # Escaped bars and bars in a class are counted as well: refusing too much is the safe side.
    if pattern.count("|") >= MOST_ALTERNATIVES:
        return f"has more than {MOST_ALTERNATIVES} alternatives"
    if (fault := _group_fault(pattern)) is not None:
        return fault
    # A pattern that begins with a quantifier is not a valid expression, and is compared as plain text.
    if pattern.strip()[:1] not in _REPETITIONS and not is_quick(pattern, LONGEST_NAME):
        return "can take too long to search for: it repeats a repetition, or has too many of them"
    return None


def is_quick(pattern: str, length: int) -> bool:
    """Return whether any text of this length can be searched for the pattern within about a second."""
    return length * _count_ways(pattern, length) <= _MOST_STEPS


def _group_fault(pattern: str) -> str | None:
    # For each open group: whether it holds a quantified group or backreference.
    open_groups = [False]
    for piece, quantifier in _PIECE.findall(pattern):
        if piece == "(":
            open_groups.append(False)
            if len(open_groups) > DEEPEST_NESTING + 1:
                return f"has groups nested more than {DEEPEST_NESTING} deep"
        elif piece == ")" and len(open_groups) > 1:
            # `(?:(?:a?)*)*b` searched in "a" never ends in `regress`, and takes all memory.
            holds_quantified = open_groups.pop()
            if holds_quantified and quantifier not in ("", "?"):
                return "has a group with a quantifier inside a repeated group"
            open_groups[-1] |= holds_quantified or quantifier != ""
        elif piece[0] == "\\" and piece[1] in "k0123456789":
            open_groups[-1] |= quantifier != ""
    return None


class _Sequence:
    """The items of a group's current alternative, and what its earlier alternatives came to."""

    def __init__(self, wildcards: int) -> None:
        self.first_wildcards = self.most_wildcards = self.wildcards = wildcards
        self.other_ways, self.ways, self.item = 0.0, 1.0, 1.0

    def end_item(self) -> None:
        self.ways, self.item = self.ways * self.item, 1.0

    def end_alternative(self) -> None:
        self.end_item()
        self.other_ways, self.ways = self.other_ways + self.ways, 1.0
        self.most_wildcards = max(self.most_wildcards, self.wildcards)
        self.wildcards = self.first_wildcards


def _count_ways(pattern: str, length: int) -> float:
    """Estimate, rather too high than too low, in how many ways a pattern can be tried from one position of a text."""
    groups = [_Sequence(wildcards=0)]
    previous = ""
    # At the end of a pattern `.*` always succeeds, so nothing before it is tried again.
    for piece in _ITEM.findall(pattern.removesuffix(".*")):
        current = groups[-1]
        if piece == "(":
            current.end_item()
            groups.append(_Sequence(current.wildcards))
        elif piece == ")" and len(groups) > 1:
            current.end_alternative()
            groups.pop()
            groups[-1].item, groups[-1].wildcards = current.other_ways, current.most_wildcards
        elif piece == "|":
            current.end_alternative()
        elif piece.startswith(_REPETITIONS):
            _repeat(current, piece, length)
        elif piece == "?":
            if not previous.startswith(_REPETITIONS) and previous != "(":
                current.item += 1
        else:
            current.end_item()
        previous = piece
    groups[0].end_alternative()  # a group that is left open makes it an invalid expression
    return groups[0].other_ways


def _repeat(current: _Sequence, quantifier: str, length: int) -> None:
    numbers = [float(number) for number in _NUMBER.findall(quantifier)]
    is_open = not numbers or quantifier.endswith(",}")
    if current.item > 1:
        count = max(numbers, default=1.0)
        current.item = _power(4.0, max(length, count)) if is_open else _power(current.item + 1, count)
    elif is_open:
        # Together the wildcards of a sequence cover the text once, so their ways are a binomial coefficient.
        current.wildcards += 1
        current.item = max((length + 1) / (current.wildcards + 1), *numbers, 1.0) + 1
    else:
        current.item = max(numbers) + 1


def _power(ways: float, count: float) -> float:
    return ways**count if count * math.log(ways) < _LARGEST_LOGARITHM else math.inf
