"""`hookline fleet run`, `status` and `events`."""

import argparse
import asyncio
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hookline.apps.cli.commands.fleet.server import fleet_of, policy_keys_of, selection_of
from hookline.apps.cli.log_options import (
    add_filter_options,
    add_machine_options,
    add_run_filters,
    add_stream_option,
    query_of,
)
from hookline.apps.cli.options import add_common_options, at_least
from hookline.apps.cli.report.fleet import machines_lines, machines_report
from hookline.apps.cli.report.log import show_entry
from hookline.apps.cli.report.printer import print_json, print_lines, print_report
from hookline.apps.cli.report.statistics import entry_of, stats_lines
from hookline.apps.cli.report.trials import trial_lines, trial_report
from hookline.apps.cli.subcommands import Subcommand
from hookline.errors import UsageError
from hookline.fleet.names import (
    AUDIT_STREAM,
    AUDIT_SUBJECTS,
    MACHINES_BUCKET,
    MACHINES_BYTES,
    NAME_A_SERVER,
    POLICY_BUCKET,
    record_subjects,
    token_of,
)
from hookline.fleet.nats.bucket import make_bucket
from hookline.fleet.nats.jetstream import make_stream
from hookline.fleet.policy.bucket import HISTORY
from hookline.fleet.query import ask, mirrored, read_machines
from hookline.inspect.machine import machine_service
from hookline.inspect.proof.shadow import read_trials
from hookline.log.read.reader import LogReader
from hookline.log.read.statistics import RUNS
from hookline.protocol.text.readable import plural
from hookline.stderr import warn_user

if TYPE_CHECKING:
    from nats.aio.client import Client

_DAY_S = 86_400.0
_SHOWN = 50


def _setup(given: argparse.Namespace) -> int:
    replicas, most = int(given.replicas), -1 if given.max_bytes is None else int(given.max_bytes)

    name = AUDIT_STREAM if given.team is None else f"{AUDIT_STREAM}_{token_of(given.team)}"
    subjects = AUDIT_SUBJECTS if given.team is None else record_subjects(given.team)

    async def make(client: "Client") -> dict[str, bool]:
        made = await make_stream(
            client,
            name,
            subjects,
            num_replicas=replicas,
            max_age=given.days * _DAY_S,
            max_bytes=most,
        )
        return {
            name: made,
            MACHINES_BUCKET: await make_bucket(
                client, MACHINES_BUCKET, history=1, replicas=replicas, max_bytes=MACHINES_BYTES
            ),
            POLICY_BUCKET: await make_bucket(client, POLICY_BUCKET, history=HISTORY, replicas=replicas),
        }

    made = ask(fleet_of(given), make)
    words = {True: "made", False: "was there already; its protections are on"}
    lines = [f"{name}: {words[is_new]}" for name, is_new in made.items()]
    print_report(given, {"made": made}, lines)
    return 0


def _configure_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--once", action="store_true", help="send what is there, say that the machine lives, and end")
    setup = parser.add_argument_group("to prepare the server, once, as an administrator")
    setup.add_argument("--setup", action="store_true", help="make the stream and the buckets on the server, and end")
    setup.add_argument("--team", metavar="NAME", help="make a stream for this team alone; see --stream of events")
    setup.add_argument("--replicas", metavar="N", type=at_least(1), default=1, help="servers that keep a copy, 1 to 5")
    setup.add_argument(
        "--days", metavar="N", type=at_least(1, float), default=90.0, help="how long records are kept (default: 90)"
    )
    setup.add_argument(
        "--max-bytes", metavar="N", type=at_least(1), help="remove the oldest beyond this (default: no bound)"
    )
    add_common_options(parser, dialect=False)


def _run(given: argparse.Namespace) -> int:
    if given.setup:
        return _setup(given)
    service = machine_service(warn_user)
    if service is None:
        raise UsageError(f"the settings name no server; {NAME_A_SERVER}")

    async def serve() -> int:
        if given.once:
            await service.run_once()
            return 0
        ending = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, ending.set)
        warn_user("the service of this machine runs")
        await service.run(ending)
        return 0

    return asyncio.run(serve())


def _configure_status(parser: argparse.ArgumentParser) -> None:
    add_machine_options(parser)
    parser.add_argument("--expect", metavar="FILE", help="names of machines that must have shown life, one per line")
    parser.add_argument(
        "--keys",
        metavar="FILE",
        help="the machines' keys: a machine, a user and a key on each line; each must show life",
    )
    add_common_options(parser, dialect=False)


def _status(given: argparse.Namespace) -> int:
    found = read_machines(
        fleet_of(given),
        selection_of(given),
        policy_keys=policy_keys_of(given),
        keys_file=given.keys,
        expected=_expected(given.expect) if given.expect else (),
    )
    print_report(given, machines_report(found), machines_lines(found))
    return 1 if not found or any(status.problems for status in found) else 0


def _expected(file: str) -> list[str]:
    try:
        lines = Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise UsageError(f"the names in {file} can't be read: {error.strerror}") from error
    return [name for line in lines if (name := line.partition("#")[0].strip())]


def _configure_events(parser: argparse.ArgumentParser) -> None:
    add_machine_options(parser)
    add_stream_option(parser)
    add_filter_options(parser, of_projects=False)
    add_run_filters(parser)
    parser.set_defaults(since="1d")
    parser.add_argument(
        "-n", "--limit", metavar="N", type=at_least(0), default=_SHOWN, help="how many at most (default: 50; 0 for all)"
    )
    parser.add_argument("--skipped", action="store_true", help="also hooks that did not run")
    parser.add_argument("--stats", action="store_true", help="count instead: the runs of every hook on all machines")
    parser.add_argument("--shadow", action="store_true", help="with --stats: what hooks in shadow mode would decide")
    add_common_options(parser, dialect=False)


def _events(given: argparse.Namespace) -> int:
    if given.stats:
        return _stats(given)
    if given.shadow:
        raise UsageError("--shadow is for hookline fleet events --stats")
    query = query_of(given)
    count = 0
    with mirrored(fleet_of(given), selection_of(given)) as log, LogReader(log) as reader:
        for entry in reader.newest(query, int(given.limit)) if given.limit > 0 else reader.entries(query):
            count += 1
            if given.json:
                print_json(msgspec.to_builtins(entry), indent=None)
            else:
                print_lines(*show_entry(entry, ""))
    if not count and not given.json:
        warn_user("no such record is in the stream; --since 7d looks further back")
    return 0


def _stats(given: argparse.Namespace) -> int:
    query = query_of(given, RUNS)
    with mirrored(fleet_of(given), selection_of(given)) as log, LogReader(log) as reader:
        if given.shadow:
            report = [trial_report(each) for each in read_trials(reader, query, lambda value: value)]
            print_report(given, {"trials": report}, trial_lines(report))
            return 0
        numbers = reader.statistics(query).hooks
    entries = [entry_of(key, hook) for key, hook in numbers.items()]
    runs = sum(hook.runs for hook in numbers.values())
    lines = [*stats_lines(entries), f"{plural(runs, 'run')} of {plural(len(entries), 'hook')} since {given.since}."]
    print_report(given, {"hooks": entries}, lines)
    return 0


SUBCOMMANDS: Mapping[str, Subcommand] = {
    "run": Subcommand(
        "Send this user's log to the company's stream, and show that the machine and its guards work.\n\n"
        "The service signs the heads of the log, sends heartbeats, and tries the guards once a day. It runs until\n"
        "it is interrupted; only one service sends a log.\n\n"
        "With --setup, make the stream of records, and the buckets of heartbeats and policies, on the server. What is\n"
        "there already stays, and gets the protections of a new one: its messages can't be deleted or replaced.",
        "  hookline fleet run\n  systemctl --user enable --now hookline-fleet\n"
        "  hookline fleet run --setup --replicas 3 --days 365\n"
        "  hookline fleet run --setup --team payments --replicas 3",
        _configure_run,
        _run,
    ),
    "status": Subcommand(
        "Show which machines are silent, out of date, or have guards that do not run.\n\n"
        "The exit code is 1 if a machine has a problem, and if there is no machine.",
        "  hookline fleet status\n  hookline fleet status --expect machines.txt --json",
        _configure_status,
        _status,
    ),
    "events": Subcommand(
        "Show the records of all machines, newest last: those of the last day, unless --since says otherwise.\n\n"
        "With --stats, count the runs of every hook instead.",
        "  hookline fleet events --decision blocked\n  hookline fleet events --machine build7 --since 7d --json\n"
        "  hookline fleet events --stats --team payments --hook guard\n"
        "  hookline fleet events --stats --shadow --since 7d",
        _configure_events,
        _events,
    ),
}
