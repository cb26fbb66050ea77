"""Measures packs, per event and over a long past: `python -m benchmarks.packs [--events 10000]`.

The commands are those of tests/guards/data. First each pack judges every command once, and then all five do. Then a log
with that many events is backtested with `hookline:shell`, and with a tenth of them, each in a separate process whose
largest size the kernel reports: memory is flat if both are about the same.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, quantiles

from hookline.guards.catalog import PACKS, PackHook
from hookline.hook.events import Event, read_event

LIMITS = {"µs for an event, the mean of a pack": 200.0, "s for a backtest": 60.0}
LISTS = Path(__file__).parent.parent / "tests" / "guards" / "data"
_RUNS = 3


def commands() -> list[str]:
    """Every command of the evaluation."""
    lines = [line for name in ("dangerous", "harmless") for line in (LISTS / f"{name}.txt").read_text().splitlines()]
    return [line.replace("⏎", "\n") for line in lines if line and not line.startswith("## ")]


def events(project: str) -> list[Event]:
    """Each of them as the event that a pack gets."""
    facts = {"session_id": "s", "transcript_path": "", "cwd": project, "hook_event_name": "BeforeTool", "timestamp": ""}
    return [
        read_event({**facts, "tool_name": "run_shell_command", "tool_input": {"command": each}}) for each in commands()
    ]


def per_event(hooks: Sequence[PackHook], given: Sequence[Event]) -> list[float]:
    """The microseconds of processor time for each event, the best of three runs."""
    found: list[list[float]] = []
    for _ in range(_RUNS):
        times = []
        for event in given:
            start = time.thread_time()
            for hook in hooks:
                hook(event)
            times.append((time.thread_time() - start) * 1e6)
        found.append(times)
    return [min(each) for each in zip(*found, strict=True)]


def write_log(path: Path, record: Path, count: int) -> None:
    """A log of so many events, each with another input, made of one that was really recorded."""
    texts = commands()
    first = [json.loads(line) for line in record.read_text().splitlines()]
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            for line in first:
                made = {**line, "fire": f"f{number}", "seq": number}
                if "stdin" in line:
                    told = json.loads(line["stdin"])
                    told["tool_input"] = {"command": f"{texts[number % len(texts)]} # {number}"}
                    made["stdin"] = json.dumps(told)
                file.write(json.dumps(made) + "\n")


def backtested(folder: Path, count: int) -> tuple[float, float, dict[str, object]]:
    """Seconds, the largest size in MB, and the report of a backtest over so many events."""
    project, home, log = folder / "project", folder / "home", folder / f"{count}.jsonl"
    (home / ".llxprt").mkdir(parents=True, exist_ok=True)
    project.mkdir(exist_ok=True)
    (home / ".llxprt" / "settings.json").write_text('{"enableHooks": true, "use": ["hookline:shell"]}')
    hookline = [sys.executable, "-m", "hookline"]
    environ = {**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
    told = '{"tool_name": "run_shell_command", "tool_input": {"command": "ls"}}'
    fired = [*hookline, "fire", "BeforeTool", "--project", str(project), "--input", told]
    subprocess.run(fired, env=environ, check=True, capture_output=True)
    write_log(log, home / "state" / "hookline" / "hooks.jsonl", count)
    (home / "state" / "hookline" / "hooks.jsonl").unlink()
    words = [*hookline, "backtest", "--json", "--project", str(project), "--from", str(log)]
    start = time.perf_counter()
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=environ) as process:
        report = json.loads(process.stdout.read() if process.stdout else b"{}")
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return time.perf_counter() - start, usage.ru_maxrss / 1024, report


def main() -> int:
    """Prints the figures; 1 if one is beyond its limit."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--events", type=int, default=10_000)
    count = parser.parse_args().events
    given = events("/home/me/project")
    hooks = [PackHook(use, {}) for use in PACKS]
    worst = 0.0
    for name, chosen in (*((hook.use, [hook]) for hook in hooks), ("all five", hooks)):
        times = per_event(chosen, given)
        hundredths = quantiles(times, n=100)
        print(f"{name:18} mean {mean(times):4.0f} µs, median {hundredths[49]:4.0f}, 99 % below {hundredths[98]:4.0f}")
        worst = max(worst, mean(times)) if len(chosen) == 1 else worst
    with tempfile.TemporaryDirectory() as name:
        few, small, _ = backtested(Path(name), count // 10)
        many, large, report = backtested(Path(name), count)
    print(f"backtest of {count // 10} events: {few:.1f} s, {small:.0f} MB at most")
    print(f"backtest of {count} events: {many:.1f} s, {large:.0f} MB at most ({report['events']} judged)")
    limits = list(LIMITS.values())
    return 1 if worst > limits[0] or many > limits[1] or report["events"] != count else 0


if __name__ == "__main__":
    sys.exit(main())
