"""Measures a bridge call beside a bare sh hook: `python benchmarks/bridge.py [ROUNDS]`.

In each round, in random order: a bare `sh` hook as an agent would start it, the installed client without a matching
hook, and the same with one sh hook. Figures are medians of the ratios within rounds. The server's own share is a call
without a separate process: connect, ask, read the answer.
"""

import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from hookline.bridge import client

ROUNDS = 60
GOALS = {"bridge_nothing": 12.0, "bridge_hook": 14.0, "bridge_share_us": 1000.0}

_HOOK = "cat >/dev/null; printf '{}'"
_QUESTION = {"hook_event_name": "PreToolUse", "session_id": "bench", "tool_input": {"command": "x" * 800}}


def measure(rounds: int = ROUNDS) -> dict[str, float]:
    """Ratios to the bare hook, and the microseconds of the server's share."""
    with tempfile.TemporaryDirectory() as folder, _server(Path(folder)) as env:
        command = [sys.executable, "-I", "-S", client.__file__, "claude", "PreToolUse"]
        runs: dict[str, Callable[[], float]] = {
            "bare": lambda: _time(["sh", "-c", _HOOK], _question("Bash"), env),
            "bridge_nothing": lambda: _time(command, _question("Read"), env),
            "bridge_hook": lambda: _time(command, _question("Bash"), env),
        }
        for run in runs.values():
            run()
        times: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(rounds):
            for name in random.sample(list(runs), len(runs)):
                times[name].append(runs[name]())
        share = median(_ask(_question("Read"), env) for _ in range(10 * rounds))
    ratios = {
        name: median(one / floor for one, floor in zip(times[name], times["bare"], strict=True))
        for name in ("bridge_nothing", "bridge_hook")
    }
    return {**ratios, "bridge_share_us": share * 1e6, "bridge_bare_ms": median(times["bare"]) * 1e3}


@contextlib.contextmanager
def _server(folder: Path) -> Iterator[dict[str, str]]:
    """A server for a separate home, with one hook, which matches shell commands."""
    settings = folder / ".llxprt" / "settings.json"
    settings.parent.mkdir()
    group = {"matcher": "run_shell_command", "hooks": [{"type": "command", "command": _HOOK}]}
    settings.write_text(json.dumps({"enableHooks": True, "hooks": {"BeforeTool": [group]}}), encoding="utf-8")
    places = {"HOME": str(folder), "HOOKLINE_STATE_DIR": str(folder / "state"), "HOOKLINE_SYSTEM_SETTINGS": "/nowhere"}
    env = {**os.environ, **places}
    env.pop("HOOKLINE_SERVE", None)
    server = subprocess.Popen([sys.executable, "-I", "-m", "hookline", "serve"], env=env)
    try:
        while server.poll() is None and not (folder / "state" / "serve.sock").exists():
            time.sleep(0.02)
        yield env
    finally:
        server.terminate()
        server.wait()


def _question(tool: str) -> bytes:
    return json.dumps({**_QUESTION, "tool_name": tool, "cwd": "/"}).encode()


def _time(command: list[str], question: bytes, env: dict[str, str]) -> float:
    started = time.perf_counter()
    done = subprocess.run(command, input=question, stdout=subprocess.PIPE, env=env, check=True)
    assert done.stdout in (b"", b"{}"), done.stdout
    return time.perf_counter() - started


def _ask(question: bytes, env: dict[str, str]) -> float:
    environ = {os.fsencode(name): os.fsencode(value) for name, value in env.items()}
    started = time.perf_counter()
    with contextlib.closing(client.connect(client.state_directory(environ))) as connection:
        connection.sendall(client.request([b"claude", b"PreToolUse"], environ, question))
        if connection.recv(1) != client.ACCEPTED:
            raise SystemExit("the server does not take the call")
        client.read_reply(connection)
    return time.perf_counter() - started


if __name__ == "__main__":
    figures = measure(int(sys.argv[1]) if sys.argv[1:] else ROUNDS)
    print(f"a bare sh hook: {figures['bridge_bare_ms']:.2f} ms")
    for name, goal in GOALS.items():
        print(f"{name:<16} {figures[name]:8.2f} (at most {goal:g})")
