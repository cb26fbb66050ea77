"""Run case files: events, and what your hooks must decide about them. Only hooks run; no tool is ever executed.

Examples:
  hookline test                           the case files (*.hooks.toml) beside the settings
  hookline test guard.hooks.toml          these files; or a directory
  hookline test --filter secrets          the cases whose name, input or file contains this text
  hookline test --watch                   again whenever a case, a setting or a script has changed
  hookline test --junit results.xml       in CI
  hookline test --mutate                  attack the guards: other forms of the inputs that cases say are blocked

Runs are not in the log and do not count in stats. docs/testing.md says how to write a case file.

Exit codes:
  0  every case passed    1  a case failed, there is none, a case file is wrong, or the command failed
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline.apps.cli.case_runs import ChangeWatch, add_jobs_option, chosen_files, run_with_progress
from hookline.apps.cli.commands.test.mutate import add_mutate_options, recorded_cases, run_mutants
from hookline.apps.cli.options import add_common_options, make_config, write_file
from hookline.apps.cli.report.cases import case_lines, coverage_report, result_report
from hookline.apps.cli.report.printer import print_lines, print_report
from hookline.apps.cli.report.style import style
from hookline.client.config import Config
from hookline.errors import UsageError
from hookline.extensions import lazy_module
from hookline.protocol.constants import WHY_DISABLED
from hookline.protocol.text.readable import plural
from hookline.stderr import warn_user
from hookline.testing.cases.case import Case
from hookline.testing.cases.coverage import HookCoverage, coverage_of
from hookline.testing.cases.read import CaseFileError, read_cases
from hookline.testing.cases.run import Result

if TYPE_CHECKING:
    from hookline.testing.cases import junit
else:
    junit = lazy_module("hookline.testing.cases.junit")

_MOST_PROBLEMS = 50
_LOOK_S = 0.5


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="case files, or directories with some")
    parser.add_argument(
        "--filter",
        metavar="TEXT",
        action="append",
        help="only cases whose name, input or file contains this (may be repeated)",
    )
    parser.add_argument("--watch", action="store_true", help="run again whenever a file has changed, until interrupted")
    parser.add_argument("--junit", metavar="FILE", help="also write the results as JUnit XML")
    add_mutate_options(parser)
    add_jobs_option(parser)
    add_common_options(parser)


def run(given: argparse.Namespace) -> int:
    """Run the cases and prints what came of them."""
    if not given.mutate and (given.origin or given.save):
        raise UsageError("--from and --save are for --mutate")
    code = _run_once(given)
    while given.watch:
        _wait_for_change(given)
        print_lines("", style.bold("A file has changed."))
        code = _run_once(given)
    return code


def _run_once(given: argparse.Namespace) -> int:
    config = make_config(given, log_file=False)
    try:
        cases = _chosen_cases(given, config)
    except CaseFileError as error:
        for problem in error.problems[:_MOST_PROBLEMS]:
            warn_user(problem)
        if len(error.problems) > _MOST_PROBLEMS:
            warn_user(f"{len(error.problems) - _MOST_PROBLEMS} more problems")
        return 1
    if not cases:
        return 1
    if not config.get_enable_hooks():
        raise UsageError(f"hooks are disabled: {WHY_DISABLED}; no case was run")
    if given.mutate:
        return run_mutants(given, cases, config.get_working_dir())
    started = time.monotonic()
    results = run_with_progress(given, cases)
    coverage = _coverage(config, results) if not given.filter else []
    _report(given, results, coverage, time.monotonic() - started)
    return 0 if all(result.passed for result in results) else 1


def _chosen_cases(given: argparse.Namespace, config: Config) -> list[Case]:
    recorded = recorded_cases(given, config) if given.origin else []
    files, trusted = chosen_files(given, config) if given.files or not recorded else ([], [])
    if not files and not recorded:
        return []
    cases = [*read_cases(files, environment_of=trusted), *recorded]
    wanted = [case for case in cases if _is_wanted(case, given.filter)]
    if not wanted:
        warn_user(f"none of the {plural(len(cases), 'input')} in {plural(len(files), 'file')} fits --filter")
    return wanted


def _is_wanted(case: Case, filters: Sequence[str] | None) -> bool:
    text = f"{case.place.file} {case.title} {case.event}".lower()
    return not filters or any(word.lower() in text for word in filters)


def _coverage(config: Config, results: Sequence[Result]) -> list[HookCoverage]:
    verdicts = [result.verdict for result in results if result.verdict is not None]
    return coverage_of(config.get_settings().hooks, verdicts)


def _report(
    given: argparse.Namespace, results: Sequence[Result], coverage: Sequence[HookCoverage], seconds: float
) -> None:
    report: dict[str, Any] = {
        "passed": sum(result.passed for result in results),
        "failed": sum(not result.passed for result in results),
        "results": [result_report(result) for result in results],
        "coverage": [coverage_report(entry) for entry in coverage],
    }
    print_report(given, report, case_lines(results, coverage, seconds))
    if given.junit:
        write_file(Path(given.junit), junit.junit_xml(results))


def _wait_for_change(given: argparse.Namespace) -> None:
    watch = ChangeWatch(given)
    print_lines(style.dim(f"Watching {plural(watch.count, 'file')}; Ctrl-C ends this."), flush=True)
    while not watch.has_changed():
        time.sleep(_LOOK_S)
