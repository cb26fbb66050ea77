"""The records of the fleet as a log, for as long as a command reads them."""

import argparse
import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from hookline.apps.cli.commands._fleet_server import ask, seconds_of
from hookline.apps.cli.commands._log_filters import time_of
from hookline.fleet.names import record_subjects, server_of
from hookline.fleet.nats.connection import UnreachableError, connected
from hookline.fleet.nats.jetstream import stored
from hookline.fleet.record.message import arrivals
from hookline.fleet.record.mirror import Mirror
from hookline.protocol.text.strings import warn_user
from hookline.settings.decode.schema import FleetSettings

if TYPE_CHECKING:
    from nats.aio.client import Client

_AGAIN_S = 2.0


@contextmanager
def mirrored(fleet: FleetSettings, given: argparse.Namespace, *, follows: bool = False) -> Iterator[Path]:
    """A log with the records of the machines and the time that the options ask for; it grows, if it follows."""
    with TemporaryDirectory(prefix="hookline-fleet-") as folder:
        file = Path(folder, "records.jsonl")
        mirror = Mirror(file)
        try:
            ask(fleet, lambda client: _copy(client, mirror, given))
            if mirror.is_full:
                warn_user(
                    "there are more records than can be copied here; choose fewer with --since, --machine or --team"
                )
            with _following(fleet, mirror, given) if follows else nullcontext():
                yield file
        finally:
            mirror.close()


async def _copy(client: "Client", mirror: Mirror, given: argparse.Namespace, *, follows: bool = False) -> None:
    since = seconds_of(time_of("--since", given.since))
    subjects = record_subjects(given.team, given.machine)
    async with aclosing(stored(client, given.stream, subjects, since=since, follow=follows)) as messages:
        await mirror.copy(arrivals(messages))


@contextmanager
def _following(fleet: FleetSettings, mirror: Mirror, given: argparse.Namespace) -> Iterator[None]:
    """Copies in a thread what comes from now on."""
    started = threading.Event()
    stops: list[Callable[[], object]] = []

    async def follow() -> None:
        working = asyncio.create_task(_follow(fleet, mirror, given))
        loop = asyncio.get_running_loop()
        stops.append(lambda: loop.call_soon_threadsafe(working.cancel))
        started.set()
        with suppress(asyncio.CancelledError):
            await working

    thread = threading.Thread(target=lambda: asyncio.run(follow()), name="hookline-fleet-records", daemon=True)
    thread.start()
    started.wait()
    try:
        yield
    finally:
        for stop in stops:
            stop()
        thread.join(5.0)


async def _follow(fleet: FleetSettings, mirror: Mirror, given: argparse.Namespace) -> None:
    while True:
        with suppress(UnreachableError):
            async with connected(server_of(fleet), "page") as client:
                # What was copied before is known by its hashes.
                await _copy(client, mirror, given, follows=True)
        await asyncio.sleep(_AGAIN_S)
