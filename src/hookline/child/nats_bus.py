"""A message bus between machines, on NATS.

A request goes to one of the subscribers and comes back in four steps, each a message to a private inbox:

    asker    the request, again after a third of the patience if nobody claims it
    worker   a claim: I have it, and have not begun
    asker    go, to the first claim only; any other is told that it is too late
    worker   a sign of life every quarter of a second, and then the answer

So at most one worker runs a request, and none runs one that its asker has abandoned, however long the request was
under way or its worker stood still. Clocks of different machines are never compared.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.contract.fleet import ask_subject, name_of, token_of
from hookline.contract.messages import Message, RecentIds, Subscriber
from hookline.contract.wire import parse_json, stringify_json
from hookline.errors import NoAnswerError

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription as NatsSubscription

PATIENCE_S = 0.9
"""How long the asker waits for the first sign of a worker."""
SILENCE_S = 0.8
"""After how long without a sign of life the asker gives up, and a worker must not begin."""
BEAT_S = 0.25
_ATTEMPTS = 3
_QUEUE = "workers"

_STEP = "step"
_CLAIM, _DECLINE, _ALIVE, _NO_ANSWER = "claim", "decline", "alive", "no answer"
_GO, _TOO_LATE, _CANCEL = "go", "too late", "cancel"
# Ours, for what comes without a step.
_ANSWER, _NOBODY = "answer", "nobody"

_decode = msgspec.json.Decoder().decode
Step = dict[str, Any]


def now_s() -> float:
    """Seconds that go on while this process stands still, and while the machine sleeps."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(clock)


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
        self._slots = asyncio.Semaphore(concurrency)
        self._only_requests = only_requests
        self._on_fault = on_fault or (lambda _type, _error: None)
        self._inbox = ""
        self._count = 0
        self._talks: dict[str, Callable[[Step], None]] = {}
        """Who hears the steps of each conversation under way, by the last part of its subject."""
        self._addresses: dict[str, str] = {}
        """Where the answer of each request goes that we serve."""
        self._asked = RecentIds()
        self._run = RecentIds()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_leaving = False

    async def start(self) -> None:
        """Listens for whatever comes to this bus alone."""
        self._inbox = self._client.new_inbox()
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
        address = self._addresses.pop(str(message["to"]), None)
        if address is not None:
            answer = {key: value for key, value in message.items() if key != "to"}
            await self._client.publish(address, self._fitting(answer))

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
        conversation = _Asking(self, key, self._to("one", message), data)
        try:
            async with asyncio.timeout(timeout):
                return await conversation.run(patience_s)
        except TimeoutError:
            raise NoAnswerError(f"no answer within {timeout:g} s", timed_out=True, worker=conversation.worker) from None
        finally:
            await conversation.end()

    async def find_worker(self, message_type: str) -> str:
        """The name of a worker that would take a request, without giving it one; NoAnswerError if there is none."""
        self._count += 1
        key = str(self._count)
        message = {"type": message_type, "correlationId": f"{self._inbox}.{key}"}
        looking = _Asking(self, key, self._to("one", message), stringify_json(message))
        try:
            return await looking.find(PATIENCE_S)
        finally:
            await looking.end()

    def _to(self, whom: str, message: Message) -> str:
        return f"{self._place}.{token_of(self._name)}.{whom}.{token_of(str(message.get('type')))}"

    async def leave(self) -> None:
        """Takes no more requests, and returns when those that run are answered; end the subscriptions first."""
        self._is_leaving = True
        while self._tasks:
            await asyncio.wait(tuple(self._tasks))

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
            step: Step = {_STEP: _NOBODY}
        else:
            step = _read(msg.data) or {}
            if step.get("type") is not None:
                step = {_STEP: _ANSWER, "message": step}
        step["reply"] = msg.reply
        talk = self._talks.get(msg.subject.rpartition(".")[2])
        if talk is not None:
            talk(step)
        elif step.get(_STEP) == _CLAIM and msg.reply:
            await self.say(msg.reply, {_STEP: _TOO_LATE})

    async def _subscribe(self, message_type: str, subscriber: Subscriber) -> "list[NatsSubscription]":
        async def asked(msg: "Msg") -> None:
            self._spawn(message_type, self._serve(msg, subscriber))

        async def told(msg: "Msg") -> None:
            if (message := self._read(msg)) is not None:
                self._spawn(message_type, subscriber(message))

        kind = token_of(message_type)
        made = [await self._client.subscribe(f"{self._place}.*.one.{kind}", queue=_QUEUE, cb=asked)]
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

    async def _serve(self, msg: "Msg", subscriber: Subscriber) -> None:
        """One request, from the claim to the answer."""
        message = self._read(msg)
        if message is None or not msg.reply:
            return
        request_id = str(message.get("correlationId"))
        if self._is_leaving or request_id in self._run:
            await self.say(msg.reply, {_STEP: _DECLINE})
            return
        self._count += 1
        serving = _Serving(self, str(self._count), msg.reply, self._name)
        try:
            if not await serving.may_begin(f"{self._inbox}.{serving.key}") or not self._run.add(request_id):
                return
            self._addresses[serving.key] = msg.reply
            await serving.work(self._slots, lambda: subscriber({**message, "replyTo": serving.key}))
        finally:
            self.close(serving.key)
            if self._addresses.pop(serving.key, None) is not None:
                await self.say(msg.reply, {_STEP: _NO_ANSWER})

    def _read(self, msg: "Msg") -> Message | None:
        message = _read(msg.data)
        if message is None:
            return None
        message.pop("to", None)
        message.pop("replyTo", None)
        if isinstance(asker := message.get("asker"), dict):
            # The server vouches for the subject, and not for what stands in the message.
            sender = name_of(msg.subject.split(".")[4])
            message["asker"] = {**asker, "machine": sender, "team": self._team}
        return message

    def _fitting(self, answer: Message) -> bytes:
        data = stringify_json(answer)
        if len(data) <= self._client.max_payload:
            return data
        text = f"the answer has {len(data)} bytes, and the server takes {self._client.max_payload} at most"
        given = {key: answer[key] for key in ("type", "correlationId") if key in answer}
        return stringify_json({**given, "success": False, "error": {"code": "answer_too_long", "message": text}})


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


class _Asking:
    """The asker's side of one request."""

    def __init__(self, bus: NatsBus, key: str, subject: str, data: bytes) -> None:
        self._bus = bus
        self._key = key
        self._subject = subject
        self._data = data
        self._steps: deque[Step] = deque()
        self._waiting: asyncio.Future[None] | None = None
        bus.open(key, self._hear)
        self.worker: str | None = None
        self._worker_inbox = ""
        self._is_answered = False

    async def run(self, patience_s: float) -> Message:
        """The answer."""
        claim = await self._claim(patience_s)
        self.worker, self._worker_inbox = str(claim.get("worker")), claim["reply"]
        await self._bus.say(self._worker_inbox, {_STEP: _GO})
        while True:
            step = await self._next(SILENCE_S)
            if step is None:
                raise NoAnswerError(f"worker {self.worker} fell silent while it worked", worker=self.worker)
            if step[_STEP] == _ANSWER:
                self._is_answered = True
                return {**step["message"], "worker": self.worker}
            if step[_STEP] == _CLAIM:
                await self._bus.say(step["reply"], {_STEP: _TOO_LATE})
            elif step[_STEP] in (_NOBODY, _NO_ANSWER):
                self._is_answered = True
                why = "is gone" if step[_STEP] == _NOBODY else "did not answer"
                raise NoAnswerError(f"worker {self.worker} {why}", worker=self.worker)

    async def find(self, patience_s: float) -> str:
        """The name of the first worker that claims it; it is told that it is too late."""
        claim = await self._claim(patience_s)
        self._is_answered = True
        await self._bus.say(claim["reply"], {_STEP: _TOO_LATE})
        return str(claim.get("worker"))

    async def _claim(self, patience_s: float) -> Step:
        end = now_s() + patience_s
        for attempt in range(_ATTEMPTS):
            await self._bus.send(self._subject, self._data, self._key)
            again = end - patience_s * (_ATTEMPTS - 1 - attempt) / _ATTEMPTS
            while (step := await self._next(again - now_s())) is not None:
                if step[_STEP] == _CLAIM and step["reply"]:
                    return step
                if step[_STEP] == _NOBODY:
                    raise NoAnswerError("no worker is there")
                if step[_STEP] == _DECLINE:
                    break
        raise NoAnswerError(f"no worker answered within {patience_s:.1g} s")

    def _hear(self, step: Step) -> None:
        if _STEP in step:
            self._steps.append(step)
            _settle(self._waiting)

    async def _next(self, seconds: float) -> Step | None:
        # Without a task, which asyncio.wait_for would make for each step.
        if not self._steps:
            loop = asyncio.get_running_loop()
            self._waiting = loop.create_future()
            timer = loop.call_later(max(seconds, 0.0), _settle, self._waiting)
            try:
                await self._waiting
            finally:
                timer.cancel()
        return self._steps.popleft() if self._steps else None

    async def end(self) -> None:
        """Tells the worker that nobody waits any more, unless it has answered."""
        self._bus.close(self._key)
        if self._worker_inbox and not self._is_answered:
            with suppress(Exception):
                await self._bus.say(self._worker_inbox, {_STEP: _CANCEL})


class _Serving:
    """The worker's side of one request; lives in a task of its own."""

    def __init__(self, bus: NatsBus, key: str, asker: str, name: str) -> None:
        self._bus = bus
        self.key = key
        self._asker = asker
        self._name = name
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._first: asyncio.Future[None] = self._loop.create_future()
        self._said: str | None = None
        self._is_dismissed = False
        self._heard_of_us = 0.0
        bus.open(key, self._hear)

    def _hear(self, step: Step) -> None:
        if self._said is None:
            self._said = step.get(_STEP, "")
            _settle(self._first)
        elif step.get(_STEP) in (_CANCEL, _TOO_LATE, _NOBODY):
            self._dismiss()

    def _dismiss(self) -> None:
        self._is_dismissed = True
        if self._task is not None:
            self._task.cancel()

    async def may_begin(self, inbox: str) -> bool:
        """Claims the request; True if the asker still wants it, and says so in time."""
        self._heard_of_us = now_s()
        await self._bus.say(self._asker, {_STEP: _CLAIM, "worker": self._name}, reply=inbox)
        timer = self._loop.call_later(SILENCE_S, _settle, self._first)
        try:
            await self._first
        finally:
            timer.cancel()
        return self._said == _GO and not self._is_given_up()

    def _is_given_up(self) -> bool:
        # We may have stood still: then the asker heard nothing of us, and has answered without us.
        return self._is_dismissed or now_s() - self._heard_of_us > SILENCE_S

    async def work(self, slots: asyncio.Semaphore, begin: Callable[[], Awaitable[None]]) -> None:
        """Runs the work when there is room for it, with signs of life; it is cancelled when the asker gives up."""
        beats = _Beats(self._loop, self._beat)
        try:
            async with slots:
                if not self._is_given_up():
                    await begin()
        except asyncio.CancelledError:
            if not self._is_dismissed:
                raise
        finally:
            beats.end()

    def _beat(self) -> None:
        if self._is_given_up():
            self._dismiss()
            return
        self._heard_of_us = now_s()
        self._saying = asyncio.ensure_future(self._bus.say(self._asker, {_STEP: _ALIVE}))


class _Beats:
    """Calls a function again and again, until it is ended."""

    def __init__(self, loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
        self._loop = loop
        self._call = call
        self._timer = loop.call_later(BEAT_S, self._beat)

    def _beat(self) -> None:
        self._timer = self._loop.call_later(BEAT_S, self._beat)
        self._call()

    def end(self) -> None:
        """Ends it."""
        self._timer.cancel()


def _settle(future: "asyncio.Future[None] | None") -> None:
    if future is not None and not future.done():
        future.set_result(None)


def _read(data: bytes) -> dict[str, Any] | None:
    try:
        message = _decode(data)
    except ValueError:
        try:
            message = parse_json(data.decode("utf-8", "surrogatepass"))  # such as a lone surrogate
        except (ValueError, RecursionError):
            return None
    except RecursionError:  # nested too deep
        return None
    return message if isinstance(message, dict) else None
