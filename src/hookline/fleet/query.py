"""Read what the company's server has: the heartbeats of machines, and records as a log."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import aclosing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

from hookline.fleet.health.status import MachineStatus, judge, teams_of
from hookline.fleet.keys import add_pins, read_listed, read_pins
from hookline.fleet.names import MACHINES_BUCKET, UnreachableError, record_subjects, server_of
from hookline.fleet.nats.bucket import Latest, latest_values
from hookline.fleet.nats.connection import connected, end_tasks
from hookline.fleet.nats.jetstream import stored
from hookline.fleet.policy.bucket import latest
from hookline.fleet.policy.documents import ALL_TEAMS
from hookline.fleet.policy.store import DocumentKind
from hookline.fleet.record.message import arrivals
from hookline.fleet.record.mirror import Mirror
from hookline.runners.loop_thread import LoopThread
from hookline.settings.decode.schema import FleetSettings
from hookline.stderr import warn_user

if TYPE_CHECKING:
    from nats.aio.client import Client

T = TypeVar("T")

_RETRY_S = 2.0
# Clocks of machines and of the server differ.
_SKEW_S = 3600.0


@dataclass(frozen=True, slots=True)
class FleetSelection:
    """The machines and records that a command reads; None means all."""

    stream: str = ""
    team: str | None = None
    machine: str | None = None
    since: str | None = None

    @property
    def subjects(self) -> tuple[str, str]:
        """The subjects of the records."""
        return record_subjects(self.team, self.machine)

    @property
    def since_seconds(self) -> float | None:
        """The time from which the stream is read, so that no record since then is missed."""
        return None if self.since is None else datetime.fromisoformat(self.since).timestamp() - _SKEW_S


def ask(fleet: FleetSettings, work: Callable[["Client"], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine with a connection to the fleet's server, and return its result."""

    async def run() -> T:
        async with connected(server_of(fleet), "command") as client:
            return await work(client)

    return asyncio.run(run())


def read_machines(
    fleet: FleetSettings,
    selection: FleetSelection,
    *,
    policy_keys: Sequence[str] = (),
    keys_file: str | None = None,
    expected: Sequence[str] = (),
) -> list[MachineStatus]:
    """Return the status of the selected machines; with the signers' keys, also whether their policy is the newest."""
    listed = read_listed(Path(keys_file)) if keys_file else {}
    keys = {**read_pins(), **listed}
    beats, newest = ask(fleet, lambda client: _read_heartbeats(client, policy_keys))
    found = [
        status
        for status in judge(beats, keys=keys, expected=expected, listed=listed.keys(), newest=newest)
        if selection.machine in (None, status.machine) and selection.team in (None, status.team)
    ]
    # Only a key of a machine without problems is remembered as its first.
    add_pins({(one.machine, one.user): one.key for one in found if one.key and not one.problems})
    return found


async def _read_heartbeats(client: "Client", policy_keys: Sequence[str]) -> tuple[list[Latest], dict[str, int]]:
    """Return the heartbeats, and the version of the policy that each team should have."""
    beats = await latest_values(client, MACHINES_BUCKET)
    newest: dict[str, int] = {}
    if policy_keys:
        # An auditor may not be allowed to read policies; then the newest that a machine has counts.
        with suppress(UnreachableError):
            for team in teams_of(beats):
                own = await latest(client, DocumentKind.BUNDLE, team, policy_keys)
                found = own or await latest(client, DocumentKind.BUNDLE, ALL_TEAMS, policy_keys)
                newest |= {} if found is None else {team: found.document.version}
    return beats, newest


@contextmanager
def mirrored(fleet: FleetSettings, selection: FleetSelection, *, follows: bool = False) -> Iterator[Path]:
    """Yield a log with the selected records; with `follows`, new records are appended to it."""
    with TemporaryDirectory(prefix="hookline-fleet-") as folder:
        file = Path(folder, "records.jsonl")
        mirror = Mirror(file)
        try:
            ask(fleet, lambda client: _copy(client, mirror, selection))
            if mirror.is_full:
                warn_user(
                    "there are more records than can be copied here; choose fewer with --since, --machine or --team"
                )
            with _following(fleet, mirror, selection) if follows else nullcontext():
                yield file
        finally:
            mirror.close()


async def _copy(client: "Client", mirror: Mirror, selection: FleetSelection, *, follows: bool = False) -> None:
    messages = stored(client, selection.stream, selection.subjects, since=selection.since_seconds, follow=follows)
    async with aclosing(messages):
        await mirror.copy(arrivals(messages))


@contextmanager
def _following(fleet: FleetSettings, mirror: Mirror, selection: FleetSelection) -> Iterator[None]:
    """Copy new records in a thread."""
    loop = LoopThread("hookline-fleet-records")
    loop.submit(_follow(fleet, mirror, selection))
    try:
        yield
    finally:
        loop.close(end_tasks)


async def _follow(fleet: FleetSettings, mirror: Mirror, selection: FleetSelection) -> None:
    while True:
        with suppress(UnreachableError):
            async with connected(server_of(fleet), "page") as client:
                # The mirror knows the records that it has by their hashes.
                await _copy(client, mirror, selection, follows=True)
        await asyncio.sleep(_RETRY_S)
