"""Whole events with Python scripts whose interpreters wait, against the C floor, cold starts and Gemini CLI's runner.

In each round everybody has one event, in random order, and then there is a pause, as between the events of an agent;
the figures are medians of the ratios within a round. All run their hooks in separate sessions.
"""

import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from benchmarks.race import FLOOR, HERE, Scenario, Workers

from hookline import Hooks

Fire = Callable[[], Awaitable[float]]

INPUT = {"path": "/tmp/x.txt", "content": "hello " * 150}
JSON, TEN = "one import", "ten imports"
SCRIPTS = {
    JSON: "import json, sys\njson.load(sys.stdin)\nprint(json.dumps({'decision': 'allow'}))\n",
    TEN: "import argparse, dataclasses, datetime, hashlib, json, logging, os, pathlib, re, subprocess, sys, tempfile\n"
    "json.load(sys.stdin)\nprint(json.dumps({'decision': 'allow'}))\n",
}
COUNTS = (8, 32)
MEMORY = "private memory of a parked interpreter and its spare"
GEMINI = "Gemini CLI"
_ONCE = Scenario("one hook", 1, 1000, workers=(FLOOR,))
# In that time, new spares are made.
_PAUSE_S = 0.05
_PAUSE_S_EACH = 0.01
_TRIES = 20


def measure(folder: Path, rounds: int) -> dict[str, float]:
    """The figures of `GOALS` that can be had here, by their names."""
    return asyncio.run(_measure(folder, rounds))


def scripts(folder: Path, text: str, count: int) -> list[str]:
    """The commands of so many separate scripts."""
    paths = [folder / f"parked_{count}_{len(text)}_{number}.py" for number in range(count)]
    for path in paths:
        path.write_text(text)
    return [f"{sys.executable} {path}" for path in paths]


class Engine:
    """A session with some hooks, warm or cold, with the log on."""

    def __init__(self, folder: Path, commands: list[str], *, warm: bool) -> None:
        hooks = [{"type": "command", "command": command} for command in commands]
        settings = {
            "enableHooks": True,
            "hooks": {"BeforeTool": [{"hooks": hooks}]},
            "hooksConfig": {
                "log": {"path": str(folder / f"{len(commands)}-{warm}.jsonl")},
                "warm": {"max": len(commands)} if warm else False,
            },
        }
        self._hooks = Hooks(folder, settings=settings)
        self._session = self._hooks.session()
        self._way = "warm" if warm else "cold"
        self._count = len(commands)

    async def fire(self) -> float:
        """One event, in nanoseconds."""
        begin = time.perf_counter_ns()
        await self._session.before_tool("write_file", INPUT)
        return time.perf_counter_ns() - begin

    async def require_answers(self) -> None:
        """End the program unless each hook answers in the measured way: a hook that fails is also fast."""
        said: list[tuple[str, str | None, str | None]] = []
        for _ in range(_TRIES):  # a busy machine may be late with a spare
            verdict = (await self._session.before_tool("write_file", INPUT)).verdict
            said = [(run.way.value, run.decision, run.error) for run in (verdict.runs if verdict else ())]
            if said == [(self._way, "allow", None)] * self._count:
                return
            await asyncio.sleep(_PAUSE_S + _PAUSE_S_EACH * self._count)
        raise SystemExit(f"{self._count} {self._way} hooks did not answer as they should: {said}")

    def close(self) -> None:
        """End it."""
        self._hooks.close()


class Gemini:
    """Gemini CLI's own hook runner, from the package on npm, in a Node process."""

    def __init__(self, command: str, core: Path) -> None:
        driver = [shutil.which("node") or "node", str(HERE / "gemini.mjs"), str(core), command]
        self._process = subprocess.Popen(driver, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    async def fire(self) -> float:
        """One event, in nanoseconds."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(INPUT) + "\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self) -> None:
        """End it."""
        self._process.communicate()


async def _measure(folder: Path, rounds: int) -> dict[str, float]:
    figures: dict[str, float] = {}
    race = Workers(folder)

    async def floor() -> float:
        return race.ask(FLOOR, _ONCE)[0]

    for name, text in SCRIPTS.items():
        with ExitStack() as engines:
            command = scripts(folder, text, 1)
            warm, cold = (Engine(folder, command, warm=is_warm) for is_warm in (True, False))
            runners: dict[str, Fire] = {"warm": warm.fire, "cold": cold.fire}
            engines.callback(warm.close)
            engines.callback(cold.close)
            if FLOOR not in race.missing:
                runners[FLOOR] = floor
            if name == JSON and (core := gemini_core()):
                gemini = Gemini(command[0], core)
                engines.callback(gemini.close)
                runners[GEMINI] = gemini.fire
            ratios = await _race(runners, rounds, 1)
            await _require_answers(warm, cold)
            figures[f"cold ÷ warm, {name}"] = 1 / ratios["cold"]
            if FLOOR in runners:
                figures[f"floor, {name}"] = ratios[FLOOR]
            if GEMINI in runners:
                figures[GEMINI] = ratios[GEMINI]
            if name == JSON:
                figures[MEMORY] = await private_mb(command[0].split()[1], 2)
    for count in COUNTS:
        with ExitStack() as engines:
            commands = scripts(folder, SCRIPTS[JSON], count)
            warm, cold = (Engine(folder, commands, warm=is_warm) for is_warm in (True, False))
            engines.callback(warm.close)
            engines.callback(cold.close)
            ratios = await _race({"warm": warm.fire, "cold": cold.fire}, max(3, rounds // 6), count)
            await _require_answers(warm, cold)
            figures[f"cold ÷ warm, {count} at once"] = 1 / ratios["cold"]
    race.stop()
    return figures


async def _require_answers(*engines: Engine) -> None:
    for engine in engines:
        await engine.require_answers()


async def _race(runners: dict[str, Fire], rounds: int, count: int) -> dict[str, float]:
    """The median of `warm` divided by each of the others."""
    pause = _PAUSE_S + _PAUSE_S_EACH * count
    for fire in runners.values():
        for _ in range(8):
            await fire()
            await asyncio.sleep(2 * pause)
    await asyncio.sleep(count * 0.2)
    ratios: dict[str, list[float]] = {name: [] for name in runners if name != "warm"}
    for _ in range(rounds):
        spans = {}
        for name in random.sample([*runners], len(runners)):
            spans[name] = await runners[name]()
            await asyncio.sleep(pause)
        for name, values in ratios.items():
            values.append(spans["warm"] / spans[name])
    return {name: median(values) for name, values in ratios.items()}


def gemini_core() -> Path | None:
    """Where the package of Gemini CLI's core is installed: below the folder that HOOKLINE_NODE_MODULES names."""
    places = (os.environ.get("HOOKLINE_NODE_MODULES"), str(Path(sys.prefix) / "node_modules"))
    found = (Path(place) / "@google" / "gemini-cli-core" for place in places if place)
    return next((path for path in found if path.is_dir()), None) if shutil.which("node") else None


async def private_mb(script: str, processes: int) -> float:
    """The private memory of the processes that run a script, as soon as there are so many of them."""
    for _ in range(_TRIES):
        await asyncio.sleep(2 * _PAUSE_S)
        if len(found := [*_private_kb(script)]) == processes:
            return sum(found) / 1024
    raise SystemExit(f"{len(found)} processes run {script}, where {processes} were expected")


def _private_kb(script: str) -> Iterator[int]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if folder.joinpath("cmdline").read_bytes().decode().split("\0")[1:2] == [script]:
                lines = folder.joinpath("smaps_rollup").read_text().splitlines()
                yield sum(int(line.split()[1]) for line in lines if line.startswith("Private"))
        except (OSError, UnicodeError):
            continue
