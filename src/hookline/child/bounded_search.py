"""Searches with patterns that may take forever, in a separate process that gets half a second."""

import contextlib
import json
import math
import os
import re
import shlex
import signal
import sys
from pathlib import Path

# This many steps take a third of a second at most.
_QUICK_STEPS = 1e7
_LENGTHS = (1 << 20, 4096, 1024, 256, 128, 64, 48, 32, 24, 16, 12, 10, 8, 6, 4, 2, 1)
# Processor time for the search itself; and wall-clock time for the process, on a busy machine.
_SEARCH_S = 0.5
_PROCESS_S = 5.0
# A larger power would overflow.
_LARGEST_LOGARITHM = 200
_CACHE_SIZE = 4096

_PIECE = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\{\d+(?:,\d*)?\}|.", re.DOTALL)
_NUMBER = re.compile(r"\d+")
_REPETITIONS = ("*", "+", "{")

_FOUND, _NOT_FOUND = 0, 3
_PROGRAM = f"""
import json, signal, sys
folder, pattern, name = json.load(sys.stdin)
sys.path.insert(0, folder)
import regress
signal.setitimer(signal.ITIMER_VIRTUAL, {_SEARCH_S})
sys.exit({_NOT_FOUND} if regress.Regex(pattern).find(name) is None else {_FOUND})
"""

_RESULT_OF: dict[int | None, bool] = {_FOUND: True, _NOT_FOUND: False}
_results: dict[tuple[str, str], bool | None] = {}
_too_slow: set[str] = set()


def quick_length(pattern: str) -> int:
    """Return the length up to which any name can be searched in no time."""
    return next((length for length in _LENGTHS if _most_steps(pattern, length) * length <= _QUICK_STEPS), -1)


def is_known(pattern: str, name: str) -> bool:
    """Return whether a search gives its result at once."""
    return pattern in _too_slow or not _has_interpreter() or (pattern, name) in _results


async def search_async(pattern: str, name: str) -> bool | None:
    """Return whether the pattern is found in the name; None if that takes too long, then at once for any other name.

    Takes five seconds at most and never blocks the event loop; a cancellation kills the process.
    """
    # Slow to import, and few matchers need it.
    import asyncio  # noqa: PLC0415

    import regress  # noqa: PLC0415

    from hookline.child.batch import ChildJob, run_children  # noqa: PLC0415

    if not is_known(pattern, name):
        request = json.dumps([str(Path(regress.__file__).parent.parent), pattern, name]).encode()
        command = shlex.join([sys.executable, "-I", "-S", "-c", _PROGRAM])
        job = ChildJob(command=command, stdin=request, cwd="/", env=dict(os.environ), timeout_ms=math.inf)
        result = None
        # Not the job's own timeout, which does not cover the wait for a free slot.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PROCESS_S):
                (outcome,) = await run_children([job])
            if outcome.signal == signal.SIGVTALRM:
                _too_slow.add(pattern)
            result = _RESULT_OF.get(outcome.exit_code)
        if len(_results) >= _CACHE_SIZE:
            _results.clear()
        _results[pattern, name] = result
    return _results.get((pattern, name))


def search(pattern: str, name: str) -> bool | None:
    """Return the result of `search_async`, but block until it is known."""
    import asyncio  # noqa: PLC0415
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    if is_known(pattern, name):
        return _results.get((pattern, name))
    with ThreadPoolExecutor(1) as pool:  # our own thread may have a running event loop
        return pool.submit(asyncio.run, search_async(pattern, name)).result()


def _has_interpreter() -> bool:
    # A frozen program is its own interpreter: it would be started again.
    return bool(sys.executable) and not getattr(sys, "frozen", False)


def _most_steps(pattern: str, length: int) -> float:
    """Estimate, rather too high than too low, in how many ways the pattern can be tried from one position of a name."""
    # For each open group: the ways of earlier alternatives, and those of the current one before its last item.
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
            count = max(map(float, _NUMBER.findall(piece)), default=1.0)
            times = max(length, count)
            item = times + 1 if item == 1 else max(item * times, _power(4.0, length), _power(item, count))
        elif piece == "?":
            if not previous.startswith(_REPETITIONS) and previous != "(":
                item += 1
        else:
            before, item = before * item, 1.0
        previous = piece
    return others + before * item


def _power(ways: float, count: float) -> float:
    return ways**count if count * math.log(ways) < _LARGEST_LOGARITHM else math.inf
