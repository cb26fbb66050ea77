"""Pydantic AI's agents with hooks: the table of effects, for every way to run an agent."""

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="Pydantic AI is not installed here: `make adapters` runs these tests")

from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    RetryPromptPart,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from hookline import Hooks
from hookline.adapters.pydantic_ai import HooklineCapability
from hookline.adapters.table import adapter
from hookline.testing import effects
from hookline.testing.effects import Conversation, Outcome, Request, Turn


class Script:
    """Answers in turn, and remembers the requests."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.turns = iter(turns)
        self.requests: list[Request] = []

    def _next(self, messages: list[Any], info: AgentInfo) -> Turn:
        parts = [part for message in messages for part in message.parts]
        results = [part for part in parts if isinstance(part, ToolReturnPart | RetryPromptPart)]
        texts = [str(part.content) for part in parts if part not in results and hasattr(part, "content")]
        self.requests.append(
            Request(
                texts=(*([info.instructions] if info.instructions else []), *texts),
                results=tuple(str(part.content) for part in results),
                tools=tuple(tool.name for tool in info.function_tools),
            )
        )
        turn = next(self.turns, None)
        assert turn is not None, "the model was asked more often than the script says"
        return turn

    def answer(self, messages: list[Any], info: AgentInfo) -> ModelResponse:
        """The whole response."""
        turn = self._next(messages, info)
        calls = [] if turn.call is None else [ToolCallPart(turn.call[0], dict(turn.call[1]))]
        return ModelResponse([*([TextPart(turn.text)] if turn.text else []), *calls])

    async def stream(self, messages: list[Any], info: AgentInfo) -> AsyncIterator[Any]:
        """The response in pieces."""
        turn = self._next(messages, info)
        for at in range(0, len(turn.text), 8):
            yield turn.text[at : at + 8]
        if turn.call is not None:
            yield {1: DeltaToolCall(name=turn.call[0], json_args=json.dumps(turn.call[1]))}


def said(messages: Sequence[Any]) -> list[str]:
    """What the agent said, in order."""
    return [one.content for message in messages for one in message.parts if isinstance(one, TextPart)]


async def run(agent: Any, prompt: str) -> list[str]:
    """The whole result."""
    return said((await agent.run(prompt)).all_messages())


async def run_sync(agent: Any, prompt: str) -> list[str]:
    """Blocking, in a thread of its own, whose event loop Pydantic AI uses and leaves open."""

    def work() -> Any:
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        with contextlib.closing(loop):
            return agent.run_sync(prompt)

    return said((await asyncio.to_thread(work)).all_messages())


async def run_stream(agent: Any, prompt: str) -> list[str]:
    """The text of the answer, in pieces."""
    async with agent.run_stream(prompt) as result:
        return [piece async for piece in result.stream_text(delta=True, debounce_by=None)]


async def run_stream_events(agent: Any, prompt: str) -> list[str]:
    """Every event, with the pieces of all texts."""
    shown: list[str] = []
    async with agent.run_stream_events(prompt) as events:
        async for event in events:
            if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                shown.append(event.part.content)
            elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                shown.append(event.delta.content_delta)
    return shown


async def event_stream_handler(agent: Any, prompt: str) -> list[str]:
    """Every event, by a handler; all that it is given counts."""
    seen: list[str] = []

    async def handle(_context: Any, events: Any) -> None:
        seen.extend([str(event) async for event in events])

    result = await agent.run(prompt, event_stream_handler=handle)
    return [*seen, *said(result.all_messages())]


Mode = Callable[[Any, str], Any]


@dataclass
class PydanticHost:
    """An `Agent` with a `FunctionModel`."""

    mode: Mode
    is_instructed: bool = False

    async def run(self, hooks: Hooks, conversation: Conversation, tools: Sequence[Callable[..., str]]) -> Outcome:
        """The conversation in a new agent."""
        script = Script(conversation.turns)
        how = {"instructions" if self.is_instructed else "system_prompt": conversation.system}
        model = FunctionModel(script.answer, stream_function=script.stream)
        agent: Any = Agent(model, tools=tools, capabilities=[HooklineCapability(hooks)], **how)
        shown = await self.mode(agent, conversation.prompt)
        return Outcome(shown=tuple(shown), requests=tuple(script.requests))


def check(host: PydanticHost, effect: effects.Effect) -> None:
    asyncio.run(effects.check(host, effect, cannot=adapter("pydantic_ai").cannot))


ROWS = [effects.NO_HOOKS, *effects.EFFECTS]


@pytest.mark.parametrize("effect", ROWS, ids=str)
@pytest.mark.parametrize(
    "mode", [run, run_sync, run_stream_events, event_stream_handler], ids=lambda mode: mode.__name__
)
def test_every_effect_holds(mode: Mode, effect: effects.Effect) -> None:
    """Each way to run an agent has all the effects."""
    check(PydanticHost(mode), effect)


@pytest.mark.parametrize("effect", ROWS, ids=str)
def test_every_effect_holds_with_instructions(effect: effects.Effect) -> None:
    """Instructions are a system message for hooks, as a system prompt is."""
    check(PydanticHost(run, is_instructed=True), effect)


@pytest.mark.parametrize("mode", [run_stream, run_stream_events, event_stream_handler], ids=lambda mode: mode.__name__)
def test_streams_do_not_leak(mode: Mode) -> None:
    """No stream and no event shows the text that an AfterModel hook redacts."""
    check(PydanticHost(mode), effects.NO_LEAK)


def test_the_example_prints_what_is_shown() -> None:
    """The example runs as a reader would run it."""
    example = Path(__file__).parents[2] / "examples" / "adapters" / "pydantic_ai_agent.py"
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, check=False, timeout=20)
    assert (done.stdout, done.stderr) == (example.with_suffix(".txt").read_text(), "")
