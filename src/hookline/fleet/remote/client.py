"""A hook that a worker on another machine runs: one request over NATS, and its verdict in place of stdout."""

import asyncio
import os
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from hookline.errors import NoAnswerError
from hookline.fleet.names import ServerAddress, UnreachableError, machine_name, server_of
from hookline.fleet.nats.connection import asks_who_connects, close, connect, connected, end_tasks
from hookline.fleet.remote.channel import Channel
from hookline.fleet.remote.protocol import CLAIM_TIMEOUT_S
from hookline.protocol.answers import text_of
from hookline.protocol.constants import RunWay
from hookline.protocol.messages import Message, MessageBusType
from hookline.protocol.text.json_text import stringify_json
from hookline.protocol.verdict import Verdict
from hookline.runners.loop_thread import LoopThread
from hookline.runners.process.job import ChildOutcome
from hookline.runners.remote import RemoteJob
from hookline.settings.decode.schema import FleetSettings

if TYPE_CHECKING:
    from nats.aio.client import Client

# After a failed attempt to connect, the events of this time fail at once and the next one after it tries again.
_REST_S = 2.0
# How much longer than the deadline of an event we wait for the thread of the connection, which keeps it.
_LOST_S = 5.0
_LONGEST_TIMER_S = 86400.0
# The fields about the session that every hook input has; a request has them as the facts of its client.
_FACTS = ("session_id", "cwd", "timestamp", "hook_event_name", "transcript_path")


class RemoteClient:
    """A connection to the company's server, for all loops and threads of one engine; made when it is first needed."""

    def __init__(self, server: ServerAddress, team: str, machine: str) -> None:
        self._loop = LoopThread("hookline-remote")
        self._connection = _Connection(server, team, machine)
        self._is_closed = False
        self._finalizer = weakref.finalize(self, _end, self._loop, self._connection)

    async def ask(self, job: RemoteJob) -> ChildOutcome:
        """Return a worker's answer as the outcome of a process. Raises only CancelledError."""
        started = time.monotonic()
        outcome = await self._outcome(job)
        took_ms = (time.monotonic() - started) * 1000
        return msgspec.structs.replace(outcome, duration_ms=took_ms, way=RunWay.REMOTE)

    async def _outcome(self, job: RemoteJob) -> ChildOutcome:
        if self._is_closed:
            return ChildOutcome(error="was not asked: the engine and its connection are closed", is_unasked=True)
        if self._connection.pid != os.getpid():  # after a fork it belongs to the parent
            self._connection = _Connection(self._connection.server, self._connection.team, self._connection.machine)
        try:
            answer = self._loop.submit(_outcome(self._connection, job))
        except RuntimeError as error:
            return ChildOutcome(error=f"could not be asked: {error}", is_shortage=True)
        try:
            async with asyncio.timeout(min(job.timeout_ms / 1000, _LONGEST_TIMER_S) + _LOST_S):
                return await asyncio.wrap_future(answer)
        except TimeoutError:
            return ChildOutcome(error="has no answer: the thread of its connection does not respond")
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return ChildOutcome(error="has no answer: the engine and its connection were closed")

    def drain(self) -> None:
        """Close the connection when the requests under way are answered: the settings have changed."""
        with suppress(RuntimeError):
            self._loop.call(self._connection.drain)

    def close(self) -> None:
        """Close the connection within bounded time."""
        self._is_closed = True
        self._finalizer.detach()
        _end(self._loop, self._connection, wait=True)


class _Connection:
    """The connection itself; used in one loop only."""

    def __init__(self, server: ServerAddress, team: str, machine: str) -> None:
        self.server = server
        self.team = team
        self.machine = machine
        self.pid = os.getpid()
        self._client: Client | None = None
        self._connecting: asyncio.Task[Client] | None = None
        self._failed: tuple[float, str] = (0.0, "")
        self._channels: dict[str, Channel] = {}
        self._asking = 0
        self._is_leaving = False

    async def ask(self, job: RemoteJob, message: Message) -> Message:
        """The answer; NoAnswerError or UnreachableError without one."""
        self._asking += 1
        try:
            end = time.monotonic() + CLAIM_TIMEOUT_S
            channel = await self._channel(job.subject, CLAIM_TIMEOUT_S)
            timeout_s = min(job.timeout_ms / 1000, _LONGEST_TIMER_S)
            return await channel.ask(message, timeout_s, end - time.monotonic())
        finally:
            self._asking -= 1
            if self._is_leaving:
                self.drain()

    async def _channel(self, subject: str, patience_s: float) -> Channel:
        client = await self._connected(patience_s)
        channel = self._channels.get(subject)
        if channel is None:
            channel = Channel(client, team=self.team, subject=subject, name=self.machine)
            await channel.start()
            self._channels[subject] = channel
        return channel

    async def _connected(self, patience_s: float) -> "Client":
        if self._client is not None:
            # The client reconnects by itself. Nothing is sent until then: it would be buffered and arrive too late.
            if not self._client.is_connected:
                raise UnreachableError(f"the connection to {self.server.shown} is lost; check that the server runs")
            return self._client
        when, why = self._failed
        if why and time.monotonic() < when + _REST_S:
            raise UnreachableError(why)
        if self._connecting is None:
            self._connecting = asyncio.ensure_future(self._connect())
        connecting = self._connecting
        done, _ = await asyncio.wait((connecting,), timeout=patience_s)
        if not done:
            why = f"{self.server.shown} did not accept a connection within {patience_s:.1g} s"
            self._failed = time.monotonic(), why
            raise UnreachableError(why)
        return connecting.result()

    async def _connect(self) -> "Client":
        try:
            self._client = await connect(self.server, f"asks as {self.machine}")
        except UnreachableError as error:
            self._failed = time.monotonic(), str(error)
            raise
        finally:
            self._connecting = None
        return self._client

    def drain(self) -> None:
        """Close the connection as soon as no request waits for an answer."""
        self._is_leaving = True
        if not self._asking:
            self._closing = asyncio.ensure_future(self.close())

    async def close(self) -> None:
        """Closes the connection."""
        client, self._client = self._client, None
        self._channels.clear()
        if self._connecting is not None:
            self._connecting.cancel()
        if client is not None:
            await close(client)


async def _outcome(connection: _Connection, job: RemoteJob) -> ChildOutcome:
    about = f"the workers of {job.subject}"
    try:
        message = await connection.ask(job, _request(job))
        return outcome_of(message, job)
    except UnreachableError as error:
        return ChildOutcome(error=f"could not ask {about}: {error}")
    except NoAnswerError as error:
        if error.timed_out:
            return ChildOutcome(timed_out=True, worker=error.worker)
        return ChildOutcome(error=f"has no answer of {about}: {error}", worker=error.worker)
    except Exception as error:  # noqa: BLE001 - errors of the client library become the outcome of the hook
        return ChildOutcome(error=f"could not ask {about}: {error!r}")


def _request(job: RemoteJob) -> Message:
    fields = {name: value for name, value in job.hook_input.items() if name not in _FACTS}
    return {
        "type": MessageBusType.HOOK_EXECUTION_REQUEST.value,
        "eventName": job.hook_input["hook_event_name"],
        "input": fields,
        # An unguessable id: a worker refuses an id that it has already seen.
        "correlationId": os.urandom(16).hex(),
        "asker": job.facts,
    }


def outcome_of(message: Message, job: RemoteJob) -> ChildOutcome:
    """The outcome of a hook that this answer of a worker means."""
    worker = str(message.get("worker"))
    failure = message.get("error")
    why = text_of(failure.get("message") or failure if isinstance(failure, Mapping) else failure)
    try:
        verdict = Verdict.from_dict(message["verdict"])
    except (KeyError, TypeError, ValueError) as error:
        if why is None:
            return ChildOutcome(error=f"got no verdict from worker {worker}: {error!r}", worker=worker)
        return ChildOutcome(error=f"was not run by worker {worker}: {why}", worker=worker)
    if why is not None and not verdict.blocked and not verdict.denied:
        return ChildOutcome(error=f"failed on worker {worker}: {why}", worker=worker)
    if isinstance(by := message.get("by"), list) and by:
        worker = f"{worker}: {', '.join(map(str, by))}"
    if not verdict.success and not verdict.blocked and not verdict.denied and (job.is_strict or not verdict.answer):
        why = "; ".join(error.message for error in verdict.errors) or "a hook of it failed"
        return ChildOutcome(error=f"failed on worker {worker}: {why}", worker=worker)
    stdout = stringify_json(given) if (given := verdict.as_answer()) else b""
    if len(stdout) > job.most_bytes:
        return ChildOutcome(exit_code=0, stdout=stdout[: job.most_bytes], stdout_truncated=True, worker=worker)
    return ChildOutcome(exit_code=0, stdout=stdout, worker=worker)


def _end(loop: LoopThread, connection: _Connection, *, wait: bool = False) -> None:
    async def last() -> None:
        await connection.close()
        await end_tasks()

    loop.close(last, wait=wait)


def remote_of(fleet: FleetSettings) -> RemoteClient:
    """Return the connection for the server of these settings; made when it is first needed."""
    return RemoteClient(server_of(fleet), fleet.team, machine_name(fleet.machine))


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the company's server can be reached, and which workers are there."""

    fault: str | None = None
    """Why the server can't be reached, or None."""
    is_authenticated: bool = False
    """True if the server knows which machine connects."""
    workers: Mapping[str, str] = {}
    """A worker for each subject that has one."""
    missing: Mapping[str, str] = {}
    """Why no worker would answer, for each other subject."""


async def find_workers(fleet: FleetSettings, subjects: Sequence[str]) -> Reach:
    """Connect as this machine, and look for a worker of each subject; nothing is run."""
    machine, server = machine_name(fleet.machine), server_of(fleet)
    workers: dict[str, str] = {}
    missing: dict[str, str] = {}
    try:
        async with connected(server, f"doctor of {machine}") as client:
            for subject in subjects:
                channel = Channel(client, team=fleet.team, subject=subject, name=machine)
                await channel.start()
                try:
                    workers[subject] = await channel.find_worker()
                except NoAnswerError as error:
                    missing[subject] = str(error)
            is_authenticated = server.shows_who_asks and asks_who_connects(client)
    except UnreachableError as error:
        return Reach(fault=str(error))
    return Reach(is_authenticated=is_authenticated, workers=workers, missing=missing)
