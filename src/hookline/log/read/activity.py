"""The events of a log over time, and the most blocked calls: for `hookline log --stats` and the page."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from hookline.log.read.statistics import Statistics
from hookline.protocol.text.outcome_words import Outcome

MOST_CALLS = 10

_MOST_BARS = 48
_MINUTE_S = 60
_DAY_S = 24 * 60 * _MINUTE_S
# Ten minutes is what statistics keep.
_STEPS = (10 * _MINUTE_S, 60 * _MINUTE_S, 6 * 60 * _MINUTE_S, _DAY_S, 7 * _DAY_S, 30 * _DAY_S)
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
        return _STEPS[0], []
    first, last = min(at for at, _ in found), max(at for at, _ in found)
    span = last - first + 1
    step = next((each for each in _STEPS if span / each < _MOST_BARS), math.ceil(span / _MOST_BARS))
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
