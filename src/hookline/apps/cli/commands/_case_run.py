"""Runs cases with the settings that the options choose, and a progress bar on a terminal."""

import argparse
import os
from collections.abc import Mapping, Sequence
from functools import partial

from hookline.apps.cli.interrupt import run_loop
from hookline.apps.cli.options import at_least, read_config
from hookline.apps.cli.report.printer import ProgressBar
from hookline.client.config import Config
from hookline.protocol.constants import FiredBy
from hookline.testing.cases.case import Case
from hookline.testing.cases.run import Compare, Result, compare_expected, run_cases


def add_jobs_option(parser: argparse.ArgumentParser) -> None:
    """Adds `--jobs`."""
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=at_least(1),
        default=os.cpu_count() or 1,
        help="how many events at the same time (default: as many as there are processors)",
    )


def run_with_progress(
    given: argparse.Namespace, cases: Sequence[Case], compare: Compare = compare_expected
) -> list[Result]:
    """Runs the cases, and returns their results in order."""
    bar = ProgressBar(len(cases))
    try:
        return run_loop(
            run_cases(
                cases,
                partial(config_with, given),
                jobs=int(given.jobs),
                compare=compare,
                on_result=lambda result: bar.step(failed=not result.passed),
            )
        )
    finally:
        bar.close()


def config_with(given: argparse.Namespace, environment: Mapping[str, str]) -> Config:
    """The configuration with these variables for hooks besides our own; nothing is written to the log."""
    environ = {**os.environ, **environment} if environment else os.environ
    return read_config(given, environ=environ, log_file=False, fired_by=FiredBy.TEST)
