"""The forms of `hookline policy` that bring a policy to machines: publish, pull, status, rollback, follow, switch."""

import argparse
import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from hookline.child.nats import connected
from hookline.cli.commands._forms import Form
from hookline.cli.commands._policy_words import (
    about,
    add_expires,
    add_json,
    add_key,
    add_teams,
    describe_document,
    document_lines,
    keys_given,
    read_document,
    server_here,
    setup_here,
    system_layer,
    write_document,
)
from hookline.cli.options import at_least
from hookline.cli.report.printer import print_lines, print_report
from hookline.cli.report.style import style
from hookline.cli.report.text import one_line
from hookline.config import Config
from hookline.contract.text import tell
from hookline.errors import HooklineError, UsageError
from hookline.settings.policy.documents import (
    ALL_TEAMS,
    Bundle,
    Document,
    Signed,
    Switch,
    Switches,
    now,
    unsigned,
)
from hookline.settings.policy.keys import public_key, sign, signer_of
from hookline.settings.policy.layer import policy_setup
from hookline.settings.policy.place import Kind, read_data
from hookline.settings.policy.state import PolicyState


def _configure_publish(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a signed bundle, or signed switches")
    parser.add_argument("--replicas", metavar="N", type=at_least(1), default=1, help="copies in a cluster (default: 1)")
    parser.add_argument(
        "--public-key", metavar="KEY", action="append", help="whose signature counts (default: this machine's settings)"
    )
    add_json(parser)


def _publish(given: argparse.Namespace) -> int:
    envelope = read_document(given.file)
    with about(given.file):
        keys = asyncio.run(_put(envelope, keys_given(given.public_key), int(given.replicas)))
    report = {"file": given.file, "keys": list(keys), **describe_document(envelope.document)}
    print_report(given, report, [*document_lines(envelope.document), f"published: {', '.join(keys)}"])
    return 0


async def _put(envelope: Signed, keys: tuple[str, ...], replicas: int = 1) -> tuple[str, ...]:
    from hookline.fleet.policy.bucket import publish  # noqa: PLC0415 - needs the extra

    async with connected(server_here(), "policy") as client:
        return await publish(client, envelope, keys, replicas=replicas)


def _configure_pull(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", nargs="?", help="a signed document that another tool brought (default: ask the server)"
    )
    add_json(parser)


def _pull(given: argparse.Namespace) -> int:
    from hookline.fleet.policy.follow import Follower, News, describe  # noqa: PLC0415

    setup = setup_here()
    if given.file is None:
        heard: list[News] = []
        asyncio.run(Follower(server_here(), setup.place, heard.append).pull())
        lines = [one_line(news.message) for news in heard] or ["Nothing is new."]
        report = {"new": [news.message for news in heard if not news.is_problem]}
        report["problems"] = [news.message for news in heard if news.is_problem]
        print_report(given, report, [style.warn(line) if "refused" in line else line for line in lines])
        return 1 if report["problems"] else 0
    data = read_data(Path(given.file))
    if data is None:
        raise UsageError(f"{given.file} does not exist")
    try:
        taken = setup.place.take(data)
    except HooklineError as error:
        raise UsageError(f"{given.file} {error}; nothing was changed") from error
    document = taken.verified.document
    line = f"{describe(taken)} in force" + ("" if taken.is_new else ", as before")
    print_report(given, {"new": taken.is_new, **describe_document(document)}, [*document_lines(document), line])
    return 0


def _configure_status(parser: argparse.ArgumentParser) -> None:
    add_json(parser)


def _status(given: argparse.Namespace) -> int:
    setup = setup_here()
    settings = Config(".", quiet=True).get_settings()
    state = settings.policy or PolicyState()
    from hookline.settings.policy.tree import as_pinned  # noqa: PLC0415 - reads every script

    hooks = as_pinned(hook for hook in settings.hooks if hook.policy is not None)
    report: dict[str, Any] = {
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
            {"event": hook.event.value, "hook": hook.label, "required": hook.required, "fails": hook.refusal}
            for hook in hooks
        ],
    }
    print_report(given, report, _status_lines(report))
    is_well = state.version is not None and not state.warnings and all(hook.refusal is None for hook in hooks)
    return 0 if is_well else 1


def _status_lines(report: dict[str, Any]) -> Iterator[str]:
    if report["version"] is None:
        yield style.warn("No policy is in force.")
    else:
        until = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(report["expires"]))
        yield style.bold(
            f"Version {report['version']} is in force until {until}, for the team {one_line(report['team'])}."
        )
        yield f"  signed by {one_line(report['signedBy'] or '')}"
    yield style.dim(f"  {one_line(report['directory'])}; when it has expired: {report['onExpiry']}")
    if report["managedOnly"]:
        yield "Only its own hooks run (managedOnly)."
    for problem in report["problems"]:
        yield style.warn(one_line(problem))
    for name, why in report["hooksOff"].items():
        yield style.warn(f"hook {one_line(name)} is off by {one_line(why)}")
    for hook in report["hooks"]:
        mark = ", required" if hook["required"] else ""
        yield f"  {hook['event']}  {one_line(hook['hook'])}{mark}"
        if hook["fails"]:
            yield style.bad(f"    fails at each event: {one_line(hook['fails'])}")


def _configure_rollback(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", help="the older bundle (default: the one in the bucket)")
    parser.add_argument("--to", metavar="N", type=at_least(1), help="which version's content, without FILE")
    parser.add_argument("--team", metavar="TEAM", default=ALL_TEAMS, help="whose bundles to look at (default: all)")
    parser.add_argument("--version", metavar="N", type=at_least(1), help="the new version, with FILE and --output")
    add_key(parser)
    add_expires(parser, "90d")
    parser.add_argument("--output", "-o", metavar="FILE", help="write it to a file, and publish nothing")
    add_json(parser)


def _rollback(given: argparse.Namespace) -> int:
    if (given.file is None) == (given.to is None):
        raise UsageError("say what to go back to: a FILE, or --to VERSION")
    signed = asyncio.run(_older(given))
    if given.output is not None:
        write_document(Path(given.output), signed)
        where = f"written to {one_line(given.output)}"
    else:
        where = f"published: {', '.join(asyncio.run(_put(signed, _own_keys(given))))}"
    document = signed.document
    print_report(given, describe_document(document), [*document_lines(document), where])
    return 0


async def _older(given: argparse.Namespace) -> Signed:
    """The older content under a new version, signed."""
    from hookline.fleet.policy.packing import renewed  # noqa: PLC0415 - reads settings

    if given.file is not None and given.output is not None:
        if given.version is None:
            raise UsageError("without a server, give the new --version: higher than all before")
        old, version = _signed_before(given).document, int(given.version)
    else:
        old, version = await _from_bucket(given)
    if not isinstance(old, Bundle):
        raise UsageError("only bundles can be rolled back; for switches there is hookline policy switch")
    made = renewed(old, version=version, expires=given.expires)
    return sign(unsigned(made), Path(given.key))


async def _from_bucket(given: argparse.Namespace) -> tuple[Document, int]:
    from hookline.fleet.policy.bucket import all_before, latest  # noqa: PLC0415 - needs the extra

    async with connected(server_here(), "policy") as client:
        keys = _own_keys(given)
        known = await all_before(client, Kind.BUNDLE, given.team, keys)
        teams = {team for each in known for team in each.document.teams}
        highest = [await latest(client, Kind.BUNDLE, team, keys) for team in sorted(teams)]
    version = 1 + max((each.document.version for each in (*known, *highest) if each is not None), default=0)
    if given.file is not None:
        return _signed_before(given).document, version
    found = next((each for each in reversed(known) if each.document.version == int(given.to)), None)
    if found is None:
        there = ", ".join(str(each.document.version) for each in known) or "none"
        where = f"the bucket has no version {int(given.to)} for {given.team}"
        raise UsageError(f"{where}; it has: {there}; --team looks at the bundles of another team")
    return found.document, version


def _own_keys(given: argparse.Namespace) -> tuple[str, ...]:
    """The keys whose documents are signed again: nobody else's words may get a signature that way."""
    setup = policy_setup(system_layer())
    machine = () if setup is None else tuple(setup.place.keys)
    return (public_key(Path(given.key)), *machine)


def _signed_before(given: argparse.Namespace) -> Signed:
    """The document in a file, if somebody signed it who may."""
    envelope, keys = read_document(given.file), _own_keys(given)
    with about(given.file):
        signer_of(envelope, keys)
    return envelope


def _configure_follow(_parser: argparse.ArgumentParser) -> None:
    """It has no options: everything is in the system's settings."""


def _follow(_given: argparse.Namespace) -> int:
    from hookline.cli.commands._policy_follow import follow_here  # noqa: PLC0415 - needs the extra

    setup, server = setup_here(), server_here()
    print_lines(f"following {server.shown} for the team {setup.place.team} into {setup.place.directory}", flush=True)
    asyncio.run(follow_here(server, setup.place))
    return 0


def _configure_switch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="WHAT", choices=("agents", "hook"), help="agents, or hook with its name")
    parser.add_argument("words", metavar="[NAME] STATE", nargs="+", help="the hook's name; then off, or on again")
    parser.add_argument("--reason", metavar="TEXT", help="why, for everybody whom it stops")
    add_expires(parser, "24h")
    add_teams(parser)
    add_key(parser)
    parser.add_argument(
        "--file", metavar="FILE", help="change the switches in this file, and publish nothing; it may not exist yet"
    )
    add_json(parser)


def _switch(given: argparse.Namespace) -> int:
    name, state = _words(given)
    if state == "off" and not (given.reason or "").strip():
        raise UsageError("give a --reason: everybody whom it stops is going to read it")
    made = asyncio.run(_switched(given, name, is_off=state == "off"))
    signed = sign(unsigned(made), Path(given.key))
    if given.file is not None:
        write_document(Path(given.file), signed)
        where = f"written to {one_line(given.file)}; on a machine: hookline policy pull FILE"
    else:
        where = f"published: {', '.join(asyncio.run(_put(signed, _own_keys(given))))}"
    print_report(given, describe_document(made), [*document_lines(made), where])
    return 0


def _words(given: argparse.Namespace) -> tuple[str | None, str]:
    *names, state = given.words
    if state not in ("off", "on") or len(names) != (1 if given.what == "hook" else 0):
        raise UsageError("write: switch agents off, switch agents on, switch hook NAME off, or switch hook NAME on")
    return (names[0] if names else None), state


async def _switched(given: argparse.Namespace, name: str | None, *, is_off: bool) -> Switches:
    """The switches as they are for these teams, with this one changed, and without those that have expired."""
    before = await _switches_before(given)
    version = 1 + max((document.version for document in before), default=0)
    # Of all these teams: nothing that is off for one of them may be on again by accident.
    known = tuple({(each.what, each.hook): each for document in before for each in document.switches}.values())
    kept = tuple(each for each in known if (each.what, each.hook) != (given.what, name) and each.expires > now())
    if is_off:
        kept = (*kept, Switch(what=given.what, hook=name, reason=given.reason, expires=given.expires))
    elif len(kept) == len(known):
        tell(f"{'agents' if name is None else name} was not off; the other switches are signed anew")
    empty = Switches(version=version, issued=now(), teams=given.teams)
    return replace(empty, switches=kept)


async def _switches_before(given: argparse.Namespace) -> list[Switches]:
    if given.file is not None:
        is_there = read_data(Path(given.file)) is not None
        found = [_signed_before(given).document] if is_there else []
    else:
        from hookline.fleet.policy.bucket import latest  # noqa: PLC0415 - needs the extra

        async with connected(server_here(), "policy") as client:
            there = [await latest(client, Kind.SWITCHES, team, _own_keys(given)) for team in given.teams]
        found = [each.document for each in there if each is not None]
    return [document for document in found if isinstance(document, Switches)]


USE_FORMS = {
    "publish": Form(
        "Put a signed document into the company's bucket, for all machines of its teams.",
        "  hookline policy publish policy.json",
        _configure_publish,
        _publish,
    ),
    "pull": Form(
        "Put a policy in force on this machine: from a file that any tool brought, or from the server, once.",
        "  hookline policy pull policy.json\n  hookline policy pull",
        _configure_pull,
        _pull,
    ),
    "status": Form(
        "Show which policy is in force here, until when, and whether its hooks can run. The exit code is 1 if not.",
        "  hookline policy status --json",
        _configure_status,
        _status,
    ),
    "rollback": Form(
        "Publish older content again, under a new version: versions only grow, so this is the way back.",
        "  hookline policy rollback --to 6 --key policy.key\n"
        "  hookline policy rollback old.json --version 8 --key policy.key -o policy.json",
        _configure_rollback,
        _rollback,
    ),
    "follow": Form(
        "Keep this machine's policy as the server has it, until it is ended: contrib/ has a systemd unit for it.",
        "  hookline policy follow",
        _configure_follow,
        _follow,
    ),
    "switch": Form(
        "Switch all agents off, or one hook, wherever it is configured; and on again.",
        '  hookline policy switch agents off --reason "incident 4711" --expires 2h --key policy.key\n'
        "  hookline policy switch hook no-secrets off --reason 'false alarms' --expires 1d --key policy.key\n"
        "  hookline policy switch agents on --key policy.key --file switches.json",
        _configure_switch,
        _switch,
    ),
}
