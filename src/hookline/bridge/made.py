"""A call of a transcript → the events that the agent's hook command would have been asked about."""

import shlex
from collections.abc import Mapping
from typing import Any

from hookline.bridge.judge import hosts
from hookline.errors import HooklineError
from hookline.history.made import MadeCall
from hookline.history.transcripts import OWN

_SHELLS = ("bash", "sh", "zsh")


def questions_of(call: MadeCall) -> tuple[Mapping[str, Any], ...]:
    """`tool_name` and `tool_input` of each BeforeTool event, in our words: a patch of three files is three."""
    own = {"tool_name": call.tool, "tool_input": dict(call.arguments)}
    if call.agent == OWN:
        return (own,)
    host = hosts()[call.agent]
    if call.agent == "codex":
        own = _as_codex_asks(call)
    event = next(theirs for theirs, ours in host.events.items() if ours == "BeforeTool")
    try:
        heard = host.hear({**own, "hook_event_name": event, "session_id": call.session, "cwd": call.cwd}, event)
    except HooklineError:  # without the name of a tool, for example
        return (own,)
    return heard.questions or (own,)


def _as_codex_asks(call: MadeCall) -> dict[str, Any]:
    """Its transcripts and its hooks have different words for the same tools."""
    arguments = call.arguments
    if isinstance(command := arguments.get("cmd", arguments.get("command")), str | list):
        return {"tool_name": "Bash", "tool_input": {"command": _one_command(command)}}
    if call.tool == "apply_patch":
        return {"tool_name": call.tool, "tool_input": {"command": arguments.get("input", "")}}
    return {"tool_name": call.tool, "tool_input": dict(arguments)}


def _one_command(command: str | list[Any]) -> str:
    if isinstance(command, str):
        return command
    match command:
        case [str(shell), "-c" | "-lc", str(script)] if shell.rpartition("/")[2] in _SHELLS:
            return script
        case _:
            return shlex.join(map(str, command))
