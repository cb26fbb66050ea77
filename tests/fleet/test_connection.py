"""Connections to a real server: within a bound, with words that help."""

import asyncio
from pathlib import Path

import pytest
from tests.fleet.server import NatsServer, free_port

from hookline.fleet.names import ServerAddress, UnreachableError, token_of
from hookline.fleet.nats.connection import close, connect, connected, end_if_cancelled


def test_a_message_arrives(nats: NatsServer) -> None:
    async def go() -> bytes:
        async with connected(nats.server, "test") as client:
            subscription = await client.subscribe("a.b")
            await client.publish("a.b", b"hello")
            return bytes((await subscription.next_msg(timeout=10)).data)

    assert asyncio.run(go()) == b"hello"


def test_no_server_is_told_with_its_address_and_without_its_password() -> None:
    port = free_port()
    with pytest.raises(UnreachableError, match=rf"127\.0\.0\.1:{port} can't be reached") as raised:
        asyncio.run(connect(ServerAddress(addresses=(f"nats://me:secret@127.0.0.1:{port}",)), "test"))
    assert "secret" not in str(raised.value)
    assert "hooksConfig.fleet" in str(raised.value)


def test_a_frozen_server_is_told(nats: NatsServer) -> None:
    nats.freeze()
    with pytest.raises(UnreachableError, match="can't be reached"):
        asyncio.run(connect(nats.server, "test"))


def test_a_missing_credentials_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError, match=r"fleet\.credentials names .*machine\.creds, which is not a file"):
        asyncio.run(
            connect(ServerAddress(addresses=("nats://x",), credentials=str(tmp_path / "machine.creds")), "test")
        )


def test_it_connects_again_after_a_crash(nats: NatsServer) -> None:
    heard: list[str] = []

    async def go() -> None:
        is_back = asyncio.Event()

        def hear(words: str) -> None:
            heard.append(words)
            if words == "connected again":
                is_back.set()

        client = await connect(nats.server, "test", on_change=hear)
        try:
            nats.kill()
            nats.start()
            await asyncio.wait_for(is_back.wait(), 45)
        finally:
            await close(client)

    asyncio.run(go())
    assert "the connection was lost" in heard


def test_names_become_one_part_of_a_subject_and_stay_different() -> None:
    names = ["a.b", "a b", "a*b", "a>b", "a=2eb", "ab", "", "ä"]
    tokens = [token_of(name) for name in names]
    assert len(set(tokens)) == len(names)
    assert not any(set(token) & set(". *>") for token in tokens)


def test_a_cancellation_that_comes_as_a_wait_ends_is_not_forgotten() -> None:
    """A loop that waits for the server ends, although `wait_for` of Python 3.11 ignores the cancellation then."""

    async def go() -> bool:
        changed = asyncio.Event()

        async def follow() -> None:
            while True:
                end_if_cancelled()
                await asyncio.wait_for(changed.wait(), 60.0)
                changed.clear()

        task = asyncio.create_task(follow())
        for _ in range(3):  # until it waits
            await asyncio.sleep(0)
        changed.set()
        await asyncio.sleep(0)  # now the wait is over, and `follow` has not been told
        task.cancel()
        await asyncio.wait({task}, timeout=10.0)
        return task.cancelled()

    assert asyncio.run(go())
