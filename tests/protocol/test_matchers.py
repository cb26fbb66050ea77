import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from hookline.protocol.text.matchers import (
    DEEPEST_NESTING,
    LARGEST_BYTES,
    LONGEST_NAME,
    MOST_ALTERNATIVES,
    is_quick,
    pattern_fault,
)

LONG = "is longer than 4 KiB"
WIDE = f"has more than {MOST_ALTERNATIVES} alternatives"
DEEP = f"has groups nested more than {DEEPEST_NESTING} deep"
SLOW = "can take too long to search for: it repeats a repetition, or has too many of them"
LOOP = "has a group with a quantifier inside a repeated group"

# Compiles and searches on a small stack with little memory. The last number printed is that of the pattern at fault.
PROGRAM = """
import json, resource, sys, threading
import regress

def try_all():
    for number, pattern in enumerate(json.load(sys.stdin)):
        print(number, flush=True)
        try:
            regex = regress.Regex(pattern)
        except regress.RegressError:
            continue
        for name in ("", "a", "aab", "abcabc", "write_file"):
            regex.find(name)
    print("done", flush=True)

resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20))
resource.setrlimit(resource.RLIMIT_CPU, (15, 15))
threading.stack_size(128 << 10)
thread = threading.Thread(target=try_all)
thread.start()
thread.join()
"""
ATOMS = ("a", "b*", "a?", "[ab]", "[)(|]", "[^]", "\\)", ".", "", "\\1", "\\1*", "\\b", "(?=a)", "()", "b{0,3}", "é+?")
OPENINGS = ("(", "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?i:", "(a|", "(?:b|")
QUANTIFIERS = ("", "", "*", "+", "?", "*?", "+?", "??", "{0,3}", "{2,}", "{2}")
COUNTS = ("", "*", "{99999999999}")


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        pytest.param("", None, id="empty"),
        pytest.param("^(?:run|exec)_[a-z_]+$", None, id="ordinary"),
        pytest.param("^(?:[a-z]_)+file$", None, id="one-repeated-group"),
        pytest.param("write_file|replace|" * 60 + "edit", None, id="many-names"),
        pytest.param("^mcp__.*__(read|write).*$", None, id="mcp"),
        pytest.param(".*delete.*(file|directory).*", None, id="wildcards"),
        pytest.param("^(.*)_(.*)_(.*)$", None, id="three-wildcards"),
        pytest.param("^(?:[a-z]+_)+file$", SLOW, id="repeated-repetition"),
        pytest.param("^(a|a)*$", SLOW, id="repeated-alternatives"),
        pytest.param("^(a?a?)*$", SLOW, id="repeated-options"),
        pytest.param("^(?:a{1,9}){2,}$", SLOW, id="repeated-counts"),
        pytest.param("(.*)*=", SLOW, id="repeated-wildcard"),
        pytest.param("(a+)?{2}(a+)+b", SLOW, id="after-a-count"),
        pytest.param(".*a.*b.*c.*d", SLOW, id="four-wildcards"),
        pytest.param("(.*a|b.*)c.*d.*e", SLOW, id="wildcards-of-an-alternative"),
        pytest.param("a?" * 30 + "b", SLOW, id="many-options"),
        pytest.param("(a|a)" * 30 + "b", SLOW, id="many-alternatives-in-a-row"),
        pytest.param("(?:b*|){50}c", SLOW, id="count-of-repetitions"),
        pytest.param("([ab]*){65535}c", SLOW, id="large-count"),
        pytest.param("(?:ab){99999999999}", SLOW, id="endless-count"),
        pytest.param("(", None, id="broken"),
        pytest.param("\ud800", None, id="lone-surrogate"),
        pytest.param("a" * LARGEST_BYTES, None, id="longest"),
        pytest.param("a" * (LARGEST_BYTES + 1), LONG, id="too-long"),
        pytest.param("é" * LARGEST_BYTES, LONG, id="too-many-bytes"),
        pytest.param("a|" * 50_000 + "b", LONG, id="attack"),
        pytest.param("a|" * (MOST_ALTERNATIVES - 1) + "b", None, id="most-alternatives"),
        pytest.param("a|" * MOST_ALTERNATIVES + "b", WIDE, id="too-many-alternatives"),
        pytest.param("(" * DEEPEST_NESTING + ")" * DEEPEST_NESTING, None, id="deepest"),
        pytest.param("(?:" * (DEEPEST_NESTING + 1), DEEP, id="too-deep"),
        pytest.param("(?:[)]\\)" * (DEEPEST_NESTING + 1), DEEP, id="escaped-parentheses-close-nothing"),
        pytest.param("([(]\\()" * 100, None, id="escaped-parentheses-open-nothing"),
        pytest.param(")" * 100 + "(a)", None, id="too-many-closed"),
        pytest.param("(?:(?:a?)*)*c", LOOP, id="endless"),
        pytest.param("(?:x((?:a|)?b))+c", LOOP, id="endless-below"),
        pytest.param("(a?)(?:\\1*)*c", LOOP, id="endless-backreference"),
        pytest.param("(?<n>a?)(?:\\k<n>*)*c", LOOP, id="endless-named-backreference"),
        pytest.param("(?:(?:ab)*)?c", None, id="optional-is-not-repeated"),
    ],
)
def test_what_could_crash_the_engine_is_refused(pattern: str, fault: str | None) -> None:
    """Length, alternatives, nesting and loops in loops have limits; an ordinary or a broken pattern is accepted."""
    assert pattern_fault(pattern) == fault


def test_a_longer_text_takes_longer() -> None:
    """The same pattern is quick for a name, and is not for a long text."""
    assert is_quick(".*a.*b", LONGEST_NAME)
    assert not is_quick(".*a.*b", 100 * LONGEST_NAME)


@pytest.mark.parametrize("pattern", ["[" * LARGEST_BYTES, "(" * LARGEST_BYTES, "\\" * LARGEST_BYTES, "a" * 50_000_000])
def test_refusing_takes_no_time(pattern: str) -> None:
    """The check itself is linear, and a pattern that is too long is not even looked at."""
    began = time.process_time()
    pattern_fault(pattern)
    assert time.process_time() - began < 0.2


def nested(dice: random.Random) -> str:
    """Groups in groups, many of them at a limit or beyond, with a run of alternatives somewhere."""
    depth = dice.choice((1, 3, DEEPEST_NESTING, DEEPEST_NESTING + 1, 255))
    bars = dice.choice((0, 5, MOST_ALTERNATIVES - 1 - depth, MOST_ALTERNATIVES - 1, 2000))
    alternatives = dice.choice(("|", "a|", f"{dice.choice(ATOMS)}{dice.choice(COUNTS)}|")) * bars
    parts = [*dice.choices(OPENINGS, k=depth), *dice.choices(ATOMS, k=9)]
    parts += [f"{dice.choice(ATOMS)})" for _ in range(depth)]
    parts.insert(dice.randrange(len(parts)), alternatives)
    return "".join(parts)


def looping(dice: random.Random, depth: int = 4) -> str:
    """A few items, some of them quantified groups of the same kind."""
    items = []
    for _ in range(dice.randrange(1, 4)):
        is_group = depth > 0 and dice.random() < 0.45
        group = f"{dice.choice(OPENINGS)}{looping(dice, depth - 1)}){dice.choice(QUANTIFIERS)}" if is_group else ""
        items.append(group or dice.choice(ATOMS) + dice.choice(("", "", "", "|")))
    return "".join(items)


def try_in_child(patterns: list[str]) -> tuple[int, str]:
    """How a child process ended that compiled and searched with the patterns, and the last line that it printed."""
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=json.dumps(patterns), capture_output=True, text=True, check=False
    )
    return ended.returncode, ended.stdout.split()[-1]


@pytest.mark.attack("13.1", "random nested and alternating patterns below the limits")
@pytest.mark.parametrize("make", [nested, looping])
@pytest.mark.parametrize("seed", range(3))
def test_no_accepted_pattern_crashes_the_engine(make: Callable[[random.Random], str], seed: int) -> None:
    """Hundreds of patterns are compiled and searched with on a stack of 128 KiB, and no one ends the process."""
    dice = random.Random(seed)  # noqa: S311 - the same patterns each time
    patterns = [pattern for pattern in (make(dice) for _ in range(400)) if pattern_fault(pattern) is None]
    assert len(patterns) > 50
    code, last = try_in_child(patterns)
    at_fault = "" if last == "done" else patterns[int(last)]
    assert (code, last, at_fault) == (0, "done", "")


# Each construct, repeated; the size of the smallest that crashes on a stack of 128 KiB was measured (None: none found).
CONSTRUCTS: dict[str, tuple[Callable[[int], str], int | None]] = {
    "alternatives": (lambda n: "a|" * n + "b", 700),
    "alternatives-in-a-group": (lambda n: f"(?:{'a|' * n}b)", 700),
    "quantified-alternatives": (lambda n: "a*|" * n, 700),
    "empty-alternatives": (lambda n: "|" * n, 1100),
    "groups": (lambda n: "(" * n + "a" + ")" * n, 105),
    "groups-left-open": (lambda n: "(" * n, 105),
    "groups-without-capture": (lambda n: "(?:" * n + "a" + ")" * n, 105),
    "named-groups": (lambda n: "".join(f"(?<n{i}>" for i in range(n)) + "a" + ")" * n, 105),
    "lookaheads": (lambda n: "(?=" * n + "a" + ")" * n, 95),
    "negative-lookaheads": (lambda n: "(?!" * n + "a" + ")" * n, 95),
    "lookbehinds": (lambda n: "(?<=" * n + "a" + ")" * n, 95),
    "negative-lookbehinds": (lambda n: "(?<!" * n + "a" + ")" * n, 95),
    "optional-groups": (lambda n: "(?:" * n + "a" + ")?" * n, 105),
    "groups-of-alternatives": (lambda n: "(?:b|" * n + "a" + ")" * n, None),
    "characters": (lambda n: "a" * n, None),
    "any-characters": (lambda n: "." * n, None),
    "stars": (lambda n: "a*" * n, None),
    "lazy-stars": (lambda n: "a*?" * n, None),
    "groups-in-a-row": (lambda n: "(a)" * n, None),
    "repeated-groups-in-a-row": (lambda n: "(a)*" * n, None),
    "lookaheads-in-a-row": (lambda n: "(?=a)" * n, None),
    "classes": (lambda n: "[ab]" * n, None),
    "ranges-of-a-class": (lambda n: f"[{'a-z' * n}]", None),
    "characters-of-a-class": (lambda n: f"[{''.join(chr(0x4E00 + 2 * i) for i in range(n))}]", None),
    "brackets": (lambda n: "[" * n, None),
    "backreferences": (lambda n: "(a)" + "\\1" * n, None),
    "named-backreferences": (lambda n: "(?<x>a)" + "\\k<x>" * n, None),
    "count": (lambda n: f"(?:ab){{{'9' * n}}}", None),
    "counts": (lambda n: "a{0,9999}" * n, None),
    "anchors": (lambda n: "^" * n + "$" * n, None),
    "boundaries": (lambda n: "\\b" * n, None),
    "properties": (lambda n: "\\p{L}" * n, None),
    "backslashes": (lambda n: "\\" * n, None),
}


def largest_accepted(make: Callable[[int], str]) -> int:
    """How often a construct can be repeated until its pattern is refused."""
    accepted, refused = 1, LARGEST_BYTES + 1
    while refused - accepted > 1:
        middle = (accepted + refused) // 2
        accepted, refused = (accepted, middle) if pattern_fault(make(middle)) else (middle, refused)
    return accepted


def wrapped(make: Callable[[int], str], opening: str, depth: int) -> Callable[[int], str]:
    """The same construct inside groups."""
    return lambda n: f"{opening * depth}{make(n)}{')' * depth}"


@pytest.mark.attack("13.1", "the largest pattern of every construct that is accepted, also inside each other")
def test_the_largest_pattern_of_each_construct_does_not_crash() -> None:
    """At the limit each construct, alone and inside the deepest groups, can be compiled and searched with."""
    largest = [make(largest_accepted(make)) for make, _ in CONSTRUCTS.values()]
    room = DEEPEST_NESTING - 1
    nests = [wrapped(make, opening, room) for make, _ in CONSTRUCTS.values() for opening in ("(?=", "(?:b|")]
    patterns = [*largest, *(make(largest_accepted(make)) for make in nests)]
    patterns = [pattern for pattern in patterns if pattern_fault(pattern) is None]
    assert len(patterns) > 2 * len(CONSTRUCTS)
    code, last = try_in_child(patterns)
    at_fault = "" if last == "done" else patterns[int(last)]
    assert (code, last, at_fault) == (0, "done", "")


@pytest.mark.parametrize("construct", [name for name, (_, crash) in CONSTRUCTS.items() if crash])
def test_the_limits_are_well_below_the_smallest_crash(construct: str) -> None:
    """With 128 KiB, what musl gives a thread, the stack is full only from one and a half times the limit on."""
    make, smallest = CONSTRUCTS[construct]
    assert smallest is not None
    assert largest_accepted(make) * 1.5 < smallest


@pytest.mark.parametrize(
    ("pattern", "ending"),
    [("a|" * 5000 + "b", signal.SIGSEGV), ("(?:" * 200 + ")" * 200, signal.SIGSEGV), ("((a?)*)*c", signal.SIGABRT)],
)
def test_without_the_limits_the_engine_crashes(pattern: str, ending: signal.Signals) -> None:
    """The test above could fail: these patterns end the same child by a full stack, or by all memory used."""
    assert try_in_child([pattern])[0] == -ending
