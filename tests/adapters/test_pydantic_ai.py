"""Pydantic AI's agents with hooks: the table of effects, for every way to run an agent."""

import asyncio
import contextlib
import json
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, get_args

import pytest

pytest.importorskip("pydantic_ai", reason="Pydantic AI is not installed here: `make adapters` runs these tests")

from pydantic import BaseModel
from pydantic_ai import Agent, ImageUrl, ToolReturn
from pydantic_ai import messages as native
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    RetryPromptPart,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from hookline import Hooks
from hookline.adapters.pydantic_ai import HooklineCapability
from hookline.adapters.pydantic_ai import format as formats
from hookline.adapters.table import adapter_named
from hookline.errors import AgentStoppedError, FormatError
from hookline.testing import effects
from hookline.testing.effects import Conversation, Request, RunOutcome, Turn


class Script:
    """Answers in turn, and remembers the requests."""

    def __init__(self, turns: Sequence[Turn], piece: int = 8) -> None:
        self.turns = iter(turns)
        self.piece = piece
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
        for at in range(0, len(turn.text), self.piece):
            yield turn.text[at : at + self.piece]
        if turn.call is not None:
            yield {1: DeltaToolCall(name=turn.call[0], json_args=json.dumps(turn.call[1]))}


def said(messages: Sequence[Any]) -> list[str]:
    """The agent's texts, in order."""
    return [one.content for message in messages for one in message.parts if isinstance(one, TextPart)]


async def run(agent: Any, prompt: str) -> list[str]:
    """The whole result."""
    return said((await agent.run(prompt)).all_messages())


async def run_sync(agent: Any, prompt: str) -> list[str]:
    """Blocking, in a separate thread, whose event loop Pydantic AI uses and leaves open."""

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


async def iterate(agent: Any, prompt: str) -> list[str]:
    """Node by node, each with its own stream."""
    seen: list[str] = []
    async with agent.iter(prompt) as run:
        async for node in run:
            if hasattr(node, "stream"):
                async with node.stream(run.ctx) as events:
                    seen.extend([str(event) async for event in events])
            seen.append(str(node))
    return [*seen, str(run.result)]


async def stream_output(agent: Any, prompt: str) -> list[str]:
    """The output as far as it is known, and every message at the end."""
    async with agent.run_stream(prompt) as result:
        seen = [str(output) async for output in result.stream_output(debounce_by=None)]
        return [*seen, str(result.all_messages()), str(result.response)]


async def stream_response(agent: Any, prompt: str) -> list[str]:
    """The response as far as it is known."""
    async with agent.run_stream(prompt) as result:
        return [str(response) async for response in result.stream_response(debounce_by=None)]


Mode = Callable[[Any, str], Any]


@dataclass
class PydanticHost:
    """An `Agent` with a `FunctionModel`."""

    mode: Mode
    is_instructed: bool = False
    piece: int = 8

    async def run(self, hooks: Hooks, conversation: Conversation, tools: Sequence[Callable[..., str]]) -> RunOutcome:
        """The conversation in a new agent."""
        script = Script(conversation.turns, self.piece)
        how = {"instructions" if self.is_instructed else "system_prompt": conversation.system}
        model = FunctionModel(script.answer, stream_function=script.stream)
        agent: Any = Agent(model, tools=tools, capabilities=[HooklineCapability(hooks)], **how)
        shown = await self.mode(agent, conversation.prompt)
        return RunOutcome(shown=tuple(shown), requests=tuple(script.requests))


def check(host: PydanticHost, effect: effects.Effect) -> None:
    asyncio.run(effects.check(host, effect, cannot=adapter_named("pydantic_ai").cannot))


@pytest.mark.parametrize("effect", effects.ROWS, ids=str)
@pytest.mark.parametrize(
    "mode", [run, run_sync, run_stream_events, event_stream_handler], ids=lambda mode: mode.__name__
)
def test_every_effect_holds(mode: Mode, effect: effects.Effect) -> None:
    """Each way to run an agent has all the effects."""
    check(PydanticHost(mode), effect)


@pytest.mark.parametrize("effect", effects.ROWS, ids=str)
def test_every_effect_holds_with_instructions(effect: effects.Effect) -> None:
    """Instructions are a system message for hooks, as a system prompt is."""
    check(PydanticHost(run, is_instructed=True), effect)


STREAMS = [run_stream, run_stream_events, event_stream_handler, iterate, stream_output, stream_response]


@pytest.mark.parametrize("piece", [8, 100])
@pytest.mark.parametrize("mode", STREAMS, ids=lambda mode: mode.__name__)
def test_streams_do_not_leak(mode: Mode, piece: int) -> None:
    """No stream and no event shows the text that an AfterModel hook redacts."""
    check(PydanticHost(mode, piece=piece), effects.NO_LEAK)


def test_the_example_prints_what_is_shown() -> None:
    """The example runs as a reader would run it."""
    example = Path(__file__).parents[2] / "examples" / "adapters" / "pydantic_ai_agent.py"
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, check=False, timeout=120)
    assert (done.stdout, done.stderr) == (example.with_suffix(".txt").read_text(), "")


def settings(event: str, answer: object, matcher: str = "") -> dict[str, Any]:
    """One hook with this answer."""
    hook = {"type": "command", "name": "guard", "command": f"printf %s {shlex.quote(json.dumps(answer))}"}
    return {"enableHooks": True, "hooks": {event: [{"matcher": matcher, "hooks": [hook]}]}}


def agent_with(hooks: Hooks, *turns: Turn, **options: Any) -> tuple[Any, Script]:
    """An agent whose model gives these answers."""
    script = Script(turns)
    model = FunctionModel(script.answer, stream_function=script.stream)
    return Agent(model, capabilities=[HooklineCapability(hooks)], **options), script


class Order(BaseModel):
    """A structured output."""

    item: str


def test_a_run_with_structured_output_is_stopped_by_an_exception(tmp_path: Path) -> None:
    """A reason can't be an output of another type than text."""
    stop = settings("BeforeTool", {"continue": False, "stopReason": "Enough."})
    ran: list[int] = []

    def count(number: int) -> int:
        """Counts."""
        ran.append(number)
        return number

    with Hooks(tmp_path, settings=stop) as hooks:
        agent, script = agent_with(hooks, Turn("", ("count", {"number": 1})), tools=[count], output_type=Order)
        with pytest.raises(AgentStoppedError, match="Enough"):
            asyncio.run(agent.run("Go."))
    assert (ran, len(script.requests)) == ([], 1)


def test_arguments_keep_their_types_and_rewritten_ones_are_validated(tmp_path: Path) -> None:
    """A tool gets the values that its annotations promise, from the model or from a hook."""
    ran: list[Any] = []

    def order(day: date, items: list[Order]) -> str:
        """Orders."""
        ran.append((day, items))
        return "Ordered."

    call = Turn("", ("order", {"day": "2026-01-02", "items": [{"item": "tea"}]}))
    for change in ({}, {"day": "2026-03-04"}, {"day": "tomorrow"}):
        with Hooks(tmp_path, settings=settings("BeforeTool", {"hookSpecificOutput": {"tool_input": change}})) as hooks:
            agent, script = agent_with(hooks, call, Turn("Done."), tools=[order])
            asyncio.run(agent.run("Go."))
    assert ran == [(date(2026, 1, 2), [Order(item="tea")]), (date(2026, 3, 4), [Order(item="tea")])]
    assert "a hook (guard) rewrote its arguments, and they are not valid" in script.requests[-1].results[0]


def test_results_that_no_hook_changes_stay_as_they_are(tmp_path: Path) -> None:
    """A value stays a value, and what a tool sends beside its result stays, unless a hook hides the result."""

    def look() -> Any:
        """Looks."""
        return ToolReturn({"n": 1}, content="beside", metadata="m")

    seen: list[list[Any]] = []
    for answer in (
        {},
        {"hookSpecificOutput": {"additionalContext": "Use tabs."}},
        {"hookSpecificOutput": {"updatedToolOutput": "hidden"}},
    ):
        with Hooks(tmp_path, settings=settings("AfterTool", answer)) as hooks:
            agent, _ = agent_with(hooks, Turn("", ("look", {})), Turn("Done."), tools=[look])
            parts = [part for message in asyncio.run(agent.run("Go.")).all_messages() for part in message.parts]
        seen.append([part.content for part in parts if part.part_kind in ("tool-return", "user-prompt")])
    assert seen[0] == ["Go.", {"n": 1}, "beside"]
    assert seen[1] == ["Go.", '{"n":1}\n\nUse tabs.', "beside"]
    assert seen[2] == ["Go.", "hidden"]


def test_runs_side_by_side_do_not_disturb_each_other(tmp_path: Path) -> None:
    """One agent serves many runs; the stop of one does not stop another, and each is a session."""
    lines = f"""
import json, sys
told = json.load(sys.stdin)
open({str(tmp_path / "ids")!r}, "a").write(told["session_id"] + "\\n")
if told["tool_input"]["number"] == 1:
    print(json.dumps({{"continue": False, "stopReason": "Enough."}}))
"""
    command = shlex.join([sys.executable, "-I", "-c", lines])
    hook = {"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": command}]}]}}

    def count(number: int) -> str:
        """Counts."""
        return f"counted {number}"

    def answer(messages: list[Any], _info: AgentInfo) -> ModelResponse:
        asked = messages[0].parts[-1].content
        is_first = len(messages) == 1
        return ModelResponse(
            [ToolCallPart("count", {"number": int(asked)}) if is_first else TextPart(f"Done {asked}.")]
        )

    async def both(agent: Any) -> list[str]:
        runs = (agent.run(str(number), conversation_id=f"c-{number}") for number in (1, 2))
        return [result.output for result in await asyncio.gather(*runs)]

    with Hooks(tmp_path, settings=hook) as hooks:
        agent = Agent(FunctionModel(answer), tools=[count], capabilities=[HooklineCapability(hooks)])
        assert asyncio.run(both(agent)) == ["Enough.", "Done 2."]
    assert sorted((tmp_path / "ids").read_text().split()) == ["c-1", "c-2"]


REPLACE = """
import json, sys
messages = json.load(sys.stdin)["llm_request"]["messages"]
for message in messages:
    message["content"] = message["content"].replace("4711", "[number]")
print(json.dumps({"hookSpecificOutput": {"llm_request": {"messages": messages, "config": {"temperature": 0.5}}}}))
"""


def test_a_rewritten_request_keeps_what_hooks_cannot_see(tmp_path: Path) -> None:
    """Images, tool calls, results and untouched messages stay; settings of the model are passed on."""
    image = ImageUrl("https://example.com/a.png")
    history = [
        ModelRequest([UserPromptPart(["Code 4711", image])]),
        ModelResponse([TextPart("Calls."), ToolCallPart("f", {"a": "4711"}, tool_call_id="c")]),
        ModelRequest([ToolReturnPart("f", "4711", tool_call_id="c"), UserPromptPart("More 4711.")]),
        ModelResponse([TextPart("Untouched.")]),
    ]
    seen: list[Any] = []

    def answer(messages: list[Any], info: AgentInfo) -> ModelResponse:
        seen.append((messages, info))
        return ModelResponse([TextPart("Done.")])

    command = shlex.join([sys.executable, "-I", "-c", REPLACE])
    hook = {"enableHooks": True, "hooks": {"BeforeModel": [{"hooks": [{"type": "command", "command": command}]}]}}
    with Hooks(tmp_path, settings=hook) as hooks:
        capabilities = [HooklineCapability(hooks)]
        agent = Agent(FunctionModel(answer), instructions="Never say 4711.", capabilities=capabilities)
        asyncio.run(agent.run("Again.", message_history=history))
    ((messages, info),) = seen
    assert messages[0].parts[0].content == ["Code [number]", image]
    assert messages[1] is history[1]
    assert [part.content for part in messages[2].parts] == ["4711", "More [number]."]
    assert messages[3] is history[3]
    assert messages[4].parts[0].content == "Again."
    assert info.instructions == "Never say [number]."
    assert info.model_settings["temperature"] == 0.5


def test_a_note_goes_with_the_next_request(tmp_path: Path) -> None:
    """The model reads the note of an AfterModel hook with the next request, once."""

    def count() -> str:
        """Counts."""
        return "one"

    with Hooks(tmp_path, settings=settings("AfterModel", {"systemMessage": "Be brief."})) as hooks:
        agent, script = agent_with(hooks, Turn("", ("count", {})), Turn("Done."), tools=[count])
        asyncio.run(agent.run("Go."))
    assert [request.texts[-1] for request in script.requests] == ["Go.", "[System] Be brief."]


def test_hooks_without_an_effect_are_reported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A message reports that suppressOutput hides nothing here."""
    with Hooks(tmp_path, settings=settings("AfterModel", {"suppressOutput": True})) as hooks:
        asyncio.run(agent_with(hooks, Turn("Done."))[0].run("Go."))
    assert "suppressOutput hides nothing in Pydantic AI" in capfd.readouterr().err


def test_a_stream_without_after_model_hooks_reports_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """No hook changed the answer that was streamed, so nothing is reported."""
    with Hooks(tmp_path, settings=settings("BeforeTool", {})) as hooks:
        assert "".join(asyncio.run(run_stream_events(agent_with(hooks, Turn("Done."))[0], "Go."))) == "Done."
    assert capfd.readouterr().err == ""


def test_a_before_model_hook_restricts_the_tools(tmp_path: Path) -> None:
    """A choice of tools in a rewritten request counts for the offer and for the calls."""
    allow = {"hookSpecificOutput": {"llm_request": {"toolConfig": {"allowedFunctionNames": ["second"]}}}}
    ran: list[str] = []

    def first() -> str:
        """The first tool."""
        ran.append("first")
        return "one"

    def second() -> str:
        """The second tool."""
        ran.append("second")
        return "two"

    turns = (Turn("", ("first", {})), Turn("", ("second", {})), Turn("Done."))
    with Hooks(tmp_path, settings=settings("BeforeModel", allow)) as hooks:
        agent, script = agent_with(hooks, *turns, tools=[first, second])
        asyncio.run(agent.run("Go."))
    assert ran == ["second"]
    assert {request.tools for request in script.requests} == {("second",)}
    assert "first is not allowed now" in script.requests[-1].results[0]


def test_after_a_stop_no_tool_runs(tmp_path: Path) -> None:
    """Where answers are streamed before AfterModel hooks have answered, a stop still prevents their calls."""
    ran: list[str] = []

    def count() -> str:
        """Counts."""
        ran.append("count")
        return "one"

    stop = settings("AfterModel", {"continue": False, "stopReason": "Enough."})
    with Hooks(tmp_path, settings={**stop, "hooksConfig": {"streamDuringAfterModel": True}}) as hooks:
        agent, script = agent_with(hooks, Turn("I count.", ("count", {})), tools=[count])
        assert "".join(asyncio.run(run_stream_events(agent, "Go."))) == "I count.Enough."
    assert (ran, len(script.requests)) == ([], 1)


def kinds_in(union: Any, name: str) -> set[str]:
    """The kinds of the parts in a union of Pydantic AI's types."""
    if get_args(union):
        return {kind for one in get_args(union) for kind in kinds_in(one, name)}
    return {getattr(union, name)} if hasattr(union, name) else set()


@dataclass
class Part:
    """A part of any kind."""

    part_kind: str = ""
    kind: str = ""
    content: str = "a"


def test_every_part_of_pydantic_ai_is_known() -> None:
    """A new version with a new kind of part fails here first; any other is an error, and never hidden."""
    request, response, items = (
        kinds_in(native.ModelRequestPart, "part_kind"),
        kinds_in(native.ModelResponsePart, "part_kind"),
        kinds_in(native.UserContent, "kind"),
    )
    assert (len(request) >= 12, len(response) >= 8, len(items) >= 9) == (True, True, True)

    def asked(part: Any) -> Any:
        return formats.to_hook_llm_request({"messages": [ModelRequest([part])]})

    def answered(part: Any) -> Any:
        return formats.to_hook_llm_response(ModelResponse([part]))

    def prompted(item: Any) -> Any:
        part = UserPromptPart(["Hi."])
        part.content = ["Hi.", item]
        return asked(part)

    for kind in request:
        asked(Part(part_kind=kind))
    for kind in response:
        answered(Part(part_kind=kind))
    for kind in items:
        prompted(Part(kind=kind))
    for to_hook, where in ((asked, r"messages\[0\]\.parts"), (answered, r"the response\.parts"), (prompted, "content")):
        with pytest.raises(FormatError, match=rf"{where}\[\d\] is of the unknown type 'mystery'"):
            to_hook(Part("mystery", "mystery"))
    with pytest.raises(FormatError, match=r"messages\[0\] is an object with role, content"):
        formats.to_hook_llm_request({"messages": [{"role": "user", "content": "hi"}]})


def test_changed_instructions_are_seen() -> None:
    """An instruction that changes in the middle of a conversation is a system text as well."""
    delta = native.InstructionDeltaPart(id=native.InstructionId(native.AgentInstructionSource()), content="Say 4711.")
    given = {"messages": [ModelRequest([delta, UserPromptPart("Go.")])]}
    told = formats.to_hook_llm_request(given)
    assert told["messages"] == [{"role": "system", "content": "Say 4711."}, {"role": "user", "content": "Go."}]
    wanted: Any = {**told, "messages": [{"role": "system", "content": "Say it."}, told["messages"][1]]}
    (request,) = formats.from_hook_llm_request(wanted, given)["messages"]
    assert [part.content for part in request.parts] == ["Say it.", "Go."]
    (request,) = formats.from_hook_llm_request({**wanted, "messages": [told["messages"][1]]}, given)["messages"]
    assert [part.content for part in request.parts] == [None, "Go."]


def test_a_note_on_the_last_answer_waits_for_the_conversation(tmp_path: Path) -> None:
    """The next run of the conversation has it, once, also with another agent; a run of another has not."""
    with Hooks(tmp_path, settings=settings("AfterModel", {"systemMessage": "Be brief."})) as hooks:
        agent, script = agent_with(hooks, Turn("One."), Turn("Two."))
        history = asyncio.run(agent.run("Go.")).all_messages()
        asyncio.run(agent.run("Other."))
        other, later = agent_with(hooks, Turn("Three."))
        asyncio.run(other.run("Again.", message_history=history))
    assert [request.texts[-1] for request in script.requests] == ["Go.", "Other."]
    assert later.requests[0].texts[-2:] == ("Again.", "[System] Be brief.")
