"""LangChain's agents with hooks: the table of effects, for `invoke`, `ainvoke` and every way to stream."""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain", reason="LangChain is not installed here: `make adapters` runs these tests")

from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk

from hookline import Hooks
from hookline.adapters.langchain import HooklineMiddleware
from hookline.adapters.table import adapter
from hookline.testing import effects
from hookline.testing.effects import Conversation, Outcome, Request, Turn


class FakeModel(GenericFakeChatModel):
    """LangChain's own fake model, which also remembers its requests and streams its tool calls."""

    requests: list[Request] = []  # noqa: RUF012 - a field of a pydantic model
    streaming: bool = False

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        """The tools are seen again in `_generate`."""
        return self.bind(tools=[tool["name"] if isinstance(tool, dict) else tool.name for tool in tools], **kwargs)

    def _generate(self, messages: list[BaseMessage], *given: Any, **kwargs: Any) -> Any:
        self.requests.append(
            Request(
                texts=tuple(str(one.text) for one in messages if not isinstance(one, ToolMessage)),
                results=tuple(str(one.text) for one in messages if isinstance(one, ToolMessage)),
                tools=tuple(kwargs.get("tools", ())),
            )
        )
        return super()._generate(messages, *given, **kwargs)

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        message = self._generate(messages, stop, None, **kwargs).generations[0].message
        calls = [
            {"name": call["name"], "args": json.dumps(call["args"]), "id": call["id"], "index": number}
            for number, call in enumerate(message.tool_calls)
        ]
        pieces = [AIMessageChunk(content=message.content[at : at + 8]) for at in range(0, len(message.content), 8)]
        for piece in [*pieces, AIMessageChunk(content="", tool_call_chunks=calls, chunk_position="last")]:
            chunk = ChatGenerationChunk(message=piece)
            if run_manager:
                run_manager.on_llm_new_token(piece.content, chunk=chunk)
            yield chunk


def answers(turns: Sequence[Turn]) -> Iterator[AIMessage]:
    """The model's messages."""
    for number, turn in enumerate(turns):
        calls = [] if turn.call is None else [{"name": turn.call[0], "args": dict(turn.call[1]), "id": f"c{number}"}]
        yield AIMessage(turn.text, tool_calls=calls)
    raise AssertionError("the model was asked more often than the script says")


def said(messages: Sequence[Any]) -> list[str]:
    """What the agent said, in order."""
    return [str(one.text) for one in messages if isinstance(one, AIMessage) and one.text]


def ask(conversation: Conversation) -> Any:
    """The agent's input."""
    return {"messages": [HumanMessage(conversation.prompt)]}


async def invoke(agent: Any, conversation: Conversation) -> list[str]:
    """Blocking, also for the loop of this test."""
    return said(agent.invoke(ask(conversation))["messages"])


async def ainvoke(agent: Any, conversation: Conversation) -> list[str]:
    """The whole result."""
    return said((await agent.ainvoke(ask(conversation)))["messages"])


async def stream(agent: Any, conversation: Conversation) -> list[str]:
    """Token by token, blocking."""
    return said([chunk for chunk, _ in agent.stream(ask(conversation), stream_mode="messages")])


async def astream(agent: Any, conversation: Conversation) -> list[str]:
    """Token by token."""
    return said([chunk async for chunk, _ in agent.astream(ask(conversation), stream_mode="messages")])


async def astream_updates(agent: Any, conversation: Conversation) -> list[str]:
    """What each node adds."""
    updates = [update async for update in agent.astream(ask(conversation), stream_mode="updates")]
    return said([one for update in updates for state in update.values() for one in (state or {}).get("messages", ())])


async def astream_events(agent: Any, conversation: Conversation) -> list[str]:
    """Everything that LangChain's events have."""
    return [str(event["data"]) async for event in agent.astream_events(ask(conversation), version="v2")]


class Tokens(BaseCallbackHandler):
    """Remembers tokens."""

    def __init__(self) -> None:
        self.tokens: list[str] = []

    def on_llm_new_token(self, token: str, **_: Any) -> None:
        """One more."""
        self.tokens.append(token)


Mode = Callable[[Any, Conversation], Any]


@dataclass
class LangChainHost:
    """`create_agent` with a fake model."""

    mode: Mode
    options: Mapping[str, Any] = field(default_factory=dict)

    async def run(self, hooks: Hooks, conversation: Conversation, tools: Sequence[Callable[..., str]]) -> Outcome:
        """The conversation in a new agent."""
        model = FakeModel(messages=answers(conversation.turns), requests=[], **self.options)
        middleware = [HooklineMiddleware(hooks)]
        agent = create_agent(model, list(tools), system_prompt=conversation.system, middleware=middleware)
        shown = await self.mode(agent, conversation)
        return Outcome(shown=tuple(shown), requests=tuple(model.requests))


def callback_host(tokens: "Tokens", where: str) -> LangChainHost:
    """A program that reads tokens by a callback of its own, given with the run or with the model."""
    config = {"callbacks": [tokens]} if where == "run" else {}

    async def read_tokens(agent: Any, conversation: Conversation) -> list[str]:
        result = await agent.ainvoke(ask(conversation), config=config)
        return [*tokens.tokens, *said(result["messages"])]

    options = {"streaming": True, **({"callbacks": [tokens]} if where == "model" else {})}
    return LangChainHost(read_tokens, options)


def check(host: LangChainHost, effect: effects.Effect) -> None:
    asyncio.run(effects.check(host, effect, cannot=adapter("langchain").cannot))


ROWS = [effects.NO_HOOKS, *effects.EFFECTS]


@pytest.mark.parametrize("effect", ROWS, ids=str)
@pytest.mark.parametrize("mode", [invoke, ainvoke, stream, astream, astream_updates], ids=lambda mode: mode.__name__)
def test_every_effect_holds(mode: Mode, effect: effects.Effect) -> None:
    """Each way to run an agent has all the effects."""
    check(LangChainHost(mode), effect)


@pytest.mark.parametrize("mode", [stream, astream, astream_events], ids=lambda mode: mode.__name__)
def test_streams_do_not_leak(mode: Mode) -> None:
    """No stream and no event shows the text that an AfterModel hook redacts."""
    check(LangChainHost(mode), effects.NO_LEAK)


@pytest.mark.parametrize("where", ["run", "model"])
def test_callbacks_do_not_leak(where: str) -> None:
    """A callback sees no tokens of the model while AfterModel hooks exist, and else it does."""
    check(callback_host(Tokens(), where), effects.NO_LEAK)
    tokens = Tokens()
    check(callback_host(tokens, where), effects.NO_HOOKS)
    assert "I write." in tokens.tokens


def test_a_run_is_one_session(tmp_path: Path) -> None:
    """All events of a thread have the thread's id, and those of a run without a thread an id of the run."""
    events = ("BeforeToolSelection", "BeforeModel", "AfterModel", "BeforeTool", "AfterTool")
    note = f"""grep -o '"session_id":"[^"]*"' >>{tmp_path}/ids"""
    groups = {event: [{"hooks": [{"type": "command", "command": note}]}] for event in events}
    turns = (Turn("", ("write_file", {"path": "a"})), Turn("Done."))

    def write_file(path: str) -> str:
        """Writes."""
        return path

    async def threads(agent: Any, conversation: Conversation) -> list[str]:
        config = {"configurable": {"thread_id": "t-1"}}
        return said((await agent.ainvoke(ask(conversation), config=config))["messages"])

    with Hooks(tmp_path, settings={"enableHooks": True, "hooks": groups}) as hooks:
        for mode in (threads, ainvoke):
            asyncio.run(LangChainHost(mode).run(hooks, Conversation(turns), [write_file]))
    ids = (tmp_path / "ids").read_text().split()
    assert len(ids) == 16
    assert set(ids[:8]) == {'"session_id":"t-1"'}
    assert len(set(ids[8:])) == 1


def test_without_after_model_hooks_tokens_are_streamed() -> None:
    """Holding back is for AfterModel hooks alone."""
    conversation = Conversation((Turn("one two three four"),))
    with Hooks(".", settings={}) as hooks:
        outcome = asyncio.run(LangChainHost(astream).run(hooks, conversation, ()))
    assert outcome.shown == ("one two ", "three fo", "ur")
