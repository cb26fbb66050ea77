"""An in-process message bus."""

import asyncio
from collections.abc import Callable

from hookline.contract.messages import Message, Subscriber, Unsubscribe


class InProcessBus:
    """Delivers messages between parts of one program; `hookline.contract.messages.MessageBus` says what it promises."""

    def __init__(self, *, on_fault: Callable[[str, BaseException], None] | None = None) -> None:
        self._subscribers: dict[str, dict[object, Subscriber]] = {}
        self._on_fault = on_fault

    async def publish(self, message: Message) -> None:
        """Delivers the message to all subscribers of its `type` at the same time, and returns when they are done."""
        message_type = str(message.get("type"))
        subscribers = tuple(self._subscribers.get(message_type, {}).values())
        if not subscribers:
            return
        for fault in await asyncio.gather(*(_deliver(subscriber, message) for subscriber in subscribers)):
            if fault is not None and self._on_fault is not None:
                self._on_fault(message_type, fault)

    def subscribe(self, message_type: str, subscriber: Subscriber) -> Unsubscribe:
        """Delivers messages of this type to the subscriber until the returned function is called."""
        # A key of its own: subscribing one function twice gives two subscriptions that end separately.
        key = object()
        subscribers = self._subscribers.setdefault(str(message_type), {})
        subscribers[key] = subscriber

        def unsubscribe() -> None:
            subscribers.pop(key, None)

        return unsubscribe


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
