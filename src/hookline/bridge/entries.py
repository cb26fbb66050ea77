"""How each agent's settings hold a hook: which file, which keys, which units, which events."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hookline.dialects.files import agent_home

HOST_TIMEOUT_S = 60
OTHERWISE = " || "
"""Between our command and what the shell does if it fails."""
# Codex gives it no more.
_SHORT_TIMEOUTS_S = {("codex", "SessionEnd"): 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """How one agent's settings hold a hook."""

    user_file: Callable[[], Path]
    project_file: str
    """Below the project's directory."""
    make: Callable[[str, str, int], dict[str, Any]]
    """An event of the agent, our command and its timeout in seconds → the entry in the event's list."""
    events: tuple[str, ...]
    """The events that are installed unless others are asked for."""
    otherwise: Callable[[str], str]
    """An event of the agent → what follows our command in the shell, for when it is missing or crashes."""
    has_version: bool = False
    """Whether the file must say `"version": 1`."""
    reads_comments: bool = False
    """Whether the agent reads a file with comments; the others ignore all of it."""


def _home(variable: str, folder: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / folder)


def _exit_2(*events: str) -> Callable[[str], str]:
    """Makes every failure of our command a no at these events; elsewhere exit code 2 could make the agent go on.

    Every shell has to understand it: Codex runs commands in the person's own, which may be fish or tcsh.
    """
    return lambda event: f"{OTHERWISE}exit 2" if event in events else ""


def _refuse_prompt(event: str) -> str:
    """Copilot CLI takes any failure for a no at a tool, and only warns at a prompt: there it needs an answer."""
    answer = '{"decision": "block", "reason": "hookline did not run; try: hookline bridge status copilot"}'
    return f"{OTHERWISE}echo '{answer}'" if event == "userPromptSubmitted" else ""


def _claude(event: str, command: str, timeout_s: int) -> dict[str, Any]:
    hook: dict[str, Any] = {"type": "command", "command": command, "timeout": timeout_s}
    # Without it a missing command or a timeout lets the tool run; Claude Code ignores it on Stop.
    if event in ("PreToolUse", "UserPromptSubmit"):
        hook["onFailure"] = "block"
    return {"hooks": [hook]}


def _codex(_event: str, command: str, timeout_s: int) -> dict[str, Any]:
    return {"hooks": [{"type": "command", "command": command, "timeout": timeout_s}]}


def _gemini(_event: str, command: str, timeout_s: int) -> dict[str, Any]:
    hook = {"name": "hookline", "type": "command", "command": command, "timeout": timeout_s * 1000}
    return {"hooks": [hook]}


def _cursor(event: str, command: str, timeout_s: int) -> dict[str, Any]:
    closed = {"failClosed": True} if event in ("preToolUse", "beforeSubmitPrompt") else {}
    return {"command": command, "timeout": timeout_s, **closed}


def _copilot(_event: str, command: str, timeout_s: int) -> dict[str, Any]:
    return {"type": "command", "bash": command, "timeoutSec": timeout_s}


_CLAUDE_EVENTS = ("PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop", "SessionStart", "SessionEnd", "PreCompact")
ENTRIES: Mapping[str, Entry] = {
    "claude": Entry(
        user_file=lambda: agent_home("claude", os.environ) / "settings.json",
        project_file=".claude/settings.json",
        make=_claude,
        otherwise=_exit_2("PreToolUse", "UserPromptSubmit"),
        # A tool that failed is an event of its own there.
        events=(*_CLAUDE_EVENTS, "PostToolUseFailure", "Notification"),
    ),
    "codex": Entry(
        user_file=lambda: agent_home("codex", os.environ) / "hooks.json",
        project_file=".codex/hooks.json",
        make=_codex,
        otherwise=_exit_2("PreToolUse", "UserPromptSubmit"),
        events=_CLAUDE_EVENTS,
    ),
    "gemini": Entry(
        user_file=lambda: agent_home("gemini", os.environ) / "settings.json",
        project_file=".gemini/settings.json",
        make=_gemini,
        otherwise=_exit_2("BeforeTool", "BeforeAgent", "BeforeModel"),
        reads_comments=True,
        events=(
            *("BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel"),
            *("BeforeToolSelection", "SessionStart", "SessionEnd", "PreCompress", "Notification"),
        ),
    ),
    "cursor": Entry(
        user_file=lambda: Path.home() / ".cursor" / "hooks.json",
        project_file=".cursor/hooks.json",
        make=_cursor,
        otherwise=_exit_2("preToolUse", "beforeSubmitPrompt"),
        # Not the granular ones beside preToolUse, or every guard would be asked twice.
        events=("preToolUse", "postToolUse", "beforeSubmitPrompt", "stop", "sessionStart", "sessionEnd", "preCompact"),
        has_version=True,
    ),
    "copilot": Entry(
        user_file=lambda: _home("COPILOT_HOME", ".copilot") / "hooks" / "hookline.json",
        project_file=".github/hooks/hookline.json",
        make=_copilot,
        otherwise=_refuse_prompt,
        events=(
            *("preToolUse", "postToolUse", "postToolUseFailure", "userPromptSubmitted", "agentStop"),
            *("sessionStart", "sessionEnd", "preCompact"),
        ),
        has_version=True,
    ),
}


def settings_file(agent: str, project: Path | None) -> Path:
    """The agent's own settings file: the user's, or that of a project."""
    entry = ENTRIES[agent]
    return entry.user_file() if project is None else project / entry.project_file


def host_timeout_s(agent: str, event: str) -> int:
    """How long the agent waits for our command."""
    return _SHORT_TIMEOUTS_S.get((agent, event), HOST_TIMEOUT_S)
