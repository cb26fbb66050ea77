"""Google ADK's agents with hooks: the table of effects, for `run`, `run_async` and streamed events."""

import asyncio
import gc
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.adk", reason="Google ADK is not installed here: `make adapters` runs these tests")

from google.adk.agents import Agent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.agents.live_request_queue import LiveRequestQueue
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.code_executors import UnsafeLocalCodeExecutor
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from tests.answers import says

from hookline import Hooks
from hookline.adapters.adk import HooklinePlugin
from hookline.adapters.table import adapter_named
from hookline.testing import effects
from hookline.testing.effects import Conversation, Request, RunOutcome, Turn

# ADK's own warnings, about its own features.
pytestmark = pytest.mark.filterwarnings("ignore")
CANNOT = adapter_named("adk").cannot


class FakeModel(BaseLlm):
    """Answers with its turns, one or several calls each, and remembers its requests."""

    model: str = "fake"
    turns: list[Any] = []  # noqa: RUF012 - a field of a pydantic model
    requests: list[Any] = []  # noqa: RUF012 - the same
    piece: int = 8

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncIterator[LlmResponse]:
        """In pieces, if it has to stream, and then the whole."""
        self.requests.append(seen(llm_request))
        assert self.turns, "the model was asked more often than the script says"
        turn = self.turns.pop(0)
        if stream:
            for at in range(0, len(turn.text), self.piece):
                yield LlmResponse(content=types.ModelContent(turn.text[at : at + self.piece]), partial=True)
        calls = turn.call if isinstance(turn.call, list) else [] if turn.call is None else [turn.call]
        parts = [types.Part(text=turn.text)] if turn.text else []
        parts += [types.Part.from_function_call(name=name, args=dict(arguments)) for name, arguments in calls]
        yield LlmResponse(content=types.ModelContent(parts), finish_reason=types.FinishReason.STOP, partial=False)


def seen(request: Any) -> Request:
    """The requests that the model gets."""
    parts = [part for content in request.contents for part in content.parts or ()]
    results = [part.function_response.response for part in parts if part.function_response]
    tools = [one.name for tool in request.config.tools or () for one in tool.function_declarations or ()]
    return Request(
        texts=(str(request.config.system_instruction), *(part.text for part in parts if part.text)),
        results=tuple("\n".join(f"{key}: {value}" for key, value in one.items()) for one in results),
        tools=tuple(tools),
    )


async def run_async(runner: Any, prompt: str, config: Any = None, session_id: str = "s") -> list[str]:
    """The texts of all events."""
    where = {"app_name": runner.app_name, "user_id": "u", "session_id": session_id}
    if await runner.session_service.get_session(**where) is None:
        await runner.session_service.create_session(**where)
    message = types.UserContent(prompt)
    events = runner.run_async(user_id="u", session_id=session_id, new_message=message, run_config=config)
    return [text async for event in events for text in texts(event)]


def texts(event: Any) -> list[str]:
    """The texts that an event shows."""
    parts = event.content.parts or [] if event.content else []
    return [part.text for part in parts if part.text]


async def run_streamed(runner: Any, prompt: str) -> list[str]:
    """With partial events."""
    return await run_async(runner, prompt, RunConfig(streaming_mode=StreamingMode.SSE))


async def run_in_full(runner: Any, prompt: str) -> list[str]:
    """With partial events, and everything that an event and the stored session hold."""
    where = {"app_name": runner.app_name, "user_id": "u", "session_id": "s"}
    await runner.session_service.create_session(**where)
    config = RunConfig(streaming_mode=StreamingMode.SSE)
    events = runner.run_async(user_id="u", session_id="s", new_message=types.UserContent(prompt), run_config=config)
    seen = [event.model_dump_json() async for event in events]
    return [*seen, (await runner.session_service.get_session(**where)).model_dump_json()]


async def run_sync(runner: Any, prompt: str) -> list[str]:
    """Blocking, also for the loop of this test."""
    await runner.session_service.create_session(app_name=runner.app_name, user_id="u", session_id="s")
    events = runner.run(user_id="u", session_id="s", new_message=types.UserContent(prompt))
    return [text for event in events for text in texts(event)]


@dataclass
class AdkHost:
    """A runner with one agent and a fake model."""

    mode: Callable[..., Any] = run_async
    piece: int = 8

    async def run(self, hooks: Hooks, conversation: Conversation, tools: Sequence[Callable[..., str]]) -> RunOutcome:
        """The conversation in a new agent."""
        model = FakeModel(turns=list(conversation.turns), requests=[], piece=self.piece)
        agent = Agent(name="agent", model=model, instruction=conversation.system, tools=list(tools))
        shown = await self.mode(runner_of(agent, hooks), conversation.prompt)
        return RunOutcome(shown=tuple(shown), requests=tuple(model.requests))


def runner_of(agent: Any, hooks: Hooks, *others: Any) -> Any:
    """A runner with these plugins and ours."""
    return InMemoryRunner(agent, plugins=[*others, HooklinePlugin(hooks)])


MODES = [pytest.param(mode, id=mode.__name__) for mode in (run_async, run_streamed, run_sync)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("effect", [*effects.ROWS, effects.NO_LEAK], ids=str)
def test_effect(effect: effects.Effect, mode: Callable[..., Any]) -> None:
    """Every effect, however the agent is run."""
    asyncio.run(effects.check(AdkHost(mode), effect, cannot=CANNOT))


def test_partial_events_do_not_leak() -> None:
    """Nothing in an event, nor in the session, shows the text that an AfterModel hook redacts."""
    asyncio.run(effects.check(AdkHost(run_in_full, piece=100), effects.NO_LEAK, cannot=CANNOT))


def settings(**commands: str) -> dict[str, Any]:
    """A hook for each event."""
    events = {event: [{"hooks": [{"type": "command", "command": command}]}] for event, command in commands.items()}
    return {"enableHooks": True, "hooks": events}


STOP = says({"continue": False, "stopReason": "The budget is spent."})
WRITE = ("write_file", {"path": "a.txt"})


@dataclass
class World:
    """One test's hooks and tool calls."""

    project: Path
    hooks: Hooks
    ran: list[str] = field(default_factory=list)

    def write_file(self, path: str) -> str:
        """Writes a file."""
        self.ran.append(path)
        return f"Wrote {path}."

    def agent(self, *turns: Turn, name: str = "agent", **options: Any) -> Any:
        """An agent with a fake model."""
        options.setdefault("tools", [self.write_file])
        return Agent(name=name, model=FakeModel(turns=list(turns), requests=[]), **options)

    def fired(self, event: str) -> int:
        """How many events the hook `echo >> EVENT` has counted."""
        path = self.project / event
        return len(path.read_text().splitlines()) if path.exists() else 0


def world(tmp_path: Path, **commands: str) -> World:
    """Hooks from settings in code."""
    return World(tmp_path, Hooks(tmp_path, settings=settings(**commands)))


def test_refused_tool_has_no_after_tool_event(tmp_path: Path) -> None:
    """ADK calls `after_tool_callback` for a tool that was refused: AfterTool hooks are not asked about it."""
    one = world(tmp_path, BeforeTool="echo no >&2; exit 2", AfterTool="echo >> AfterTool")
    agent = one.agent(Turn(call=WRITE), Turn("done"))
    assert asyncio.run(run_async(runner_of(agent, one.hooks), "go")) == ["done"]
    assert (one.ran, one.fired("AfterTool")) == ([], 0)
    assert agent.model.requests[-1].results == ("error: no",)


def test_stop_refuses_the_other_calls_of_the_turn(tmp_path: Path) -> None:
    """A call that has not begun when another one of its turn stops the run is refused."""
    ask = says({"hookSpecificOutput": {"permissionDecision": "ask"}})
    one = world(tmp_path, BeforeTool=f"if grep -q stop.txt; then {STOP}; else {ask}; fi", AfterTool="echo >> AfterTool")

    async def allow_when_stopped(_reason: str, _arguments: Any) -> bool:
        while not any(run.stop.reason for run in plugin._runs.values()):  # noqa: ASYNC110 - nothing else shows it
            await asyncio.sleep(0.01)
        return True

    hooks = Hooks.from_config(one.hooks.config, on_ask=allow_when_stopped)
    plugin = HooklinePlugin(hooks)
    agent = one.agent(Turn(call=[WRITE, ("write_file", {"path": "stop.txt"})]))  # type: ignore[arg-type]
    shown = asyncio.run(run_async(InMemoryRunner(agent, plugins=[plugin]), "go"))
    assert (shown, one.ran, one.fired("AfterTool")) == (["The budget is spent."], [], 0)


def test_stop_is_shown_where_the_tool_ends_the_run(tmp_path: Path) -> None:
    """A tool whose result the model does not read: the reason of the stop is shown all the same."""

    def finish(tool_context: ToolContext) -> str:
        """Finishes."""
        tool_context.actions.skip_summarization = True
        return "finished"

    one = world(tmp_path, AfterTool=STOP)
    agent = one.agent(Turn(call=("finish", {})), tools=[finish])
    assert asyncio.run(run_async(runner_of(agent, one.hooks), "go")) == ["The budget is spent."]


@pytest.mark.parametrize("kind", [SequentialAgent, LoopAgent, ParallelAgent])
def test_stop_ends_every_agent(tmp_path: Path, kind: Any) -> None:
    """A stop in one agent ends those that would follow, also a loop without a limit."""
    one = world(tmp_path, AfterTool=STOP)
    first = one.agent(Turn(call=WRITE), name="first")
    second = one.agent(*([] if kind is not ParallelAgent else [Turn(call=WRITE)]), name="second")
    both = kind(name="both", sub_agents=[first, second])
    shown = asyncio.run(run_async(runner_of(both, one.hooks), "go"))
    assert set(shown) == {"The budget is spent."}
    assert len(shown) == 1 or kind is ParallelAgent


def test_stop_ends_a_transfer(tmp_path: Path) -> None:
    """The agent that a stopping call transfers to does not run, and the reason is shown."""
    one = world(tmp_path, AfterTool=STOP)
    second = one.agent(name="second", description="The other one.")
    first = one.agent(Turn(call=("transfer_to_agent", {"agent_name": "second"})), name="first", sub_agents=[second])
    assert asyncio.run(run_async(runner_of(first, one.hooks), "go")) == ["The budget is spent."]


def test_stop_holds_for_its_run_only(tmp_path: Path) -> None:
    """The user's next prompt is answered."""
    one = world(tmp_path, AfterTool=STOP)
    runner = runner_of(one.agent(Turn(call=WRITE), Turn("hello")), one.hooks)
    assert asyncio.run(_twice(runner)) == [["The budget is spent."], ["hello"]]


async def _twice(runner: Any) -> list[list[str]]:
    return [await run_async(runner, "go"), await run_async(runner, "again")]


def test_agents_as_tools_have_hooks(tmp_path: Path) -> None:
    """ADK runs an agent that is another's tool in a separate runner, with the same plugins."""
    one = world(tmp_path, BeforeTool='if grep -q \'"tool_name":"write_file"\'; then echo no >&2; exit 2; fi')
    inner = one.agent(Turn(call=WRITE), Turn("inner done"), name="inner")
    outer = one.agent(Turn(call=("inner", {"request": "go"})), Turn("done"), name="outer", tools=[AgentTool(inner)])
    assert asyncio.run(run_async(runner_of(outer, one.hooks), "go")) == ["done"]
    assert one.ran == []


def test_restriction_is_each_agents_own(tmp_path: Path) -> None:
    """Agents that run side by side: the tools of one are not the tools of the other."""
    only_a = """
import json, sys
told = json.load(sys.stdin)
first = any("first" in message["content"] for message in told["llm_request"]["messages"])
names = ["write_file"] if first else []
print(json.dumps({"hookSpecificOutput": {"toolConfig": {"allowedFunctionNames": names}}}))
"""
    (tmp_path / "select.py").write_text(only_a)
    one = world(tmp_path, BeforeToolSelection="python3 select.py")
    agents = [
        one.agent(Turn(call=("write_file", {"path": name})), Turn("done"), name=name, instruction=f"You are {name}.")
        for name in ("first", "second")
    ]
    runner = runner_of(ParallelAgent(name="both", sub_agents=agents), one.hooks, _Names("names"))
    asyncio.run(run_async(runner, "go"))
    assert one.ran == ["first"]


class _Names(BasePlugin):
    """Adds the agent's name to the conversation, where hooks see it."""

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        llm_request.contents.append(types.UserContent(f"I am {callback_context.agent_name}."))


def test_answer_of_another_plugin_has_an_after_tool_event(tmp_path: Path) -> None:
    """A plugin before ours that answers in place of a tool: AfterTool hooks still read what the model will read."""

    class Cache(BasePlugin):
        async def before_tool_callback(self, **_: Any) -> dict[str, Any]:
            return {"result": "cached"}

    added = says({"hookSpecificOutput": {"additionalContext": "Use tabs."}})
    one = world(tmp_path, AfterTool=added)
    agent = one.agent(Turn(call=WRITE), Turn("done"))
    asyncio.run(run_async(runner_of(agent, one.hooks, Cache("cache")), "go"))
    assert agent.model.requests[-1].results == ("result: cached\n\nUse tabs.",)
    assert one.ran == []


def test_result_that_is_no_text(tmp_path: Path) -> None:
    """A dictionary stays one where hooks add nothing, and is read as JSON where they do."""

    def look() -> dict[str, Any]:
        """Looks."""
        return {"size": 3}

    plain, added = world(tmp_path, AfterTool="true"), world(tmp_path, AfterTool=says({"systemMessage": "Small."}))
    for one, expected in ((plain, "size: 3"), (added, 'result: {"size":3}\n\n[System] Small.')):
        agent = one.agent(Turn(call=("look", {})), Turn("done"), tools=[look])
        asyncio.run(run_async(runner_of(agent, one.hooks), "go"))
        assert agent.model.requests[-1].results == (expected,)


def test_long_running_tool_is_not_answered_early(tmp_path: Path) -> None:
    """A long-running tool has no result yet: hooks run, and no other result takes its place."""

    def approve() -> None:
        """Asks somebody."""

    one = world(tmp_path, AfterTool=f"echo >> AfterTool; {says({'systemMessage': 'Wait.'})}")
    agent = one.agent(Turn(call=("approve", {})), tools=[LongRunningFunctionTool(approve)])
    assert asyncio.run(run_async(runner_of(agent, one.hooks), "go")) == []
    assert (len(agent.model.requests), one.fired("AfterTool")) == (1, 1)


def test_note_goes_with_the_next_request(tmp_path: Path) -> None:
    """A note of an AfterModel hook is for the next request, also if that is in the next run, and only for that."""
    note = "if [ -e said ]; then :; else touch said; " + says({"systemMessage": "Be kind."}) + "; fi"
    one = world(tmp_path, AfterModel=note)
    agent = one.agent(Turn("one"), Turn("two"), Turn("three"))
    runner = runner_of(agent, one.hooks)

    async def thrice() -> None:
        for prompt in ("a", "b", "c"):
            await run_async(runner, prompt)

    asyncio.run(thrice())
    assert ["[System] Be kind." in request.texts for request in agent.model.requests] == [False, True, False]


def test_partial_events_are_shown_without_after_model_hooks(tmp_path: Path) -> None:
    """Where nothing can redact a response, it is streamed."""
    one = world(tmp_path, BeforeModel="true")
    runner = runner_of(one.agent(Turn("It is a long text.")), one.hooks)
    assert asyncio.run(run_streamed(runner, "go"))[:2] == ["It is a ", "long tex"]


def test_quotes_of_a_redacted_text_are_dropped(tmp_path: Path) -> None:
    """Fields beside the content would show the old text, so they are dropped."""

    class Quoting(FakeModel):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncIterator[LlmResponse]:
            async for response in super().generate_content_async(llm_request, stream):
                segment = types.Segment(text="s3cret")
                support = types.GroundingSupport(segment=segment)
                response.grounding_metadata = types.GroundingMetadata(grounding_supports=[support])
                yield response

    one = world(tmp_path, AfterModel=says({"hookSpecificOutput": {"llm_response": {"text": "[redacted]"}}}))
    agent = Agent(name="agent", model=Quoting(turns=[Turn("It is s3cret.")], requests=[]))
    runner = runner_of(agent, one.hooks)

    async def events() -> str:
        await runner.session_service.create_session(app_name=runner.app_name, user_id="u", session_id="s")
        message = types.UserContent("go")
        found = [event async for event in runner.run_async(user_id="u", session_id="s", new_message=message)]
        return "".join(event.model_dump_json() for event in found)

    told = asyncio.run(events())
    assert "[redacted]" in told
    assert "s3cret" not in told


@pytest.mark.parametrize("event", ["BeforeToolSelection", "BeforeModel", "AfterModel"])
def test_live_runs_are_refused(tmp_path: Path, event: str) -> None:
    """A live run sends and shows everything at once: with hooks for model calls it does not begin."""
    one = world(tmp_path, **{event: "true"})
    runner = runner_of(one.agent(), one.hooks)

    async def live() -> None:
        await runner.session_service.create_session(app_name=runner.app_name, user_id="u", session_id="s")
        events = runner.run_live(user_id="u", session_id="s", live_request_queue=LiveRequestQueue())
        async with aclosing(events):
            async for _ in events:
                pass

    with pytest.raises(RuntimeError, match=f"{event} hooks can't be applied to Google ADK's live runs"):
        asyncio.run(live())


def test_code_executor_is_reported_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """ADK runs the code of a code_executor without any plugin, which is reported if BeforeTool hooks exist."""
    one = world(tmp_path, BeforeTool="true")
    agent = one.agent(Turn("a"), Turn("b"), tools=[], code_executor=UnsafeLocalCodeExecutor())
    asyncio.run(_twice(runner_of(agent, one.hooks)))
    assert capsys.readouterr().err.count("BeforeTool hooks can't check it") == 1


def test_cancelled_run_is_forgotten(tmp_path: Path) -> None:
    """A run that is cancelled leaves nothing behind."""
    one = world(tmp_path, BeforeTool="true")
    started = asyncio.Event()

    async def wait() -> str:
        """Waits."""
        started.set()
        await asyncio.sleep(60)
        return ""

    plugin = HooklinePlugin(one.hooks)
    runner = InMemoryRunner(one.agent(Turn(call=("wait", {})), tools=[wait]), plugins=[plugin])

    async def cancel() -> None:
        task = asyncio.create_task(run_async(runner, "go"))
        await started.wait()
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(cancel())
    gc.collect()
    assert not plugin._runs


def test_the_example_prints_what_is_shown() -> None:
    """The example runs as a reader would run it."""
    example = Path(__file__).parents[2] / "examples" / "adapters" / "adk_agent.py"
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (0, example.with_suffix(".txt").read_text()), done.stderr
