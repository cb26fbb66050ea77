"""Requests about one subject over NATS, from both ends; `protocol.py` has the steps of one request."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from hookline.client.bus import RecentIds
from hookline.errors import NoAnswerError
from hookline.fleet.names import ask_subject, name_of, token_of
from hookline.fleet.remote.protocol import (
    CLAIM_TIMEOUT_S,
    HEARTBEAT_S,
    HEARTBEAT_TIMEOUT_S,
    Step,
    StepKind,
    now_s,
    read_message,
)
from hookline.protocol.messages import Message, MessageBusType
from hookline.protocol.text.json_text import stringify_json

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription

_ATTEMPTS = 3
_QUEUE = "workers"
_KIND = token_of(MessageBusType.HOOK_EXECUTION_REQUEST)
# Fields of a message that only the receiver sets.
_RESERVED = ("to", "replyTo")

Steps = asyncio.Queue[Step]
Answer = Callable[[Message], Awaitable[Mapping[str, Any]]]


class Channel:
    """The requests of one team about one subject; belongs to the event loop of its NATS client."""

    def __init__(self, client: "Client", *, team: str, subject: str, name: str) -> None:
        """`name` is the machine's or the worker's. A server that authenticates its machines has to allow it."""
        self._client = client
        self._team = team
        self._prefix = ask_subject(team, subject)
        self._name = name
        self._inbox = client.new_inbox()
        self._count = 0
        self._open: dict[str, Steps] = {}
        """The steps of each open request, by the last part of the subject that they arrive at."""
        self._seen = RecentIds()
        self._subscription: Subscription | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Subscribe to the steps of requests."""
        await self._client.subscribe(f"{self._inbox}.*", cb=self._receive)

    async def ask(self, message: Message, timeout_s: float, claim_timeout_s: float = CLAIM_TIMEOUT_S) -> Message:
        """Return the answer of one worker. The message needs a `correlationId` that was never used before.

        Raises NoAnswerError when no worker claims the request in time, its worker falls silent, or the timeout ends;
        then the worker's own work is cancelled.
        """
        claim, is_over = None, False
        with self._opened(self._next_key()) as (key, steps):
            try:
                async with asyncio.timeout(timeout_s):
                    claim = await self._claim(message, key, steps, claim_timeout_s)
                    await self._send(claim.reply, Step(StepKind.GO))
                    step = await self._outcome(steps, claim.worker)
                is_over = True
            except TimeoutError:
                worker = None if claim is None else claim.worker
                raise NoAnswerError(f"no answer within {timeout_s:g} s", timed_out=True, worker=worker) from None
            finally:
                if claim is not None and not is_over:
                    with suppress(Exception):  # the connection is lost, and the worker's lease ends
                        await self._send(claim.reply, Step(StepKind.CANCEL))
        if step.kind is not StepKind.ANSWER:
            why = "is gone" if step.kind is StepKind.NO_RESPONDERS else "did not answer"
            raise NoAnswerError(f"worker {claim.worker} {why}", worker=claim.worker)
        return {**step.message, "worker": claim.worker}

    async def find_worker(self) -> str:
        """Return the name of a worker that would take a request, without giving it any work."""
        with self._opened(self._next_key()) as (key, steps):
            claim = await self._claim({"correlationId": f"{self._inbox}.{key}"}, key, steps, CLAIM_TIMEOUT_S)
            await self._send(claim.reply, Step(StepKind.TOO_LATE))
            return claim.worker

    async def serve(self, answer: Answer, *, concurrency: int, on_fault: Callable[[BaseException], None]) -> None:
        """Answer requests until `leave`, so many at a time. `on_fault` gets the errors of requests that failed."""
        slots = asyncio.Semaphore(concurrency)

        def ended(task: "asyncio.Task[None]") -> None:
            self._tasks.discard(task)
            if not task.cancelled() and (error := task.exception()) is not None:
                on_fault(error)

        async def on_request(msg: "Msg") -> None:
            message = self._read(msg)
            if message is not None and msg.reply:
                task = asyncio.ensure_future(self._serve(message, msg.reply, answer, slots))
                self._tasks.add(task)
                task.add_done_callback(ended)

        self._subscription = await self._client.subscribe(f"{self._prefix}.*.one.{_KIND}", queue=_QUEUE, cb=on_request)
        # Twice: the client's ping overtakes what it has buffered, so only the second one comes after the subscription.
        await self._client.flush()
        await self._client.flush()

    async def leave(self) -> None:
        """Take no more requests, and return when those that run are answered."""
        subscription, self._subscription = self._subscription, None
        with suppress(Exception):  # the connection is closed
            if subscription is not None:
                await subscription.unsubscribe()
            await self._client.flush()
        while self._tasks:
            await asyncio.wait(tuple(self._tasks))

    def _next_key(self) -> str:
        self._count += 1
        return str(self._count)

    @contextmanager
    def _opened(self, key: str) -> Iterator[tuple[str, Steps]]:
        steps = self._open[key] = Steps()
        try:
            yield key, steps
        finally:
            del self._open[key]

    async def _send(self, inbox: str, step: Step) -> None:
        await self._client.publish(inbox, stringify_json(step.to_json()), reply=step.reply)

    async def _receive(self, msg: "Msg") -> None:
        has_no_responders = not msg.data and (msg.headers or {}).get("Status") == "503"
        step = Step(StepKind.NO_RESPONDERS) if has_no_responders else Step.read(msg.data, msg.reply)
        if step is None:
            return
        steps = self._open.get(msg.subject.rpartition(".")[2])
        if steps is not None:
            steps.put_nowait(step)
        elif step.kind is StepKind.CLAIM and step.reply:
            await self._send(step.reply, Step(StepKind.TOO_LATE))

    async def _claim(self, message: Message, key: str, steps: Steps, timeout_s: float) -> Step:
        data = stringify_json(message)
        if len(data) > self._client.max_payload:
            raise NoAnswerError(f"it has {len(data)} bytes, and the server takes {self._client.max_payload} at most")
        subject = f"{self._prefix}.{token_of(self._name)}.one.{_KIND}"
        end = now_s() + timeout_s
        for attempt in range(_ATTEMPTS):
            await self._client.publish(subject, data, reply=f"{self._inbox}.{key}")
            again = end - timeout_s * (_ATTEMPTS - 1 - attempt) / _ATTEMPTS
            while (step := await _next(steps, again - now_s())) is not None:
                if step.kind is StepKind.CLAIM and step.reply:
                    return step
                if step.kind is StepKind.NO_RESPONDERS:
                    raise NoAnswerError("no worker is there")
                if step.kind is StepKind.DECLINE:
                    break
        raise NoAnswerError(f"no worker answered within {timeout_s:.1g} s")

    async def _outcome(self, steps: Steps, worker: str) -> Step:
        """Return the step that ends a request."""
        while (step := await _next(steps, HEARTBEAT_TIMEOUT_S)) is not None:
            match step.kind:
                case StepKind.CLAIM:
                    await self._send(step.reply, Step(StepKind.TOO_LATE))
                case StepKind.ANSWER | StepKind.NO_RESPONDERS | StepKind.NO_ANSWER:
                    return step
        raise NoAnswerError(f"worker {worker} fell silent while it worked", worker=worker)

    async def _serve(self, message: dict[str, Any], inbox: str, answer: Answer, slots: asyncio.Semaphore) -> None:
        """Serve one request, from the claim to the answer."""
        request_id = str(message.get("correlationId"))
        if self._subscription is None or request_id in self._seen:
            await self._send(inbox, Step(StepKind.DECLINE))
            return
        # An unguessable key: any machine that knows it can end the request.
        with self._opened(os.urandom(12).hex()) as (key, steps):
            lease = _Lease()
            await self._send(inbox, Step(StepKind.CLAIM, f"{self._inbox}.{key}", self._name))
            step = await _next(steps, HEARTBEAT_TIMEOUT_S)
            if step is None or step.kind is not StepKind.GO or lease.is_over or not self._seen.add(request_id):
                return

            async def work() -> Mapping[str, Any] | None:
                async with slots:
                    return None if lease.is_over else await answer({**message, "replyTo": key})

            working = asyncio.ensure_future(work())
            watching = asyncio.ensure_future(self._keep_alive(lease, steps, inbox))
            try:
                await asyncio.wait((working, watching), return_when=asyncio.FIRST_COMPLETED)
                if working.done():
                    await self._reply(inbox, working)
            finally:
                watching.cancel()
                working.cancel()
                await asyncio.wait((working,))  # until the hooks have ended

    async def _keep_alive(self, lease: "_Lease", steps: Steps, inbox: str) -> None:
        """Send heartbeats; returns when the client has given up."""
        while True:
            step = await _next(steps, HEARTBEAT_S)
            is_dismissed = step is not None and step.kind is not StepKind.GO
            if is_dismissed or lease.is_over:
                return
            if self._client.is_connected:
                lease.renew()
                with suppress(Exception):  # the connection was lost; the next round notices
                    await self._send(inbox, Step(StepKind.ALIVE))

    async def _reply(self, inbox: str, work: "asyncio.Future[Mapping[str, Any] | None]") -> None:
        if work.exception() is not None or (response := work.result()) is None:
            await self._send(inbox, Step(StepKind.NO_ANSWER))
            work.result()
            return
        data = stringify_json({key: value for key, value in response.items() if key != "to"})
        if len(data) > self._client.max_payload:
            text = f"the answer has {len(data)} bytes, and the server takes {self._client.max_payload} at most"
            kept = {key: response[key] for key in ("type", "correlationId") if key in response}
            data = stringify_json({**kept, "success": False, "error": {"code": "answer_too_long", "message": text}})
        await self._client.publish(inbox, data)

    def _read(self, msg: "Msg") -> dict[str, Any] | None:
        message = read_message(msg.data)
        if message is None:
            return None
        for name in _RESERVED:
            message.pop(name, None)
        if isinstance(asker := message.get("asker"), dict):
            # The server vouches for the subject, not for the content of the message.
            message["asker"] = {**asker, "machine": name_of(msg.subject.split(".")[4]), "team": self._team}
        return message


class _Lease:
    """How long the client of a request still counts on this worker."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self._renewed_s = now_s()

    @property
    def is_over(self) -> bool:
        # After a suspension of this process the client has received no heartbeat, and has given up.
        return now_s() - self._renewed_s > HEARTBEAT_TIMEOUT_S


async def _next(steps: Steps, seconds: float) -> Step | None:
    try:
        async with asyncio.timeout(max(seconds, 0.0)):
            return await steps.get()
    except TimeoutError:
        return None
