"""`hookline log --stats`: events over time, the calls that were blocked most often, and the runs of every hook."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hookline.apps.cli.log_options import (
    ALL_PROJECTS,
    of_project,
    query_of,
    shown_project,
)
from hookline.apps.cli.report.printer import print_lines, print_report
from hookline.apps.cli.report.statistics import activity_lines, entry_of, stats_lines
from hookline.client.config import Config
from hookline.extensions import lazy_module
from hookline.inspect.hooks import key_of, read_statistics
from hookline.inspect.view import read_setup
from hookline.log.read.entry import LogQuery
from hookline.log.read.reader import LogReader
from hookline.log.read.statistics import EVENTS, RUNS, activity
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.text.readable import one_line, plural, show_message
from hookline.stderr import warn_user

if TYPE_CHECKING:
    from hookline.apps.cli.report import trials
    from hookline.inspect.proof import shadow
else:
    trials = lazy_module("hookline.apps.cli.report.trials")
    shadow = lazy_module("hookline.inspect.proof.shadow")

_MAX_BAR = 50
_LEAST_TITLE = 20

Entry = Mapping[str, Any]


def show_statistics(given: argparse.Namespace, config: Config, log: Path) -> int:
    """Print the numbers of a log; 1 with `--fail-over-budget` when a hook is over its budget."""
    query = query_of(given, RUNS, project=shown_project(given))
    if query.project is None and not given.all_projects and query.session is None:
        warn_user(ALL_PROJECTS)
    if given.shadow:
        return _show_trials(given, config, query, log)
    hooks = {key_of(hook): hook for hook in read_setup(config).hooks}
    # Both in one go: adding up ten million records takes a second.
    statistics = read_statistics(log, replace(query, kinds=RUNS | EVENTS))
    if statistics.unreadable:
        lines = plural(statistics.unreadable, "line")
        warn_user(f"{lines} of {log} could not be read, so runs may be missing; see hookline log --verify")
    summary = statistics.hooks
    entries = [entry_of(key, numbers, hooks.get(key)) for key, numbers in summary.items()]
    over = [entry["hook"] for entry in entries if entry["overBudget"]]
    done = activity(statistics)
    without_runs = [hook for key, hook in hooks.items() if key not in summary and _could_run(hook, query)]
    if without_runs and query.hook is not None:
        # The records of events name no hook.
        statistics = read_statistics(log, replace(query, hook=None, kinds=EVENTS))
    idle = _idle(without_runs, statistics.fired)
    report = {"overBudget": len(over), "hooks": entries, "idle": idle, **done}
    print_report(given, report, (*activity_lines(done), *stats_lines(entries, idle, over)))
    if not entries and not given.json:
        print_lines(show_message(f"No run {_wanted(given)}{of_project(query)} is recorded in {log}."))
    return 1 if over and given.fail_over_budget else 0


def _show_trials(given: argparse.Namespace, config: Config, query: LogQuery, log: Path) -> int:
    # Few people try hooks out, and transcripts need much of the package.
    clean = config.get_redactor().clean
    with LogReader(log) as reader:
        tried = shadow.read_trials(reader, query, clean)
    shadow.ask_transcripts(tried, clean)
    report = [trials.trial_report(each) for each in tried]
    print_report(given, {"trials": report}, trials.trial_lines(report))
    return 0


def _could_run(hook: HookEntry, query: LogQuery) -> bool:
    return hook.enabled and query.event in (None, hook.event) and query.hook in (None, hook.label)


def _idle(hooks: Sequence[HookEntry], fired: Mapping[str, int]) -> list[Entry]:
    """Hooks without runs, each with the number of times that its event was fired."""
    return [
        {"event": hook.event.value, "hook": hook.label, "origin": hook.origin, "fired": fired.get(hook.event.value, 0)}
        for hook in hooks
    ]


def _wanted(given: argparse.Namespace) -> str:
    if any(
        wish is not None for wish in (given.event, given.tool, given.session, given.agent, given.since, given.until)
    ):
        return "like that"
    return "of a hook" if given.hook is None else f"of the hook {one_line(given.hook)}"
