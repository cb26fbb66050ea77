"""Everything that is not about tools passes, in both directions, also while a hook waits."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import (
    CreateMessageResult,
    ElicitResult,
    ListRootsResult,
    LoggingMessageNotificationParams,
    PromptReference,
    Root,
    TextContent,
)
from tests.gateway.conftest import ECHO, Raw, hook

pytestmark = pytest.mark.timeout(60)


def test_all_that_a_client_can_offer(
    gateway: Callable[..., list[str]], official: tuple[str, ...], tmp_path: Path
) -> None:
    """Sampling, roots, elicitation, logging, progress, resources, prompts and completions, while a hook waits."""
    go = tmp_path / "go"
    events = {"BeforeTool": [hook(f"until [ -e {go} ]; do sleep 0.02; done", "mcp__demo__add")]}
    words = gateway(events, *official)
    logged: list[LoggingMessageNotificationParams] = []
    reported: list[tuple[float, float | None, str | None]] = []
    notified: list[str] = []

    async def sample(context: Any, params: Any) -> CreateMessageResult:  # noqa: ARG001 - the client names them
        said = params.messages[0].content.text
        return CreateMessageResult(role="assistant", content=TextContent(type="text", text=f"re:{said}"), model="m")

    async def roots(context: Any) -> ListRootsResult:  # noqa: ARG001 - the client names them
        return ListRootsResult(roots=[Root.model_validate({"uri": "file:///tmp", "name": "tmp"})])

    async def elicit(context: Any, params: Any) -> ElicitResult:  # noqa: ARG001 - the client names them
        return ElicitResult(action="accept", content={"colour": "green"})

    async def log(params: LoggingMessageNotificationParams) -> None:
        logged.append(params)

    async def note(progress: float, total: float | None, message: str | None) -> None:
        reported.append((progress, total, message))

    async def handle(message: Any) -> None:
        notified.append(getattr(message, "method", ""))

    async def talk() -> None:
        transport = stdio_client(StdioServerParameters(command=words[0], args=words[1:], env=dict(os.environ)))
        async with Client(
            transport,
            mode="legacy",
            sampling_callback=sample,
            list_roots_callback=roots,
            elicitation_callback=elicit,
            logging_callback=log,
            message_handler=handle,
        ) as client:
            waiting = asyncio.create_task(client.call_tool("add", {"a": 1, "b": 2}))
            talked = await client.call_tool("talk", {}, progress_callback=note)
            assert talked.content[0].text == "re:Say hello tmp green"  # type: ignore[union-attr]
            assert client.instructions == "Use the tools."
            assert [str(one.uri) for one in (await client.list_resources()).resources] == ["demo://note"]
            assert (await client.read_resource("demo://note")).contents[0].text == "a note"  # type: ignore[union-attr]
            prompt = await client.get_prompt("greet", {"name": "Ada"})
            assert prompt.messages[0].content.text == "Greet Ada"  # type: ignore[union-attr]
            reference = PromptReference(type="ref/prompt", name="greet")
            done = await client.complete(reference, {"name": "name", "value": "Ad"})
            assert done.completion.values == ["Ad!"]
            assert not waiting.done()
            go.touch()
            assert (await waiting).content[0].text == "3"  # type: ignore[union-attr]

    asyncio.run(talk())
    assert [params.data for params in logged] == ["a log line"]
    assert reported == [(1, 2, "half")]
    assert "notifications/tools/list_changed" in notified


def test_contents_pass_byte_by_byte(raw: Callable[..., Raw]) -> None:
    """Numbers, escapes and unknown methods are not touched on the way."""
    client = raw("for line in sys.stdin:\n    sys.stdout.write(line)\n    sys.stdout.flush()\n")
    params = b'{"x": 1.50, "big": 123456789012345678901234567890, "half": "\\u00e9", "n": null}'
    client.send(b'{"jsonrpc":"2.0","method":"notifications/x","params":' + params + b"}\n")
    assert client.process.stdout is not None
    line = client.process.stdout.readline()
    assert params in line
    client.send(b'{"jsonrpc":"2.0","id":"a","method":"x/y","params":' + params + b"}\n")
    assert params in client.process.stdout.readline()


def test_half_an_emoji_passes(raw: Callable[..., Raw]) -> None:
    """JavaScript writes a lone surrogate as an escape, and many decoders refuse it."""
    client = raw(ECHO, {"BeforeTool": [hook("exit 0", "mcp__demo__seen")]})
    for number, method in enumerate(("resources/list", "tools/call", "tools/call")):
        name = "seen" if number == 1 else "x"
        params = b'{"name":"%s","arguments":{"a":"\\ud83d"}}' % name.encode()
        client.send(b'{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}\n' % (number, method.encode(), params))
        assert json.loads(client.read()["result"]["content"][0]["text"])["arguments"] == {"a": "\ud83d"}


def test_settings_without_hooks(raw: Callable[..., Raw]) -> None:
    """Without hooks calls pass as they are, and a call without arguments stays without."""
    client = raw(ECHO)
    client.request(1, "tools/call", name="x")
    assert client.read()["result"]["content"][0]["text"] == '{"name": "x"}'
    client.request(2, "tools/call", name="x", arguments={"a": [1.5, None]}, _meta={"progressToken": 7})
    told = '{"name": "x", "arguments": {"a": [1.5, null]}, "_meta": {"progressToken": 7}}'
    assert client.read()["result"]["content"][0]["text"] == told
    assert client.leave()[0] == 0


def test_requests_keep_their_order(raw: Callable[..., Raw]) -> None:
    """Where no hook has to run, nothing overtakes anything."""
    client = raw(ECHO, {"BeforeTool": [hook("exit 2", "mcp__demo__other")]})
    for number in range(0, 60, 2):
        client.call(number, "x")
        client.request(number + 1, "resources/list")
    assert [client.read()["id"] for _ in range(60)] == list(range(60))
