"""Records → numbers: how often each hook ran, how it ended and how long it took."""

import bisect
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

import msgspec

from hookline.log.entry import LogEntry, outcome_word

HookKey = tuple[str, str, str]
"""A hook in the log: its event, what people call it, and the file that configures it."""

RUNS = frozenset({"hook"})
EVENTS = frozenset({"event", "unmatched"})

_TEN_MINUTES = len("2026-02-18T16:3")
_STEPS = tuple(digit * 10.0**power for power in range(-1, 7) for digit in (1, 2, 5))

# So that the codes of usual times are below 65,536, which MessagePack writes in three bytes. Times below are 0.
_LEAST_EXPONENT = -40
_CODES: dict[str, int] = {}


class Durations(msgspec.Struct, array_like=True):
    """Counts of times in milliseconds, rounded to three digits, so that memory does not grow with every run."""

    counts: dict[int, int] = {}
    """How often each time was seen. A time is written as its three digits and its exponent, which takes little room."""
    maximum: float = 0.0

    def add(self, milliseconds: float | None) -> None:
        """Adds a time; None, of a run that never began, adds nothing."""
        if milliseconds is None:
            return
        text = f"{milliseconds:.2e}"
        code = _CODES.get(text)
        if code is None:
            code = _CODES[text] = _code(text)
        self.counts[code] = self.counts.get(code, 0) + 1
        self.maximum = max(self.maximum, milliseconds)

    def merge(self, others: "Durations") -> None:
        """Adds the times that others have counted."""
        counts = self.counts
        for code, count in others.counts.items():
            counts[code] = counts.get(code, 0) + count
        self.maximum = max(self.maximum, others.maximum)

    def quantile(self, part: float) -> float | None:
        """The time that this share of the runs did not exceed (0.5 is the median), or None without runs."""
        wanted = part * sum(self.counts.values())
        passed = 0
        for code in sorted(self.counts):
            passed += self.counts[code]
            if passed >= wanted:
                return min(_milliseconds(code), self.maximum)
        return None

    def histogram(self) -> list[tuple[float, float, int]]:
        """Bins of (from, below, count) in steps of 1, 2 and 5, from the first used to the last used."""
        bins: Counter[int] = Counter()
        for code, count in self.counts.items():
            bins[bisect.bisect_right(_STEPS, _milliseconds(code))] += count
        if not bins:
            return []
        edges = [0.0, *_STEPS, float("inf")]
        spans = list(pairwise(edges))
        return [(*spans[index], bins[index]) for index in range(min(bins), max(bins) + 1)]


class HookStatistics(msgspec.Struct):
    """What the log knows about one hook."""

    source: str | None = None
    """Where it is configured; `program` for a function that a program registered."""
    runs: int = 0
    blocks: int = 0
    failures: int = 0
    timeouts: int = 0
    last_run: str | None = None
    observed: str | None = None
    """When it last ran for an agent; runs of `hookline fire` and the like are no evidence."""
    observed_by: str | None = None
    enforced: str | None = None
    """When it last denied an agent something."""
    enforced_by: str | None = None
    ways: dict[str, int] = {}
    """How often it ran in each way: cold, warm, as a worker. Older records do not say."""
    durations: Durations = msgspec.field(default_factory=Durations)

    def add(self, entry: LogEntry) -> None:
        """Counts one run."""
        self.source = entry.source
        self.runs += 1
        self.blocks += entry.is_block
        self.failures += entry.is_failure
        self.timeouts += bool(entry.timed_out)
        self.last_run = later(self.last_run, entry.time)
        self.add_evidence(entry.asker, entry.time, is_block=entry.is_block)
        self.add_way(entry.way, 1)
        self.durations.add(entry.took_ms)

    def add_evidence(self, asker: str | None, time: str | None, *, is_block: bool) -> None:
        """Takes runs for an agent, by the time of the last."""
        if asker is None:
            return
        if (time or "") >= (self.observed or ""):
            self.observed, self.observed_by = time, asker
        if is_block and (time or "") >= (self.enforced or ""):
            self.enforced, self.enforced_by = time, asker

    def add_way(self, way: str | None, count: int) -> None:
        """Counts runs that came about in the same way."""
        if way is not None:
            self.ways[way] = self.ways.get(way, 0) + count


class AgentStatistics(msgspec.Struct):
    """What the log knows about the questions of one agent."""

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
    """By the name of the agent that asked (see `Judged.asker`): evidence that it is guarded."""
    times: dict[str, dict[str, int]] = {}
    """For each ten minutes, as the time of a record begins with them: how often events had each outcome."""
    blocked_calls: dict[tuple[str, str], int] = {}
    """How often each call was blocked, by its tool and what the log keeps of it."""
    unreadable: int = 0
    """How many lines of the log are no records, and so in none of these numbers."""

    def add(self, entry: LogEntry) -> None:
        """Counts one record."""
        if entry.is_canary:
            return
        if entry.is_run:
            self.hook(entry.event, entry.hook, entry.origin).add(entry)
            self.add_asker(entry.asker, entry.time, is_block=entry.is_block)
        elif entry.kind in EVENTS:
            self.add_fired(entry.event, entry.count or 1)
            outcome, call = outcome_word(entry), call_key(entry)
            self.add_events(outcome, {time_key(entry): entry.count or 1}, {} if call is None else {call: 1})

    def hook(self, event: str | None, hook: str | None, origin: str | None) -> HookStatistics:
        """The numbers of this hook, to be changed."""
        key = (event or "", hook or "", origin or "")
        if (found := self.hooks.get(key)) is None:
            found = self.hooks[key] = HookStatistics()
        return found

    def add_asker(self, asker: str | None, time: str | None, *, is_block: bool) -> None:
        """Takes runs of hooks for an agent, if they are evidence."""
        if asker is not None:
            self.agents.setdefault(asker, AgentStatistics()).add(time, is_block=is_block)

    def add_events(self, outcome: str, times: Mapping[str, int], calls: Mapping[tuple[str, str], int]) -> None:
        """Counts events of one outcome, and the calls among them that were blocked."""
        for time, count in times.items():
            counts = self.times.setdefault(time, {})
            counts[outcome] = counts.get(outcome, 0) + count
        for call, count in calls.items():
            self.blocked_calls[call] = self.blocked_calls.get(call, 0) + count

    def add_fired(self, event: str | None, count: int) -> None:
        """Counts events, with and without hooks."""
        self.fired[event or ""] = self.fired.get(event or "", 0) + count


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


def _code(text: str) -> int:
    """The code of a time that is written as `1.23e+04`; larger times have larger codes."""
    digits, _, exponent = text.partition("e")
    if digits.startswith("-") or int(exponent) < _LEAST_EXPONENT:
        return 0
    return (int(exponent) - _LEAST_EXPONENT) * 1000 + int(digits.replace(".", ""))


def _milliseconds(code: int) -> float:
    exponent, digits = divmod(code, 1000)
    return float(f"{digits}e{exponent + _LEAST_EXPONENT - 2}")
