"""Reads the data of the page from the log: rows of the timeline, one event in full, sessions."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from hookline.errors import UsageError
from hookline.log.read.entry import LogEntry, LogQuery, outcome_word
from hookline.log.read.reader import LogReader, RecordPosition
from hookline.log.read.statistics import EVENTS, activity
from hookline.log.read.timespec import read_when
from hookline.protocol.answers import or_none, read_stdout
from hookline.protocol.events import HookEventName
from hookline.protocol.text.json_text import parse_json
from hookline.protocol.text.outcome_words import RECORD_WORDS, REWRITTEN, EventOutcome, RecordState

Row = dict[str, Any]

MAX_ROWS = 500
_ROWS = 100
_SESSIONS = 200
_RUN = frozenset({"hook"})
# Outcomes of events, and other records for the user.
_EVENT = frozenset({"event", "cancel", "fault", "start", "answer"})
_STORY = _EVENT | {"override", "advice", "settings", "consent", "bridge", "worker"}
_KINDS = {"events": _EVENT, "runs": _RUN, "all": None}
_TEXTS = ("event", "tool", "hook", "session", "project", "agent", "decision")
# Fields of an Answer with a rewrite, and the fields of the input that they replace.
_REWRITES = {
    "tool_input": "tool_input",
    "llm_request": "llm_request",
    "llm_response": "llm_response",
    "prompt": "prompt",
    "tool_output": "tool_response",
}


def read_query(params: Mapping[str, str]) -> LogQuery:
    """Return the query of these parameters, the options of `hookline log`. Raises UsageError for an invalid one."""
    texts = {name: params[name] for name in _TEXTS if params.get(name)}
    if "event" in texts and texts["event"] not in [event.value for event in HookEventName]:
        raise UsageError(f"{texts['event']} is not an event")
    if texts.get("decision", EventOutcome.ALLOWED) not in RECORD_WORDS:
        raise UsageError(f"{texts['decision']} is not an outcome; the outcomes are {', '.join(RECORD_WORDS)}")
    failures = params.get("failures") == "1"
    slower = _number("slower-than", params.get("slower-than"))
    is_about_runs = failures or slower is not None or "hook" in texts
    shown = params.get("show") or "events"
    if shown not in _KINDS:
        raise UsageError(f"show can't be {shown}")
    kinds = _KINDS[shown]
    if shown == "events" and is_about_runs:
        kinds = _RUN
    elif shown == "events" and "decision" in texts:
        kinds = _STORY if texts["decision"] in (*EventOutcome, REWRITTEN) else _RUN | {"skip"}
    return LogQuery(
        **texts,
        failures=failures,
        slower_than_ms=slower,
        since=_time("since", params.get("since")),
        until=_time("until", params.get("until")),
        kinds=frozenset({"start"}) if params.get("unfinished") == "1" else kinds,
        hides_unmatched=False,  # `show` decides that here
    )


def timeline(log: Path, params: Mapping[str, str]) -> Row:
    """Return a page of the timeline, newest first, and the position of the next page."""
    query = read_query(params)
    before = params.get("before")
    place = RecordPosition.parse(before) if before else None
    if before and place is None:
        raise UsageError(f"{before} is not a position in the log")
    count = int(_number("count", params.get("count")) or _ROWS)
    with LogReader(log) as reader:
        page = reader.page(query, min(count, MAX_ROWS), place)
        return {
            "rows": [row_of(entry) for entry in page.entries],
            "next": None if page.next is None else str(page.next),
            "unreadable": reader.unreadable,
        }


def activity_of(log: Path, params: Mapping[str, str]) -> Row:
    """Return the chart over time and the most frequently blocked calls of the filtered events."""
    query = msgspec.structs.replace(read_query(params), kinds=EVENTS, hook=None, decision=None, failures=False)
    with LogReader(log) as reader:
        return activity(reader.statistics(msgspec.structs.replace(query, slower_than_ms=None)))


def sessions(log: Path) -> list[Row]:
    """Return the latest sessions."""
    with LogReader(log) as reader:
        found = reader.sessions(_SESSIONS)
    return [{"session": name, **msgspec.structs.asdict(summary)} for name, summary in found.items() if name]


def projects(log: Path) -> list[str]:
    """Return the projects with sessions in the log, most recent first."""
    with LogReader(log) as reader:
        return list(dict.fromkeys(one.project for one in reader.sessions().values() if one.project))


def story(log: Path, session: str, before: str | None) -> Row:
    """Return the records of a session, oldest first; `next` is the position of earlier ones."""
    place = RecordPosition.parse(before) if before else None
    with LogReader(log) as reader:
        page = reader.page(LogQuery(session=session, kinds=_STORY | _RUN), MAX_ROWS, place)
        summary = reader.sessions().get(session)
    runs: dict[str | None, list[Row]] = {}
    rows: list[Row] = []
    # The runs of an event precede its end.
    for entry in reversed(page.entries):
        if entry.is_run:
            runs.setdefault(entry.fire, []).append(row_of(entry))
        else:
            rows.append({**row_of(entry), "runs": runs.get(entry.fire, [])})
    if rows and page.next is not None:
        rows[0]["isCut"] = True  # some of its runs may be on the previous page
    whole = None if summary is None else msgspec.structs.asdict(summary)
    return {"session": session, "summary": whole, "rows": rows, "next": None if page.next is None else str(page.next)}


def row_of(entry: LogEntry) -> Row:
    """Return a record as a row of the timeline."""
    row: Row = msgspec.to_builtins(entry)
    row["outcome"] = outcome_word(entry)
    row["isRewritten"] = entry.kind == "event" and bool(entry.effect)
    row["asker"] = entry.shown_asker
    if entry.asked is not None:  # the user decided, not the hooks that wanted the question
        row["by"] = (entry.asked,)
    return row


def _entry_of(record: Mapping[str, Any]) -> LogEntry | None:
    try:
        return msgspec.convert(record, LogEntry)
    except msgspec.ValidationError:  # not a record of hookline
        return None


def _end(record: Row) -> Row:
    entry = _entry_of(record)
    asker = None if entry is None else entry.shown_asker
    return {**record, "outcome": _outcome(entry), "isRewritten": bool(record.get("effect")), "asker": asker}


def _outcome(entry: LogEntry | None) -> str:
    return RecordState.NOTE if entry is None else outcome_word(entry)


def whole_event(log: Path, fire: str) -> Row:
    """Return one event in full: the inputs, answers and changes of its hooks, and its outcome."""
    with LogReader(log) as reader:
        records = reader.whole_records(fire)
    records = [record for record in records if record.get("fire") == fire]
    if not records:
        raise UsageError(f"no event {fire} is recorded")
    inputs: list[Any] = []
    runs = [_run(record, inputs) for record in records if record.get("kind") == "hook"]
    others = [record for record in records if record.get("kind") != "hook"]
    end = next((record for record in others if record.get("kind") in ("event", "cancel", "fault", "start")), None)
    return {
        "fire": fire,
        "end": None if end is None else _end(end),
        "inputs": inputs,
        "runs": runs,
        "others": [record for record in others if record is not end],
    }


def _run(record: Row, inputs: list[Any]) -> Row:
    """Return a run with its input as an index, because most hooks of an event read the same input."""
    text = record.pop("stdin", None)
    if text not in inputs:
        inputs.append(text)
    return {
        **record,
        "inputIndex": inputs.index(text),
        "outcome": _outcome(_entry_of(record)),
        "changes": list(_changes(record, text)),
    }


def _changes(record: Mapping[str, Any], stdin: Any) -> Iterator[Row]:
    """Yield each change of a hook's answer: the field, and its value before and after."""
    stdout = record.get("stdout")
    answer = read_stdout(stdout) if isinstance(stdout, str) and record.get("success") is True else None
    hook_input = _object(stdin)
    if answer is None:
        return
    for field, replaced in _REWRITES.items():
        value = or_none(getattr(answer, field))
        if value is None:
            continue
        before = hook_input.get(replaced)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            value = dict(value) if field == "tool_input" and answer.replaces_input is True else {**before, **value}
        if value != before:
            yield {"field": replaced, "before": before, "after": value}


def _object(text: Any) -> Mapping[str, Any]:
    try:
        value = parse_json(text) if isinstance(text, str) else None
    except ValueError:  # the log truncates long texts
        return {}
    return value if isinstance(value, dict) else {}


def _number(name: str, text: str | None) -> float | None:
    try:
        number = float(text) if text else None
    except ValueError:
        number = -1.0
    # Not `<`, which is false for nan.
    if number is not None and not 0 <= number < float("inf"):
        raise UsageError(f"{name} {text} is not a number of at least 0")
    return number


def _time(name: str, text: str | None) -> str | None:
    try:
        return read_when(text) if text else None
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from error


def plots(log: Path, hook: str, event: str) -> Sequence[float]:
    """Return the durations of the latest runs of a hook, oldest first."""
    with LogReader(log) as reader:
        page = reader.page(LogQuery(hook=hook, event=event, kinds=_RUN), MAX_ROWS)
    return [took for entry in reversed(page.entries) if (took := entry.took_ms) is not None]
