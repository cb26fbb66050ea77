"""Transcripts of Codex: ~/.codex/sessions/YEAR/MONTH/DAY/rollout-*.jsonl, checked with 0.166.0."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from hookline.dialects.transcripts.lines import JsonLines, arguments_of, mapping, text
from hookline.dialects.transcripts.tool_call import Fate, MadeCall, Transcript

_REFUSALS = ("Command blocked by PreToolUse hook", "Tool call blocked by PreToolUse hook")
_CALLS = ("function_call", "custom_tool_call", "local_shell_call")


def read(path: Path) -> Transcript:
    """The calls of one transcript, in order."""
    calls: dict[str, MadeCall] = {}
    session: Mapping[str, Any] = {}
    lines = JsonLines(path)
    for number, line in lines:
        payload = mapping(line.get("payload"))
        kind = text(payload.get("type"))
        if line.get("type") == "session_meta":
            session = payload
        elif kind in _CALLS:
            call = _call(session, line, payload, f"{path}:{number}")
            calls[call.id] = call
        elif kind.endswith("_output") and (known := calls.get(text(payload.get("call_id")))):
            calls[known.id] = replace(known, fate=_fate(payload.get("output")))
    return Transcript(calls=tuple(calls.values()), unread=lines.unread)


def _call(session: Mapping[str, Any], line: Mapping[str, Any], payload: Mapping[str, Any], origin: str) -> MadeCall:
    return MadeCall(
        agent="codex",
        session=text(session.get("id")),
        id=text(payload.get("call_id")) or origin,
        tool=text(payload.get("name")) or "local_shell",
        arguments=_arguments(payload),
        fate=Fate.OPEN,
        time=text(line.get("timestamp")),
        cwd=text(session.get("cwd")),
        version=text(session.get("cli_version")),
        origin=origin,
    )


def _arguments(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    if "arguments" in payload:
        try:
            return arguments_of(json.loads(payload["arguments"]))
        except (TypeError, ValueError, RecursionError):
            return arguments_of(payload["arguments"])
    if "action" in payload:
        return arguments_of(payload["action"])
    return {"input": text(payload.get("input"))}


def _fate(output: Any) -> Fate:
    message = text(output) or text(mapping(output).get("content"))
    return Fate.REFUSED if message.startswith(_REFUSALS) else Fate.RAN
