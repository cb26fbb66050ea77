"""A message bus between machines, on NATS.

A request goes to one of the subscribers and comes back in four steps, each a message to a private inbox:

    asker    the request, again after a third of the patience if nobody claims it
    worker   a claim: I have it, and have not begun
    asker    go, to the first claim only; any other is told that it is too late
    worker   a sign of life every quarter of a second, and then the answer

So at most one worker runs a request, and none runs one that its asker has abandoned, however long the request was
under way or its worker stood still. Clocks of different machines are never compared. The answer is an offer to take the
next request of this asker, which so needs no claim: see `conversation/offers.py`.
"""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hookline.child.conversation.asking import Asking
from hookline.child.conversation.offers import Offers
from hookline.child.conversation.service import Asker, Service
from hookline.child.conversation.steps import (
    ANSWER,
    CANCEL,
    CLAIM,
    NOBODY,
    OFFER,
    PATIENCE_S,
    STEP,
    TOO_LATE,
    Step,
    read_message,
)
from hookline.contract.fleet import ask_subject, name_of, token_of
from hookline.contract.messages import Message, RecentIds, Subscriber
from hookline.contract.wire import stringify_json
from hookline.errors import NoAnswerError

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription as NatsSubscription

_QUEUE = "workers"
# What is in a message for the bus itself, and not from its sender.
_OURS = ("to", "replyTo")


class NatsBus:
    """One team's requests about one subject; `hookline.contract.messages.MessageBus` says what it promises.

    Belongs to the event loop of its client. `start` has to be awaited first.
    """

    def __init__(
        self,
        client: "Client",
        *,
        team: str,
        subject: str,
        name: str,
        is_authenticated: bool,
        concurrency: int = 100,
        only_requests: bool = False,
        on_fault: Callable[[str, BaseException], None] | None = None,
    ) -> None:
        """Takes its options.

        Args:
            client: an open connection.
            team: whose workers are asked.
            subject: what they are asked about.
            name: who we are: the machine's name, or the worker's. The server has to allow it, if it knows its machines.
            is_authenticated: whether the server does.
            concurrency: how many requests are served at the same time; more than that wait.
            only_requests: True serves `request` only, and not what is published to all.
            on_fault: called with a message's type and the error of a subscriber that failed.
        """
        self._client = client
        self._team = team
        self._subject = subject
        self._place = ask_subject(team, subject)
        self._name = name
        self.is_authenticated = is_authenticated
        self._service = Service(self, name, concurrency)
        self._only_requests = only_requests
        self._on_fault = on_fault or (lambda _type, _error: None)
        self._inbox = ""
        self._count = 0
        self._talks: dict[str, Callable[[Step], None]] = {}
        """Who hears the steps of each conversation under way, by the last part of its subject."""
        self._offers: dict[str, Offers] = {}
        """What workers have offered us, by the type of message."""
        self._asked = RecentIds()
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listens for whatever comes to this bus alone."""
        self._inbox = self._service.inbox = self._client.new_inbox()
        await self._client.subscribe(f"{self._inbox}.*", cb=self._hear)

    @property
    def running(self) -> int:
        """How many messages subscribers are at work on."""
        return len(self._tasks)

    async def publish(self, message: Message) -> None:
        """Sends the message to all subscribers of its `type`, or to the asker that it answers."""
        if "to" not in message:
            await self._client.publish(self._to("all", message), stringify_json(message))
            return
        answer = {key: value for key, value in message.items() if key != "to"}
        data = self._fitting(answer)
        if (address := self._service.answer(str(message["to"]))) is not None:
            inbox, next_inbox = address
            # In a header as well: a server with accounts writes a name of its own in place of the inbox.
            headers = {OFFER: next_inbox.rpartition(".")[2]} if next_inbox else None
            await self._client.publish(inbox, data, reply=next_inbox, headers=headers)

    def subscribe(self, message_type: str, subscriber: Subscriber) -> "NatsBusSubscription":
        """Delivers messages of this type to the subscriber until the returned subscription is called."""
        return NatsBusSubscription(self._client, self._subscribe(str(message_type), subscriber))

    async def request(self, message: Message, timeout: float) -> Message:  # noqa: ASYNC109 - the work is ended, too
        """Asks one worker; raises NoAnswerError when none claims it within PATIENCE_S, or it falls silent."""
        return await self.ask(message, timeout)

    async def ask(self, message: Message, timeout: float, patience_s: float = PATIENCE_S) -> Message:  # noqa: ASYNC109
        """The same, for an asker that has less patience left."""
        self._count += 1
        key = str(self._count)
        request_id = message.get("correlationId")
        if request_id is None or request_id == "":
            request_id = f"{self._inbox}.{key}"
        if not self._asked.add(f"{type(request_id).__name__} {request_id}"):
            raise NoAnswerError(f"{request_id!r} was asked before, and nothing is run twice")
        data = stringify_json({**message, "correlationId": request_id})
        if len(data) > self._client.max_payload:
            raise NoAnswerError(f"it has {len(data)} bytes, and the server takes {self._client.max_payload} at most")
        offers = self._offers.setdefault(str(message.get("type")), Offers())
        conversation = Asking(self, key, self._to("one", message), data)
        try:
            async with asyncio.timeout(timeout):
                return await conversation.run(patience_s, offers, self._alone(self._name))
        except TimeoutError:
            raise NoAnswerError(f"no answer within {timeout:g} s", timed_out=True, worker=conversation.worker) from None
        finally:
            await conversation.end()

    async def find_worker(self, message_type: str) -> str:
        """The name of a worker that would take a request, without giving it one; NoAnswerError if there is none."""
        self._count += 1
        key = str(self._count)
        message = {"type": message_type, "correlationId": f"{self._inbox}.{key}"}
        looking = Asking(self, key, self._to("one", message), stringify_json(message))
        try:
            return await looking.find(PATIENCE_S)
        finally:
            await looking.end()

    def _to(self, whom: str, message: Message) -> str:
        return f"{self._place}.{token_of(self._name)}.{whom}.{token_of(str(message.get('type')))}"

    def _alone(self, machine: str) -> str:
        """Where one worker is asked; its own part of the subject comes last."""
        return f"{self._place}.{machine if machine == '*' else token_of(machine)}.one.at"

    async def leave(self) -> None:
        """Takes no more requests, and returns when those that run are answered; end the subscriptions first."""
        self._service.is_leaving = True
        while self._tasks:
            await asyncio.wait(tuple(self._tasks))

    @property
    def is_connected(self) -> bool:
        """Whether the server hears what is sent now."""
        return self._client.is_connected

    async def say(self, subject: str, step: Step, *, reply: str = "") -> None:
        """Sends one step of a conversation."""
        await self._client.publish(subject, stringify_json(step), reply=reply)

    async def send(self, subject: str, data: bytes, key: str) -> None:
        """Sends a request."""
        await self._client.publish(subject, data, reply=f"{self._inbox}.{key}")

    def open(self, key: str, hear: Callable[[Step], None]) -> None:
        """Begins a conversation."""
        self._talks[key] = hear

    def close(self, key: str) -> None:
        """Ends it."""
        self._talks.pop(key, None)

    async def _hear(self, msg: "Msg") -> None:
        if not msg.data and (msg.headers or {}).get("Status") == "503":
            step: Step = {STEP: NOBODY}
        else:
            step = read_message(msg.data) or {}
            if step.get("type") is not None:
                step = {STEP: ANSWER, "message": step}
        step["reply"], step[OFFER] = msg.reply, (msg.headers or {}).get(OFFER)
        talk = self._talks.get(msg.subject.rpartition(".")[2])
        if talk is not None:
            talk(step)
        elif step.get(STEP) == CLAIM and msg.reply:
            await self.say(msg.reply, {STEP: TOO_LATE})
        elif step.get(STEP) == CANCEL:
            self._service.withdraw(msg.subject.rpartition(".")[2])

    async def _subscribe(self, message_type: str, subscriber: Subscriber) -> "list[NatsSubscription]":
        kind, at = token_of(message_type), os.urandom(12).hex()

        async def asked(msg: "Msg") -> None:
            if (message := self._read(msg)) is not None and msg.reply:
                self._spawn(message_type, self._service.serve(message, _asker(msg), at, subscriber))

        async def asked_alone(msg: "Msg") -> None:
            if (message := self._read(msg)) is not None and msg.reply:
                self._spawn(message_type, self._service.serve_offered(message, _asker(msg), subscriber))

        async def told(msg: "Msg") -> None:
            if (message := self._read(msg)) is not None:
                self._spawn(message_type, subscriber(message))

        made = [
            await self._client.subscribe(f"{self._place}.*.one.{kind}", queue=_QUEUE, cb=asked),
            # In the same queue, alone: servers that know their machines let workers hear requests only in that.
            await self._client.subscribe(f"{self._alone('*')}.{at}", queue=_QUEUE, cb=asked_alone),
        ]
        if not self._only_requests:
            made.append(await self._client.subscribe(f"{self._place}.*.all.{kind}", cb=told))
        return made

    def _spawn(self, message_type: str, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)

        def ended(task: "asyncio.Task[None]") -> None:
            self._tasks.discard(task)
            if not task.cancelled() and (error := task.exception()) is not None:
                self._on_fault(message_type, error)

        task.add_done_callback(ended)

    def _read(self, msg: "Msg") -> Message | None:
        message = read_message(msg.data)
        if message is None:
            return None
        for name in _OURS:
            message.pop(name, None)
        if isinstance(asker := message.get("asker"), dict):
            # The server vouches for the subject, and not for what stands in the message.
            message["asker"] = {**asker, "machine": _asker(msg).machine, "team": self._team}
        return message

    def _fitting(self, answer: Message) -> bytes:
        data = stringify_json(answer)
        if len(data) <= self._client.max_payload:
            return data
        text = f"the answer has {len(data)} bytes, and the server takes {self._client.max_payload} at most"
        given = {key: answer[key] for key in ("type", "correlationId") if key in answer}
        return stringify_json({**given, "success": False, "error": {"code": "answer_too_long", "message": text}})


def _asker(msg: "Msg") -> Asker:
    return Asker(inbox=msg.reply, machine=name_of(msg.subject.split(".")[4]))


class NatsBusSubscription:
    """A subscription that the server may still have to hear of; calling it ends it."""

    def __init__(self, client: "Client", begin: Any) -> None:
        self._client = client
        self._beginning = asyncio.ensure_future(begin)
        self._is_over = False

    def __call__(self) -> None:
        """Ends it soon."""
        if not self._is_over:
            self._is_over = True
            self._ending = asyncio.ensure_future(self._end())

    async def ready(self) -> None:
        """Returns when the server delivers messages to it."""
        await self._beginning
        await self._client.flush()

    async def ended(self) -> None:
        """Returns when the server delivers nothing more to it."""
        self()
        await self._ending
        await self._client.flush()

    async def _end(self) -> None:
        with suppress(Exception):  # the connection is closed
            for subscription in await self._beginning:
                await subscription.unsubscribe()
