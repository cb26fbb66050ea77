"""How each agent's settings hold a hook: which file, which keys, which units, which events."""

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hookline.dialects.files import agent_home

HOST_TIMEOUT_S = 60
SHELL = "/bin/sh"
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
    closed: Callable[[str, str], str]
    """An event of the agent and our command → the same in a shell, which says no when it is missing or crashes."""
    has_version: bool = False
    """Whether the file must say `"version": 1`."""
    reads_comments: bool = False
    """Whether the agent reads a file with comments; the others ignore all of it."""


def _home(variable: str, folder: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / folder)


def _exit_2(*events: str) -> Callable[[str, str], str]:
    """Exit code 2 at these events; elsewhere it could make the agent go on with its turn."""
    return lambda event, command: f"{command} || exit 2" if event in events else command


def _in_sh(*events: str) -> Callable[[str, str], str]:
    """The same with a text on stderr, and in any shell: Codex wants the one and runs commands in the user's.

    fish stops at a command that is missing, and zsh says nothing about one that was killed.
    """
    script = shlex.quote('"$0" "$@" || { [ $? = 2 ] || echo "hookline did not run" >&2; exit 2; }')
    return lambda event, command: f"{SHELL} -c {script} {command}" if event in events else command


def _refuse_prompt(event: str, command: str) -> str:
    """Copilot CLI takes any failure for a no at a tool, and only warns at a prompt: there it needs an answer."""
    answer = '{"decision": "block", "reason": "hookline did not run; try: hookline bridge status copilot"}'
    return f"{command} || echo '{answer}'" if event == "userPromptSubmitted" else command


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
        closed=_exit_2("PreToolUse", "UserPromptSubmit"),
        # A tool that failed has a separate event there.
        events=(*_CLAUDE_EVENTS, "PostToolUseFailure", "Notification"),
    ),
    "codex": Entry(
        user_file=lambda: agent_home("codex", os.environ) / "hooks.json",
        project_file=".codex/hooks.json",
        make=_codex,
        closed=_in_sh("PreToolUse", "UserPromptSubmit"),
        events=_CLAUDE_EVENTS,
    ),
    "gemini": Entry(
        user_file=lambda: agent_home("gemini", os.environ) / "settings.json",
        project_file=".gemini/settings.json",
        make=_gemini,
        closed=_exit_2("BeforeTool", "BeforeAgent", "BeforeModel"),
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
        closed=_exit_2("preToolUse", "beforeSubmitPrompt"),
        # Not the granular ones beside preToolUse, or every guard would be asked twice.
        events=("preToolUse", "postToolUse", "beforeSubmitPrompt", "stop", "sessionStart", "sessionEnd", "preCompact"),
        has_version=True,
    ),
    "copilot": Entry(
        user_file=lambda: _home("COPILOT_HOME", ".copilot") / "hooks" / "hookline.json",
        project_file=".github/hooks/hookline.json",
        make=_copilot,
        closed=_refuse_prompt,
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
