"""Run today's hooks on events that really happened, and show what they would now decide differently.

Examples:
  hookline replay                              the latest 200 events of this project in the log
  hookline replay --since 7d --tool run_shell_command -n 0
  hookline replay real.hooks.toml              events of a case file, such as record writes
  hookline replay --settings new.json          with the hooks of another file

Only hooks run; no tool is ever executed. Runs are not in the log and do not count in stats.

Exit codes:
  0  everything would be decided as it was    1  something would not, or the command failed    2  there is no event
"""

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from hookline.cli.commands._case_files import chosen_files
from hookline.cli.commands._case_run import add_jobs_option, run_with_progress
from hookline.cli.commands._log_filters import add_filter_options, add_run_filters
from hookline.cli.commands._recorded import Finder, add_event_options
from hookline.cli.options import add_common_options, make_config
from hookline.cli.report.cases import failure_lines, result_report
from hookline.cli.report.printer import print_report
from hookline.cli.report.style import style
from hookline.cli.report.text import plural
from hookline.contract.text import tell
from hookline.contract.verdict import Verdict
from hookline.contract.vocabulary import WHY_DISABLED
from hookline.errors import UsageError
from hookline.testing.cases.case import Case, Outcome
from hookline.testing.cases.judge import Difference
from hookline.testing.cases.read import CaseFileError, read_cases
from hookline.testing.cases.recorded import Recorded, changes_since
from hookline.testing.cases.run import Result

EXIT_NO_EVENTS = 2
_MOST_SHOWN = 50
_KEPT = (Outcome.BLOCKED, Outcome.STOPS)


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="case files (default: the log)")
    add_filter_options(parser)
    add_run_filters(parser)
    add_event_options(parser, 200)
    add_jobs_option(parser)
    add_common_options(parser)


def run(given: argparse.Namespace) -> int:
    """Fires the events and prints what would be different."""
    config = make_config(given, log_file=False)
    if not config.get_enable_hooks():
        raise UsageError(f"hooks are disabled: {WHY_DISABLED}; nothing was replayed")
    hidden = 0
    if given.files:
        try:
            files, trusted = chosen_files(given, config)
            results = run_with_progress(given, read_cases(files, environment_of=trusted))
        except CaseFileError as error:
            for problem in error.problems[:_MOST_SHOWN]:
                tell(problem)
            return EXIT_NO_EVENTS
    else:
        finder = Finder(given, config)
        events = finder.newest(int(given.n))
        finder.report(len(events))
        if not events:
            return EXIT_NO_EVENTS
        results = _replay(given, events)
        hidden = sum(recorded.has_hidden for recorded in events)
    different = [result for result in results if not result.passed]
    report = {"events": len(results), "different": [_report(result) for result in different], "hidden": hidden}
    print_report(given, report, _lines(results, different, hidden))
    return 1 if different else 0


def _replay(given: argparse.Namespace, events: Sequence[Recorded]) -> list[Result]:
    cases = [recorded.to_case() for recorded in events]
    by_case = {id(case): recorded for case, recorded in zip(cases, events, strict=True)}

    def compare(case: Case, verdict: Verdict) -> tuple[Difference, ...]:
        return changes_since(by_case[id(case)], verdict)

    return run_with_progress(given, cases, compare)


def _report(result: Result) -> dict[str, Any]:
    before = result.case.expected.outcome
    return {**result_report(result), "before": None if before is None else before.value}


def _lines(results: Sequence[Result], different: Sequence[Result], hidden: int) -> Iterator[str]:
    for result in different[:_MOST_SHOWN]:
        yield from failure_lines(result, "CHANGED")
        yield ""
    if len(different) > _MOST_SHOWN:
        yield style.warn(f"… {len(different) - _MOST_SHOWN} more (--json shows all)")
    if hidden:
        yield style.dim(
            f"{plural(hidden, 'event')} had secrets, which the log has hidden: hooks may judge them differently."
        )
    if not different:
        yield style.good("Nothing would be decided differently") + f" of {plural(len(results), 'event')}."
        return
    more = sum(1 for result in different if _is_kept_now(result) and not _was_kept(result))
    fewer = sum(1 for result in different if result.verdict and _was_kept(result) and not _is_kept_now(result))
    count = f"{len(different)} of {plural(len(results), 'event')} would be decided differently"
    yield f"{style.bad(count)}: {more} more blocked, {fewer} fewer."


def _is_kept_now(result: Result) -> bool:
    return result.verdict is not None and result.verdict.blocked


def _was_kept(result: Result) -> bool:
    return result.case.expected.outcome in _KEPT
