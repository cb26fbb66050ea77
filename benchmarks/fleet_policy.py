"""How soon a change of policy is in force on many machines, with a real server.

    python benchmarks/fleet_policy.py [--machines 200] [--changes 5] [--processes 2] [--directory /dev/shm]

The machines are simulated: tasks in a few processes, each with its own connection, directory and follower, which
verifies, unpacks and swaps as a real one does. The publisher is another process, and so is the server. All of them
share this machine's processors and its disk, so a fleet is faster: there each machine verifies and unpacks by itself.
"""

import argparse
import asyncio
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import timedelta
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.fleet.company import settings
from tests.fleet.server import NatsServer

from hookline.fleet.names import ServerAddress
from hookline.fleet.nats.connection import connected
from hookline.fleet.policy.bucket import publish
from hookline.fleet.policy.documents import Bundle, Document, Switch, Switches, new_key, now, packed, sign, unsigned
from hookline.fleet.policy.follow import Follower, PolicyUpdate
from hookline.fleet.policy.store import PolicyStore

SCRIPTS = 10
SCRIPT_BYTES = 4000


def _document(kind: str, version: int) -> Document:
    later = now() + timedelta(days=1)
    if kind == "switches":
        off = Switch(what="agents", reason="incident", expires=later)
        return Switches(version=version, issued=now(), teams=("all",), switches=(off,))
    files = {
        f"guard{n}.py": packed(f"# {version}\n".encode() * (SCRIPT_BYTES // 6), executable=False)
        for n in range(SCRIPTS)
    }
    return Bundle(version=version, issued=now(), expires=later, teams=("all",), settings=settings(), files=files)


def _publisher(address: str, key: Path, public: str, pipe: Connection) -> None:
    """Publishes what it is asked for, and answers with the moment at which it began."""

    async def put(kind: str, version: int) -> float:
        envelope = sign(unsigned(_document(kind, version)), key)
        async with connected(ServerAddress(addresses=(address,)), "publisher") as client:
            began = time.time()
            await publish(client, envelope, (public,))
        return began

    while (asked := pipe.recv()) is not None:
        pipe.send(asyncio.run(put(*asked)))


def _machines(root: Path, server: ServerAddress, key: str, numbers: Sequence[int], pipe: Connection) -> None:
    """Follows for some machines, and says what each reports, and when."""

    async def follow() -> None:
        places = {number: PolicyStore(root / f"machine{number}", (key,), "all") for number in numbers}
        tells = {number: partial(_tell, pipe, number) for number in numbers}
        await asyncio.gather(*(Follower(server, place, tells[number]).run() for number, place in places.items()))

    asyncio.run(follow())


def _tell(pipe: Connection, number: int, news: PolicyUpdate) -> None:
    pipe.send((number, news.message, time.time()))


class Fleet:
    """Machines that follow, and when each has had which document."""

    def __init__(self, root: Path, server: ServerAddress, key: str, count: int, processes: int) -> None:
        self.arrived: dict[int, float] = {}
        self.count = count
        self._wanted = ""
        self._done = asyncio.Event()
        self._running: list[tuple[Any, Connection]] = []
        for first in range(processes):
            pipe, theirs = multiprocessing.Pipe()
            given = (root, server, key, range(first, count, processes), theirs)
            process = multiprocessing.get_context("spawn").Process(target=_machines, args=given, daemon=True)
            process.start()
            self._running.append((process, pipe))
            asyncio.get_running_loop().add_reader(pipe.fileno(), self._hear, pipe)

    def _hear(self, pipe: Connection) -> None:
        while pipe.poll():
            machine, message, moment = pipe.recv()
            if self._wanted and self._wanted in message:
                self.arrived[machine] = moment
                if len(self.arrived) == self.count:
                    self._done.set()

    def end(self) -> None:
        """Ends the machines."""
        for process, pipe in self._running:
            asyncio.get_running_loop().remove_reader(pipe.fileno())
            process.kill()
            process.join()

    async def wait_for(self, words: str, start: Callable[[], Awaitable[float]]) -> list[float]:
        """The seconds that each machine took."""
        self._wanted, self.arrived = words, {}
        self._done.clear()
        began = await start()
        await asyncio.wait_for(self._done.wait(), 120)
        return sorted(moment - began for moment in self.arrived.values())


def _row(what: str, times: Iterable[float]) -> str:
    found = sorted(times)
    p99 = found[min(len(found) - 1, int(len(found) * 0.99))]
    shown = (f"{seconds * 1000:.0f} ms" for seconds in (found[0], statistics.median(found), p99, found[-1]))
    return f"| {what} | {' | '.join(shown)} |"


async def measure(root: Path, nats: NatsServer, given: argparse.Namespace, pipe: Connection, key: str) -> list[str]:
    """The table's rows."""
    changes = given.changes
    loop = asyncio.get_running_loop()

    async def ask(kind: str, version: int) -> float:
        pipe.send((kind, version))
        return await loop.run_in_executor(None, pipe.recv)

    await ask("bundle", 1)
    fleet = Fleet(root, nats.server, key, given.machines, given.processes)
    rows: list[str] = []
    times: list[float] = []
    await fleet.wait_for("bundle version 1 ", lambda: asyncio.sleep(0, time.time()))
    for version in range(2, 2 + changes):
        times += await fleet.wait_for(f"bundle version {version} ", partial(ask, "bundle", version))
    rows.append(_row(f"a bundle with {SCRIPTS} scripts is in force", times))
    times = []
    for version in range(1, 1 + changes):
        times += await fleet.wait_for(f"switches version {version} ", partial(ask, "switches", version))
    rows.append(_row("agents are off", times))

    async def outage() -> float:
        nats.kill()
        nats.start()
        return await ask("bundle", 100)

    rows.append(
        _row(
            "published right after the server was killed and restarted",
            await fleet.wait_for("bundle version 100 ", outage),
        )
    )
    fleet.end()
    return rows


def main() -> None:
    """Prints a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machines", type=int, default=200)
    parser.add_argument("--changes", type=int, default=5)
    parser.add_argument("--processes", type=int, default=1, help="how many processes run the machines")
    parser.add_argument("--directory", help="where the machines keep their policies; /dev/shm is no disk")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.directory) as folder:
        root = Path(folder)
        key = new_key(root / "key")
        nats = NatsServer(root / "nats")
        nats.start()
        pipe, theirs = multiprocessing.Pipe()
        process = multiprocessing.get_context("spawn").Process(
            target=_publisher, args=(nats.address, root / "key", key, theirs), daemon=True
        )
        process.start()
        try:
            rows = asyncio.run(measure(root, nats, given, pipe, key))
        finally:
            pipe.send(None)
            nats.end()
    processes = "one process" if given.processes == 1 else f"{given.processes} processes"
    print(f"{given.machines} machines, simulated as tasks of {processes}; publisher and server are others.\n")
    print("| from publishing on, until | first | median | p99 | last |\n|---|---|---|---|---|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
