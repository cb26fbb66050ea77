"""Show what hooks did, newest last: every run, every event, and with --skipped every hook that did not match.

Examples:
  hookline log                                   the latest 50 records, newest last
  hookline log --hook guard --decision blocked   what guard has blocked
  hookline log --failures --since 1d             what failed since yesterday
  hookline log --all-projects                    of every project, not only of this one
  hookline log --follow                          then print new records as they come
  hookline log 3f9a01c2d4-0                      all about one run
  hookline log --stats --since 7d                events over time, what was blocked most often, and every hook's numbers
  hookline log --unfinished                      hooks that were started, and no end is recorded
  hookline log --stats --shadow                  what hooks in shadow mode would have decided, and what happened
  hookline log --stats --fail-over-budget        in CI: fails when a hook is slower than its budget
  hookline log --verify --save /mnt/usb/heads    keep the last hash where it can't be changed
  hookline log --verify --head /mnt/usb/heads    was a record changed, removed or inserted?

--json prints one object per line; with an id, the whole record. A hook is over its budget ("budget": 50, milliseconds,
in the settings) when its p95 is, that is, when more than one run in twenty took longer.

Exit codes:
  0  done, or intact    1  changed records, a hook over its budget, or the command failed
"""

import argparse
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hookline.apps.cli.log_options import (
    ALL_PROJECTS,
    add_filter_options,
    add_run_filters,
    add_statistics_options,
    of_project,
    query_of,
    shown_project,
)
from hookline.apps.cli.options import add_common_options, add_log_option, at_least, make_config, require_project
from hookline.apps.cli.report.log import show_entry, show_record
from hookline.apps.cli.report.printer import print_json, print_lines
from hookline.client.config import Config
from hookline.errors import UsageError
from hookline.extensions import lazy_module
from hookline.log.paths import log_path
from hookline.log.read.entry import LogEntry, LogQuery
from hookline.log.read.reader import LogReader
from hookline.protocol.text.readable import plural
from hookline.stderr import warn_user

if TYPE_CHECKING:
    from hookline.apps.cli.commands.log import chain, statistics
else:
    chain = lazy_module("hookline.apps.cli.commands.log.chain")
    statistics = lazy_module("hookline.apps.cli.commands.log.statistics")

_SHOWN = 50
_SHORTEST_ID = 4


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("id", metavar="ID", nargs="?", help="all about one run, by its id or the start of its id")
    add_filter_options(parser)
    add_run_filters(parser)
    parser.add_argument(
        "-n", "--limit", metavar="N", type=at_least(0), default=_SHOWN, help="how many at most (default: 50; 0 for all)"
    )
    parser.add_argument(
        "--skipped",
        action="store_true",
        help="also events that no hook ran for, and hooks that did not match or are disabled",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--stats", action="store_true", help="count instead: events over time, blocked calls, and the runs of each hook"
    )
    add_statistics_options(parser)
    what.add_argument("--verify", action="store_true", help="check the hash of every record")
    parser.add_argument("--head", metavar="FILE", help="with --verify: a hash that was saved before, or a file of them")
    parser.add_argument("--save", metavar="FILE", help="with --verify: append the last hash to this file")
    parser.add_argument("-f", "--follow", action="store_true", help="then print new records until interrupted")
    add_log_option(parser)
    add_common_options(parser)


def run(given: argparse.Namespace) -> int:
    """Print the records."""
    if (given.head is not None or given.save is not None) and not given.verify:
        raise UsageError("--head and --save are for hookline log --verify")
    if given.id is not None and given.verify:
        raise UsageError(f"--verify checks the whole log; leave {given.id} out")
    require_project(given)
    if given.stats:
        return _count(given)
    if given.shadow or given.fail_over_budget:
        raise UsageError("--shadow and --fail-over-budget are for hookline log --stats")
    query = query_of(given, project=None if given.id or given.verify else shown_project(given))
    path, backups = (file, None) if (file := _source(given)) else recorded_log(make_config(given))
    if given.verify:
        return chain.verify(path, given, backups)
    with LogReader(path) as reader:
        if given.id:
            return _show(reader, given.id, as_json=given.json)
        _list(reader, given, query)
        if reader.unreadable:
            warn_user(f"{plural(reader.unreadable, 'line')} of {path} could not be read")
    return 0


def _count(given: argparse.Namespace) -> int:
    runs_alone = ("decision", "failures", "unfinished", "slower_than", "skipped", "follow")
    if given.id or (used := [name for name in runs_alone if getattr(given, name)]):
        what = given.id or f"--{used[0].replace('_', '-')}"
        raise UsageError(f"{what} chooses single records, and --stats counts all; give one of them")
    config = make_config(given)
    return statistics.show_statistics(given, config, _source(given) or recorded_log(config)[0])


def _source(given: argparse.Namespace) -> Path | None:
    if given.source and not Path(given.source).exists():
        raise UsageError(f"the log {given.source} does not exist")
    return Path(given.source) if given.source else None


def _list(reader: LogReader, given: argparse.Namespace, query: LogQuery) -> None:
    rows = _Rows(os.path.realpath(given.project), as_json=given.json)
    rows.print(reader.newest(query, given.limit) if given.limit > 0 else reader.entries(query))
    if rows.has_others and not (given.all_projects or given.session or given.source):
        warn_user(ALL_PROJECTS)
    if given.follow:
        rows.print(reader.follow(query), at_once=True)
    if not rows.count and not given.json:
        warn_user(f"no such record{of_project(query)} in {reader.path}")


def recorded_log(config: Config) -> tuple[Path, int]:
    """The log that the settings name, with what ended programs had begun, and how many rotated files it has."""
    options = config.get_settings().options.log
    if not options.enabled:
        warn_user("the settings disable the log (hooksConfig.log.enabled), so nothing is recorded")
    path = log_path(options.path)
    return path, options.backups


class _Rows:
    """Prints records, and knows what it has printed."""

    def __init__(self, here: str, *, as_json: bool) -> None:
        self._here = here
        self._as_json = as_json
        self.count = 0
        self.has_others = False
        """Whether one was of another project."""

    def print(self, entries: Iterable[LogEntry], *, at_once: bool = False) -> None:
        """Print one line for each, and with `at_once` as soon as it comes."""
        for entry in entries:
            self.count += 1
            self.has_others |= entry.project not in (None, self._here)
            if self._as_json:
                print_json(msgspec.to_builtins(entry), indent=None)
            else:
                print_lines(*show_entry(entry, self._here))
            if at_once:
                sys.stdout.flush()
        sys.stdout.flush()


def _show(reader: LogReader, run: str, *, as_json: bool) -> int:
    if len(run) < _SHORTEST_ID:
        raise UsageError(f"{run} is too short for an id; give {_SHORTEST_ID} characters or more")
    records = reader.whole_records(run)
    if not records:
        raise UsageError(f"no run {run} is recorded; hookline log shows the ids")
    for number, record in enumerate(records):
        if as_json:
            print_json(record, indent=None)
        else:
            print_lines(*([""] if number else []), *show_record(record))
    return 0
