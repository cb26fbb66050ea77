"""A machine's part in the fleet, as a service: sends its log, signs heads, says that it lives, tries its guards."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from hookline.errors import HooklineError
from hookline.fleet.health.heartbeat import EVERY_S, CanaryResult, Facts, Heartbeat, read_canary, write_canary
from hookline.fleet.keys import machine_key
from hookline.fleet.names import MACHINES_BUCKET, NoClientError, UnreachableError, server_of
from hookline.fleet.nats.bucket import Bucket, set_value
from hookline.fleet.nats.connection import close, connect, end_tasks
from hookline.fleet.record.shipper import Shipper, only_shipper
from hookline.fleet.record.statement import place_of
from hookline.runners.loop_thread import LoopThread
from hookline.settings.decode.schema import FleetSettings

if TYPE_CHECKING:
    from nats.aio.client import Client

ANCHOR_S = 60.0
_DAY_S = 86_400.0
_CANARY_AGAIN_S = 3600.0
_POLL_S = 1.0
_LOCKED_S = 10.0
_SHORTEST_WAIT_S = 0.5
_LONGEST_WAIT_S = 30.0
_LAST_S = 5.0


class Service:
    """Run until `stop`. Wait for a server that is out of reach; the log keeps the unsent records."""

    def __init__(
        self,
        log: Path,
        fleet: FleetSettings,
        *,
        facts: Callable[[], Facts],
        canary: Callable[[], CanaryResult],
        notify: Callable[[str], None],
        every_s: float = EVERY_S,
    ) -> None:
        """`facts` and `canary` are called in threads, and may take their time."""
        self._log = log
        self._fleet = fleet
        self.facts = facts
        self._try_canaries = canary
        self._place = place_of(fleet, log)
        self._key = machine_key()
        self._every_s = every_s
        self._notify = DedupedNotifier(notify)
        self._canary = read_canary(log)
        self._trying: asyncio.Task[None] | None = None
        anchors = None if fleet.anchors is None else Path(fleet.anchors)
        self._shipper = Shipper(log, self._place, self._key, anchors=anchors, notify=self._notify)
        # When each is due next, by the monotonic clock.
        self._anchor_at = self._beat_at = self._canary_at = 0.0

    @property
    def sent(self) -> int:
        """The number of the last record that has arrived."""
        return self._shipper.progress.cursor.seq

    async def run(self, ending: asyncio.Event) -> None:
        """Serves; only one service of a log does, and others wait until it ends. NoClientError without the client."""
        while not ending.is_set():
            try:
                with only_shipper(self._log):
                    await self._serve(ending)
            except NoClientError:
                raise
            except (HooklineError, OSError) as error:
                self._notify(f"{error}; trying again")
                await _wait(ending, _LOCKED_S)

    async def run_once(self) -> None:
        """Does everything once that is due; HooklineError if the server is out of reach, or another service runs."""
        with only_shipper(self._log):
            client = await connect(server_of(self._fleet), f"machine {self._place.source.machine}")
            try:
                await self._run_canary()
                await self._send_all(client)
                await self._beat(client)
            finally:
                await close(client)

    async def _serve(self, ending: asyncio.Event) -> None:
        wait_s = _SHORTEST_WAIT_S
        client: Client | None = None
        try:
            while not ending.is_set():
                try:
                    client = client or await connect(server_of(self._fleet), f"machine {self._place.source.machine}")
                    await self._work(client, ending)
                except NoClientError:
                    raise
                except UnreachableError as error:
                    self._notify(f"{error}; the log keeps what has to wait")
                    await _wait(ending, wait_s)
                    wait_s = min(_LONGEST_WAIT_S, 2 * wait_s)
                else:
                    self._notify.forget()
                    wait_s = _SHORTEST_WAIT_S
                    await _wait(ending, _POLL_S)
            if client is not None:
                with contextlib.suppress(UnreachableError, TimeoutError):
                    await asyncio.wait_for(self._leave(client), _LAST_S)
        finally:
            if self._trying is not None:
                self._trying.cancel()
            if client is not None:
                await close(client)

    async def _work(self, client: "Client", ending: asyncio.Event) -> None:
        """Do everything that is due; records are sent even if heartbeats can't be, and the other way round."""
        if self._canary_is_due() and (self._trying is None or self._trying.done()):
            self._trying = asyncio.create_task(self._run_canary())
        try:
            await self._beat_if_due(client)
        except UnreachableError:
            await self._send_some(client, ending)
            raise
        await self._send_some(client, ending)

    async def _beat_if_due(self, client: "Client") -> None:
        if time.monotonic() >= self._beat_at:
            # Before it is sent: a canary that ends now requests the next heartbeat at once.
            self._beat_at = time.monotonic() + self._every_s
            try:
                await self._beat(client)
            except UnreachableError:
                self._beat_at = 0.0
                raise

    async def _send_some(self, client: "Client", ending: asyncio.Event) -> None:
        """Sends what is there, and signs it; but not longer than until the next sign of life."""
        if not self._fleet.audit:
            return
        while not ending.is_set() and await self._shipper.ship(client):
            if time.monotonic() >= self._beat_at:
                break
        if time.monotonic() >= self._anchor_at:
            await self._shipper.anchor(client)
            self._anchor_at = time.monotonic() + min(ANCHOR_S, self._every_s)

    def _canary_is_due(self) -> bool:
        """Once a day, even if the service is started often; sooner after one that nothing denied."""
        if self._canary is None or not self._canary.is_denied:
            return time.monotonic() >= self._canary_at
        return self._canary.age_s >= _DAY_S

    async def _leave(self, client: "Client") -> None:
        await self._send_all(client)
        await self._beat(client, is_leaving=True)

    async def _send_all(self, client: "Client") -> None:
        if self._fleet.audit:
            while await self._shipper.ship(client):
                pass
            await self._shipper.anchor(client)

    async def _run_canary(self) -> None:
        try:
            result = await asyncio.to_thread(self._try_canaries)
            # Once more, because `hookline doctor --prove` may have used the same file at the same moment.
            self._canary = result if result.is_denied else await asyncio.to_thread(self._try_canaries)
            await asyncio.to_thread(write_canary, self._log, self._canary)
        except Exception as error:  # noqa: BLE001 - a canary that breaks is one that nothing denied
            self._canary = CanaryResult(tried=1, missed=(f"it could not be tried: {type(error).__name__}",))
        self._canary_at = time.monotonic() + _CANARY_AGAIN_S
        self._beat_at = 0.0

    async def _beat(self, client: "Client", *, is_leaving: bool = False) -> None:
        try:
            facts = await asyncio.to_thread(self.facts)
        except Exception as error:  # noqa: BLE001 - the heartbeat reports the failure
            facts = Facts(enabled=False, problems=(f"its state can't be read: {type(error).__name__}",))
        source, progress = self._place.source, self._shipper.progress
        beat = Heartbeat(
            team=self._place.team,
            machine=source.machine,
            user=source.user,
            hookline=version("hookline"),
            every_s=self._every_s,
            facts=facts,
            canary=self._canary,
            sent=progress.cursor.seq,
            dropped=progress.dropped,
            is_leaving=is_leaving,
        )
        await set_value(Bucket(client, MACHINES_BUCKET), beat.key, self._key.sign(beat))


class ServiceThread:
    """The same service in a separate thread."""

    def __init__(self, service: Service) -> None:
        self._loop = LoopThread("hookline-fleet")
        self._ending = asyncio.Event()
        self._work = self._loop.submit(service.run(self._ending))

    def stop(self) -> None:
        """End the service, and wait for that within a bound."""
        self._loop.call(self._ending.set)
        with contextlib.suppress(TimeoutError, NoClientError):  # `hookline doctor` reports a missing client
            self._work.result(_LAST_S + 3)
        self._loop.close(end_tasks)


class DedupedNotifier:
    """Sends each message once, until `forget`."""

    def __init__(self, notify: Callable[[str], None]) -> None:
        self._notify = notify
        self._sent: set[str] = set()

    def __call__(self, message: str) -> None:
        """Send the message unless it was sent before."""
        if message not in self._sent:
            self._sent.add(message)
            self._notify(message)

    def forget(self) -> None:
        """Send everything again: the problems are solved."""
        self._sent.clear()


async def _wait(ending: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(ending.wait(), seconds)
