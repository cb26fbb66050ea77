"""`hookline stats --shadow`: what hooks in the modes warn and shadow would have decided, and what happened instead."""

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from hookline.cli.report.overview import recorded_in
from hookline.cli.report.printer import print_report
from hookline.cli.report.style import style
from hookline.cli.report.text import cut, one_line, plural, show_place
from hookline.config import Config
from hookline.contract.events import BLOCKING_DECISIONS, HookDecision
from hookline.log.entry import LogEntry, LogQuery
from hookline.log.reader import LogReader

_KINDS = frozenset({"hook", "event"})
_MOST_EXAMPLES = 5
_LONGEST = 120


@dataclass(slots=True)
class _Tried:
    """What one hook did while it was tried out."""

    event: str
    hook: str
    origin: str
    mode: str
    runs: int = 0
    failures: int = 0
    blocks: int = 0
    asks: int = 0
    went_on: int = 0
    """Of what it would have blocked or asked about: what took place all the same."""
    sessions: set[str] = field(default_factory=set)
    tools: Counter[str] = field(default_factory=Counter)
    newest: list[str] = field(default_factory=list)
    """The ids of the newest runs that would have blocked."""
    since: str = ""
    last: str = ""


def show_trials(given: argparse.Namespace, config: Config, query: LogQuery) -> int:
    """Prints a summary of each hook that is tried out."""
    with LogReader(recorded_in(config)) as reader:
        tried = _tried(reader.entries(replace(query, kinds=_KINDS)))
        report = [_report(each, [_example(reader, run) for run in each.newest]) for each in tried]
    print_report(given, {"trials": report}, _lines(report))
    return 0


def _tried(entries: Iterator[LogEntry]) -> list[_Tried]:
    found: dict[tuple[str | None, ...], _Tried] = {}
    waiting: dict[str, list[_Tried]] = {}
    for entry in entries:
        if entry.kind == "event":
            for each in waiting.pop(entry.fire or "", ()):
                each.went_on += entry.blocked is not True
        elif entry.mode is not None:
            key = (entry.event, entry.hook, entry.origin, entry.mode)
            if key not in found:
                found[key] = _Tried(entry.event or "", entry.hook or "", entry.origin or "", entry.mode)
            if _count(found[key], entry):
                waiting.setdefault(entry.fire or "", []).append(found[key])
    return list(found.values())


def _count(tried: _Tried, entry: LogEntry) -> bool:
    """Counts a run; True if it would have kept the operation back."""
    tried.runs += 1
    tried.failures += entry.is_failure
    tried.since = tried.since or entry.time or ""
    tried.last = entry.time or tried.last
    blocks, asks = entry.decision in BLOCKING_DECISIONS, entry.decision == HookDecision.ASK
    tried.blocks += blocks
    tried.asks += asks
    if blocks or asks:
        tried.sessions.add(entry.session or "")
        tried.tools[entry.subject or ""] += 1
        tried.newest = [*tried.newest, entry.id or ""][-_MOST_EXAMPLES:]
    return blocks or asks


def _example(reader: LogReader, run: str) -> dict[str, Any]:
    record = next((each for each in reader.whole_records(run) if each.get("id") == run), {})
    return {name: record.get(name) for name in ("id", "time", "subject", "stdin", "stdout", "stderr")}


def _report(tried: _Tried, examples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "event": tried.event,
        "hook": tried.hook,
        "origin": tried.origin,
        "mode": tried.mode,
        "runs": tried.runs,
        "failures": tried.failures,
        "wouldBlock": tried.blocks,
        "wouldAsk": tried.asks,
        "wentOn": tried.went_on,
        "sessions": len(tried.sessions),
        "tools": dict(tried.tools.most_common()),
        "since": tried.since,
        "lastRun": tried.last,
        "examples": list(examples),
    }


def _lines(report: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not report:
        yield 'No run of a hook in the mode warn or shadow is recorded; "mode": "shadow" on a hook tries it out.'
    for entry in report:
        title = f"{entry['event']} {one_line(entry['hook'])} ({entry['mode']})"
        yield f"{style.bold(title)}  {style.dim(show_place(entry['origin']))}"
        kept = entry["wouldBlock"] + entry["wouldAsk"]
        yield (
            f"  {plural(entry['runs'], 'run')} since {entry['since']}: would have blocked {entry['wouldBlock']}, asked "
            f"about {entry['wouldAsk']}, {plural(entry['failures'], 'failure')}"
        )
        if kept:
            tools = ", ".join(f"{one_line(tool) or 'no subject'} {count}" for tool, count in entry["tools"].items())
            yield f"  in {plural(entry['sessions'], 'session')}: {tools}; {entry['wentOn']} of {kept} took place"
        for example in entry["examples"]:
            yield style.dim(f"    {example['time']}  {cut(one_line(_said(example)), _LONGEST)}  ({example['id']})")
        yield ""


def _said(example: Mapping[str, Any]) -> str:
    return str(example["stderr"] or example["stdout"] or example["subject"] or "")
