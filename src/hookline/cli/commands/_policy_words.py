"""What the forms of `hookline policy` share: their options, files and keys, and how documents are shown."""

import argparse
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hookline.cli.report.style import style
from hookline.cli.report.text import one_line, plural
from hookline.config import Config
from hookline.contract.fleet import Server
from hookline.contract.vocabulary import ConfigSource
from hookline.errors import UsageError
from hookline.files import write_atomically
from hookline.settings.policy.documents import (
    ALL_TEAMS,
    Bundle,
    Document,
    PolicyError,
    Signed,
    Switches,
    now,
    read_signed,
    show_moment,
)
from hookline.settings.policy.keys import is_public_key
from hookline.settings.policy.layer import PolicySetup, policy_setup
from hookline.settings.policy.place import read_data
from hookline.settings.read import Layer

_SPAN = re.compile(r"(\d+)\s*([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def add_json(parser: argparse.ArgumentParser) -> None:
    """Adds `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON for programs")


def add_key(parser: argparse.ArgumentParser) -> None:
    """Adds `--key`."""
    parser.add_argument("--key", metavar="FILE", required=True, help="the private key, of hookline policy keygen")


def add_teams(parser: argparse.ArgumentParser) -> None:
    """Adds `--teams`."""
    parser.add_argument(
        "--teams", metavar="LIST", type=_teams, default=(ALL_TEAMS,), help="for which teams, by commas (default: all)"
    )


def add_expires(parser: argparse.ArgumentParser, default: str | None) -> None:
    """Adds `--expires`."""
    usual = "" if default is None else f" (default: {default})"
    parser.add_argument(
        "--expires",
        metavar="WHEN",
        type=_moment,
        default=None if default is None else _moment(default),
        required=default is None,
        help=f"until when: 30m, 12h, 90d, or a day such as 2027-01-31{usual}",
    )


def _teams(text: str) -> tuple[str, ...]:
    teams = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not teams:
        raise argparse.ArgumentTypeError("give at least one team, such as all")
    return teams


def _moment(text: str) -> datetime:
    if span := _SPAN.fullmatch(text.strip()):
        try:
            return now() + timedelta(**{_UNITS[span[2]]: int(span[1])})
        except OverflowError:
            raise argparse.ArgumentTypeError(f"{text} is too long") from None
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        message = f"{text} is not a time; write 30m, 12h, 90d or 2027-01-31"
        raise argparse.ArgumentTypeError(message) from None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    if moment <= now():
        raise argparse.ArgumentTypeError(f"{text} has passed already")
    return moment


@contextmanager
def about(path: str) -> Iterator[None]:
    """Has errors about a document begin with its file."""
    try:
        yield
    except PolicyError as error:
        raise UsageError(f"{path} {error}") from error


def read_document(path: str) -> Signed:
    """The envelope in a file, with something usable in it; UsageError if there is none."""
    with about(path):
        data = read_data(Path(path))
        if data is None:
            raise PolicyError("does not exist")
        envelope = read_signed(data)
        envelope.document  # noqa: B018 - so that nobody signs what no machine could use
        return envelope


def write_document(path: Path, envelope: Signed) -> None:
    """Writes a document; it has no secrets, and a web server may have to read it."""
    try:
        write_atomically(path, envelope.to_bytes(), mode=0o644)
    except OSError as error:
        raise UsageError(f"{path} can't be written: {error.strerror}") from error


def system_layer() -> Layer:
    """The system's settings; only they name the policy."""
    from hookline.settings.paths import default_paths  # noqa: PLC0415
    from hookline.settings.read import read_layer  # noqa: PLC0415

    layer = read_layer(default_paths(".").system.absolute(), ConfigSource.SYSTEM)
    if layer.problems:
        raise UsageError(str(layer.problems[0]))
    return layer


def setup_here() -> PolicySetup:
    """What this machine's settings say about the policy; UsageError if nothing."""
    layer = system_layer()
    setup = policy_setup(layer)
    if setup is None:
        snippet = '{"hooksConfig": {"policy": {"publicKeys": ["ed25519:…"]}}}'
        raise UsageError(f"this machine has no policy; to give it one, write {snippet} into {layer.origin}")
    if setup.fault is not None:
        raise UsageError(setup.fault)
    return setup


def keys_given(given: Sequence[str] | None) -> tuple[str, ...]:
    """The public keys that were named, or those of this machine."""
    if not given and policy_setup(system_layer()) is None:
        raise UsageError("this machine's settings name no key; say whose signature counts: --public-key ed25519:…")
    if not given:
        return tuple(setup_here().place.keys)
    for key in given:
        if not is_public_key(key):
            raise UsageError(f"{key} is not a public key; it looks like ed25519:… and 44 more characters")
    return tuple(given)


def server_here() -> Server:
    """The server that the settings name; UsageError if they name none."""
    fleet = Config(".", quiet=True).get_settings().options.fleet
    if fleet is None or not fleet.servers:
        snippet = '"hooksConfig": {"fleet": {"servers": ["nats://…:4222"]}}'
        raise UsageError(f"no server is named; write {snippet} into your settings, or use files: --help shows how")
    return fleet.server


def describe_document(document: Document) -> dict[str, Any]:
    """A document as JSON."""
    common = {"version": document.version, "teams": list(document.teams), "issued": document.issued.isoformat()}
    if isinstance(document, Switches):
        off = [
            {"what": each.what, "hook": each.hook, "reason": each.reason, "expires": each.expires.isoformat()}
            for each in document.switches
        ]
        return {"kind": "switches", **common, "off": off}
    files = {name: file.sha256 for name, file in sorted(document.files.items())}
    return {"kind": "bundle", **common, "expires": document.expires.isoformat(), "files": files}


def document_lines(document: Document) -> Iterator[str]:
    """A document for people."""
    teams = ", ".join(map(one_line, document.teams))
    if isinstance(document, Bundle):
        yield f"bundle version {document.version} for {teams}, until {show_moment(document.expires)}"
        for name, file in sorted(document.files.items()):
            yield style.dim(f"  {one_line(name)}  sha256 {file.sha256[:16]}…")
        return
    yield f"switches version {document.version} for {teams}"
    if not document.switches:
        yield "  nothing is off"
    for each in document.switches:
        state = "off" if each.expires > now() else "expired"
        yield f"  {one_line(each.shown)}: {state} until {show_moment(each.expires)}: {one_line(each.reason)}"


def signed_lines(envelope: Signed, keys: Sequence[str]) -> Iterator[str]:
    """Who signed a document, as it says itself."""
    known = [each.key for each in envelope.signatures if each.key in keys]
    others = len(envelope.signatures) - len(known)
    for key in known:
        yield f"signed by {one_line(key)}"
    if others:
        yield style.dim(f"{plural(others, 'signature')} of other keys")
