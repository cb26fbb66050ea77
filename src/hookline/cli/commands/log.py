"""Show what hooks did, newest last: every run, every event, and with --skipped every hook that did not match.

Examples:
  hookline log                                   the latest 50 records, newest last
  hookline log --hook guard --decision deny      what guard has denied
  hookline log --failures --since 1d             what failed since yesterday
  hookline log --all-projects                    of every project, not only of this one
  hookline log --follow                          then print new records as they come
  hookline log show 3f9a01c2d4-0                 all about one run
  hookline log --stats --since 7d                events over time, what was blocked most often, and every hook's numbers
  hookline log --unfinished                      hooks that were started, and no end is recorded
  hookline log head >> /mnt/usb/heads            keep the last hash where nobody changes it
  hookline log verify --head /mnt/usb/heads      was a record changed, removed or inserted?

--json prints one object per line; with show, the whole record. The exit code of verify is 2 when something was changed.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from hookline.cli.commands._log_filters import (
    ALL_PROJECTS,
    add_filter_options,
    add_run_filters,
    add_statistics_options,
    of_project,
    query_of,
    shown_project,
)
from hookline.cli.ending import end_at_once
from hookline.cli.options import add_common_options, at_least, make_config, require_project
from hookline.cli.report.log import show_entry, show_record
from hookline.cli.report.printer import print_json, print_lines
from hookline.cli.report.progress import IndexProgress
from hookline.cli.report.text import plural
from hookline.config import Config
from hookline.contract.records import LogRecord
from hookline.contract.text import tell
from hookline.errors import UsageError
from hookline.log.entry import LogEntry, LogQuery
from hookline.log.paths import log_path
from hookline.log.reader import LogReader
from hookline.log.started import recover

_SHOWN = 50
_SHORTEST_ID = 4


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    parser.usage = (
        "hookline log [options]\n       hookline log show ID [options]"
        "\n       hookline log verify [--head FILE|HEAD] [options]\n       hookline log head [options]"
    )
    parser.add_argument(
        "words",
        nargs="*",
        metavar="show ID | verify | head",
        help="all about one run, by its id or the start of its id; check the hash of every record; print the last hash",
    )
    parser.add_argument(
        "--head", metavar="FILE", help="for verify: what head printed before, or a file with one such line or more"
    )
    add_filter_options(parser)
    add_run_filters(parser)
    parser.add_argument(
        "-n", metavar="N", type=at_least(0), default=_SHOWN, help="how many at most (default: 50; 0 for all)"
    )
    parser.add_argument(
        "--skipped",
        action="store_true",
        help="also events that no hook ran for, and hooks that did not match or are disabled",
    )
    parser.add_argument(
        "--stats", action="store_true", help="count instead: events over time, blocked calls, and the runs of each hook"
    )
    add_statistics_options(parser)
    parser.add_argument("-f", "--follow", action="store_true", help="then print new records until interrupted")
    parser.add_argument("--file", metavar="FILE", help="read this log instead of the one in the settings")
    add_common_options(parser)


def run(given: argparse.Namespace) -> int:
    """Prints the records."""
    end_at_once()
    require_known_words(given.words)
    if given.head is not None and given.words != ["verify"]:
        raise UsageError("--head is for hookline log verify")
    require_project(given)
    if given.stats:
        return _count(given)
    if given.shadow or given.fail_over_budget:
        raise UsageError("--shadow and --fail-over-budget are for hookline log --stats")
    query = query_of(given, project=None if given.words else shown_project(given))
    path, backups = (file, None) if (file := _file(given)) else recorded_log(make_config(given))
    if given.words in (["verify"], ["head"]):
        from hookline.cli.commands import _log_chain  # noqa: PLC0415 - the usual ones have to start quickly

        return (
            _log_chain.print_head(path, given) if given.words == ["head"] else _log_chain.verify(path, given, backups)
        )
    with LogReader(path, progress=IndexProgress()) as reader:
        if given.words:
            return _show(reader, given.words[1], as_json=given.json)
        _list(reader, given, query)
        if reader.unreadable:
            tell(f"{plural(reader.unreadable, 'line')} of {path} could not be read")
    return 0


def require_known_words(words: Sequence[str]) -> None:
    """Raises UsageError for words that are no form of this command."""
    if words and list(words) not in (["verify"], ["head"], ["show", *words[1:2]]):
        raise UsageError("the only words without an option are show ID, verify and head; use options to choose records")
    if list(words) == ["show"]:
        raise UsageError("show needs the id of a run; hookline log shows the ids")


def _count(given: argparse.Namespace) -> int:
    from hookline.cli.commands.stats import show_statistics  # noqa: PLC0415 - the usual ones have to start quickly

    runs_alone = ("decision", "failures", "unfinished", "slower_than", "skipped", "follow")
    if given.words or (used := [name for name in runs_alone if getattr(given, name)]):
        what = given.words[0] if given.words else f"--{used[0].replace('_', '-')}"
        raise UsageError(f"{what} chooses single records, and --stats counts all; give one of them")
    config = make_config(given)
    return show_statistics(given, config, _file(given) or recorded_log(config)[0])


def _file(given: argparse.Namespace) -> Path | None:
    if given.file and not Path(given.file).exists():
        raise UsageError(f"the log {given.file} does not exist")
    return Path(given.file) if given.file else None


def _list(reader: LogReader, given: argparse.Namespace, query: LogQuery) -> None:
    rows = _Rows(os.path.realpath(given.project), as_json=given.json)
    rows.print(reader.newest(query, given.n) if given.n > 0 else reader.entries(query))
    if rows.has_others and not (given.all_projects or given.session or given.file):
        tell(ALL_PROJECTS)
    if given.follow:
        rows.print(reader.follow(query), at_once=True)
    if not rows.count and not given.json:
        tell(f"no such record{of_project(query)} in {reader.path}")


def recorded_log(config: Config) -> tuple[Path, int]:
    """The log that the settings name, with what ended programs had begun, and how many rotated files it has."""
    options = config.get_settings().options.log
    if not options.enabled:
        tell("the settings disable the log (hooksConfig.log.enabled), so nothing is recorded")
    path = log_path(options.path)
    recover(path, lambda records: _write(records, path, config))
    return path, options.backups


def _write(records: Sequence[LogRecord], path: Path, config: Config) -> bool:
    # Loaded on use: programs are killed rarely.
    from hookline.log.file import FileSink  # noqa: PLC0415
    from hookline.log.redact import Redactor  # noqa: PLC0415

    options = config.get_settings().options
    redactor = Redactor(options.redact, os.environ)
    sink = FileSink(path, max_bytes=options.log.max_bytes, backups=options.rotated_files, redactor=redactor)
    is_written = sink.write_now(records)
    sink.close()
    return is_written


class _Rows:
    """Prints records, and knows what it has printed."""

    def __init__(self, here: str, *, as_json: bool) -> None:
        self._here = here
        self._as_json = as_json
        self.count = 0
        self.has_others = False
        """Whether one was of another project."""

    def print(self, entries: Iterable[LogEntry], *, at_once: bool = False) -> None:
        """Prints one line for each, and with `at_once` as soon as it comes."""
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
