"""Loops of one's own around `openai` and `anthropic`: the table of effects, with their real clients over HTTP."""

import asyncio
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai", reason="openai is not installed here: `make adapters` runs these tests")
pytest.importorskip("anthropic", reason="anthropic is not installed here: `make adapters` runs these tests")

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from tests.live.models import Anthropic, Body, Call, Completions, Model

from hookline import Hooks
from hookline.testing import effects
from hookline.testing.effects import Conversation, Request, RunOutcome, Turn

EXAMPLES = Path(__file__).parents[2] / "examples" / "adapters"


def example(name: str) -> Any:
    """The example as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class OpenAILoop:
    """`openai_loop.py`, with OpenAI's own client."""

    words = Completions()
    path = "/v1"
    variables = ("OPENAI_BASE_URL", "OPENAI_API_KEY")
    program = "openai_loop"

    async def converse(self, url: str, hooks: Hooks, tools: Any, conversation: Conversation, show: Any) -> None:
        """Runs the loop."""
        messages = [
            {"role": "system", "content": conversation.system},
            {"role": "user", "content": conversation.prompt},
        ]
        async with AsyncOpenAI(base_url=url + self.path, api_key="none", max_retries=0) as client:
            await example(self.program).converse(client, hooks, tools, messages, show)

    def request(self, body: Body) -> Request:
        """The requests that the server got."""
        messages = body["messages"]
        return Request(
            texts=tuple(one.get("content", "") for one in messages if one["role"] != "tool"),
            results=tuple(one["content"] for one in messages if one["role"] == "tool"),
            tools=tuple(tool["function"]["name"] for tool in body["tools"]),
        )


class AnthropicLoop:
    """`anthropic_loop.py`, with Anthropic's own client."""

    words = Anthropic()
    path = ""
    variables = ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")
    program = "anthropic_loop"

    async def converse(self, url: str, hooks: Hooks, tools: Any, conversation: Conversation, show: Any) -> None:
        """Runs the loop, whose system prompt is the table's."""
        messages = [{"role": "user", "content": conversation.prompt}]
        async with AsyncAnthropic(base_url=url + self.path, api_key="none", max_retries=0) as client:
            await example(self.program).converse(client, hooks, tools, messages, show)

    def request(self, body: Body) -> Request:
        """The requests that the server got."""
        contents = [one["content"] for one in body["messages"]]
        blocks = [block for content in contents if isinstance(content, list) for block in content]
        spoken = [block["text"] for block in blocks if block["type"] == "text"]
        return Request(
            texts=(body["system"], *(content for content in contents if isinstance(content, str)), *spoken),
            results=tuple(block["content"] for block in blocks if block["type"] == "tool_result"),
            tools=tuple(tool["name"] for tool in body["tools"]),
        )


Loop = OpenAILoop | AnthropicLoop
LOOPS: list[Loop] = [OpenAILoop(), AnthropicLoop()]


def stand_in(loop: Loop, turns: Sequence[Turn]) -> Model:
    """A server that answers with the turns of a script."""
    calls = [[] if turn.call is None else [Call(turn.call[0], dict(turn.call[1]))] for turn in turns]
    spoken = [[turn.text] if turn.text else [] for turn in turns]
    return Model(loop.words, [[*text, *call] for text, call in zip(spoken, calls, strict=True)])


@dataclass
class LoopHost:
    """A loop with its client, against a server on loopback."""

    loop: Loop

    async def run(self, hooks: Hooks, conversation: Conversation, tools: Sequence[Callable[..., str]]) -> RunOutcome:
        """The conversation in a new session."""
        server, shown = stand_in(self.loop, conversation.turns), list[str]()
        try:
            named = {tool.__name__: tool for tool in tools}
            await self.loop.converse(server.url, hooks, named, conversation, shown.append)
        finally:
            await asyncio.to_thread(server.close)
        requests = tuple(self.loop.request(body) for body in server.requests)
        return RunOutcome(shown=tuple(shown), requests=requests)


def named(loop: Loop) -> str:
    """An id for a test."""
    return loop.program


ROWS = [*effects.ROWS, effects.NO_LEAK]


@pytest.mark.parametrize("effect", ROWS, ids=str)
@pytest.mark.parametrize("loop", LOOPS, ids=named)
def test_every_effect_holds(loop: Loop, effect: effects.Effect) -> None:
    """A loop of one's own has all eight effects; it streams unless AfterModel hooks exist."""
    asyncio.run(effects.check(LoopHost(loop), effect))


@pytest.mark.parametrize("loop", LOOPS, ids=named)
def test_the_loop_streams_while_it_may(loop: Loop) -> None:
    """Without AfterModel hooks the request asks for a stream; with one, it does not."""
    silent = {"enableHooks": True, "hooks": {"AfterModel": [{"hooks": [{"type": "command", "command": "true"}]}]}}
    asked: list[bool] = []
    for settings in ({}, silent):
        server = stand_in(loop, [Turn("Hello.")])
        with Hooks(".", settings=settings) as hooks:
            asyncio.run(loop.converse(server.url, hooks, {"look": lambda: "x"}, Conversation(()), lambda _: None))
        server.close()
        asked.append(server.requests[0].get("stream") is True)
    assert asked == [True, False]


@pytest.mark.parametrize("loop", LOOPS, ids=named)
def test_a_streamed_answer_goes_back_as_it_came(loop: Loop) -> None:
    """APIs refuse fields that they do not know, and the SDKs' streams add some."""
    silent = {"enableHooks": True, "hooks": {"AfterModel": [{"hooks": [{"type": "command", "command": "true"}]}]}}
    sent: list[Any] = []
    for settings in ({}, silent):
        server = stand_in(loop, [Turn("I look.", ("look", {})), Turn("Done.")])
        with Hooks(".", settings=settings) as hooks:
            asyncio.run(loop.converse(server.url, hooks, {"look": lambda: "x"}, Conversation(()), lambda _: None))
        server.close()
        sent.append(server.requests[1]["messages"])
    assert sent[0] == sent[1]


@pytest.mark.parametrize("loop", LOOPS, ids=named)
def test_the_example_runs(loop: Loop, tmp_path: Path) -> None:
    """As a program, with the settings of the directory that it is started in."""
    (tmp_path / "notes.txt").write_text("Milk.")
    server = stand_in(loop, [Turn(call=("read_file", {"path": "notes.txt"})), Turn("It says: milk.")])
    address, key = loop.variables
    environ = {**os.environ, address: server.url + loop.path, key: "none"}
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{loop.program}.py", "What is in notes.txt?"],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    server.close()
    assert (done.stdout, done.stderr, done.returncode) == ("It says: milk.\n", "", 0)
    assert loop.request(server.requests[1]).results == ("Milk.",)


def test_arguments_that_are_no_json_are_refused() -> None:
    """The model sees why, and no tool runs."""
    loop, ran = OpenAILoop(), list[str]()

    def look() -> str:
        ran.append("look")
        return ""

    class Broken(Completions):
        def _call(self, part: Call, identity: str) -> Body:
            return {"id": identity, "type": "function", "function": {"name": part.name, "arguments": "{oops"}}

    server = Model(Broken(), [[Call("look")], ["Done."]])
    with Hooks(".", settings={}) as hooks:
        asyncio.run(loop.converse(server.url, hooks, {"look": look}, Conversation(()), lambda _: None))
    server.close()
    assert not ran
    assert "look" in json.dumps(loop.request(server.requests[1]).results)
