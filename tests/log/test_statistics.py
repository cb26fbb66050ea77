import math
from collections.abc import Iterable
from typing import Any

import pytest

from hookline.log.read.entry import LogEntry
from hookline.log.read.statistics import Durations, Statistics


def durations(*values: float) -> Durations:
    counted = Durations()
    for value in values:
        counted.add(value)
    return counted


def statistics(entries: Iterable[LogEntry]) -> Statistics:
    counted = Statistics()
    for entry in entries:
        counted.add(entry)
    return counted


@pytest.mark.parametrize(
    ("values", "part", "expected"),
    [
        pytest.param([], 0.5, None, id="none"),
        pytest.param([7.0], 0.5, 7.0, id="one"),
        pytest.param([1, 2, 3], 0.5, 2, id="median"),
        pytest.param(range(1, 101), 0.95, 95, id="p95"),
        pytest.param([1, 1000], 0.95, 1000, id="p95-of-two"),
        pytest.param([12.346, 12.354], 0.5, 12.3, id="three-digits"),
        pytest.param([0.0], 0.95, 0.0, id="nothing"),
    ],
)
def test_quantiles(values: list[float], part: float, expected: float | None) -> None:
    """The part of the runs that is asked for took no longer, to three digits."""
    assert durations(*values).quantile(part) == expected


def test_the_maximum_is_exact_and_never_exceeded() -> None:
    """Rounding to three digits does not make the p95 longer than the longest run."""
    counted = durations(1.2399)
    assert (counted.maximum, counted.quantile(0.95)) == (1.2399, 1.2399)


def test_the_histogram_has_steps_of_one_two_and_five() -> None:
    """From the first step to the last, the empty ones between them included."""
    assert durations(1.0, 1.5, 2.0, 9.0, 10.0).histogram() == [(1, 2, 2), (2, 5, 1), (5, 10, 1), (10, 20, 1)]
    assert durations(0.01).histogram() == [(0.0, 0.1, 1)]
    assert durations(1e9).histogram() == [(5e6, math.inf, 1)]
    assert durations().histogram() == []


def test_a_million_times_need_little_room() -> None:
    """Times are counted, not kept."""
    counted = durations(*(number / 7 for number in range(100_000)))
    assert len(counted.counts) < 8_000
    assert counted.quantile(0.5) == pytest.approx(50_000 / 7, rel=0.01)


def test_runs_are_summed_per_hook() -> None:
    """The same name in another file, or for another event, is another hook; what is not a run does not count."""
    run: dict[str, Any] = {"kind": "hook", "event": "BeforeTool", "hook": "guard", "origin": "a.json"}
    summary = statistics(
        [
            LogEntry(**run, time="2", duration=3.0, success=True, way="warm"),
            LogEntry(**run, time="1", duration=1.0, success=False, exit_code=2, decision="deny"),
            LogEntry(
                **run,
                time="3",
                level="warn",
                duration=50.0,
                success=False,
                timed_out=True,
                error="timed out after 50ms",
            ),
            LogEntry(**{**run, "origin": "b.json"}, success=True),
            LogEntry(**{**run, "kind": "skip"}),
        ]
    ).hooks
    assert list(summary) == [("BeforeTool", "guard", "a.json"), ("BeforeTool", "guard", "b.json")]
    guard, other = summary.values()
    assert (guard.runs, guard.blocks, guard.failures, guard.timeouts, guard.last_run) == (3, 1, 1, 1, "3")
    assert (guard.durations.quantile(0.5), guard.durations.maximum) == (3.0, 50.0)
    assert (guard.ways, other.ways) == ({"warm": 1}, {})
    assert (other.runs, other.last_run) == (1, None)


def test_a_hook_that_was_never_asked_took_no_time() -> None:
    """Its run counts as a failure, and not as one of 0 ms: the median is that of the runs that took place."""
    run: dict[str, Any] = {"kind": "hook", "event": "BeforeTool", "hook": "guard", "origin": "a.json"}
    unasked = LogEntry(**run, level="warn", duration=0.0, unasked=True)
    (guard,) = statistics([LogEntry(**run, duration=3.0), unasked, unasked]).hooks.values()
    assert (guard.runs, guard.failures) == (3, 2)
    assert (guard.durations.quantile(0.01), guard.durations.histogram()) == (3.0, [(2.0, 5.0, 1)])


@pytest.mark.req("HOOK-146")
def test_events_are_counted_with_and_without_hooks() -> None:
    """An event that hooks ran for counts once, and events without hooks count as often as they were fired."""
    entries = [
        LogEntry(kind="event", event="BeforeTool"),
        LogEntry(kind="unmatched", event="BeforeTool", count=1),
        LogEntry(kind="unmatched", event="BeforeTool", count=7),
        LogEntry(kind="unmatched", event="AfterTool", count=2),
        LogEntry(kind="hook", event="BeforeTool"),
    ]
    assert statistics(entries).fired == {"BeforeTool": 9, "AfterTool": 2}
