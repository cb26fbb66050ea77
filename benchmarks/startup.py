"""Processor time of the start of three commands, relative to `python -c pass`: `python benchmarks/startup.py`."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

ROUNDS = 25
LIMITS = {"log": 6.0, "list": 6.0, "fire BeforeTool": 8.0}

_SETTINGS = {"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "true"}]}]}}


def cpu_ms(words: list[str], env: dict[str, str]) -> float:
    """The processor time, user and system, of one process and the children that it has waited for."""
    process = subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(words)} exited with {process.returncode}")
    return 1000 * (usage.ru_utime + usage.ru_stime)


def measure(rounds: int = ROUNDS) -> dict[str, float]:
    """The processor time of each command divided by that of `python -c pass` in the same round; medians."""
    with tempfile.TemporaryDirectory() as folder:
        # As it is used: with the user's own settings, in a project, with a log.
        home, project = Path(folder, "home"), Path(folder, "project")
        settings = home / ".llxprt" / "settings.json"
        settings.parent.mkdir(parents=True)
        settings.write_text(json.dumps(_SETTINGS), encoding="utf-8")
        project.mkdir()
        unwanted = ("PYTHONDONTWRITEBYTECODE", "HOOKLINE_STATE_DIR", "XDG_STATE_HOME")
        env = {name: value for name, value in os.environ.items() if name not in unwanted} | {"HOME": str(home)}
        commands = {"pass": [sys.executable, "-c", "pass"]}
        hookline = str(Path(sys.executable).with_name("hookline"))
        for name in LIMITS:
            commands[name] = [hookline, *name.split(), "--project", str(project)]
            cpu_ms(commands[name], env)  # compiles the modules
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(rounds):
            for name, words in commands.items():
                times[name].append(cpu_ms(words, env))
    return {name: median(one / floor for one, floor in zip(times[name], times["pass"], strict=True)) for name in LIMITS}


if __name__ == "__main__":
    for command, ratio in measure().items():
        print(f"hookline {command:<16} {ratio:5.2f} times `python -c pass` (at most {LIMITS[command]:.0f})")
