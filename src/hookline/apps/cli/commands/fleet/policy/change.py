"""The subcommands of `hookline fleet policy` that change what is published already: rollback and switch."""

import argparse
import asyncio
import time
from pathlib import Path

from msgspec.structs import replace

from hookline.apps.cli.commands.fleet.policy.documents import (
    about,
    own_keys,
    published_anywhere,
    published_before,
    put,
    read_signed_document,
    require_obeyed,
    write_document,
)
from hookline.apps.cli.commands.fleet.policy.machine import server_here
from hookline.apps.cli.commands.fleet.policy.options import add_expires, add_force, add_key, add_teams
from hookline.apps.cli.options import add_json_option, at_least
from hookline.apps.cli.report.fleet import document_lines, document_report
from hookline.apps.cli.report.printer import print_report
from hookline.apps.cli.subcommands import Subcommand
from hookline.errors import UsageError
from hookline.fleet.nats.connection import connected
from hookline.fleet.policy.bucket import all_before, latest
from hookline.fleet.policy.documents import (
    ALL_TEAMS,
    Bundle,
    Document,
    SignedDocument,
    Switch,
    Switches,
    now,
    sign,
    unsigned,
)
from hookline.fleet.policy.packing import renewed
from hookline.fleet.policy.store import DocumentKind, read_data
from hookline.protocol.text.readable import one_line
from hookline.stderr import warn_user


def _configure_rollback(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", help="the older bundle (default: the one in the bucket)")
    parser.add_argument("--to", metavar="N", type=at_least(1), help="which version's content, without FILE")
    parser.add_argument("--team", metavar="NAME", default=ALL_TEAMS, help="whose bundles to look at (default: all)")
    parser.add_argument("--version", metavar="N", type=at_least(1), help="the new version, with FILE and --output")
    add_key(parser)
    add_force(parser)
    add_expires(parser, "90d")
    parser.add_argument("--output", "-o", metavar="FILE", help="write it to a file, and publish nothing")
    add_json_option(parser)


def _rollback(given: argparse.Namespace) -> int:
    if (given.file is None) == (given.to is None):
        raise UsageError("say what to go back to: a FILE, or --to VERSION")
    if given.output is None and not given.force:
        asyncio.run(require_obeyed(given.key, (given.team,)))
    signed = asyncio.run(_older(given))
    if given.output is not None:
        write_document(Path(given.output), signed)
        where = f"written to {one_line(given.output)}"
    else:
        where = f"published: {', '.join(asyncio.run(put(signed, own_keys(given.key))))}"
    document = signed.document
    print_report(given, document_report(document), [*document_lines(document), where])
    return 0


async def _older(given: argparse.Namespace) -> SignedDocument:
    """The older content under a new version, signed."""
    if given.file is not None and given.output is not None:
        if given.version is None:
            raise UsageError("without a server, give the new --version: higher than all before")
        old, version = read_signed_document(given.file, own_keys(given.key)).document, int(given.version)
    else:
        old, version = await _from_bucket(given)
    if not isinstance(old, Bundle):
        raise UsageError("only bundles can be rolled back; for switches there is hookline fleet policy switch")
    made = renewed(old, version=version, expires=given.expires)
    return sign(unsigned(made), Path(given.key))


async def _from_bucket(given: argparse.Namespace) -> tuple[Document, int]:
    async with connected(server_here(), "policy") as client:
        keys = own_keys(given.key)
        known = await all_before(client, DocumentKind.BUNDLE, given.team, keys)
        teams = {team for each in known for team in each.document.teams}
        highest = [await latest(client, DocumentKind.BUNDLE, team, keys) for team in sorted(teams)]
    versions = [each.document.version for each in (*known, *highest) if each is not None]
    version = 1 + max((*versions, published_before(DocumentKind.BUNDLE, (*teams, given.team))))
    if given.file is not None:
        return read_signed_document(given.file, own_keys(given.key)).document, version
    found = next((each for each in reversed(known) if each.document.version == int(given.to)), None)
    if found is None:
        there = ", ".join(str(each.document.version) for each in known) or "none"
        where = f"the bucket has no version {int(given.to)} for {given.team}"
        raise UsageError(f"{where}; it has: {there}; --team looks at the bundles of another team")
    return found.document, version


def _configure_switch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="WHAT", choices=("agents", "hook"), help="agents, or hook with its name")
    parser.add_argument("words", metavar="[NAME] STATE", nargs="+", help="the hook's name; then off, or on again")
    parser.add_argument("--reason", metavar="TEXT", help="why, for everybody whom it stops")
    add_expires(parser, "24h")
    add_teams(parser)
    add_key(parser)
    add_force(parser)
    parser.add_argument(
        "--file", metavar="FILE", help="change the switches in this file, and publish nothing; it may not exist yet"
    )
    add_json_option(parser)


def _switch(given: argparse.Namespace) -> int:
    name, state = _words(given)
    if state == "off" and not (given.reason or "").strip():
        raise UsageError("give a --reason: everybody whom it stops is going to read it")
    if given.file is None and not given.force:
        asyncio.run(require_obeyed(given.key, given.teams))
    made = asyncio.run(_switched(given, name, is_off=state == "off"))
    signed = sign(unsigned(made), Path(given.key))
    if given.file is not None:
        write_document(Path(given.file), signed)
        where = f"written to {one_line(given.file)}; on a machine: hookline fleet policy pull FILE"
    else:
        where = f"published: {', '.join(asyncio.run(put(signed, own_keys(given.key))))}"
    print_report(given, document_report(made), [*document_lines(made), where])
    return 0


def _words(given: argparse.Namespace) -> tuple[str | None, str]:
    *names, state = given.words
    if state not in ("off", "on") or len(names) != (1 if given.what == "hook" else 0):
        raise UsageError("write: switch agents off, switch agents on, switch hook NAME off, or switch hook NAME on")
    return (names[0] if names else None), state


async def _switched(given: argparse.Namespace, name: str | None, *, is_off: bool) -> Switches:
    """The switches as they are for these teams, with this one changed, and without those that have expired."""
    before = await _switches_before(given)
    published = published_before if given.file is None else published_anywhere
    # By the clock as well, so machines take it even if the bucket has lost what they have seen, or the file is new.
    clock = int(1000 * time.time())
    version = 1 + max(clock, published(DocumentKind.SWITCHES, given.teams), *(document.version for document in before))
    # Of all these teams: nothing that is off for one of them may be on again by accident.
    known = tuple({(each.what, each.hook): each for document in before for each in document.switches}.values())
    kept = tuple(each for each in known if (each.what, each.hook) != (given.what, name) and each.expires > now())
    if is_off:
        kept = (*kept, Switch(what=given.what, hook=name, reason=given.reason, expires=given.expires))
    elif len(kept) == len(known):
        warn_user(f"{'agents' if name is None else name} was not off; the other switches are signed again")
    empty = Switches(version=version, issued=now(), teams=given.teams)
    return replace(empty, switches=kept)


async def _switches_before(given: argparse.Namespace) -> list[Switches]:
    if given.file is not None:
        with about(given.file):
            is_there = read_data(Path(given.file)) is not None
        found = [read_signed_document(given.file, own_keys(given.key)).document] if is_there else []
    else:
        async with connected(server_here(), "policy") as client:
            there = [await latest(client, DocumentKind.SWITCHES, team, own_keys(given.key)) for team in given.teams]
        found = [each.document for each in there if each is not None]
    return [document for document in found if isinstance(document, Switches)]


CHANGE_SUBCOMMANDS = {
    "rollback": Subcommand(
        "Publish older content again, under a new version: versions only grow, so this is the way back.",
        "  hookline fleet policy rollback --to 6 --key policy.key\n"
        "  hookline fleet policy rollback old.json --version 8 --key policy.key -o policy.json",
        _configure_rollback,
        _rollback,
    ),
    "switch": Subcommand(
        "Switch all agents off, or one hook, wherever it is configured; and on again.",
        '  hookline fleet policy switch agents off --reason "incident 4711" --expires 2h --key policy.key\n'
        "  hookline fleet policy switch hook no-secrets off --reason 'false alarms' --expires 1d --key policy.key\n"
        "  hookline fleet policy switch agents on --key policy.key --file switches.json",
        _configure_switch,
        _switch,
    ),
}
