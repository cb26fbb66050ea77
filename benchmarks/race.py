"""Runs the same hooks by several workers, in random order within each round, and keeps every time."""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

HERE = Path(__file__).parent / "workers"
BALLAST_BYTES = 2 << 30
ROUNDS_IN_A_LIFE = 20

FLOOR = "C floor"
OURS = "hookline"
LOADED = "hookline, 2 GB resident"
NODE = "Node child_process"
SUBPROCESS = "subprocess.run"
ASYNCIO = "asyncio"
BARE = "bare asyncio"
ALL = (FLOOR, OURS, BARE, SUBPROCESS, ASYNCIO, NODE)


@dataclass(frozen=True)
class Scenario:
    """So many hooks at once, with so much input, by a shell or without."""

    name: str
    count: int
    size: int
    shell: str = "bash"
    """The shell of the workers: bash, sh, or - for direct execution."""
    floor_shell: str = "bash"
    workers: tuple[str, ...] = ALL
    wishes: str = ""


@dataclass
class Times:
    """Nanoseconds of each worker, one entry per round, and the second number that it answered."""

    total: dict[str, list[int]] = field(default_factory=dict)
    longest: dict[str, list[int]] = field(default_factory=dict)

    def ratio(self, worker: str, to: str = FLOOR) -> float | None:
        """The median of the ratios within each round."""
        if worker not in self.total or to not in self.total:
            return None
        return median(one / other for one, other in zip(self.total[worker], self.total[to], strict=True))

    def percentile(self, worker: str, percent: int) -> float:
        """That percentile of the worker's times."""
        ordered = sorted(self.total[worker])
        return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


class Workers:
    """The programs that take part, each answering one line per round."""

    def __init__(self, folder: Path) -> None:
        self.missing: dict[str, str] = {}
        self._processes: dict[str, subprocess.Popen[str]] = {}
        hook = build(HERE / "hook.c", folder / "hook")
        if hook is None:
            self.missing[FLOOR] = "no C compiler (cc) was found; the hook is a shell script instead"
            hook = folder / "hook"
            hook.write_text('#!/bin/sh\ncat >/dev/null\necho \'{"decision":"allow"}\'\n')
            hook.chmod(0o755)
        self._arguments = [str(hook), shutil.which("bash") or "/bin/sh", "/bin/sh"]
        self._commands = self._find(folder)

    def _find(self, folder: Path) -> dict[str, list[str]]:
        commands = {
            OURS: [sys.executable, str(HERE / "with_hookline.py"), *self._arguments],
            LOADED: [sys.executable, str(HERE / "with_hookline.py"), *self._arguments, str(BALLAST_BYTES)],
            SUBPROCESS: [sys.executable, str(HERE / "with_subprocess.py"), *self._arguments],
            BARE: [sys.executable, str(HERE / "bare_asyncio.py"), *self._arguments],
            ASYNCIO: [sys.executable, str(HERE / "with_asyncio.py"), *self._arguments],
        }
        if FLOOR not in self.missing and (floor := build(HERE / "floor.c", folder / "floor")):
            commands[FLOOR] = [str(floor), *self._arguments]
        if node := shutil.which("node"):
            commands[NODE] = [node, str(HERE / "node.mjs"), *self._arguments]
        else:
            self.missing[NODE] = "node was not found"
        if _available_bytes() < 2 * BALLAST_BYTES:
            del commands[LOADED]
            self.missing[LOADED] = "less than 4 GB of memory is free"
        return commands

    def run(self, rounds: Mapping[Scenario, int]) -> dict[str, Times]:
        """Times of the workers that are there, in so many rounds of each scenario, by its name.

        The rounds of a scenario are spread over the whole time, because a machine that is shared has good and bad
        minutes.
        """
        times = {scenario.name: Times() for scenario in rounds}
        lives = _lives(rounds)
        for number, (scenario, length) in enumerate(lives, 1):
            print(f"{number:3} of {len(lives)}: {scenario.name} …", file=sys.stderr)
            self._live(scenario, length, times[scenario.name])
        return times

    def _live(self, scenario: Scenario, rounds: int, times: Times) -> None:
        present = [name for name in scenario.workers if name in self._commands]
        for name in present:
            self.ask(name, scenario)
        for _ in range(rounds):
            for name in random.sample(present, len(present)):
                total, longest = self.ask(name, scenario)
                times.total.setdefault(name, []).append(total)
                times.longest.setdefault(name, []).append(longest)
        self.stop()

    def stop(self) -> None:
        """Ends all of them."""
        for process in self._processes.values():
            process.communicate()
        self._processes.clear()

    def ask(self, name: str, scenario: Scenario) -> tuple[int, int]:
        """One round of one worker: its time, and the second number that it answers, in nanoseconds."""
        process = self._processes.get(name)
        if process is None:
            process = self._processes[name] = subprocess.Popen(
                self._commands[name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=_environment()
            )
        assert process.stdin
        assert process.stdout
        shell = scenario.floor_shell if name == FLOOR else scenario.shell
        wishes = f" {scenario.wishes}" if scenario.wishes and name in {OURS, LOADED} else ""
        process.stdin.write(f"{scenario.count} {scenario.size} {shell}{wishes}\n")
        process.stdin.flush()
        total, longest = process.stdout.readline().split()
        return int(total), int(longest)


def _lives(rounds: Mapping[Scenario, int]) -> list[tuple[Scenario, int]]:
    """The rounds of each scenario in portions, those of all scenarios evenly mixed.

    In each of them the workers are new: where a process happens to lie in memory makes a difference of some percent
    for all of its life.
    """
    portions: list[tuple[float, Scenario, int]] = []
    for scenario, wanted in rounds.items():
        for begin in range(0, wanted, ROUNDS_IN_A_LIFE):
            length = min(ROUNDS_IN_A_LIFE, wanted - begin)
            portions.append(((begin + length / 2) / wanted, scenario, length))
    return [(scenario, length) for _, scenario, length in sorted(portions, key=lambda portion: portion[0])]


def _environment() -> dict[str, str]:
    # Node and asyncio give their children a socket as stdin, and a bash of the first level that finds one there takes
    # itself for a remote shell and reads ~/.bashrc. That would be unfair to them.
    return {**os.environ, "SHLVL": "2"}


def build(source: Path, target: Path) -> Path | None:
    """Compile a C program; None without a compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    subprocess.run([compiler, "-O2", "-o", str(target), str(source)], check=True)
    return target


def _available_bytes() -> int:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), 0)
