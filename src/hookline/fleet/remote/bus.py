"""A message bus between machines, on NATS; `protocol.py` has the steps of one request."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hookline.errors import NoAnswerError
from hookline.fleet.names import ask_subject, name_of, token_of
from hookline.fleet.remote.client_request import ClientRequest
from hookline.fleet.remote.protocol import CLAIM_TIMEOUT_S, Step, StepKind, read_message
from hookline.fleet.remote.server import RequestServer
from hookline.protocol.messages import Message, RecentIds, Subscriber
from hookline.protocol.text.json_text import stringify_json

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription as NatsSubscription

_QUEUE = "workers"
# Fields of a message that only the bus sets.
_OURS = ("to", "replyTo")


class NatsBus:
    """One team's requests about one subject; `hookline.protocol.messages.MessageBus` says what it promises.

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
        self._server = RequestServer(self, name, concurrency)
        self._only_requests = only_requests
        self._on_fault = on_fault or (lambda _type, _error: None)
        self._inbox = ""
        self._count = 0
        self._handlers: dict[str, Callable[[Step], None]] = {}
        """The handlers of the requests under way, by the last part of their subject."""
        self._asked = RecentIds()
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listens for whatever comes to this bus alone."""
        self._inbox = self._client.new_inbox()
        await self._client.subscribe(f"{self._inbox}.*", cb=self._receive)

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
        if (inbox := self._server.take_inbox(str(message["to"]))) is not None:
            await self._client.publish(inbox, data)

    def subscribe(self, message_type: str, subscriber: Subscriber) -> "NatsBusSubscription":
        """Delivers messages of this type to the subscriber until the returned subscription is called."""
        return NatsBusSubscription(self._client, self._subscribe(str(message_type), subscriber))

    async def request(self, message: Message, timeout: float) -> Message:  # noqa: ASYNC109 - a timeout also cancels the work
        """Ask one worker; raises NoAnswerError when none claims it within CLAIM_TIMEOUT_S, or it falls silent."""
        return await self.ask(message, timeout)

    async def ask(self, message: Message, timeout: float, claim_timeout_s: float = CLAIM_TIMEOUT_S) -> Message:  # noqa: ASYNC109 - a timeout also cancels the work
        """Ask one worker, with less time for its claim."""
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
        request = ClientRequest(self, key, self._to("one", message), data)
        try:
            async with asyncio.timeout(timeout):
                return await request.run(claim_timeout_s)
        except TimeoutError:
            raise NoAnswerError(f"no answer within {timeout:g} s", timed_out=True, worker=request.worker) from None
        finally:
            await request.end()

    async def find_worker(self, message_type: str) -> str:
        """Return the name of a worker that would take a request, without sending it any work."""
        self._count += 1
        key = str(self._count)
        message = {"type": message_type, "correlationId": f"{self._inbox}.{key}"}
        request = ClientRequest(self, key, self._to("one", message), stringify_json(message))
        try:
            return await request.find(CLAIM_TIMEOUT_S)
        finally:
            await request.end()

    def _to(self, whom: str, message: Message) -> str:
        return f"{self._place}.{token_of(self._name)}.{whom}.{token_of(str(message.get('type')))}"

    async def leave(self) -> None:
        """Takes no more requests, and returns when those that run are answered; end the subscriptions first."""
        self._server.is_leaving = True
        while self._tasks:
            await asyncio.wait(tuple(self._tasks))

    @property
    def is_connected(self) -> bool:
        """Whether the server hears what is sent now."""
        return self._client.is_connected

    async def send_step(self, inbox: str, step: Step) -> None:
        """Send one step of a request."""
        await self._client.publish(inbox, stringify_json(step.to_json()), reply=step.reply)

    async def send_request(self, subject: str, data: bytes, key: str) -> None:
        """Send the request itself; its steps come to the handler of this key."""
        await self._client.publish(subject, data, reply=f"{self._inbox}.{key}")

    def open(self, key: str, handle: Callable[[Step], None]) -> None:
        """Pass the steps of a request to a handler."""
        self._handlers[key] = handle

    def close(self, key: str) -> None:
        """Forget the handler."""
        self._handlers.pop(key, None)

    async def _receive(self, msg: "Msg") -> None:
        has_no_responders = not msg.data and (msg.headers or {}).get("Status") == "503"
        step = Step(StepKind.NO_RESPONDERS) if has_no_responders else Step.read(msg.data, msg.reply)
        if step is None:
            return
        handle = self._handlers.get(msg.subject.rpartition(".")[2])
        if handle is not None:
            handle(step)
        elif step.kind is StepKind.CLAIM and step.reply:
            await self.send_step(step.reply, Step(StepKind.TOO_LATE))

    async def _subscribe(self, message_type: str, subscriber: Subscriber) -> "list[NatsSubscription]":
        kind = token_of(message_type)

        async def on_request(msg: "Msg") -> None:
            if (message := self._read(msg)) is not None and msg.reply:
                self._spawn(message_type, self._server.serve(message, msg.reply, self._inbox, subscriber))

        async def on_published(msg: "Msg") -> None:
            if (message := self._read(msg)) is not None:
                self._spawn(message_type, subscriber(message))

        subscriptions = [await self._client.subscribe(f"{self._place}.*.one.{kind}", queue=_QUEUE, cb=on_request)]
        if not self._only_requests:
            subscriptions.append(await self._client.subscribe(f"{self._place}.*.all.{kind}", cb=on_published))
        return subscriptions

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
            # The server vouches for the subject, not for the content of the message.
            message["asker"] = {**asker, "machine": _machine_of(msg), "team": self._team}
        return message

    def _fitting(self, answer: Message) -> bytes:
        data = stringify_json(answer)
        if len(data) <= self._client.max_payload:
            return data
        text = f"the answer has {len(data)} bytes, and the server takes {self._client.max_payload} at most"
        given = {key: answer[key] for key in ("type", "correlationId") if key in answer}
        return stringify_json({**given, "success": False, "error": {"code": "answer_too_long", "message": text}})


def _machine_of(msg: "Msg") -> str:
    return name_of(msg.subject.split(".")[4])


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
