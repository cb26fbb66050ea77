"""The place of a chain of records, and the signed statements of its machine about it: its end, and its gaps."""

import hashlib
import os
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec

from hookline.errors import UsageError
from hookline.files import open_regular
from hookline.fleet.keys import Opened, open_signed
from hookline.fleet.names import machine_name, record_subjects, token_of
from hookline.log.consent import user_name
from hookline.log.write.chain import Head
from hookline.protocol.text.json_text import utc_timestamp
from hookline.settings.decode.schema import FleetSettings

Hash = Annotated[str, msgspec.Meta(pattern=r"^(?:[0-9a-f]{64})?$", max_length=64)]
"""The hash of a record, or nothing."""
_LONGEST_NAME = 200
_LONGEST_LINE = 16 * 1024


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
        return record_subjects(self.team, self.source.machine)[0]

    @property
    def anchor(self) -> str:
        """The subject of its signed statements."""
        return record_subjects(self.team, self.source.machine)[1]


def place_of(fleet: FleetSettings, log: Path) -> RecordPlace:
    """The place of a log of this machine."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(log))).hexdigest()[:12]
    return RecordPlace(
        fleet.team, Source(machine_name(fleet.machine)[:_LONGEST_NAME], user_name()[:_LONGEST_NAME], name)
    )


class StatementKind(StrEnum):
    """The kinds of statements."""

    HEAD = "head"
    """The chain had this last record: nothing up to it can be missing."""
    DROPPED = "dropped"
    """Records `first` to `seq` were removed here before they were sent: the disk's bound was reached."""
    NEW_CHAIN = "anew"
    """The log on the machine is not the one that was sent before: it was removed or replaced."""


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """One statement. It names its place, so that it can't be used for another."""

    kind: StatementKind
    team: str
    machine: str
    user: str
    log: str
    time: str = msgspec.field(default_factory=utc_timestamp)
    seq: int = 0
    hash: Hash = ""
    first: int = 0

    @property
    def source(self) -> Source:
        """The chain that it describes."""
        return Source(self.machine, self.user, self.log)

    @property
    def head(self) -> Head:
        """The record that it names."""
        return Head(self.seq, self.hash)


def state(place: RecordPlace, kind: StatementKind, head: Head, first: int = 0) -> Statement:
    """A statement about a chain."""
    whose = msgspec.structs.asdict(place.source)
    return Statement(kind=kind, team=place.team, **whose, seq=head.seq, hash=head.hash, first=first)


def add_anchor(path: Path, source: Source, signed: bytes) -> None:
    """Append a signed head to a file, or in a directory to the file of this machine and user; may raise OSError."""
    path = path.expanduser()
    if path.is_dir():
        path /= f"{token_of(source.machine)}.{token_of(source.user)}.anchors"
    descriptor = open_regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(descriptor, signed + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_anchors(path: Path) -> Iterator[tuple[int, Opened[Statement] | None]]:
    """The statements in a file, with the numbers of their lines; None for a line that is not a statement."""
    files = sorted(path.glob("*.anchors")) if path.is_dir() else [path]
    for file in files:
        try:
            data = file.read_bytes()
        except OSError as error:
            raise UsageError(f"the anchors in {file} can't be read: {error.strerror}") from error
        for number, line in enumerate(data.split(b"\n"), 1):
            if line.strip():
                yield number, open_signed(line, Statement) if len(line) <= _LONGEST_LINE else None
