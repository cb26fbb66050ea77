"""Records → numbers: how often each hook ran, how it ended and how long it took."""

import bisect
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import msgspec

from hookline.log.read.entry import LogEntry, outcome_word
from hookline.protocol.text.outcome_words import EventOutcome

HookKey = tuple[str, str, str]
"""A hook in the log: its event, what people call it, and the file that configures it."""

RUNS = frozenset({"hook"})
EVENTS = frozenset({"event", "unmatched"})

_TEN_MINUTES = len("2026-02-18T16:3")
_STEPS = tuple(digit * 10.0**power for power in range(-1, 7) for digit in (1, 2, 5))


class Durations(msgspec.Struct):
    """Counts of times in milliseconds, rounded to three digits, so that memory does not grow with every run."""

    counts: Counter[float] = msgspec.field(default_factory=Counter)
    """How often each time was seen."""
    maximum: float = 0.0

    def add(self, milliseconds: float | None) -> None:
        """Add a time; None, of a run that never began, adds nothing."""
        if milliseconds is None:
            return
        self.counts[float(f"{milliseconds:.2e}")] += 1
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
    ways: Counter[str] = msgspec.field(default_factory=Counter)
    """How often it ran in each way: cold, warm, as a worker. Older records do not say."""
    durations: Durations = msgspec.field(default_factory=Durations)

    def add(self, entry: LogEntry) -> None:
        """Count one run."""
        self.source = entry.source
        self.runs += 1
        self.blocks += entry.is_block
        self.failures += entry.is_failure
        self.timeouts += bool(entry.timed_out)
        self.last_run = _later(self.last_run, entry.time)
        if entry.way is not None:
            self.ways[entry.way] += 1
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
    last_block: str | None = None

    def add(self, entry: LogEntry) -> None:
        """Count one run of a hook."""
        self.last_run = _later(self.last_run, entry.time)
        if entry.is_block:
            self.last_block = _later(self.last_block, entry.time)


class Statistics(msgspec.Struct):
    """The numbers of a log, or of a part of it."""

    hooks: dict[HookKey, HookStatistics] = msgspec.field(default_factory=lambda: defaultdict(HookStatistics))
    """Every hook that ran, in the order in which they first did."""
    fired: Counter[str] = msgspec.field(default_factory=Counter)
    """How often each event was fired, whether or not a hook ran for it."""
    agents: dict[str, AgentStatistics] = msgspec.field(default_factory=lambda: defaultdict(AgentStatistics))
    """By the name of the agent that asked (see `LogEntry.asker`): evidence that it is guarded."""
    times: dict[str, Counter[str]] = msgspec.field(default_factory=lambda: defaultdict(Counter))
    """For each ten minutes, as the time of a record begins with them: how often events had each outcome."""
    blocked_calls: Counter[tuple[str, str]] = msgspec.field(default_factory=Counter)
    """How often each call was blocked, by its tool and the call as the log has it."""
    unreadable: int = 0
    """The number of lines that are not records, and are in none of these numbers."""

    def add(self, entry: LogEntry) -> None:
        """Count one record."""
        if entry.is_canary:
            return
        if entry.is_run:
            self.hooks[entry.event or "", entry.hook or "", entry.origin or ""].add(entry)
            if (asker := entry.asker) is not None:
                self.agents[asker].add(entry)
        elif entry.kind in EVENTS:
            count = entry.count or 1
            self.fired[entry.event or ""] += count
            self.times[(entry.time or "")[:_TEN_MINUTES]][outcome_word(entry)] += count
            if entry.kind == "event" and entry.blocked is True and entry.call is not None:
                self.blocked_calls[entry.subject or "", entry.call] += 1


class SessionSummary(msgspec.Struct):
    """The numbers of one session."""

    first: str
    """The time of its first record."""
    last: str = ""
    agent: str | None = None
    """The agent or program that fired its events, as `LogEntry.shown_asker` has it."""
    project: str | None = None
    records: int = 0
    runs: int = 0
    blocks: int = 0
    failures: int = 0
    call: str | None = None
    """The latest tool call: its tool, and its command or file."""

    def add(self, entry: LogEntry) -> None:
        """Count one record."""
        time = entry.time or ""
        self.first, self.last = min(self.first, time), max(self.last, time)
        self.agent = self.agent or entry.shown_asker
        self.project = self.project or entry.project
        self.records += 1
        self.runs += entry.is_run
        self.blocks += entry.is_block or entry.is_block_without_hook
        self.failures += entry.is_failure
        if entry.call:
            self.call = f"{entry.subject} {entry.call}"


def count_sessions(entries: Iterable[LogEntry]) -> dict[str, SessionSummary]:
    """Return the sessions of these records, which are in order, by their ids."""
    found: dict[str, SessionSummary] = {}
    for entry in entries:
        if entry.session is not None:
            if entry.session not in found:
                found[entry.session] = SessionSummary(entry.time or "")
            found[entry.session].add(entry)
    return found


def _later(one: str | None, other: str | None) -> str | None:
    return max(one or "", other or "") or None


MOST_CALLS = 10

_MOST_BARS = 48
_MINUTE_S = 60
_DAY_S = 24 * 60 * _MINUTE_S
# Ten minutes is what statistics keep.
_BAR_STEPS_S = (10 * _MINUTE_S, 60 * _MINUTE_S, 6 * 60 * _MINUTE_S, _DAY_S, 7 * _DAY_S, 30 * _DAY_S)
_COUNTED = {
    EventOutcome.BLOCKED.value: "blocked",
    EventOutcome.STOPPED.value: "stopped",
    EventOutcome.ASKED.value: "asked",
    EventOutcome.WOULD_BLOCK.value: "wouldBlock",
}


def activity(statistics: Statistics) -> dict[str, Any]:
    """The events of each outcome, a chart of them over time, and the calls that were blocked most often."""
    outcomes = sum(statistics.times.values(), Counter[str]())
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
    return {"time": time, "events": 0, **dict.fromkeys(_COUNTED.values(), 0)}


def _seconds(ten_minutes: str) -> int | None:
    try:
        return int(datetime.fromisoformat(f"{ten_minutes}0:00+00:00").timestamp())
    except (ValueError, OverflowError):
        return None
