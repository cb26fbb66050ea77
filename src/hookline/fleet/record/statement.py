"""A signed statement of a machine about its chain of records: its end, and its gaps."""

from enum import StrEnum
from typing import Annotated

import msgspec

from hookline.fleet.record.source import RecordPlace, Source
from hookline.log.write.chain import Head
from hookline.protocol.text.json_text import utc_timestamp

Hash = Annotated[str, msgspec.Meta(pattern=r"^(?:[0-9a-f]{64})?$", max_length=64)]
"""The hash of a record, or nothing."""


class StatementKind(StrEnum):
    """The kinds of statements."""

    HEAD = "head"
    """The chain had this last record: nothing up to it can be missing."""
    DROPPED = "dropped"
    """Records `first` to `seq` were removed here before they were sent: the disk's bound was reached."""
    ANEW = "anew"
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
