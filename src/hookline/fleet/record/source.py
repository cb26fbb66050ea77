"""The owner of records: a machine, a user on it, and one of that user's logs."""

import hashlib
import os
from pathlib import Path

import msgspec

from hookline.fleet.names import anchor_subject, audit_subject, machine_name
from hookline.log.consent import user_name
from hookline.settings.decode.schema import FleetSettings

_LONGEST_NAME = 200


class Source(msgspec.Struct, frozen=True, order=True):
    """One chain of records, by its place."""

    machine: str
    user: str
    log: str
    """Stands for the path of the log: a machine may have several."""

    def __str__(self) -> str:
        """As people read it."""
        return f"{self.machine} ({self.user}, log {self.log})" if self.machine else self.log

    @property
    def person(self) -> tuple[str, str]:
        """The machine and the user, who have one key together."""
        return (self.machine, self.user)


class RecordPlace(msgspec.Struct, frozen=True):
    """Where on the server a machine's records go."""

    team: str
    source: Source

    @property
    def audit(self) -> str:
        """The subject of its records."""
        return audit_subject(self.team, self.source.machine)

    @property
    def anchor(self) -> str:
        """The subject of its signed statements."""
        return anchor_subject(self.team, self.source.machine)


def place_of(fleet: FleetSettings, log: Path) -> RecordPlace:
    """The place of a log of this machine."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(log))).hexdigest()[:12]
    return RecordPlace(
        fleet.team, Source(machine_name(fleet.machine)[:_LONGEST_NAME], user_name()[:_LONGEST_NAME], name)
    )
