"""Counts what one event with one real hook takes: calls of hookline's functions, and changes of module.

The hook of the BeforeTool event is a shell script that answers `{"decision": "allow"}`; that of the BeforeModel event,
which has three contents, changes the model and the temperature. The event is fired a few times first, so that nothing
is imported, compiled or planned any more, and then under `sys.setprofile`, which sees the thread of the event loop only
(not the log's writer). Of several events the one with the fewest calls counts: a busy machine adds turns of the loop.

    calls            how often a Python function of hookline is entered. A coroutine that continues after waiting is not
                     entered again; a comprehension, which Python 3.11 runs as a separate function, and a lambda
                     are not counted. The number "with resumes" also counts each continued coroutine.
    module changes   the modules of these calls in their order; each one that differs from the one before it is a
                     change. Functions of others (asyncio, msgspec, the standard library) are passed over.
    with returns     the same when a return to the calling module, or a continued coroutine, is also a change.
"""

import argparse
import asyncio
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Awaitable, Callable
from itertools import groupby
from pathlib import Path
from textwrap import fill
from types import FrameType
from typing import Any

import hookline
from hookline import Config, ToolResult, execute_tool_with_hooks, fire_before_model_hook
from hookline.protocol.llm import GenerateContentParameters

PACKAGE = str(Path(hookline.__file__).parent) + os.sep
WARM_EVENTS = 5
COUNTED_EVENTS = 50

Fire = Callable[[Config], Awaitable[object]]


class Trace:
    """Follows hookline's functions on this thread; pass it to `sys.setprofile`."""

    def __init__(self) -> None:
        self.resumes = 0
        """How often a coroutine continued after waiting."""
        self.calls: list[str] = []
        """The functions that were entered, each with its module."""
        self.passed: list[str] = []
        """The module after each call and each return."""
        self._frames: set[FrameType] = set()
        self._stack: list[str] = []

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        """Takes a call or a return; those of C functions, and of others, are passed over."""
        file = frame.f_code.co_filename
        if event not in ("call", "return") or not file.startswith(PACKAGE):
            return
        module = file[len(PACKAGE) :].removesuffix(".py").replace(os.sep, ".")
        if event == "call":
            self._stack.append(module)
            self.passed.append(module)
            # A frame that was seen before is a coroutine that continues.
            self.resumes += frame in self._frames
            if frame not in self._frames and not frame.f_code.co_name.startswith("<"):
                self.calls.append(f"{module}.{frame.f_code.co_name}")
            self._frames.add(frame)
        elif self._stack:
            self._stack.pop()
            self.passed += self._stack[-1:]

    @property
    def modules(self) -> list[str]:
        """The modules of the calls, none twice in a row."""
        return [module for module, _ in groupby(call.rpartition(".")[0] for call in self.calls)]

    def __str__(self) -> str:
        changes, with_returns = len(self.modules) - 1, len(list(groupby(self.passed))) - 1
        calls = f"{len(self.calls)} calls ({len(self.calls) + self.resumes} with resumes)"
        counts = f"{calls}, {changes} module changes ({with_returns} with returns)"
        return f"{counts}, {len(set(self.modules))} modules"


async def through_the_door(config: Config) -> None:
    """The event as an agent fires it: around a tool that does nothing."""

    async def tool(_: dict[str, Any]) -> ToolResult:
        return DONE

    await execute_tool_with_hooks(config, "write_file", ARGUMENTS, tool)


async def through_the_handler(config: Config) -> None:
    """The event alone."""
    system = config.get_hook_system()
    assert system is not None  # noqa: S101 - the settings enable hooks
    await system.get_event_handler().fire_before_tool_event("write_file", ARGUMENTS)


async def before_a_model_call(config: Config) -> None:
    """A model request with its hook's changes, as an agent gets it."""
    result = await fire_before_model_hook(config, REQUEST)
    assert result.modified_request is not None  # noqa: S101 - the hook changes the model


REQUEST = GenerateContentParameters(
    model="gemini-pro",
    contents=[
        {"role": "user", "parts": [{"text": "Say hello."}]},
        {"role": "model", "parts": [{"text": "Hello."}]},
        {"role": "user", "parts": [{"text": "Once more."}]},
    ],
    config={"temperature": 1.0},
)
CHANGES = {"model": "gemini-flash", "config": {"temperature": 0.5}}
ARGUMENTS = {"file_path": "a.txt", "content": "hello"}
DONE = ToolResult(llm_content="done")


async def trace(config: Config, fire: Fire) -> Trace:
    """Fires the event until it is warm, then some more times, and gives the trace with the fewest calls."""
    for _ in range(WARM_EVENTS):
        await fire(config)
    traces = []
    for _ in range(COUNTED_EVENTS):
        traces.append(Trace())
        sys.setprofile(traces[-1])
        await fire(config)
        sys.setprofile(None)
    return min(traces, key=lambda one: len(one.calls))


def make_config(directory: Path) -> Config:
    """A project with one hook for each of both events, and its log in a file as usual."""
    allow = _hook(directory / "allow.sh", {"decision": "allow"})
    change = _hook(directory / "change.sh", {"hookSpecificOutput": {"llm_request": CHANGES}})
    settings = {
        "enableHooks": True,
        "hooks": {"BeforeTool": [{"matcher": "write_.*", "hooks": [allow]}], "BeforeModel": [{"hooks": [change]}]},
        "hooksConfig": {"log": {"path": str(directory / "hooks.jsonl")}},
    }
    return Config(directory, settings=settings)


def _hook(script: Path, answer: object) -> dict[str, str]:
    """The settings of a hook that prints this answer."""
    script.write_text(f"#!/bin/sh\nprintf %s {shlex.quote(json.dumps(answer))}\n")
    script.chmod(0o700)
    return {"type": "command", "command": shlex.quote(str(script))}


async def main(arguments: list[str] | None = None) -> None:
    """Prints the traces."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", action="store_true", help="also list the functions")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        config = make_config(Path(directory))
        for title, fire in (
            ("execute_tool_with_hooks", through_the_door),
            ("HookEventHandler.fire_before_tool_event", through_the_handler),
            ("fire_before_model_hook", before_a_model_call),
        ):
            seen = await trace(config, fire)
            print(f"{title}: {seen}\n")
            print(fill(" > ".join(seen.modules), 118, initial_indent="  ", subsequent_indent="  "), end="\n\n")
            if options.calls:
                print("".join(f"  {number:>3}  {call}\n" for number, call in enumerate(seen.calls, start=1)))
        if (system := config.get_hook_system()) is not None:
            system.dispose()


if __name__ == "__main__":
    asyncio.run(main())
