"""Whether a company's server can be reached, and whether workers are there; nothing is run."""

from collections.abc import Mapping, Sequence

import msgspec

from hookline.errors import NoAnswerError
from hookline.fleet.names import machine_name, server_of
from hookline.fleet.nats.connection import UnreachableError, asks_who_connects, connected
from hookline.fleet.remote.bus import NatsBus
from hookline.protocol.messages import MessageBusType
from hookline.settings.decode.schema import FleetSettings


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """The findings."""

    fault: str | None = None
    """Why the server can't be reached, or None."""
    knows_us: bool = False
    """Whether it asks who connects."""
    workers: Mapping[str, str] = {}
    """A worker for each subject that has one."""
    missing: Mapping[str, str] = {}
    """Why no worker would answer, for each other subject."""


async def look(fleet: FleetSettings, subjects: Sequence[str]) -> Reach:
    """Connects as a machine does, and asks for a worker of each subject."""
    machine = machine_name(fleet.machine)
    workers: dict[str, str] = {}
    missing: dict[str, str] = {}
    try:
        async with connected(server_of(fleet), f"doctor of {machine}") as client:
            knows_us = server_of(fleet).shows_who_asks and asks_who_connects(client)
            for subject in subjects:
                bus = NatsBus(client, team=fleet.team, subject=subject, name=machine, is_authenticated=knows_us)
                await bus.start()
                try:
                    workers[subject] = await bus.find_worker(MessageBusType.HOOK_EXECUTION_REQUEST)
                except NoAnswerError as error:
                    missing[subject] = str(error)
    except UnreachableError as error:
        return Reach(fault=str(error))
    return Reach(knows_us=knows_us, workers=workers, missing=missing)
