"""The scheduler with real hooks: what it runs, in which order, what it tells, and that nothing goes round it."""

import ast
import asyncio
import json
import os
import pty
import shlex
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.patience import is_alive

import hookline
from hookline import Config
from hookline.apps.agent.approval.approver import Approval, ApprovalRequest, Permissions, UserReply
from hookline.apps.agent.background import BackgroundHooks
from hookline.apps.agent.scheduler import ToolScheduler
from hookline.apps.agent.tool import AgentCall, AgentTool, CallStatus, ToolContext
from hookline.apps.agent.toolbox import ToolBox, default_toolbox
from hookline.client.triggers.results import AskReason, ToolResult

HookScript = Callable[..., Path]
Behaviour = Callable[[Mapping[str, Any]], Awaitable[ToolResult]]

PACKAGE = Path(hookline.__file__).parent


async def _agrees(arguments: Mapping[str, Any]) -> ToolResult:
    return ToolResult(llm_content=f"did {arguments.get('what')}", return_display="shown")


@dataclass(frozen=True, kw_only=True)
class Spy(AgentTool):
    """A tool that remembers what it was run with."""

    name: str = "spy"
    description: str = "A spy."
    parameters: Mapping[str, Any] = field(
        default_factory=lambda: {"type": "object", "properties": {"what": {"type": "string"}}}
    )
    is_read_only: bool = True
    question: str | None = None
    behaviour: Behaviour = _agrees
    ran_with: list[dict[str, Any]] = field(default_factory=list)

    def normalize(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """`path` is another name for `file_path`."""
        return {"file_path" if name == "path" else name: value for name, value in arguments.items()}

    def needs_approval(self, _arguments: Mapping[str, Any], _context: ToolContext) -> str | None:
        """The question, whatever the arguments."""
        return self.question

    async def execute(self, arguments: Mapping[str, Any], _context: ToolContext) -> ToolResult:
        """Remembers, and behaves as told."""
        self.ran_with.append(dict(arguments))
        return await self.behaviour(arguments)


@dataclass
class Person:
    """Somebody who answers questions, and remembers them."""

    answer: Approval = Approval.ALLOW_ONCE
    requests: list[ApprovalRequest] = field(default_factory=list)

    async def __call__(self, request: ApprovalRequest) -> UserReply:
        """Always the same answer, after some thought."""
        self.requests.append(request)
        await asyncio.sleep(0.01)
        return UserReply(self.answer)

    @property
    def questions(self) -> list[str]:
        """What was asked."""
        return [request.what for request in self.requests]


@dataclass
class Bench:
    """A scheduler, and what it told."""

    project: Path
    toolbox: ToolBox = field(default_factory=ToolBox)
    hooks: Mapping[str, Any] = field(default_factory=dict)
    person: Person | None = None
    told: list[AgentCall] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.config = Config(
            self.project, session_id="s1", settings={"enableHooks": bool(self.hooks), "hooks": dict(self.hooks)}
        )
        self.background = BackgroundHooks()
        self.scheduler = ToolScheduler(
            config=self.config,
            toolbox=self.toolbox,
            permissions=Permissions(
                config=self.config, person=self.person, approves_all=self.person is None, background=self.background
            ),
            on_change=self.told.append,
        )

    def run(self, *calls: AgentCall, allowed: list[str] | None = None, by: Sequence[str] = ()) -> list[AgentCall]:
        """The finished calls of one response, all hooks having ended."""

        async def session() -> list[AgentCall]:
            finished = await self.scheduler.run(calls, allowed=allowed, restricted_by=by)
            await self.background.drain(5)
            return finished

        return asyncio.run(session())

    def statuses(self, call_id: str = "1") -> list[str]:
        """What a call went through, in order."""
        return [call.status.value for call in self.told if call.id == call_id]


def call(name: str, number: int = 1, **arguments: Any) -> AgentCall:
    return AgentCall(id=str(number), name=name, arguments=arguments)


def ending(status: CallStatus, text: str) -> tuple[CallStatus, ToolResult]:
    """How a call ends that was not run, or failed."""
    return status, ToolResult(llm_content=text, return_display=text, error=text)


def end(finished: AgentCall) -> tuple[CallStatus, ToolResult | None]:
    return finished.status, finished.result


def answering(answer: Mapping[str, Any]) -> str:
    """A hook that answers this, whatever happens."""
    return f"echo {shlex.quote(json.dumps(answer))}"


def on(event: str, command: str, **more: Any) -> dict[str, Any]:
    """Settings with one hook."""
    return {event: [{"hooks": [{"type": "command", "command": command}], **more}]}


def rewriting(**changes: Any) -> dict[str, Any]:
    """A BeforeTool hook that changes arguments."""
    return on("BeforeTool", answering({"hookSpecificOutput": {"tool_input": changes}}))


def recording(tmp_path: Path, *events: str) -> dict[str, Any]:
    """Hooks that write each input they get as a line of `<event>.jsonl`."""
    return {
        name: definition
        for event in events
        for name, definition in on(event, f"printf '%s\\n' \"$(cat)\" >> {tmp_path}/{event}.jsonl").items()
    }


def recorded(tmp_path: Path, event: str) -> list[dict[str, Any]]:
    path = tmp_path / f"{event}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


# ------------------------------------------------------------------------------------------------- checks


@pytest.mark.parametrize(
    ("asked", "allowed", "said"),
    [
        pytest.param(call("spi"), None, "There is no tool named spi; did you mean spy?", id="unknown"),
        pytest.param(
            call("spy"),
            ["other"],
            "spy was not run: it may not be called now. Allowed tools: other.",
            id="not-allowed",
        ),
        pytest.param(
            call("spy"),
            [],
            "spy was not run: it may not be called now. Allowed tools: none.",
            id="none-allowed",
        ),
        pytest.param(
            call("spy", what=3),
            None,
            "spy was not run: what: 3 is not of type 'string'. spy takes what (optional).",
            id="invalid",
        ),
    ],
)
def test_a_call_that_cannot_be_run(
    project: Path, tmp_path: Path, asked: AgentCall, allowed: list[str] | None, said: str
) -> None:
    """The model is told why; no hook is asked, nobody is asked, nothing runs."""
    spy, person = Spy(question="spy"), Person()
    bench = Bench(project, ToolBox([spy, Spy(name="other")]), recording(tmp_path, "BeforeTool", "AfterTool"), person)
    (finished,) = bench.run(asked, allowed=allowed)
    assert end(finished) == ending(CallStatus.ERROR, said)
    assert bench.statuses() == ["validating", "error"]
    assert (spy.ran_with, person.questions, recorded(tmp_path, "BeforeTool")) == ([], [], [])


def test_a_call_that_is_allowed(project: Path) -> None:
    """It goes through its states to the end, with the same result told and returned."""
    bench = Bench(project, ToolBox([Spy()]))
    finished = bench.run(call("spy", what="it"), allowed=["spy"])
    assert finished == [
        AgentCall(
            id="1",
            name="spy",
            arguments={"what": "it"},
            status=CallStatus.SUCCESS,
            result=ToolResult(llm_content="did it", return_display="shown"),
        )
    ]
    assert bench.statuses() == ["validating", "scheduled", "executing", "success"]
    assert bench.told[-1] == finished[0]


async def _fails(_arguments: Mapping[str, Any]) -> ToolResult:
    raise RuntimeError("out of order")


async def _gives_up(_arguments: Mapping[str, Any]) -> ToolResult:
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        pytest.param(_fails, "spy failed: RuntimeError: out of order", id="exception"),
        pytest.param(_gives_up, "spy cancelled itself.", id="cancels-itself"),
    ],
)
def test_a_tool_that_breaks(project: Path, tmp_path: Path, behaviour: Behaviour, said: str) -> None:
    """Its fault is a result, which AfterTool hooks and the model see, and its neighbours go on."""
    toolbox = ToolBox([Spy(behaviour=behaviour), Spy(name="other")])
    bench = Bench(project, toolbox, recording(tmp_path, "AfterTool"))
    broken, other = bench.run(call("spy"), call("other", 2))
    assert end(broken) == ending(CallStatus.ERROR, said)
    assert other.status is CallStatus.SUCCESS
    assert said in [event["tool_response"].get("error") for event in recorded(tmp_path, "AfterTool")]


# -------------------------------------------------------------------------------------------------- order


@dataclass
class Traffic:
    """Tools that note when they begin and end; each waits until it may go on."""

    log: list[str] = field(default_factory=list)

    def tool(self, name: str, *, reads: bool, waits_for: str | None = None) -> Spy:
        """A tool that goes on when the log says so."""

        async def behave(_arguments: Mapping[str, Any]) -> ToolResult:
            self.log.append(f"{name} begins")
            while waits_for is not None and waits_for not in self.log:  # noqa: ASYNC110 - the log is the event
                await asyncio.sleep(0.001)
            self.log.append(f"{name} ends")
            return ToolResult(llm_content=name)

        return Spy(name=name, is_read_only=reads, behaviour=behave)


def test_calls_that_read_run_together(project: Path) -> None:
    """The first one can wait for the last, and results are told in the order of the calls all the same."""
    traffic = Traffic()
    tools = [
        traffic.tool("a", reads=True, waits_for="b ends"),
        traffic.tool("b", reads=True, waits_for="c ends"),
        traffic.tool("c", reads=True),
    ]
    bench = Bench(project, ToolBox(tools))
    finished = bench.run(call("a", 1), call("b", 2), call("c", 3))
    assert traffic.log == ["a begins", "b begins", "c begins", "c ends", "b ends", "a ends"]
    assert [done.name for done in finished] == ["a", "b", "c"]
    assert [told.name for told in bench.told if told.result is not None] == ["a", "b", "c"]


def test_a_call_that_writes_runs_alone(project: Path) -> None:
    """It waits for everything before it, and everything after it waits for it."""
    traffic = Traffic()
    tools = [
        traffic.tool("a", reads=True, waits_for="b begins"),
        traffic.tool("b", reads=True, waits_for="a ends"),
        traffic.tool("w", reads=False),
        traffic.tool("v", reads=False),
        traffic.tool("c", reads=True),
    ]
    Bench(project, ToolBox(tools)).run(*(call(tool.name, number) for number, tool in enumerate(tools)))
    assert traffic.log == [
        *("a begins", "b begins", "a ends", "b ends"),
        *("w begins", "w ends", "v begins", "v ends", "c begins", "c ends"),
    ]


# ----------------------------------------------------------------------------------------------- approval


@pytest.mark.parametrize(
    ("answer", "statuses", "runs"),
    [
        pytest.param(Approval.ALLOW_ONCE, ["executing", "awaiting_approval", "executing", "success"], 1),
        pytest.param(Approval.ALLOW_ALWAYS, ["executing", "awaiting_approval", "executing", "success"], 1),
        pytest.param(Approval.REFUSE, ["executing", "awaiting_approval", "cancelled"], 0),
    ],
)
def test_a_person_is_asked(project: Path, answer: Approval, statuses: list[str], runs: int) -> None:
    """What they say happens."""
    spy, person = Spy(question="touch things"), Person(answer)
    bench = Bench(project, ToolBox([spy]), person=person)
    (finished,) = bench.run(call("spy"))
    assert bench.statuses() == ["validating", "scheduled", *statuses]
    assert person.questions == ["touch things"]
    assert len(spy.ran_with) == runs
    if answer is Approval.REFUSE:
        said = "spy was not run: permission to touch things was not given."
        assert end(finished) == ending(CallStatus.CANCELLED, said)


@pytest.mark.parametrize(
    ("answer", "count"), [pytest.param(Approval.ALLOW_ONCE, 3), pytest.param(Approval.ALLOW_ALWAYS, 1)]
)
def test_always_means_this_tool_for_the_session(project: Path, answer: Approval, count: int) -> None:
    """Also for calls of the same response that were waiting to be asked about."""
    person = Person(answer)
    bench = Bench(project, ToolBox([Spy(question="touch"), Spy(name="other")]), person=person)
    finished = bench.run(call("spy", 1), call("spy", 2), call("spy", 3))
    assert [done.status.value for done in finished] == ["success"] * 3
    assert len(person.questions) == count


def test_always_does_not_reach_out_of_the_project(project: Path, tmp_path: Path) -> None:
    """Who allowed writing for good is asked again before something outside is written."""
    person = Person(Approval.ALLOW_ALWAYS)
    outside = tmp_path / "outside.txt"
    bench = Bench(project, default_toolbox(), person=person)
    calls = [
        call("write_file", number, file_path=name, content="x") for number, name in enumerate(["a", "b", str(outside)])
    ]
    bench.run(*calls)
    assert person.questions == ["write a", f"write {outside}, which is outside the project"]


def test_a_prompt_is_notified(project: Path, tmp_path: Path) -> None:
    """Notification hooks are told what is asked, and nobody waits for them but at the end."""
    bench = Bench(project, ToolBox([Spy(question="touch")]), recording(tmp_path, "Notification"), Person())
    bench.run(call("spy", what="it"))
    (event,) = recorded(tmp_path, "Notification")
    assert {key: event[key] for key in ("notification_type", "message", "details")} == {
        "notification_type": "ToolPermission",
        "message": "spy needs permission to touch",
        "details": {"tool_name": "spy", "tool_input": {"what": "it"}, "type": "info", "title": "Confirm spy"},
    }


# -------------------------------------------------------------------------------------------------- hooks


@pytest.mark.req("HOOK-014", "HOOK-025", "HOOK-149")
def test_hooks_are_asked_before_and_told_after(project: Path, tmp_path: Path) -> None:
    """BeforeTool sees the arguments, AfterTool the result, before anybody else does."""
    seen: list[int] = []

    async def behave(_arguments: Mapping[str, Any]) -> ToolResult:
        seen.append(len(recorded(tmp_path, "BeforeTool")) - len(recorded(tmp_path, "AfterTool")))
        return ToolResult(llm_content="for the model", return_display="for the person")

    bench = Bench(project, ToolBox([Spy(behaviour=behave)]), recording(tmp_path, "BeforeTool", "AfterTool"))
    (finished,) = bench.run(call("spy", what="it"))
    (before,), (after,) = recorded(tmp_path, "BeforeTool"), recorded(tmp_path, "AfterTool")
    assert (before["tool_name"], before["tool_input"]) == ("spy", {"what": "it"})
    assert after["tool_response"] == {"llmContent": "for the model", "returnDisplay": "for the person"}
    assert seen == [1]
    assert finished.result == ToolResult(llm_content="for the model", return_display="for the person")


@pytest.mark.req("HOOK-017", "HOOK-129", "HOOK-130", "HOOK-183", "HOOK-204")
@pytest.mark.parametrize(
    "hook",
    [
        pytest.param("echo 'not here' >&2; exit 2", id="exit-2"),
        pytest.param(answering({"decision": "deny", "reason": "not here"}), id="deny"),
    ],
)
def test_a_blocked_call_comes_to_rest(project: Path, tmp_path: Path, hook: str) -> None:
    """It goes from executing to idle, its result is the reason, it is told once, and nothing tries it again."""
    spy = Spy()
    counted = f"echo x >> {tmp_path}/asked; {hook}"
    bench = Bench(project, ToolBox([spy]), {**on("BeforeTool", counted), **recording(tmp_path, "AfterTool")})
    (finished,) = bench.run(call("spy", what="it"))
    refusal = ToolResult(llm_content="not here", return_display="not here", decided_by=(counted,))
    assert end(finished) == (CallStatus.IDLE, refusal)
    assert bench.statuses() == ["validating", "scheduled", "executing", "idle"]
    assert spy.ran_with == []
    assert (tmp_path / "asked").read_text() == "x\n"
    assert recorded(tmp_path, "AfterTool") == []


@pytest.mark.req("HOOK-129", "HOOK-204")
def test_a_blocked_call_waits_its_turn_to_be_told(project: Path) -> None:
    """Its result is kept until those before it are told; the calls after it run."""
    blocking = on("BeforeTool", "exit 2", matcher="^spy$")
    bench = Bench(project, ToolBox([Spy(), Spy(name="other")]), blocking)
    bench.run(call("other", 1), call("spy", 2), call("other", 3))
    assert [(told.id, told.status.value) for told in bench.told if told.result is not None] == [
        ("1", "success"),
        ("2", "idle"),
        ("3", "success"),
    ]


@pytest.mark.req("HOOK-019")
def test_rewritten_arguments_are_what_runs(project: Path, tmp_path: Path) -> None:
    """The tool gets the hook's arguments over the model's; so do AfterTool hooks and whoever reads the call."""
    spy = Spy()
    bench = Bench(project, ToolBox([spy]), {**rewriting(what="that"), **recording(tmp_path, "AfterTool")})
    (finished,) = bench.run(call("spy", what="this", more=1))
    assert spy.ran_with == [{"what": "that", "more": 1}]
    assert finished.arguments == {"what": "that", "more": 1}
    assert recorded(tmp_path, "AfterTool")[0]["tool_input"] == {"what": "that", "more": 1}


def test_hooks_know_one_name_for_a_file(project: Path, tmp_path: Path) -> None:
    """Whatever the model calls it, hooks see `file_path`; and what a hook calls `path` is understood as that."""
    hooks = {**recording(tmp_path, "BeforeTool", "AfterTool")}
    hooks["BeforeTool"] += rewriting(path="b.txt")["BeforeTool"]
    bench = Bench(project, default_toolbox(), hooks)
    (finished,) = bench.run(call("write_file", absolute_path="a.txt", content="x"))
    assert recorded(tmp_path, "BeforeTool")[0]["tool_input"] == {"file_path": "a.txt", "content": "x"}
    assert finished.arguments == {"file_path": "b.txt", "content": "x"}
    assert recorded(tmp_path, "AfterTool")[0]["tool_input"] == {"file_path": "b.txt", "content": "x"}
    assert [path.name for path in project.iterdir()] == ["b.txt"]


def test_rewritten_arguments_are_checked(project: Path) -> None:
    """The call fails with what is wrong, and the hook is named."""
    spy = Spy()
    bench = Bench(project, ToolBox([spy]), rewriting(what=7))
    (finished,) = bench.run(call("spy", what="it"))
    assert finished.status is CallStatus.ERROR
    assert finished.result is not None
    assert finished.result.error is not None
    assert finished.result.error.startswith("The tool was not run: a hook (echo ")
    assert finished.result.error.endswith("what: 7 is not of type 'string'. spy takes what (optional).")
    assert spy.ran_with == []


def test_a_rewrite_that_leaves_the_project_is_asked_about(project: Path, tmp_path: Path) -> None:
    """The one question is about what would run; a no then runs nothing and no AfterTool hook."""
    outside = tmp_path / "outside.txt"
    person = Person(Approval.REFUSE)
    hooks = {**rewriting(file_path=str(outside)), **recording(tmp_path, "AfterTool")}
    bench = Bench(project, default_toolbox(), hooks, person)
    (finished,) = bench.run(call("write_file", file_path="a.txt", content="x"))
    question = f"write {outside}, which is outside the project"
    assert person.questions == [question]
    said = f"write_file was not run: permission to {question} was not given."
    assert end(finished) == ending(CallStatus.CANCELLED, said)
    assert bench.statuses() == ["validating", "scheduled", "executing", "awaiting_approval", "cancelled"]
    assert not outside.exists()
    assert recorded(tmp_path, "AfterTool") == []


def test_a_rewrite_is_asked_about_once_with_both_arguments(project: Path) -> None:
    """The question has the arguments that run, and those from before the change."""
    person = Person()
    bench = Bench(project, default_toolbox(), rewriting(file_path="b.txt"), person)
    bench.run(call("write_file", file_path="a.txt", content="x"))
    assert person.questions == ["write b.txt"]
    (request,) = person.requests
    assert (request.call.arguments, request.before) == (
        {"file_path": "b.txt", "content": "x"},
        {"file_path": "a.txt", "content": "x"},
    )
    assert (project / "b.txt").read_text() == "x"


@pytest.mark.req("HOOK-027", "HOOK-029", "HOOK-030", "HOOK-131", "HOOK-132", "HOOK-149")
def test_what_after_tool_hooks_add(project: Path) -> None:
    """Context and message go to the model, the display is suppressed, and the tool's own words stay."""
    answer = {
        "systemMessage": "mind this",
        "suppressOutput": True,
        "hookSpecificOutput": {"additionalContext": "and that"},
    }
    bench = Bench(project, ToolBox([Spy()]), on("AfterTool", answering(answer)))
    (finished,) = bench.run(call("spy", what="it"))
    assert end(finished) == (
        CallStatus.SUCCESS,
        ToolResult(
            llm_content="did it\n\nand that\n\n[System] mind this", return_display="shown", suppress_display=True
        ),
    )


@pytest.mark.req("HOOK-028")
@pytest.mark.parametrize(
    ("event", "first"),
    [pytest.param("AfterTool", "success", id="after"), pytest.param("BeforeTool", "idle", id="before")],
)
def test_a_stop_cancels_what_has_not_started(project: Path, event: str, first: str) -> None:
    """The list says so, call by call, with the reason."""
    later = Spy(name="later", is_read_only=False)
    stopping = on(event, answering({"continue": False, "stopReason": "enough"}), matcher="^spy$")
    bench = Bench(project, ToolBox([Spy(), later]), stopping)
    finished = bench.run(call("spy", 1), call("later", 2), call("spy", 3))
    assert [done.status.value for done in finished] == [first, "cancelled", "cancelled"]
    assert finished[0].result is not None
    assert (finished[0].result.should_stop, finished[0].result.stop_reason) == (True, "enough")
    (hook,) = finished[0].result.decided_by
    said = f"It was not run, because {hook} stopped the agent (enough)."
    assert end(finished[1]) == ending(CallStatus.CANCELLED, said)
    assert bench.statuses("2") == ["validating", "scheduled", "cancelled"]
    assert later.ran_with == []


@pytest.mark.req("HOOK-125")
def test_hooks_do_not_depend_on_a_terminal(project: Path, tmp_path: Path) -> None:
    """The same call gives the same hook input and result with a terminal as standard streams and without."""
    script = tmp_path / "session.py"
    script.write_text(
        "import asyncio, json, os, sys\n"
        "from pathlib import Path\n"
        "from hookline import Config\n"
        "from hookline.apps.agent.approval.approver import Permissions\n"
        "from hookline.apps.agent.background import BackgroundHooks\n"
        "from hookline.apps.agent.scheduler import ToolScheduler\n"
        "from hookline.apps.agent.tool import AgentCall\n"
        "from hookline.apps.agent.toolbox import default_toolbox\n"
        "project, out, hooks = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])\n"
        "config = Config(project, session_id='s', settings={'enableHooks': True, 'hooks': hooks})\n"
        "permissions = Permissions(config=config, approves_all=True, background=BackgroundHooks())\n"
        "scheduler = ToolScheduler(config=config, toolbox=default_toolbox(), permissions=permissions,\n"
        "                          on_change=lambda call: None)\n"
        "call = AgentCall(id='1', name='run_shell_command', arguments={'command': 'echo hi; cat'})\n"
        "(done,) = asyncio.run(scheduler.run([call]))\n"
        "out.write_text(json.dumps([done.status, done.result.llm_content, sys.stdin.isatty()]))\n"
    )
    hooks = {**recording(tmp_path, "BeforeTool"), **on("AfterTool", answering({"systemMessage": "seen"}))}
    command = [sys.executable, str(script), str(project)]

    def start(out: Path, *, on_terminal: bool) -> list[Any]:
        words = [*command, str(out), json.dumps(hooks)]
        if on_terminal:
            assert pty.spawn(words, lambda fd: os.read(fd, 1024)) == 0
        else:
            subprocess.run(words, check=True, stdin=subprocess.DEVNULL, capture_output=True)
        result: list[Any] = json.loads(out.read_text())
        return result

    expected = ["success", "hi\nExit code: 0\n\n[System] seen"]
    assert start(tmp_path / "with", on_terminal=True) == [*expected, True]
    assert start(tmp_path / "without", on_terminal=False) == [*expected, False]
    first, second = recorded(tmp_path, "BeforeTool")
    assert {**first, "timestamp": ""} == {**second, "timestamp": ""}


def test_nobody_is_asked_about_a_file_that_is_missing(project: Path) -> None:
    """`replace` in a missing file fails at once, unless an earlier call makes the file or it is outside the project."""
    person = Person()
    bench = Bench(project, default_toolbox(), person=person)
    arguments = {"old_string": "a", "new_string": "b"}
    done = bench.run(
        call("replace", 1, file_path="new.txt", **arguments),
        call("write_file", 2, file_path="new.txt", content="a"),
        call("replace", 3, file_path="new.txt", **arguments),
        call("replace", 4, file_path="../none.txt", **arguments),
    )
    assert [one.status.value for one in done] == ["error", "success", "success", "error"]
    assert done[0].result is not None
    assert str(done[0].result.error).startswith("There is no new.txt; ")
    assert [request.call.id for request in person.requests] == ["2", "3", "4"]


# ------------------------------------------------------------------------------------------- cancellation


def test_cancelling_ends_what_runs(project: Path) -> None:
    """Running and waiting calls are told to be cancelled, in order, their processes are gone, and it propagates."""
    pid_file = project / "pid"
    bench = Bench(project, default_toolbox())
    command = f"sleep 60 & echo $! > {pid_file}.part && mv {pid_file}.part {pid_file}; wait"
    calls = [call("list_directory", 1), call("run_shell_command", 2, command=command), call("list_directory", 3)]

    async def session() -> None:
        running = asyncio.create_task(bench.scheduler.run(calls))
        while not pid_file.exists():  # noqa: ASYNC110 - a file tells it, from another process
            await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(session())
    assert [(told.id, told.status.value) for told in bench.told if told.result is not None] == [
        ("1", "success"),
        ("2", "cancelled"),
        ("3", "cancelled"),
    ]
    errors = {told.id: told.result.error for told in bench.told if told.result is not None}
    assert errors["2"] == "It was cancelled before it finished; its effects may be incomplete."
    assert errors["3"] == "It was cancelled before it started, so it had no effect."
    with pytest.raises(ProcessLookupError):
        _signal_until_gone(int(pid_file.read_text()))


def _signal_until_gone(pid: int) -> None:
    for _ in range(500):
        if not is_alive(pid):
            raise ProcessLookupError
        time.sleep(0.02)


# ------------------------------------------------------------------------------------------ the one door


def _calls_of(attribute: str) -> dict[str, int]:
    """Count the uses of a method in each module of the package, except in the adapters for other frameworks."""
    found: dict[str, int] = {}
    for path in (path for path in sorted(PACKAGE.rglob("*.py")) if PACKAGE / "adapters" not in path.parents):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if attribute in text else ():
            # Mentioned or called: who holds the method can call it later.
            if isinstance(node, ast.Attribute) and node.attr == attribute and isinstance(node.ctx, ast.Load):
                name = path.relative_to(PACKAGE).as_posix()
                found[name] = found.get(name, 0) + 1
    return found


def test_one_place_runs_tools() -> None:
    """`execute` is named once in the whole package, in the scheduler; below it each kind of tool has one way, too."""
    assert _calls_of("execute") == {"apps/agent/scheduler.py": 1}
    assert _calls_of("call_tool") == {"apps/agent/mcp/client.py": 1}


@pytest.mark.req("HOOK-134")
def test_every_answer_is_awaited() -> None:
    """No trigger whose answer has an effect is fired without waiting for the answer."""
    effective = {
        "execute_tool_with_hooks",
        "fire_before_tool_hook",
        "fire_after_tool_hook",
        "fire_before_model_hook",
        "fire_after_model_hook",
        "fire_before_tool_selection_hook",
    }
    unawaited: list[str] = []
    for path in sorted((PACKAGE / "apps" / "agent").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        awaited = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Await)}
        unawaited += [
            f"{path.name}:{node.lineno}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in effective
            and id(node) not in awaited
        ]
    assert unawaited == []


@pytest.mark.req("HOOK-014", "HOOK-025")
def test_hooks_fire_for_every_kind_of_tool(project: Path, tmp_path: Path) -> None:
    """Our own, an MCP server's and one that is added later: all pass the same door."""
    toolbox = default_toolbox()
    toolbox.add(Spy(name="mcp__server__spy", mcp_context={"server_name": "server", "tool_name": "spy"}))
    bench = Bench(project, toolbox, recording(tmp_path, "BeforeTool", "AfterTool"))
    late: AgentTool = Spy(name="late")
    toolbox.add(late)
    names = [*toolbox.names()]
    fitting = {
        "file_path": "a",
        "content": "a",
        "old_string": "a",
        "new_string": "b",
        "pattern": "x",
        "command": "true",
    }
    calls = [
        call(tool.name, number, **{name: fitting[name] for name in tool.parameters.get("required", ())})
        for number, tool in enumerate(toolbox)
    ]
    bench.run(*calls)
    for event in ("BeforeTool", "AfterTool"):
        fired = recorded(tmp_path, event)
        assert sorted(one["tool_name"] for one in fired) == sorted(names)
        (context,) = [one.get("mcp_context") for one in fired if one["tool_name"].startswith("mcp__")]
        assert context == {"server_name": "server", "tool_name": "spy"}


@pytest.mark.parametrize("answer", [Approval.ALLOW_ONCE, Approval.REFUSE])
def test_a_hook_can_have_the_user_asked(project: Path, answer: Approval) -> None:
    """`ask` is put to the user with its reason, also where everything is approved; a no is a refusal with it."""
    requests: list[ApprovalRequest] = []

    async def person(request: ApprovalRequest) -> UserReply:
        requests.append(request)
        return UserReply(answer, "use rg" if answer is Approval.REFUSE else "")

    spy = Spy()
    command = answering({"decision": "ask", "reason": "sure?"})
    bench = Bench(project, ToolBox([spy]), on("BeforeTool", command))
    permissions = Permissions(config=bench.config, approves_all=True, person=person, background=bench.background)
    bench.scheduler = replace(bench.scheduler, permissions=permissions)
    (finished,) = bench.run(call("spy", what="it"))
    assert [(request.what, request.asked, request.always) for request in requests] == [
        ("run", AskReason("sure?"), None)
    ]
    assert "awaiting_approval" in bench.statuses()
    assert (finished.status is CallStatus.SUCCESS, bool(spy.ran_with)) == (answer is not Approval.REFUSE,) * 2
    if answer is Approval.REFUSE:
        assert finished.result is not None
        assert finished.result.llm_content == "sure? The user says: use rg"
