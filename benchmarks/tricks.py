"""Measures what each trick of the runner buys: the same hooks with it and without it, in turn."""

import argparse
import asyncio
import os
import random
import resource
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from statistics import median
from subprocess import run
from typing import Any
from unittest.mock import patch

from hookline.runners.process import pipes, process
from hookline.runners.process.batch import ChildJob, ChildLimits, run_children
from hookline.runners.process.features import FEATURES

LIMITS = ChildLimits(max_concurrent=512)
SMALL, LARGE = 1000, 1_000_000
ONE, MANY = ((1, SMALL), (8, SMALL), (32, SMALL)), ((1, LARGE), (8, LARGE), (32, LARGE))


# Each trick: how to do without it, and the hooks (how many at once, bytes of stdin) that it is meant for.
Without = Callable[[], AbstractContextManager[Any]]
TRICKS: dict[str, tuple[Without, tuple[tuple[int, int], ...]]] = {
    "nothing (noise)": (nullcontext, ONE),
    "direct execution": (partial(patch.multiple, FEATURES, direct=False), ONE),
    "pidfd": (partial(patch.multiple, FEATURES, pidfd=False), ONE),
    "quiet time": (partial(patch.object, process, "QUIET_S", 0.0), ONE),
    "F_SETPIPE_SZ": (partial(patch.object, pipes, "_enlarge", lambda *_: None), MANY),
}


def processor_s() -> float:
    """Seconds of the processor that this program itself has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def measure(jobs: list[ChildJob]) -> tuple[float, float]:
    """Seconds of the processor and of the clock for some hooks."""
    began = processor_s(), time.perf_counter()
    for _ in range(max(1, 16 // len(jobs))):
        await run_children(jobs, limits=LIMITS)
    return processor_s() - began[0], time.perf_counter() - began[1]


async def ratios(without: Without, jobs: list[ChildJob], rounds: int) -> tuple[float, float]:
    """How much longer it takes without the trick: medians of the ratios within rounds."""
    found: list[tuple[float, float]] = []
    for _ in range(rounds):
        took = {}
        for has_trick in random.sample((True, False), 2):
            with nullcontext() if has_trick else without():
                took[has_trick] = await measure(jobs)
        found.append((took[False][0] / took[True][0], took[False][1] / took[True][1]))
    return median(processor for processor, _ in found), median(clock for _, clock in found)


async def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    rounds = parser.parse_args().rounds
    print("| without | hooks at once, stdin | own processor time | time of the event |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        hook = f"{folder}/hook"
        run(["cc", "-O2", "-o", hook, str(Path(__file__).parent / "workers/hook.c")], check=True)  # noqa: ASYNC221
        for name, (without, cases) in TRICKS.items():
            for count, size in cases:
                job = ChildJob(command=hook, stdin=b"x" * size, cwd="/", env=dict(os.environ), timeout_ms=60_000)
                processor, clock = await ratios(without, [job] * count, rounds)
                print(f"| {name} | {count}, {size // 1000} KB | {processor:.2f} | {clock:.2f} |", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
