"""`hookline fleet verify`: whether the records of a company's machines are those that were written there."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from hookline.apps.cli.commands.fleet.server import fleet_of, selection_of
from hookline.apps.cli.log_options import add_machine_options, add_stream_option, time_of
from hookline.apps.cli.options import add_common_options, require_project
from hookline.apps.cli.report.fleet import audit_lines, audit_report
from hookline.apps.cli.report.printer import print_report
from hookline.apps.cli.subcommands import Subcommand
from hookline.errors import HooklineError, UsageError
from hookline.fleet.keys import add_pins, read_listed, read_pins
from hookline.fleet.nats.jetstream import stored
from hookline.fleet.query import ask
from hookline.fleet.record.message import Foreign, Stated, arrivals
from hookline.fleet.record.statement import Source, read_anchors
from hookline.fleet.record.verify import Audit, AuditResult, Window, arrivals_of_log
from hookline.log.read.verify import whole_lines

if TYPE_CHECKING:
    from nats.aio.client import Client

_STREAM = "stream"


def _configure_verify(parser: argparse.ArgumentParser) -> None:
    add_machine_options(parser)
    add_stream_option(parser)
    parser.add_argument("--since", metavar="WHEN", help="records not older than 2h, 7d, or 2025-02-18[T16:30]")
    parser.add_argument("--until", metavar="WHEN", help="records older than that, in the same words")
    parser.add_argument(
        "--source",
        dest="sources",
        metavar="FILE",
        action="append",
        help="a machine's log instead of the stream (may be repeated); `stream` for both",
    )
    parser.add_argument(
        "--anchors",
        metavar="FILE",
        action="append",
        default=[],
        help="signed heads that were kept elsewhere, or a directory of such files (may be repeated)",
    )
    parser.add_argument("--keys", metavar="FILE", help="the machines' keys: a machine, a user and a key on each line")
    add_common_options(parser, dialect=False)


def _verify(given: argparse.Namespace) -> int:
    require_project(given)
    window = Window(time_of("--since", given.since), time_of("--until", given.until))
    listed = read_listed(Path(given.keys)) if given.keys else {}
    audit = Audit(window, {**read_pins(), **listed})
    sources = given.sources or [_STREAM]
    files = [Path(source) for source in sources if source != _STREAM]
    relabelled = Source(given.machine or "", "", str(files[0])) if files and _STREAM not in sources else None
    for path in given.anchors:
        _add_anchors(audit, Path(path), given, relabelled)
    if _STREAM in sources:
        _add_stream(audit, given)
    for file in files:
        if not file.exists():
            raise UsageError(f"the log {file} does not exist; give --source an existing file")
        for arrival in arrivals_of_log(whole_lines(file), Source(given.machine or "", "", str(file))):
            audit.add(arrival)
    done = audit.finish()
    if not done.sources and not done.findings:
        raise HooklineError(
            "no record of such a machine is there, so there is nothing to verify;"
            " hookline fleet status lists the machines"
        )
    return _print(given, done, window)


def _print(given: argparse.Namespace, done: AuditResult, window: Window) -> int:
    print_report(given, audit_report(done, window), audit_lines(done, window))
    if not done.is_intact:
        return 1
    add_pins({report.source.person: report.key for report in done.sources if report.key and report.source.user})
    return 1 if any(report.gaps for report in done.sources) else 0


def _add_stream(audit: Audit, given: argparse.Namespace) -> None:
    selection = selection_of(given)

    async def read(client: "Client") -> None:
        messages = stored(client, selection.stream, selection.subjects, since=selection.since_seconds)
        async for found in arrivals(messages):
            audit.add(found)

    ask(fleet_of(given), read)


def _add_anchors(audit: Audit, path: Path, given: argparse.Namespace, source: Source | None) -> None:
    """Takes the heads in a file; for a log that is a file, too, they are about that one."""
    for number, opened in read_anchors(path):
        if opened is None:
            why = f"line {number} of {path} is no signed head"
            audit.add(Foreign(team="", machine=given.machine or "", why=why, seconds=0.0))
            continue
        statement = opened.statement
        if given.machine in (None, statement.machine) and given.team in (None, statement.team):
            audit.add_statement(Stated(team=statement.team, opened=opened, seconds=0.0, about=source))


VERIFY = Subcommand(
    "Prove that the records of your company's machines are those that were written there.\n\n"
    "It follows the hash of every record, and compares the heads that the machines signed. It finds records that were\n"
    "changed, removed or invented, an end that was cut off, forged heads, and two machines with one name; and it\n"
    "lists what it could not check. The exit code is also 1 if a machine declared that it had to drop records.",
    "  hookline fleet verify --machine build7 --since 7d\n"
    "  hookline fleet verify --anchors /mnt/anchors --keys machines.keys\n"
    "  hookline fleet verify --source hooks.jsonl --anchors anchors",
    _configure_verify,
    _verify,
)
