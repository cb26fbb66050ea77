"""Agents of OpenAI's Agents SDK with hooks: the table of effects, for `run`, `run_sync` and `run_streamed`."""

import asyncio
import inspect
import itertools
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agents", reason="the Agents SDK is not installed here: `make adapters` runs these tests")

from agents import (
    Agent,
    AgentHooks,
    ApplyPatchTool,
    ModelSettings,
    RunConfig,
    Runner,
    ToolOutputText,
    WebSearchTool,
    function_tool,
    handoff,
    set_tracing_disabled,
)
from agents.mcp import MCPServerStdio
from agents.testing import ScriptedModel, assistant_message, function_call
from pydantic import BaseModel
from tests.answers import says

from hookline import Hooks
from hookline.adapters.openai_agents import with_hooks
from hookline.adapters.table import adapter_named
from hookline.errors import AgentStoppedError, HooklineError
from hookline.log.paths import default_log_path
from hookline.testing import effects
from hookline.testing.effects import Conversation, Request, RunOutcome, Turn

set_tracing_disabled(True)
CANNOT = adapter_named("openai_agents").cannot


def model_of(*turns: Turn) -> ScriptedModel:
    """The SDK's own fake model."""
    return ScriptedModel([items(turn) for turn in turns])


IDS = itertools.count()


def items(turn: Turn) -> list[Any]:
    """One answer of the model; a list of calls stands for several."""
    given_calls: Any = turn.call
    calls = given_calls if isinstance(given_calls, list) else [] if given_calls is None else [given_calls]
    said = [assistant_message(turn.text)] if turn.text else []
    made = [function_call(name, json.dumps(dict(given)), call_id=f"c{next(IDS)}") for name, given in calls]
    return [*said, *made]


def seen(call: Any) -> Request:
    """The requests that the model got."""
    given = [{"role": "user", "content": call.input}] if isinstance(call.input, str) else call.input
    texts = [text for item in given if "role" in item for text in texts_of(item["content"])]
    results = [item["output"] for item in given if item.get("type") == "function_call_output"]
    return Request(
        texts=(call.system_instructions or "", *texts),
        results=tuple(map(str, results)),
        tools=() if call.model_settings.tool_choice == "none" else tuple(tool.name for tool in call.tools),
    )


def texts_of(content: Any) -> list[str]:
    """The texts of a message."""
    return [content] if isinstance(content, str) else [part["text"] for part in content if "text" in part]


def shown(result: Any) -> list[str]:
    """The texts of a run's result."""
    messages = [item for item in result.new_items if item.type == "message_output_item"]
    return [part.text for item in messages for part in item.raw_item.content]


async def run(agent: Any, prompt: str) -> list[str]:
    """The whole result."""
    return shown(await Runner.run(agent, prompt))


async def run_sync(agent: Any, prompt: str) -> list[str]:
    """Blocking, in a separate thread, because the SDK refuses to block a loop."""
    found: list[Any] = []

    def blocking() -> None:
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)  # the SDK would make one, and leave it open
        try:
            found.append(Runner.run_sync(agent, prompt))
        except BaseException as error:  # noqa: BLE001 - raised again, in the test's own thread
            found.append(error)
        finally:
            loop.close()

    thread = threading.Thread(target=blocking)
    thread.start()
    await asyncio.to_thread(thread.join)
    if isinstance(found[0], BaseException):
        raise found[0]
    return shown(found[0])


async def run_streamed(agent: Any, prompt: str) -> list[str]:
    """Everything that a stream has."""
    result = Runner.run_streamed(agent, prompt)
    return [text async for event in result.stream_events() for text in streamed(event)]


def streamed(event: Any) -> list[str]:
    """The texts of an event."""
    if event.type == "raw_response_event":
        if event.data.type == "response.output_text.delta":
            return [event.data.delta]
        assert "s3cret" not in event.data.model_dump_json()
    return shown(_Items([event.item])) if event.type == "run_item_stream_event" else []


@dataclass
class _Items:
    new_items: list[Any]


@dataclass
class AgentsHost:
    """A runner with one agent and a fake model."""

    mode: Callable[..., Any] = run

    async def run(self, hooks: Hooks, conversation: Conversation, tools: Sequence[Callable[..., str]]) -> RunOutcome:
        """The conversation in a new agent."""
        model = model_of(*conversation.turns)
        agent = Agent(
            name="agent", instructions=conversation.system, model=model, tools=[function_tool(tool) for tool in tools]
        )
        texts = await self.mode(with_hooks(agent, hooks), conversation.prompt)
        return RunOutcome(shown=tuple(texts), requests=tuple(map(seen, model.calls)))


MODES = [pytest.param(mode, id=mode.__name__) for mode in (run, run_streamed, run_sync)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("effect", [*effects.ROWS, effects.NO_LEAK], ids=str)
def test_effect(effect: effects.Effect, mode: Callable[..., Any]) -> None:
    """Every effect, however the agent is run."""
    asyncio.run(effects.check(AgentsHost(mode), effect, cannot=CANNOT))


STOP = says({"continue": False, "stopReason": "The budget is spent."})
WRITE = ("write_file", {"path": "a.txt"})
NO = "echo no >&2; exit 2"
ONLY_WRITE = says({"hookSpecificOutput": {"toolConfig": {"allowedFunctionNames": ["write_file"]}}})


@dataclass
class World:
    """One test's hooks and tool calls."""

    project: Path
    hooks: Hooks
    ran: list[str] = field(default_factory=list)

    def agent(self, *turns: Turn, **options: Any) -> Any:
        """An agent with a fake model."""

        def write_file(path: str) -> str:
            """Writes a file."""
            self.ran.append(path)
            return f"Wrote {path}."

        options = {"name": "agent", "tools": [function_tool(write_file)], **options}
        return Agent(model=model_of(*turns), **options)

    def hooked(self, *turns: Turn, **options: Any) -> Any:
        """The same with hooks."""
        return with_hooks(self.agent(*turns, **options), self.hooks)

    def fired(self, event: str) -> int:
        """How many events the hook `echo >> EVENT` has counted."""
        path = self.project / event
        return len(path.read_text().splitlines()) if path.exists() else 0


def world(tmp_path: Path, **commands: str) -> World:
    """Hooks from settings in code."""
    events = {event: [{"hooks": [{"type": "command", "command": command}]}] for event, command in commands.items()}
    return World(tmp_path, Hooks(tmp_path, settings={"enableHooks": True, "hooks": events}))


def requests(agent: Any) -> list[Request]:
    """The requests that an agent's model got."""
    return [seen(call) for call in agent.model.inner.calls]


def test_given_agent_stays_as_it_is(tmp_path: Path) -> None:
    """The hooks are around a copy."""
    one = world(tmp_path, BeforeTool=NO)
    agent = one.agent(Turn(call=WRITE), Turn("done"))
    with_hooks(agent, one.hooks)
    assert asyncio.run(run(agent, "go")) == ["done"]
    assert one.ran == ["a.txt"]


def test_clone_with_another_model_keeps_the_hooks(tmp_path: Path) -> None:
    """A copy of a copy, another model, a tool that is added later: all of them have hooks."""
    one = world(tmp_path, BeforeTool=NO, BeforeModel="echo >> BeforeModel")
    agent = one.hooked(Turn("never")).clone(model=model_of(Turn(call=("late", {})), Turn("done")))

    @function_tool
    def late() -> str:
        """Comes late."""
        one.ran.append("late")
        return ""

    agent.tools.append(late)
    assert asyncio.run(run(agent, "go")) == ["done"]
    assert (one.ran, one.fired("BeforeModel")) == ([], 2)


SERVER = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("files")
@server.tool()
def write_file(path: str) -> str:
    open(path, "w").close()
    return "Wrote " + path
server.run()
"""


@pytest.mark.parametrize("is_denied", [False, True])
def test_tools_of_mcp_servers_have_hooks(tmp_path: Path, is_denied: bool) -> None:
    """A real MCP server: its tool runs, or is refused."""
    one = world(tmp_path, BeforeTool=NO if is_denied else "true")
    (tmp_path / "server.py").write_text(SERVER)
    written = tmp_path / "a.txt"
    agent = one.agent(Turn(call=("write_file", {"path": str(written)})), Turn("done"), tools=[])

    async def with_server() -> list[str]:
        params: Any = {"command": sys.executable, "args": [str(tmp_path / "server.py")]}
        async with MCPServerStdio(params, client_session_timeout_seconds=15) as server:
            agent.mcp_servers = [server]
            return await run(with_hooks(agent, one.hooks), "go")

    assert asyncio.run(with_server()) == ["done"]
    assert written.exists() is not is_denied
    assert ("no" in seen(agent.model.calls[-1]).results[0]) is is_denied


def test_handoffs_have_hooks(tmp_path: Path) -> None:
    """The agent that is handed over to has hooks, too, also one that hands back, and one that is added later."""
    one = world(tmp_path, BeforeTool=f"if grep -q write_file; then {NO}; fi")
    second = one.agent(Turn(call=WRITE), Turn(call=("transfer_to_first", {})), name="second")
    first = one.agent(
        Turn(call=("transfer_to_second", {})),
        Turn(call=("transfer_to_third", {})),
        name="first",
        handoffs=[second],
    )
    second.handoffs.append(first)
    third = one.agent(Turn(call=WRITE), Turn("done"), name="third")
    agent = with_hooks(first, one.hooks)
    assert agent.handoffs[0]._agent_ref().handoffs[0]._agent_ref() is agent
    agent.handoffs.append(handoff(third))
    assert asyncio.run(run(agent, "go")) == ["done"]
    assert one.ran == []


@pytest.mark.parametrize(
    ("commands", "offered"),
    [
        pytest.param({"BeforeTool": NO}, 1, id="denied"),
        pytest.param({"BeforeToolSelection": ONLY_WRITE}, 0, id="restricted"),
    ],
)
def test_handoff_can_be_refused(tmp_path: Path, commands: dict[str, str], offered: int) -> None:
    """A handoff is a tool call for hooks. If it is refused, the agent continues, and its model reads why."""
    one = world(tmp_path, **commands)
    second = one.agent(Turn("I am the second."), name="second")
    first = one.hooked(Turn(call=("transfer_to_second", {})), Turn("still me"), name="first", handoffs=[second])
    assert asyncio.run(run(first, "go")) == ["still me"]
    assert "[System] transfer_to_second was not done: " in requests(first)[-1].texts[-1]
    assert [len(call.handoffs) for call in first.model.inner.calls] == [offered, offered]


def test_stop_refuses_the_other_calls_of_the_turn(tmp_path: Path) -> None:
    """A call that has not begun when another one of its turn stops the run is refused."""
    one = world(tmp_path)
    ask = says({"hookSpecificOutput": {"permissionDecision": "ask"}})
    command = f"if grep -q stop.txt; then {STOP}; else {ask}; fi"
    settings = {"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": command}]}]}}

    async def allow_when_stopped(_reason: str, _arguments: Any) -> bool:
        runs = agent.hookline._runs
        while not any(run.stop.reason for run in runs.values()):  # noqa: ASYNC110 - nothing else shows it
            await asyncio.sleep(0.01)
        return True

    one.hooks = Hooks(tmp_path, settings=settings, on_ask=allow_when_stopped)
    agent = one.hooked(Turn(call=[WRITE, ("write_file", {"path": "stop.txt"})]))  # type: ignore[arg-type]
    assert asyncio.run(run(agent, "go")) == ["The budget is spent."]
    assert one.ran == []


def test_stop_is_shown_where_the_tool_ends_the_run(tmp_path: Path) -> None:
    """A tool whose output is the run's: the reason of the stop is in it."""
    one = world(tmp_path, AfterTool=STOP)
    agent = one.hooked(Turn(call=WRITE), tool_use_behavior="stop_on_first_tool")
    assert asyncio.run(Runner.run(agent, "go")).final_output == "Wrote a.txt.\n\nThe budget is spent."


def test_stop_holds_for_its_run_only(tmp_path: Path) -> None:
    """The next run of the same agent, in the same task, is answered."""
    one = world(tmp_path, AfterTool=STOP)
    agent = one.hooked(Turn(call=WRITE), Turn("hello"))

    async def twice() -> list[list[str]]:
        return [await run(agent, "go"), await run(agent, "again")]

    assert asyncio.run(twice()) == [["The budget is spent."], ["hello"]]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("commands", [{"AfterModel": STOP}, {"BeforeModel": NO}], ids=["stop", "block"])
def test_output_type_without_place_for_a_reason(
    tmp_path: Path, commands: dict[str, str], mode: Callable[..., Any]
) -> None:
    """A reason does not fit the agent's output type, so the run ends with an exception that has it."""

    class Answer(BaseModel):
        number: int

    one = world(tmp_path, **commands)
    with pytest.raises(AgentStoppedError, match=r"The budget is spent\.|no"):
        asyncio.run(mode(one.hooked(Turn('{"number": 1}'), output_type=Answer), "go"))


def test_model_of_the_run_config_is_refused(tmp_path: Path) -> None:
    """A model that RunConfig puts in the place of the agent's has no hooks: its answer and its calls are not used."""
    one = world(tmp_path, AfterModel="true")
    for turns in ([Turn("unguarded")], [Turn(call=WRITE), Turn("unguarded")]):
        config = RunConfig(model=model_of(*turns))
        with pytest.raises(HooklineError, match=r"RunConfig\.model took"):
            asyncio.run(Runner.run(one.hooked(), "go", run_config=config))
    assert one.ran == []
    free, config = world(tmp_path, BeforeTool="true"), RunConfig(model=model_of(Turn("done")))
    assert asyncio.run(Runner.run(free.hooked(), "go", run_config=config)).final_output == "done"


def test_own_callbacks_are_called(tmp_path: Path) -> None:
    """The agent's AgentHooks still get everything."""
    got: list[str] = []

    class Own(AgentHooks[Any]):
        async def on_start(self, context: Any, agent: Any) -> None:  # noqa: ARG002 - the SDK's names
            got.append("start")

        async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:  # noqa: ARG002 - the same
            got.append("llm end")

        async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:  # noqa: ARG002 - the same
            got.append(result)

    one = world(tmp_path, BeforeTool="true")
    asyncio.run(run(one.hooked(Turn(call=WRITE), Turn("done"), hooks=Own()), "go"))
    assert got == ["start", "llm end", "Wrote a.txt.", "llm end"]


def test_local_tools_that_have_no_hooks_are_refused(tmp_path: Path) -> None:
    """The SDK runs some tools itself: with hooks for tools such an agent does not run."""
    tool = ApplyPatchTool(editor=None)  # it is never asked
    guarded, free = world(tmp_path, BeforeTool="true"), world(tmp_path, BeforeModel="true")
    with pytest.raises(HooklineError, match="BeforeTool hooks can't be applied to the tool apply_patch"):
        asyncio.run(run(guarded.hooked(Turn("done"), tools=[tool]), "go"))
    assert asyncio.run(run(free.hooked(Turn("done"), tools=[tool]), "go")) == ["done"]


def test_hosted_tools_and_plain_agents_as_tools_are_reported_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Stderr reports the calls that no hook can see."""
    one = world(tmp_path, BeforeTool="true")
    inner = one.agent(name="inner").as_tool("inner", "An agent.")
    agent = one.hooked(Turn("a"), Turn("b"), tools=[WebSearchTool(), inner])
    asyncio.run(run(agent, "go"))
    asyncio.run(run(agent, "go"))
    err = capsys.readouterr().err
    assert err.count("web_search runs at OpenAI, so BeforeTool hooks can't check it") == 1
    assert err.count("the agent inner is a tool and has no hooks of its own") == 1


def test_agent_as_tool_with_hooks(tmp_path: Path) -> None:
    """An agent with hooks as another's tool: its calls are checked, and the outer run continues."""
    one = world(tmp_path, BeforeTool=f"if grep -q write_file; then {NO}; fi")
    inner = one.hooked(Turn(call=WRITE), Turn("inner done"), name="inner")
    outer = one.hooked(Turn(call=("inner", {"input": "go"})), Turn("done"), tools=[inner.as_tool("inner", "An agent.")])
    assert asyncio.run(run(outer, "go")) == ["done"]
    assert (one.ran, requests(outer)[-1].results) == ([], ("inner done",))


def test_structured_output_of_a_tool(tmp_path: Path) -> None:
    """Parts stay parts, and a hook's context is one more."""

    @function_tool
    def look() -> list[ToolOutputText]:
        """Looks."""
        return [ToolOutputText(text="a picture")]

    one = world(tmp_path, AfterTool=says({"hookSpecificOutput": {"additionalContext": "Use tabs."}}))
    agent = one.hooked(Turn(call=("look", {})), Turn("done"), tools=[look])
    asyncio.run(run(agent, "go"))
    given = agent.model.inner.calls[-1].input[-1]["output"]
    assert [part["text"] for part in given] == ["a picture", "\n\nUse tabs."]


def test_note_goes_with_the_next_request(tmp_path: Path) -> None:
    """A note of an AfterModel hook is for the next request, and only for that."""
    note = "if [ -e said ]; then :; else touch said; " + says({"systemMessage": "Be kind."}) + "; fi"
    one = world(tmp_path, AfterModel=note)
    agent = one.hooked(Turn(call=WRITE), Turn(call=WRITE), Turn("done"))
    asyncio.run(run(agent, "go"))
    assert ["[System] Be kind." in request.texts for request in requests(agent)] == [False, True, False]


def test_settings_of_a_request(tmp_path: Path) -> None:
    """A hook sees and changes temperature and length; a forced tool that is not allowed is not forced."""
    llm_request = {"config": {"temperature": 0.5, "maxOutputTokens": 10}}
    one = world(
        tmp_path,
        BeforeModel=f"cat > told; {says({'hookSpecificOutput': {'llm_request': llm_request}})}",
        BeforeToolSelection=says({"hookSpecificOutput": {"toolConfig": {"allowedFunctionNames": ["other"]}}}),
    )
    options = ModelSettings(temperature=1.0, top_p=0.9, tool_choice="write_file")
    agent = one.hooked(Turn("done"), model_settings=options)
    asyncio.run(run(agent, "go"))
    sent = agent.model.inner.calls[-1].model_settings
    assert (sent.temperature, sent.top_p, sent.max_tokens, sent.tool_choice) == (0.5, 0.9, 10, "none")
    assert json.loads((tmp_path / "told").read_text())["llm_request"]["config"] == {"temperature": 1.0, "topP": 0.9}


def test_stream_without_after_model_hooks(tmp_path: Path) -> None:
    """Where nothing can redact a response, the model's own stream is used."""
    one = world(tmp_path, BeforeModel="true")
    agent = one.hooked(Turn("It is a long text."))
    asyncio.run(run_streamed(agent, "go"))
    assert agent.model.inner.calls[-1].streamed


def test_stream_during_after_model(tmp_path: Path) -> None:
    """With `streamDuringAfterModel` the text is streamed, and the result is as hooks left it."""
    redact = says({"hookSpecificOutput": {"llm_response": {"text": "[redacted]"}}})
    hook = {"hooks": [{"type": "command", "command": redact}]}
    settings = {
        "enableHooks": True,
        "hooksConfig": {"streamDuringAfterModel": True},
        "hooks": {"AfterModel": [hook]},
    }
    agent = World(tmp_path, Hooks(tmp_path, settings=settings)).hooked(Turn("plain"))

    async def last() -> Any:
        result = Runner.run_streamed(agent, "go")
        async for _ in result.stream_events():
            pass
        return result.final_output

    assert asyncio.run(last()) == "[redacted]"


def test_model_by_name_is_found_by_the_provider(tmp_path: Path) -> None:
    """An agent with a model's name: the given provider finds it, when it is asked."""

    class Provider:
        def get_model(self, name: str | None) -> Any:
            assert name == "some-model"
            return model_of(Turn("done"))

    one = world(tmp_path, BeforeModel=NO)
    agent: Any = Agent(name="agent", model="some-model")
    provided = with_hooks(agent, Hooks(tmp_path, settings={}), model_provider=Provider())
    assert asyncio.run(run(provided, "go")) == ["done"]
    assert asyncio.run(run(with_hooks(agent, one.hooks, model_provider=Provider()), "go")) == ["no"]


def test_every_callback_of_the_agents_own_hooks_is_passed_on(tmp_path: Path) -> None:
    """Also those that a new version of the SDK adds."""
    theirs = sorted(name for name in dir(AgentHooks) if name.startswith("on_"))
    called: list[str] = []

    def recorded(name: str) -> Any:
        async def callback(*_: Any) -> None:
            called.append(name)

        return callback

    own = AgentHooks[Any]()
    for name in theirs:
        setattr(own, name, recorded(name))
    agent = with_hooks(Agent[Any](name="agent", hooks=own), Hooks(tmp_path, settings={}))

    async def call_all() -> None:
        for name in theirs:
            count = len(inspect.signature(getattr(AgentHooks, name)).parameters) - 1
            await getattr(agent.hooks, name)(*[None] * count)

    asyncio.run(call_all())
    assert called == theirs


def test_the_example_prints_what_is_shown() -> None:
    """The example runs as a reader would run it."""
    example = Path(__file__).parents[2] / "examples" / "adapters" / "openai_agents_agent.py"
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (0, example.with_suffix(".txt").read_text()), done.stderr


@pytest.mark.parametrize("mode", [run, run_streamed], ids=lambda mode: mode.__name__)
def test_note_on_the_last_answer_waits_for_the_session(
    mode: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session's next run has it, once. A run without a session drops it, which stderr and the log report."""
    monkeypatch.setattr("hookline.adapters.table._reported", set())
    one = world(tmp_path, AfterModel=says({"systemMessage": "Be kind."}))
    agent = with_hooks(one.agent(Turn("one"), Turn("two")), one.hooks, session_id="s-1")
    asyncio.run(mode(agent, "go"))
    asyncio.run(mode(agent, "go"))
    assert ["[System] Be kind." in request.texts for request in requests(agent)] == [False, True]
    assert capsys.readouterr().err == ""
    alone = one.hooked(Turn("one"), Turn("two"))
    asyncio.run(mode(alone, "go"))
    asyncio.run(mode(alone, "go"))
    assert ["[System] Be kind." in request.texts for request in requests(alone)] == [False, False]
    assert capsys.readouterr().err.count("the model never reads it; give with_hooks a session_id") == 1
    one.hooks.close()
    assert default_log_path().read_text().count("the model never reads it") == 2
