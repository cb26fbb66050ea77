"""LangChain's agents with hooks: the table of effects, for `invoke`, `ainvoke` and every way to stream."""

import asyncio
import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import pytest

pytest.importorskip("langchain", reason="LangChain is not installed here: `make adapters` runs these tests")

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.content import KNOWN_BLOCK_TYPES
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from hookline import Hooks
from hookline.adapters.langchain import HooklineMiddleware
from hookline.adapters.langchain import format as formats
from hookline.adapters.table import adapter_named
from hookline.errors import FormatError
from hookline.log.paths import default_log_path
from hookline.testing import effects
from hookline.testing.effects import Conversation, Request, RunOutcome, Turn


class FakeModel(GenericFakeChatModel):
    """LangChain's own fake model, which also remembers its requests and streams its tool calls."""

    requests: list[Request] = []  # noqa: RUF012 - a field of a pydantic model
    streaming: bool = False
    piece: int = 8

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
        starts = range(0, len(message.content), self.piece)
        pieces = [AIMessageChunk(content=message.content[at : at + self.piece]) for at in starts]
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
    """The agent's texts, in order."""
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
    """The messages that each node adds."""
    updates = [update async for update in agent.astream(ask(conversation), stream_mode="updates")]
    return said([one for update in updates for state in update.values() for one in (state or {}).get("messages", ())])


async def astream_events_v3(agent: Any, conversation: Conversation) -> list[str]:
    """The same in LangChain's newer protocol."""
    return [str(event) async for event in await agent.astream_events(ask(conversation), version="v3")]


async def astream_events(agent: Any, conversation: Conversation) -> list[str]:
    """Everything that LangChain's events have."""
    return [str(event["data"]) async for event in agent.astream_events(ask(conversation), version="v2")]


async def stream_events_v3(agent: Any, conversation: Conversation) -> list[str]:
    """The newer protocol, blocking."""
    return [str(event) for event in agent.stream_events(ask(conversation), version="v3")]


async def astream_log(agent: Any, conversation: Conversation) -> list[str]:
    """Everything that LangChain logs of a run."""
    return [str(patch) async for patch in agent.astream_log(ask(conversation))]


STREAM_MODES = ["values", "updates", "checkpoints", "tasks", "debug", "messages", "custom"]


async def stream_all(agent: Any, conversation: Conversation) -> list[str]:
    """Everything that LangGraph streams, blocking."""
    return [str(event) for event in agent.stream(ask(conversation), stream_mode=STREAM_MODES, subgraphs=True)]


async def astream_all(agent: Any, conversation: Conversation) -> list[str]:
    """The same without blocking."""
    given = ask(conversation)
    return [str(event) async for event in agent.astream(given, stream_mode=STREAM_MODES, subgraphs=True)]


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

    async def run(self, hooks: Hooks, conversation: Conversation, tools: Sequence[Callable[..., str]]) -> RunOutcome:
        """The conversation in a new agent."""
        model = FakeModel(messages=answers(conversation.turns), requests=[], **self.options)
        middleware = [HooklineMiddleware(hooks)]
        agent = create_agent(model, list(tools), system_prompt=conversation.system, middleware=middleware)
        shown = await self.mode(agent, conversation)
        return RunOutcome(shown=tuple(shown), requests=tuple(model.requests))


def callback_host(tokens: "Tokens", where: str) -> LangChainHost:
    """A program that reads tokens by its callback, given with the run or with the model."""
    config = {"callbacks": [tokens]} if where == "run" else {}

    async def read_tokens(agent: Any, conversation: Conversation) -> list[str]:
        result = await agent.ainvoke(ask(conversation), config=config)
        return [*tokens.tokens, *said(result["messages"])]

    options = {"streaming": True, **({"callbacks": [tokens]} if where == "model" else {})}
    return LangChainHost(read_tokens, options)


def check(host: LangChainHost, effect: effects.Effect) -> None:
    asyncio.run(effects.check(host, effect, cannot=adapter_named("langchain").cannot))


@pytest.mark.parametrize("effect", effects.ROWS, ids=str)
@pytest.mark.parametrize("mode", [invoke, ainvoke, stream, astream, astream_updates], ids=lambda mode: mode.__name__)
def test_every_effect_holds(mode: Mode, effect: effects.Effect) -> None:
    """Each way to run an agent has all the effects."""
    check(LangChainHost(mode), effect)


STREAMS = [stream, astream, astream_events, astream_events_v3, stream_events_v3, astream_log, stream_all, astream_all]


@pytest.mark.filterwarnings("ignore:The v3 streaming protocol", "ignore:astream_log")
@pytest.mark.parametrize("piece", [8, 100])
@pytest.mark.parametrize("mode", STREAMS, ids=lambda mode: mode.__name__)
def test_streams_do_not_leak(mode: Mode, piece: int) -> None:
    """No stream and no event shows the text that an AfterModel hook redacts."""
    check(LangChainHost(mode, {"piece": piece}), effects.NO_LEAK)


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


def test_the_example_prints_what_is_shown() -> None:
    """The example runs as a reader would run it."""
    example = Path(__file__).parents[2] / "examples" / "adapters" / "langchain_agent.py"
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, check=False, timeout=120)
    assert (done.stdout, done.stderr) == (example.with_suffix(".txt").read_text(), "")


def settings(event: str, answer: object, matcher: str = "") -> dict[str, Any]:
    """One hook with this answer."""
    hook = {"type": "command", "name": "guard", "command": f"printf %s {shlex.quote(json.dumps(answer))}"}
    return {"enableHooks": True, "hooks": {event: [{"matcher": matcher, "hooks": [hook]}]}}


def agent_with(hooks: Hooks, *answers: AIMessage, tools: Sequence[Any] = (), **options: Any) -> tuple[Any, FakeModel]:
    """An agent whose model gives these answers."""
    model = FakeModel(messages=iter(answers), requests=[])
    return create_agent(model, list(tools), middleware=[HooklineMiddleware(hooks)], **options), model


def calls(*names: str) -> AIMessage:
    """A message that calls tools without arguments."""
    return AIMessage("", tool_calls=[{"name": name, "args": {}, "id": f"id-{name}"} for name in names])


ran: list[str] = []


def first() -> str:
    """The first tool."""
    ran.append("first")
    return "one"


def second() -> str:
    """The second tool."""
    ran.append("second")
    return "two"


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


def test_calls_side_by_side_are_judged_one_by_one(tmp_path: Path) -> None:
    """Of two calls in one answer, a hook refuses one; the other runs."""
    refuse = settings("BeforeTool", {"decision": "deny", "reason": "Not the first."}, "first")
    with Hooks(tmp_path, settings=refuse) as hooks:
        agent, model = agent_with(hooks, calls("first", "second"), AIMessage("Done."), tools=[first, second])
        agent.invoke({"messages": "Go."})
    assert ran == ["second"]
    assert model.requests[-1].results == ("Not the first.", "two")


def test_two_stops_side_by_side_end_the_run_once(tmp_path: Path) -> None:
    """Calls of one answer can both stop the agent."""
    stop = settings("AfterTool", {"continue": False, "stopReason": "Enough."})
    with Hooks(tmp_path, settings=stop) as hooks:
        agent, model = agent_with(hooks, calls("first", "second"), tools=[first, second])
        result = agent.invoke({"messages": "Go."})
    assert len(model.requests) == 1
    assert said(result["messages"]) == ["Enough."]


def test_a_resumed_run_keeps_its_restriction(tmp_path: Path) -> None:
    """Between the model's answer and its calls a run may be saved and go on in another process."""
    allow = settings(
        "BeforeToolSelection", {"hookSpecificOutput": {"toolConfig": {"allowedFunctionNames": ["second"]}}}
    )
    saver, thread = InMemorySaver(), {"configurable": {"thread_id": "t"}}
    options = {"tools": [first, second], "checkpointer": saver, "interrupt_before": ["tools"]}
    with Hooks(tmp_path, settings=allow) as hooks:
        agent_with(hooks, calls("first", "second"), **options)[0].invoke({"messages": "Go."}, thread)
        assert ran == []
        other, model = agent_with(hooks, AIMessage("Done."), **options)
        other.invoke(None, thread)
    assert ran == ["second"]
    assert "first is not allowed now" in model.requests[-1].results[0]


def test_a_new_run_of_a_thread_is_not_stopped(tmp_path: Path) -> None:
    """A stop ends its run, and the next question in the thread is answered."""
    stop = settings("BeforeTool", {"continue": False, "stopReason": "Enough."})
    thread = {"configurable": {"thread_id": "t"}}
    with Hooks(tmp_path, settings=stop) as hooks:
        agent, _ = agent_with(hooks, calls("first"), AIMessage("Hello."), tools=[first], checkpointer=InMemorySaver())
        assert said(agent.invoke({"messages": "Go."}, thread)["messages"]) == ["Enough."]
        assert said(agent.invoke({"messages": "Hi."}, thread)["messages"]) == ["Enough.", "Hello."]


class Answer(BaseModel):
    """A structured output."""

    text: str


@pytest.mark.parametrize("tools", [(), (first,)], ids=["without tools", "with tools"])
@pytest.mark.parametrize("answer", [{"continue": False, "stopReason": "No."}, {"decision": "deny", "reason": "No."}])
def test_structured_output_does_not_run_on_after_a_block(tmp_path: Path, answer: object, tools: Any) -> None:
    """An agent that has to give structured output ends, though it has none."""
    with Hooks(tmp_path, settings=settings("BeforeModel", answer)) as hooks:
        agent, model = agent_with(hooks, tools=tools, response_format=ToolStrategy(Answer))
        result = agent.invoke({"messages": "Go."})
    assert (model.requests, said(result["messages"])) == ([], ["No."])
    assert result.get("structured_response") is None


def test_structured_output_of_a_redacted_text_is_gone(tmp_path: Path) -> None:
    """Data that was parsed from the old text would show it."""
    redact = settings("AfterModel", {"hookSpecificOutput": {"llm_response": {"text": "[hidden]"}}})
    with Hooks(tmp_path, settings=redact) as hooks:
        agent, _ = agent_with(hooks, AIMessage('{"text": "s3cret"}'), response_format=ProviderStrategy(Answer))
        result = agent.invoke({"messages": "Go."})
    assert "s3cret" not in str(result)


def test_a_tool_that_returns_a_command_has_its_context(tmp_path: Path) -> None:
    """The message inside a `Command` gets what hooks add, and its other updates stay."""

    @tool
    def command(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Returns a command."""
        return Command(update={"messages": [ToolMessage("done", tool_call_id=tool_call_id), HumanMessage("and")]})

    add = settings("AfterTool", {"hookSpecificOutput": {"additionalContext": "Use tabs."}})
    with Hooks(tmp_path, settings=add) as hooks:
        agent, model = agent_with(hooks, calls("command"), AIMessage("Done."), tools=[command])
        agent.invoke({"messages": "Go."})
    assert model.requests[-1].results == ("done\n\nUse tabs.",)
    assert model.requests[-1].texts[-1] == "and"


REPLACE = """
import json, sys
messages = json.load(sys.stdin)["llm_request"]["messages"]
for message in messages:
    message["content"] = message["content"].replace("4711", "[number]")
print(json.dumps({"hookSpecificOutput": {"llm_request": {"messages": messages, "config": {"temperature": 0.5}}}}))
"""


def test_a_rewritten_request_keeps_what_hooks_cannot_see(tmp_path: Path) -> None:
    """Images, tool calls and untouched messages stay; settings of the model are passed on."""
    image = {"type": "image", "url": "https://example.com/a.png"}
    call = calls("first")
    history = [
        HumanMessage([{"type": "text", "text": "Code 4711"}, image]),
        call,
        ToolMessage("4711", tool_call_id="id-first"),
        AIMessage("Untouched."),
        HumanMessage("Again."),
    ]
    seen: list[Any] = []

    class Watching(FakeModel):
        def _generate(self, messages: list[BaseMessage], *given: Any, **kwargs: Any) -> Any:
            seen.append((messages, kwargs.get("temperature")))
            return super()._generate(messages, *given, **kwargs)

    command = shlex.join([sys.executable, "-I", "-c", REPLACE])
    hook = {"enableHooks": True, "hooks": {"BeforeModel": [{"hooks": [{"type": "command", "command": command}]}]}}
    with Hooks(tmp_path, settings=hook) as hooks:
        model = Watching(messages=iter([AIMessage("Done.")]), requests=[])
        create_agent(model, [first], middleware=[HooklineMiddleware(hooks)]).invoke({"messages": history})
    ((messages, temperature),) = seen
    assert messages[0].content == [{"type": "text", "text": "Code [number]"}, image]
    assert messages[1].tool_calls == call.tool_calls
    assert [one.content for one in messages[2:]] == ["4711", "Untouched.", "Again."]
    assert temperature == 0.5


@pytest.mark.parametrize(("event", "is_error"), [("BeforeTool", False), ("BeforeModel", True), ("AfterModel", True)])
def test_an_unknown_block_breaks_only_hooks_that_could_miss_it(tmp_path: Path, event: str, is_error: bool) -> None:
    """An agent with tool hooks alone continues."""
    unknown: Any = HumanMessage([{"type": "mystery", "body": "hi"}])
    with Hooks(tmp_path, settings=settings(event, {})) as hooks:
        agent, _ = agent_with(hooks, AIMessage("Done."))
        if is_error:
            with pytest.raises(FormatError, match="unknown type 'mystery'"):
                agent.invoke({"messages": [unknown]})
        else:
            assert agent.invoke({"messages": [unknown]})["messages"][-1].text == "Done."


def test_a_note_goes_with_the_next_request(tmp_path: Path) -> None:
    """The model reads the note of an AfterModel hook with the next request, once."""
    with Hooks(tmp_path, settings=settings("AfterModel", {"systemMessage": "Be brief."})) as hooks:
        agent, model = agent_with(hooks, calls("first"), AIMessage("Done."), tools=[first])
        agent.invoke({"messages": "Go."})
    assert [request.texts[-1] for request in model.requests] == ["Go.", "[System] Be brief."]


def test_what_the_model_raises_reaches_the_caller(tmp_path: Path) -> None:
    """An error of the model is an error of the run, also one that means the end of an iteration."""
    with Hooks(tmp_path, settings=settings("AfterModel", {})) as hooks:
        agent, _ = agent_with(hooks)
        with pytest.raises((StopIteration, RuntimeError)):
            agent.invoke({"messages": "Go."})


def test_hooks_without_an_effect_are_reported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A message reports that suppressOutput hides nothing here."""
    with Hooks(tmp_path, settings=settings("AfterModel", {"suppressOutput": True})) as hooks:
        agent_with(hooks, AIMessage("Done."))[0].invoke({"messages": "Go."})
    assert "suppressOutput hides nothing in LangChain" in capfd.readouterr().err


def test_a_before_model_hook_restricts_the_tools(tmp_path: Path) -> None:
    """A choice of tools in a rewritten request counts for the offer and for the calls."""
    allow = {"hookSpecificOutput": {"llm_request": {"toolConfig": {"allowedFunctionNames": ["second"]}}}}
    with Hooks(tmp_path, settings=settings("BeforeModel", allow)) as hooks:
        agent, model = agent_with(hooks, calls("first", "second"), AIMessage("Done."), tools=[first, second])
        agent.invoke({"messages": "Go."})
    assert ran == ["second"]
    assert {request.tools for request in model.requests} == {("second",)}


class Again(AgentMiddleware[Any, Any, Any]):
    """Sends the agent back to the model after every answer."""

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any]:  # noqa: ARG002 - called by these names
        """Once more."""
        return {"jump_to": "model"}


def test_another_middleware_cannot_undo_a_stop(tmp_path: Path) -> None:
    """An agent that a hook has stopped ends, even if it is sent back to the model."""
    with Hooks(tmp_path, settings=settings("AfterModel", {"continue": False, "stopReason": "Enough."})) as hooks:
        model = FakeModel(messages=iter([AIMessage("One.")]), requests=[])
        agent = create_agent(model, [first], middleware=[Again(), HooklineMiddleware(hooks)])
        result = agent.invoke({"messages": "Go."})
    assert (len(model.requests), said(result["messages"])) == (1, ["Enough."])


def test_every_block_of_langchain_is_known() -> None:
    """A new version with a new type of block fails here first; any other type is an error, and never hidden."""
    assert len(KNOWN_BLOCK_TYPES) >= 14
    for kind in KNOWN_BLOCK_TYPES:
        formats.to_hook_llm_request({"messages": [HumanMessage([{"type": kind, "text": "a"}])]})
    bare = HumanMessage(["Hi ", {"text": "there"}, {"cachePoint": {"type": "default"}}])
    assert formats.to_hook_llm_request({"messages": [bare]})["messages"][0]["content"] == "Hi there"
    for block in ({"type": "mystery", "text": "a"}, {"mystery": "a"}, {"type": "text"}):
        with pytest.raises(FormatError, match=r"messages\[0\]\.content\[0\] is"):
            formats.to_hook_llm_request({"messages": [HumanMessage([block])]})
        with pytest.raises(FormatError, match=r"system\.content\[0\] is"):
            formats.to_hook_llm_request({"messages": [], "system": SystemMessage([block])})
        with pytest.raises(FormatError, match=r"the response\.content\[0\] is"):
            formats.to_hook_llm_response(AIMessage([block]))
    with pytest.raises(FormatError, match=r"messages\[0\] is an object with role, content"):
        formats.to_hook_llm_request({"messages": [{"role": "user", "content": "hi"}]})


def test_texts_of_other_types_in_an_answer_are_seen() -> None:
    """LangChain's own `text` leaves them out, and a redaction would miss them."""
    answer = AIMessage([{"type": "output_text", "text": "4711"}])
    assert formats.to_hook_llm_response(answer)["text"] == "4711"
    assert formats.from_hook_llm_response({"text": "[x]"}, answer).content == [{"type": "output_text", "text": "[x]"}]


NOTE = {"systemMessage": "Be brief."}


def test_a_note_on_the_last_answer_waits_for_the_thread(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread's next run has it, once. A thread that is not kept drops it, which stderr and the log report."""
    monkeypatch.setattr("hookline.adapters.table._reported", set())
    with Hooks(tmp_path, settings=settings("AfterModel", NOTE)) as hooks:
        agent, model = agent_with(hooks, AIMessage("One."), AIMessage("Two."), checkpointer=InMemorySaver())
        for _ in range(2):
            agent.invoke({"messages": "Go."}, {"configurable": {"thread_id": "t"}})
        assert [request.texts[-1] for request in model.requests] == ["Go.", "[System] Be brief."]
        assert capfd.readouterr().err == ""
        for config in ({}, {"configurable": {"thread_id": "t"}}):
            agent_with(hooks, AIMessage("One."))[0].invoke({"messages": "Go."}, config)
    assert capfd.readouterr().err.count("the model never reads it; give the agent a checkpointer") == 1
    assert default_log_path().read_text().count("the model never reads it") == 2


@pytest.mark.attack("30.F18", "a redacted text that stays beside a message of LangChain")
@pytest.mark.parametrize("text", ["[redacted]", ""], ids=["changed", "removed"])
def test_no_copy_of_a_changed_text_stays_beside_it(text: str) -> None:
    """Providers repeat texts in the other fields of a message; calls and facts about the response stay."""
    call = {"name": "first", "args": {}, "id": "1"}
    message = AIMessage(
        "the secret",
        tool_calls=[call],
        additional_kwargs={"reasoning_content": "the secret", "tool_calls": [{"id": "1"}]},
        response_metadata={"logprobs": {"content": ["secret"]}, "output": "the secret", "model_name": "m"},
    )
    native: Any = {"model": "m", "messages": [HumanMessage("Go."), message], "tools": []}
    said = [{"role": "user", "content": "Go."}, {"role": "model", "content": text}]
    (_, changed) = formats.from_hook_llm_request({"messages": said}, native)["messages"]
    assert "secret" not in repr(changed)
    assert changed.tool_calls == message.tool_calls
    assert (changed.additional_kwargs, changed.response_metadata) == (
        {"tool_calls": [{"id": "1"}]},
        {"model_name": "m"},
    )
