"""`hookline replay`: runs today's hooks on events of the log, or of case files, and compares the decisions."""

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from hookline.apps.cli.case_runs import chosen_files, event_loader, run_with_progress
from hookline.apps.cli.options import make_config
from hookline.apps.cli.report.cases import failure_lines, result_report
from hookline.apps.cli.report.printer import print_report
from hookline.apps.cli.report.style import style
from hookline.errors import UsageError
from hookline.protocol.constants import WHY_DISABLED
from hookline.protocol.text.readable import plural
from hookline.protocol.verdict import Verdict
from hookline.stderr import warn_user
from hookline.testing.cases.case import Case, Outcome
from hookline.testing.cases.judge import Difference
from hookline.testing.cases.read import CaseFileError, read_cases
from hookline.testing.cases.recorded import Recorded, changes_since
from hookline.testing.cases.run import Result

_MOST_SHOWN = 50
_KEPT = (Outcome.BLOCKED, Outcome.STOPPED)


def replay_events(given: argparse.Namespace) -> int:
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
                warn_user(problem)
            return 1
    else:
        loader = event_loader(given, config)
        events = loader.newest(200 if given.limit is None else int(given.limit))
        loader.report(len(events))
        if not events:
            return 1
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
