import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hookline import Config, fire_before_tool_hook

# In a separate program, because other tests leave threads and processes behind that would be seen here.
PROBE = """\
import json
import os
import resource
import sys
import threading

from hookline import (
    Config, GenerateContentParameters, ToolResult, execute_tool_with_hooks, fire_after_model_hook, fire_after_tool_hook,
    fire_before_model_hook, fire_before_tool_hook, fire_before_tool_selection_hook,
)

project, settings = sys.argv[1], json.loads(sys.argv[2])
touched, is_watching = [], False
WATCHED = {"open", "os.listdir", "os.scandir", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "subprocess.Popen"}


def watch(event, arguments):
    if is_watching and event in WATCHED and threading.current_thread() is threading.main_thread():
        touched.append(f"{event} {arguments[:1]}")


sys.addaudithook(watch)
config = Config(project, settings=settings)
request = GenerateContentParameters(model="m", contents=["hi"])
done = ToolResult(llm_content="done")


async def tool(arguments):
    return done


def fire_all():
    for coroutine in (
        fire_before_tool_hook(config, "ls", {}),
        fire_after_tool_hook(config, "ls", {}, {}),
        execute_tool_with_hooks(config, "ls", {}, tool),
        fire_before_model_hook(config, request),
        fire_after_model_hook(config, request, done),
        fire_before_tool_selection_hook(config, request),
    ):
        name = coroutine.__name__
        try:
            coroutine.send(None)
        except StopIteration:
            continue
        touched.append(f"{name} yields")
        coroutine.close()


for _ in range(3):  # what is loaded, planned and logged once
    fire_all()
touched.clear()
faults = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
is_watching = True
fire_all()
is_watching = False
if resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt != faults:
    touched.append("a process has ended")
try:
    os.waitpid(-1, os.WNOHANG)
    touched.append("a process was started")
except ChildProcessError:
    pass
print(json.dumps(touched))
"""


def group(command: str, **options: Any) -> dict[str, Any]:
    return {"matcher": options.pop("matcher", "*"), "hooks": [{"type": "command", "command": command, **options}]}


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(
            {"enableHooks": False, "hooks": {"BeforeTool": [group("touch ran")]}},
            id="hooks disabled",
            marks=pytest.mark.req("HOOK-010", "HOOK-013"),
        ),
        pytest.param({"enableHooks": True}, id="no hook", marks=pytest.mark.req("HOOK-011", "HOOK-013")),
        pytest.param(
            {"enableHooks": True, "hooks": {"SessionStart": [group("touch ran")]}},
            id="another event",
            marks=pytest.mark.req("HOOK-011", "HOOK-013"),
        ),
        pytest.param(
            {
                "enableHooks": True,
                "hooks": {event: [group("touch ran", matcher="write")] for event in ("BeforeTool", "AfterTool")},
            },
            id="no match",
            marks=pytest.mark.req("HOOK-012", "HOOK-013"),
        ),
        pytest.param(
            {"enableHooks": True, "hooks": {"BeforeTool": [group("touch ran", enabled=False)]}},
            id="hook disabled",
            marks=pytest.mark.req("HOOK-012", "HOOK-013"),
        ),
    ],
)
def test_where_no_hook_runs_nothing_is_started_opened_or_awaited(project: Path, settings: dict[str, Any]) -> None:
    """A trigger without a hook to run starts no process, opens no file and returns without yielding to the loop."""
    command = [sys.executable, "-c", PROBE, str(project), json.dumps(settings)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert json.loads(done.stdout) == []
    assert list(project.iterdir()) == []


class WatchedArguments(dict[str, Any]):
    """Arguments that count how often they are read."""

    reads = 0

    def items(self) -> Any:
        """Count the call."""
        self.reads += 1
        return super().items()


@pytest.mark.req("HOOK-011")
@pytest.mark.parametrize(("event", "is_read"), [("AfterTool", False), ("BeforeTool", True)])
def test_where_no_hook_is_configured_no_input_is_built(project: Path, event: str, is_read: bool) -> None:
    """The input of a hook is put together only if there is a hook to run."""
    config = Config(project, settings={"enableHooks": True, "hooks": {event: [group("true")]}})
    arguments = WatchedArguments(path="a")
    asyncio.run(fire_before_tool_hook(config, "ls", arguments))
    assert (arguments.reads > 0) is is_read
