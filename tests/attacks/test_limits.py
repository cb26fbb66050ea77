"""Attacks on the machine: hooks that take all of something, or stay behind. Each is bounded, even without a limit."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from tests.patience import is_alive, until, with_enough_time

from hookline.client.config import Config
from hookline.client.triggers.tools import ToolResult, execute_tool_with_hooks

_PYTHONPATH = os.pathsep.join((str(Path(__file__).resolve().parents[2] / "src"), sysconfig.get_path("purelib")))

HOG = "x = []\nfor _ in range(40): x.append(bytearray(16 << 20))"
BURNER = "while True: pass"
OPENER = "x = [open('/dev/null') for _ in range(500)]"
# Bounded: even without a limit it starts 60 processes, for three seconds.
BOMB = """
import os, sys, time
started = 0
try:
    while started < 60:
        if not os.fork():
            time.sleep(3)
            os._exit(0)
        started += 1
except OSError as error:
    sys.exit(f"{error} after {started}")
"""


def _python(directory: Path, code: str) -> str:
    (directory / "attack.py").write_text(code)
    return f"{sys.executable} {directory}/attack.py"


def _config(directory: Path, *hooks: dict[str, Any]) -> Config:
    settings = {
        "enableHooks": True,
        "hooksConfig": {"log": {"enabled": False}},
        "hooks": {"BeforeTool": [{"hooks": [{"type": "command", **hook} for hook in hooks]}]},
    }
    return Config(directory, settings=settings)


async def _run(_arguments: dict[str, Any]) -> ToolResult:
    return ToolResult(llm_content="the tool ran")


def _execute(config: Config) -> str:
    result = asyncio.run(execute_tool_with_hooks(config, "x", {}, _run))
    return str(result.llm_content)


@pytest.mark.parametrize(
    ("code", "limits", "said"),
    [
        pytest.param(
            HOG, {"memory": "100MB"}, "exited with code 1 (probably because of its limits: memory", id="memory"
        ),
        pytest.param(BURNER, {"cpu": 1}, "was killed by SIGXCPU (probably because of its limits: cpu 1)", id="cpu"),
        pytest.param(
            OPENER, {"files": 50}, "exited with code 1 (probably because of its limits: files 50)", id="files"
        ),
    ],
)
def test_a_guard_that_reaches_a_limit_ends_and_blocks(
    tmp_path: Path, code: str, limits: dict[str, Any], said: str
) -> None:
    """It can't take more than it was given, and with onError block the reason says what probably happened."""
    hook = {"name": "guard", "command": _python(tmp_path, code), "limits": limits, "onError": "block"}
    started = time.monotonic()
    reason = _execute(_config(tmp_path, hook))
    assert reason.startswith(f"guard {said}")
    assert time.monotonic() - started < 45  # a second of a processor that other processes also use


def test_a_fork_bomb_is_stopped_by_its_limit() -> None:
    """The kernel does not count the processes of root, so an ordinary user tries it, in a directory for everybody."""
    *prefix, python = _as_ordinary_user()
    hook = {"command": f'{python} -c "$CODE"', "env": {"CODE": BOMB}, "limits": {"processes": 20}}
    with TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        (run,) = _fire(Path(directory), hook, prefix=prefix, python=python)["results"]
    assert run["error"] is None
    assert "Resource temporarily unavailable" in run["stderr"]
    # If the user has more processes than that already, not even the first one can be started.
    assert " after " not in run["stderr"] or int(run["stderr"].split()[-1]) < 20


@pytest.mark.skipif(os.getuid() != 0, reason="only root is not limited")
def test_a_limit_without_effect_is_refused(tmp_path: Path) -> None:
    """Root's hook does not run with a limit that the kernel would ignore, and a guard blocks."""
    hook = {"name": "guard", "command": "touch ran", "limits": {"processes": 20}, "onError": "block"}
    reason = _execute(_config(tmp_path, hook))
    assert reason.startswith("guard could not be started: limits.processes has no effect for this user")
    assert not (tmp_path / "ran").exists()


def test_a_hook_without_network_can_not_send_anything(tmp_path: Path) -> None:
    """Not even to this machine; elsewhere than in a namespace the hook is refused."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        send = f"echo secret > /dev/tcp/127.0.0.1/{server.getsockname()[1]}"
        hook = {"name": "guard", "command": send, "network": False, "onError": "block"}
        reason = _execute(_config(tmp_path, hook))
        with pytest.raises(TimeoutError):
            server.accept()
    assert reason.startswith("guard exited with code 1 (probably because of its limits: network") or (
        'could not be started: "network": false needs user and network namespaces' in reason
    )


@pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare, which makes such a system, is missing")
@pytest.mark.parametrize(("on_error", "blocked"), [("block", True), ("allow", False)])
def test_where_there_are_no_namespaces_the_hook_does_not_run(tmp_path: Path, on_error: str, blocked: bool) -> None:
    """It fails with a message that says what to do, and its onError decides what that means."""
    hook = {"command": "touch ran", "network": False, "onError": on_error}
    refusing = ["unshare", "-r", "sh", "-c", 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "sh"]
    fired = _fire(tmp_path, hook, prefix=refusing)
    (run,) = fired["results"]
    assert "allow unprivileged user namespaces, or remove it from the hook" in run["error"]
    assert fired["outcome"]["blocked"] is blocked
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("limits", [{"memory": "lots"}, {"memroy": "1GB"}, "strict"], ids=str)
def test_a_guard_with_limits_that_can_not_be_read_blocks(tmp_path: Path, limits: Any) -> None:
    """A typo neither drops the limit nor the guard."""
    hook = {"name": "guard", "command": "touch ran", "limits": limits}
    reason = _execute(_config(tmp_path, hook))
    assert reason.startswith("guard could not be started: its limits")
    assert not (tmp_path / "ran").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="strays are found in /proc")
@pytest.mark.parametrize("hide", ["{} &", "({} &);"], ids=["its child", "an orphan"])
def test_a_hook_that_hides_a_process_from_its_timeout_is_found(tmp_path: Path, hide: str) -> None:
    """Whether its parent is still there or not."""
    hidden = hide.format("setsid sh -c 'echo $$ > pid; exec sleep 60' >/dev/null 2>&1")
    command = f"{hidden} while ! test -s pid; do sleep 0.01; done; touch ready; sleep 60"

    def attempt(timeout_ms: float) -> str:
        (tmp_path / "pid").unlink(missing_ok=True)
        return _execute(_config(tmp_path, {"command": command, "timeout": timeout_ms}))

    assert with_enough_time(500, tmp_path / "ready", attempt) == "the tool ran"
    pid = int((tmp_path / "pid").read_text())
    until(lambda: not is_alive(pid), "its end")


def _fire(directory: Path, hook: dict[str, Any], *, prefix: list[str], python: str = sys.executable) -> dict[str, Any]:
    """Fires the event by the command, started by another one."""
    hooks = {"BeforeTool": [{"hooks": [{"type": "command", **hook}]}]}
    file = directory / "hooks.json"
    file.write_text(json.dumps({"enableHooks": True, "hooksConfig": {"log": {"enabled": False}}, "hooks": hooks}))
    event = ["BeforeTool", "--input", '{"tool_name": "x", "tool_input": {}}']
    ended = subprocess.run(
        [*prefix, python, "-m", "hookline", "fire", *event, "--json", "--settings", str(file)],
        env={"PATH": os.environ["PATH"], "HOME": str(directory), "PYTHONPATH": _PYTHONPATH},
        cwd=directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=45,
    )
    fired: dict[str, Any] = json.loads(ended.stdout)
    return fired


def _as_ordinary_user() -> list[str]:
    """The beginning of an ordinary user's command: up to a Python that this user can start and that finds hookline."""
    if os.getuid() != 0:
        return [sys.executable]
    become = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv, which makes an ordinary user, is missing")
    program = "import hookline.engine.system, subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True)"
    for python in (sys.executable, f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"):
        tried = [*become, python, "-c", program]
        env = {"PYTHONPATH": _PYTHONPATH}
        if Path(python).exists() and not subprocess.run(tried, env=env, capture_output=True, check=False).returncode:
            return [*become, python]
    pytest.skip("an ordinary user can't start this Python, or can't read this checkout")
