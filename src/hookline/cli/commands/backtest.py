"""Run today's hooks over what really happened: the log, and the transcripts of other agents on this machine.

Examples:
  hookline backtest                                   the log and all transcripts of this project
  hookline backtest --from claude --from codex --all-projects
  hookline backtest --against main                    today's hooks and those of a revision, on the same events
  hookline backtest --against old-settings.json --markdown

Only hooks run; no tool is ever executed. Scripts run in a scratch copy of the project, as it is now or as the revision
has it, if git has the project. What was judged is kept until a backtest has ended: --resume goes on with it after an
interruption, unless settings or scripts have changed.

Exit codes:
  0  everything would be decided in the same way    1  something would not, or the command failed    2  nothing happened
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hookline.cli.commands._case_run import add_jobs_option
from hookline.cli.commands._log_filters import time_of
from hookline.cli.interrupt import run_loop
from hookline.cli.options import add_common_options, make_config, read_config
from hookline.cli.report.backtest import backtest_lines, backtest_report, html_page, markdown_lines
from hookline.cli.report.overview import recorded_in
from hookline.cli.report.printer import ProgressBar, print_report
from hookline.config import Config
from hookline.contract.text import tell
from hookline.contract.vocabulary import WHY_DISABLED, FiredBy
from hookline.errors import UsageError
from hookline.files import make_private_directory, state_path, write_atomically
from hookline.history.transcripts import AGENTS, OWN
from hookline.testing.backtest.past import LeftOut, Past, what_happened
from hookline.testing.backtest.run import Judge, Tally, backtest
from hookline.testing.backtest.versions import MakeIn, Version, of_file, of_revision, today

EXIT_NO_EVENTS = 2
_KEPT_S = 7 * 24 * 3600


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    names = ("log", *AGENTS, OWN)
    parser.add_argument(
        "--from",
        dest="sources",
        metavar="SOURCE",
        action="append",
        help=f"{', '.join(names)}, or a file: a log or a transcript (may be repeated; default: all of these)",
    )
    parser.add_argument("--against", metavar="REV|FILE", help="compare with the hooks of a revision or a settings file")
    parser.add_argument("--since", metavar="WHEN", help="not older than 90s, 10m, 2h, 7d, or 2025-02-18[T16:30]")
    parser.add_argument("--all-projects", action="store_true", help="what happened in other projects, too")
    parser.add_argument("--resume", action="store_true", help="go on with a backtest that was interrupted")
    parser.add_argument("--markdown", action="store_true", help="print a summary for a pull request")
    parser.add_argument("--html", metavar="FILE", help="also write a page")
    add_jobs_option(parser)
    add_common_options(parser)


def run(given: argparse.Namespace) -> int:
    """Judges what happened, and prints what would be decided in another way."""
    config = make_config(given, log_file=False)
    if not config.get_enable_hooks():
        raise UsageError(f"hooks are disabled: {WHY_DISABLED}; nothing was judged")
    left_out = LeftOut()
    with today(_maker(given), config.get_working_dir()) as now, _other_version(given, config) as other:
        for note in {each.note for each in (now, other) if each is not None and each.note}:
            if not given.json:
                tell(note)
        tally = _judge(given, config, [now, other], left_out).cleaned(config.get_redactor().clean)
    title = f"today's hooks against {given.against}" if given.against else "today's hooks against what happened"
    if given.html:
        with _said_if_not_written(Path(given.html)):
            write_atomically(Path(given.html), html_page(tally, left_out, title).encode("utf-8", "replace"))
    lines = markdown_lines if given.markdown else backtest_lines
    print_report(given, backtest_report(tally, left_out, title), lines(tally, left_out, title))
    if not tally.events:
        return EXIT_NO_EVENTS
    return 1 if any(tally.counts.values()) or tally.untried else 0


def _judge(given: argparse.Namespace, config: Config, versions: list[Version | None], left_out: LeftOut) -> Tally:
    judges = [None if each is None else _judge_of(given, each) for each in versions]
    total = sum(1 for _ in _happened(given, config, LeftOut())) if sys.stderr.isatty() else 0
    bar = ProgressBar(total)
    now, against = judges
    assert now is not None  # today's hooks are always there  # noqa: S101
    try:
        work = backtest(_happened(given, config, left_out), now, against, jobs=int(given.jobs), on_event=bar.step)
        tally = run_loop(work)
    finally:
        bar.close()
    for judge in judges:
        if judge is not None:
            judge.forget()
    return tally


def _judge_of(given: argparse.Namespace, version: Version) -> Judge:
    judge = Judge(version.make_config, _store(version), project=version.project, copy=version.copy)
    if given.resume:
        judge.load()
    else:
        judge.forget()
    return judge


def _maker(given: argparse.Namespace) -> MakeIn:
    def make(directory: str, trust: Path | None) -> Config:
        return read_config(
            argparse.Namespace(**{**vars(given), "project": directory}),
            log_file=False,
            trust_path=trust,
            fired_by=FiredBy.REPLAY,
        )

    return make


def _happened(given: argparse.Namespace, config: Config, left_out: LeftOut) -> Iterator[Past]:
    sources = given.sources or ["log", *AGENTS, OWN]
    project = None if given.all_projects else os.path.realpath(config.get_working_dir())
    return what_happened(sources, recorded_in(config), project, time_of("--since", given.since), left_out)


@contextmanager
def _other_version(given: argparse.Namespace, config: Config) -> Iterator[Version | None]:
    """The hooks of the other version, with the project that they run in."""
    if given.against is None:
        yield None
    elif Path(given.against).is_file():
        yield of_file(config.get_working_dir(), Path(given.against))
    else:
        with of_revision(config.get_working_dir(), given.against) as version:
            yield version


@contextmanager
def _said_if_not_written(path: Path, remedy: str = "name another file") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"{path} can't be written: {error.strerror}; {remedy}") from error


def _store(version: Version) -> Path:
    """Where decisions are kept until the end, by everything that they depend on."""
    folder = state_path("backtest")
    with _said_if_not_written(folder, "HOOKLINE_STATE_DIR names another directory"):
        make_private_directory(folder)
    for file in folder.glob("*.jsonl"):
        # Nobody goes on with a backtest of last week.
        if file.stat().st_mtime < time.time() - _KEPT_S:
            file.unlink(missing_ok=True)
    return folder / f"{version.facts}.jsonl"
