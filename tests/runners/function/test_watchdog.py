"""Hooks in this process have a deadline, too, whatever they do."""

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.patience import until

import hookline.bridge.client
from hookline import Hooks
from hookline.files import state_path
from hookline.runners.function.watchdog import WATCHDOG, HookTimeoutError, Watchdog

NEVER_S = 60.0


def spin(_event: object = None) -> None:
    """Holds up its thread, and gives the interpreter's lock back now and then."""
    until = time.monotonic() + NEVER_S
    while time.monotonic() < until:
        pass


async def spin_at_once(event: object) -> None:
    spin(event)


async def spin_later(event: object) -> None:
    await asyncio.sleep(0)
    spin(event)


async def spin_in_the_end(event: object) -> None:
    try:
        await asyncio.sleep(NEVER_S)
    finally:
        spin(event)


@pytest.mark.req("DELTA-GUARD-005")
@pytest.mark.attack("30.F3", "a function or pack that never gives the event loop back")
@pytest.mark.parametrize("on_error", ["allow", "block"])
@pytest.mark.parametrize(
    ("function", "thread"),
    [
        pytest.param(spin, False, id="on-the-loop"),
        pytest.param(spin_at_once, None, id="async"),
        pytest.param(spin_later, None, id="after-a-turn"),
        pytest.param(spin_in_the_end, None, id="when-it-is-cancelled"),
    ],
)
def test_a_function_that_holds_up_the_loop_fails_at_its_deadline(
    project: Path, function: Any, thread: bool | None, on_error: Any
) -> None:
    """It has failed, and the loop continues; both in a separate thread and in the program's."""

    async def fired(hooks: Hooks) -> str:
        return str((await hooks.session().run_tool("t", {}, lambda _: "ran")).llm_content)

    began = time.monotonic()
    with Hooks(project, settings={"enableHooks": True}) as hooks:
        hooks.on("BeforeTool", timeout=0.1, on_error=on_error, thread=thread)(function)
        contents = [asyncio.run(fired(hooks)), hooks.session().sync.run_tool("t", {}, lambda _: "ran").llm_content]
    assert time.monotonic() - began < NEVER_S / 2
    for content in contents:
        assert content == "ran" if on_error == "allow" else "timed out after 100ms" in str(content)


def test_code_that_catches_everything_is_told_again() -> None:
    """A hook that catches the exception once has not won."""
    caught = 0

    def stubborn() -> None:
        nonlocal caught
        while caught < 3:
            try:
                spin()
            except BaseException:  # noqa: BLE001 - as foreign code may do
                caught += 1
        spin()

    with pytest.raises(HookTimeoutError):
        WATCHDOG.call(0.05, stubborn)
    assert caught == 3


def swallow(_event: object) -> dict[str, str]:
    """Catches whatever comes, and answers in the end: as a bare `except:` around slow code does."""
    until = time.monotonic() + 0.3
    while time.monotonic() < until:
        with contextlib.suppress(BaseException):
            while time.monotonic() < until:
                pass
    return {"decision": "allow"}


async def swallow_at_once(event: object) -> dict[str, str]:
    return swallow(event)


async def swallow_and_wait(event: object) -> dict[str, str]:
    answer = swallow(event)
    await asyncio.sleep(0.01)
    return answer


async def swallow_and_raise(event: object) -> None:
    raise ValueError(swallow(event))


@pytest.mark.req("DELTA-GUARD-005")
@pytest.mark.attack("30.F3", "a guard that catches the exception of its deadline, and lets the call pass afterwards")
@pytest.mark.parametrize("function", [swallow, swallow_at_once, swallow_and_wait, swallow_and_raise])
def test_an_answer_after_the_deadline_does_not_count(project: Path, function: Any) -> None:
    """The time of a hook is over when it is over, whatever it does with the exception."""
    with Hooks(project, settings={"enableHooks": True}) as hooks:
        thread = False if function is swallow else None
        hooks.on("BeforeTool", timeout=0.1, on_error="block", thread=thread)(function)
        content = hooks.session().sync.run_tool("t", {}, lambda _: "ran").llm_content
    assert "timed out after 100ms" in str(content)


def test_nothing_is_raised_after_a_call_has_ended() -> None:
    """Calls that end just when their time is over leave no exception behind."""
    for _ in range(200):
        until = time.monotonic() + 0.001

        def brief(until: float = until) -> bool:
            while time.monotonic() < until:
                pass
            return True

        with contextlib.suppress(HookTimeoutError):
            assert WATCHDOG.call(0.001, brief)
    assert sum(range(100_000)) > 0


def test_the_time_of_the_outer_call_counts_inside() -> None:
    """A hook that fires an event has no more time than it had."""
    with pytest.raises(HookTimeoutError):
        Watchdog().call(0.05, WATCHDOG.call, NEVER_S, spin)


PROGRAM = r"""
import asyncio, re, signal, sys
from hookline import Config, ToolResult, execute_tool_with_hooks
from hookline.runners.function.watchdog import WATCHDOG

def hang(event):
    print("hangs", flush=True)
    re.match(r"(a+)+$", "a" * 60 + "b")

async def run(arguments):
    return ToolResult(llm_content="ran")

signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
WATCHDOG.use_alarm()
config = Config(sys.argv[1], settings={})
config.add_hook("BeforeTool", hang, timeout=float(sys.argv[2]), on_error="block", thread=False)
print(asyncio.run(execute_tool_with_hooks(config, "t", {}, run)).llm_content)
"""


@pytest.mark.req("DELTA-GUARD-005")
@pytest.mark.attack("30.F3", "a regular expression that never ends, in a process of hookline's")
def test_a_command_ends_a_regular_expression(project: Path) -> None:
    """It holds the interpreter's lock, so no thread could end it; the kernel's alarm does."""
    command = [sys.executable, "-c", PROGRAM, str(project), "0.1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=45, check=True)
    assert "timed out after 100ms; it held up the event loop" in done.stdout


@pytest.mark.req("DELTA-GUARD-005")
@pytest.mark.attack("30.F3", "a hook that uses the alarm for itself, and answers after its deadline")
@pytest.mark.parametrize(
    "change", ["signal.signal(signal.SIGALRM, signal.SIG_IGN)", "signal.setitimer(signal.ITIMER_REAL, 0)"]
)
def test_a_hook_that_turns_the_alarm_off_fails_all_the_same(project: Path, change: str) -> None:
    """So does a hook with its own timeout; nothing can be raised in it, and its late answer is ignored."""
    program = PROGRAM.replace('re.match(r"(a+)+$", "a" * 60 + "b")', f"{change}; time.sleep(0.3)")
    command = [sys.executable, "-c", f"import time{program}", str(project), "0.1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=45, check=True)
    assert "timed out after 100ms; it held up the event loop" in done.stdout


@pytest.mark.req("DELTA-GUARD-005")
@pytest.mark.attack("30.F3", "SIGTERM while a hook in our own process hangs")
def test_a_signal_ends_a_hook_that_hangs(project: Path) -> None:
    """The program ends as it would without a hook."""
    command = [sys.executable, "-c", PROGRAM, str(project), str(NEVER_S)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "hangs\n"
        program.send_signal(signal.SIGTERM)
        assert program.wait(45) == 143


# A pack that hangs in C: the first looks for signals now and then, the second never does.
HANGING_COMMAND = r"""
import re, sys
import hookline.guards.judges as judges
import hookline.bridge.server.serve as serve
judges.judge = lambda *_: {hang}
serve.Server.__init__.__defaults__ = (600.0, 14.0)
from hookline.apps.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
HANGS = [
    pytest.param("re.match(r'(a+)+$', 'a' * 60 + 'b')", id="regular-expression"),
    pytest.param("sum(range(10**15))", id="without-signals"),
]


def hanging_command(hang: str, *words: str) -> list[str]:
    return [sys.executable, "-c", HANGING_COMMAND.format(hang=hang), *words]


def ask_bridge(
    command: list[str], agent: str, project: Path, settings: Path, serve: str = "0"
) -> subprocess.CompletedProcess[str]:
    settings.write_text(json.dumps({"enableHooks": True, "use": ["hookline:shell"]}))
    call = {"session_id": "s", "cwd": str(project), "tool_name": "Bash", "tool_input": {"command": "ls"}}
    copilot = {"sessionId": "s", "toolName": "bash", "toolArgs": {"command": "ls"}}
    event = "preToolUse" if agent == "copilot" else "PreToolUse"
    return subprocess.run(
        [*command, agent, event, "--settings", str(settings), "--deadline", "3"],
        input=json.dumps({**call, **(copilot if agent == "copilot" else {}), "hook_event_name": event}),
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
        env={**os.environ, "HOOKLINE_SERVE": serve},
    )


def is_denied(done: subprocess.CompletedProcess[str]) -> bool:
    return done.returncode == 2 or bool(re.search(r'"permissionDecision": ?"deny"', done.stdout))


@pytest.mark.req("DELTA-GUARD-005")
@pytest.mark.attack("30.F3", "a pack that hangs while another agent waits for the bridge")
@pytest.mark.parametrize("hang", HANGS)
@pytest.mark.parametrize("agent", ["claude", "copilot"])
def test_the_bridge_answers_at_its_deadline(hang: str, agent: str, project: Path, tmp_path: Path) -> None:
    """A pack that hangs is a no, in the agent's own words, before the agent stops waiting."""
    done = ask_bridge(hanging_command(hang, "hook"), agent, project, tmp_path / "settings.json")
    assert is_denied(done), done
    assert "hookline" in done.stderr + done.stdout


@pytest.mark.req("DELTA-GUARD-005")
@pytest.mark.attack("30.F3", "a pack that hangs in the server of the bridge, and all later calls with it")
def test_a_server_that_hangs_in_c_is_a_no_and_ends(project: Path, tmp_path: Path) -> None:
    """The client refuses without it, and the next event gets another server."""
    hang = "sum(range(10**15))"
    command = hanging_command(hang, "serve")
    with subprocess.Popen(command, env={**os.environ, "HOOKLINE_SERVE": "1"}) as server:
        try:
            until((state_path("") / "serve.sock").exists)
            client = [sys.executable, "-I", "-S", hookline.bridge.client.__file__]
            done = ask_bridge(client, "claude", project, tmp_path / "settings.json", "1")
            assert is_denied(done), done
            assert server.wait(45) == 1
        finally:
            server.kill()
