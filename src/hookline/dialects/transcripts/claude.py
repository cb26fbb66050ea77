"""Transcripts of Claude Code: ~/.claude/projects/PROJECT/SESSION.jsonl, checked with 2.1.325.

A subagent has its own, PROJECT/SESSION/subagents/agent-ID.jsonl, with the session's id in its records.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from hookline.dialects.transcripts.lines import JsonLines, arguments_of, mapping, text
from hookline.dialects.transcripts.tool_call import Fate, MadeCall, Transcript


def read(path: Path) -> Transcript:
    """The calls of one transcript, in order."""
    calls: dict[str, MadeCall] = {}
    lines = JsonLines(path)
    for number, line in lines:
        for block in _blocks(line):
            if block.get("type") == "tool_use":
                call = _call(line, block, path, number)
                calls[call.id] = call
            elif block.get("type") == "tool_result" and (known := calls.get(text(block.get("tool_use_id")))):
                calls[known.id] = _ended(known, line)
    return Transcript(calls=tuple(calls.values()), unread=lines.unread)


def _blocks(line: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    content = mapping(line.get("message")).get("content")
    yield from (block for block in (content if isinstance(content, list) else ()) if isinstance(block, Mapping))


def _call(line: Mapping[str, Any], block: Mapping[str, Any], path: Path, number: int) -> MadeCall:
    origin = f"{path}:{number}"
    return MadeCall(
        agent="claude",
        session=text(line.get("sessionId")) or _session_of(path),
        id=text(block.get("id")) or origin,
        tool=text(block.get("name")),
        arguments=arguments_of(block.get("input")),
        fate=Fate.OPEN,
        time=text(line.get("timestamp")),
        cwd=text(line.get("cwd")),
        version=text(line.get("version")),
        origin=origin,
    )


def _ended(call: MadeCall, line: Mapping[str, Any]) -> MadeCall:
    decision = mapping(line.get("permissionDecision")).get("decision")
    is_refused = decision == "reject" or line.get("toolDenialKind") is not None
    return replace(call, fate=Fate.REFUSED if is_refused else Fate.RAN)


def _session_of(path: Path) -> str:
    """The session that a transcript's place names."""
    folders = path.parts
    return folders[folders.index("subagents") - 1] if "subagents" in folders else path.stem
