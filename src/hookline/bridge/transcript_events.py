"""Convert a tool call of a transcript into the events that the agent's hook command would have received."""

import shlex
from collections.abc import Mapping
from typing import Any

from hookline.bridge.agents import HOSTS
from hookline.dialects.transcripts.find import OWN
from hookline.dialects.transcripts.tool_call import MadeCall
from hookline.errors import HooklineError

_SHELLS = ("bash", "sh", "zsh")


def events_for_call(call: MadeCall) -> tuple[Mapping[str, Any], ...]:
    """Return `tool_name` and `tool_input` of each BeforeTool event: a patch of three files is three events."""
    own = {"tool_name": call.tool, "tool_input": dict(call.arguments)}
    if call.agent == OWN:
        return (own,)
    host = HOSTS[call.agent]
    if call.agent == "codex":
        own = _as_codex_asks(call)
    event = next(native_event for native_event, ours in host.events.items() if ours == "BeforeTool")
    try:
        request = host.parse_request(
            {**own, "hook_event_name": event, "session_id": call.session, "cwd": call.cwd}, event
        )
    except HooklineError:  # without the name of a tool, for example
        return (own,)
    return request.questions or (own,)


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
