"""Requests between two ends of a channel on a real server."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.fleet.server import NatsServer

from hookline.errors import NoAnswerError
from hookline.fleet.nats.connection import connected
from hookline.fleet.remote.channel import Channel
from hookline.protocol.messages import Message

RESPONSE = "hook-execution-response"
# Generous, because it only ends a test that hangs.
LONG_S = 15.0

Scenario = Callable[[Channel], Awaitable[Any]]


def run(nats: NatsServer, answer: Callable[[Message], Awaitable[dict[str, Any]]], scenario: Scenario) -> list[str]:
    """Run the scenario with the client's end, and return the faults of the worker's end."""
    faults: list[str] = []

    async def main() -> None:
        async with (
            connected(nats.server, "client") as one,
            connected(nats.server, "worker") as other,
            asyncio.timeout(LONG_S),
        ):
            client, worker = (Channel(each, team="t", subject="s", name=n) for each, n in ((one, "c"), (other, "w")))
            await client.start()
            await worker.start()
            await worker.serve(answer, concurrency=8, on_fault=lambda error: faults.append(repr(error)))
            await scenario(client)
            await worker.leave()

    asyncio.run(main())
    return faults


def test_requests_at_the_same_time_get_their_own_answers(nats: NatsServer) -> None:
    """Each client gets the answer to its own request, in whatever order they come; no id runs twice."""
    count = 0

    async def answer(message: Message) -> dict[str, Any]:
        nonlocal count
        count += 1
        await asyncio.sleep((5 - message["n"]) / 100)
        return {"type": RESPONSE, "n": message["n"]}

    async def scenario(client: Channel) -> None:
        requests = [client.ask({"correlationId": f"id {n}", "n": n}, LONG_S) for n in range(5)]
        assert [(each["n"], each["worker"]) for each in await asyncio.gather(*requests)] == [(n, "w") for n in range(5)]
        with pytest.raises(NoAnswerError, match="no worker answered"):
            await client.ask({"correlationId": "id 1", "n": 1}, LONG_S)
        assert (await client.find_worker(), count) == ("w", 5)

    assert run(nats, answer, scenario) == []


def test_a_worker_that_fails_is_reported_at_once(nats: NatsServer) -> None:
    """The client does not wait for its timeout."""

    async def answer(message: Message) -> dict[str, Any]:
        raise ValueError(message["correlationId"])

    async def scenario(client: Channel) -> None:
        with pytest.raises(NoAnswerError, match="worker w did not answer"):
            await client.ask({"correlationId": "x"}, 1000)

    assert run(nats, answer, scenario) == ["ValueError('x')"]


def test_a_cancelled_client_ends_the_work(nats: NatsServer) -> None:
    """Cancelling the task that asks abandons the request."""
    seen: list[str] = []

    async def answer(_: Message) -> dict[str, Any]:
        seen.append("began")
        try:
            await asyncio.sleep(1000)
        finally:
            seen.append("ended")
        return {}

    async def until(count: int) -> None:
        while len(seen) < count:  # noqa: ASYNC110 - the other end of the channel appends
            await asyncio.sleep(0.005)

    async def scenario(client: Channel) -> None:
        asking = asyncio.create_task(client.ask({"correlationId": "x"}, 1000))
        await until(1)
        asking.cancel()
        await until(2)

    assert run(nats, answer, scenario) == []
