"""Measures the runner and the engine, and writes docs/performance.md and docs/performance.svg.

    python benchmarks/run.py [--rounds N] [--quick] [--print]

Everything that is compared runs in one go, in random order within each round; figures are medians of the ratios within
rounds, so that a busy moment hits all alike.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks import bridge, gateway, parked, report, startup, staying
from benchmarks.race import ALL, BARE, FLOOR, LOADED, NODE, OURS, ROUNDS_IN_A_LIFE, Scenario, Times, Workers
from benchmarks.report import Figure, Measured

ROOT = Path(__file__).resolve().parent.parent
KIB, MIB = 1024, 1024**2

ONE = Scenario("one hook, 1 KB", 1, KIB)
DIRECT = Scenario("one hook, 1 KB, no shell (floor: sh)", 1, KIB, shell="-", floor_shell="sh")
# The bare one writes its inputs one after another, while nothing else gets done.
WITHOUT_BARE = tuple(worker for worker in ALL if worker != BARE)
LARGE = Scenario("one hook, 1 MB", 1, MIB, workers=WITHOUT_BARE)
MANY = {count: Scenario(f"{count} at once", count, KIB) for count in (8, 32, 128)}
MANY_LARGE = Scenario("32 with 1 MB each", 32, MIB, workers=WITHOUT_BARE)
RACES = (ONE, DIRECT, LARGE, *MANY.values(), MANY_LARGE)
RESIDENT = Scenario("2 GB resident", 1, KIB, workers=(OURS, LOADED))
WITH_SH = tuple(
    Scenario(f"{what}, sh", count, KIB, shell="sh", floor_shell="sh", workers=(FLOOR, OURS, NODE))
    for what, count in (("one hook", 1), ("32 hooks", 32))
)
STALL = Scenario("loop stall", 32, KIB, workers=(FLOOR, OURS), wishes="stall")
EVENTS = {
    what: Scenario(f"whole event, 1 MB of {what}", 1, MIB, workers=(FLOOR, OURS), wishes=wish)
    for what, wish in (("text", "text"), ("source code", "code"))
}
LOST = "steady_lost"
# For one hook and for 32.
NODE_GOALS = (0.58, 0.50)
SCENARIOS = (*RACES, STALL, RESIDENT, *WITH_SH, *EVENTS.values())
GROWTH = tuple(Scenario(str(count), count, KIB, workers=(FLOOR, OURS)) for count in (1, 2, 4, 8, 16, 32, 64, 128, 256))


def main() -> int:
    """Runs everything; 0 even where a goal is missed, because a busy machine is not a failure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60, help="rounds of each comparison (default 60)")
    parser.add_argument(
        "--quick", action="store_true", help="three rounds, to see that everything runs; writes nothing"
    )
    parser.add_argument("--print", action="store_true", help="print the page instead of writing it")
    options = parser.parse_args()
    rounds = 3 if options.quick else options.rounds
    with tempfile.TemporaryDirectory() as folder:
        times, growth, engine, missing = measure(Path(folder), rounds)
    figures = list(figures_of(times, engine))
    page = report.page(Measured(machine(), rounds, figures, with_sh(times), times, growth, missing, engine))
    if options.print or options.quick:
        print(page)
    else:
        report.write(ROOT / "docs", page, times)
    for figure in figures:
        print(f"{figure.verdict:>7}  {figure.name}: {figure.shown} (at most {figure.goal_shown})", file=sys.stderr)
    return 0


def measure(folder: Path, rounds: int) -> tuple[dict[str, Times], dict[str, Times], dict[str, float], dict[str, str]]:
    """The times of all comparisons, those of the growth, the other figures, and who was missing."""
    workers = Workers(folder)
    # In the beginning, in the middle and at the end, because these, too, depend on the minute.
    others = [measure_others(folder, rounds)]
    times = workers.run({scenario: rounds * repeats(scenario) for scenario in SCENARIOS})
    others.append(measure_others(folder, rounds))
    growth = workers.run(dict.fromkeys(GROWTH, max(3, rounds // 4)))
    others.append(measure_others(folder, rounds))
    return times, growth, medians(others), workers.missing


def measure_others(folder: Path, rounds: int) -> dict[str, float]:
    """Everything that is not a race between runners, a third of its rounds."""
    print("the engine …", file=sys.stderr)
    figures = medians(measure_engine(folder / "hook", rounds))
    print("parked interpreters …", file=sys.stderr)
    figures |= parked.measure(folder, max(3, rounds // 2))
    print("hooks that stay …", file=sys.stderr)
    figures |= staying.measure(folder, rounds * 2)
    print("start-up …", file=sys.stderr)
    figures |= startup.measure(max(3, rounds // 4))
    print("the bridge …", file=sys.stderr)
    figures |= bridge.measure(max(3, rounds // 4))
    print("the MCP gateway …", file=sys.stderr)
    return figures | gateway.measure(max(100, rounds * 15))


def repeats(scenario: Scenario) -> int:
    """How many times the rounds: few hooks are over in milliseconds, so that more rounds cost next to nothing."""
    if scenario.count == 1:
        return 6
    if scenario.count <= 8:
        return 3
    return 2 if scenario.count <= 32 else 1


def measure_engine(hook: Path, rounds: int) -> list[dict[str, float]]:
    """The figures of engine.py, from several processes."""
    command = [sys.executable, str(Path(__file__).with_name("engine.py")), str(hook), str(rounds)]
    return [
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for _ in range(max(1, rounds // ROUNDS_IN_A_LIFE))
    ]


def medians(runs: list[dict[str, float]]) -> dict[str, float]:
    """The median of each figure; of lost records the most, because one lost record is one too many."""
    return {name: (max if name == LOST else median)(run[name] for run in runs) for name in runs[0]}


def figures_of(times: dict[str, Times], engine: dict[str, float]) -> Iterator[Figure]:
    """Every figure that has a goal."""
    one = times[ONE.name]
    yield Figure("one hook, 1 KB, shell, against the C floor", one.ratio(OURS), 1.15)
    p95 = one.percentile(OURS, 95) / one.percentile(FLOOR, 95) if FLOOR in one.total else None
    yield Figure("p95 of the same against the floor's p95", p95, 1.3)
    yield Figure("one hook, simple command, against the C floor with sh", times[DIRECT.name].ratio(OURS), 0.62)
    yield Figure("one hook, 1 MB stdin", times[LARGE.name].ratio(OURS), 1.15)
    for what, event in EVENTS.items():
        yield Figure(f"whole event with 1 MB of {what}, against the C floor", times[event.name].ratio(OURS), 1.30)
    for count, goal in ((8, 1.15), (32, 1.10), (128, 1.15)):
        yield Figure(f"{count} at once", times[MANY[count].name].ratio(OURS), goal)
    yield Figure("32 hooks with 1 MB each", times[MANY_LARGE.name].ratio(OURS), 1.15)
    yield Figure("2 GB resident, against itself with little", times[RESIDENT.name].ratio(LOADED, OURS), 1.1)
    stall = times[STALL.name]
    pauses = median(stall.longest[OURS]) / median(stall.longest[FLOOR]) if FLOOR in stall.longest else None
    yield Figure("longest loop stall at 32, against the floor's longest spawn", pauses, 1.2)
    yield against_node("one hook", one, NODE_GOALS[0])
    yield against_node("32 hooks", times[MANY[32].name], NODE_GOALS[1])
    yield Figure("whole event above the bare runner, one hook", engine["event_us"], 150, "µs")
    yield Figure("whole event with one async function as a hook, log on", engine["function_us"], 60, "µs")
    inline = "the same with a plain function on the loop (`thread=False`)"
    yield Figure(inline, engine["function_inline_us"], 45, "µs")
    in_thread = "the same with a plain function in a thread, above `run_in_executor`"
    yield Figure(in_thread, engine["function_thread_us"], 45, "µs")
    yield Figure("1,000 events a second, async function, log on: p99", engine["steady_p99_ms"], 1, "ms")
    yield Figure("records of them that the log lacks", engine[LOST], 0, "records")
    for name, goal in staying.GOALS.items():
        yield Figure(f"whole event with {name}, log on, against the C floor", engine.get(name), goal)
    yield Figure(f"{staying.MEMORY}, which imports json", engine[staying.MEMORY], staying.MEMORY_GOAL_MB, "MB")
    for what, goal in ((parked.JSON, 1.6), (parked.TEN, 3.2)):
        name = f"whole event with a parked Python script, {what}, against the C floor with bash"
        yield Figure(name, engine.get(f"floor, {what}"), goal)
    for what in (parked.JSON, *(f"{count} at once" for count in parked.COUNTS)):
        yield Figure(f"the same against a cold start, {what}", 1 / engine[f"cold ÷ warm, {what}"], 1 / 6)
    yield Figure("the same against Gemini CLI's hook runner", engine.get(parked.GEMINI), 0.2)
    yield Figure(f"{parked.MEMORY}, which imports json", engine[parked.MEMORY], 9, "MB")
    yield Figure("event with hooks configured but none matching", engine["without_match_us"], 5, "µs")
    yield Figure("a session's method above `fire_event`, the worst of its events", engine["neutral_us"], 20, "µs")
    yield Figure("disabled: the check the caller makes", engine["disabled_ns"], 100, "ns")
    yield Figure("planning among 1,000 hooks, first time", engine["planning_first_us"], 1000, "µs")
    yield Figure("planning among 1,000 hooks, again", engine["planning_again_us"], 5, "µs")
    yield Figure("the log's thread, for one event with 1 MB of source code", engine["logging_ms"], 10, "ms")
    yield Figure("start-up of `hookline --help`, against `python -c pass`", engine["help_ms"] / engine["pass_ms"], 3)
    for name, goal in startup.LIMITS.items():
        yield Figure(f"processor time of `hookline {name}`, against `python -c pass`", engine[name], goal)
    goals = bridge.GOALS
    yield Figure("bridge call without a matching hook, against a bare sh hook", *_pair(engine, goals, "bridge_nothing"))
    yield Figure("bridge call with one sh hook, against a bare sh hook", *_pair(engine, goals, "bridge_hook"))
    yield Figure("the server's own share of a bridge call", *_pair(engine, goals, "bridge_share_us"), "µs")
    what = "tool call through the MCP gateway without a matching hook, against a plain proxy"
    yield Figure(what, *_pair(engine, gateway.GOALS, "gateway"))


def _pair(measured: dict[str, float], goals: dict[str, float], name: str) -> tuple[float, float]:
    return measured[name], goals[name]


def with_sh(times: dict[str, Times]) -> list[Figure]:
    """The comparison with Node once more, with sh on all sides, as where its goals were set."""
    return [
        against_node(scenario.name, times[scenario.name], goal)
        for scenario, goal in zip(WITH_SH, NODE_GOALS, strict=True)
    ]


def against_node(what: str, times: Times, goal: float) -> Figure:
    """Our ratio to Node, beside that of the floor, which is the lowest possible."""
    floor = times.ratio(FLOOR, NODE)
    beside = f" (the floor itself: {floor:.2f})" if floor is not None else ""
    return Figure(f"{what}, against Node's child_process{beside}", times.ratio(OURS, NODE), goal)


def machine() -> str:
    """The machine in general words: processor, cores, kernel, interpreters."""
    model = "unknown processor"
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = (line.partition(":") for line in info.read_text().splitlines())
        model = next((value.strip() for key, _, value in lines if key.strip() == "model name"), model)
    kernel = f"{platform.system()} {platform.release().split('-')[0]}"
    return f"{model}, {os.cpu_count()} cores, {kernel}, Python {platform.python_version()}"


if __name__ == "__main__":
    sys.exit(main())
