"""`hookline stats`: how often each hook ran, how it ended, and how long it took."""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from hookline.cli.commands._log_filters import add_filter_options, query_of
from hookline.cli.lint.setup import read_setup
from hookline.cli.options import add_settings_options, make_config, require_project
from hookline.cli.report.overview import key_of, read_summary, recorded_in
from hookline.cli.report.style import Style
from hookline.cli.report.text import one_line, plural, screen_width, show_ms, show_place
from hookline.config import Config
from hookline.contract.hooks import HookEntry
from hookline.log.reader import LogQuery, LogReader
from hookline.log.statistics import EVENTS, RUNS, HookStatistics, count_events

_EXAMPLES = """\
examples:
  hookline stats
  hookline stats --since 7d --hook guard
  hookline stats --fail-over-budget      in CI: exit code 1 when a hook is slower than it should be

A hook is over its budget ("budget": 50, milliseconds, in the settings) when its p95 is: when more than one run in
twenty took longer.
"""
_MAX_BAR = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    event: str
    hook: str
    origin: str
    statistics: HookStatistics
    budget_ms: float | None

    @property
    def is_over(self) -> bool:
        p95 = self.statistics.durations.quantile(0.95)
        return self.budget_ms is not None and p95 is not None and p95 > self.budget_ms

    def to_dict(self) -> dict[str, Any]:
        numbers, durations = self.statistics, self.statistics.durations
        return {
            "event": self.event,
            "hook": self.hook,
            "origin": self.origin,
            "runs": numbers.runs,
            "blocks": numbers.blocks,
            "failures": numbers.failures,
            "timeouts": numbers.timeouts,
            "p50": durations.quantile(0.5),
            "p95": durations.quantile(0.95),
            "max": durations.maximum,
            "budget": self.budget_ms,
            "overBudget": self.is_over,
            "lastRun": numbers.last_run,
            "histogram": [
                {"from": start, "below": end if end != float("inf") else None, "runs": count}
                for start, end, count in durations.histogram()
            ],
        }


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the description and the options."""
    parser.description = "Count the runs of every hook in the log: blocks, failures, timeouts, and how long they took."
    parser.epilog = _EXAMPLES
    add_filter_options(parser)
    parser.add_argument(
        "--fail-over-budget", action="store_true", help="exit code 1 when a hook's p95 is over its budget"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object for programs")
    add_settings_options(parser)


def run(given: argparse.Namespace) -> int:
    """Prints the numbers; with `--fail-over-budget` the exit code is 1 when a hook is slower than it should be."""
    query = query_of(given, RUNS)
    require_project(given)
    config = make_config(given)
    hooks = {key_of(hook): hook for hook in read_setup(config).hooks}
    summary = read_summary(config, query)
    lines = [
        _Line(event=key[0], hook=key[1], origin=key[2], statistics=numbers, budget_ms=_budget(hooks.get(key)))
        for key, numbers in summary.items()
    ]
    over = [line for line in lines if line.is_over]
    without_runs = [hook for key, hook in hooks.items() if key not in summary and _could_run(hook, query)]
    idle = _idle(without_runs, config, query)
    if given.json:
        report = {"overBudget": len(over), "hooks": [line.to_dict() for line in lines], "idle": idle}
        print(json.dumps(report, indent=2))
    else:
        style = Style.for_stdout()
        for text in (*_lines(lines, style), *_idle_lines(idle, style), *_over_budget(over, style)):
            print(text)
        if not lines:
            print(f"No run {_asked_for(given)} is recorded in {recorded_in(config)}.")
    return 1 if over and given.fail_over_budget else 0


def _budget(hook: HookEntry | None) -> float | None:
    return None if hook is None else hook.budget_ms


def _could_run(hook: HookEntry, query: LogQuery) -> bool:
    return hook.enabled and query.event in (None, hook.event) and query.hook in (None, hook.label)


def _idle(hooks: Sequence[HookEntry], config: Config, query: LogQuery) -> list[dict[str, Any]]:
    """Hooks without runs, each with the number of times that its event was fired."""
    if not hooks:
        return []
    with LogReader(recorded_in(config)) as reader:
        fired = count_events(reader.entries(replace(query, hook=None, kinds=EVENTS)))
    return [
        {"event": hook.event.value, "hook": hook.label, "origin": hook.origin, "fired": fired[hook.event.value]}
        for hook in hooks
    ]


def _asked_for(given: argparse.Namespace) -> str:
    if any(wish is not None for wish in (given.event, given.tool, given.session, given.since)):
        return "like that"
    return "of a hook" if given.hook is None else f"of the hook {one_line(given.hook)}"


def _lines(lines: Sequence[_Line], style: Style) -> Iterator[str]:
    for line in lines:
        yield _title(line.event, line.hook, line.origin, style)
        yield f"  {_counts(line.statistics, style)}"
        yield f"  {_times(line, style)}"
        yield from _histogram(line.statistics, style)
        yield ""


def _idle_lines(idle: Sequence[dict[str, Any]], style: Style) -> Iterator[str]:
    for hook in idle:
        event, fired = hook["event"], hook["fired"]
        yield _title(event, hook["hook"], hook["origin"], style)
        why = f"fired {plural(fired, 'time')}; hookline explain {event} says which hooks run"
        yield f"  no runs: {event} {why if fired else 'was never fired'}"
        yield ""


def _title(event: str, hook: str, origin: str, style: Style) -> str:
    return f"{style.bold(f'{event} {one_line(hook)}')}  {style.dim(show_place(origin))}"


def _over_budget(over: Sequence[_Line], style: Style) -> Iterator[str]:
    if over:
        yield style.bad(f"{plural(len(over), 'hook')} over budget: {', '.join(one_line(line.hook) for line in over)}")


def _counts(numbers: HookStatistics, style: Style) -> str:
    counts = [plural(numbers.runs, "run"), plural(numbers.blocks, "block")]
    for count, word in ((numbers.failures, "failure"), (numbers.timeouts, "timeout")):
        text = plural(count, word)
        counts.append(style.bad(text) if count else text)
    return ", ".join(counts)


def _times(line: _Line, style: Style) -> str:
    durations = line.statistics.durations
    p95 = f"p95 {show_ms(durations.quantile(0.95))}"
    times = [f"p50 {show_ms(durations.quantile(0.5))}", style.bad(p95) if line.is_over else p95]
    times.append(f"max {show_ms(durations.maximum)}")
    if line.budget_ms is not None:
        times.append(f"budget {show_ms(line.budget_ms)}{': over' if line.is_over else ''}")
    return ", ".join(times)


def _histogram(numbers: HookStatistics, style: Style) -> Iterator[str]:
    bins = numbers.durations.histogram()
    most = max(count for *_, count in bins)
    names = [f"< {show_ms(end)}" if end != float("inf") else f">= {show_ms(start)}" for start, end, _ in bins]
    digits = len(str(most))
    width = max(map(len, names))
    room = max(10, min(_MAX_BAR, screen_width() - width - digits - 8))
    for name, (_, _, count) in zip(names, bins, strict=True):
        bar = "█" * max(1, round(room * count / most)) if count else ""
        yield f"    {name:>{width}}  {count:>{digits}}  {style.good(bar)}".rstrip()
