"""An in-process message bus."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable

from hookline.errors import NoAnswerError
from hookline.protocol.messages import Message, Subscriber

_MOST_IDS = 10_000


class RecentIds:
    """The ids of the latest requests, so that none is run twice."""

    def __init__(self, most: int = _MOST_IDS) -> None:
        self._most = most
        self._known: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, request_id: object) -> bool:
        return request_id in self._known

    def add(self, request_id: str) -> bool:
        """Remembers an id; False if it was known."""
        if request_id in self._known:
            return False
        self._known[request_id] = None
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return True


class InProcessBus:
    """Delivers messages between parts of one program; `hookline.protocol.messages.MessageBus` says what it promises."""

    def __init__(
        self, *, on_fault: Callable[[str, BaseException], None] | None = None, is_authenticated: bool = False
    ) -> None:
        """Takes its options.

        Args:
            on_fault: called with a message's type and the error of a subscriber that failed.
            is_authenticated: whether whatever this program publishes may say whose event it is (`asker`).
        """
        self._subscribers: dict[str, dict[object, Subscriber]] = {}
        self._on_fault = on_fault
        self.is_authenticated = is_authenticated
        self._waiting: dict[str, asyncio.Future[Message]] = {}
        self._asked = RecentIds()
        self._count = 0

    async def publish(self, message: Message) -> None:
        """Delivers the message to all subscribers of its `type` at the same time, and returns when they are done."""
        if "to" in message:
            self._answer(message)
            return
        message_type = str(message.get("type"))
        subscribers = tuple(self._subscribers.get(message_type, {}).values())
        if not subscribers:
            return
        for fault in await asyncio.gather(*(_deliver(subscriber, message) for subscriber in subscribers)):
            self._report(message_type, fault)

    def subscribe(self, message_type: str, subscriber: Subscriber) -> "_Subscription":
        """Delivers messages of this type to the subscriber until the returned subscription is called."""
        # A new key: subscribing one function twice gives two subscriptions that end separately.
        key = object()
        subscribers = self._subscribers.setdefault(str(message_type), {})
        subscribers[key] = subscriber
        return _Subscription(lambda: subscribers.pop(key, None))

    async def request(self, message: Message, timeout: float) -> Message:  # noqa: ASYNC109 - the timeout also ends the work
        """Delivers a message to one subscriber, and returns its answer; raises NoAnswerError without one."""
        message_type = str(message.get("type"))
        subscriber = next(iter(self._subscribers.get(message_type, {}).values()), None)
        if subscriber is None:
            raise NoAnswerError(f"nobody listens for {message_type}")
        self._count += 1
        address = f"request {self._count}"
        request_id = message.get("correlationId")
        if request_id is None or request_id == "":
            request_id = address
        if not self._asked.add(f"{type(request_id).__name__} {request_id}"):
            raise NoAnswerError(f"{request_id!r} was asked before, and nothing is run twice")
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[address] = answer
        work = asyncio.create_task(
            _deliver(subscriber, {**message, "correlationId": request_id, "replyTo": address}), name=address
        )
        try:
            await asyncio.wait((work, answer), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            if not work.done():
                raise NoAnswerError(f"no answer within {timeout:g} s", timed_out=True)
            self._report(message_type, work.result())
            raise NoAnswerError("the subscriber did not answer")
        finally:
            del self._waiting[address]
            if not answer.done():
                work.cancel()

    def _answer(self, message: Message) -> None:
        waiting = self._waiting.get(str(message["to"]))
        if waiting is not None and not waiting.done():
            waiting.set_result({key: value for key, value in message.items() if key != "to"})

    def _report(self, message_type: str, fault: BaseException | None) -> None:
        if fault is not None and self._on_fault is not None:
            self._on_fault(message_type, fault)


class _Subscription:
    """Ends when it is called."""

    def __init__(self, end: Callable[[], object]) -> None:
        self._end = end

    def __call__(self) -> None:
        self._end()

    async def ready(self) -> None:
        """Returns at once: nothing has to be sent for it."""


async def _deliver(subscriber: Subscriber, message: Message) -> BaseException | None:
    try:
        await subscriber(message)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise  # the publisher was cancelled, not the subscriber's own work
        return error
    except Exception as error:  # noqa: BLE001 - a subscriber that fails does not affect the others
        return error
    return None
