"""Agents of Strands with hooks: the table of effects, for calls, awaited calls, streams and callback handlers."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

import pytest

pytest.importorskip("strands", reason="Strands is not installed here: `make adapters` runs these tests")

from pydantic import BaseModel
from strands import Agent, tool
from strands.hooks import BeforeToolCallEvent
from strands.models import Model
from strands.types.content import ContentBlock, SystemContentBlock

from hookline import Hooks
from hookline.adapters.strands import HooklineHooks
from hookline.adapters.strands import format as formats
from hookline.adapters.table import adapter_named
from hookline.errors import FormatError, HooklineError
from hookline.testing import effects
from hookline.testing.effects import Conversation, Request, RunOutcome, Turn


class FakeModel(Model):
    """Answers with the turns of a script, piece by piece, and remembers its requests."""

    def __init__(self, turns: Sequence[Turn], piece: int = 8) -> None:
        self.turns = iter(turns)
        self.piece = piece
        self.requests: list[Request] = []
        self.messages: list[Any] = []

    def update_config(self, **_: Any) -> None:
        """Nothing to configure."""

    def get_config(self) -> Any:
        """The configuration."""
        return {"model_id": "fake"}

    async def structured_output(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        """The output type of the deprecated `Agent.structured_output`."""
        yield {"output": Answer(number=1)}

    async def stream(
        self, messages: Any, tool_specs: Any = None, system_prompt: str | None = None, **_: Any
    ) -> AsyncIterator[Any]:
        """One answer."""
        self.messages.append(messages)
        blocks = [block for message in messages for block in message["content"]]
        self.requests.append(
            Request(
                texts=(system_prompt or "", *(block["text"] for block in blocks if "text" in block)),
                results=tuple(
                    json.dumps(block["toolResult"], default=str) for block in blocks if "toolResult" in block
                ),
                tools=tuple(spec["name"] for spec in tool_specs or ()),
            )
        )
        turn = next(self.turns, None)
        assert turn is not None, "the model was asked more often than the script says"
        yield {"messageStart": {"role": "assistant"}}
        if turn.text:
            yield {"contentBlockStart": {"start": {}}}
            for at in range(0, len(turn.text), self.piece):
                yield {"contentBlockDelta": {"delta": {"text": turn.text[at : at + self.piece]}}}
            yield {"contentBlockStop": {}}
        if turn.call:
            name, arguments = turn.call
            yield {"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": f"c{len(self.requests)}"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(dict(arguments))}}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if turn.call else "end_turn"}}


class Answer(BaseModel):
    """A structured output."""

    number: int


def said(agent: Any) -> list[str]:
    """The agent's texts, in order."""
    spoken = [message for message in agent.messages if message["role"] == "assistant"]
    return [block["text"] for message in spoken for block in message["content"] if "text" in block]


async def call(agent: Any, prompt: str) -> list[str]:
    """Blocking, also for the loop of this test."""
    agent(prompt)
    return said(agent)


async def invoke(agent: Any, prompt: str) -> list[str]:
    """Awaited."""
    return [*said(agent), str(await agent.invoke_async(prompt)), *said(agent)]


async def stream(agent: Any, prompt: str) -> list[str]:
    """Pieces of text, and the result at the end."""
    events = [event async for event in agent.stream_async(prompt)]
    return [*(event["data"] for event in events if "data" in event), str(events[-1]["result"])]


async def every_event(agent: Any, prompt: str) -> list[str]:
    """Everything that a stream has."""
    shown = ("data", "delta", "event", "message", "result", "reasoningText")
    return [str(event[name]) async for event in agent.stream_async(prompt) for name in shown if name in event]


async def callback(agent: Any, prompt: str) -> list[str]:
    """A callback handler, as the one that prints to the terminal by default."""
    pieces: list[str] = []
    agent.callback_handler = lambda **given: pieces.append(given.get("data", ""))
    return [*pieces, str(await agent.invoke_async(prompt)), *pieces]


Mode = Callable[[Any, str], Any]


@dataclass
class StrandsHost:
    """An agent with a fake model."""

    mode: Mode
    is_late: bool = False
    piece: int = 8

    async def run(self, hooks: Hooks, conversation: Conversation, tools: Sequence[Callable[..., str]]) -> RunOutcome:
        """The conversation in a new agent."""
        model = FakeModel(conversation.turns, self.piece)
        provider = HooklineHooks(hooks)
        given = [] if self.is_late else [provider]
        agent = new_agent(model, tools, hooks=given, system_prompt=conversation.system)
        if self.is_late:
            agent.hooks.add_hook(provider)
        shown = await self.mode(agent, conversation.prompt)
        return RunOutcome(shown=tuple(shown), requests=tuple(model.requests))


def new_agent(model: Any, tools: Sequence[Callable[..., str]] = (), **given: Any) -> Any:
    return Agent(model=model, tools=[tool(one) for one in tools], callback_handler=None, **given)


def check(host: StrandsHost, effect: effects.Effect) -> None:
    asyncio.run(effects.check(host, effect, cannot=adapter_named("strands").cannot))


@pytest.mark.parametrize("effect", effects.ROWS, ids=str)
@pytest.mark.parametrize("mode", [call, invoke, stream, callback], ids=lambda mode: mode.__name__)
def test_every_effect_holds(mode: Mode, effect: effects.Effect) -> None:
    """Each way to run an agent has all the effects."""
    check(StrandsHost(mode), effect)


@pytest.mark.parametrize("effect", effects.EFFECTS, ids=str)
def test_every_effect_holds_in_an_agent_that_gets_its_hooks_later(effect: effects.Effect) -> None:
    """`agent.hooks.add_hook` is as good as `hooks=`, though the agent is initialized already."""
    check(StrandsHost(invoke, is_late=True), effect)


@pytest.mark.parametrize("mode", [stream, every_event, callback], ids=lambda mode: mode.__name__)
def test_streams_do_not_leak(mode: Mode) -> None:
    """No event and no callback shows the text that an AfterModel hook redacts."""
    check(StrandsHost(mode, piece=100), effects.NO_LEAK)


def test_without_after_model_hooks_pieces_are_streamed() -> None:
    """Holding back is for AfterModel hooks alone."""
    conversation = Conversation((Turn("one two three four"),))
    with Hooks(".", settings={}) as hooks:
        outcome = asyncio.run(StrandsHost(stream).run(hooks, conversation, ()))
    assert outcome.shown == ("one two ", "three fo", "ur", "one two three four\n")


def test_the_example_prints_what_is_shown() -> None:
    """The example runs as a reader would run it."""
    example = Path(__file__).parents[2] / "examples" / "adapters" / "strands_agent.py"
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, check=False, timeout=120)
    assert (done.stdout, done.stderr) == (example.with_suffix(".txt").read_text(), "")


def settings(event: str, answer: dict[str, Any]) -> dict[str, Any]:
    command = f"printf %s '{json.dumps(answer)}'"
    return {"enableHooks": True, "hooks": {event: [{"hooks": [{"type": "command", "command": command}]}]}}


ONLY_WRITE = settings("BeforeToolSelection", {"hookSpecificOutput": {"toolConfig": {"allowedFunctionNames": ["w"]}}})


def test_a_restriction_holds_over_an_interrupt() -> None:
    """A tool call that the user approved in another process is refused if the tools were restricted."""
    ran: list[str] = []

    def delete_file(path: str) -> str:
        """Deletes a file."""
        ran.append(path)
        return "Gone."

    def ask(event: BeforeToolCallEvent) -> None:
        event.interrupt("approve", reason="really?")

    first = FakeModel([Turn(call=("delete_file", {"path": "a"}))])
    second = FakeModel([Turn("All done.")])
    with Hooks(".", settings=ONLY_WRITE) as hooks:
        agent = new_agent(first, [delete_file], hooks=[HooklineHooks(hooks), ask])
        paused = agent("go")
        assert paused.stop_reason == "interrupt"
        resumed = new_agent(second, [delete_file], hooks=[HooklineHooks(hooks), ask])
        resumed.load_snapshot(agent.take_snapshot(preset="session"))
        resumed([{"interruptResponse": {"interruptId": paused.interrupts[0].id, "response": "yes"}}])
    assert not ran
    assert "delete_file is not allowed now" in second.requests[0].results[0]


def test_a_programs_own_tool_calls_have_tool_hooks() -> None:
    """`agent.tool.x()` is guarded; a selection of tools is about the model's calls."""
    ran: list[str] = []

    def delete_file(path: str) -> str:
        """Deletes a file."""
        ran.append(path)
        return "Gone."

    rules = settings("BeforeTool", {"decision": "deny", "reason": "Nothing is deleted here."})
    rules["hooks"] |= ONLY_WRITE["hooks"]
    with Hooks(".", settings=rules) as hooks:
        agent = new_agent(FakeModel([]), [delete_file], hooks=[HooklineHooks(hooks)])
        result = agent.tool.delete_file(path="a")
    assert not ran
    assert result["content"] == [{"text": "Nothing is deleted here."}]


def test_structured_output_has_hooks() -> None:
    """A stop also ends a run with structured output: the model is not asked again."""
    model = FakeModel([])
    with Hooks(".", settings=settings("BeforeModel", {"continue": False, "stopReason": "Enough."})) as hooks:
        agent = new_agent(model, hooks=[HooklineHooks(hooks)])
        with pytest.raises(Exception, match="structured output"):
            agent("go", structured_output_model=Answer)
    assert not model.requests
    assert "Enough." in said(agent)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_deprecated_structured_output_is_refused() -> None:
    """It asks the model without any hook, so it must not run while there are model hooks."""
    with Hooks(".", settings=settings("BeforeModel", {})) as hooks:
        agent = new_agent(FakeModel([]), hooks=[HooklineHooks(hooks)])
        with pytest.raises(HooklineError, match="structured_output_model"):
            agent.structured_output(Answer, "go")


def test_before_model_hooks_restrict_tools_too() -> None:
    """A BeforeModel hook that forbids tools is obeyed when the model calls one."""
    ran: list[str] = []

    def look() -> str:
        """Looks."""
        ran.append("look")
        return "ok"

    none = settings("BeforeModel", {"hookSpecificOutput": {"llm_request": {"toolConfig": {"mode": "NONE"}}}})
    model = FakeModel([Turn(call=("look", {})), Turn("done")])
    with Hooks(".", settings=none) as hooks:
        new_agent(model, [look], hooks=[HooklineHooks(hooks)])("go")
    assert not ran
    assert model.requests[0].tools == ()
    assert "look is not allowed now" in model.requests[1].results[0]


def test_a_suppressed_answer_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """The callback handler, which prints by default, does not get it; that the result has it is reported."""
    with Hooks(".", settings=settings("AfterModel", {"suppressOutput": True})) as hooks:
        agent = new_agent(FakeModel([Turn("hidden")]), hooks=[HooklineHooks(hooks)])
        shown = asyncio.run(callback(agent, "go"))
    assert "".join(shown) == "hidden\n"  # the result alone
    assert "suppressOutput keeps the answer from" in capsys.readouterr().err


def test_one_provider_serves_many_agents() -> None:
    """Each agent is a separate session: a stop of one does not stop the other."""
    stop = settings("AfterTool", {"continue": False, "stopReason": "Enough."})

    def write() -> str:
        """Writes."""
        return "ok"

    with Hooks(".", settings=stop) as hooks:
        provider = HooklineHooks(hooks)
        one = new_agent(FakeModel([Turn(call=("write", {})), Turn("again")]), [write], hooks=[provider])
        other = new_agent(FakeModel([Turn("hello")]), [write], hooks=[provider])
        assert str(one("go")) == "Enough.\n"
        assert str(other("go")) == "hello\n"
        assert str(one("go")) == "again\n"


def test_notes_reach_the_model_with_roles_that_alternate() -> None:
    """AfterModel's note comes with the next request; two messages of one role in a row are one."""
    note = settings("AfterModel", {"systemMessage": "Be careful."})

    def write() -> str:
        """Writes."""
        return "ok"

    model = FakeModel([Turn(call=("write", {})), Turn("done")])
    with Hooks(".", settings=note) as hooks:
        new_agent(model, [write], hooks=[HooklineHooks(hooks)])("go")
    assert [message["role"] for message in model.messages[1]] == ["user", "assistant", "user"]
    assert model.messages[1][-1]["content"][-1] == {"text": "[System] Be careful."}


def test_results_that_are_no_text_keep_their_blocks() -> None:
    """Context is added beside an image; its bytes are not touched."""
    image = {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}}

    @tool
    def look() -> dict[str, Any]:
        """Looks."""
        return {"status": "success", "content": [{"text": "A cat."}, image]}

    context = settings("AfterTool", {"hookSpecificOutput": {"additionalContext": "It is a dog."}})
    model = FakeModel([Turn(call=("look", {})), Turn("done")])
    with Hooks(".", settings=context) as hooks:
        agent = Agent(model=model, tools=[look], callback_handler=None, hooks=[HooklineHooks(hooks)])
        agent("go")
    result = agent.messages[2]["content"][0]["toolResult"]
    assert result["content"] == [{"text": "A cat."}, image, {"text": "\n\nIt is a dog."}]


def test_every_block_of_strands_is_known() -> None:
    """A new version with a new kind of block fails here first, and not in a user's agent."""
    kinds = {*get_type_hints(ContentBlock), *get_type_hints(SystemContentBlock)}
    assert len(kinds) >= 11
    filled: dict[str, Any] = {"text": "a", "guardContent": {"text": {"text": "a"}}}
    for kind in kinds:
        block = {kind: filled.get(kind, {})}
        formats.to_hook_llm_request({"messages": [{"role": "user", "content": [block]}]})


def native(**given: Any) -> dict[str, Any]:
    """A model call."""
    told: dict[str, Any] = {"model": "m", "system": None, "messages": [], "tools": [], "tool_choice": None}
    return {**told, **given}


def ended(message: Any) -> dict[str, Any]:
    """The end of a model call."""
    return {"message": message, "stop_reason": "end_turn", "usage": {"inputTokens": 1, "outputTokens": 2}}


GUARDED = {"guardContent": {"text": {"text": "secret", "qualifiers": ["query"]}}}
CITED = {"citationsContent": {"content": [{"text": "A fact."}], "citations": [{"title": "t"}]}}


def test_every_block_with_a_text_is_told() -> None:
    """Guarded and cited texts are texts as well, and a rewrite keeps what belongs to the block."""
    history = [{"role": "user", "content": [GUARDED]}, {"role": "assistant", "content": [CITED]}]
    given = native(system=[{"text": "Help."}, {"cachePoint": {}}], messages=history)
    request = formats.to_hook_llm_request(given)
    assert [one["content"] for one in request["messages"]] == ["Help.", "secret", "A fact."]
    wanted: Any = {**request, "messages": [{**one, "content": "[x]"} for one in request["messages"]]}
    changed = formats.from_hook_llm_request(wanted, given)
    assert changed["system"] == [{"text": "[x]"}, {"cachePoint": {}}]
    assert [one["content"] for one in changed["messages"]] == [
        [{"guardContent": {"text": {"text": "[x]", "qualifiers": ["query"]}}}],
        [{"text": "[x]"}],
    ]


def test_an_unknown_message_is_an_error() -> None:
    """It is never read as an empty conversation."""
    with pytest.raises(FormatError, match=r"messages\[0\]"):
        formats.to_hook_llm_request(native(messages=[{"role": "user", "content": "hi"}]))


def test_a_response_with_another_text_keeps_its_other_blocks() -> None:
    """A tool call stays, and so do the token counts; without a text the hook's comes first."""
    call = {"toolUse": {"toolUseId": "c", "name": "f", "input": {}}}
    response = ended({"role": "assistant", "content": [{"text": "secret"}, call]})
    told = formats.to_hook_llm_response(response)
    assert (told["text"], told["usageMetadata"]) == (
        "secret",
        {"promptTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 3},
    )
    assert formats.from_hook_llm_response({"text": "[x]"}, response)["message"]["content"] == [{"text": "[x]"}, call]
    mute = ended({"role": "assistant", "content": [call]})
    assert formats.from_hook_llm_response({"text": "[x]"}, mute)["message"]["content"] == [{"text": "[x]"}, call]
    assert formats.from_hook_llm_response({"text": "hi"})["message"]["content"] == [{"text": "hi"}]


@pytest.mark.parametrize(("has_call", "offered"), [(False, []), (True, ["f"])])
def test_forbidden_tools_stay_declared_beside_their_calls(has_call: bool, offered: list[str]) -> None:
    """Strands has no choice that forbids tools, and providers refuse calls of tools that they do not know."""
    call = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c", "name": "f", "input": {}}}]}
    given = native(messages=[call] if has_call else [], tools=[{"name": "f"}], tool_choice={"any": {}})
    changed = formats.offer(given, lambda _: False)
    assert formats.tool_names(changed) == offered
    assert "tool_choice" not in changed


@pytest.mark.parametrize(
    "block",
    [
        pytest.param({"mystery": {"text": "secret"}}, id="unknown"),
        pytest.param({"text": ["secret"]}, id="no-text"),
        pytest.param({}, id="empty"),
        pytest.param("secret", id="bare"),
    ],
)
def test_an_unknown_block_is_an_error(block: Any) -> None:
    """A text that hooks would miss is never sent without a word."""
    with pytest.raises(FormatError, match=r"messages\[0\]\.content\[1\] is"):
        formats.to_hook_llm_request(native(messages=[{"role": "user", "content": [{"text": "hi"}, block]}]))
    with pytest.raises(FormatError, match=r"system\[0\] is"):
        formats.to_hook_llm_request(native(system=[block]))
    with pytest.raises(FormatError, match=r"message\.content\[0\] is"):
        formats.to_hook_llm_response(ended({"role": "assistant", "content": [block]}))


def test_a_guarded_image_is_no_text() -> None:
    """Bedrock also guards images, which hooks do not see."""
    guarded = {"guardContent": {"image": {"format": "png", "source": {"bytes": b""}}}}
    assert formats.to_hook_llm_request(native(messages=[{"role": "user", "content": [guarded]}]))["messages"] == []
