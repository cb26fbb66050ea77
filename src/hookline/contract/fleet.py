"""A company's NATS server, and the names of teams, machines and places on it."""

import re
import socket

import msgspec

# NATS gives dots, stars and spaces of a subject a meaning, and a bucket's keys have fewer characters than subjects.
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")
_PASSWORD = re.compile(r"//[^@/]*@")

POLICY_BUCKET = "hookline_policy"
"""Signed bundles and switches: `bundle.TEAM`, `switches.TEAM`."""
MACHINES_BUCKET = "hookline_machines"
"""The latest heartbeat of each user of each machine: `TEAM.MACHINE.USER`."""
AUDIT_STREAM = "HOOKLINE_AUDIT"
AUDIT_SUBJECTS = ("hookline.audit.>", "hookline.anchor.>")
"""What that stream keeps."""


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """How to reach the server, and as whom."""

    addresses: tuple[str, ...]
    credentials: str | None = None
    nkey: str | None = None
    ca: str | None = None
    cert: str | None = None
    key: str | None = None

    @property
    def shown(self) -> str:
        """The addresses for people, without passwords that somebody wrote into them."""
        return ", ".join(_PASSWORD.sub("//", address) for address in self.addresses)


def token_of(name: str) -> str:
    """A team's or machine's name as one part of a subject or key; different names stay different."""
    return _NO_NAME.sub(lambda found: f"={found[0].encode().hex()}", name) or "="


def machine_name(named: str | None = None) -> str:
    """What this machine is called in the fleet."""
    return named or socket.gethostname()


def audit_subject(team: str, machine: str) -> str:
    """Where a machine's records go."""
    return f"hookline.audit.{token_of(team)}.{token_of(machine)}"


def anchor_subject(team: str, machine: str) -> str:
    """Where the signed heads of a machine's chain go; the same stream keeps them."""
    return f"hookline.anchor.{token_of(team)}.{token_of(machine)}"


def record_subjects(team: str | None = None, machine: str | None = None) -> tuple[str, str]:
    """The subjects of records and of signed statements: of one machine, of a team, or of all."""
    parts = ".".join("*" if name is None else token_of(name) for name in (team, machine))
    return f"hookline.audit.{parts}", f"hookline.anchor.{parts}"


def machine_key(team: str, machine: str, user: str) -> str:
    """Where the heartbeats of a user of a machine go."""
    return f"{token_of(team)}.{token_of(machine)}.{token_of(user)}"


def ask_subject(team: str, subject: str) -> str:
    """Where remote hooks are asked."""
    return f"hookline.ask.{token_of(team)}.{token_of(subject)}"
