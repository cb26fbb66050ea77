"""Measures a remote hook beside the same hook here: `python benchmarks/remote.py [ROUNDS]`; writes docs/decisions.md.

A real server and real workers, all on this machine. In each round an event with the hook here and one with the hook on
a worker are fired, in random order, and one round trip is made through the server alone; the figures are medians of the
ratios within rounds. Events per second are those of 64 askers at the same time, in pairs of runs here and there.
"""

import asyncio
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from tests.fleet.server import NatsServer, find_program

from hookline import Hooks
from hookline.client import Session
from hookline.fleet.nats.connection import connected

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 100
COUNTS = (1, 2, 4)
ASKERS = 64

INPUT = {"path": "/tmp/x.txt", "content": "hello " * 150}
QUICK = {"type": "command", "command": "exit 0"}
# A guard that waits for something else, as one with central state does.
WAITING = {"type": "command", "command": "sleep 0.05"}
_PLACE = re.compile(r"(<!-- figures of remote hooks -->\n).*?(<!-- end of figures -->)", re.DOTALL)
_ECHO = """
import asyncio, sys
from nats.aio.client import Client

async def main():
    client = Client()
    await client.connect(sys.argv[1])
    async def answer(message):
        await client.publish(message.reply, message.data)
    await client.subscribe("echo", cb=answer)
    await client.flush()
    print("ready", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def measure(rounds: int = ROUNDS) -> dict[str, float]:
    """Every figure."""
    with tempfile.TemporaryDirectory() as folder:
        server = NatsServer(Path(folder, "nats"))
        server.start()
        try:
            return asyncio.run(_measure(Path(folder), server, rounds))
        finally:
            server.end()


async def _measure(folder: Path, server: NatsServer, rounds: int) -> dict[str, float]:
    with _workers(folder, server, QUICK, 1, "quick"), _echo(server):
        async with _sessions(folder, server, QUICK) as (here, there), connected(server.server, "bench") as client:
            figures = await _latency(here, there, client, rounds)
    for kind, hook in (("quick", QUICK), ("waiting", WAITING)):
        async with _sessions(folder, server, hook) as (here, there):
            for count in COUNTS:
                with _workers(folder, server, hook, count, f"{kind}{count}"):
                    figures |= await _throughput(here, there, f"{kind} {count}", max(1, rounds // 50))
    return figures


async def _latency(here: Session, there: Session, client: Any, rounds: int) -> dict[str, float]:
    times: dict[str, list[float]] = {"here": [], "there": [], "trip": []}

    async def trip() -> None:
        await client.request("echo", b"x" * 1000, timeout=5)

    acts = {"here": lambda: _event(here), "there": lambda: _event(there), "trip": trip}
    for number in range(rounds + 20):
        for name in random.sample(list(acts), len(acts)):
            started = time.perf_counter()
            await acts[name]()
            if number >= 20:
                times[name].append((time.perf_counter() - started) * 1000)
    pairs = list(zip(times["there"], times["here"], strict=True))
    return {
        "here_ms": median(times["here"]),
        "there_ms": median(times["there"]),
        "trip_ms": median(times["trip"]),
        "ratio": median(far / near for far, near in pairs),
        "added_ms": median(far - near for far, near in pairs),
    }


async def _throughput(here: Session, there: Session, name: str, rounds: int) -> dict[str, float]:
    ratios, rates = [], []
    await _rate(there)
    for _ in range(rounds):
        speeds = {}
        for session in random.sample((here, there), 2):
            speeds[session] = await _rate(session)
        ratios.append(speeds[there] / speeds[here])
        rates.append(speeds[there])
    return {f"rate of {name}": median(rates), f"share of {name}": median(ratios)}


async def _rate(session: Session) -> float:
    """Events per second."""
    left = iter(range(4 * ASKERS))

    async def ask() -> None:
        for _ in left:
            await _event(session)

    started = time.perf_counter()
    await asyncio.gather(*(ask() for _ in range(ASKERS)))
    return 4 * ASKERS / (time.perf_counter() - started)


_unanswered: list[str] = []


async def _event(session: Session) -> None:
    call = await session.before_tool("write_file", INPUT)
    if call.blocked:  # a busy machine is not a failure, but its figures are not used
        _unanswered.append(call.reason or "")


@asynccontextmanager
async def _sessions(folder: Path, server: NatsServer, hook: dict[str, Any]) -> AsyncIterator[tuple[Session, Session]]:
    remote = {"type": "remote", "subject": "bench", "onError": "block"}
    with (
        Hooks(folder, settings=_settings(folder, server, {**hook, "onError": "block"})) as here,
        Hooks(folder, settings=_settings(folder, server, remote)) as there,
    ):
        yield here.session(), there.session()


def _settings(folder: Path, server: NatsServer, hook: dict[str, Any]) -> dict[str, Any]:
    options = {"log": {"path": str(folder / f"{hook['type']}.jsonl")}, "fleet": {"servers": [server.address]}}
    return {"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [hook]}]}, "hooksConfig": options}


@contextmanager
def _workers(folder: Path, server: NatsServer, hook: dict[str, Any], count: int, name: str) -> Iterator[None]:
    file = folder / f"{name}.json"
    file.write_text(json.dumps(_settings(folder, server, hook)))
    own = ["fleet", "worker", "--subject", "bench", "--settings", str(file), "--concurrency", "8"]
    with _started([[sys.executable, "-m", "hookline", *own]] * count):
        yield


@contextmanager
def _echo(server: NatsServer) -> Iterator[None]:
    with _started([[sys.executable, "-c", _ECHO, server.address]]):
        yield


@contextmanager
def _started(commands: list[list[str]]) -> Iterator[None]:
    running = [subprocess.Popen(one, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for one in commands]
    try:
        for process in running:
            assert process.stdout is not None
            assert process.stdout.readline()
        yield
    finally:
        for process in running:
            process.kill()
            process.communicate()


def page(figures: dict[str, float], rounds: int) -> str:
    """The figures for docs/decisions.md."""
    rows = [
        f"| {count} | {figures[f'rate of quick {count}']:.0f} | {figures[f'share of quick {count}']:.2f} |"
        f" {figures[f'rate of waiting {count}']:.0f} | {figures[f'share of waiting {count}']:.2f} |"
        for count in COUNTS
    ]
    latency = (
        f"An event whose hook is `exit 0` takes {figures['here_ms']:.2f} ms here and {figures['there_ms']:.2f} ms on a"
        f" worker: {figures['ratio']:.2f} times as long, {figures['added_ms']:.2f} ms more. One round trip through the"
        f" server alone, between two programs in Python, takes {figures['trip_ms']:.2f} ms; a remote hook makes"
        " two."
    )
    throughput = (
        "Events per second with 64 askers at the same time, and as a share of those with the hook here (which runs all"
        " 64 at once; a worker runs 8):"
    )
    head = f"Server, workers and asker share one machine with {os.cpu_count()} cores; medians of {rounds} rounds."
    table = ["| workers | `exit 0` | share | `sleep 0.05` | share |", "|---|---|---|---|---|", *rows]
    return "\n".join(["", head, "", latency, "", throughput, "", *table, "", ""])


def main() -> int:
    """Measures, and writes the figures."""
    if find_program() is None:
        print("remote hooks: skipped, there is no nats-server here; `make setup` installs one", file=sys.stderr)
        return 0
    print("remote hooks …", file=sys.stderr)
    rounds = int(sys.argv[1]) if sys.argv[1:] else ROUNDS
    figures = measure(rounds)
    text = page(figures, rounds)
    print(text)
    if rounds >= ROUNDS:
        file = ROOT / "docs" / "decisions.md"
        file.write_text(_PLACE.sub(lambda place: f"{place[1]}{text}{place[2]}", file.read_text()))
    if _unanswered:
        print(f"         {len(_unanswered)} events were not answered, the first: {_unanswered[0]}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
