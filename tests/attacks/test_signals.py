"""A parent or an embedding program that takes exit statuses away: no deny gets lost."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hookline.bridge import client as bridge_client
from hookline.bridge.server.control import ask_server

HOOKLINE = str(Path(sys.executable).with_name("hookline"))
DENIES = "echo no >&2; exit 2"
EVENT = json.dumps({"tool_name": "t", "tool_input": {}})
CLAUDE = json.dumps({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}})
CALL = {"functionCall": {"name": "write_file", "args": {"file_path": "made", "content": "x"}}}
TURNS = [{"candidates": [{"content": {"role": "model", "parts": [part]}}]} for part in (CALL, {"text": "done"})]
IGNORING = ["bash", "-c", "trap '' CHLD; exec \"$@\"", "bash"]
# The ways in which a program can lose the statuses of its children.
PROGRAMS = {
    "ignored": "signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
    "handler": "signal.signal(signal.SIGCHLD, lambda *_: reap(os.WNOHANG))",
    "thread": "threading.Thread(target=lambda: [reap(0) for _ in iter(int, 1)], daemon=True).start()",
}
PROGRAM = """
import os, signal, threading, time
from hookline import Hooks

def reap(options):
    try:
        while os.waitpid(-1, options)[0]:
            pass
    except ChildProcessError:
        time.sleep(0.001)

{take}
ran = []
hooks = Hooks({project!r})
session = hooks.session().sync
for _ in range(10):
    result = session.run_tool("bash", {{"command": "ls"}}, lambda arguments: ran.append(1) or "ran")
hooks.close()
print(len(ran))
"""


@pytest.fixture
def write_guard(own_home: Path) -> Callable[..., None]:
    def write(command: str, **more: Any) -> None:
        hook = {"type": "command", "command": command, **more}
        settings = {"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [hook]}]}}
        (own_home / ".llxprt").mkdir(exist_ok=True)
        (own_home / ".llxprt" / "settings.json").write_text(json.dumps(settings))

    return write


@pytest.fixture
def no_server_left() -> Iterator[None]:
    yield
    subprocess.run([HOOKLINE, "serve", "--stop"], capture_output=True, check=False)


def run(*words: str, cwd: Path, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(words, cwd=cwd, input=stdin, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.attack("30.A1", "a parent that ignores SIGCHLD, before fire, the agent and the bridge")
@pytest.mark.req("DELTA-PROC-002")
@pytest.mark.usefixtures("no_server_left")
def test_a_command_whose_parent_ignores_sigchld_denies(project: Path, write_guard: Callable[..., None]) -> None:
    """Each command resets the signal, for itself, its hooks and the server that it starts."""
    write_guard(DENIES)
    fired = run(*IGNORING, HOOKLINE, "fire", "BeforeTool", "--input", EVENT, cwd=project)
    assert (fired.returncode, "no" in fired.stdout) == (2, True), fired
    turns = project / "turns.jsonl"
    turns.write_text("".join(json.dumps({"method": "generateContentStream", "response": [t]}) + "\n" for t in TURNS))
    words = ("agent", "--yes", "--headless", "--model", f"replay:{turns}", "--prompt", "hi")
    run(*IGNORING, HOOKLINE, *words, cwd=project)
    assert not (project / "made").exists()
    for _ in range(2):  # by itself, and then by the server that it has started
        bridged = run(*IGNORING, HOOKLINE, "hook", "claude", "PreToolUse", cwd=project, stdin=CLAUDE)
        assert '"deny"' in bridged.stdout, bridged


@pytest.mark.attack("30.A1", "a server that was started by a program that ignores SIGCHLD")
@pytest.mark.req("DELTA-PROC-002")
@pytest.mark.usefixtures("no_server_left")
def test_a_server_started_with_sigchld_ignored_denies(project: Path, write_guard: Callable[..., None]) -> None:
    """It judges the calls of later, normal clients."""
    write_guard(DENIES)
    server = subprocess.Popen([*IGNORING, HOOKLINE, "serve", "--idle", "30"], cwd=project, stderr=subprocess.PIPE)
    while ask_server("--status") is None:
        assert server.poll() is None
        time.sleep(0.05)
    client = str(bridge_client.__file__)
    asked = run(sys.executable, "-I", "-S", client, "claude", "PreToolUse", cwd=project, stdin=CLAUDE)
    assert '"deny"' in asked.stdout, asked
    assert (ask_server("--status") or {}).get("answered") != 0
    subprocess.run([HOOKLINE, "serve", "--stop"], capture_output=True, check=True)
    assert server.wait(45) == 0
    assert server.stderr is not None
    server.stderr.close()


@pytest.mark.attack("30.A1", "an embedding program that ignores SIGCHLD, or waits for every child")
@pytest.mark.req("DELTA-PROC-002", "DELTA-PROC-003")
@pytest.mark.parametrize("way", PROGRAMS)
@pytest.mark.parametrize("kind", ["cold", "warm", "limits"])
def test_an_embedding_program_loses_no_deny(
    way: str, kind: str, project: Path, write_guard: Callable[..., None]
) -> None:
    """Ten of ten are denied: by the hook, or because its status is unknown."""
    (project / "guard.py").write_text("import sys\nprint('no', file=sys.stderr)\nsys.exit(2)\n")
    more: dict[str, Any] = {"limits": {"cpu": 60}} if kind == "limits" else {}
    write_guard(f"python3 {project}/guard.py" if kind == "warm" else DENIES, **more)
    code = PROGRAM.format(take=PROGRAMS[way], project=str(project))
    environ = {**os.environ, "HOOKLINE_CHILD": ""}
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, cwd=project, env=environ, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout.strip() == "0", done.stdout + done.stderr


@pytest.mark.attack("30.A1", "a hook whose exit status can't be known")
@pytest.mark.req("DELTA-PROC-003")
@pytest.mark.parametrize("on_error", ["allow", "block"])
@pytest.mark.parametrize("dialect", [None, "claude"])
def test_an_unknown_status_blocks(
    on_error: str, dialect: str | None, project: Path, write_guard: Callable[..., None]
) -> None:
    """The hook may have denied, so the call is refused with that reason, whatever a failure of the hook would do."""
    write_guard("kill -9 $PPID", onError=on_error, **({} if dialect is None else {"dialect": dialect}))
    code = PROGRAM.format(take=PROGRAMS["ignored"], project=str(project)) + "print(result.llm_content)\n"
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, cwd=project, capture_output=True, text=True, check=False, timeout=60)
    count, reason = done.stdout.split("\n", 1)
    assert (count, "exit status was lost" in reason) == ("0", True), done.stdout + done.stderr
    assert ("because its onError is block" in done.stderr) is (on_error == "block")


@pytest.mark.attack("30.A1", "a worker that ends during an event, and whose exit status can't be known")
@pytest.mark.req("DELTA-PROC-003")
def test_an_unknown_status_of_a_worker_blocks(project: Path, write_guard: Callable[..., None]) -> None:
    """Its answer is not known in either case, so the call is refused."""
    write_guard("""echo '{"ready": true}'; read -r line; exit 2""", worker=True)
    code = PROGRAM.format(take=PROGRAMS["ignored"], project=str(project)).replace("range(10)", "range(1)")
    words = [sys.executable, "-c", code + "print(result.llm_content)\n"]
    done = subprocess.run(words, cwd=project, capture_output=True, text=True, check=False, timeout=60)
    count, reason = done.stdout.split("\n", 1)
    assert (count, "exit status was lost" in reason) == ("0", True), done.stdout + done.stderr
