"""A hook that wants the user to be asked: the client asks, if it can, and only a clear yes allows the call."""

import asyncio
import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import ElicitResult, TextContent
from tests.answers import says
from tests.gateway.conftest import hook, specific
from tests.gateway.test_relay import Wires, run

from hookline.hook import Ask, BeforeTool
from hookline.log.paths import log_path

pytestmark = pytest.mark.timeout(60)

ASK = {
    "BeforeTool": [
        hook(says(specific(permissionDecision="ask", permissionDecisionReason="sure?")), "mcp__demo__careful", name="g")
    ]
}


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        pytest.param(ElicitResult(action="accept", content={"allow": True}), "it ran", id="yes"),
        pytest.param(ElicitResult(action="accept", content={"allow": False}), "did not allow it", id="no"),
        pytest.param(ElicitResult(action="accept", content={}), "did not allow it", id="no-field"),
        pytest.param(ElicitResult(action="decline"), "did not allow it", id="decline"),
        pytest.param(ElicitResult(action="cancel"), "did not allow it", id="cancel"),
        pytest.param(None, "nobody can be asked here", id="no-capability"),
    ],
)
def test_the_client_is_asked(
    gateway: Callable[..., list[str]], official: tuple[str, ...], answer: ElicitResult | None, text: str
) -> None:
    """By the official client, whose person sees the tool, the reason and the arguments."""
    words = gateway(ASK, *official, config={"log": {"enabled": True}})
    asked: list[str] = []

    async def elicit(context: Any, params: Any) -> ElicitResult:  # noqa: ARG001 - the client names them
        asked.append(params.message)
        assert answer is not None
        return answer

    async def talk() -> None:
        transport = stdio_client(StdioServerParameters(command=words[0], args=words[1:], env=dict(os.environ)))
        callback = None if answer is None else elicit
        async with Client(transport, mode="legacy", elicitation_callback=callback) as client:
            result = await client.call_tool("careful", {})
            assert result.is_error == (text != "it ran")
            block = result.content[0]
            assert isinstance(block, TextContent)
            assert text in block.text
            assert ("sure?" in block.text) == (text != "it ran")

    asyncio.run(talk())
    logged = [json.loads(line) for line in log_path(None).read_text().splitlines()]
    (event,) = [one for one in logged if one["kind"] == "event" and one["event"] == "BeforeTool"]
    (found,) = [one for one in logged if one["kind"] == "answer"]
    assert (found["fire"], found["session"], found["by"]) == (event["fire"], event["session"], ["g"])
    if answer is None:
        assert ("answer" in found, "asked" in found, found["blocked"]) == (False, False, True)
    else:
        assert (found["answer"], found["asked"]) == ("yes" if text == "it ran" else "no", "the user of the MCP client")
    assert text == "it ran" or text in found["message"]
    assert asked == (
        [] if answer is None else ["A hook (g) wants you to be asked before careful runs: sure?\nArguments: {}"]
    )


def with_ask(wires: Wires, **elicitation: Any) -> None:
    """A hook that asks, and a client that says what it can do."""

    @wires.hooks.on(BeforeTool)
    async def ask(_event: BeforeTool) -> Ask:
        return Ask("sure?")

    params = {"capabilities": {"elicitation": elicitation}}
    wires.relay.from_client(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).encode())


async def until(found: Callable[[], Any]) -> Any:
    """Waits for something."""
    while not found():  # noqa: ASYNC110 - what is waited for sets no event
        await asyncio.sleep(0.005)
    return found()


def test_a_client_that_never_answers(tmp_path: Any) -> None:
    """The call is refused after a bounded time, and the question is withdrawn; a late yes changes nothing."""

    async def test(wires: Wires) -> None:
        with_ask(wires)
        wires.request(1)
        question = (await until(lambda: wires.to_client))[0]
        assert question["method"] == "elicitation/create"
        await until(lambda: len(wires.to_client) == 3)
        assert wires.to_client[1]["method"] == "notifications/cancelled"
        assert wires.to_client[1]["params"]["requestId"] == question["id"]
        assert "no answer within 0.05 s" in str(wires.to_client[2]["result"])
        late = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"allow": True}}}
        wires.relay.from_client(json.dumps(late).encode())
        assert [message["method"] for message in wires.to_server] == ["initialize"]

    run(tmp_path, test, timeout_s=0.05)


@pytest.mark.attack("30.A5", "hide an argument behind a long one in the question of the gateway")
def test_the_question_shows_every_argument(tmp_path: Any) -> None:
    """A long one is cut in its middle, with a mark; it hides neither its end nor the next argument."""

    async def test(wires: Wires) -> None:
        with_ask(wires)
        arguments = {"note": f"{'x' * 5000} and rm -rf ~", "a\nb": "y", "path": "/etc/passwd"}
        params = {"name": "t", "arguments": arguments}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        wires.relay.from_client(json.dumps(call).encode())
        question = (await until(lambda: wires.to_client))[0]["params"]["message"]
        assert " characters not shown) … xxx" in question
        assert question.endswith(' and rm -rf ~"\n"a\\nb": "y"\n"path": "/etc/passwd"')

    run(tmp_path, test)


def test_a_call_that_is_cancelled_while_a_person_is_asked(tmp_path: Any) -> None:
    """The question is withdrawn, and nothing is answered."""

    async def test(wires: Wires) -> None:
        with_ask(wires, form={})
        wires.request(1)
        question = (await until(lambda: wires.to_client))[0]
        wires.relay.from_client(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}')
        await until(lambda: len(wires.to_client) == 2)
        assert wires.to_client[1]["params"]["requestId"] == question["id"]
        assert [message["method"] for message in wires.to_server] == ["initialize"]

    run(tmp_path, test)


@pytest.mark.parametrize(
    ("answer", "is_run"),
    [
        pytest.param({"result": {"action": "accept", "content": {"allow": True}}}, True, id="yes"),
        pytest.param({"result": {"action": "accept", "content": {"allow": "true"}}}, False, id="a-text"),
        pytest.param({"result": {"action": "accept"}}, False, id="nothing"),
        pytest.param({"result": []}, False, id="no-object"),
        pytest.param({"error": {"code": -32601, "message": "no"}}, False, id="error"),
    ],
)
def test_only_a_clear_yes_counts(tmp_path: Any, answer: dict[str, Any], is_run: bool) -> None:
    """Any other answer of a client refuses the call."""

    async def test(wires: Wires) -> None:
        with_ask(wires)
        wires.request(1)
        question = (await until(lambda: wires.to_client))[0]
        wires.relay.from_client(json.dumps({"jsonrpc": "2.0", "id": question["id"], **answer}).encode())
        await until(lambda: len(wires.to_client) + len(wires.to_server) == 3)
        assert [message["method"] for message in wires.to_server][1:] == (["tools/call"] if is_run else [])

    run(tmp_path, test)


def test_a_client_that_can_only_open_addresses_is_not_asked(tmp_path: Any) -> None:
    """A form is needed; without it the call is refused as where no user can be asked."""

    async def test(wires: Wires) -> None:
        with_ask(wires, url={})
        wires.request(1)
        (refused,) = await until(lambda: wires.to_client)
        assert "nobody can be asked here" in str(refused["result"])

    run(tmp_path, test)
