"""`hookline replay --from` and `--against`: runs hooks over the log and transcripts of agents, in a scratch copy."""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hookline.apps.cli.interrupt import run_loop
from hookline.apps.cli.log_options import time_of
from hookline.apps.cli.options import make_config, read_config, write_file
from hookline.apps.cli.report.backtest import backtest_lines, backtest_report, html_page, markdown_lines
from hookline.apps.cli.report.printer import ProgressBar, print_report
from hookline.client.config import Config
from hookline.dialects.transcripts.find import AGENTS, OWN
from hookline.errors import UsageError
from hookline.inspect.hooks import recorded_in
from hookline.protocol.constants import WHY_DISABLED, FiredBy
from hookline.stderr import warn_user
from hookline.testing.backtest.past import LeftOut, Past, what_happened
from hookline.testing.backtest.run import Judge, Tally, backtest
from hookline.testing.backtest.versions import MakeIn, Version, of_file, of_revision, today


def replay_past(given: argparse.Namespace) -> int:
    """Judges what happened, and prints what would be decided in another way."""
    config = make_config(given, log_file=False)
    if not config.get_enable_hooks():
        raise UsageError(f"hooks are disabled: {WHY_DISABLED}; nothing was judged")
    left_out = LeftOut()
    with today(_maker(given), config.get_working_dir()) as now, _other_version(given, config) as other:
        for note in {each.note for each in (now, other) if each is not None and each.note}:
            if not given.json:
                warn_user(note)
        tally = _judge(given, config, [now, other], left_out).cleaned(config.get_redactor().clean)
    title = f"today's hooks against {given.against}" if given.against else "today's hooks against what happened"
    if given.html:
        write_file(Path(given.html), html_page(tally, left_out, title).encode("utf-8", "replace"))
    lines = markdown_lines if given.markdown else backtest_lines
    print_report(given, backtest_report(tally, left_out, title), lines(tally, left_out, title))
    if not tally.events:
        return 1
    return 1 if any(tally.counts.values()) or tally.untried else 0


def _judge(given: argparse.Namespace, config: Config, versions: list[Version | None], left_out: LeftOut) -> Tally:
    judges = [
        None if each is None else Judge(each.make_config, project=each.project, copy=each.copy) for each in versions
    ]
    total = sum(1 for _ in _happened(given, config, LeftOut())) if sys.stderr.isatty() else 0
    bar = ProgressBar(total)
    now, against = judges
    assert now is not None  # today's hooks are always there
    try:
        work = backtest(_happened(given, config, left_out), now, against, jobs=int(given.jobs), on_event=bar.step)
        tally = run_loop(work)
    finally:
        bar.close()
    return tally


def _maker(given: argparse.Namespace) -> MakeIn:
    def make(directory: str, trust: Path | None) -> Config:
        return read_config(given, project=directory, log_file=False, trust_path=trust, fired_by=FiredBy.REPLAY)

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
