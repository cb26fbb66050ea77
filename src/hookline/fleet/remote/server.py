"""The requests that one worker serves: which it takes, and where their answers go."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress

from hookline.fleet.remote.protocol import HEARTBEAT_TIMEOUT_S, Step, StepKind, Transport, now_s, settle
from hookline.protocol.messages import Message, RecentIds, Subscriber

HEARTBEAT_S = 0.25


class RequestServer:
    """The worker's half of a bus."""

    def __init__(self, transport: Transport, name: str, concurrency: int) -> None:
        """Take the connection, the worker's name, and how many requests it works on at the same time."""
        self._transport = transport
        self._name = name
        self._slots = asyncio.Semaphore(concurrency)
        self._seen = RecentIds()
        self._inboxes: dict[str, str] = {}
        """Where the answer of each request at work goes, by the request's key."""
        self.is_leaving = False

    async def serve(self, message: Message, inbox: str, own_inbox: str, subscriber: Subscriber) -> None:
        """Serve one request, from the claim to the answer."""
        request_id = str(message.get("correlationId"))
        if self.is_leaving or request_id in self._seen:
            await self._transport.send_step(inbox, Step(StepKind.DECLINE))
            return
        # An unguessable key: whoever knows it can end the request.
        key = os.urandom(12).hex()
        request = ServerRequest(self._transport, key, inbox)
        try:
            if await request.claim(self._name, f"{own_inbox}.{key}") and self._seen.add(request_id):
                await self._work(request, {**message, "replyTo": key}, subscriber)
        finally:
            self._transport.close(key)

    async def _work(self, request: "ServerRequest", message: Message, subscriber: Subscriber) -> None:
        self._inboxes[request.key] = request.inbox
        try:
            await request.work(self._slots, lambda: subscriber(message))
        finally:
            if self._inboxes.pop(request.key, None) is not None:
                await self._transport.send_step(request.inbox, Step(StepKind.NO_ANSWER))

    def take_inbox(self, key: str) -> str | None:
        """Return where the one answer of a request goes; None if no client waits for it."""
        return self._inboxes.pop(key, None)


class ServerRequest:
    """One request as its worker sees it; lives in a task of its own."""

    def __init__(self, transport: Transport, key: str, inbox: str) -> None:
        """Take the request's key here, and its client's inbox."""
        self._transport = transport
        self.key = key
        self.inbox = inbox
        self._task = asyncio.current_task()
        self._decision: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._first: StepKind | None = None
        self._is_dismissed = False
        self._last_sign_s = 0.0
        """When this worker last sent the client something."""
        transport.open(key, self._handle)

    def _handle(self, step: Step) -> None:
        if self._first is None:
            self._first = step.kind
            settle(self._decision)
        elif step.kind in (StepKind.CANCEL, StepKind.TOO_LATE, StepKind.NO_RESPONDERS):
            self._dismiss()

    def _dismiss(self) -> None:
        self._is_dismissed = True
        if self._task is not None:
            self._task.cancel()

    async def claim(self, worker: str, own_inbox: str) -> bool:
        """Claim the request; True if the client still wants it, and says so in time."""
        self._last_sign_s = now_s()
        await self._transport.send_step(self.inbox, Step(StepKind.CLAIM, own_inbox, worker))
        timer = asyncio.get_running_loop().call_later(HEARTBEAT_TIMEOUT_S, settle, self._decision)
        try:
            await self._decision
        finally:
            timer.cancel()
        return self._first is StepKind.GO and not self._is_abandoned()

    def _is_abandoned(self) -> bool:
        # After a suspension of this process the client has received no heartbeat, and has given up.
        return self._is_dismissed or now_s() - self._last_sign_s > HEARTBEAT_TIMEOUT_S

    async def work(self, slots: asyncio.Semaphore, begin: Callable[[], Awaitable[None]]) -> None:
        """Run the work when a slot is free, with heartbeats; it is cancelled when the client gives up."""
        heartbeat = asyncio.ensure_future(self._send_heartbeats())
        try:
            async with slots:
                if not self._is_abandoned():
                    await begin()
        except asyncio.CancelledError:
            if not self._is_dismissed:
                raise
        finally:
            heartbeat.cancel()

    async def _send_heartbeats(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            if self._is_abandoned():
                self._dismiss()
                return
            if self._transport.is_connected:
                self._last_sign_s = now_s()
                with suppress(Exception):  # the connection was lost; the next round notices
                    await self._transport.send_step(self.inbox, Step(StepKind.ALIVE))
