"""Logs of machines that do not exist, and the stream that they are sent to."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from tests.fleet.server import NatsServer

from hookline.fleet.keys import MachineKey
from hookline.fleet.names import AUDIT_STREAM, AUDIT_SUBJECTS, MACHINES_BUCKET, record_subjects
from hookline.fleet.nats.bucket import Bucket, make_bucket, set_value
from hookline.fleet.nats.connection import close, connect, connected
from hookline.fleet.nats.jetstream import Stored, make_stream, stored
from hookline.fleet.record.message import Arrival, Foreign, Stated, arrivals
from hookline.fleet.record.shipper import Shipper
from hookline.fleet.record.statement import RecordPlace, Source
from hookline.fleet.record.verify import Audit, AuditResult, Window
from hookline.log.write.appender import Appender
from hookline.log.write.sink import FileSink
from hookline.protocol.records import EventRecord, HookRecord, LogLevel

Found = TypeVar("Found")
KEY = MachineKey(b"k" * 32)
PLACE = RecordPlace("all", Source("m1", "ann", "log1"))


def event(number: int) -> EventRecord:
    """A record that says which one it is."""
    return EventRecord(
        level=LogLevel.DEBUG,
        message=f"event {number}",
        fire=f"f{number}",
        event="BeforeTool",
        hooks=1,
        succeeded=1,
        failed=0,
        stop=False,
        stop_reason=None,
        system_message=None,
        suppress_output=False,
    )


def write_log(path: Path, numbers: range, *, max_bytes: int = 10**9, backups: int = 5) -> None:
    """Appends records to a log, as a program does."""
    sink = FileSink(path, max_bytes=max_bytes, backups=backups)
    assert sink.write_now(*(event(number) for number in numbers))
    sink.close()


def write_trial(path: Path, text: str = "tried", *, number: int = 1) -> None:
    """Appends an event with a hook on trial that would have blocked; `text` is used for every untrusted field."""
    common: dict[str, Any] = {"fire": f"t{number}", "event": "BeforeTool", "subject": text, "session": text}
    texts = {"stdin": json.dumps({"tool_input": {"command": text}}), "stdout": "", "stderr": text}
    run = HookRecord(
        **(common | texts | {"id": f"t{number}-0", "hook": text, "origin": text, "message": text}),
        level=LogLevel.INFO,
        mode="shadow",
        would=("block",),
        truncated=False,
    )
    sink = FileSink(path)
    assert sink.write_now(run, msgspec.structs.replace(event(0), **common))
    sink.close()


def write_plain(path: Path, count: int, *, max_bytes: int = 10**9, backups: int = 5) -> None:
    """The same for many records, without the work of encoding each."""
    line = b'{"kind":"event","time":"2026-01-01T00:00:00.000Z","message":"%d"}\n'
    appender = Appender(path, max_bytes, backups)
    assert appender.append(line % number for number in range(count))
    appender.close()


def shipper(log: Path, *, place: RecordPlace = PLACE, key: MachineKey = KEY, **more: Any) -> Shipper:
    """A shipper of a log of a machine."""
    return Shipper(log, place, key, **more)


def with_server(nats: NatsServer, work: Callable[[Any], Coroutine[Any, Any, Found]]) -> Found:
    """Run a coroutine with a connection, and return its result."""

    async def go() -> Found:
        async with connected(nats.server, "test") as client:
            return await work(client)

    # In a thread: Playwright has an event loop in this one.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(go())).result()


def set_up(nats: NatsServer, replicas: int = 1) -> None:
    """Makes the stream and the bucket."""

    async def make(client: Any) -> None:
        await make_stream(client, AUDIT_STREAM, AUDIT_SUBJECTS, num_replicas=replicas, max_age=3600, max_bytes=-1)
        await make_bucket(client, MACHINES_BUCKET, history=1, replicas=replicas)

    with_server(nats, make)


def say(nats: NatsServer, key: str, data: bytes) -> None:
    """Puts a heartbeat into the bucket."""

    async def go(client: Any) -> None:
        await set_value(Bucket(client, MACHINES_BUCKET), key, data)

    with_server(nats, go)


def send_all(nats: NatsServer, *senders: Shipper) -> None:
    """Sends everything that the logs have, and their heads."""

    async def go(client: Any) -> None:
        for sender in senders:
            while await sender.ship(client):
                pass
            await sender.anchor(client)

    with_server(nats, go)


async def connected_all(nats: NatsServer, senders: Sequence[Shipper]) -> None:
    """The same for many machines at once, each with a separate connection."""

    async def send(sender: Shipper) -> None:
        client = await connect(nats.server, "test")
        try:
            while await sender.ship(client):
                pass
            await sender.anchor(client)
        finally:
            await close(client)

    await asyncio.gather(*(send(sender) for sender in senders))


async def everything(client: Any) -> list[Arrival | Stated | Foreign]:
    """Everything that is in the stream."""
    return [found async for found in arrivals(stored(client, AUDIT_STREAM, record_subjects()))]


def read_all(nats: NatsServer) -> list[Arrival | Stated | Foreign]:
    """The same."""
    return with_server(nats, everything)


def raw(nats: NatsServer) -> list[Stored]:
    """The messages of the stream."""

    async def read(client: Any) -> list[Stored]:
        return [message async for message in stored(client, AUDIT_STREAM, record_subjects())]

    return with_server(nats, read)


def audit(found: list[Arrival | Stated | Foreign], **options: Any) -> AuditResult:
    """Check all messages, and return the result."""
    checked = Audit(Window(options.get("since"), options.get("until")), options.get("keys", {}))
    for one in found:
        checked.add(one)
    return checked.finish()


def findings(found: list[Arrival | Stated | Foreign], **options: Any) -> list[str]:
    """All findings."""
    done = audit(found, **options)
    return [*done.findings, *(finding for report in done.sources for finding in report.findings)]


def forget_sent(log: Path) -> None:
    """As if nothing of a log was ever sent."""
    log.with_name(f"{log.name}.sent").unlink()
