"""Searches with patterns that may take forever, in a process of its own that is given half a second."""

import asyncio
import json
import math
import re
import signal
import subprocess
import sys
from pathlib import Path

import regress

# So many steps take a third of a second at most.
_QUICK_STEPS = 1e7
_LENGTHS = (1 << 20, 4096, 1024, 256, 128, 64, 48, 32, 24, 16, 12, 10, 8, 6, 4, 2, 1)
# Of the processor, for the search itself; and until the process has ended, on a machine that is busy.
_SEARCH_S = 0.5
_PROCESS_S = 5.0
# Up to here an exponential number of steps is still a number.
_LONGEST_EXPONENT = 100

_PIECE = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\{\d+(?:,\d*)?\}|.", re.DOTALL)
_NUMBER = re.compile(r"\d+")
_REPETITIONS = ("*", "+", "{")

# Found, not found; everything else is what Python says when it fails.
_FOUND, _NOT_FOUND = 0, 3
_PROGRAM = f"""
import json, signal, sys
folder, pattern, name = json.load(sys.stdin)
sys.path.insert(0, folder)
import regress
signal.setitimer(signal.ITIMER_VIRTUAL, {_SEARCH_S})
sys.exit({_NOT_FOUND} if regress.Regex(pattern).find(name) is None else {_FOUND})
"""
_gave_up: set[str] = set()


def quick_length(pattern: str) -> int:
    """Names up to this length are surely searched in no time, whatever they are."""
    return next((length for length in _LENGTHS if _most_steps(pattern, length) * length <= _QUICK_STEPS), -1)


_results: dict[tuple[str, str], bool | None] = {}


def is_known(pattern: str, name: str) -> bool:
    """Whether `search` returns at once."""
    return pattern in _gave_up or (pattern, name) in _results


async def search_async(pattern: str, name: str) -> bool | None:
    """The same as `search`, without blocking the event loop."""
    return await asyncio.to_thread(search, pattern, name)


def search(pattern: str, name: str) -> bool | None:
    """Whether the pattern is found in the name; None if it takes too long, and then at once for every other name."""
    if not is_known(pattern, name):
        _results[pattern, name] = _search(pattern, name)
    return _results.get((pattern, name))


def _search(pattern: str, name: str) -> bool | None:
    # A program that is its own interpreter would be started again.
    if pattern in _gave_up or getattr(sys, "frozen", False) or not sys.executable:
        return None
    try:
        ended = subprocess.run(  # noqa: S603 - our own interpreter with a program of our own
            [sys.executable, "-I", "-S", "-c", _PROGRAM],
            input=json.dumps([_folder(), pattern, name]).encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_PROCESS_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if ended.returncode == -signal.SIGVTALRM:
        _gave_up.add(pattern)
    return {_FOUND: True, _NOT_FOUND: False}.get(ended.returncode)


def _folder() -> str:
    return str(Path(regress.__file__).parent.parent)


def _most_steps(pattern: str, length: int) -> float:
    """How many ways there are at most to try the pattern from one place of a name; rather too many than too few."""
    # Of each open group: the ways of the alternatives before this one, and those of this one before its last item.
    open_groups: list[tuple[float, float]] = []
    others, before, item = 0.0, 1.0, 1.0
    previous = ""
    for piece in _PIECE.findall(pattern):
        if piece == "(":
            open_groups.append((others, before * item))
            others, before, item = 0.0, 1.0, 1.0
        elif piece == ")" and open_groups:
            ways = others + before * item
            others, before = open_groups.pop()
            item = ways
        elif piece == "|":
            others, before, item = others + before * item, 1.0, 1.0
        elif piece.startswith(_REPETITIONS):
            times = max(length, *map(float, _NUMBER.findall(piece)), 1.0)
            item = times if item == 1 else max(item * times, _exponential(length))
        elif piece == "?":
            if not previous.startswith(_REPETITIONS) and previous != "(":
                item += 1
        else:
            before, item = before * item, 1.0
        previous = piece
    return others + before * item


def _exponential(length: int) -> float:
    return 4.0**length if length <= _LONGEST_EXPONENT else math.inf
