"""Sends the log to the company's stream, from where it ended last, at least once."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hookline.errors import HooklineError
from hookline.files import locked, make_private_directory, write_atomically
from hookline.fleet.nats.jetstream import store
from hookline.fleet.record.anchors import Anchors
from hookline.fleet.record.backlog import Batch, Cursor, next_batch
from hookline.fleet.record.keys import MachineKey
from hookline.fleet.record.message import messages_of
from hookline.fleet.record.source import RecordPlace
from hookline.fleet.record.statement import StatementKind, state
from hookline.log.write.chain import Head

if TYPE_CHECKING:
    from nats.aio.client import Client

MOST_BYTES = 512 * 1024
"""How much goes into one message, if the server takes that much."""
# Of a message's room, for its headers.
_HEADERS_BYTES = 4096


class Progress(msgspec.Struct, frozen=True):
    """How far the log was sent; kept in a file beside it."""

    cursor: Cursor = Cursor()
    sending: Cursor | None = None
    """The end of the batch that may be on its way: after a crash the same batch is sent again, with the same id."""
    anchored: int = 0
    dropped: int = 0
    """How many records were removed before they could be sent, in all."""


def progress_path(log: Path) -> Path:
    """The file that says how far a log was sent."""
    return log.with_name(f"{log.name}.sent")


def read_progress(log: Path) -> Progress:
    """How far a log was sent; nothing of it, if that is not known."""
    try:
        return msgspec.json.decode(progress_path(log).read_bytes(), type=Progress)
    except (OSError, msgspec.MsgspecError):
        # All of it is sent again then; readers of the stream recognize records by their hashes.
        return Progress()


@contextmanager
def only_shipper(log: Path) -> Iterator[None]:
    """Holds what only one shipper of a log can hold; HooklineError if another has it."""
    make_private_directory(log.parent)
    with locked(progress_path(log), wait_s=0):
        yield


def is_sent(log: Path) -> bool:
    """Whether a service sends this log now."""
    try:
        with only_shipper(log):
            return False
    except HooklineError:
        return True


def _size_of(log: Path) -> tuple[int, int] | None:
    """Which file has the name of the log, and its size."""
    try:
        status = log.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size


class Shipper:
    """Sends one log; only while `only_shipper` is held."""

    def __init__(
        self,
        log: Path,
        place: RecordPlace,
        key: MachineKey,
        *,
        anchors: Anchors | None = None,
        most_bytes: int = MOST_BYTES,
        on_change: Callable[[str], None] = lambda _words: None,
    ) -> None:
        self._log = log
        self._place = place
        self._key = key
        self._anchors = anchors
        self._most_bytes = most_bytes
        self._tell = on_change
        self.progress = read_progress(log)
        self._seen: tuple[int, int] | None = None

    async def ship(self, client: "Client") -> bool:
        """Sends the next lines, and returns whether there were any; UnreachableError if they did not arrive."""
        batch = await asyncio.to_thread(self._next, client.max_payload)
        if batch is None:
            return False
        if batch.is_anew:
            self._tell("the log is not the one that was sent before; its records are sent as a new chain")
            await self._state(client, StatementKind.ANEW, self.progress.cursor.head)
        if batch.dropped is not None:
            first, last = batch.dropped
            self._tell(f"records {first} to {last} were removed before they could be sent")
            await self._state(client, StatementKind.DROPPED, Head(last, ""), first)
        if self.progress.sending != batch.end:
            await self._save(msgspec.structs.replace(self.progress, sending=batch.end))
        for body, headers in messages_of(batch, self._place, self._room(client.max_payload)):
            await store(client, self._place.audit, body, headers)
        lost = batch.dropped[1] - batch.dropped[0] + 1 if batch.dropped else 0
        anchored = 0 if batch.is_anew else self.progress.anchored
        await self._save(Progress(batch.end, None, anchored, self.progress.dropped + lost))
        return True

    async def anchor(self, client: "Client") -> None:
        """Signs and publishes the last record that has arrived, unless that was done before."""
        head = self.progress.cursor.head
        if not head.seq or head.seq == self.progress.anchored:
            return
        signed = await self._state(client, StatementKind.HEAD, head)
        if self._anchors is not None:
            await asyncio.to_thread(self._anchors.add, signed)
        await self._save(msgspec.structs.replace(self.progress, anchored=head.seq))

    async def _state(self, client: "Client", kind: StatementKind, head: Head, first: int = 0) -> bytes:
        signed = self._key.sign(state(self._place, kind, head, first))
        await store(client, self._place.anchor, signed, {})
        return signed

    def _next(self, max_payload: int) -> Batch | None:
        cursor, sending = self.progress.cursor, self.progress.sending
        size = _size_of(self._log)
        if sending is None and size == self._seen:
            return None  # no record was written since there was nothing to send
        most = self._room(max_payload)
        if sending is not None:
            # A batch is in one file: the one of the cursor, or the next.
            most = sending.offset - (cursor.offset if sending.inode == cursor.inode else 0)
        batch = next_batch(self._log, cursor, max(1, most))
        # As it was before that look.
        self._seen = size if batch is None else None
        return batch

    def _room(self, max_payload: int) -> int:
        return max(1024, min(self._most_bytes, max_payload - _HEADERS_BYTES))

    async def _save(self, progress: Progress) -> None:
        self.progress = progress
        file = progress_path(self._log)
        try:
            await asyncio.to_thread(write_atomically, file, msgspec.json.encode(progress))
        except OSError as error:
            remedy = "free some space, or let this user write it"
            raise HooklineError(
                f"{file}, which says how far the log was sent, can't be written: {error.strerror}; {remedy}"
            ) from error
