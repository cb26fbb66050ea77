"""Run today's hooks over what really happened: the log, and the transcripts of other agents on this machine.

Examples:
  hookline backtest                                   the log and all transcripts of this project
  hookline backtest --from claude --from codex --all-projects
  hookline backtest --against main                    today's hooks and those of a revision, on the same events
  hookline backtest --against old-settings.json --markdown

Only hooks run; no tool is ever executed. With a revision, its scripts run in a scratch copy of the project. What was
judged is kept until a backtest has ended: --resume goes on with it after an interruption.

Exit codes:
  0  everything would be decided in the same way    1  something would not, or the command failed    2  nothing happened
"""

import argparse
import hashlib
import os
import sys
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
from hookline.errors import UsageError
from hookline.files import make_private_directory, state_path, write_atomically
from hookline.history.transcripts import AGENTS, OWN
from hookline.settings.paths import default_paths
from hookline.testing.backtest.past import LeftOut, Past, what_happened
from hookline.testing.backtest.run import Judge, Tally, backtest
from hookline.testing.backtest.scratch import project_at
from hookline.testing.cases.run import MakeConfig

EXIT_NO_EVENTS = 2


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
        raise UsageError('hooks are disabled: the settings do not say "enableHooks": true; nothing was judged')
    left_out = LeftOut()
    with _other_version(given, config) as other:
        tally = _judge(given, config, other, left_out)
    title = f"today's hooks against {given.against}" if given.against else "today's hooks against what happened"
    if given.html:
        write_atomically(Path(given.html), html_page(tally, left_out, title).encode("utf-8", "replace"))
    lines = markdown_lines if given.markdown else backtest_lines
    print_report(given, backtest_report(tally, left_out, title), lines(tally, left_out, title))
    if not tally.events:
        return EXIT_NO_EVENTS
    return 1 if any(tally.counts.values()) or tally.untried else 0


def _judge(given: argparse.Namespace, config: Config, other: MakeConfig | None, left_out: LeftOut) -> Tally:
    stores = [_store(given, config, name) for name in ("now", "then")]
    now = Judge(lambda _: read_config(given, log_file=False), stores[0])
    against = None if other is None else Judge(other, stores[1])
    for judge, store in zip((now, against), stores, strict=True):
        if given.resume and judge is not None:
            judge.load()
        else:
            store.unlink(missing_ok=True)
    total = sum(1 for _ in _happened(given, config, LeftOut())) if sys.stderr.isatty() else 0
    bar = ProgressBar(total)
    try:
        work = backtest(_happened(given, config, left_out), now, against, jobs=int(given.jobs), on_event=bar.step)
        tally = run_loop(work)
    finally:
        bar.close()
    for store in stores:
        store.unlink(missing_ok=True)
    return tally


def _happened(given: argparse.Namespace, config: Config, left_out: LeftOut) -> Iterator[Past]:
    sources = given.sources or ["log", *AGENTS, OWN]
    project = None if given.all_projects else os.path.realpath(config.get_working_dir())
    return what_happened(sources, recorded_in(config), project, time_of("--since", given.since), left_out)


@contextmanager
def _other_version(given: argparse.Namespace, config: Config) -> Iterator[MakeConfig | None]:
    """The hooks of the other version, with the project that they run in."""
    if given.against is None:
        yield None
    elif Path(given.against).is_file():
        file, directory = Path(given.against), config.get_working_dir()
        if not given.json:
            tell(f"the scripts of {file} run as they are now: a settings file does not say how they were")
        yield lambda _: Config(directory, settings_files=[file], quiet=True, log_file=False)
    else:
        with project_at(config.get_working_dir(), given.against) as scratch:
            usual = default_paths(scratch)
            # Named files are trusted: whoever names a revision wants its hooks to run.
            files = [path for _, path in usual.by_source() if path.is_file()]
            yield lambda _: Config(scratch, settings_files=files, quiet=True, log_file=False)


def _store(given: argparse.Namespace, config: Config, name: str) -> Path:
    """Where decisions are kept until the end, by everything that they depend on as far as settings show it."""
    folder = state_path("backtest")
    make_private_directory(folder)
    facts = [name, str(given.against), config.get_working_dir(), *(str(layer.values) for layer in config.get_layers())]
    return folder / f"{hashlib.sha256(repr(facts).encode('utf-8', 'replace')).hexdigest()[:24]}.jsonl"
