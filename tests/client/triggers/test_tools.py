import asyncio
import collections
import json
import os
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
from tests.answers import says

from hookline.client.config import Config
from hookline.client.triggers.tools import (
    ToolResult,
    execute_tool_with_hooks,
    fire_after_tool_hook,
    fire_before_tool_hook,
)
from hookline.engine.system import HookSystem
from hookline.log.write.logger import MemorySink
from hookline.protocol.records import LogLevel
from hookline.protocol.results import DefaultHookOutput

ARGUMENTS = {"path": "a.txt", "options": {"all": True}}
DONE = ToolResult(llm_content="done", return_display="Done.")


def config_of(
    project: Path, before: str | None = None, after: str | None = None, *, sink: MemorySink | None = None, **hook: Any
) -> Config:
    """A config with a hook before the tool, after it, or both."""
    given = {"BeforeTool": before, "AfterTool": after}
    hooks = {
        event: [{"hooks": [{"type": "command", "command": command, "name": f"{event} hook", **hook}]}]
        for event, command in given.items()
        if command
    }
    settings = {"enableHooks": True, "hooks": hooks, "hooksConfig": {"log": {"enabled": False}}}
    return Config(project, settings=settings, log_sinks=[sink] if sink else [])


class _Tool:
    """A tool that notes what it is run with."""

    def __init__(self, result: ToolResult = DONE) -> None:
        self.ran_with: list[dict[str, Any]] = []
        self._result = result

    async def __call__(self, arguments: dict[str, Any]) -> ToolResult:
        self.ran_with.append(arguments)
        return self._result


def on(event: str, command: str) -> tuple[str | None, str | None]:
    """The command in its place among the two hooks of a config."""
    return (command, None) if event == "before" else (None, command)


def execute(config: Config, tool: _Tool, **options: Any) -> ToolResult:
    return asyncio.run(execute_tool_with_hooks(config, "write_file", ARGUMENTS, tool, **options))


def run_without_yielding(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that ends without ever waiting, with no event loop around."""
    with pytest.raises(StopIteration) as ended:
        coroutine.send(None)
    return ended.value.value


@pytest.mark.req("HOOK-127", "HOOK-128", "HOOK-150", "HOOK-151")
def test_triggers_give_the_merged_answer(project: Path) -> None:
    """Each trigger gives what its hooks answered together."""
    config = config_of(project, says({"reason": "before"}), says({"reason": "after"}))
    before = asyncio.run(fire_before_tool_hook(config, "ls", {}))
    after = asyncio.run(fire_after_tool_hook(config, "ls", {}, {"llmContent": "a"}))
    assert isinstance(before, DefaultHookOutput)
    assert isinstance(after, DefaultHookOutput)
    assert (before.reason, after.reason) == ("before", "after")


@pytest.mark.req("HOOK-127", "HOOK-128")
def test_triggers_pass_on_what_hooks_are_told(project: Path) -> None:
    """Name, arguments, response and the server of the tool arrive at the hooks."""
    config = config_of(project, "cat > before", "cat > after")
    context = {"server_name": "files"}
    asyncio.run(fire_before_tool_hook(config, "ls", {"a": 1}, mcp_context=context))
    asyncio.run(fire_after_tool_hook(config, "ls", {"a": 1}, {"llmContent": "x"}, mcp_context=context))
    own = {"tool_name": "ls", "tool_input": {"a": 1}, "mcp_context": context}
    assert own.items() <= json.loads((project / "before").read_text()).items()
    assert {**own, "tool_response": {"llmContent": "x"}}.items() <= json.loads((project / "after").read_text()).items()


@pytest.mark.req("HOOK-010", "HOOK-011", "HOOK-013", "HOOK-127", "HOOK-128")
@pytest.mark.parametrize("enabled", [False, True], ids=["disabled", "no hooks"])
def test_triggers_without_hooks_wait_for_nothing(project: Path, enabled: bool) -> None:
    """Where there is nothing to run the answer is None at once, and the tool's result is handed through."""
    config = Config(project, settings={"enableHooks": enabled})
    assert run_without_yielding(fire_before_tool_hook(config, "ls", {})) is None
    assert run_without_yielding(fire_after_tool_hook(config, "ls", {}, {})) is None
    tool = _Tool()
    assert run_without_yielding(execute_tool_with_hooks(config, "write_file", ARGUMENTS, tool)) is DONE
    assert tool.ran_with == [ARGUMENTS]
    assert tool.ran_with[0] is not ARGUMENTS


class _NoSystem(Config):
    """A config whose system cannot be made."""

    def get_hook_system(self) -> HookSystem | None:
        raise ImportError("broken installation")


@pytest.mark.req("HOOK-111", "HOOK-115")
@pytest.mark.usefixtures("unreadable")
@pytest.mark.parametrize("kind", [Config, _NoSystem])
def test_a_fault_of_ours_never_stops_a_tool(
    project: Path, kind: type[Config], capsys: pytest.CaptureFixture[str]
) -> None:
    """When the hooks cannot even be read, triggers give None, the tool runs, and stderr says what is wrong."""
    config = kind(project, settings={"enableHooks": True})
    assert asyncio.run(fire_before_tool_hook(config, "ls", {})) is None
    assert asyncio.run(fire_after_tool_hook(config, "ls", {}, {})) is None
    tool = _Tool()
    assert (execute(config, tool), tool.ran_with) == (DONE, [ARGUMENTS])
    said = capsys.readouterr().err.splitlines()
    assert len(said) == (4 if kind is Config else 3)  # the system is asked for once for both events
    assert all(line.startswith("hookline: hooks had no effect, because of a fault in hookline: ") for line in said)


def test_a_fault_that_blocks_is_reported_as_a_block(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With `onFault: block`, stderr does not claim that hooks had no effect."""
    config = _NoSystem(project, settings={"enableHooks": True, "hooksConfig": {"onFault": "block"}})
    tool = _Tool()
    assert "onFault is block" in str(execute(config, tool).llm_content)
    assert tool.ran_with == []
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("hookline: the event is blocked, because of a fault in hookline: ImportError(")


@pytest.mark.req("HOOK-111", "HOOK-115")
def test_results_that_cannot_be_written_are_no_reason_to_stop(project: Path) -> None:
    """Results that are not JSON reach hooks as well as can be."""
    config = config_of(project, "cat > before", "cat > after")
    odd: Any = object()
    result = ToolResult(llm_content=[odd], metadata={"n": float("nan")})
    assert asyncio.run(execute_tool_with_hooks(config, "ls", {}, _Tool(result))) is result
    assert json.loads((project / "after").read_text())["tool_response"] == {
        "llmContent": [str(odd)],
        "returnDisplay": None,
        "metadata": {"n": None},
    }


@pytest.mark.req("HOOK-014", "HOOK-025", "HOOK-133")
def test_a_tool_runs_between_its_hooks(project: Path) -> None:
    """BeforeTool has ended when the tool starts, and the result comes after AfterTool has ended."""
    order = project / "order"

    async def tool(_: dict[str, Any]) -> ToolResult:
        with order.open("a") as file:
            file.write("tool\n")
        return DONE

    config = config_of(project, "echo before >> order", "echo after >> order")
    assert asyncio.run(execute_tool_with_hooks(config, "ls", {}, tool)) == DONE
    assert order.read_text() == "before\ntool\nafter\n"


@pytest.mark.req("HOOK-017", "HOOK-156", "HOOK-177", "HOOK-183")
@pytest.mark.parametrize(
    ("command", "reason"),
    [
        pytest.param("echo no >&2; exit 2", "no", id="exit 2", marks=pytest.mark.req("HOOK-016a")),
        pytest.param("exit 2", "Blocked by hook", id="exit 2, no stderr"),
        pytest.param(says({"decision": "deny", "reason": "no"}), "no", id="deny", marks=pytest.mark.req("HOOK-016b")),
        pytest.param(says({"decision": "block", "reason": "no"}), "no", id="block", marks=pytest.mark.req("HOOK-016b")),
        pytest.param(says({"decision": "block"}), "No reason given", id="no reason"),
        pytest.param(
            says({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}}),
            "no",
            id="permissionDecision",
        ),
    ],
)
def test_a_blocked_tool_is_not_run(project: Path, command: str, reason: str) -> None:
    """The result of a blocked tool is the reason, AfterTool is not fired, and nothing asks for a stop."""
    tool = _Tool()
    result = execute(config_of(project, command, "touch after"), tool)
    assert result == ToolResult(llm_content=reason, return_display=reason, decided_by=("BeforeTool hook",))
    assert (tool.ran_with, list(project.iterdir())) == ([], [])
    assert not hasattr(result, "blocked")


@pytest.mark.req("HOOK-020", "HOOK-177", "DELTA-HAPP-001", "DELTA-HAPP-002", "DELTA-HRUN-002")
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param({"continue": False, "stopReason": "enough"}, "enough", id="stopReason"),
        pytest.param({"continue": False, "reason": "so"}, "so", id="reason"),
        pytest.param({"continue": False}, "No reason given", id="no reason"),
        pytest.param({"continue": False, "stopReason": "enough", "decision": "allow"}, "enough", id="allow"),
    ],
)
def test_a_stop_before_the_tool(project: Path, answer: dict[str, Any], reason: str) -> None:
    """With `continue: false` the tool does not run, and the result has the stop and its reason."""
    tool = _Tool()
    result = execute(config_of(project, says(answer)), tool)
    assert result == ToolResult(
        llm_content=reason,
        return_display=reason,
        should_stop=True,
        stop_reason=reason,
        decided_by=("BeforeTool hook",),
    )
    assert tool.ran_with == []


@pytest.mark.req("HOOK-018")
@pytest.mark.parametrize("decision", ["allow", "approve", "ask", None, "nonsense"])
def test_a_tool_that_is_not_blocked_runs(project: Path, decision: str | None) -> None:
    """Anything but a block lets the tool run, and its result is as the tool made it."""
    tool = _Tool()
    result = execute(config_of(project, says({"decision": decision, "reason": "for the log"})), tool)
    assert (result, tool.ran_with) == (DONE, [ARGUMENTS])


@pytest.mark.req("HOOK-030", "HOOK-131")
def test_a_note_to_a_block(project: Path) -> None:
    """The model, and not the user, also gets a system message beside a block."""
    answer = {"decision": "deny", "reason": "no", "systemMessage": "ask first"}
    result = execute(config_of(project, says(answer)), _Tool())
    assert (result.llm_content, result.return_display) == ("no\n\n[System] ask first", "no")


@pytest.mark.req("HOOK-019", "HOOK-156", "HOOK-177", "HOOK-216", "HOOK-217")
def test_a_rewritten_input(project: Path) -> None:
    """The tool runs with the change laid over its arguments, key by key, and AfterTool gets the same."""
    answer = {"hookSpecificOutput": {"tool_input": {"options": {"few": 1}, "new": None}}}
    tool = _Tool()
    changed = {"path": "a.txt", "options": {"few": 1}, "new": None}
    assert execute(config_of(project, says(answer), "cat > after"), tool) == DONE
    assert tool.ran_with == [changed]
    assert json.loads((project / "after").read_text())["tool_input"] == changed
    assert ARGUMENTS == {"path": "a.txt", "options": {"all": True}}


@pytest.mark.req("HOOK-019")
def test_a_rewritten_input_is_validated(project: Path) -> None:
    """Arguments that a hook changed are checked as a whole, and a valid change goes through."""
    checked: list[Mapping[str, Any]] = []

    def validate(arguments: Mapping[str, Any]) -> None:
        checked.append(arguments)

    answer = says({"hookSpecificOutput": {"tool_input": {"path": "b.txt"}}})
    tool = _Tool()
    execute(config_of(project, answer), tool, validate=validate)
    assert checked == tool.ran_with == [{**ARGUMENTS, "path": "b.txt"}]


@pytest.mark.req("HOOK-019")
def test_an_invalid_rewrite_fails_the_call(project: Path) -> None:
    """Arguments that a hook made invalid fail the call with the fault, and the log says which hook did it."""
    memory = MemorySink()
    config = config_of(project, says({"hookSpecificOutput": {"tool_input": {"path": 7}}}), "touch after", sink=memory)
    tool = _Tool()
    result = execute(config, tool, validate=lambda arguments: f"path is {arguments['path']}, expected a string")
    said = (
        "The tool was not run: a hook (BeforeTool hook) rewrote its arguments, and they are not valid:"
        " path is 7, expected a string"
    )
    assert result == ToolResult(llm_content=said, return_display=said, error=said)
    assert (tool.ran_with, list(project.iterdir())) == ([], [])
    (record,) = [record for record in memory.records if record.to_dict()["kind"] == "advice"]
    assert (record.level, record.message, record.to_dict()["hook"]) == (
        LogLevel.WARN,
        f"BeforeTool: {said}",
        "BeforeTool hook",
    )


@pytest.mark.parametrize("command", ["true", says({"hookSpecificOutput": {"tool_input": {"path": "a.txt"}}})])
def test_arguments_that_stay_are_not_validated_again(project: Path, command: str) -> None:
    """Only a real change is checked: the caller has seen to the original itself."""

    def validate(_: Mapping[str, Any]) -> NoReturn:
        raise AssertionError

    tool = _Tool()
    execute(config_of(project, command), tool, validate=validate)
    assert tool.ran_with == [ARGUMENTS]


@pytest.mark.req("HOOK-026")
def test_what_after_tool_is_told(project: Path) -> None:
    """AfterTool reads the result: content, display, metadata, and the error where there is one."""
    result = ToolResult(llm_content=["a", {"b": 1}], return_display="A", metadata={"lines": 2}, error="half done")
    execute(config_of(project, None, "cat > after"), _Tool(result))
    told = json.loads((project / "after").read_text())
    assert (told["tool_name"], told["tool_input"]) == ("write_file", ARGUMENTS)
    assert told["tool_response"] == {
        "llmContent": ["a", {"b": 1}],
        "returnDisplay": "A",
        "metadata": {"lines": 2},
        "error": "half done",
    }


AFTER_TOOL: list[Any] = [
    pytest.param({}, {}, id="nothing"),
    pytest.param(
        {"hookSpecificOutput": {"additionalContext": "more"}},
        {"llm_content": "done\n\nmore"},
        id="context",
        marks=pytest.mark.req("HOOK-027"),
    ),
    pytest.param(
        {"systemMessage": "note"},
        {"llm_content": "done\n\n[System] note"},
        id="system message",
        marks=pytest.mark.req("HOOK-030", "HOOK-131", "DELTA-HRUN-003"),
    ),
    pytest.param(
        {"suppressOutput": True},
        {"suppress_display": True},
        id="suppress",
        marks=pytest.mark.req("HOOK-029", "HOOK-132", "DELTA-HRUN-003"),
    ),
    pytest.param(
        {"continue": False, "stopReason": "enough"},
        {"should_stop": True, "stop_reason": "enough", "decided_by": ("AfterTool hook",)},
        id="stop",
        marks=pytest.mark.req("HOOK-028", "DELTA-HAPP-002", "DELTA-HRUN-002"),
    ),
    pytest.param(
        {"decision": "block", "reason": "wrong file"},
        {"llm_content": "done\n\n[System] wrong file"},
        id="block",
    ),
    pytest.param({"hookSpecificOutput": {"tool_input": {"path": 1}, "llmContent": "x"}}, {}, id="output"),
    pytest.param(
        {
            "continue": False,
            "stopReason": "enough",
            "decision": "deny",
            "reason": "no",
            "systemMessage": "note",
            "suppressOutput": True,
            "hookSpecificOutput": {"additionalContext": "more"},
        },
        {
            "llm_content": "done\n\nmore\n\n[System] enough\n\n[System] note",
            "suppress_display": True,
            "should_stop": True,
            "stop_reason": "enough",
            "decided_by": ("AfterTool hook",),
        },
        id="everything",
        marks=pytest.mark.req("HOOK-208", "DELTA-HAPP-001"),
    ),
]


@pytest.mark.req("HOOK-156", "HOOK-178")
@pytest.mark.parametrize(("answer", "changes"), AFTER_TOOL)
def test_what_after_tool_can_do(project: Path, answer: dict[str, Any], changes: dict[str, Any]) -> None:
    """AfterTool adds text for the model, hides the result from the user and stops; it neither blocks nor rewrites."""
    original = replace(DONE)
    assert execute(config_of(project, None, says(answer)), _Tool(original)) == replace(DONE, **changes)
    assert original == DONE


@pytest.mark.req("HOOK-208")
def test_effects_of_several_hooks_come_through_together(project: Path) -> None:
    """Contexts and messages of all hooks are joined, one per line, and one suppression is enough."""
    answers = [
        {"hookSpecificOutput": {"additionalContext": "c1"}, "systemMessage": "m1"},
        {"hookSpecificOutput": {"additionalContext": "c2"}, "suppressOutput": True},
        {"systemMessage": "m2"},
    ]
    hooks = {"AfterTool": [{"hooks": [{"type": "command", "command": says(answer)} for answer in answers]}]}
    result = execute(Config(project, settings={"enableHooks": True, "hooks": hooks}), _Tool())
    assert result == replace(DONE, llm_content="done\n\nc1\nc2\n\n[System] m1\nm2", suppress_display=True)


def test_notes_of_both_events(project: Path) -> None:
    """The additions of BeforeTool come before those of AfterTool."""
    result = execute(config_of(project, "echo first", says({"systemMessage": "second"})), _Tool())
    assert result == replace(DONE, llm_content="done\n\n[System] first\n\n[System] second")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param([{"text": "a"}], [{"text": "a"}, {"text": "\n\n[System] note"}], id="list"),
        pytest.param(({"text": "a"},), [{"text": "a"}, {"text": "\n\n[System] note"}], id="tuple"),
        pytest.param({"text": "a"}, [{"text": "a"}, {"text": "\n\n[System] note"}], id="part"),
        pytest.param("", "\n\n[System] note", id="empty"),
    ],
)
@pytest.mark.parametrize("event", ["before", "after"])
def test_notes_on_structured_content(project: Path, event: str, content: Any, expected: Any) -> None:
    """Content of parts gets the note as a last text part, and the tool's own list stays as it is."""
    result = ToolResult(llm_content=content)
    config = config_of(project, *on(event, "echo note"))
    assert execute(config, _Tool(result)) == replace(result, llm_content=expected)
    assert result.llm_content is content


@pytest.mark.req("HOOK-149")
def test_display_is_suppressed_by_a_hook_only() -> None:
    """By default a result is shown, and does not stop the agent."""
    result = ToolResult(llm_content="")
    assert (result.suppress_display, result.should_stop, result.stop_reason) == (False, False, None)


def test_a_tool_may_suppress_its_own_display(project: Path) -> None:
    """No hook shows a result that the tool itself hides."""
    hidden = replace(DONE, suppress_display=True)
    assert execute(config_of(project, None, says({"suppressOutput": False})), _Tool(hidden)) == hidden


@pytest.mark.req("HOOK-023", "HOOK-031", "HOOK-110")
@pytest.mark.parametrize(
    ("command", "note"),
    [
        pytest.param(
            f"{says({'decision': 'block', 'continue': False, 'suppressOutput': True})}; exit 1", "", id="exit 1"
        ),
        pytest.param("echo oops >&2; exit 3", "\n\n[System] Warning: oops", id="stderr"),
        pytest.param("kill -9 $$", "", id="killed"),
        pytest.param("exec sleep 9", "", id="timeout", marks=pytest.mark.req("HOOK-119")),
        pytest.param("./no-such-script", None, id="no such command"),
    ],
)
@pytest.mark.parametrize("event", ["before", "after"])
def test_a_failing_hook_changes_nothing_but_warns(project: Path, event: str, command: str, note: str | None) -> None:
    """However a hook fails the tool's result stands; what it wrote to stderr is passed on, and the log warns."""
    memory, tool = MemorySink(), _Tool()
    timeout = 300 if "sleep" in command else 30_000
    result = execute(config_of(project, *on(event, command), sink=memory, timeout=timeout), tool)
    assert tool.ran_with == [ARGUMENTS]
    if note is None:
        note = result.llm_content.removeprefix("done")
        assert note.startswith("\n\n[System] Warning: ")
        assert "no-such-script" in note
    assert result == replace(DONE, llm_content=f"done{note}")
    (warning,) = [record for record in memory.records if record.level is LogLevel.WARN]
    assert warning.to_dict()["kind"] == "hook"
    assert {"exitCode", "stderr"} <= warning.to_dict().keys()


def test_what_the_tool_raises_is_the_callers(project: Path) -> None:
    """An exception of the tool passes through, and AfterTool is not fired for a tool that gave nothing."""

    async def tool(_: dict[str, Any]) -> ToolResult:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        asyncio.run(execute_tool_with_hooks(config_of(project, None, "touch after"), "ls", {}, tool))
    assert list(project.iterdir()) == []


def test_a_cancellation_is_not_swallowed(project: Path) -> None:
    """A caller that cancels a tool call while a hook runs gets the cancellation, and the tool is not run."""
    ready, tool = project / "ready", _Tool()
    os.mkfifo(ready)

    async def main() -> None:
        config = config_of(project, "echo > ready; exec sleep 30")
        task = asyncio.create_task(execute_tool_with_hooks(config, "ls", {}, tool))
        await asyncio.to_thread(ready.read_text)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert tool.ran_with == []


class Array(list[int]):
    """Compares like an array of numbers: element by element, and without a truth value."""

    def __eq__(self, _other: object) -> Any:
        return self

    __hash__ = None

    def __bool__(self) -> NoReturn:
        raise ValueError("the truth value of an array is ambiguous")


@pytest.mark.parametrize(
    ("answer", "ran"),
    [
        pytest.param({"decision": "deny", "hookSpecificOutput": {"tool_input": {"data": []}}}, [], id="deny"),
        pytest.param({"hookSpecificOutput": {"tool_input": {"data": [1]}}}, [{"data": [1]}], id="rewrite"),
    ],
)
def test_arguments_that_cannot_be_compared_cost_no_answer(project: Path, answer: object, ran: object) -> None:
    """Neither a deny nor a rewrite is lost to what an argument does when it is asked whether it equals another."""
    tool = _Tool()
    config = config_of(project, says(answer))
    asyncio.run(execute_tool_with_hooks(config, "plot", {"data": Array()}, tool, validate=lambda _: None))
    assert tool.ran_with == ran


def test_a_tool_runs_with_what_its_hooks_were_told(project: Path) -> None:
    """A change of the arguments while the guards judge them has no effect."""
    tool = _Tool()
    arguments: dict[str, Any] = {"command": ["ls"], "in": {"folder": "."}}

    async def main() -> None:
        config = config_of(project, "touch told; sleep 0.2")
        task = asyncio.create_task(execute_tool_with_hooks(config, "sh", arguments, tool))
        while not (project / "told").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)
        arguments["command"] = ["rm"]
        arguments["in"]["folder"] = "/"
        await task

    asyncio.run(main())
    assert tool.ran_with == [{"command": ["ls"], "in": {"folder": "."}}]


def test_every_kind_of_argument_is_the_tool_s_own(project: Path) -> None:
    """A change by the caller while the hooks run does not reach the tool, at any depth."""
    given: dict[str, Any] = {
        "ordered": collections.OrderedDict(a=["safe"]),
        "tuple": ({"a": "safe"},),
        "counted": collections.Counter(a=1),
    }
    got: list[dict[str, Any]] = []

    async def main() -> None:
        async def run(arguments: dict[str, Any]) -> ToolResult:
            got.append(arguments)
            return DONE

        running = asyncio.ensure_future(execute_tool_with_hooks(config_of(project, "sleep 0.2"), "t", given, run))
        await asyncio.sleep(0.05)
        given["ordered"]["a"].append("evil")
        given["tuple"][0]["a"] = "evil"
        await running

    asyncio.run(main())
    assert got[0]["ordered"] == collections.OrderedDict(a=["safe"])
    assert got[0]["tuple"] == ({"a": "safe"},)
    assert [type(value) for value in got[0].values()] == [collections.OrderedDict, tuple, collections.Counter]


def test_a_note_for_a_tool_that_says_nothing(project: Path) -> None:
    """The note is all that the model reads."""

    async def run(_arguments: dict[str, Any]) -> ToolResult:
        return ToolResult(llm_content=None)

    config = config_of(project, says({"systemMessage": "note"}))
    result = asyncio.run(execute_tool_with_hooks(config, "t", {}, run))
    assert result.llm_content == "\n\n[System] note"


@pytest.mark.req("HOOK-182")
@pytest.mark.parametrize("goes_on", [True, False])
@pytest.mark.parametrize(
    "answer",
    [
        {"decision": "ask", "reason": "sure?"},
        {"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "sure?"}},
    ],
)
def test_a_person_is_asked(project: Path, answer: dict[str, Any], goes_on: bool) -> None:
    """`on_ask` gets the reason and the arguments; a no is a refusal with that reason, a yes runs the tool."""
    asked: list[tuple[str, Mapping[str, Any]]] = []

    async def on_ask(reason: str, arguments: Mapping[str, Any]) -> bool:
        asked.append((reason, arguments))
        return goes_on

    tool = _Tool()
    config = config_of(project, says(answer))
    result = asyncio.run(execute_tool_with_hooks(config, "ls", ARGUMENTS, tool, on_ask=on_ask))
    assert asked == [("sure?", ARGUMENTS)]
    assert (tool.ran_with == [ARGUMENTS]) is goes_on
    refusal = ToolResult(llm_content="sure?", return_display="sure?", decided_by=("on_ask",))
    assert result == (DONE if goes_on else refusal)


@pytest.mark.parametrize("answer", ["no", 1, None, [False]])
def test_only_true_is_a_yes(project: Path, answer: Any) -> None:
    """An answer of `on_ask` that is neither True nor False is an error of the program, and the tool does not run."""

    async def on_ask(_reason: str, _arguments: Mapping[str, Any]) -> Any:
        return answer

    tool = _Tool()
    config = config_of(project, says({"decision": "ask", "reason": "sure?"}))
    with pytest.raises(TypeError, match=r"the answer of on_ask is .*; expected True or False"):
        asyncio.run(execute_tool_with_hooks(config, "ls", ARGUMENTS, tool, on_ask=on_ask))
    assert tool.ran_with == []


@pytest.mark.req("HOOK-182")
def test_an_ask_that_nobody_hears_is_logged(project: Path) -> None:
    """Without `on_ask` the call runs, as the specification has it, and the log warns of it."""
    memory = MemorySink()
    config = config_of(project, says({"decision": "ask", "reason": "sure?"}), sink=memory)
    tool = _Tool()
    assert execute(config, tool) == DONE
    warnings = [record.message for record in memory.records if record.level is LogLevel.WARN]
    assert warnings == [
        "BeforeTool write_file: BeforeTool hook asks (sure?), but this program gives no on_ask, so the call goes on"
    ]
