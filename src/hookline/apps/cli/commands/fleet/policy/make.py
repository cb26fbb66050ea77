"""`hookline fleet policy` for the authors of a policy: keygen, pack, sign, verify."""

import argparse
from pathlib import Path

from hookline.apps.cli.commands.fleet.policy.documents import about, read_document, write_document
from hookline.apps.cli.commands.fleet.policy.machine import keys_given
from hookline.apps.cli.commands.fleet.policy.options import add_expires, add_key, add_public_keys, add_teams
from hookline.apps.cli.options import add_json_option, at_least
from hookline.apps.cli.report.fleet import document_lines, document_report, signed_lines
from hookline.apps.cli.report.printer import print_report
from hookline.apps.cli.report.style import style
from hookline.apps.cli.subcommands import Subcommand
from hookline.fleet.policy.documents import new_key, sign, signer_of, unsigned
from hookline.fleet.policy.packing import pack
from hookline.fleet.policy.store import check_unexpired
from hookline.protocol.text.readable import one_line
from hookline.stderr import warn_user


def _configure_keygen(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="where the private key goes; it must not exist yet")
    add_json_option(parser)


def _keygen(given: argparse.Namespace) -> int:
    path = Path(given.file)
    public = new_key(path)
    lines = [
        f"The private key is in {one_line(str(path))}, readable by you alone. Keep a copy in a safe place.",
        "The public key, for the system's settings of every machine:",
        f'  {{"hooksConfig": {{"policy": {{"publicKeys": ["{public}"]}}}}}}',
    ]
    print_report(given, {"file": str(path), "publicKey": public}, lines)
    return 0


def _configure_pack(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", metavar="DIR", help="a settings.json, and the scripts that it names")
    parser.add_argument("--version", metavar="N", type=at_least(1), required=True, help="higher than all before")
    add_expires(parser, "90d")
    add_teams(parser)
    parser.add_argument("--output", "-o", metavar="FILE", required=True, help="where the bundle goes")
    add_json_option(parser)


def _pack(given: argparse.Namespace) -> int:
    made = pack(Path(given.directory), version=int(given.version), expires=given.expires, teams=given.teams)
    write_document(Path(given.output), unsigned(made.bundle))
    for warning in made.warnings:
        warn_user(warning)
    report = {"file": given.output, **document_report(made.bundle), "warnings": list(made.warnings)}
    signing = f"Nobody has signed it yet: hookline fleet policy sign {one_line(given.output)} --key FILE"
    print_report(given, report, [*document_lines(made.bundle), signing])
    return 0


def _configure_sign(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a bundle or switches")
    add_key(parser)
    parser.add_argument("--output", "-o", metavar="FILE", help="where the signed document goes (default: in place)")
    add_json_option(parser)


def _sign(given: argparse.Namespace) -> int:
    envelope = read_document(given.file)
    document = envelope.document
    signed = sign(envelope, Path(given.key))
    target = given.output or given.file
    write_document(Path(target), signed)
    keys = [each.key for each in signed.signatures]
    report = {"file": target, **document_report(document), "signedBy": keys}
    print_report(given, report, [*document_lines(document), *signed_lines(signed, keys)])
    return 0


def _configure_verify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a bundle or switches")
    add_public_keys(parser)
    add_json_option(parser)


def _verify(given: argparse.Namespace) -> int:
    envelope = read_document(given.file)
    keys = keys_given(given.public_key)
    with about(given.file):
        key = signer_of(envelope, keys)
        check_unexpired(envelope.document)
    document = envelope.document
    report = {"file": given.file, "valid": True, "signedBy": key, **document_report(document)}
    print_report(given, report, [style.good("valid"), *document_lines(document), f"signed by {key}"])
    return 0


MAKE_SUBCOMMANDS = {
    "keygen": Subcommand(
        "Make a key: the private half signs policies, the public half goes onto every machine.",
        "  hookline fleet policy keygen policy.key",
        _configure_keygen,
        _keygen,
    ),
    "pack": Subcommand(
        "Make a bundle of a directory: its settings.json, and every file beside it.\n\n"
        "Commands name their scripts as $HOOKLINE_POLICY_DIR/guard.py.",
        "  hookline fleet policy pack guards/ --version 7 --expires 90d --teams payments,web -o policy.json",
        _configure_pack,
        _pack,
    ),
    "sign": Subcommand(
        "Sign a bundle or switches.\n\n"
        "The key has no passphrase: keep it where only you, or your signing job, can read.",
        "  hookline fleet policy sign policy.json --key policy.key",
        _configure_sign,
        _sign,
    ),
    "verify": Subcommand(
        "Check a document: its signature, that it can be unpacked, and that it has not expired.",
        "  hookline fleet policy verify policy.json\n  hookline fleet policy verify policy.json --public-key ed25519:…",
        _configure_verify,
        _verify,
    ),
}
