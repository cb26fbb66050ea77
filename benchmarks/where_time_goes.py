"""Says where the time of hooks goes: into starting processes, into waiting, or into our own code."""

import argparse
import asyncio
import cProfile
import os
import pstats
import resource
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hookline.client.config import Config
from hookline.engine.event_log import EventLog
from hookline.engine.handler import HookEventHandler
from hookline.engine.outcome import to_result
from hookline.engine.plan import HookPlanner
from hookline.engine.registry import HookRegistry
from hookline.engine.run import HookRunner
from hookline.formats.genai.request import default_hook_translator
from hookline.log.write.logger import HookLogger
from hookline.log.write.sink import FileSink
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.verdict import HookExecutionResult
from hookline.runners.invocation import HookInvocation
from hookline.runners.process.batch import ChildJob, run_children
from hookline.settings.decode.settings import decode_settings

SHARES = {
    "starting processes (vfork until exec)": ("fork_exec",),
    "waiting for them (epoll)": ("poll",),
    "pipes (pipe, read, write, close)": ("pipe>", "posix.close", "posix.read", "posix.write", "set_blocking"),
}


def jobs(hooks: int) -> list[ChildJob]:
    """So many of the cheapest hooks that need a shell."""
    job = ChildJob(command="/bin/true; :", stdin=b"x" * 1000, cwd="/", env=dict(os.environ), timeout_ms=60_000)
    return [job] * hooks


async def run_rounds(hooks: int, rounds: int) -> cProfile.Profile:
    """The profile of some rounds of hooks at once."""
    await run_children(jobs(hooks))
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(rounds):
        await run_children(jobs(hooks))
    profile.disable()
    return profile


async def processor_time(hooks: int, rounds: int) -> list[float]:
    """Microseconds of the processor for one of these hooks: in itself, in the kernel for us, and in our own code."""
    await run_children(jobs(hooks))
    before = spent()
    for _ in range(rounds):
        await run_children(jobs(hooks))
    return [(now - then) * 1e6 / hooks / rounds for now, then in zip(spent(), before, strict=True)]


def spent() -> tuple[float, float, float]:
    """Seconds of the processor until now: in hooks that have ended, in the kernel for us, and in our own code."""
    ours, hooks = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return hooks.ru_utime + hooks.ru_stime, ours.ru_stime, ours.ru_utime


class InstantRunner(HookRunner):
    """A runner whose hooks have ended before they began: what is left is everything around the process."""

    def __init__(self, outcome: Any) -> None:
        super().__init__()
        self._outcome = outcome

    async def execute_hooks_parallel(
        self,
        hooks: Sequence[HookEntry],
        event_input: Mapping[str, Any],  # noqa: ARG002 - not used here
    ) -> list[HookExecutionResult]:
        """The results of hooks that all ended the same."""
        return [to_result(HookInvocation(hook=hook, hook_input={}, stdin=b"", env={}), self._outcome) for hook in hooks]


async def event_without_process(rounds: int, folder: str) -> float:
    """Microseconds of a whole event with one hook, whose process is left out."""
    config = Config(
        folder,
        settings={"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "x"}]}]}},
    )
    job = ChildJob(command='echo \'{"decision": "allow"}\'', stdin=b"", cwd="/", env=dict(os.environ), timeout_ms=9e3)
    log = HookLogger([FileSink(Path(folder) / "hooks.jsonl")])
    registry = HookRegistry(lambda: decode_settings(config.get_layers()), log)
    registry.initialize()
    handler = HookEventHandler(
        facts=config.session_facts,
        planner=HookPlanner(registry.get_hooks_for_event),
        runner=InstantRunner((await run_children([job]))[0]),
        translator=default_hook_translator,
        event_log=EventLog(log, config.get_session_id()),
    )
    begin = time.perf_counter()
    for _ in range(rounds):
        await handler.fire_before_tool_event("write_file", {"path": "/tmp/x.txt", "content": "hello " * 150})
    took = (time.perf_counter() - begin) / rounds * 1e6
    log.close()
    return took


def main() -> None:
    """Prints the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hooks", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=20)
    given = parser.parse_args()
    profile = asyncio.run(run_rounds(given.hooks, given.rounds))
    own = {str(name): float(entry[2]) for name, entry in vars(pstats.Stats(profile))["stats"].items()}
    total = sum(own.values())
    rest = total
    for label, names in SHARES.items():
        share = sum(time for function, time in own.items() if any(name in function for name in names))
        rest -= share
        print(f"{share / total:6.1%}  {label}")
    print(f"{rest / total:6.1%}  everything else: Python, the event loop, and the profiler itself")
    print(f"{total / given.rounds * 1000:.1f} ms for {given.hooks} hooks, while being profiled")
    hook, kernel, code = asyncio.run(processor_time(given.hooks, given.rounds))
    print(f"{hook:.0f} µs of the processor for one of them, itself")
    print(f"{kernel:.0f} µs in the kernel to start, feed, read and reap it, {code:.0f} µs in Python and its event loop")
    with tempfile.TemporaryDirectory() as folder:
        took = asyncio.run(event_without_process(2_000, folder))
    print(f"{took:.0f} µs for a whole event with one hook, its process left out, again and again")


if __name__ == "__main__":
    main()
