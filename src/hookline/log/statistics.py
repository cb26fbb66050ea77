"""Records → numbers: how often each hook ran, how it ended and how long it took."""

import bisect
from collections import Counter
from itertools import pairwise

import msgspec

from hookline.contract.vocabulary import CANARY_AGENT
from hookline.log.entry import LogEntry

HookKey = tuple[str, str, str]
"""A hook in the log: its event, what people call it, and the file that configures it."""

RUNS = frozenset({"hook"})
EVENTS = frozenset({"event", "unmatched"})

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
    last_block: str | None = None
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
        if entry.is_block:
            self.last_block = later(self.last_block, entry.time)
        self.add_way(entry.way, 1)
        self.durations.add(entry.took_ms)

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
    """By the name of the agent that asked; empty for programs of which hookline is a part."""
    unreadable: int = 0
    """How many lines of the log are no records, and so in none of these numbers."""

    def add(self, entry: LogEntry) -> None:
        """Counts one record."""
        if entry.agent == CANARY_AGENT:
            return
        if entry.is_run:
            self.hook(entry.event, entry.hook, entry.origin).add(entry)
            self.agent(entry.agent).add(entry.time, is_block=entry.is_block)
        elif entry.kind in EVENTS:
            self.add_fired(entry.event, entry.count or 1)

    def hook(self, event: str | None, hook: str | None, origin: str | None) -> HookStatistics:
        """The numbers of this hook, to be changed."""
        key = (event or "", hook or "", origin or "")
        if (found := self.hooks.get(key)) is None:
            found = self.hooks[key] = HookStatistics()
        return found

    def agent(self, name: str | None) -> AgentStatistics:
        """The numbers of this agent, to be changed."""
        return self.agents.setdefault(name or "", AgentStatistics())

    def add_fired(self, event: str | None, count: int) -> None:
        """Counts events, with and without hooks."""
        self.fired[event or ""] = self.fired.get(event or "", 0) + count


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
