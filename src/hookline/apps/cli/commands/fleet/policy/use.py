"""The subcommands of `hookline fleet policy` that bring a policy to machines: publish, pull, status, follow."""

import argparse
import asyncio
from pathlib import Path
from typing import Any

from hookline.apps.cli.commands.fleet.policy.documents import about, put, read_document
from hookline.apps.cli.commands.fleet.policy.follow import follow_here
from hookline.apps.cli.commands.fleet.policy.machine import keys_given, server_here, setup_here
from hookline.apps.cli.commands.fleet.policy.options import add_public_keys
from hookline.apps.cli.options import add_json_option, at_least
from hookline.apps.cli.report.fleet import document_lines, document_report, status_lines
from hookline.apps.cli.report.printer import print_report
from hookline.apps.cli.report.style import style
from hookline.apps.cli.subcommands import Subcommand
from hookline.client.config import Config
from hookline.errors import UsageError
from hookline.fleet.policy.documents import PolicyError
from hookline.fleet.policy.follow import Follower, PolicyUpdate, describe
from hookline.fleet.policy.layer import PolicySetup
from hookline.fleet.policy.store import PolicyStore, read_data
from hookline.inspect.lint.programs import run_fault
from hookline.inspect.view import read_setup
from hookline.protocol.text.readable import one_line
from hookline.settings.read.policy_state import PolicyState


def _configure_publish(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a signed bundle, or signed switches")
    parser.add_argument("--replicas", metavar="N", type=at_least(1), default=1, help="copies in a cluster (default: 1)")
    add_public_keys(parser)
    add_json_option(parser)


def _publish(given: argparse.Namespace) -> int:
    envelope = read_document(given.file)
    with about(given.file):
        keys = asyncio.run(put(envelope, keys_given(given.public_key), int(given.replicas)))
    report = {"file": given.file, "keys": list(keys), **document_report(envelope.document)}
    print_report(given, report, [*document_lines(envelope.document), f"published: {', '.join(keys)}"])
    return 0


def _configure_pull(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", nargs="?", help="a signed document that another tool brought (default: ask the server)"
    )
    add_json_option(parser)


def _pull(given: argparse.Namespace) -> int:
    place = setup_here().place
    return _pull_from_server(given, place) if given.file is None else _pull_from_file(given, place)


def _pull_from_server(given: argparse.Namespace, place: PolicyStore) -> int:
    heard: list[PolicyUpdate] = []
    asyncio.run(Follower(server_here(), place, heard.append).pull())
    problems = [news.message for news in heard if news.is_problem]
    report = {"new": [news.message for news in heard if not news.is_problem], "problems": problems}
    lines = [style.warn(one_line(news.message)) if news.is_problem else one_line(news.message) for news in heard]
    print_report(given, report, lines or ["Nothing is new."])
    return 1 if problems else 0


def _pull_from_file(given: argparse.Namespace, place: PolicyStore) -> int:
    try:
        data = read_data(Path(given.file))
        if data is None:
            raise UsageError(f"{given.file} does not exist; give a document that hookline fleet policy sign has signed")
        taken = place.take(data)
    except PolicyError as error:
        raise UsageError(f"{given.file} {error}; nothing was changed") from error
    document = taken.verified.document
    line = f"{describe(taken)} in force" + ("" if taken.is_new else ", as before")
    print_report(given, {"new": taken.is_new, **document_report(document)}, [*document_lines(document), line])
    return 0


def _status(given: argparse.Namespace) -> int:
    report = _status_report(setup_here())
    print_report(given, report, status_lines(report))
    has_problems = report["problems"] or any(hook["fails"] is not None for hook in report["hooks"])
    return 1 if report["version"] is None or has_problems else 0


def _status_report(setup: PolicySetup) -> dict[str, Any]:
    config = Config(".", quiet=True)
    settings, found = config.get_settings(), read_setup(config)
    state = settings.policy or PolicyState()
    return {
        "version": state.version,
        "expires": state.expires,
        "team": state.team,
        "directory": str(setup.place.directory),
        "publicKeys": list(setup.place.keys),
        "signedBy": state.key,
        "onExpiry": setup.on_expiry.value,
        "managedOnly": settings.managed_only,
        "problems": list(state.warnings),
        "agentsOff": state.agents_off,
        "hooksOff": state.hooks_off,
        "hooks": [
            {
                "event": hook.event.value,
                "hook": hook.label,
                "required": hook.required,
                "fails": run_fault(hook, found) if hook.enabled else None,
            }
            for hook in found.hooks
            if hook.policy is not None
        ],
    }


def _follow(given: argparse.Namespace) -> int:
    setup, server = setup_here(), server_here()
    report = {"server": server.shown, "team": setup.place.team, "directory": str(setup.place.directory)}
    print_report(given, report, ["following {server} for the team {team} into {directory}".format_map(report)])
    asyncio.run(follow_here(server, setup.place))
    return 0


USE_SUBCOMMANDS = {
    "publish": Subcommand(
        "Put a signed document into the company's bucket, for all machines of its teams.",
        "  hookline fleet policy publish policy.json",
        _configure_publish,
        _publish,
    ),
    "pull": Subcommand(
        "Put a policy in force on this machine: from a file that any tool brought, or from the server, once.",
        "  hookline fleet policy pull policy.json\n  hookline fleet policy pull",
        _configure_pull,
        _pull,
    ),
    "status": Subcommand(
        "Show which policy is in force here, until when, and whether its hooks can run.",
        "  hookline fleet policy status --json",
        add_json_option,
        _status,
    ),
    "follow": Subcommand(
        "Keep this machine's policy as the server has it, until it is ended: contrib/ has a systemd unit for it.",
        "  hookline fleet policy follow",
        add_json_option,
        _follow,
    ),
}
