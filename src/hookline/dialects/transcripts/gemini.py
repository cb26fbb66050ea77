"""Transcripts of Gemini CLI: ~/.gemini/tmp/PROJECT/chats/session-*.jsonl, checked with 0.61.0."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hookline.dialects.transcripts.lines import JsonLines, arguments_of, json_object, mapping, text
from hookline.dialects.transcripts.tool_call import Fate, MadeCall, Transcript

_REFUSALS = ("Tool execution blocked", "Agent execution stopped by hook", 'Tool "')


def read(path: Path) -> Transcript:
    """The calls of one transcript, in order."""
    calls: list[MadeCall] = []
    session, lines = "", JsonLines(path)
    cwd = _directory(path)
    for number, line in lines:
        session = text(line.get("sessionId")) or session
        given = line.get("toolCalls")
        calls += [
            _call(mapping(each), session, cwd, f"{path}:{number}")
            for each in (given if isinstance(given, list) else ())
        ]
    # A message is repeated whenever one of its calls has changed.
    return Transcript(calls=tuple({call.id: call for call in calls}.values()), unread=lines.unread)


def _call(given: Mapping[str, Any], session: str, cwd: str, origin: str) -> MadeCall:
    return MadeCall(
        agent="gemini",
        session=session,
        id=text(given.get("id")) or origin,
        tool=text(given.get("name")),
        arguments=arguments_of(given.get("args")),
        fate=_fate(given),
        time=text(given.get("timestamp")),
        cwd=cwd,
        origin=origin,
    )


def _fate(given: Mapping[str, Any]) -> Fate:
    status = text(given.get("status"))
    if status == "cancelled" or (status == "error" and text(given.get("resultDisplay")).startswith(_REFUSALS)):
        return Fate.REFUSED
    return Fate.RAN if status in ("success", "error") else Fate.OPEN


def _directory(path: Path) -> str:
    """The project of a transcript: its folder's name stands for it in projects.json."""
    folder = path.parent.parent
    names = mapping(json_object(folder.parent.parent / "projects.json").get("projects"))
    return next((str(directory) for directory, name in names.items() if name == folder.name), "")
