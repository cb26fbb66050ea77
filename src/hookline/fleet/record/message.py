"""Batches of lines ↔ messages of the stream. What comes from there is foreign: it is bounded, and never trusted."""

import hashlib
import json
from collections.abc import AsyncIterator, Iterator, Mapping

import msgspec

from hookline.fleet.keys import Opened, open_signed
from hookline.fleet.names import token_of
from hookline.fleet.nats.jetstream import Stored
from hookline.fleet.record.backlog import Batch
from hookline.fleet.record.statement import Hash, RecordPlace, Source, Statement

_HEADER = "Hookline"
_PARTS = 4
"""Parts of a subject: hookline, what it is, team, machine."""
_LONGEST_HEADER = 4096
_MOST_PARTS = 256
_MOST_OPEN = 64
_MOST_BYTES = 64 * 1024 * 1024


class _Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """The header of a message."""

    machine: str
    user: str
    log: str
    prev: Hash = ""
    part: int = 1
    parts: int = 1
    batch: str = ""


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """Records as they came, in the order of the stream."""

    team: str
    source: Source
    prev: str
    """The claimed hash of the record before the first."""
    lines: tuple[bytes, ...]
    seconds: float
    """When the server stored them."""


class Stated(msgspec.Struct, frozen=True, kw_only=True):
    """A signed statement as it came."""

    team: str
    opened: Opened[Statement]
    seconds: float
    about: Source | None = None
    """The chain of a log file, which has no place on the server."""

    @property
    def source(self) -> Source:
        """The chain that it describes."""
        return self.about or self.statement.source

    @property
    def statement(self) -> Statement:
        """The content."""
        return self.opened.statement


class Foreign(msgspec.Struct, frozen=True, kw_only=True):
    """A message of another program, or one that its subject does not allow."""

    team: str
    machine: str
    why: str
    seconds: float


def messages_of(batch: Batch, place: RecordPlace, most: int) -> Iterator[tuple[bytes, Mapping[str, str]]]:
    """The bodies and headers of a batch: one message, or several for a line that is longer than a message may be."""
    # Without a Nats-Msg-Id: the server would drop the batch if another machine had used that id before.
    pieces = [batch.lines[start : start + most] for start in range(0, len(batch.lines), most)]
    for number, piece in enumerate(pieces, 1):
        envelope = {**msgspec.structs.asdict(place.source), "prev": batch.prev}
        if len(pieces) > 1:
            name = hashlib.sha256(batch.prev.encode() + batch.lines).hexdigest()[:40]
            envelope |= {"part": number, "parts": len(pieces), "batch": name}
        yield piece, {_HEADER: json.dumps(envelope)}


async def arrivals(messages: AsyncIterator[Stored]) -> AsyncIterator[Arrival | Stated | Foreign]:
    """Yield the content of the messages of the stream."""
    joining = _Joining()
    async for message in messages:
        team, machine = _names(message.subject)
        if message.subject.startswith("hookline.anchor."):
            yield _stated(message, team, machine)
            continue
        envelope = _envelope(message)
        if envelope is None or token_of(envelope.machine) != machine:
            claim = "" if envelope is None else f" claims to be of {envelope.machine[:80]!r}, which"
            why = f"a message{claim} is not what a machine sends"
            yield Foreign(team=team, machine=machine, why=why, seconds=message.seconds)
            continue
        data = joining.add(envelope, message.data)
        if data is not None:
            source = Source(envelope.machine, envelope.user, envelope.log)
            lines = tuple(data.removesuffix(b"\n").split(b"\n"))
            yield Arrival(team=team, source=source, prev=envelope.prev, lines=lines, seconds=message.seconds)


def _stated(message: Stored, team: str, machine: str) -> Stated | Foreign:
    opened = open_signed(message.data, Statement)
    if opened is None:
        return Foreign(team=team, machine=machine, why="a statement can't be read", seconds=message.seconds)
    statement = opened.statement
    if (token_of(statement.team), token_of(statement.machine)) != (team, machine):
        why = f"a statement of {statement.machine[:80]!r} stands among those of this machine"
        return Foreign(team=team, machine=machine, why=why, seconds=message.seconds)
    return Stated(team=team, opened=opened, seconds=message.seconds)


def _names(subject: str) -> tuple[str, str]:
    parts = subject.split(".")
    return (parts[2], parts[3]) if len(parts) == _PARTS else ("", "")


def _envelope(message: Stored) -> _Envelope | None:
    text = message.headers.get(_HEADER, "")
    if len(text) > _LONGEST_HEADER:
        return None
    try:
        found = msgspec.json.decode(text, type=_Envelope)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return found if 1 <= found.part <= found.parts <= _MOST_PARTS else None


class _Joining:
    """Puts the parts of long lines together."""

    def __init__(self) -> None:
        self._open: dict[tuple[Source, str], dict[int, bytes]] = {}

    def add(self, envelope: _Envelope, data: bytes) -> bytes | None:
        """The whole, when this was its last part."""
        if envelope.parts == 1:
            return data
        key = (Source(envelope.machine, envelope.user, envelope.log), envelope.batch)
        parts = self._open.setdefault(key, {})
        parts[envelope.part] = data
        if len(parts) == envelope.parts:
            del self._open[key]
            return b"".join(parts[number] for number in sorted(parts))
        is_too_long = sum(map(len, parts.values())) > _MOST_BYTES
        if is_too_long or len(self._open) > _MOST_OPEN:
            del self._open[key if is_too_long else next(iter(self._open))]
        return None
