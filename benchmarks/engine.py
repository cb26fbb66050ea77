"""Measures the engine's share beside a bare hook, and its cost when nothing has to run. Prints JSON."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from math import inf
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from hookline import Config, Hooks, LLMRequest, LLMResponse, ToolResult
from hookline.engine.decide import HookAggregator
from hookline.log.write.encode import Encoder
from hookline.protocol.answers import read_object
from hookline.protocol.constants import ConfigSource
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import CommandLine, HookEntry
from hookline.protocol.text.json_text import stringify_json
from hookline.protocol.verdict import HookExecutionResult
from hookline.runners.process.batch import ChildJob, run_children

HOOK = sys.argv[1]
ROUNDS = int(sys.argv[2])
INPUT: dict[str, Any] = {"path": "/tmp/x.txt", "content": "hello " * 150}
TOOL = {"tool_name": "write_file", "tool_input": INPUT}
# These must end before their directory is removed, or their log would create it again.
ENDINGS = ExitStack()


def settings(*hooks: dict[str, Any]) -> dict[str, Any]:
    """Settings with these groups for BeforeTool, and no log file."""
    return {"enableHooks": True, "hooks": {"BeforeTool": list(hooks)}}


def group(command: str, matcher: str = "") -> dict[str, Any]:
    """One hook for the tools that match."""
    return {"matcher": matcher, "hooks": [{"type": "command", "command": command}]}


async def handler_of(project: str, config: dict[str, Any]) -> Any:
    """The event handler of an initialised system."""
    system = Config(working_dir=project, session_id="bench", settings=config).get_hook_system()
    assert system is not None
    ENDINGS.callback(system.dispose)
    await system.initialize()
    return system.get_event_handler()


async def event_above_runner(project: str) -> float:
    """Microseconds that a whole event takes longer than its bare hook, as a median of differences within a round."""
    handler = await handler_of(project, settings(group(HOOK)))
    result = await handler.fire_before_tool_event("write_file", INPUT)
    stdin = result.results[0].stdin
    env = {**os.environ, **dict.fromkeys(("LLXPRT_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"), project)}
    job = ChildJob(command=HOOK, stdin=stdin, cwd=project, env=env, timeout_ms=60_000)
    differences = []
    for number in range(ROUNDS * 4):
        took = [0, 0]
        for which in (0, 1) if number % 2 else (1, 0):
            begin = time.perf_counter_ns()
            await (handler.fire_before_tool_event("write_file", INPUT) if which else run_children([job]))
            took[which] = time.perf_counter_ns() - begin
        differences.append(took[1] - took[0])
    return median(differences) / 1000


async def _nothing(_event: object) -> None:
    """An async function as a hook, which returns at once."""


def _plain_nothing(_event: object) -> None:
    """The same as a plain function."""


async def function_event(project: str, function: Callable[[Any], Any], **options: Any) -> tuple[Any, Callable[[], Any]]:
    """A system whose one hook is a function that returns at once, with the log on, and an event for it."""
    config = Config(working_dir=project, session_id="bench", settings={})
    config.add_hook("BeforeTool", function, matcher="write_", **options)
    system = config.get_hook_system()
    assert system is not None
    await system.initialize()
    event = partial(system.get_event_handler().fire, HookEventName.BEFORE_TOOL, TOOL)
    await event()
    await asyncio.sleep(0.2)  # until the log's thread has its file of starts
    return system, event


async def function_as_hook(project: str, function: Callable[[Any], Any], **options: Any) -> float:
    """Microseconds that an event takes whose one hook is a function."""
    system, event = await function_event(project, function, **options)
    took = await _back_to_back(event)
    system.dispose()  # its log must not be written while the next figure is measured
    return took


async def function_in_thread(project: str) -> float:
    """Microseconds that an event whose hook is a function in a thread takes longer than a call by `run_in_executor`.

    Both in turn: how long it takes to wake a thread up changes with the minute.
    """
    bare = partial(asyncio.get_running_loop().run_in_executor, None, _plain_nothing, None)
    system, event = await function_event(project, _plain_nothing)
    differences = [await _burst(event, 10) - await _burst(bare, 10) for _ in range(50)]
    system.dispose()
    return median(differences)


async def _back_to_back(action: Callable[[], Any]) -> float:
    """Microseconds of a call, in bursts with a turn of the loop between them."""
    return median([await _burst(action, 20) for _ in range(100)])


async def _burst(action: Callable[[], Any], times: int) -> float:
    begin = time.perf_counter_ns()
    for _ in range(times):
        await action()
    took = time.perf_counter_ns() - begin
    await asyncio.sleep(0)
    return took / times / 1000


async def steady(project: str) -> tuple[float, float]:
    """1,000 events a second through one engine, with a function as the hook and the log on.

    Returns the milliseconds that 99 of 100 events take at most (endless if that rate was not held), and how many
    records the log lacks.
    """
    log = Path(project, "steady.jsonl")
    config = Config(working_dir=project, session_id="bench", settings={"hooksConfig": {"log": {"path": str(log)}}})
    config.add_hook("BeforeTool", _nothing, matcher="write_")
    system = config.get_hook_system()
    assert system is not None
    await system.initialize()
    handler = system.get_event_handler()
    spans: list[float] = []
    count = 100 * ROUNDS
    began = time.perf_counter()
    for number in range(count):
        await asyncio.sleep(max(0.0, began + number / 1000 - time.perf_counter()))
        begin = time.perf_counter_ns()
        await handler.fire(HookEventName.BEFORE_TOOL, TOOL)
        spans.append((time.perf_counter_ns() - begin) / 1e6)
    is_held = time.perf_counter() - began < count / 1000 * 1.02
    system.dispose()
    lines = [line for file in log.parent.glob("steady.jsonl*") for line in file.read_bytes().splitlines()]
    records = map(json.loads, lines)
    # Three for each event: its start, the run of its hook, and what it came to. One that is there twice counts once.
    written = {(record["kind"], record["fire"]) for record in records if "fire" in record}
    return quantiles(spans, n=100)[98] if is_held else inf, float(3 * count - len(written))


async def without_match(project: str) -> float:
    """Microseconds of an event for which hooks are configured, none of them for this tool."""
    handler = await handler_of(project, settings(group(HOOK, "^other$")))
    await handler.fire_before_tool_event("write_file", INPUT)
    spans = []
    for _ in range(200):
        begin = time.perf_counter_ns()
        for _ in range(50):
            await handler.fire_before_tool_event("write_file", INPUT)
        spans.append((time.perf_counter_ns() - begin) / 50)
    return median(spans) / 1000


async def neutral(project: str) -> float:
    """Microseconds that a session's method takes longer than `fire_event`: the worst of its events.

    Of five events for which nothing has to run, and of one with a hook, as a median of differences within a round. The
    hook is a function, and the log is off: their time varies by more than what is measured.
    """
    hooks = Hooks(project, settings={**settings(), "hooksConfig": {"log": {"enabled": False}}})
    hooks.on("BeforeTool", matcher="^write_file$")(_nothing)
    ENDINGS.callback(hooks.close)
    session = hooks.session("bench")
    system = hooks.config.get_hook_system()
    assert system is not None
    await system.initialize()
    handler = system.get_event_handler()
    request: LLMRequest = {"model": "m", "messages": [{"role": "user", "content": "hello"}] * 20, "config": {}}
    told: LLMResponse = {"text": "hi", "candidates": [{"content": {"role": "model", "parts": ["hi"]}}]}
    other = {**TOOL, "tool_name": "read_file"}
    result = ToolResult(llm_content="ok")
    done = {**other, "tool_response": result.to_tool_response()}
    call = await session.before_tool("read_file", INPUT)
    both = {"llm_request": request, "llm_response": told}
    pairs: list[tuple[Callable[[], Any], Callable[[], Any]]] = [
        (partial(session.before_tool, "read_file", INPUT), partial(handler.fire_event, "BeforeTool", other)),
        (partial(session.after_tool, call, result), partial(handler.fire_event, "AfterTool", done)),
        (partial(session.before_model, request), partial(handler.fire_event, "BeforeModel", both)),
        (partial(session.after_model, request, told), partial(handler.fire_event, "AfterModel", both)),
        (partial(session.select_tools, request, ["a"]), partial(handler.fire_event, "BeforeToolSelection", both)),
        (partial(session.before_tool, "write_file", INPUT), partial(handler.fire_event, "BeforeTool", TOOL)),
    ]
    return max([await _difference(ours, bare) for ours, bare in pairs])


async def _difference(ours: Callable[[], Any], bare: Callable[[], Any]) -> float:
    differences = []
    for number in range(ROUNDS * 20):
        took = [0, 0]
        for which in (0, 1) if number % 2 else (1, 0):
            action = ours if which else bare
            begin = time.perf_counter_ns()
            for _ in range(10):
                await action()
            took[which] = time.perf_counter_ns() - begin
        differences.append((took[1] - took[0]) / 10)
    return median(differences) / 1000


def disabled(project: str) -> float:
    """Nanoseconds of the question whether there is a hook system."""
    config = Config(working_dir=project, session_id="bench", settings={"enableHooks": False})
    return _best(config.get_hook_system, 10_000) * 1000


async def planning(project: str) -> tuple[float, float]:
    """Microseconds to plan among 1,000 hooks, the first time for a tool and again."""
    handler = await handler_of(
        project, settings(*(group(f"hook-{number}", f"tool_{number}_") for number in range(1000)))
    )
    planner = handler._planner  # noqa: SLF001 - the step itself is measured
    planner.create_execution_plan(HookEventName.BEFORE_TOOL, "warm")
    first = []
    for number in range(60):
        begin = time.perf_counter_ns()
        planner.create_execution_plan(HookEventName.BEFORE_TOOL, f"tool_{number}_x")
        first.append((time.perf_counter_ns() - begin) / 1000)
    again = _best(lambda: planner.create_execution_plan(HookEventName.BEFORE_TOOL, "tool_7_x"), 1000)
    return median(first), again


async def logging(project: str) -> float:
    """Milliseconds of the log's thread for one event with 1 MB of source code, whose records have no secret."""
    entries: list[Any] = []

    class Sink:
        def write(self, entry: Any) -> None:
            entries.append(entry)

        def close(self) -> None:
            pass

    given = {**settings(group(HOOK)), "hooksConfig": {"log": {"enabled": False}}}
    config = Config(working_dir=project, session_id="bench", settings=given, log_sinks=[Sink()])
    system = config.get_hook_system()
    assert system is not None
    await system.initialize()
    ENDINGS.callback(system.dispose)
    code = Path(json.__file__).with_name("decoder.py").read_text()
    code = (code * (2**20 // len(code) + 1))[: 2**20]
    await system.get_event_handler().fire_before_tool_event("write_file", {"path": "x.py", "content": code})
    encoder = Encoder(64 * 1024, config.get_redactor())
    return _best(lambda: list(encoder.lines(entries[-1])), 5) / 1000


def merging() -> float:
    """Microseconds to merge the answers of 100 hooks."""
    entry = HookEntry(
        event=HookEventName.BEFORE_TOOL,
        source=ConfigSource.USER,
        origin="bench",
        location="hooks",
        run=CommandLine("x"),
    )
    answer = {"decision": "allow", "systemMessage": "fine", "hookSpecificOutput": {"tool_input": {"a": 1}}}
    results = [
        HookExecutionResult(hook=entry, event=entry.event, success=True, exit_code=0, answer=read_object(answer))
        for _ in range(100)
    ]
    aggregator = HookAggregator()
    return _best(lambda: aggregator.aggregate_results(results, HookEventName.BEFORE_TOOL), 20)


def start_up() -> tuple[float, float]:
    """Milliseconds of `hookline --help` and of `python -c pass`, interleaved."""
    command = str(Path(sys.executable).with_name("hookline"))
    spans: dict[str, list[float]] = {"help": [], "pass": []}
    for _ in range(ROUNDS // 3 + 1):
        for name, what in (("help", [command, "--help"]), ("pass", [sys.executable, "-c", "pass"])):
            begin = time.perf_counter()
            subprocess.run(what, check=True, stdout=subprocess.DEVNULL)
            spans[name].append((time.perf_counter() - begin) * 1000)
    return median(spans["help"]), median(spans["pass"])


def _best(action: Callable[[], Any], times: int) -> float:
    """Microseconds per call, the median of many batches."""
    spans = []
    for _ in range(50):
        begin = time.perf_counter_ns()
        for _ in range(times):
            action()
        spans.append((time.perf_counter_ns() - begin) / times)
    return median(spans) / 1000


async def main() -> None:
    """Prints every figure."""
    with tempfile.TemporaryDirectory() as project, ENDINGS:
        os.environ["HOOKLINE_STATE_DIR"] = project
        event_us = await event_above_runner(project)
        first, again = await planning(project)
        help_ms, pass_ms = start_up()
        p99, lost = await steady(project)
        figures = {
            "event_us": event_us,
            "without_match_us": await without_match(project),
            "function_us": await function_as_hook(project, _nothing),
            "function_inline_us": await function_as_hook(project, _plain_nothing, thread=False),
            "function_thread_us": await function_in_thread(project),
            "steady_p99_ms": p99,
            "steady_lost": lost,
            "neutral_us": await neutral(project),
            "disabled_ns": disabled(project),
            "planning_first_us": first,
            "planning_again_us": again,
            "logging_ms": await logging(project),
            "merging_us": merging(),
            "help_ms": help_ms,
            "pass_ms": pass_ms,
            "payload_bytes": len(stringify_json(INPUT)),
        }
    print(json.dumps(figures))


asyncio.run(main())
