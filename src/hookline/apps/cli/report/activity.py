"""What `hookline log --stats` shows of events: a chart over time, and the calls that were blocked most often."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hookline.apps.cli.report.style import style
from hookline.apps.cli.report.text import screen_width
from hookline.protocol.text.readable import cut, one_line, plural, show_clock

_MAX_BAR = 50
_LEAST_BAR = 10
_LEAST_CALL = 20
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
