"""The relay alone, with lines that are too long and with its own faults."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from hookline import Hooks
from hookline.gateway.elicitation import Elicitation
from hookline.gateway.guard import ToolGuard
from hookline.gateway.relay import Relay


class Wires:
    """A relay between two lists, with the hooks of a project that has none."""

    def __init__(self, tmp_path: Any, timeout_s: float = 30.0) -> None:
        settings = {"enableHooks": True, "hooksConfig": {"log": {"enabled": False}}}
        self.hooks = Hooks(tmp_path, settings=settings)
        self.session = self.hooks.session("s")
        self.to_client: list[Any] = []
        self.to_server: list[Any] = []
        elicitation = Elicitation(lambda line: self.to_client.append(json.loads(line)), timeout_s)
        self.guard = ToolGuard(self.hooks, self.session, {"server_name": "demo"}, elicitation)
        self.guard.start()
        self.relay = Relay(
            self.guard,
            elicitation,
            lambda line: self.to_client.append(json.loads(line)),
            lambda line: self.to_server.append(json.loads(line)),
        )

    def request(self, id: Any, method: str = "tools/call") -> None:  # noqa: A002 - what JSON-RPC calls it
        """A request of the client."""
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": {"name": "x"}}
        self.relay.from_client(json.dumps(message).encode())


def run(tmp_path: Any, test: Callable[[Wires], Any], timeout_s: float = 30.0) -> None:
    """Runs a test in a loop."""

    async def work() -> None:
        wires = Wires(tmp_path, timeout_s)
        await test(wires)
        await wires.relay.close()
        wires.hooks.close()

    asyncio.run(work())


def test_a_long_answer_fails_its_request_only(tmp_path: Any) -> None:
    """Where the id is known; where it is not, every request may be meant."""

    async def test(wires: Wires) -> None:
        for number in (1, 2, 3):
            wires.request(number, "tools/call" if number < 3 else "x")
        wires.relay.long_line_from_server(b'{"jsonrpc":"2.0","id":2,', b"", 10)
        assert [answer["id"] for answer in wires.to_client] == [2]
        assert not wires.relay.idle.is_set()
        wires.relay.long_line_from_server(b"{", b"}", 10)
        assert [answer["id"] for answer in wires.to_client] == [2, 1, 3]
        assert wires.to_client[1]["error"]["message"] == "the server sent a message that is longer than 10 bytes"
        assert wires.relay.idle.is_set()

    run(tmp_path, test)


def test_a_long_request_is_refused(tmp_path: Any) -> None:
    """With its id, if that is found."""

    async def test(wires: Wires) -> None:
        wires.relay.long_line_from_client(b'{"id":"a","method":', b"", 10)
        assert wires.to_client == [
            {"jsonrpc": "2.0", "id": "a", "error": {"code": -32600, "message": "the message is longer than 10 bytes"}}
        ]

    run(tmp_path, test)


def test_a_fault_of_ours_refuses_the_call(tmp_path: Any, capsys: Any) -> None:
    """A call that could not be judged does not run: here the session has been closed too early."""

    async def test(wires: Wires) -> None:
        wires.request(0)
        await asyncio.sleep(0.1)
        wires.session.close()
        wires.request(1)
        wires.relay.from_server(b'{"jsonrpc":"2.0","id":0,"result":{"content":[]}}')
        await asyncio.sleep(0.05)
        assert [sent["id"] for sent in wires.to_server] == [0]
        assert [answer["error"]["message"] for answer in wires.to_client] == [
            "hookline failed (SessionClosedError)"
        ] * 2

    run(tmp_path, test)
    assert "a call was refused" in capsys.readouterr().err


def test_requests_after_the_end_are_refused_at_once(tmp_path: Any) -> None:
    """Nobody waits for a server that is gone."""

    async def test(wires: Wires) -> None:
        wires.relay.server_ended("the MCP server demo has ended")
        wires.request(1)
        wires.request(2, "x")
        assert [answer["error"]["code"] for answer in wires.to_client] == [-32000, -32000]
        assert wires.to_server == []

    run(tmp_path, test)


def test_the_answer_of_a_person_reaches_the_server(tmp_path: Any) -> None:
    """Answers of the client, to requests of the server with any id, are none of the gateway's business."""

    async def test(wires: Wires) -> None:
        wires.request(1)
        await asyncio.sleep(0.1)
        question = {"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": {}}
        wires.relay.from_server(json.dumps(question).encode())
        wires.relay.from_client(b'{"jsonrpc":"2.0","id":1,"result":{"role":"assistant"}}')
        assert wires.to_client == [question]
        assert wires.to_server[1] == {"jsonrpc": "2.0", "id": 1, "result": {"role": "assistant"}}
        assert not wires.relay.idle.is_set()

    run(tmp_path, test)
