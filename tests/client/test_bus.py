import asyncio
from collections.abc import Awaitable, Callable

import pytest

from hookline.client.bus import InProcessBus
from hookline.protocol.messages import Message, MessageBus, MessageBusType

Note = Callable[[Message], Awaitable[None]]


def noting(read: list[str], name: str) -> Note:
    """A subscriber that notes who read what."""

    async def note(message: Message) -> None:
        read.append(f"{name} {message['n']}")

    return note


@pytest.mark.req("DELTA-HBUS-001")
def test_a_message_reaches_all_subscribers_of_its_type() -> None:
    """Subscribers get the messages of their type, and publishing ends when they are done."""
    bus, read = InProcessBus(), list[str]()
    bus.subscribe("a", noting(read, "first"))
    bus.subscribe("a", noting(read, "second"))
    bus.subscribe("b", noting(read, "other"))
    asyncio.run(bus.publish({"type": "a", "n": 1}))
    assert read == ["first 1", "second 1"]


def test_subscribers_are_served_at_the_same_time() -> None:
    """A subscriber may wait for another one of the same message."""

    async def main() -> list[str]:
        bus, turn, read = InProcessBus(), asyncio.Event(), list[str]()

        async def wait(_: Message) -> None:
            await turn.wait()
            read.append("waited")

        async def release(_: Message) -> None:
            read.append("released")
            turn.set()

        bus.subscribe("a", wait)
        bus.subscribe("a", release)
        await bus.publish({"type": "a"})
        return read

    assert asyncio.run(main()) == ["released", "waited"]


def test_a_failing_subscriber_hurts_nobody_else() -> None:
    """The others get the message, the publisher gets no error, and the fault is reported to `on_fault`."""
    read, faults = list[str](), list[tuple[str, str]]()
    bus = InProcessBus(on_fault=lambda kind, fault: faults.append((kind, repr(fault))))

    async def fail(_: Message) -> None:
        raise ValueError("no")

    bus.subscribe("a", fail)
    bus.subscribe("a", noting(read, "good"))
    asyncio.run(bus.publish({"type": "a", "n": 1}))
    assert (read, faults) == (["good 1"], [("a", "ValueError('no')")])


def test_subscriptions_end_separately() -> None:
    """The same function subscribed twice is two subscriptions; ending one twice ends only that one."""
    bus, read = InProcessBus(), list[str]()
    note = noting(read, "n")
    first, second = bus.subscribe("a", note), bus.subscribe("a", note)
    assert len(bus._subscribers.get("a", ())) == 2
    first()
    first()
    asyncio.run(bus.publish({"type": "a", "n": 1}))
    assert (read, len(bus._subscribers.get("a", ()))) == (["n 1"], 1)
    second()
    second()
    asyncio.run(bus.publish({"type": "a", "n": 2}))
    assert (read, len(bus._subscribers.get("a", ()))) == (["n 1"], 0)


def test_unsubscribing_while_a_message_is_delivered() -> None:
    """A subscriber may end any subscription while it is being served."""
    bus, read = InProcessBus(), list[str]()

    async def leave(message: Message) -> None:
        end()
        read.append(f"left {message['n']}")

    end = bus.subscribe("a", leave)
    bus.subscribe("a", noting(read, "stays"))
    asyncio.run(bus.publish({"type": "a", "n": 1}))
    asyncio.run(bus.publish({"type": "a", "n": 2}))
    assert read == ["left 1", "stays 1", "stays 2"]


@pytest.mark.parametrize("message", [{"type": "unheard"}, {}])
def test_a_message_that_nobody_reads_is_dropped(message: Message) -> None:
    """Publishing without subscribers does nothing and waits for nothing."""
    with pytest.raises(StopIteration):
        InProcessBus().publish(message).send(None)


@pytest.mark.req("DELTA-HBUS-001")
def test_message_types_are_their_wire_names() -> None:
    """The vocabulary and the plain strings of the wire name the same channel."""
    bus: MessageBus = InProcessBus()
    read = list[str]()
    bus.subscribe(MessageBusType.HOOK_EXECUTION_REQUEST, noting(read, "got"))
    asyncio.run(_published(bus))
    assert read == ["got 1"]
    assert [kind.value for kind in MessageBusType] == ["hook-execution-request", "hook-execution-response"]


async def _published(bus: MessageBus) -> None:
    await bus.publish({"type": "hook-execution-request", "n": 1})


def test_a_subscriber_that_cancels_itself_is_contained() -> None:
    """A CancelledError that a subscriber raises by itself reaches neither the publisher nor the other subscribers."""
    faults: list[BaseException] = []
    delivered: list[str] = []

    async def gives_up(_message: Message) -> None:
        raise asyncio.CancelledError

    async def listens(message: Message) -> None:
        delivered.append(message["type"])

    async def publish() -> None:
        bus = InProcessBus(on_fault=lambda _type, fault: faults.append(fault))
        bus.subscribe("t", gives_up)
        bus.subscribe("t", listens)
        await bus.publish({"type": "t"})

    asyncio.run(publish())
    assert delivered == ["t"]
    assert [type(fault) for fault in faults] == [asyncio.CancelledError]


def test_a_cancelled_publisher_is_cancelled() -> None:
    """A cancellation of the publisher itself is not swallowed."""

    async def waits(_message: Message) -> None:
        await asyncio.sleep(60)

    async def publish() -> None:
        bus = InProcessBus()
        bus.subscribe("t", waits)
        task = asyncio.create_task(bus.publish({"type": "t"}))
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(publish())
