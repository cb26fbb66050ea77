"""Records → numbers: how often each hook ran, how it ended and how long it took."""

import bisect
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise

import msgspec

from hookline.log.reader import LogEntry

HookKey = tuple[str, str, str]
"""A hook in the log: its event, what people call it, and the file that configures it."""

RUNS = frozenset({"hook"})
EVENTS = frozenset({"event", "unmatched"})

_STEPS = tuple(digit * 10.0**power for power in range(-1, 7) for digit in (1, 2, 5))


class Durations:
    """Counts of times in milliseconds, rounded to three digits, so that memory does not grow with every run."""

    def __init__(self) -> None:
        self._counts: Counter[float] = Counter()
        self.maximum = 0.0

    def add(self, milliseconds: float) -> None:
        """Adds a time."""
        self._counts[float(f"{milliseconds:.3g}")] += 1
        self.maximum = max(self.maximum, milliseconds)

    def quantile(self, part: float) -> float | None:
        """The time that this share of the runs did not exceed (0.5 is the median), or None without runs."""
        wanted = part * self._counts.total()
        passed = 0
        for value in sorted(self._counts):
            passed += self._counts[value]
            if passed >= wanted:
                return min(value, self.maximum)
        return None

    def histogram(self) -> list[tuple[float, float, int]]:
        """Bins of (from, below, count) in steps of 1, 2 and 5, from the first used to the last used."""
        bins: Counter[int] = Counter()
        for value, count in self._counts.items():
            bins[bisect.bisect_right(_STEPS, value)] += count
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
    durations: Durations = msgspec.field(default_factory=Durations)

    def add(self, entry: LogEntry) -> None:
        """Counts one run."""
        self.source = entry.source
        self.runs += 1
        self.blocks += entry.is_block
        self.failures += entry.is_failure
        self.timeouts += bool(entry.timed_out)
        self.last_run = max(self.last_run or "", entry.time or "") or None
        self.durations.add(entry.duration or 0.0)


def summarize(entries: Iterable[LogEntry]) -> dict[HookKey, HookStatistics]:
    """The numbers of every hook that ran, in the order in which they first did."""
    summary: defaultdict[HookKey, HookStatistics] = defaultdict(HookStatistics)
    for entry in entries:
        if entry.is_run:
            summary[entry.event or "", entry.hook or "", entry.origin or ""].add(entry)
    return summary


def count_events(entries: Iterable[LogEntry]) -> Counter[str]:
    """How often each event was fired, whether or not a hook ran for it."""
    fired: Counter[str] = Counter()
    for entry in entries:
        if entry.kind in EVENTS:
            fired[entry.event or ""] += entry.count or 1
    return fired
