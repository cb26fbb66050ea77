"""The server: real processes ask it, also when it hangs, dies, or is of another version."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hookline.bridge import client
from hookline.files import state_path

PYTHON = sys.executable
HOOKLINE = Path(PYTHON).with_name("hookline")
CLIENT = [PYTHON, "-I", "-S", client.__file__]
SHELL = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the server needs Linux")


@pytest.fixture(autouse=True)
def may_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here, and only here, servers are started."""
    monkeypatch.delenv("HOOKLINE_SERVE")


def until(wanted: Callable[[], Any], within_s: float = 45) -> Any:
    deadline = time.monotonic() + within_s
    while not (found := wanted()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
    return found


def status() -> dict[str, Any] | None:
    got = subprocess.run([str(HOOKLINE), "serve", "--status", "--json"], capture_output=True, timeout=45, check=False)
    report: dict[str, Any] = json.loads(got.stdout)
    return report if report["running"] else None


Serve = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts servers, and ends them; nothing is left of them."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*words: str) -> subprocess.Popen[bytes]:
        # Its own directory and environment are not those of its callers.
        env = {**os.environ, "WHOSE": "server"}
        process = subprocess.Popen([str(HOOKLINE), "serve", *words], cwd=tmp_path, env=env, stderr=subprocess.PIPE)
        started.append(process)
        until(lambda: can_connect() or process.poll() is not None)
        return process

    yield start
    for process in started:
        process.terminate()
        process.wait(45)
        if process.stderr is not None:
            process.stderr.close()
    assert not state_path("serve.sock").exists()


def can_connect() -> bool:
    with contextlib.suppress(OSError):
        client.connect(os.fsencode(state_path(""))).close()
        return True
    return False


def write_settings(home: Path, command: str, **options: Any) -> None:
    file = home / ".llxprt" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    hooks = {"BeforeTool": [{"hooks": [{"type": "command", "command": command}]}]}
    file.write_text(json.dumps({"enableHooks": True, "hooks": hooks, "hooksConfig": options}))


def start_call(
    cwd: Path, *words: str, command: list[str] = CLIENT, question: Any = SHELL, **environ: str
) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(
        [*command, "claude", *words],
        cwd=cwd,
        env={**os.environ, **environ},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps({"session_id": "s", **question}).encode())
    process.stdin.close()
    process.stdin = None
    return process


def call(cwd: Path, *words: str, **more: Any) -> tuple[int, str, str]:
    process = start_call(cwd, *words, **more)
    stdout, stderr = process.communicate(timeout=60)
    return process.returncode, stdout.decode(), stderr.decode()


def reason(stdout: str) -> str:
    answer: dict[str, Any] = json.loads(stdout)["hookSpecificOutput"]
    return str(answer["permissionDecisionReason"])


def test_the_first_call_starts_a_server_and_the_next_one_uses_it(own_home: Path, project: Path) -> None:
    """It starts by itself, its files are the user's alone, and it ends on request."""
    write_settings(own_home, "echo no >&2; exit 2")
    first = call(project)
    running = until(status)
    try:
        assert state_path("").stat().st_mode & 0o777 == 0o700
        assert state_path("serve.sock").stat().st_mode & 0o777 == 0o600
        assert running["calls"] == 0
        assert call(project) == first
        assert call(project, command=[str(HOOKLINE), "hook"]) == first
        counted = status()
        assert counted is not None
        assert counted["calls"] == 2
    finally:
        subprocess.run([str(HOOKLINE), "serve", "--stop"], check=True, timeout=45, capture_output=True)
    until(lambda: not Path(f"/proc/{running['pid']}").exists())
    assert not state_path("serve.sock").exists()
    assert reason(first[1]) == "no"


@pytest.mark.parametrize(
    ("words", "environ", "option"),
    [(("--no-serve",), {}, True), ((), {"HOOKLINE_SERVE": "off"}, True), ((), {}, False)],
    ids=["option", "environment", "settings"],
)
def test_those_who_want_no_server_get_none(
    words: tuple[str, ...], environ: dict[str, str], option: bool, own_home: Path, project: Path, serve: Serve
) -> None:
    """None is started, and one that runs is not asked: the hook's parent is another process."""
    write_settings(own_home, "echo $PPID >&2; exit 2", serve=option)
    call(project, *words, **environ)
    assert not state_path("serve.starting").exists()
    server = serve()
    assert reason(call(project, *words, **environ)[1]) != str(server.pid)
    write_settings(own_home, "echo $PPID >&2; exit 2")
    assert reason(call(project)[1]) == str(server.pid)


def test_directory_and_environment_are_the_callers(own_home: Path, project: Path, serve: Serve) -> None:
    """Not those of the server, and not those of the caller before."""
    write_settings(own_home, 'printf "%s %s %s" "$WHOSE" "$PWD" "${ONLY:-none}" >&2; exit 2')
    serve()
    other = project / "other"
    other.mkdir()
    assert reason(call(project, WHOSE="a", ONLY="1")[1]) == f"a {project} 1"
    assert reason(call(other, WHOSE="b")[1]) == f"b {other} none"
    assert reason(call(other, question={**SHELL, "cwd": str(project)}, WHOSE="c")[1]) == f"c {project} none"
    counted = status()
    assert counted is not None
    assert counted["calls"] == 3


def test_a_projects_hooks_need_trust_as_always(own_home: Path, project: Path, serve: Serve) -> None:
    """A hook without trust does not run, which the answer reports; after trust it runs."""
    write_settings(own_home, "true")
    (project / ".llxprt").mkdir()
    hooks = {"BeforeTool": [{"hooks": [{"type": "command", "command": "echo no >&2; exit 2"}]}]}
    (project / ".llxprt" / "settings.json").write_text(json.dumps({"hooks": hooks}))
    serve()
    code, stdout, stderr = call(project)
    assert (code, stdout) == (0, "")
    assert "is not run" in stderr
    trust = [str(HOOKLINE), "trust", "--yes", "--project", str(project)]
    subprocess.run(trust, check=True, timeout=45, capture_output=True)
    assert reason(call(project)[1]) == "no"


def test_settings_are_read_again_when_they_change(own_home: Path, project: Path, serve: Serve) -> None:
    """Another command, hooks turned off and on, and a file that is broken, which is a no."""
    serve()
    assert call(project) == (0, "", "")
    write_settings(own_home, "echo one >&2; exit 2")
    assert reason(call(project)[1]) == "one"
    write_settings(own_home, "echo two >&2; exit 2")
    assert reason(call(project)[1]) == "two"
    file = own_home / ".llxprt" / "settings.json"
    file.write_text(file.read_text().replace("true", "false"))
    assert call(project) == (0, "", "")
    file.write_text("{ broken")
    assert call(project)[0] == 2
    write_settings(own_home, "echo three >&2; exit 2")
    assert reason(call(project)[1]) == "three"


def test_a_hung_hook_delays_nobody_else(own_home: Path, project: Path, tmp_path: Path, serve: Serve) -> None:
    """Even where only one hook may run at a time; a caller that goes away takes its hook with it."""
    mark = tmp_path / "pid"
    write_settings(
        own_home, f'[ -z "$HANG" ] || {{ echo $$ > {mark}; sleep 60; }}; echo no >&2; exit 2', maxConcurrent=1
    )
    serve()
    hung = start_call(project, HANG="1")
    pid = int(until(lambda: mark.exists() and mark.read_text().strip()))
    started = time.monotonic()
    assert reason(call(project)[1]) == "no"
    assert time.monotonic() - started < 30
    hung.kill()
    hung.communicate()
    until(lambda: not Path(f"/proc/{pid}").exists())


def test_a_slow_client_delays_nobody_and_is_dropped(own_home: Path, project: Path, serve: Serve) -> None:
    """It connects and says nothing; others are answered."""
    write_settings(own_home, "echo no >&2; exit 2")
    serve()
    idle = [client.connect(os.fsencode(state_path(""))) for _ in range(20)]
    idle[0].send(b"100 100\nabc")
    idle[1].send(b"what is this\n")
    idle[2].send(b"99999999999 1\n")
    assert reason(call(project)[1]) == "no"
    assert idle[1].recv(1) == b""
    assert idle[2].recv(1) == client.REFUSED
    for connection in idle:
        connection.close()


def test_fifty_calls_at_once(own_home: Path, project: Path, serve: Serve) -> None:
    """Each gets its own answer, and nothing is left behind."""
    write_settings(own_home, 'printf %s "$NUMBER" >&2; exit 2')
    server = serve()
    calls = [start_call(project, NUMBER=str(number)) for number in range(50)]
    answers = [process.communicate(timeout=60)[0].decode() for process in calls]
    assert [reason(answer) for answer in answers] == [str(number) for number in range(50)]
    counted = until(lambda: (now := status()) and now["running"] is True and now)
    assert counted["calls"] == 50
    assert counted["calls_running"] == 0
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    assert children == []


def test_an_idle_server_ends(serve: Serve) -> None:
    """Its socket goes with it."""
    server = serve("--idle", "0.3")
    assert server.wait(45) == 0
    assert not state_path("serve.sock").exists()


def test_a_server_whose_socket_is_gone_ends(serve: Serve) -> None:
    """Nobody can find it any more."""
    server = serve()
    state_path("serve.sock").unlink()
    assert server.wait(45) == 0


def test_there_is_one_server(serve: Serve) -> None:
    """A second one reports the first and ends; a socket that a killed one left is replaced."""
    first = serve()
    second = subprocess.run([str(HOOKLINE), "serve"], capture_output=True, text=True, timeout=45, check=False)
    assert second.returncode == 1
    assert "running already" in second.stderr
    first.kill()
    first.wait()
    assert state_path("serve.sock").exists()
    assert status() is None
    serve()
    assert status() is not None


def test_a_stale_socket_costs_nothing_but_time(own_home: Path, project: Path) -> None:
    """Nobody listens there, so the client does the work itself."""
    write_settings(own_home, "echo no >&2; exit 2")
    state_path("").mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as stale, contextlib.chdir(state_path("")):
        stale.bind("serve.sock")
    assert reason(call(project, "--no-serve")[1]) == "no"
    (state_path("serve.starting")).touch()
    assert reason(call(project)[1]) == "no"


def test_a_server_that_is_killed_in_the_middle_is_replaced_by_the_client(
    own_home: Path, project: Path, tmp_path: Path, serve: Serve
) -> None:
    """The hooks run a second time, here: rather twice than never."""
    mark = tmp_path / "runs"
    write_settings(own_home, f"echo $$ >> {mark}; [ $(wc -l < {mark}) -gt 1 ] || sleep 60; echo no >&2; exit 2")
    server = serve()
    waiting = start_call(project)
    pid = int(until(lambda: mark.exists() and mark.read_text().strip()))
    server.kill()
    server.wait()
    state_path("serve.sock").unlink()
    stdout, _ = waiting.communicate(timeout=60)
    assert reason(stdout.decode()) == "no"
    assert len(mark.read_text().split()) == 2
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def test_a_server_that_hangs_is_not_waited_for(own_home: Path, project: Path, serve: Serve) -> None:
    """It does not take the call, so the client does the work itself after a few seconds."""
    write_settings(own_home, "echo no >&2; exit 2")
    server = serve()
    server.send_signal(signal.SIGSTOP)
    try:
        assert reason(call(project)[1]) == "no"
    finally:
        server.send_signal(signal.SIGCONT)


def test_a_server_that_takes_the_call_and_hangs_is_a_no(own_home: Path, project: Path, tmp_path: Path) -> None:
    """When its time is over, the client refuses in the agent's words, and runs no hook any more."""
    write_settings(own_home, f"touch {tmp_path}/ran")
    state_path("").mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener, contextlib.chdir(state_path("")):
        listener.bind("serve.sock")
        listener.listen()
        waiting = start_call(project, "--deadline", "0.1")
        connection, _ = listener.accept()
        connection.recv(1 << 20)
        connection.send(client.ACCEPTED)
        _, stderr = waiting.communicate(timeout=45)
        connection.close()
    assert (waiting.returncode, b"no time left" in stderr) == (2, True)
    assert not (tmp_path / "ran").exists()


def test_a_server_of_another_version_makes_room(own_home: Path, project: Path, tmp_path: Path, serve: Serve) -> None:
    """It answers no client of another hookline, and ends; the client does the work itself."""
    write_settings(own_home, "echo no >&2; exit 2")
    server = serve()
    other = tmp_path / "client.py"
    shutil.copy(client.__file__, other)
    assert reason(call(project, command=[PYTHON, "-I", "-S", str(other)])[1]) == "no"
    assert server.wait(45) == 0


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root can become another user")
def test_another_user_is_refused(serve: Serve) -> None:
    """Even one who could reach the socket gets no answer."""
    serve()
    state_path("").chmod(0o755)
    state_path("serve.sock").chmod(0o777)
    code = (
        "import socket; s = socket.socket(socket.AF_UNIX); s.connect('serve.sock'); s.settimeout(9); print(s.recv(9))"
    )
    words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-I", "-c", code]
    got = subprocess.run(words, capture_output=True, text=True, timeout=45, check=False, cwd=state_path(""))
    # The same program as the user itself is waited for.
    own = subprocess.run(words[4:], capture_output=True, text=True, timeout=45, check=False, cwd=state_path(""))
    assert (got.stdout.strip(), "TimeoutError" in own.stderr) == ("b''", True), got.stderr


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root can become another user")
def test_a_server_of_another_user_is_not_asked(own_home: Path, project: Path, tmp_path: Path) -> None:
    """A process that gets a socket into the state directory learns nothing, and allows nothing."""
    write_settings(own_home, "echo no >&2; exit 2")
    state_path("").mkdir(mode=0o777)
    state_path("").chmod(0o777)
    request = tmp_path / "heard"
    request.touch()
    request.chmod(0o666)
    code = """\
import socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind("serve.sock")
listener.listen()
print("up", flush=True)
while True:
    caller, _ = listener.accept()
    open(sys.argv[1], "ab").write(caller.recv(9))
    caller.send(b"+0 0 0\\n")
"""
    words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-I", "-c", code]
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(folder.stat().st_mode | 0o011)
    stranger = subprocess.Popen([*words, str(request)], cwd=state_path(""), stdout=subprocess.PIPE)
    try:
        assert stranger.stdout is not None
        assert stranger.stdout.readline() == b"up\n"
        state_path("serve.sock").chmod(0o777)
        assert reason(call(project)[1]) == "no"
        assert request.read_bytes() == b""
    finally:
        stranger.kill()
        stranger.communicate()
    until(status)  # the call has started one
    subprocess.run([str(HOOKLINE), "serve", "--stop"], check=True, timeout=45, capture_output=True)


@pytest.mark.parametrize("served", [True, False], ids=["server", "alone"])
def test_a_call_ends_with_the_shell_that_made_it(
    served: bool, own_home: Path, project: Path, tmp_path: Path, serve: Serve
) -> None:
    """Gemini CLI ends the shell alone when it has waited long enough, and then waits until the pipes are closed."""
    mark = tmp_path / "pid"
    write_settings(own_home, f"echo $$ > {mark}; sleep 60")
    if served:
        serve()
    words = [] if served else ["--no-serve"]
    shell = ["sh", "-c", '"$@" || exit 2', "sh", *CLIENT]
    waiting = start_call(project, *words, command=shell)
    pid = int(until(lambda: mark.exists() and mark.read_text().strip()))
    waiting.terminate()
    # The pipes also belong to the client.
    assert waiting.communicate(timeout=45) == (b"", b"")
    until(lambda: not Path(f"/proc/{pid}").exists())


def test_a_caller_with_another_umask_or_home_is_not_served(own_home: Path, project: Path, serve: Serve) -> None:
    """Files that hooks create there would have other rights, and `~` would be another directory."""
    write_settings(own_home, "umask >&2; exit 2")
    serve()
    words = ["sh", "-c", 'umask 027; exec "$@"', "sh", *CLIENT]
    assert reason(call(project, command=words)[1]) == "0027"
    call(project, HOME=str(project))
    counted = status()
    assert counted is not None
    assert counted["calls"] == 0


PLACES = {
    "network": ["unshare", "--net"],
    "files": ["unshare", "--mount"],
    "rights": ["setpriv", "--no-new-privs"],
    "capabilities": ["setpriv", "--bounding-set=-all", "--inh-caps=-all"],
}


@pytest.mark.parametrize("place", PLACES)
def test_a_caller_in_a_sandbox_is_not_served_from_outside(
    place: str, own_home: Path, project: Path, serve: Serve
) -> None:
    """Its hooks run where it is, and may do as much as it may."""
    words = PLACES[place]
    if subprocess.run([*words, "true"], capture_output=True, check=False, timeout=45).returncode:
        pytest.skip(f"{' '.join(words)} is not allowed here")
    write_settings(own_home, "echo no >&2; exit 2")
    serve()
    assert reason(call(project, command=[*words, *CLIENT])[1]) == "no"
    counted = status()
    assert counted is not None
    assert counted["calls"] == 0


@pytest.mark.parametrize(
    "environ", [{"HOOKLINE_STATE_DIR": "/s"}, {"XDG_STATE_HOME": "/x"}, {}, {"XDG_STATE_HOME": " "}]
)
def test_the_client_looks_where_the_server_is(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """It can't load what the others use to find the state directory."""
    monkeypatch.delenv("HOOKLINE_STATE_DIR")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert os.fsdecode(client.state_directory(dict(os.environb))) == str(state_path("")).rstrip("/")


def test_the_client_loads_next_to_nothing() -> None:
    """Every event of an agent starts it again."""
    shown = "import sys; print(*sorted(sys.modules))"
    code = f"exec(open({client.__file__!r}).read(), {{'__name__': 'c', '__file__': 'c'}}); {shown}"
    words = [PYTHON, "-I", "-S", "-c"]
    bare = subprocess.run([*words, shown], capture_output=True, text=True, check=True, timeout=45)
    got = subprocess.run([*words, code], capture_output=True, text=True, check=True, timeout=45)
    assert {*got.stdout.split()} - {*bare.stdout.split()} == {"_socket"}


def test_a_changed_program_on_the_callers_path_is_not_trusted(own_home: Path, project: Path, serve: Serve) -> None:
    """Trust covers the program that this caller's hook would run, not one that the server would find."""
    write_settings(own_home, "true")
    (project / ".llxprt").mkdir()
    hooks = {"BeforeTool": [{"hooks": [{"type": "command", "command": "project-guard"}]}]}
    (project / ".llxprt" / "settings.json").write_text(json.dumps({"hooks": hooks}))
    guard = project / "bin" / "project-guard"
    guard.parent.mkdir()
    guard.write_text("#!/bin/sh\necho no >&2; exit 2\n")
    guard.chmod(0o755)
    environ = {"PATH": f"{guard.parent}:{os.environ['PATH']}"}
    trust = [str(HOOKLINE), "trust", "--yes", "--project", str(project)]
    subprocess.run(trust, check=True, timeout=45, capture_output=True, env={**os.environ, **environ})
    serve()
    assert reason(call(project, **environ)[1]) == "no"
    guard.write_text("#!/bin/sh\nexit 0\n")
    code, stdout, stderr = call(project, **environ)
    assert (code, stdout, "is not run" in stderr) == (0, "", True)


@pytest.mark.attack("30.F4", "a question on stdin that does not end, where a server runs")
@pytest.mark.parametrize("command", [CLIENT, [str(HOOKLINE), "hook"]], ids=["client", "command"])
def test_stdin_that_does_not_end_is_a_deny(serve: Serve, command: list[str]) -> None:
    """The client reads stdin itself, and must not wait for it past the deadline."""
    serve()
    for words in (("--deadline", "0.2"), ("--deadline=0.2",)):
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen([*command, "claude", "PreToolUse", *words], **pipes) as process:
            assert process.stdin is not None
            assert process.stderr is not None
            process.stdin.write(b'{"hook_event_name": ')
            process.stdin.flush()
            try:
                code = process.wait(30)
            finally:
                process.kill()
            assert code == 2
            assert re.search(rb"did not (answer within 0.2 s|end its question on stdin)", process.stderr.read())
