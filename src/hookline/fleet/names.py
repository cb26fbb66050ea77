"""A company's NATS server, and the names of teams, machines and places on it."""

import os
import re

import msgspec

from hookline.errors import HooklineError
from hookline.settings.decode.schema import FleetSettings, TlsSettings

# NATS gives dots, stars and spaces of a subject a meaning, and a bucket's keys have fewer characters than subjects.
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")
# One escaped character of `token_of`: its bytes in UTF-8; the first one gives the length.
_ESCAPED = re.compile(r"=([0-7].|[cd].[89ab].|e.(?:[89ab].){2}|f.(?:[89ab].){3})")
_PASSWORD = re.compile(r"//[^@/]*@")

POLICY_BUCKET = "hookline_policy"
"""Signed bundles and switches: `bundle.TEAM`, `switches.TEAM`."""
MACHINES_BUCKET = "hookline_machines"
"""The latest heartbeat of each user of each machine: `TEAM.MACHINE.USER`."""
MACHINES_BYTES = 512 * 1024 * 1024
"""A bound for that bucket: a machine may write keys for any number of users, and a full disk also stops switches."""
AUDIT_STREAM = "HOOKLINE_AUDIT"
AUDIT_SUBJECTS = ("hookline.audit.>", "hookline.anchor.>")
"""The subjects of that stream."""

NAME_A_SERVER = 'write "hooksConfig": {"fleet": {"servers": ["nats://…"]}} into your user or system settings'
"""The remedy, in messages, where the settings name no server."""


class UnreachableError(HooklineError):
    """The server can't be reached, or refuses this machine."""


class NoClientError(UnreachableError):
    """The client of NATS is not installed: another attempt would end in the same way."""


class ServerAddress(msgspec.Struct, frozen=True, kw_only=True):
    """How to reach the server, and as whom."""

    addresses: tuple[str, ...]
    credentials: str | None = None
    nkey: str | None = None
    ca: str | None = None
    cert: str | None = None
    key: str | None = None
    inbox: str = "_INBOX"
    """The inbox of this machine; its own, so that the server can prevent other machines from reading it."""

    @property
    def shows_who_asks(self) -> bool:
        """Whether we prove who we are, so that a server that knows its machines lets each speak for itself only."""
        return bool(self.credentials or self.nkey or self.cert)

    @property
    def shown(self) -> str:
        """The addresses for display, without passwords."""
        return ", ".join(_PASSWORD.sub("//", address) for address in self.addresses)


def server_of(fleet: FleetSettings) -> ServerAddress:
    """Return how the settings reach the server, and as whom."""
    tls = fleet.tls or TlsSettings()
    return ServerAddress(
        addresses=fleet.servers,
        credentials=fleet.credentials,
        nkey=fleet.nkey,
        ca=tls.ca,
        cert=tls.cert,
        key=tls.key,
        inbox=inbox_of(machine_name(fleet.machine)),
    )


def token_of(name: str) -> str:
    """A team's or machine's name as one part of a subject or key; different names stay different."""
    return _NO_NAME.sub(lambda found: f"={found[0].encode().hex()}", name) or "="


def name_of(token: str) -> str:
    """The name that `token_of` made a token of."""
    if token == "=":  # noqa: S105 - a part of a subject
        return ""
    return _ESCAPED.sub(lambda found: bytes.fromhex(found[1]).decode("utf-8", "replace"), token)


def inbox_of(machine: str) -> str:
    """Where a machine gets its answers."""
    return f"_INBOX.{token_of(machine)}"


def machine_name(named: str | None = None) -> str:
    """Return the name of this machine in the fleet."""
    return named or os.uname().nodename


def record_subjects(team: str | None = None, machine: str | None = None) -> tuple[str, str]:
    """The subjects of records and of signed statements: of one machine, of a team, or of all."""
    parts = ".".join("*" if name is None else token_of(name) for name in (team, machine))
    return f"hookline.audit.{parts}", f"hookline.anchor.{parts}"


def machine_key(team: str, machine: str, user: str) -> str:
    """Where the heartbeats of a user of a machine go."""
    return f"{token_of(team)}.{token_of(machine)}.{token_of(user)}"


def ask_subject(team: str, subject: str) -> str:
    """Return the prefix of the subjects of remote hooks; the name of the client's machine follows."""
    return f"hookline.ask.{token_of(team)}.{token_of(subject)}"
