"""Hooks of other agents, run unchanged: they are told, matched, timed and read as their own agent does it."""

import asyncio
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from hookline import Config, ToolResult, execute_tool_with_hooks

Groups = Sequence[Mapping[str, Any]]


def hook(command: str | Path, **keys: Any) -> dict[str, Any]:
    return {"type": "command", "command": str(command), **keys}


class Ran:
    """One tool call between its hooks, and what became of it."""

    def __init__(self, result: ToolResult, arguments: dict[str, Any] | None) -> None:
        self.result = result
        self.arguments = arguments
        """What the tool was run with; None when it was not."""

    @property
    def text(self) -> str:
        """What the model reads."""
        return str(self.result.llm_content)


def run(
    project: Path,
    dialect: str,
    hooks: Mapping[str, Groups],
    tool: str = "run_shell_command",
    arguments: Mapping[str, Any] | None = None,
    *,
    output: str = "fine",
    error: str | None = None,
) -> Ran:
    """Calls a tool in a project whose settings have these hooks in a dialect."""
    calls: list[dict[str, Any]] = []

    async def execute(given: dict[str, Any]) -> ToolResult:
        calls.append(given)
        return ToolResult(llm_content=output, return_display=output, error=error)

    settings = {"enableHooks": True, "dialect": dialect, "hooks": hooks}
    config = Config(settings=settings, working_dir=str(project))
    given = {"command": "make test"} if arguments is None else arguments
    result = asyncio.run(execute_tool_with_hooks(config, tool, given, execute))
    return Ran(result, calls[0] if calls else None)


def told(project: Path, dialect: str, event: str, *args: Any, **options: Any) -> dict[str, Any]:
    """What a hook for this event reads on stdin."""
    run(project, dialect, {event: [{"hooks": [hook("cat > told.json")]}]}, *args, **options)
    given: dict[str, Any] = json.loads((project / "told.json").read_text())
    return given


def test_a_hook_of_claude_code_is_told_its_words(project: Path) -> None:
    """The names that its script compares with, and a newline at the end."""
    given = told(project, "claude", "PreToolUse")
    assert (given["hook_event_name"], given["tool_name"]) == ("PreToolUse", "Bash")
    assert given["tool_input"] == {"command": "make test"}
    assert (project / "told.json").read_bytes().endswith(b"}\n")


GUARD = """#!/bin/sh
input=$(cat)
case $input in
  *'"tool_name":"Bash"'*rm\\ -rf*) echo "no rm -rf" >&2; exit 2 ;;
esac
"""


@pytest.mark.parametrize(("command", "runs"), [("rm -rf /", False), ("ls", True)])
def test_a_guard_that_compares_the_tool_name_guards(project: Path, hook_script: Any, command: str, runs: bool) -> None:
    """With our words it would let everything through."""
    ran = run(
        project,
        "claude",
        {"PreToolUse": [{"matcher": "Bash", "hooks": [hook(hook_script(GUARD))]}]},
        arguments={"command": command},
    )
    assert (ran.arguments is not None) is runs
    if not runs:
        assert "no rm -rf" in ran.text


def test_a_rewrite_is_whole(project: Path) -> None:
    """`updatedInput` takes the place of all arguments: a key that is left out is gone."""
    answer = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "ls"}}}
    ran = run(
        project,
        "claude",
        {"PreToolUse": [{"hooks": [hook(f"echo {shlex.quote(json.dumps(answer))}")]}]},
        arguments={"command": "rm x", "description": "removes"},
    )
    assert ran.arguments == {"command": "ls"}
