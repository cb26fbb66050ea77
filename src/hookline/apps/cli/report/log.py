"""Records of the log for people: one line each, or one record with everything in it."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hookline.apps.cli.report.style import style
from hookline.apps.cli.report.text import screen_width
from hookline.log.read.entry import LogEntry, outcome_word
from hookline.protocol.constants import PROJECT_DIR_VARIABLES, REAL_SOURCES
from hookline.protocol.text.exit_text import show_signal
from hookline.protocol.text.outcome_words import EventOutcome, HookResult, RecordState
from hookline.protocol.text.readable import cut, one_line, show_clock, show_message, show_ms, show_place, text_lines

_ID_WIDTH = 12
_LEAST_ROOM = 40
_SHORTEST_NAME = 6
_SHORTEST_CALL = 10
_LONGEST_CALL = 120
_BAD: tuple[str, ...] = (EventOutcome.BLOCKED, EventOutcome.STOPPED, HookResult.BLOCKED)
_ODD: tuple[str, ...] = (
    *(EventOutcome.ASKED, EventOutcome.WOULD_BLOCK, HookResult.WOULD_ASK, HookResult.FAILED),
    RecordState.UNFINISHED,
)
_CWD = re.compile(r'"cwd":("(?:[^"\\]|\\.)*")')


def show_entry(entry: LogEntry, here: str) -> Iterator[str]:
    """One record in one line: time, id, the name of its project if that is not this one, and what happened.

    On a narrow screen, the event has a separate line.
    """
    start = f"{show_clock(entry.time)}  {entry.id or entry.fire or '':<{_ID_WIDTH}}  "
    if entry.machine is not None:
        start += f"{one_line(f'{entry.machine} {entry.user}')}  "
    elif entry.project not in (None, here):
        start += f"{one_line(str(entry.project).rpartition('/')[2] or '/')}  "
    room = screen_width() - len(start)
    if room >= _LEAST_ROOM:
        yield style.dim(start) + _paint(entry)(_summary(entry, room))
    else:
        yield style.dim(start.rstrip())
        yield "  " + _paint(entry)(_summary(entry, max(20, screen_width() - 2)))


def show_record(record: Mapping[str, Any]) -> Iterator[str]:
    """One record with everything in it."""
    yield style.bold(show_message(str(record.get("message"))))
    for title, value in _facts(record):
        if value not in (None, "", "None"):
            yield f"  {style.dim(f'{title:<9}')} {one_line(str(value))}"
    for name, value in _environment(record):
        yield f"  {style.dim('env      ')} {one_line(f'{name}={value}')}"
    for stream in ("stdin", "stdout", "stderr", "traceback"):
        text = record.get(stream)
        if not isinstance(text, str):
            continue
        yield f"  {style.dim(f'{stream}:')}{'' if text else ' (empty)'}"
        yield from (f"    {line}" for line in text_lines(_readable(text)))


def _summary(entry: LogEntry, room: int) -> str:
    """Return the event or run in one line; a long hook name is cut, because the result is at the end of the line."""
    if not entry.is_run:
        message = show_message(_message(entry))
        return cut(message + _call(entry, room - len(message) - 2), room)
    before, behind = show_message(f"{_about(entry)}:"), show_message(f"{_ending(entry)}, {show_ms(entry.duration)}")
    name = cut(show_message(str(entry.hook)), max(_SHORTEST_NAME, room - len(before) - len(behind) - 2))
    left = room - len(before) - len(name) - len(behind) - 4
    return cut(f"{before} {name}: {behind}{_call(entry, left)}", room)


def _about(entry: LogEntry) -> str:
    return f"{entry.event} {entry.subject}" if entry.subject else str(entry.event)


def _call(entry: LogEntry, room: int) -> str:
    """The command or file of a tool call, as far as there is room for it."""
    call = one_line(entry.call or "")
    return f"  {cut(call, min(_LONGEST_CALL, room))}" if call and room >= _SHORTEST_CALL else ""


def _message(entry: LogEntry) -> str:
    if entry.is_start:
        return f"{entry.message}, no end recorded{f': {entry.reason}' if entry.reason else ''}"
    return entry.message or ""


def _ending(entry: LogEntry) -> str:
    word = outcome_word(entry)
    if not entry.is_failure:
        return word
    how = entry.error or (show_signal(entry.signal) if entry.signal else f"exit {entry.exit_code}")
    return f"{word} ({how}){', and blocks' if entry.is_block else ''}"


def _paint(entry: LogEntry) -> Callable[[str], str]:
    word = outcome_word(entry)
    if word in _BAD or entry.is_block or entry.blocked:
        return style.bad
    if word in _ODD or entry.level in ("warn", "error"):
        return style.warn
    return str


def _facts(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "id", record.get("id") or record.get("fire")
    yield "time", record.get("time")
    yield "session", record.get("session")
    yield "project", show_place(str(record["project"])) if record.get("project") else None
    yield "agent", " ".join(str(part) for part in (record.get("agent"), record.get("agentEvent")) if part)
    yield "event", " ".join(str(part) for part in (record.get("event"), record.get("subject")) if part)
    yield "call", record.get("call")
    yield "answer", record.get("answer")
    yield "asked", record.get("asked")
    yield "by", _source(record)
    yield "hook", record.get("hook")
    yield "command", record.get("command")
    if record.get("origin"):
        yield "from", f"{show_place(str(record['origin']))}: {record.get('location')}"
    if isinstance(record.get("duration"), int | float):
        way = record.get("way")
        yield "took", f"{record['duration']} ms{f' ({way})' if isinstance(way, str) else ''}"
    if record.get("kind") == "hook":
        yield "worker", record.get("worker")
        yield "exit code", record.get("exitCode")
        yield "signal", show_signal(record["signal"]) if isinstance(record.get("signal"), int) else None
        yield "error", record.get("error")
        yield "result", record.get("result")
        yield "decision", record.get("decision") or "none"
        yield "cut", "yes: it wrote more than hooksConfig.outputLimit" if record.get("truncated") else None
    yield "reason", record.get("reason")


def _source(record: Mapping[str, Any]) -> str | None:
    """Return the command that fired the event, if it was not an agent, and the decider."""
    fired_by, decider = record.get("firedBy"), record.get("decider")
    parts = [f"fired by hookline {fired_by}" if fired_by not in (None, *REAL_SOURCES) else None]
    parts.append(f"decided by {decider}" if decider else None)
    return ", ".join(filter(None, parts)) or None


def _environment(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The variables that were added to the environment: the hook's own, and the project's directory."""
    if record.get("kind") != "hook":
        return
    own = record.get("env")
    yield from own.items() if isinstance(own, dict) else ()
    # Not parsed, because the log cuts a long input.
    if found := _CWD.search(str(record.get("stdin"))):
        yield from ((name, json.loads(found[1])) for name in PROJECT_DIR_VARIABLES)


def _readable(text: str) -> str:
    """JSON with indentation, and any other text as it is."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return json.dumps(value, indent=2, ensure_ascii=False) if isinstance(value, dict | list) else text
