"""Recorded events of this machine: those of the log, and the calls in other agents' transcripts."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hookline.bridge.transcript_events import events_for_call
from hookline.dialects.transcripts.find import AGENTS, OWN, find_transcripts, read_transcript
from hookline.dialects.transcripts.lines import json_lines
from hookline.dialects.transcripts.tool_call import Fate
from hookline.errors import UsageError
from hookline.log.read.entry import LogQuery, is_canary_record
from hookline.log.read.reader import LogReader
from hookline.protocol.events import HookEventName
from hookline.settings.canary import is_canary
from hookline.testing.cases.case import Outcome
from hookline.testing.cases.recorded import NotRecordedError, read_event

_KINDS = frozenset({"hook", "event"})
_MOST_LINES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """One event that happened."""

    event: HookEventName
    fields: Mapping[str, Any]
    before: Outcome | None
    """The outcome; None where a transcript shows a refusal without its source."""
    ran: bool
    """True for a tool call that was made."""
    time: str
    origin: str


@dataclass(slots=True)
class LeftOut:
    """Events that could not be used."""

    not_recorded: int = 0
    """Events whose input is not in the log."""
    elsewhere: int = 0
    """Of other projects."""
    unread: int = 0
    """Lines of transcripts."""
    unknown: list[str] = field(default_factory=list)
    """Files and directories among transcripts that are in an unknown place or form."""


def what_happened(
    sources: list[str], log: Path, project: str | None, since: str | None, left_out: LeftOut
) -> Iterator[Past]:
    """The events of each source: `log`, the name of an agent, or a file that is a log or a transcript."""
    for source in sources:
        if source == "log":
            yield from _of_log(log, project, since, left_out)
        elif source in (*AGENTS, OWN):
            found = find_transcripts(source)
            left_out.unknown += found.unknown_since(since)
            seen: set[tuple[str, str]] = set()
            for path in found.files:
                yield from _of_transcript(source, path, project, since, left_out, seen)
        else:
            agent = _agent_of(Path(source))
            if agent is None:
                yield from _of_log(Path(source), None, since, left_out)
            else:
                yield from _of_transcript(agent, Path(source), None, since, left_out, set())


def _of_log(path: Path, project: str | None, since: str | None, left_out: LeftOut) -> Iterator[Past]:
    waiting: dict[str, list[dict[str, Any]]] = {}
    with LogReader(path) as reader:
        for record in reader.whole(LogQuery(kinds=_KINDS, since=since)):
            waiting.setdefault(str(record.get("fire")), []).append(record)
            if record.get("kind") != "event":
                continue
            records = waiting.pop(str(record.get("fire")))
            if any(map(is_canary_record, records)):
                continue
            try:
                event = read_event(records)
            except NotRecordedError:
                left_out.not_recorded += 1
                continue
            if project not in (None, event.project):
                left_out.elsewhere += 1
                continue
            yield Past(
                event=event.event,
                fields=event.fields,
                before=event.outcome,
                ran=event.event is HookEventName.BEFORE_TOOL and event.outcome is Outcome.ALLOWED,
                time=event.time,
                origin=f"hookline log {event.fire}",
            )


def _of_transcript(
    agent: str,
    path: Path,
    project: str | None,
    since: str | None,
    left_out: LeftOut,
    seen: set[tuple[str, str]],
) -> Iterator[Past]:
    """The calls of one transcript, without those that another one of the same session repeats."""
    transcript = read_transcript(agent, path)
    left_out.unread += transcript.unread
    for call in transcript.calls:
        if is_canary(call) or call.fate is Fate.OPEN or (since is not None and call.time and call.time < since):
            continue
        if (call.session, call.id) in seen:
            continue
        seen.add((call.session, call.id))
        if project is not None and os.path.realpath(call.cwd or "/") != project:
            left_out.elsewhere += 1
            continue
        for question in events_for_call(call):
            ran = call.fate is Fate.RAN
            yield Past(
                event=HookEventName.BEFORE_TOOL,
                fields=question,
                before=Outcome.ALLOWED if ran else None,
                ran=ran,
                time=call.time,
                origin=call.origin,
            )


def _agent_of(path: Path) -> str | None:
    """The agent that wrote a transcript; None for a log of hookline."""
    try:
        for number, line in json_lines(path):
            if line is None:
                continue
            if "kind" in line and "level" in line:
                return None
            if "payload" in line:
                return "codex"
            if "message" in line and "sessionId" in line:
                return "claude"
            if "toolCalls" in line or ("sessionId" in line and "kind" in line):
                return "gemini"
            if line.get("type") == "session" and "project" in line:
                return OWN
            if number > _MOST_LINES:
                break
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}") from error
    raise UsageError(f"{path} is neither a log of hookline nor a transcript that it can read")
