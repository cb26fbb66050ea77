"""Our runner. Same protocol as floor.c; further words ask for more.

`stall` asks for the loop's longest pause, `text` and `code` for a whole event about that much text or source code.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hookline import Config
from hookline.protocol.text.json_text import stringify_json
from hookline.runners.process.batch import ChildJob, ChildLimits, run_children
from hookline.runners.process.features import FEATURES

HOOK, BASH, SH = sys.argv[1:4]
LIMITS = ChildLimits(max_concurrent=512)
# At most so many bytes of an event's input are not its text.
ENVELOPE_BYTES = 1024
BALLAST_BYTES = int(sys.argv[4]) if len(sys.argv) > 4 else 0


@cache
def payload(size: int) -> bytes:
    """The same input in every round, as in the floor."""
    return b"x" * size


@cache
def content(kind: str, size: int) -> str:
    """Words, or Python with numbers in it: so much that the hook reads as many bytes as the floor's does."""
    piece = "some words, "
    if kind == "code":
        piece = Path(json.__file__).with_name("decoder.py").read_text() + "\nx = [1.0, 2.0]\n" * 50
    pieces = (size - ENVELOPE_BYTES) // (len(stringify_json(piece)) - len('""'))
    return piece * pieces


async def make_system(folder: str) -> Any:
    """A system with one hook for every tool, and the log on."""
    group = {"hooks": [{"type": "command", "command": HOOK}]}
    log = {"path": f"{folder}/hooks.jsonl"}
    settings = {"enableHooks": True, "hooks": {"BeforeTool": [group]}, "hooksConfig": {"log": log}}
    system = Config(working_dir=folder, session_id="bench", settings=settings).get_hook_system()
    assert system is not None
    await system.initialize()
    return system


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


async def main(folder: str) -> None:
    """Answers one line per round."""
    env = dict(os.environ)
    system = await make_system(folder)
    handler = system.get_event_handler()
    for line in sys.stdin:
        count, size, shell, *wishes = line.split()
        job = ChildJob(command=HOOK, stdin=payload(int(size)), cwd="/", env=env, timeout_ms=60_000)
        jobs = [job] * int(count)
        if shell == "sh":
            os.environ["PATH"] = ""  # so that no bash is found, and plain sh is used
        with patch.object(FEATURES, "direct", shell == "-"):
            ticker = Ticker() if "stall" in wishes else None
            kind = next((wish for wish in wishes if wish != "stall"), None)
            arguments = {"content": content(kind, int(size))} if kind else {}
            begin = time.perf_counter_ns()
            if kind:
                outcomes = (await handler.fire_before_tool_event("write_file", arguments)).results
            else:
                outcomes = await run_children(jobs, limits=LIMITS)
            took = time.perf_counter_ns() - begin
        if any(outcome.exit_code != 0 for outcome in outcomes):
            raise RuntimeError(f"the hook failed: {outcomes}")
        print(took, ticker.stop() if ticker else 0, flush=True)
    system.dispose()  # or its log would create the directory again after it is removed


ballast = bytearray(os.urandom(1 << 20) * (BALLAST_BYTES >> 20))
with tempfile.TemporaryDirectory() as folder:
    asyncio.run(main(folder))
