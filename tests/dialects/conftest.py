"""Tool calls between hooks of other agents, which are scripts as their users write them."""

import asyncio
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hookline import Config, ToolResult, execute_tool_with_hooks
from hookline.log.write.logger import MemorySink
from hookline.runners.background import BACKGROUND


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """The outcome of one tool call."""

    result: ToolResult
    arguments: dict[str, Any] | None
    """The arguments that the tool ran with; None if it did not run."""
    asked: tuple[str, ...]
    """The reasons for which the user was asked."""
    messages: tuple[str, ...]
    """The records of the log."""

    @property
    def text(self) -> str:
        """The text that the model reads."""
        return str(self.result.llm_content)

    @property
    def did_run(self) -> bool:
        """Whether the tool was run."""
        return self.arguments is not None


Call = Callable[..., Called]


@pytest.fixture
def call(project: Path) -> Call:
    """Calls a tool in a project whose settings have hooks in a dialect: one script, or several for the same event."""

    def run(
        dialect: str,
        event: str,
        script: str | list[str],
        tool: str = "run_shell_command",
        arguments: Mapping[str, Any] | None = None,
        *,
        matcher: str | None = None,
        output: str = "fine",
        error: str | None = None,
        **keys: Any,
    ) -> Called:
        given = {"command": "make test"} if arguments is None else arguments
        scripts = [script] if isinstance(script, str) else script
        listed = [{"type": "command", "command": command_of(project, one), **keys} for one in scripts]
        group = {"hooks": listed, **({} if matcher is None else {"matcher": matcher})}
        return asyncio.run(between(project, dialect, {event: [group]}, tool, given, output=output, error=error))

    return run


def command_of(project: Path, script: str) -> str:
    """The command for a script: itself, or the file that it is written to when it begins with `#!`."""
    if not script.startswith("#!"):
        return script
    path = project / ".claude" / "hooks" / ("hook.py" if "python" in script.partition("\n")[0] else "hook.sh")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return f'"$CLAUDE_PROJECT_DIR"/.claude/hooks/{path.name}'


async def between(
    project: Path,
    dialect: str,
    hooks: Mapping[str, Any],
    tool: str,
    arguments: Mapping[str, Any],
    *,
    output: str = "fine",
    error: str | None = None,
) -> Called:
    """One call between these hooks."""
    calls: list[dict[str, Any]] = []
    asked: list[str] = []
    log = MemorySink()

    async def execute(given: dict[str, Any]) -> ToolResult:
        calls.append(given)
        return ToolResult(llm_content=output, return_display=output, error=error)

    async def on_ask(reason: str, _arguments: Mapping[str, Any]) -> bool:
        asked.append(str(reason))
        return False

    settings = {"enableHooks": True, "dialect": dialect, "hooks": hooks}
    config = Config(settings=settings, working_dir=str(project), log_sinks=[log])
    result = await execute_tool_with_hooks(config, tool, arguments, execute, on_ask=on_ask)
    await asyncio.to_thread(BACKGROUND.join, 10)
    if (system := config.get_hook_system()) is not None:
        system.dispose()
    messages = tuple(record.message for record in log.records)
    return Called(result=result, arguments=calls[0] if calls else None, asked=tuple(asked), messages=messages)
