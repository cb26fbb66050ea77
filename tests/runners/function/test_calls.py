"""Functions as hooks: every effect, every way to fail, and that nothing which they do reaches beyond their answer."""

import asyncio
import contextlib
import contextvars
import functools
import inspect
import itertools
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hookline import Config
from hookline.errors import HooklineError
from hookline.hook import (
    Allow,
    Ask,
    BeforeTool,
    Context,
    Deny,
    Event,
    Note,
    Redact,
    Respond,
    Restrict,
    Rewrite,
    Stop,
    Suppress,
    Tell,
    allow,
    ask,
    deny,
    stop,
)
from hookline.log.write.logger import MemorySink
from hookline.protocol.constants import ConfigSource
from hookline.protocol.events import HookEventName
from hookline.protocol.observer import HookObserver
from hookline.protocol.verdict import Verdict
from hookline.runners.function import calls
from hookline.runners.function.threads import DaemonThreads
from hookline.settings.read.paths import SettingsPaths

pytestmark = pytest.mark.filterwarnings("error")

E = HookEventName
FIELDS: dict[str, dict[str, Any]] = {
    "BeforeTool": {"tool_name": "write_file", "tool_input": {"a": 1, "deep": {"list": [1]}}},
    "AfterTool": {"tool_name": "write_file", "tool_input": {"a": 1}, "tool_response": {"llmContent": "x"}},
    "BeforeModel": {"llm_request": {"model": "m", "messages": [{"role": "user", "content": "hello"}]}},
    "AfterModel": {"llm_request": {"model": "m", "messages": []}, "llm_response": {"text": "hello"}},
    "BeforeToolSelection": {"llm_request": {"model": "m", "messages": []}},
    "BeforeAgent": {"prompt": "p"},
    "AfterAgent": {"prompt": "p", "prompt_response": "r", "stop_hook_active": False},
    "SessionStart": {"source": "startup"},
    "SessionEnd": {"reason": "exit"},
    "PreCompress": {"trigger": "auto"},
    "Notification": {"notification_type": "ToolPermission", "message": "m", "details": {}},
}


Hook = Callable[[Any], Any]


class Program:
    """A program with functions as hooks."""

    def __init__(self, project: Path, settings: dict[str, Any] | None = None, **options: Any) -> None:
        self.memory = MemorySink()
        own = {"hooksConfig": {"log": {"enabled": False}}, **(settings or {})}
        self.config = Config(project, session_id="s", settings=own, log_sinks=[self.memory], **options)

    def on(self, event: str | type[Event], function: Hook, **options: Any) -> None:
        """Registers a function."""
        self.config.add_hook(event, function, **options)

    async def fire(self, event: str = "BeforeTool", fields: dict[str, Any] | None = None) -> Verdict:
        """Return the result of an event."""
        system = self.config.get_hook_system()
        assert system is not None
        await system.initialize()
        return await system.get_event_handler().fire(E(event), fields or FIELDS[event])

    def fired(self, event: str = "BeforeTool", fields: dict[str, Any] | None = None) -> Verdict:
        """The same, in a separate loop."""
        return asyncio.run(self.fire(event, fields))


@pytest.fixture
def program(project: Path) -> Program:
    return Program(project)


def command(line: str, **options: Any) -> dict[str, Any]:
    return {"hooks": [{"type": "command", "command": line, **options}]}


def saying(answer: dict[str, Any], **options: Any) -> dict[str, Any]:
    """A script that answers with this."""
    return command(f"cat >/dev/null; echo '{json.dumps(answer)}'", **options)


Make = Callable[[Callable[[Any], Any]], Hook]


def as_async(body: Callable[[Any], Any]) -> Hook:
    async def hook(event: Any) -> Any:
        return body(event)

    return hook


def as_late(body: Callable[[Any], Any]) -> Hook:
    async def hook(event: Any) -> Any:
        await asyncio.sleep(0.001)
        return body(event)

    return hook


def as_plain(body: Callable[[Any], Any]) -> Hook:
    def hook(event: Any) -> Any:
        return body(event)

    return hook


def as_handed(body: Callable[[Any], Any]) -> Hook:
    """A plain function, in a thread, which returns something to await."""
    return as_plain(as_late(body))


KINDS = [pytest.param(as_async, id="async"), pytest.param(as_late, id="waiting"), pytest.param(as_plain, id="thread")]


def throw(answer: Any) -> Any:
    raise answer


EFFECTS: list[Any] = [
    pytest.param("BeforeTool", lambda _: Deny("no"), {"blocked": True, "reason": "no"}, id="deny"),
    pytest.param("BeforeTool", lambda _: throw(Deny("no")), {"blocked": True, "reason": "no"}, id="raise-deny"),
    pytest.param("BeforeTool", lambda _: throw(Deny), {"blocked": True}, id="raise-class"),
    pytest.param("BeforeTool", lambda _: Deny, {"blocked": True}, id="deny-class"),
    pytest.param("BeforeTool", lambda _: deny("no"), {"blocked": True, "reason": "no"}, id="deny-now"),
    pytest.param(
        "BeforeTool", lambda _: {"decision": "block", "reason": "r"}, {"blocked": True, "reason": "r"}, id="dict"
    ),
    pytest.param("BeforeTool", lambda _: None, {"blocked": False, "answer": None}, id="none"),
    pytest.param("BeforeTool", lambda _: Allow, {"blocked": False, "denied": False}, id="allow"),
    pytest.param("BeforeTool", lambda _: allow(), {"blocked": False, "denied": False}, id="allow-now"),
    pytest.param("BeforeTool", lambda _: Ask("sure?"), {"ask": True, "reason": "sure?"}, id="ask"),
    pytest.param("BeforeTool", lambda _: ask("sure?"), {"ask": True, "reason": "sure?"}, id="ask-now"),
    pytest.param("BeforeTool", lambda _: Stop("enough"), {"stop": True, "stop_reason": "enough"}, id="stop"),
    pytest.param("BeforeTool", lambda _: stop("enough"), {"stop": True, "stop_reason": "enough"}, id="stop-now"),
    pytest.param(
        "BeforeTool",
        lambda _: Rewrite(tool_input={"a": 2}),
        {"arguments": {"a": 2, "deep": {"list": [1]}}},
        id="rewrite",
    ),
    pytest.param("BeforeTool", lambda _: Context("c") & Note("n"), {"context": "c", "note": "n"}, id="context-before"),
    pytest.param("AfterTool", lambda _: Context("c") & Note("n"), {"context": "c", "note": "n"}, id="context"),
    pytest.param("AfterTool", lambda _: Rewrite(tool_output="o"), {"tool_output": "o"}, id="output"),
    pytest.param("AfterTool", lambda _: Tell("t"), {"user_message": "t"}, id="tell"),
    pytest.param("BeforeAgent", lambda _: Deny("no"), {"blocked": True, "reason": "no"}, id="prompt-denied"),
    pytest.param("BeforeAgent", lambda _: Rewrite(prompt="q"), {"prompt": "q"}, id="prompt"),
    pytest.param("AfterTool", lambda _: Suppress(), {"suppress": True}, id="suppress"),
    pytest.param(
        "BeforeModel",
        lambda _: Rewrite(llm_request={"model": "x"}),
        {"request": {"model": "x", "messages": [{"role": "user", "content": "hello"}]}},
        id="request",
    ),
    pytest.param("BeforeModel", lambda _: Respond("r"), {"blocked": True, "response_text": "r"}, id="respond"),
    pytest.param("AfterModel", lambda event: Redact(event.text.upper()), {"response_text": "HELLO"}, id="redact"),
    pytest.param(
        "BeforeToolSelection",
        lambda _: Restrict(["a"], mode="ANY"),
        {"selected": {"mode": "ANY", "allowedFunctionNames": ["a"]}},
        id="restrict",
    ),
]


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize(("event", "body", "expected"), EFFECTS)
def test_every_effect(
    event: str, body: Callable[[Any], Any], expected: dict[str, Any], make: Make, program: Program
) -> None:
    """A function has every effect that a script has, whether it is async, waits, or runs in a thread."""
    program.on(event, make(body))
    verdict = program.fired(event)
    found = {name: getattr(verdict, name, None) for name in expected}
    if "response_text" in expected:
        assert verdict.response is not None
        found["response_text"] = verdict.response["text"]
    if "selected" in expected:
        assert verdict.tools is not None
        found["selected"] = verdict.tools.to_dict()
    assert found == expected
    assert [(run.success, run.failed, run.error) for run in verdict.runs] == [(True, False, None)]


@pytest.mark.parametrize("event", HookEventName, ids=str)
def test_every_event_arrives(event: HookEventName, program: Program) -> None:
    """A function gets an event of the event's own class, with the session's facts."""
    seen: list[Event] = []
    program.on(event, as_async(seen.append))
    verdict = program.fired(event.value)
    assert [(type(one).__name__, one.session_id, one.hook_event_name) for one in seen] == [(event, "s", event)]
    assert {name: seen[0].fields[name] for name in FIELDS[event.value]} == FIELDS[event.value]
    assert (verdict.runs[0].error, verdict.runs[0].way) == (None, "function")


@pytest.mark.parametrize("make", KINDS)
def test_changing_the_input_changes_nothing(make: Make, program: Program) -> None:
    """Each function has a separate copy: neither the tool nor the next hook sees its changes."""
    seen: list[Any] = []
    arguments: dict[str, Any] = {"a": 1, "deep": {"list": [1]}}

    def spoil(event: BeforeTool) -> None:
        seen.append(json.dumps(event.tool_input))
        event.tool_input["deep"]["list"].append(2)
        event.tool_input["a"] = "spoilt"
        event.fields.clear()

    program.on("BeforeTool", make(spoil), sequential=True)
    program.on("BeforeTool", make(spoil))
    verdict = program.fired("BeforeTool", {"tool_name": "t", "tool_input": arguments})
    assert arguments == {"a": 1, "deep": {"list": [1]}}
    assert seen == [json.dumps(arguments)] * 2
    assert verdict.arguments is None
    assert b"spoilt" not in verdict.runs[1].stdin


def test_changing_an_answer_later_changes_nothing(program: Program) -> None:
    """The answer itself is decided on and logged, even if the function changes the same dict later."""
    answer = {"decision": "deny", "reason": "no", "hookSpecificOutput": {"tool_input": {"a": 2}}}
    program.on("BeforeTool", as_async(lambda _: answer))
    verdict = program.fired()
    answer["decision"] = "allow"
    answer["hookSpecificOutput"]["tool_input"]["a"] = 3  # type: ignore[index]
    assert verdict.answer is not None
    assert verdict.runs[0].stdout == '{"decision":"deny","reason":"no","hookSpecificOutput":{"tool_input":{"a":2}}}'
    assert verdict.runs[0].blocks


def test_values_are_what_a_script_would_get(program: Program) -> None:
    """Arguments that are no JSON arrive as a script would read them."""
    seen: list[Any] = []
    program.on(BeforeTool, as_async(lambda event: seen.append(event.tool_input)))
    program.fired(
        "BeforeTool", {"tool_name": "t", "tool_input": {"path": Path("/x"), "set": {1}, "n": 1.0, "s": "\ud800"}}
    )
    assert seen == [{"path": "/x", "set": [1], "n": 1, "s": "\ud800"}]


class Unprintable(Exception):  # noqa: N818 - a hook author's exception
    """An exception whose text raises another one."""

    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


class UnprintableExit(BaseException):
    """The same, of the kind that ends programs."""

    __str__ = __repr__ = Unprintable.__str__


WRONG: list[Any] = [
    pytest.param(lambda _: throw(Unprintable()), "raised Unprintable", id="exception-without-text"),
    pytest.param(lambda _: throw(UnprintableExit()), "raised UnprintableExit", id="base-exception-without-text"),
    pytest.param(lambda _: 1 / 0, "raised ZeroDivisionError: division by zero", id="exception"),
    pytest.param(lambda _: "deny", "returned str; return an answer such as Deny", id="text"),
    pytest.param(lambda _: True, "returned True (bool); return an answer", id="flag"),
    pytest.param(lambda _: [Deny("x")], "returned list; return an answer", id="list"),
    pytest.param(
        lambda _: Rewrite(),
        "raised TypeError: Rewrite needs tool_input, llm_request, tool_output or prompt",
        id="empty-rewrite",
    ),
    pytest.param(
        lambda _: Rewrite,
        "raised TypeError: Rewrite needs tool_input, llm_request, tool_output or prompt",
        id="empty-class",
    ),
    pytest.param(lambda _: Deny("x") & Allow(), "raised ValueError: the answers contradict each other", id="both"),
    pytest.param(lambda _: sys.exit(2), "", id="exit"),
    pytest.param(lambda _: next(iter(())), "", id="stop-iteration"),
    pytest.param(lambda _: throw(asyncio.CancelledError()), "", id="cancelled"),
]


@pytest.mark.parametrize("make", [*KINDS, pytest.param(as_handed, id="coroutine-from-a-thread")])
@pytest.mark.parametrize(("body", "error"), WRONG)
@pytest.mark.parametrize("on_error", ["allow", "block"])
def test_a_function_that_fails(
    body: Callable[[Any], Any], error: str, make: Make, on_error: str, program: Program
) -> None:
    """An exception or a wrong type is a failed hook: onError decides, the log names it, and others still count."""
    program.on("BeforeTool", make(body), name="broken", on_error=on_error)
    program.on("BeforeTool", as_async(lambda _: Note("still here")))
    verdict = program.fired()
    broken = verdict.runs[0]
    assert (broken.success, broken.failed, verdict.success, verdict.fault) == (False, True, False, None)
    assert (verdict.blocked, verdict.note) == (on_error == "block", "still here")
    assert broken.error is not None
    assert broken.error.startswith(error)
    assert [problem.message for problem in verdict.errors] == [f"broken {broken.error}"]
    record: Any = next(one for one in program.memory.records if getattr(one, "hook", None) == "broken")
    assert f"broken {broken.error}" in record.message
    assert (record.type, record.origin, record.location) == ("callable", broken.hook.origin, broken.hook.location)
    assert record.location.startswith(f"{__file__}:")


@pytest.mark.parametrize("make", KINDS)
def test_a_deny_raised_in_a_task_group_counts(make: Make, program: Program) -> None:
    """A task group wraps what its tasks raise; a block among that is never lost, whatever else failed."""
    others = [ZeroDivisionError(), BaseExceptionGroup("inner", [Note("x"), Deny("not here")])]
    program.on("BeforeTool", make(lambda _: throw(BaseExceptionGroup("tasks", others))))
    verdict = program.fired()
    assert (verdict.blocked, verdict.reason, verdict.success) == (True, "not here", True)


@pytest.mark.parametrize(
    ("raised", "note", "success"),
    [
        pytest.param([Note("x")], "x", True, id="answer"),
        pytest.param([Note("x"), ZeroDivisionError()], None, False, id="answer-and-error"),
    ],
)
def test_other_answers_in_a_group(raised: list[Exception], note: str | None, success: bool, program: Program) -> None:
    """Without a block, a group is an answer only if nothing in it failed."""
    program.on("BeforeTool", as_async(lambda _: throw(ExceptionGroup("tasks", raised))))
    verdict = program.fired()
    assert (verdict.note, verdict.success) == (note, success)


def test_the_traceback_is_in_the_log(program: Program) -> None:
    """The author of a function that fails can see where."""
    program.on("BeforeTool", as_plain(lambda _: 1 / 0))
    assert "ZeroDivisionError" in program.fired().runs[0].stderr
    assert __file__ in program.fired().runs[0].stderr


@pytest.mark.parametrize("on_error", ["allow", "block"])
def test_a_function_that_takes_too_long(on_error: str, program: Program) -> None:
    """An async function is cancelled when its time is over, and can clean up."""
    ended = asyncio.Event()

    async def slow(_event: BeforeTool) -> Deny:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return Deny("too late")

    async def main() -> Verdict:
        verdict = await program.fire()
        await asyncio.wait_for(ended.wait(), 45)
        return verdict

    program.on("BeforeTool", slow, name="slow", timeout=0.02, on_error=on_error)
    verdict = asyncio.run(main())
    assert (verdict.runs[0].timed_out, verdict.runs[0].error) == (True, "timed out after 20ms")
    assert verdict.blocked is (on_error == "block")


def test_a_function_that_ignores_its_cancellation_holds_nobody(program: Program) -> None:
    """The event ends even if the function does not end."""
    released = asyncio.Event()

    async def stubborn(_event: BeforeTool) -> None:
        while not released.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await released.wait()

    async def main() -> Verdict:
        verdict = await program.fire()
        released.set()
        return verdict

    program.on("BeforeTool", stubborn, timeout=0.02)
    assert asyncio.run(main()).runs[0].timed_out


def test_a_thread_that_hangs_holds_nobody(program: Program) -> None:
    """The event ends after the timeout; the message has the number of threads in use."""
    release = threading.Event()
    program.on("BeforeTool", as_plain(lambda _: release.wait(10) and None), timeout=0.05, on_error="block")
    verdict = program.fired()
    release.set()
    assert verdict.blocked
    assert verdict.runs[0].error is not None
    assert verdict.runs[0].error.startswith("timed out after 50ms; its thread still runs (")
    assert verdict.runs[0].error.endswith("of at most 32 are in use)")


def test_a_program_ends_although_a_thread_hangs(project: Path) -> None:
    """A program can end although a function never returns."""
    code = (
        "import asyncio, time\nfrom hookline import Config, execute_tool_with_hooks, ToolResult\n"
        f"config = Config({str(project)!r}, settings={{}})\n"
        "config.add_hook('BeforeTool', lambda event: time.sleep(600), timeout=.05, on_error='block')\n"
        "async def run(arguments): return ToolResult(llm_content='ran')\n"
        "print(asyncio.run(execute_tool_with_hooks(config, 't', {}, run)).llm_content)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=45)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert "timed out after 50ms" in done.stdout
    assert "timed out after 50ms" in done.stderr


def test_cancelling_the_event_cancels_its_functions(program: Program) -> None:
    """No function continues after the caller has given up; that is logged."""
    states: list[str] = []

    async def main() -> None:
        started = asyncio.Event()

        async def waits(_event: BeforeTool) -> None:
            started.set()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                states.append("cancelled")
                raise

        program.on("BeforeTool", waits)
        event = asyncio.ensure_future(program.fire())
        await started.wait()
        event.cancel()
        with pytest.raises(asyncio.CancelledError):
            await event
        await asyncio.sleep(0)

    asyncio.run(main())
    assert states == ["cancelled"]
    assert any("cancelled while its hooks ran" in record.message for record in program.memory.records)


def test_functions_run_at_the_same_time(program: Program) -> None:
    """Without `sequential` all start at once, async ones and threads alike, and results are in order."""
    barrier = threading.Barrier(2, timeout=10)

    async def meets(_event: BeforeTool) -> Note:
        await asyncio.to_thread(barrier.wait)
        return Note("async")

    def meets_too(_event: BeforeTool) -> Note:
        barrier.wait()
        return Note("thread")

    program.on("BeforeTool", meets)
    program.on("BeforeTool", meets_too)
    assert program.fired().note == "async\nthread"


def test_a_chain_of_functions(program: Program) -> None:
    """Functions that are sequential run one after another, and the second gets what the first made of the arguments."""
    seen: list[dict[str, Any]] = []
    program.on("BeforeTool", as_async(lambda _: Rewrite(tool_input={"a": 2})), sequential=True)
    program.on("BeforeTool", as_async(lambda event: seen.append(event.tool_input)))
    assert program.fired().arguments == {"a": 2, "deep": {"list": [1]}}
    assert seen == [{"a": 2, "deep": {"list": [1]}}]


def test_a_chain_of_scripts_and_functions(project: Path) -> None:
    """Functions come after the scripts, in the order of their registration, and each sees the changes before it."""
    seen: list[Any] = []

    def step(number: int) -> Hook:
        async def hook(event: BeforeTool) -> Rewrite:
            seen.append(event.tool_input["path"])
            return Rewrite(tool_input={"path": f"{event.tool_input['path']}/{number}"})

        return hook

    script = saying({"hookSpecificOutput": {"tool_input": {"path": "script"}}}, name="script")
    program = Program(project, {"enableHooks": True, "hooks": {"BeforeTool": [{**script, "sequential": True}]}})
    program.on("BeforeTool", step(1), sequential=True)
    program.on("BeforeTool", step(2))
    verdict = program.fired("BeforeTool", {"tool_name": "t", "tool_input": {"path": "start", "x": 1}})
    assert seen == ["script", "script/1"]
    assert verdict.arguments == {"path": "script/1/2", "x": 1}


def test_scripts_and_functions_at_the_same_time(project: Path) -> None:
    """Their answers are merged in plan order, not in the order in which they end."""
    hooks = {
        "BeforeToolSelection": [saying({"systemMessage": "script"})],
        "AfterTool": [saying({"systemMessage": "s"})],
    }
    program = Program(project, {"enableHooks": True, "hooks": hooks})
    program.on("AfterTool", as_async(lambda _: Note("async")))
    program.on("AfterTool", as_plain(lambda _: Note("thread")))
    verdict = program.fired("AfterTool")
    assert verdict.note == "s\nasync\nthread"
    assert [run.hook.type for run in verdict.runs] == ["command", "callable", "callable"]


@pytest.mark.parametrize("order", ["sequential", "parallel"])
def test_a_project_can_not_undo_a_function(order: str, project: Path) -> None:
    """A function has the highest rank: no hook of the settings undoes its block or stops it from running."""
    hooks = {
        "BeforeModel": [{**saying({"decision": "allow", "continue": True}), "sequential": order == "sequential"}],
        "BeforeTool": [{**saying({"decision": "deny", "reason": "first"}), "sequential": order == "sequential"}],
    }
    program = Program(project, {"enableHooks": True, "hooks": hooks})
    program.on("BeforeModel", as_async(lambda _: Deny("no")))
    program.on("BeforeTool", as_async(lambda _: Deny("second")))
    assert (program.fired("BeforeModel").blocked, program.fired("BeforeTool").reason) == (True, "first\nsecond")


def test_a_final_function_judges_what_will_run(project: Path) -> None:
    """It comes after all others, sees their changes, and can't rewrite."""
    seen: list[Any] = []

    async def guard(event: BeforeTool) -> Rewrite:
        seen.append(event.tool_input)
        return Rewrite(tool_input={"a": "mine"})

    program = Program(project)
    program.on("BeforeTool", guard, final=True)
    program.on("BeforeTool", as_async(lambda _: Rewrite(tool_input={"a": 2})))
    verdict = program.fired("BeforeTool", {"tool_name": "t", "tool_input": {"a": 1}})
    assert (seen, verdict.arguments) == ([{"a": 2}], {"a": 2})


@pytest.mark.parametrize(("tool", "count"), [("write_file", 1), ("read_file", 0)])
def test_matchers(tool: str, count: int, program: Program) -> None:
    """A function runs for the tools that its matcher matches."""
    program.on("BeforeTool", as_async(lambda _: None), matcher="^write_")
    assert len(program.fired("BeforeTool", {"tool_name": tool, "tool_input": {}}).runs) == count


def test_settings_that_are_disabled_leave_functions_alone(project: Path) -> None:
    """`enableHooks` is about the hooks of settings: what the program registers runs in any case."""
    settings = {"enableHooks": False, "hooks": {"BeforeTool": [saying({"decision": "deny"})]}}
    program = Program(project, settings)
    assert program.config.get_hook_system() is None
    program.on("BeforeTool", as_async(lambda _: Note("here")))
    verdict = program.fired()
    assert (verdict.blocked, verdict.note, len(verdict.runs)) == (False, "here", 1)


def test_functions_can_be_added_at_any_time(project: Path) -> None:
    """Before and after the first event, and they stay when a settings file changes."""
    path = project / "settings.json"
    path.write_text("{}")
    memory = MemorySink()
    config = Config(project, settings_files=[path], log_sinks=[memory])
    config.add_hook("BeforeTool", as_async(lambda _: Note("1")))
    system = config.get_hook_system()
    assert system is not None

    async def note() -> str | None:
        await system.initialize()
        return (await system.get_event_handler().fire(E.BEFORE_TOOL, FIELDS["BeforeTool"])).note

    assert asyncio.run(note()) == "1"
    config.add_hook("BeforeTool", as_async(lambda _: Note("2")))
    assert asyncio.run(note()) == "1\n2"
    path.write_text(json.dumps({"enableHooks": True, "hooks": {"BeforeTool": [saying({"systemMessage": "file"})]}}))
    time.sleep(0.01)
    assert asyncio.run(note()) == "file\n1\n2"
    assert [hook.source for hook in system.get_all_hooks()] == ["project", "program", "program"]


def test_the_same_function_runs_once(program: Program) -> None:
    """Twice the same function is a duplicate; two functions of one definition are two hooks."""
    seen: list[str] = []

    def made(name: str) -> Hook:
        async def hook(_event: BeforeTool) -> None:
            seen.append(name)

        return hook

    first = made("a")
    program.on("BeforeTool", first, matcher="write_.*")
    program.on("BeforeTool", first, matcher=".*_file", on_error="block")
    program.on("BeforeTool", made("b"))
    verdict = program.fired()
    assert seen == ["a", "b"]
    assert verdict.plan is not None
    assert [skip.kind for skip in verdict.plan.skipped] == ["duplicate"]
    assert verdict.runs[0].hook.on_error == "block"


def test_functions_can_be_switched_off(project: Path, tmp_path: Path) -> None:
    """By the program, by their name, and by the system's settings; a user's or a project's file can't."""
    files = {name: tmp_path / f"{name}.json" for name in ("project", "user", "system")}
    for name, path in files.items():
        path.write_text(json.dumps({"hooksConfig": {"disabled": [f"off-{name}"], "log": {"enabled": False}}}))
        path.chmod(0o600)
    config = Config(
        project, settings_paths=SettingsPaths(project=files["project"], user=files["user"], system=files["system"])
    )
    for name in ("off-project", "off-user", "off-system", "mine"):
        config.add_hook("BeforeTool", as_async(lambda _: None), name=name)
    system = config.get_hook_system()
    assert system is not None
    asyncio.run(system.initialize())
    assert [hook.name for hook in system.explain(E.BEFORE_TOOL).hooks] == ["off-project", "off-user", "mine"]
    assert system.set_hook_enabled("mine", enabled=False)
    explained = system.explain(E.BEFORE_TOOL)
    assert [hook.name for hook in explained.hooks] == ["off-project", "off-user"]
    assert [skip.detail for skip in explained.skipped] == [f"by {files['system']}", "by set_hook_enabled"]


def test_what_people_see_of_a_function(program: Program) -> None:
    """Its name or its place, its type, and where its code is."""
    program.on("BeforeTool", test_matchers)  # type: ignore[arg-type]
    program.on("BeforeTool", as_async(lambda _: None), name="guard", description="why")
    system = program.config.get_hook_system()
    assert system is not None
    asyncio.run(system.initialize())
    first, second = system.get_all_hooks()
    assert (first.label, first.type, first.source, first.command) == (
        f"{__name__}:test_matchers",
        "callable",
        ConfigSource.PROGRAM,
        None,
    )
    assert first.location == f"{__file__}:{test_matchers.__code__.co_firstlineno}"
    assert (second.label, second.description) == ("guard", "why")


class Guard:
    """An object that is a hook, and one with a method that is."""

    def __call__(self, _event: BeforeTool) -> Deny:
        """The object itself."""
        return Deny("object")

    async def check(self, _event: BeforeTool) -> Deny:
        """Its method."""
        return Deny("method")


class AsyncGuard:
    """The same, async."""

    async def __call__(self, _event: BeforeTool) -> Deny:
        """The object itself."""
        return Deny("async object")


def with_reason(reason: str, _event: BeforeTool) -> Deny:
    return Deny(reason)


async def later(event: BeforeTool) -> Deny:
    return Deny(event.tool_name)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        pytest.param(Guard(), "object", id="object"),
        pytest.param(Guard().check, "method", id="method"),
        pytest.param(AsyncGuard(), "async object", id="async-object"),
        pytest.param(functools.partial(with_reason, "partial"), "partial", id="partial"),
        pytest.param(lambda event, call=later: call(event), "write_file", id="returns-a-coroutine"),
    ],
)
def test_whatever_can_be_called(function: Any, reason: str, program: Program) -> None:
    """Objects, methods, partial functions, and functions that return something to await."""
    program.on("BeforeTool", function)
    assert program.fired().reason == reason


def test_what_a_thread_hands_over_has_the_rest_of_the_time(program: Program) -> None:
    """The hook's one timeout is for both, and a deny that is raised while it is awaited counts."""

    async def forever(_event: Any) -> None:
        await asyncio.Event().wait()

    program.on("BeforeTool", as_plain(forever), timeout=0.05, name="slow")
    program.on("BeforeTool", as_handed(lambda _: throw(Deny("raised"))))
    verdict = program.fired()
    assert (verdict.reason, verdict.runs[0].timed_out) == ("raised", True)


def test_what_a_thread_hands_over_too_late_is_closed(program: Program) -> None:
    """Nobody awaits it any more, and Python does not warn of that."""
    release, handed = threading.Event(), list[Any]()

    async def answer() -> None:
        """Is never begun."""

    def late(_event: Any) -> Any:
        release.wait(10)
        handed.append(answer())
        return handed[0]

    program.on("BeforeTool", late, timeout=0.05)

    async def main() -> None:
        verdict = await program.fire()
        assert verdict.runs[0].timed_out
        release.set()
        while not handed or inspect.getcoroutinestate(handed[0]) != inspect.CORO_CLOSED:  # noqa: ASYNC110 - threads set no event of asyncio
            await asyncio.sleep(0.001)

    asyncio.run(main())


def test_a_plain_function_on_the_loop(program: Program) -> None:
    """With `thread=False` a quick function is called where the event is fired."""
    threads: list[Any] = []
    program.on("BeforeTool", as_plain(lambda _: threads.append(threading.current_thread())), thread=False)
    program.on("AfterTool", as_plain(lambda _: threads.append(threading.current_thread())))
    program.fired("BeforeTool")
    program.fired("AfterTool")
    assert threads[0] is threading.current_thread()
    assert threads[1].name == "hookline function"


@pytest.mark.req("WARM-043")
def test_no_record_of_ten_thousand_events_is_lost(project: Path, tmp_path: Path) -> None:
    """As fast as they can be fired, and so faster than they can be written: each leaves its three records."""
    log = {"path": str(tmp_path / "hooks.jsonl"), "maxBytes": 100_000_000}
    config = Config(project, session_id="s", settings={"hooksConfig": {"log": log}})
    config.add_hook("BeforeTool", as_async(lambda _: None))
    system = config.get_hook_system()
    assert system is not None

    async def fire() -> None:
        await system.initialize()
        handler = system.get_event_handler()
        for _ in range(10_000):
            await handler.fire(E.BEFORE_TOOL, FIELDS["BeforeTool"])

    asyncio.run(fire())
    system.dispose()
    fires: dict[str, set[str]] = {"start": set(), "hook": set(), "event": set()}
    lines = (tmp_path / "hooks.jsonl").read_bytes().splitlines()
    for record in map(json.loads, lines):
        fires[record["kind"]].add(record["fire"])
    assert len(lines) == 30_000
    assert len(fires["start"]) == 10_000
    assert fires["start"] == fires["hook"] == fires["event"]


def test_secrets_of_the_environment_do_not_reach_the_log(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function gets no environment, and can read this program's all the same."""
    log = project / "hooks.jsonl"
    config = Config(project, session_id="s", settings={"hooksConfig": {"log": {"path": str(log)}}})
    config.add_hook("BeforeTool", as_async(lambda _: Note("it is Tr0ub4dor&3")))
    system = config.get_hook_system()
    assert system is not None

    async def fire() -> None:
        await system.initialize()
        monkeypatch.setenv("LATE_PASSWORD", "Tr0ub4dor&3")
        await system.get_event_handler().fire(E.BEFORE_TOOL, FIELDS["BeforeTool"])

    asyncio.run(fire())
    system.dispose()
    assert "it is [redacted]" in log.read_text()
    assert "Tr0ub4dor&3" not in log.read_text()


word: contextvars.ContextVar[str] = contextvars.ContextVar("word")


@pytest.mark.parametrize("make", KINDS)
def test_context_variables(make: Make, program: Program) -> None:
    """A function sees the program's context variables, and what it sets stays its own."""

    def body(_event: BeforeTool) -> Note:
        seen = word.get()
        word.set("hook")
        return Note(seen)

    async def main() -> tuple[str | None, str]:
        word.set("program")
        return (await program.fire()).note, word.get()

    program.on("BeforeTool", make(body))
    assert asyncio.run(main()) == ("program", "program")


def test_two_loops(program: Program) -> None:
    """One function serves event loops in several threads."""

    async def hook(event: BeforeTool) -> Note:
        await asyncio.sleep(0.001)
        return Note(event.tool_name)

    program.on("BeforeTool", hook)
    program.on("BeforeTool", as_plain(lambda event: Note(event.tool_name)))
    notes: list[str | None] = []

    def run(name: str) -> None:
        notes.extend([program.fired("BeforeTool", {"tool_name": name, "tool_input": {}}).note for _ in range(20)])

    threads = [threading.Thread(target=run, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, notes)) == ["a\na"] * 20 + ["b\nb"] * 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"event": "BeforeTol"}, "'BeforeTol' is not an event; did you mean BeforeTool"),
        ({"event": "BeforeModel", "matcher": "x"}, "BeforeModel has nothing to match"),
        ({"matcher": "a" * 100_000}, "the matcher"),
        ({"event": "AfterTool", "final": True}, "only a BeforeTool hook can be final"),
        ({"timeout": -1}, "a timeout is a number of seconds"),
        ({"timeout": float("nan")}, "a timeout is a number of seconds"),
        ({"function": 3}, "a hook is a function, and 3 can't be called"),
        ({"function": later, "thread": True}, "later is async, so it runs on the event loop"),
        ({"function": later, "event": "AfterTool"}, "later is for BeforeTool, and not for AfterTool"),
        ({"on_error": "ignore"}, "on_error"),
        ({"event": "AfterModel", "on_error": "block"}, "AfterModel can't block, so on_error has no effect there"),
    ],
)
def test_mistakes_are_told_at_once(options: dict[str, Any], message: str, program: Program) -> None:
    """Options that contradict each other are an error at registration, and nothing is registered."""
    given = {"event": "BeforeTool", "function": as_async(lambda _: None), **options}
    with pytest.raises(HooklineError, match=message):
        program.on(given.pop("event"), given.pop("function"), **given)
    assert program.config.get_hook_system() is None


def test_threads_are_bounded() -> None:
    """At most `most` functions run; a call that is cancelled while it waits never runs."""
    threads = DaemonThreads(most=2)
    release = threading.Event()
    ran: list[int] = []

    def work(number: int) -> None:
        release.wait(10)
        ran.append(number)

    futures = [threads.submit(work, number) for number in range(5)]
    while threads.busy < 2:
        time.sleep(0.001)
    assert futures[4].cancel()
    release.set()
    for future in futures[:4]:
        future.result(10)
    threads.submit(work, 5).result(10)
    assert sorted(ran) == [0, 1, 2, 3, 5]


def test_a_thread_that_can_not_start_costs_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system allows no more threads the call fails, and later calls run."""
    threads = DaemonThreads(most=1)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", lambda _: throw(RuntimeError("can't start new thread")))
        with pytest.raises(RuntimeError, match="new thread"):
            threads.submit(lambda: 1)
    assert threads.submit(lambda: 2).result(10) == 2


def test_without_threads_a_function_fails_alone(monkeypatch: pytest.MonkeyPatch, program: Program) -> None:
    """Where the system allows no more threads, that hook fails for lack of them, and the others still count."""
    program.on("BeforeTool", as_plain(lambda _: Deny("never asked")), name="plain")
    program.on("BeforeTool", as_async(lambda _: Deny("asked")))
    monkeypatch.setattr(calls, "THREADS", DaemonThreads(most=1))
    monkeypatch.setattr(threading.Thread, "start", lambda _: throw(RuntimeError("can't start new thread")))
    verdict = program.fired()
    assert (verdict.reason, verdict.fault) == ("asked", None)
    assert verdict.runs[0].error == "could not be called: can't start new thread"
    assert verdict.runs[0].is_shortage


def test_a_function_that_ends_at_any_moment_answers_once(program: Program) -> None:
    """The event waits for a thread in two ways, first itself and then by the loop; between them nothing is lost."""
    spans = itertools.cycle([0, 0.00005, 0.0001, 0.00015, 0.0002, 0.00025, 0.0003, 0.0004])
    numbers = itertools.count()

    def hook(_event: Event) -> Note:
        until = time.perf_counter() + next(spans)
        while time.perf_counter() < until:
            time.sleep(0)
        return Note(str(next(numbers)))

    async def main() -> list[str | None]:
        return [(await program.fire()).note for _ in range(400)]

    program.on("BeforeTool", hook)
    assert asyncio.run(main()) == [str(number) for number in range(400)]


def test_the_loop_goes_on_while_a_thread_works(program: Program) -> None:
    """A function that takes its time can even wait for the event loop that it was called from."""
    turn = threading.Event()
    program.on("BeforeTool", as_plain(lambda _: Note("seen") if turn.wait(10) else None))

    async def main() -> Verdict:
        asyncio.get_running_loop().call_later(0.01, turn.set)
        return await program.fire()

    assert asyncio.run(main()).note == "seen"


@pytest.mark.parametrize("wait", [0, 0.02])
def test_what_a_thread_hands_over_keeps_its_context(wait: float, program: Program) -> None:
    """A coroutine sees the context variables of the plain function that returned it; other code does not."""
    color: contextvars.ContextVar[str] = contextvars.ContextVar("color", default="none")

    async def rest() -> Note:
        await asyncio.sleep(0)
        return Note(color.get())

    def hook(_event: Event) -> Any:
        color.set("red")
        time.sleep(wait)
        return rest()

    program.on("BeforeTool", hook)
    assert (program.fired().note, color.get()) == ("red", "none")


def test_threads_outlive_a_closed_loop() -> None:
    """A function may end after its loop was closed, and its thread runs the next function."""
    threads = DaemonThreads(most=1)
    release = threading.Event()

    async def leave() -> None:
        asyncio.get_running_loop().run_in_executor(threads, release.wait, 10)

    async def work() -> Any:
        return await asyncio.get_running_loop().run_in_executor(threads, lambda: "done")

    asyncio.run(leave())
    release.set()
    assert asyncio.run(work()) == "done"


def test_the_first_step_has_a_task_of_its_own(program: Program) -> None:
    """The tools of asyncio work in a function that is started at once: timeouts, task groups, the current task."""
    tasks: list[Any] = []

    async def hook(_event: BeforeTool) -> Note:
        tasks.append(asyncio.current_task())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0):
                await asyncio.sleep(10)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.01):
                await asyncio.sleep(10)
        with contextlib.suppress(ExceptionGroup):
            async with asyncio.TaskGroup() as group:
                group.create_task(fail())
                await asyncio.sleep(10)
        await asyncio.sleep(0)
        tasks.append(asyncio.current_task())
        return Note("done")

    async def fail() -> None:
        raise ValueError

    async def main() -> Verdict:
        verdict = await program.fire()
        own = asyncio.current_task()
        assert own is not None
        assert own.cancelling() == 0
        assert tasks[0] is tasks[1]
        assert tasks[0] is not own
        return verdict

    program.on("BeforeTool", hook)
    assert asyncio.run(main()).note == "done"


def test_answers_are_read_like_those_of_scripts(program: Program) -> None:
    """A dict with a mistake leads to the same advice, and with `onError` block to the same refusal."""
    program.on("BeforeTool", as_async(lambda _: {"decision": "DENY"}), on_error="block")
    verdict = program.fired()
    assert verdict.blocked
    assert "is not one of block, deny, allow, approve, ask" in verdict.runs[0].advice[0]


def test_an_observer_sees_functions(project: Path) -> None:
    """An observer gets the plan, each function's end, and the verdict."""
    seen: list[str] = []

    class Observer(HookObserver):
        def hooks_started(self, plan: Any, **_: object) -> None:
            seen.append(f"{len(plan.hooks)} started")

        def hook_ended(self, hook: Any, **_: object) -> None:
            seen.append(hook.label)

        def hooks_finished(self, verdict: Verdict, **_: object) -> None:
            seen.append(f"blocked {verdict.blocked}")

    program = Program(project, observer=Observer())
    program.on("BeforeTool", as_plain(lambda _: Deny("x")), name="plain")
    program.on("BeforeTool", as_async(lambda _: None), name="async")
    program.fired()
    assert (seen[0], sorted(seen[1:3]), seen[3]) == ("2 started", ["async", "plain"], "blocked True")
