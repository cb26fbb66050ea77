"""Every effect of a hook, as the official client sees it, in front of the official server by stdio and by HTTP."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import CallToolResult, TextContent
from tests.answers import says
from tests.fleet.company import Company, agents_off
from tests.gateway.conftest import Groups, hook, specific

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(params=["legacy", "auto"])
def connect(
    request: pytest.FixtureRequest, gateway: Callable[..., list[str]], official: tuple[str, ...]
) -> Callable[..., Any]:
    """Connects the official client, in the protocol's older and its present form."""

    @asynccontextmanager
    async def connected(events: Groups, **options: Any) -> AsyncIterator[Client]:
        words = gateway(events, *official, **options)
        transport = stdio_client(StdioServerParameters(command=words[0], args=words[1:], env=dict(os.environ)))
        async with Client(transport, mode=request.param) as client:
            yield client

    return connected


def texts(result: CallToolResult) -> list[str]:
    """All texts of a result."""
    return [block.text for block in result.content if isinstance(block, TextContent)]


def run(work: Any) -> None:
    """Runs a test's coroutine."""
    asyncio.run(work)


def test_calls_are_denied_rewritten_and_completed(connect: Callable[..., Any], tmp_path: Path) -> None:
    """Deny, rewrite, context, redaction, ask and errors, each on its own tool; all others pass as they are."""
    seen = tmp_path / "seen"
    events = {
        "BeforeTool": [
            hook(says({"decision": "deny", "reason": "not today"}), "mcp__demo__danger"),
            hook(says(specific(tool_input={"a": 40})), "mcp__demo__add"),
            hook(says(specific(permissionDecision="ask", permissionDecisionReason="sure?")), "mcp__demo__careful"),
        ],
        "AfterTool": [
            hook(says(specific(additionalContext="mind the gap")), "mcp__demo__(add|picture|fail)"),
            hook(says(specific(tool_output="[hidden]")), "mcp__demo__(secret|person)"),
            hook(f"cat >> {seen}; echo >> {seen}"),
        ],
    }

    async def talk() -> None:
        async with connect(events) as client:
            denied = await client.call_tool("danger", {})
            assert (denied.is_error, texts(denied)) == (True, ["not today"])
            asked = await client.call_tool("careful", {})
            assert asked.is_error
            assert texts(asked)[0].startswith("sure? (a hook wants the user to be asked")
            assert texts(await client.call_tool("add", {"a": 1, "b": 2})) == ["42", "mind the gap"]
            hidden = await client.call_tool("secret", {})
            assert (texts(hidden), hidden.structured_content) == (["[hidden]"], {"result": "[hidden]"})
            listed = await client.list_tools()
            assert "person" in [tool.name for tool in listed.tools]
            hidden = await client.call_tool("person", {})
            assert (texts(hidden), hidden.structured_content) == (["[hidden]"], None)
            picture = await client.call_tool("picture", {})
            assert [block.type for block in picture.content] == ["image", "text"]
            failed = await client.call_tool("fail", {})
            assert (failed.is_error, texts(failed)[1]) == (True, "mind the gap")

    run(talk())
    told = [json.loads(line) for line in seen.read_text().splitlines()]
    assert [one["tool_name"].rpartition("__")[2] for one in told] == ["add", "secret", "person", "picture", "fail"]
    assert told[0]["tool_input"] == {"a": 40, "b": 2}
    assert told[0]["mcp_context"]["server_name"] == "demo"
    assert told[0]["mcp_context"]["tool_name"] == "add"
    assert told[1]["tool_response"]["llmContent"] == "the password is hunter2"
    assert "no luck" in told[4]["tool_response"]["error"]


def test_tools_are_restricted(connect: Callable[..., Any]) -> None:
    """A tool that hooks don't allow is neither offered nor run, and the model reads a hook's note."""
    allowed = {"toolConfig": {"mode": "AUTO", "allowedFunctionNames": ["mcp__demo__add"]}}
    chosen = {**specific(**allowed), "systemMessage": "only sums"}

    async def talk() -> None:
        async with connect({"BeforeToolSelection": [hook(says(chosen))]}) as client:
            early = await client.call_tool("danger", {})
            assert early.is_error
            assert "not allowed now" in texts(early)[0]
            assert [tool.name for tool in (await client.list_tools()).tools] == ["add"]
            added = await client.call_tool("add", {"a": 1, "b": 2})
            assert texts(added) == ["3", "[System] only sums"]
            refused = await client.call_tool("secret", {})
            assert (refused.is_error, "hunter2" in str(refused)) == (True, False)

    run(talk())


@pytest.mark.parametrize("event", ["BeforeTool", "AfterTool"])
def test_a_stop_refuses_all_further_calls(connect: Callable[..., Any], event: str) -> None:
    """After `continue: false` no tool runs any more; everything else continues."""
    stop = says({"continue": False, "stopReason": "enough for today"})

    async def talk() -> None:
        async with connect({event: [hook(stop, "mcp__demo__halt")]}) as client:
            assert texts(await client.call_tool("add", {"a": 1, "b": 2})) == ["3"]
            stopped = await client.call_tool("halt", {})
            assert stopped.is_error
            assert "enough for today" in texts(stopped)[0]
            assert "last secret" not in str(stopped)
            after = await client.call_tool("add", {"a": 1, "b": 2})
            assert (after.is_error, "enough for today" in texts(after)[0]) == (True, True)
            assert (await client.list_resources()).resources

    run(talk())


def test_a_session_starts_and_ends_once(connect: Callable[..., Any], tmp_path: Path) -> None:
    """SessionStart and SessionEnd are fired once per connection, and applied context reaches the model."""
    seen = tmp_path / "seen"
    context = says(specific(additionalContext="be brief"))
    events = {
        "SessionStart": [hook(f"echo start >> {seen}; {context}")],
        "SessionEnd": [hook(f"echo end >> {seen}")],
    }

    async def talk() -> None:
        async with connect(events, config={"lifecycle": "apply"}) as client:
            assert texts(await client.call_tool("add", {"a": 1, "b": 2})) == ["3", "be brief"]
            assert texts(await client.call_tool("add", {"a": 1, "b": 2})) == ["3"]

    run(talk())
    assert seen.read_text().split() == ["start", "end"]


def test_no_tool_is_called_while_the_company_has_agents_off(connect: Callable[..., Any], tmp_path: Path) -> None:
    """The switch of a policy holds behind the gateway, too, without any hook."""
    company = Company(tmp_path)
    company.gives(company.switches(agents_off("incident 4711")))

    async def talk() -> None:
        async with connect({}) as client:
            denied = await client.call_tool("add", {"a": 1, "b": 2})
            assert denied.is_error
            assert "incident 4711" in texts(denied)[0]

    run(talk())
