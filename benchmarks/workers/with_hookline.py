"""Our runner. Same protocol as floor.c; the further word `stall` asks for the loop's longest pause."""

import asyncio
import os
import sys
import time
from functools import cache
from unittest.mock import patch

from hookline.child.batch import ChildJob, ChildLimits, run_children
from hookline.child.features import FEATURES

HOOK, BASH, SH = sys.argv[1:4]
LIMITS = ChildLimits(max_concurrent=512)
BALLAST_BYTES = int(sys.argv[4]) if len(sys.argv) > 4 else 0


@cache
def payload(size: int) -> bytes:
    """The same input in every round, as in the floor."""
    return b"x" * size


class Ticker:
    """Counts the longest time between two turns of the loop."""

    def __init__(self) -> None:
        self.longest = 0
        self._last = time.perf_counter_ns()
        self._handle = asyncio.get_running_loop().call_soon(self._tick)

    def _tick(self) -> None:
        now = time.perf_counter_ns()
        self.longest = max(self.longest, now - self._last)
        self._last = now
        self._handle = asyncio.get_running_loop().call_soon(self._tick)

    def stop(self) -> int:
        """The longest pause in nanoseconds."""
        self._handle.cancel()
        return self.longest


async def main() -> None:
    """Answers one line per round."""
    env = dict(os.environ)
    for line in sys.stdin:
        count, size, shell, *wishes = line.split()
        job = ChildJob(command=HOOK, stdin=payload(int(size)), cwd="/", env=env, timeout_ms=60_000)
        jobs = [job] * int(count)
        if shell == "sh":
            os.environ["PATH"] = ""  # so that no bash is found, and plain sh is used
        with patch.object(FEATURES, "direct", shell == "-"):
            ticker = Ticker() if "stall" in wishes else None
            begin = time.perf_counter_ns()
            outcomes = await run_children(jobs, limits=LIMITS)
            took = time.perf_counter_ns() - begin
        if any(outcome.exit_code != 0 for outcome in outcomes):
            raise RuntimeError(f"the hook failed: {outcomes}")
        print(took, ticker.stop() if ticker else 0, flush=True)


ballast = bytearray(os.urandom(1 << 20) * (BALLAST_BYTES >> 20))
asyncio.run(main())
