"""Puts hookline into another agent's own hook settings, and takes it out again; everything else there stays."""

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hookline.errors import HooklineError
from hookline.settings import jsonc
from hookline.settings.edit import add_to_list, edit_file, remove_from_list, set_value

# Ours is below the agent's: an answer that comes too late is none, and most agents go on then.
HOST_TIMEOUT_S = 60
DEADLINE_S = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """How one agent's settings hold a hook."""

    user_file: Callable[[], Path]
    project_file: str
    """Below the project's directory."""
    make: Callable[[str, str], dict[str, Any]]
    """An event of the agent and our command → the entry in the event's list."""
    events: tuple[str, ...]
    """The events that are installed unless others are asked for."""
    has_version: bool = False
    """Whether the file must say `"version": 1`."""


def _home(variable: str, folder: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / folder)


def _claude(event: str, command: str) -> dict[str, Any]:
    hook: dict[str, Any] = {"type": "command", "command": command, "timeout": HOST_TIMEOUT_S}
    # Without it a missing command or a timeout lets the tool run; Claude Code ignores it on Stop.
    if event in ("PreToolUse", "UserPromptSubmit"):
        hook["onFailure"] = "block"
    return {"hooks": [hook]}


def _codex(_event: str, command: str) -> dict[str, Any]:
    return {"hooks": [{"type": "command", "command": command, "timeout": HOST_TIMEOUT_S}]}


def _gemini(_event: str, command: str) -> dict[str, Any]:
    hook = {"name": "hookline", "type": "command", "command": command, "timeout": HOST_TIMEOUT_S * 1000}
    return {"hooks": [hook]}


def _cursor(event: str, command: str) -> dict[str, Any]:
    closed = {"failClosed": True} if event in ("preToolUse", "beforeSubmitPrompt") else {}
    return {"command": command, "timeout": HOST_TIMEOUT_S, **closed}


def _copilot(_event: str, command: str) -> dict[str, Any]:
    return {"type": "command", "bash": command, "timeoutSec": HOST_TIMEOUT_S}


_CLAUDE_EVENTS = ("PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop", "SessionStart", "SessionEnd", "PreCompact")
ENTRIES: Mapping[str, Entry] = {
    "claude": Entry(
        user_file=lambda: _home("CLAUDE_CONFIG_DIR", ".claude") / "settings.json",
        project_file=".claude/settings.json",
        make=_claude,
        # A tool that failed is an event of its own there.
        events=(*_CLAUDE_EVENTS, "PostToolUseFailure", "Notification"),
    ),
    "codex": Entry(
        user_file=lambda: _home("CODEX_HOME", ".codex") / "hooks.json",
        project_file=".codex/hooks.json",
        make=_codex,
        events=_CLAUDE_EVENTS,
    ),
    "gemini": Entry(
        user_file=lambda: Path.home() / ".gemini" / "settings.json",
        project_file=".gemini/settings.json",
        make=_gemini,
        events=(
            *("BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel"),
            *("BeforeToolSelection", "SessionStart", "SessionEnd", "PreCompress", "Notification"),
        ),
    ),
    "cursor": Entry(
        user_file=lambda: Path.home() / ".cursor" / "hooks.json",
        project_file=".cursor/hooks.json",
        make=_cursor,
        # Not the granular ones beside preToolUse, or every guard would be asked twice.
        events=("preToolUse", "postToolUse", "beforeSubmitPrompt", "stop", "sessionStart", "sessionEnd", "preCompact"),
        has_version=True,
    ),
    "copilot": Entry(
        user_file=lambda: _home("COPILOT_HOME", ".copilot") / "hooks" / "hookline.json",
        project_file=".github/hooks/hookline.json",
        make=_copilot,
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


def bridge_command(agent: str, event: str) -> str:
    """The command that an agent runs: by an absolute path, because its PATH may be another."""
    program = Path(sys.argv[0]).resolve() if Path(sys.argv[0]).name == "hookline" else None
    program = program or Path(sys.executable).with_name("hookline")
    words = [str(program), "bridge", agent, event, "--deadline", str(DEADLINE_S)]
    return shlex.join(words)


def install(agent: str, file: Path, events: Iterable[str]) -> list[str]:
    """Adds our command to the events of an agent's file and returns those to which it was added."""
    entry = ENTRIES[agent]
    added: list[str] = []

    def change(text: str) -> str:
        if entry.has_version and "version" not in _object(jsonc.parse(text)):
            text = set_value(text, ("version",), 1)
        for event in events:
            if event not in installed_in(jsonc.parse(text)):
                text = add_to_list(text, ("hooks", event), entry.make(event, bridge_command(agent, event)))
                added.append(event)
        return text

    edit_file(file, change)
    return added


def uninstall(file: Path) -> list[str]:
    """Removes our command from an agent's file and returns the events from which it was removed."""
    if not file.exists():
        return []
    removed: list[str] = []

    def change(text: str) -> str:
        for event, entries in installed_in(jsonc.parse(text)).items():
            for one in entries:
                text = remove_from_list(text, ("hooks", event), one)
            removed.append(event)
        return text

    edit_file(file, change)
    return removed


def installed(file: Path) -> Mapping[str, Sequence[Any]]:
    """Our entries in an agent's file, by event; HooklineError when the file can't be read."""
    try:
        text = file.read_bytes().decode("utf-8-sig")
        return installed_in(jsonc.parse(text))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise HooklineError(f"{file} can't be read ({error}); fix it first") from error


def installed_in(document: Any) -> dict[str, list[Any]]:
    """Our entries in an agent's settings, by event."""
    found: dict[str, list[Any]] = {}
    for event, entries in _object(_object(document).get("hooks")).items():
        own = [entry for entry in entries if _is_ours(entry)] if isinstance(entries, list) else []
        if own:
            found[event] = own
    return found


def _is_ours(entry: Any) -> bool:
    """Whether an entry runs our bridge and nothing else."""
    hooks = entry.get("hooks", [entry]) if isinstance(entry, dict) else []
    commands = [_object(hook).get("command") or _object(hook).get("bash") for hook in hooks]
    return bool(commands) and all(isinstance(command, str) and _runs_bridge(command) for command in commands)


def _runs_bridge(command: str) -> bool:
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    return len(words) > 1 and Path(words[0]).name == "hookline" and words[1] == "bridge"


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
