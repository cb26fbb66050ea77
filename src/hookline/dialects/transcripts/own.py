"""Transcripts of hookline's own agent: sessions/SESSION.jsonl in the state directory."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hookline.dialects.transcripts.lines import JsonLines, mapping, text
from hookline.dialects.transcripts.tool_call import Fate, MadeCall, Transcript

_FATES = {"success": Fate.RAN, "error": Fate.RAN, "idle": Fate.REFUSED, "cancelled": Fate.REFUSED}


def read(path: Path) -> Transcript:
    """The calls of one session, in order."""
    calls: list[MadeCall] = []
    project, lines = "", JsonLines(path)
    for number, line in lines:
        if line.get("type") == "session":
            project = text(line.get("project")) or project
        elif line.get("type") == "tool":
            calls.append(_call(line, project, path, number))
    return Transcript(calls=tuple(calls), unread=lines.unread)


def _call(line: Mapping[str, Any], project: str, path: Path, number: int) -> MadeCall:
    return MadeCall(
        agent="hookline",
        session=path.stem,
        id=text(line.get("id")) or f"{path}:{number}",
        tool=text(line.get("name")),
        arguments=mapping(line.get("input")),
        fate=_FATES.get(text(line.get("status")), Fate.OPEN),
        time=text(line.get("timestamp")),
        cwd=project,
        origin=f"{path}:{number}",
    )
