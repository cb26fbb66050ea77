"""An in-process message bus."""

import asyncio
from collections.abc import Callable

from hookline.contract.messages import Message, Subscriber, Unsubscribe


class InProcessBus:
    """Delivers messages between parts of one program; `hookline.contract.messages.MessageBus` says what it promises."""

    def __init__(self, *, on_fault: Callable[[str, BaseException], None] | None = None) -> None:
        self._subscribers: dict[str, list[Subscriber]] = {}
        self._on_fault = on_fault

    async def publish(self, message: Message) -> None:
        """Delivers the message to all subscribers of its `type` at the same time, and returns when they are done."""
        subscribers = tuple(self._subscribers.get(str(message.get("type")), ()))
        if not subscribers:
            return
        outcomes = await asyncio.gather(*(_deliver(subscriber, message) for subscriber in subscribers))
        for fault in outcomes:
            if fault is not None and self._on_fault is not None:
                self._on_fault(str(message.get("type")), fault)

    def subscribe(self, message_type: str, subscriber: Subscriber) -> Unsubscribe:
        """Delivers messages of this type to the subscriber until the returned function is called."""
        # Wrapped, so that subscribing one function twice gives two subscriptions that end separately.
        subscription = _Subscription(subscriber)
        self._subscribers.setdefault(str(message_type), []).append(subscription)

        def unsubscribe() -> None:
            remaining = [other for other in self._subscribers.get(str(message_type), []) if other is not subscription]
            self._subscribers[str(message_type)] = remaining
            if not remaining:
                del self._subscribers[str(message_type)]

        return unsubscribe

    def subscriber_count(self, message_type: str) -> int:
        """How many subscriptions there are for a type."""
        return len(self._subscribers.get(str(message_type), ()))


class _Subscription:
    def __init__(self, subscriber: Subscriber) -> None:
        self._subscriber = subscriber

    async def __call__(self, message: Message) -> None:
        await self._subscriber(message)


async def _deliver(subscriber: Subscriber, message: Message) -> BaseException | None:
    try:
        await subscriber(message)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise  # the publisher was cancelled, not the subscriber's own work
        return error
    except Exception as error:  # noqa: BLE001 - a failing subscriber hurts nobody else
        return error
    return None
