"""A lack of file descriptors loses no block: if hookline can't load or start a module or process, the call is refused.

One process for each step at which descriptors run out: a step is an import, an open file, or a started process.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = r"""
import asyncio, json, os, resource, sys

from hookline import (
    Config, GenerateContentParameters, Hooks, ToolResult, execute_tool_with_hooks, fire_before_model_hook,
)

path, kind, on_fault, project, stride = sys.argv[1:]
STEPS = {"open", "import", "os.listdir", "os.scandir", "os.fork", "os.posix_spawn", "subprocess.Popen"}
step = last = -1  # -1: steps are not counted
taken = []

def use_up_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    try:
        while True:
            taken.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass

def count(event, arguments):
    global step
    if step >= 0 and event in STEPS:
        step += 1
        if step > last:
            step = -1
            use_up_descriptors()

async def attempt():
    global step
    ran = []
    hook = {"hooks": [{"type": "command", "command": "echo denied >&2; exit 2"}]}
    events = dict.fromkeys(("BeforeTool", "BeforeModel"), [hook]) if kind == "command" else {}
    settings = {"enableHooks": True, "hooks": events, "hooksConfig": {"onFault": on_fault}}
    config = Config(project, settings=settings)
    if kind == "function":
        for event in ("BeforeTool", "BeforeModel"):
            config.add_hook(event, lambda event: {"decision": "deny", "reason": "denied"}, thread=False)

    async def run(arguments):
        ran.append(1)
        return ToolResult(llm_content="ran")
    hooks = Hooks(project, settings=settings) if path == "session" else None

    step = 0
    if path == "tool":
        reason = (await execute_tool_with_hooks(config, "t", {}, run)).llm_content
    elif path == "session":
        with hooks:
            reason = (await hooks.session().run_tool("t", {}, run)).llm_content
    else:
        result = await fire_before_model_hook(config, GenerateContentParameters(model="m", contents="hi"))
        reason = result.reason if result.blocked else "ran"
    return "ran" if ran else reason

def outcome():
    try:
        return asyncio.run(attempt())
    except BaseException as error:
        return f"raised {error!r}"

sys.addaudithook(count)
outcomes = {}
while True:
    readable, writable = os.pipe()
    if os.fork() == 0:
        result = outcome()
        for descriptor in taken:
            os.close(descriptor)
        os.write(writable, json.dumps([result, bool(taken)]).encode())
        os._exit(0)
    os.close(writable)
    with open(readable, "rb") as pipe:
        result, is_short = json.load(pipe)
    os.wait()
    outcomes[last + 1 if is_short else "never"] = result
    if not is_short:
        break
    last += int(stride)
print(json.dumps(outcomes))
"""


def outcomes(project: Path, path: str, kind: str, on_fault: str, stride: int) -> dict[str, Any]:
    """Map each step at which descriptors ran out to the reason of the refusal, "ran", or the exception."""
    command = [sys.executable, "-c", PROGRAM, path, kind, on_fault, str(project), str(stride)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.req("DELTA-GUARD-006")
@pytest.mark.attack("30.F12", "descriptors run out at any step of a call")
@pytest.mark.timeout(160)
@pytest.mark.parametrize(
    ("path", "kind", "stride"),
    [
        ("tool", "command", 15),
        ("tool", "function", 3),
        ("session", "command", 40),
        ("model", "command", 40),
        ("model", "function", 6),
    ],
)
def test_a_call_is_refused_at_whatever_step_descriptors_run_out(
    project: Path, path: str, kind: str, stride: int
) -> None:
    """No exception reaches the caller, nothing runs, and a block that was decided stands."""
    found = outcomes(project, path, kind, "block", stride)
    assert len(found) > 3
    # Python reports a module as missing if it can't list the module's folder.
    fault = r"hookline failed while \w+ \((OSError|ImportError|ModuleNotFoundError)\)"
    known = re.compile(rf"denied$|{fault}|.*could not be started: Too many open files")
    assert [reason for reason in found.values() if not known.match(reason)] == []
