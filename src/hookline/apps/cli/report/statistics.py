"""The tables of `hookline log --stats`: events over time, the most blocked calls, and the runs of each hook."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hookline.apps.cli.report.style import style
from hookline.apps.cli.report.text import screen_width, show_ways
from hookline.log.read.statistics import HookKey, HookStatistics
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.text.readable import cut, one_line, plural, show_clock, show_ms, show_place

_MAX_BAR = 50
_LEAST_BAR = 10
_LEAST_CALL = _LEAST_TITLE = 20
Entry = Mapping[str, Any]

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400


def activity_lines(done: Mapping[str, Any]) -> Iterator[str]:
    """The chart and the calls; nothing without events."""
    if not done["chart"]:
        return
    counted = ", ".join(f"{count} {outcome}" for outcome, count in done["events"].items())
    total = plural(sum(done["events"].values()), "event")
    step = style.dim(f"each bar is {_show_step(done['step'])}")
    yield f"{style.bold(total)}: {counted}  {step}"
    yield from _chart(done["chart"])
    yield ""
    if done["blockedCalls"]:
        yield style.bold("Blocked most often")
        width = len(str(done["blockedCalls"][0]["count"]))
        for each in done["blockedCalls"]:
            shown = f"{one_line(each['tool'])}  {one_line(each['call'])}"
            yield f"  {each['count']:>{width}}  {cut(shown, max(_LEAST_CALL, screen_width() - width - 4))}"
        yield ""


def _chart(bars: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    most = max(bar["events"] for bar in bars)
    digits = len(str(most))
    clocks = [show_clock(bar["time"])[:-3] for bar in bars]
    room = max(_LEAST_BAR, min(_MAX_BAR, screen_width() - len(clocks[0]) - digits - 40))
    for clock, bar in zip(clocks, bars, strict=True):
        notes = [
            paint(f"{bar[name]} {word}")
            for name, word, paint in (
                ("blocked", "blocked", style.bad),
                ("stopped", "stopped", style.bad),
                ("asked", "asked", style.warn),
                ("wouldBlock", "would block", style.warn),
            )
            if bar[name]
        ]
        yield f"  {clock}  {bar['events']:>{digits}}  {_bar(bar, most, room)}  {', '.join(notes)}".rstrip()


def _bar(bar: Mapping[str, Any], most: int, room: int) -> str:
    """The events as a bar, in which blocks and asks are painted; each that is not zero has a cell."""
    cells = max(1, round(room * bar["events"] / most)) if bar["events"] else 0
    parts = [(bar["blocked"] + bar["stopped"], style.bad), (bar["asked"], style.warn)]
    shown, left = "", cells
    for count, paint in parts:
        size = min(left, max(1, round(room * count / most))) if count else 0
        shown, left = shown + paint("█" * size), left - size
    return shown + style.good("█" * left)


def _show_step(seconds: int) -> str:
    for unit, word in ((_DAY_S, "day"), (_HOUR_S, "hour"), (_MINUTE_S, "minute")):
        if seconds % unit == 0:
            return plural(seconds // unit, word)
    return plural(seconds, "second")


def entry_of(key: HookKey, numbers: HookStatistics, hook: HookEntry | None = None) -> Entry:
    """The numbers of a hook as JSON."""
    event, label, origin = key
    p95 = numbers.durations.quantile(0.95)
    budget = hook.budget_ms if hook else None
    return {
        "event": event,
        "hook": label,
        "origin": origin,
        "runs": numbers.runs,
        "blocks": numbers.blocks,
        "failures": numbers.failures,
        "timeouts": numbers.timeouts,
        "ways": numbers.ways,
        "p50": numbers.durations.quantile(0.5),
        "p95": p95,
        "max": numbers.durations.maximum if numbers.durations.counts else None,
        "budget": budget,
        "overBudget": budget is not None and p95 is not None and p95 > budget,
        "lastRun": numbers.last_run,
        "histogram": [
            {"from": start, "below": end if end != float("inf") else None, "runs": count}
            for start, end, count in numbers.durations.histogram()
        ],
    }


def stats_lines(entries: Sequence[Entry], idle: Sequence[Entry] = (), over: Sequence[str] = ()) -> Iterator[str]:
    """The numbers of hooks for people."""
    for entry in (*entries, *idle):
        place = show_place(entry["origin"])
        title = cut(f"{entry['event']} {one_line(entry['hook'])}", max(_LEAST_TITLE, screen_width() - len(place) - 2))
        yield f"{style.bold(title)}  {style.dim(place)}"
        yield from _numbers(entry) if "runs" in entry else _why_idle(entry["event"], entry["fired"])
        yield ""
    if over:
        yield style.bad(f"{plural(len(over), 'hook')} over budget: {', '.join(map(one_line, over))}")


def _why_idle(event: str, fired: int) -> Iterator[str]:
    why = f"fired {plural(fired, 'time')}; hookline fire --plan {event} shows which hooks run"
    yield f"  no runs: {event} {why if fired else 'was never fired'}"


def _numbers(entry: Entry) -> Iterator[str]:
    counts = [f"{plural(entry['runs'], 'run')}{show_ways(entry['ways'])}", plural(entry["blocks"], "block")]
    for count, word in ((entry["failures"], "failure"), (entry["timeouts"], "timeout")):
        counts.append(style.bad(plural(count, word)) if count else plural(count, word))
    yield f"  {', '.join(counts)}"
    times = {name: f"{name} {show_ms(entry[name])}" for name in ("p50", "p95", "max", "budget")}
    if entry["budget"] is None:
        del times["budget"]
    if entry["overBudget"]:
        times |= {"p95": style.bad(times["p95"]), "budget": f"{times['budget']}: over"}
    yield f"  {', '.join(times.values())}"
    yield from _histogram(entry["histogram"])


def _histogram(bins: Sequence[Entry]) -> Iterator[str]:
    most = max(span["runs"] for span in bins)
    names = [f">= {show_ms(span['from'])}" if span["below"] is None else f"< {show_ms(span['below'])}" for span in bins]
    digits = len(str(most))
    width = max(map(len, names))
    room = max(10, min(_MAX_BAR, screen_width() - width - digits - 8))
    for name, span in zip(names, bins, strict=True):
        bar = "█" * max(1, round(room * span["runs"] / most)) if span["runs"] else ""
        yield f"    {name:>{width}}  {span['runs']:>{digits}}  {style.good(bar)}".rstrip()
