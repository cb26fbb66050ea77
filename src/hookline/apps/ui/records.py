"""The log → what the page shows: rows of the timeline, one event in full, sessions."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from hookline.errors import UsageError
from hookline.log.read.entry import LogEntry, LogQuery, outcome_word
from hookline.log.read.reader import LogReader, Place
from hookline.log.read.statistics import EVENTS, activity
from hookline.log.read.timespec import read_when
from hookline.protocol.answers import or_none, read_stdout
from hookline.protocol.events import HookEventName
from hookline.protocol.text.json_text import parse_json
from hookline.protocol.text.outcome_words import RECORD_WORDS, REWRITTEN, Outcome, RecordState

Row = dict[str, Any]

MOST_ROWS = 500
_ROWS = 100
_SESSIONS = 200
_RUN = frozenset({"hook"})
# What an event came to, and what else a person should see of it.
_EVENT = frozenset({"event", "cancel", "fault", "start", "answer"})
_STORY = _EVENT | {"override", "advice", "settings", "consent", "bridge", "worker"}
_KINDS = {"events": _EVENT, "runs": _RUN, "all": None}
_TEXTS = ("event", "tool", "hook", "session", "project", "agent", "decision")
# The field of an Answer that a rewrite is in → the field of the input that it replaces.
_REWRITES = {
    "tool_input": "tool_input",
    "llm_request": "llm_request",
    "llm_response": "llm_response",
    "prompt": "prompt",
    "tool_output": "tool_response",
}


def read_query(given: Mapping[str, str]) -> LogQuery:
    """The query of these parameters, which are the options of `hookline log`; UsageError for one that is wrong."""
    texts = {name: given[name] for name in _TEXTS if given.get(name)}
    if "event" in texts and texts["event"] not in [event.value for event in HookEventName]:
        raise UsageError(f"{texts['event']} is not an event")
    if texts.get("decision", Outcome.ALLOWED) not in RECORD_WORDS:
        raise UsageError(f"{texts['decision']} is not an outcome; the outcomes are {', '.join(RECORD_WORDS)}")
    failures = given.get("failures") == "1"
    slower = _number("slower-than", given.get("slower-than"))
    is_about_runs = failures or slower is not None or "hook" in texts
    shown = given.get("show") or "events"
    if shown not in _KINDS:
        raise UsageError(f"show can't be {shown}")
    kinds = _KINDS[shown]
    if shown == "events" and is_about_runs:
        kinds = _RUN
    elif shown == "events" and "decision" in texts:
        kinds = _STORY if texts["decision"] in (*Outcome, REWRITTEN) else _RUN | {"skip"}
    return LogQuery(
        **texts,
        failures=failures,
        slower_than_ms=slower,
        since=_time("since", given.get("since")),
        until=_time("until", given.get("until")),
        kinds=frozenset({"start"}) if given.get("unfinished") == "1" else kinds,
        hides_unmatched=False,  # `show` decides that here
    )


def timeline(log: Path, given: Mapping[str, str]) -> Row:
    """A page of the timeline, the newest first, and where the next one begins."""
    query = read_query(given)
    before = given.get("before")
    place = Place.parse(before) if before else None
    if before and place is None:
        raise UsageError(f"{before} is not a place in the log")
    count = int(_number("count", given.get("count")) or _ROWS)
    with LogReader(log) as reader:
        page = reader.page(query, min(count, MOST_ROWS), place)
        return {
            "rows": [row_of(entry) for entry in page.entries],
            "next": None if page.next is None else str(page.next),
            "unreadable": reader.unreadable,
        }


def activity_of(log: Path, given: Mapping[str, str]) -> Row:
    """The chart over time and the calls that were blocked most often, of the events that the filters choose."""
    query = msgspec.structs.replace(read_query(given), kinds=EVENTS, hook=None, decision=None, failures=False)
    with LogReader(log) as reader:
        return activity(reader.statistics(msgspec.structs.replace(query, slower_than_ms=None)))


def sessions(log: Path) -> list[Row]:
    """The latest sessions."""
    with LogReader(log) as reader:
        found = reader.sessions(_SESSIONS)
    return [{"session": name, **msgspec.structs.asdict(summary)} for name, summary in found.items() if name]


def projects(log: Path) -> list[str]:
    """The projects of which the log has sessions, the one with the latest first."""
    with LogReader(log) as reader:
        return list(dict.fromkeys(one.project for one in reader.sessions().values() if one.project))


def story(log: Path, session: str, before: str | None) -> Row:
    """What happened in a session, oldest first; `next` leads to what was before."""
    place = Place.parse(before) if before else None
    with LogReader(log) as reader:
        page = reader.page(LogQuery(session=session, kinds=_STORY | _RUN), MOST_ROWS, place)
        summary = reader.sessions().get(session)
    runs: dict[str | None, list[Row]] = {}
    rows: list[Row] = []
    # The runs of an event stand before its end.
    for entry in reversed(page.entries):
        if entry.is_run:
            runs.setdefault(entry.fire, []).append(row_of(entry))
        else:
            rows.append({**row_of(entry), "runs": runs.get(entry.fire, [])})
    if rows and page.next is not None:
        rows[0]["isCut"] = True  # some of its runs may be on the page before
    whole = None if summary is None else msgspec.structs.asdict(summary)
    return {"session": session, "summary": whole, "rows": rows, "next": None if page.next is None else str(page.next)}


def row_of(entry: LogEntry) -> Row:
    """One record as a row of the timeline."""
    row: Row = msgspec.to_builtins(entry)
    row["outcome"] = outcome_word(entry)
    row["isRewritten"] = entry.kind == "event" and bool(entry.effect)
    row["asker"] = entry.shown_asker
    return row


def _word_of(record: Mapping[str, Any]) -> str:
    """The same word for a whole record."""
    entry = _entry_of(record)
    return RecordState.NOTE if entry is None else outcome_word(entry)


def _entry_of(record: Mapping[str, Any]) -> LogEntry | None:
    try:
        return msgspec.convert(record, LogEntry)
    except msgspec.ValidationError:  # the line of a stranger
        return None


def _end(record: Row) -> Row:
    entry = _entry_of(record)
    asker = None if entry is None else entry.shown_asker
    return {**record, "outcome": _word_of(record), "isRewritten": bool(record.get("effect")), "asker": asker}


def whole_event(log: Path, fire: str) -> Row:
    """Everything about one event: what each hook was told and answered, what it changed, and what came of it."""
    with LogReader(log) as reader:
        records = reader.whole_records(fire)
    records = [record for record in records if record.get("fire") == fire]
    if not records:
        raise UsageError(f"no event {fire} is recorded")
    told: list[Any] = []
    runs = [_run(record, told) for record in records if record.get("kind") == "hook"]
    others = [record for record in records if record.get("kind") != "hook"]
    end = next((record for record in others if record.get("kind") in ("event", "cancel", "fault", "start")), None)
    return {
        "fire": fire,
        "end": None if end is None else _end(end),
        "told": told,
        "runs": runs,
        "others": [record for record in others if record is not end],
    }


def _run(record: Row, told: list[Any]) -> Row:
    """A run, with what it was told as a number: most hooks of an event are told the same."""
    text = record.pop("stdin", None)
    if text not in told:
        told.append(text)
    return {
        **record,
        "told": told.index(text),
        "outcome": _word_of(record),
        "changes": list(_changes(record, text)),
    }


def _changes(record: Mapping[str, Any], stdin: Any) -> Iterator[Row]:
    """What a hook's answer changes: the field, its value before and after."""
    stdout = record.get("stdout")
    answer = read_stdout(stdout) if isinstance(stdout, str) and record.get("success") is True else None
    told = _object(stdin)
    if answer is None:
        return
    for field, replaced in _REWRITES.items():
        value = or_none(getattr(answer, field))
        if value is None:
            continue
        before = told.get(replaced)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            value = dict(value) if field == "tool_input" and answer.replaces_input is True else {**before, **value}
        if value != before:
            yield {"field": replaced, "before": before, "after": value}


def _object(text: Any) -> Mapping[str, Any]:
    try:
        value = parse_json(text) if isinstance(text, str) else None
    except ValueError:  # the log cuts a long text
        return {}
    return value if isinstance(value, dict) else {}


def _number(name: str, given: str | None) -> float | None:
    try:
        number = float(given) if given else None
    except ValueError:
        number = -1.0
    # Not `<`, which is false for nan.
    if number is not None and not 0 <= number < float("inf"):
        raise UsageError(f"{name} {given} is not a number of at least 0")
    return number


def _time(name: str, given: str | None) -> str | None:
    try:
        return read_when(given) if given else None
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from error


def plots(log: Path, hook: str, event: str) -> Sequence[float]:
    """How long the latest runs of a hook took, oldest first."""
    with LogReader(log) as reader:
        page = reader.page(LogQuery(hook=hook, event=event, kinds=_RUN), MOST_ROWS)
    return [took for entry in reversed(page.entries) if (took := entry.took_ms) is not None]
