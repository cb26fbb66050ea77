"""A lack of descriptors loses no block: what hookline can't load or start then is a refusal where faults block."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = r"""
import asyncio, json, os, resource, sys

from hookline import (
    Config, GenerateContentParameters, Hooks, ToolResult, execute_tool_with_hooks, fire_before_model_hook,
)

path, kind, project = sys.argv[1:]
hook = {"hooks": [{"type": "command", "command": "true"}]}
events = dict.fromkeys(("BeforeTool", "BeforeModel"), [hook]) if kind == "command" else {}
config = Config(project, settings={"enableHooks": True, "hooks": events, "hooksConfig": {"onFault": "block"}})
if kind == "function":
    for event in ("BeforeTool", "BeforeModel"):
        config.add_hook(event, lambda event: {"decision": "deny", "reason": "denied"}, thread=False)
taken = []

async def run(arguments):
    return ToolResult(llm_content="ran")

async def main():
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    try:
        while True:
            taken.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass
    if path == "tool":
        return (await execute_tool_with_hooks(config, "t", {}, run)).llm_content != "ran"
    return (await fire_before_model_hook(config, GenerateContentParameters(model="m", contents="hi"))).blocked

is_refused = asyncio.run(main())
for descriptor in taken:
    os.close(descriptor)
print(json.dumps(is_refused))
"""


@pytest.mark.req("DELTA-GUARD-006")
@pytest.mark.attack("30.F12", "no descriptors are left when a guard has to be asked")
@pytest.mark.parametrize("kind", ["command", "function"])
@pytest.mark.parametrize("path", ["tool", "model"])
def test_without_descriptors_the_call_is_refused(project: Path, path: str, kind: str) -> None:
    """No exception reaches the caller, and a block that was decided stands."""
    command = [sys.executable, "-c", PROGRAM, path, kind, str(project)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=45, check=False)
    assert (done.returncode, done.stdout) == (0, f"{json.dumps(obj=True)}\n"), done.stderr
