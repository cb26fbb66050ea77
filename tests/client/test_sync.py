import asyncio
import gc
import inspect
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.answers import says

from hookline import Hooks, LLMRequest
from hookline.client import Session, SyncSession
from hookline.errors import HooklineError, SessionClosedError
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.observer import HookObserver

from .conftest import MakeHooks, hook

REQUEST: LLMRequest = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
REWRITE = says({"hookSpecificOutput": {"tool_input": {"path": "b"}}})


def loop_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "hookline"]


def wait_until(is_true: Callable[[], bool]) -> None:
    end = time.monotonic() + 45
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_every_method_has_a_blocking_form(make_hooks: MakeHooks) -> None:
    """The results are those of the session's own methods."""
    hooks = make_hooks(
        {
            "BeforeTool": [hook(REWRITE)],
            "AfterTool": [hook(says({"hookSpecificOutput": {"additionalContext": "Seen."}}))],
            "BeforeModel": [hook(says({"hookSpecificOutput": {"llm_request": {"config": {"topP": 0.5}}}}))],
            "AfterModel": [hook(says({"hookSpecificOutput": {"llm_response": {"text": "[gone]"}}}))],
            "BeforeToolSelection": [
                hook(says({"hookSpecificOutput": {"toolConfig": {"allowedFunctionNames": ["t"]}}}))
            ],
        }
    )
    with hooks.session() as session:
        assert session.sync.select_tools(REQUEST, ["s", "t"]).allowed == ("t",)
        assert session.sync.before_model(REQUEST).request["config"] == {"topP": 0.5}
        assert session.sync.after_model(REQUEST, {"text": "secret"}).text == "[gone]"
        call = session.sync.before_tool("t", {"path": "a"})
        assert call.arguments == {"path": "b"}
        assert session.sync.after_tool(call, "ok").llm_content == "ok\n\nSeen."
        assert session.sync.before_tool("s", {}).blocked
    with pytest.raises(SessionClosedError):
        session.sync.before_tool("t", {})


def test_the_names_are_the_same() -> None:
    """Each event of a session has its blocking form, with the same parameters."""
    for name in (name for name in dir(SyncSession) if not name.startswith("_")):
        parameters = [list(inspect.signature(getattr(kind, name)).parameters) for kind in (Session, SyncSession)]
        assert parameters[0] == parameters[1], name


def test_tools_and_questions_stay_in_the_callers_thread(make_hooks: MakeHooks) -> None:
    """A tool may depend on its thread, and one that takes long must not hold up the hooks of other threads."""
    seen: list[threading.Thread] = []

    def on_ask(_reason: str, _arguments: Any) -> bool:
        seen.append(threading.current_thread())
        return True

    def tool(arguments: dict[str, Any]) -> dict[str, Any]:
        seen.append(threading.current_thread())
        return arguments

    hooks = make_hooks({"BeforeTool": [hook(says({"decision": "ask", "reason": "Sure?"}))]}, on_ask=on_ask)
    assert hooks.session().sync.run_tool("t", {"a": 1}, tool).llm_content == '{"a":1}'
    assert seen == [threading.current_thread()] * 2


def test_async_tools_and_questions_work_as_well(make_hooks: MakeHooks) -> None:
    """They run on the loop of the hooks."""

    async def on_ask(_reason: str, _arguments: Any) -> bool:
        await asyncio.sleep(0)
        return True

    async def tool(_: dict[str, Any]) -> str:
        await asyncio.sleep(0)
        return threading.current_thread().name

    hooks = make_hooks({"BeforeTool": [hook(says({"decision": "ask", "reason": "Sure?"}))]}, on_ask=on_ask)
    assert hooks.session().sync.run_tool("t", {}, tool).llm_content == "hookline"


def test_inside_a_running_loop(make_hooks: MakeHooks) -> None:
    """A synchronous function that is called by an async one can also have hooks; the loop waits for it."""
    hooks = make_hooks({"BeforeTool": [hook(REWRITE)]})

    async def main() -> Any:
        session = hooks.session()
        both = session.sync.before_tool("t", {"path": "a"}), await session.before_tool("t", {"path": "a"})
        return [call.arguments for call in both]

    assert asyncio.run(main()) == [{"path": "b"}, {"path": "b"}]


def test_many_threads_at_once(make_hooks: MakeHooks) -> None:
    """One loop serves them all, and their hooks run at the same time: each waits until all have started."""
    hooks = make_hooks(
        {"BeforeTool": [hook("touch $LLXPRT_PROJECT_DIR/$$; while [ $(ls | wc -l) -lt 4 ]; do sleep 0.01; done")]}
    )
    session = hooks.session()
    with ThreadPoolExecutor(4) as pool:
        calls = list(pool.map(lambda number: session.sync.before_tool("t", {"n": number}), range(4)))
    assert [call.arguments["n"] for call in calls] == [0, 1, 2, 3]
    assert all(call.verdict is not None and call.verdict.success for call in calls)
    assert len(loop_threads()) == 1


def test_two_loops_may_share_a_session(make_hooks: MakeHooks) -> None:
    """A session belongs to no loop: it works in one after another, and in several threads at once."""
    hooks = make_hooks({"BeforeTool": [hook(REWRITE)]})
    session = hooks.session()

    def one(_: int) -> Any:
        return asyncio.run(session.before_tool("t", {"path": "a"})).arguments

    assert one(0) == one(1) == {"path": "b"}
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(one, range(6))) == [{"path": "b"}] * 6


def test_use_inside_an_observer_is_an_error(make_hooks: MakeHooks) -> None:
    """It would wait for itself forever."""
    errors: list[Exception] = []

    class Observer(HookObserver):
        def hooks_started(self, plan: Any, **_: object) -> None:  # noqa: ARG002 - the signature of HookObserver
            try:
                hooks.session().sync.before_tool("t", {})
            except HooklineError as error:
                errors.append(error)

        def hook_ended(self, hook: HookEntry, **_: object) -> None: ...

        def hooks_finished(self, verdict: Any, **_: object) -> None: ...

    hooks = make_hooks({"BeforeTool": [hook("true")]}, observer=Observer())
    hooks.session().sync.before_tool("t", {})
    assert ["would wait for itself" in str(error) for error in errors] == [True]


def test_the_thread_starts_on_first_use_and_ends_with_its_hooks(make_hooks: MakeHooks, tmp_path: Path) -> None:
    """No thread before it is needed; none after `close`, and none when no reference to the hooks is left."""
    before = loop_threads()
    hooks = make_hooks({"BeforeTool": [hook("true")]})
    session = hooks.session()
    assert loop_threads() == before
    session.sync.before_tool("t", {})
    assert len(loop_threads()) == len(before) + 1
    hooks.close()
    assert loop_threads() == before

    forgotten = Hooks(tmp_path, settings={})
    forgotten.session().sync.before_tool("t", {})
    assert len(loop_threads()) == len(before) + 1
    del forgotten
    gc.collect()
    wait_until(lambda: loop_threads() == before)


def test_closing_ends_hooks_that_still_run(make_hooks: MakeHooks, tmp_path: Path) -> None:
    """The waiting thread is not left alone, and neither is the hook."""
    hooks = make_hooks({"BeforeTool": [hook("echo $$ > pid; exec sleep 100")]})
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(hooks.session().sync.before_tool, "t", {})
        wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().endswith("\n"))
        hooks.close()
        with pytest.raises(HooklineError, match="the hooks were closed while they ran"):
            waiting.result(timeout=45)
    pid = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_a_thread_of_its_own(make_hooks: MakeHooks) -> None:
    """After a fork the parent's thread does not exist in the child: the guard must run there all the same."""
    hooks = make_hooks({"BeforeTool": [hook("echo no >&2; exit 2")]})
    session = hooks.session()
    assert session.sync.before_tool("t", {}).blocked
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if session.sync.before_tool("t", {}).reason == "no" else 3)
        finally:
            os._exit(4)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert session.sync.before_tool("t", {}).blocked


def test_a_program_ends_without_closing(tmp_path: Path) -> None:
    """The interpreter ends, nothing is printed, and no hook is left behind."""
    script = f"""
import sys, threading, time
from pathlib import Path
from hookline import Hooks
slow = {{"type": "command", "command": "echo $$ > pid; exec sleep 100", "name": "slow"}}
hooks = Hooks({str(tmp_path)!r}, settings={{"enableHooks": True, "hooksConfig": {{"log": {{"enabled": False}}}},
    "hooks": {{"BeforeTool": [{{"matcher": "slow", "hooks": [slow]}}]}}}})
session = hooks.session()
session.sync.before_tool("quick", {{}})
threading.Thread(target=session.sync.before_tool, args=("slow", {{}}), daemon=True).start()
pid = Path({str(tmp_path)!r}, "pid")
while not (pid.exists() and pid.read_text().endswith("\\n")):
    time.sleep(0.01)
print("done")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=45, check=True)
    assert (done.stdout, done.stderr) == ("done\n", "")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.parametrize(
    "interrupts",
    [
        pytest.param("os.kill(os.getpid(), signal.SIGINT)", id="while-it-waits"),
        # It wakes this thread only: one that comes just before the main thread blocks wakes no thread.
        pytest.param("signal.pthread_kill(threading.get_ident(), signal.SIGINT)", id="before-it-waits"),
    ],
)
def test_an_interrupt_ends_the_hooks(tmp_path: Path, interrupts: str) -> None:
    """Ctrl-C in the thread that waits reaches it at once, and ends the hooks it waited for."""
    script = f"""
import json, os, signal, sys, threading, time
from pathlib import Path
from hookline import Hooks
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored where the tests run
slow = {{"type": "command", "command": "echo $$ > pid; exec sleep 100"}}
hooks = Hooks({str(tmp_path)!r}, settings={{"enableHooks": True, "hooksConfig": {{"log": {{"enabled": False}}}},
    "hooks": {{"BeforeTool": [{{"hooks": [slow]}}]}}}})
pid = Path({str(tmp_path)!r}, "pid")
def interrupt():
    while not (pid.exists() and pid.read_text().endswith("\\n")):
        time.sleep(0.01)
    {interrupts}
threading.Thread(target=interrupt).start()
try:
    hooks.session().sync.before_tool("slow", {{}})
except KeyboardInterrupt:
    for _ in range(1000):
        try:
            os.kill(int(pid.read_text()), 0)
        except ProcessLookupError:
            print(json.dumps("ended"))
            break
        time.sleep(0.01)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=45, check=True)
    assert json.loads(done.stdout) == "ended"


def test_use_at_the_very_end_of_a_program_is_a_clear_error(tmp_path: Path) -> None:
    """An atexit function that was registered before the first event runs after the hooks were closed."""
    program = """
import atexit
from hookline import Hooks
from hookline.hook import Deny

def late():
    try:
        session.sync.before_tool("x", {})
    except Exception as error:
        print(type(error).__name__, error)

atexit.register(late)
hooks = Hooks(".", settings={})
hooks.on("BeforeTool")(lambda event: Deny("no"))
session = hooks.session()
session.sync.before_tool("x", {})
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=45
    )
    assert done.stdout.startswith("HooklineError the program is ending")
    assert done.stderr == ""
