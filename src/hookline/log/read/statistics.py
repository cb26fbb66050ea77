"""Records → numbers: how often each hook ran, how it ended and how long it took."""

import bisect
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import msgspec

from hookline.log.read.entry import LogEntry, outcome_word
from hookline.protocol.text.outcome_words import Outcome

HookKey = tuple[str, str, str]
"""A hook in the log: its event, what people call it, and the file that configures it."""

RUNS = frozenset({"hook"})
EVENTS = frozenset({"event", "unmatched"})

_TEN_MINUTES = len("2026-02-18T16:3")
_STEPS = tuple(digit * 10.0**power for power in range(-1, 7) for digit in (1, 2, 5))


class Durations(msgspec.Struct):
    """Counts of times in milliseconds, rounded to three digits, so that memory does not grow with every run."""

    counts: dict[float, int] = {}
    """How often each time was seen."""
    maximum: float = 0.0

    def add(self, milliseconds: float | None) -> None:
        """Add a time; None, of a run that never began, adds nothing."""
        if milliseconds is None:
            return
        rounded = float(f"{milliseconds:.2e}")
        self.counts[rounded] = self.counts.get(rounded, 0) + 1
        self.maximum = max(self.maximum, milliseconds)

    def quantile(self, part: float) -> float | None:
        """The time that this share of the runs did not exceed (0.5 is the median), or None without runs."""
        wanted = part * sum(self.counts.values())
        passed = 0
        for milliseconds in sorted(self.counts):
            passed += self.counts[milliseconds]
            if passed >= wanted:
                return min(milliseconds, self.maximum)
        return None

    def histogram(self) -> list[tuple[float, float, int]]:
        """Bins of (from, below, count) in steps of 1, 2 and 5, from the first used to the last used."""
        bins: Counter[int] = Counter()
        for milliseconds, count in self.counts.items():
            bins[bisect.bisect_right(_STEPS, milliseconds)] += count
        if not bins:
            return []
        edges = [0.0, *_STEPS, float("inf")]
        spans = list(pairwise(edges))
        return [(*spans[index], bins[index]) for index in range(min(bins), max(bins) + 1)]


class HookStatistics(msgspec.Struct):
    """The numbers of one hook."""

    source: str | None = None
    """Where it is configured; `program` for a function that a program registered."""
    runs: int = 0
    blocks: int = 0
    failures: int = 0
    timeouts: int = 0
    last_run: str | None = None
    observed: str | None = None
    """When it last ran for an agent; runs of `hookline fire` and similar commands are not evidence."""
    observed_by: str | None = None
    enforced: str | None = None
    """When it last denied an agent something."""
    enforced_by: str | None = None
    ways: dict[str, int] = {}
    """How often it ran in each way: cold, warm, as a worker. Older records do not say."""
    durations: Durations = msgspec.field(default_factory=Durations)

    def add(self, entry: LogEntry) -> None:
        """Count one run."""
        self.source = entry.source
        self.runs += 1
        self.blocks += entry.is_block
        self.failures += entry.is_failure
        self.timeouts += bool(entry.timed_out)
        self.last_run = later(self.last_run, entry.time)
        if entry.way is not None:
            self.ways[entry.way] = self.ways.get(entry.way, 0) + 1
        self.durations.add(entry.took_ms)
        time = entry.time or ""
        if (asker := entry.asker) is not None:
            if time >= (self.observed or ""):
                self.observed, self.observed_by = entry.time, asker
            if entry.is_block and time >= (self.enforced or ""):
                self.enforced, self.enforced_by = entry.time, asker


class AgentStatistics(msgspec.Struct):
    """The numbers of one agent's events."""

    last_run: str | None = None
    """When a hook last ran for it."""
    last_block: str | None = None
    """When a hook last denied it something."""

    def add(self, time: str | None, *, is_block: bool) -> None:
        """Counts runs of hooks, by the time of the last."""
        self.last_run = later(self.last_run, time)
        if is_block:
            self.last_block = later(self.last_block, time)


class Statistics(msgspec.Struct):
    """The numbers of a log, or of a part of it."""

    hooks: dict[HookKey, HookStatistics] = {}
    """Every hook that ran, in the order in which they first did."""
    fired: dict[str, int] = {}
    """How often each event was fired, whether or not a hook ran for it."""
    agents: dict[str, AgentStatistics] = {}
    """By the name of the agent that asked (see `LogEntry.asker`): evidence that it is guarded."""
    times: dict[str, dict[str, int]] = {}
    """For each ten minutes, as the time of a record begins with them: how often events had each outcome."""
    blocked_calls: dict[tuple[str, str], int] = {}
    """How often each call was blocked, by its tool and what the log keeps of it."""
    unreadable: int = 0
    """The number of lines that are not records, and are in none of these numbers."""

    def add(self, entry: LogEntry) -> None:
        """Counts one record."""
        if entry.is_canary:
            return
        if entry.is_run:
            self.hook(entry.event, entry.hook, entry.origin).add(entry)
            if (asker := entry.asker) is not None:
                self.agents.setdefault(asker, AgentStatistics()).add(entry.time, is_block=entry.is_block)
        elif entry.kind in EVENTS:
            count, outcome, call = entry.count or 1, outcome_word(entry), call_key(entry)
            self.fired[entry.event or ""] = self.fired.get(entry.event or "", 0) + count
            counts = self.times.setdefault(time_key(entry), {})
            counts[outcome] = counts.get(outcome, 0) + count
            if call is not None:
                self.blocked_calls[call] = self.blocked_calls.get(call, 0) + 1

    def hook(self, event: str | None, hook: str | None, origin: str | None) -> HookStatistics:
        """The numbers of this hook, to be changed."""
        key = (event or "", hook or "", origin or "")
        if (found := self.hooks.get(key)) is None:
            found = self.hooks[key] = HookStatistics()
        return found


class SessionSummary(msgspec.Struct):
    """The numbers of one session."""

    agent: str | None
    """The agent or program that fired its events, as `LogEntry.shown_asker` has it."""
    project: str | None
    first: str
    """The time of its first record."""
    last: str
    records: int
    runs: int
    blocks: int
    failures: int
    call: str | None = None
    """The latest tool call: its tool, and its command or file."""


def count_sessions(blocks: Iterable[Sequence[LogEntry | None]]) -> dict[str, SessionSummary]:
    """Return the sessions of these records, which are in order, by their ids."""
    found: dict[str, SessionSummary] = {}
    for entries in blocks:
        by_session: dict[str, list[LogEntry]] = {}
        for entry in entries:
            if entry is not None and entry.session is not None:
                by_session.setdefault(entry.session, []).append(entry)
        for session, own in by_session.items():
            found[session] = _session(found.get(session), own)
    return found


def _session(before: SessionSummary | None, entries: Sequence[LogEntry]) -> SessionSummary:
    if before is None:
        before = SessionSummary(None, None, entries[0].time or "", "", 0, 0, 0, 0)
    times = [entry.time or "" for entry in entries]
    runs = [entry for entry in entries if entry.kind == "hook"]
    return SessionSummary(
        agent=before.agent or next(filter(None, (entry.shown_asker for entry in entries)), None),
        project=before.project or next((entry.project for entry in entries if entry.project), None),
        first=min(before.first, *times),
        last=max(before.last, *times),
        records=before.records + len(entries),
        runs=before.runs + len(runs),
        blocks=before.blocks + sum(entry.is_block or entry.is_block_without_hook for entry in entries),
        failures=before.failures + sum(entry.is_failure for entry in runs),
        call=next((f"{entry.subject} {entry.call}" for entry in reversed(entries) if entry.call), before.call),
    )


def time_key(entry: LogEntry) -> str:
    """The ten minutes in which a record was written: `2026-02-18T16:3`."""
    return (entry.time or "")[:_TEN_MINUTES]


def call_key(entry: LogEntry) -> tuple[str, str] | None:
    """The tool call that was blocked, by its tool and what the log keeps of it; None for any other record."""
    is_blocked = entry.kind == "event" and entry.blocked is True and entry.call is not None
    return (entry.subject or "", entry.call or "") if is_blocked else None


def later(one: str | None, other: str | None) -> str | None:
    """The later of two times."""
    return max(one or "", other or "") or None


MOST_CALLS = 10

_MOST_BARS = 48
_MINUTE_S = 60
_DAY_S = 24 * 60 * _MINUTE_S
# Ten minutes is what statistics keep.
_BAR_STEPS_S = (10 * _MINUTE_S, 60 * _MINUTE_S, 6 * 60 * _MINUTE_S, _DAY_S, 7 * _DAY_S, 30 * _DAY_S)
_COUNTED = {
    Outcome.BLOCKED.value: "blocked",
    Outcome.STOPPED.value: "stopped",
    Outcome.ASKED.value: "asked",
    Outcome.WOULD_BLOCK.value: "wouldBlock",
}


def activity(statistics: Statistics) -> dict[str, Any]:
    """The events of each outcome, a chart of them over time, and the calls that were blocked most often."""
    outcomes: Counter[str] = Counter()
    for counts in statistics.times.values():
        outcomes.update(counts)
    step, bars = chart(statistics.times)
    most = sorted(statistics.blocked_calls.items(), key=lambda item: (-item[1], item[0]))[:MOST_CALLS]
    return {
        "events": dict(sorted(outcomes.items())),
        "step": step,
        "chart": bars,
        "blockedCalls": [{"tool": tool, "call": call, "count": count} for (tool, call), count in most],
    }


def chart(times: Mapping[str, Mapping[str, int]]) -> tuple[int, list[dict[str, Any]]]:
    """How many seconds each bar is about, and the bars in order, also those without events."""
    found = [(seconds, counts) for time, counts in times.items() if (seconds := _seconds(time)) is not None]
    if not found:
        return _BAR_STEPS_S[0], []
    first, last = min(at for at, _ in found), max(at for at, _ in found)
    span = last - first + 1
    step = next((each for each in _BAR_STEPS_S if span / each < _MOST_BARS), math.ceil(span / _MOST_BARS))
    begin = first // step * step
    bars = [_bar(at) for at in range(begin, last + 1, step)]
    for at, counts in found:
        bar = bars[(at - begin) // step]
        for outcome, count in counts.items():
            bar["events"] += count
            if (name := _COUNTED.get(outcome)) is not None:
                bar[name] += count
    return step, bars


def _bar(seconds: int) -> dict[str, Any]:
    time = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"time": time, "events": 0, **dict.fromkeys(_names(), 0)}


def _names() -> Iterator[str]:
    yield from dict.fromkeys(_COUNTED.values())


def _seconds(ten_minutes: str) -> int | None:
    try:
        return int(datetime.fromisoformat(f"{ten_minutes}0:00+00:00").timestamp())
    except (ValueError, OverflowError):
        return None
