"""Sends the log to the company's stream from where it ended last, at least once."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hookline.errors import HooklineError
from hookline.files import locked, make_private_directory, write_atomically
from hookline.fleet.keys import MachineKey
from hookline.fleet.nats.jetstream import store
from hookline.fleet.record.backlog import Cursor, next_batch
from hookline.fleet.record.message import messages_of
from hookline.fleet.record.statement import RecordPlace, StatementKind, add_anchor, state
from hookline.log.write.chain import Head

if TYPE_CHECKING:
    from nats.aio.client import Client

MOST_BYTES = 512 * 1024
"""The most bytes of one message, if the server takes that much."""
_HEADERS_BYTES = 4096


class Progress(msgspec.Struct, frozen=True):
    """How far the log was sent; kept in a file beside it."""

    cursor: Cursor = Cursor()
    anchored: int = 0
    dropped: int = 0
    """How many records were removed before they could be sent, in all."""


def progress_path(log: Path) -> Path:
    """Return the file that says how far a log was sent."""
    return log.with_name(f"{log.name}.sent")


def read_progress(log: Path) -> Progress:
    """Return how far a log was sent. If that is unknown, it is sent again: readers know records by their hash."""
    try:
        return msgspec.json.decode(progress_path(log).read_bytes(), type=Progress)
    except (OSError, msgspec.MsgspecError):
        return Progress()


@contextmanager
def only_shipper(log: Path) -> Iterator[None]:
    """Hold the lock of the one shipper of a log. Raises HooklineError if another process has it."""
    make_private_directory(log.parent)
    with locked(progress_path(log), wait_s=0):
        yield


def is_sent(log: Path) -> bool:
    """True if a service sends this log now."""
    try:
        with only_shipper(log):
            return False
    except HooklineError:
        return True


class Shipper:
    """Sends one log; only while `only_shipper` is held."""

    def __init__(
        self,
        log: Path,
        place: RecordPlace,
        key: MachineKey,
        *,
        anchors: Path | None = None,
        most_bytes: int = MOST_BYTES,
        notify: Callable[[str], None] = lambda _message: None,
    ) -> None:
        self._log = log
        self._place = place
        self._key = key
        self._anchors = anchors
        self._most_bytes = most_bytes
        self._notify = notify
        self.progress = read_progress(log)

    async def ship(self, client: "Client") -> bool:
        """Send the next lines; False if there are none. Raises UnreachableError if they did not arrive."""
        room = max(1024, min(self._most_bytes, client.max_payload - _HEADERS_BYTES))
        batch = await asyncio.to_thread(next_batch, self._log, self.progress.cursor, room)
        if batch is None:
            return False
        anchored, dropped = self.progress.anchored, self.progress.dropped
        if batch.is_new_chain:
            self._notify("the log is not the one that was sent before; its records are sent as a new chain")
            await self._state(client, StatementKind.NEW_CHAIN, self.progress.cursor.head)
            anchored = 0
        if batch.dropped is not None:
            first, last = batch.dropped
            self._notify(f"records {first} to {last} were removed before they could be sent")
            await self._state(client, StatementKind.DROPPED, Head(last, ""), first)
            dropped += last - first + 1
        for body, headers in messages_of(batch, self._place, room):
            await store(client, self._place.audit, body, headers)
        await self._save(Progress(batch.end, anchored, dropped))
        return True

    async def anchor(self, client: "Client") -> None:
        """Sign and publish the last record that has arrived, unless that was done before."""
        head = self.progress.cursor.head
        if not head.seq or head.seq == self.progress.anchored:
            return
        signed = await self._state(client, StatementKind.HEAD, head)
        if self._anchors is not None:
            try:
                await asyncio.to_thread(add_anchor, self._anchors, self._place.source, signed)
            except OSError as error:
                self._notify(f"the anchors can't be written to {self._anchors}: {error.strerror}")
        await self._save(msgspec.structs.replace(self.progress, anchored=head.seq))

    async def _state(self, client: "Client", kind: StatementKind, head: Head, first: int = 0) -> bytes:
        signed = self._key.sign(state(self._place, kind, head, first))
        await store(client, self._place.anchor, signed, {})
        return signed

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
