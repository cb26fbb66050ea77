"""Whole events with hooks that stay (workers in Python and Node, a server over HTTP), against the C floor.

In each round each of them has one event, in random order; the figures are medians of the ratios within a round.
The floor starts bash, which starts the hook, in a new session.
"""

import asyncio
import random
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.parked import private_mb
from benchmarks.race import FLOOR, Scenario, Workers

from hookline import Hooks
from hookline.client import Session

INPUT = {"path": "/tmp/x.txt", "content": "hello " * 150}
PYTHON, NODE, HTTP = "a Python worker", "a Node worker", "HTTP on a kept connection"
MEMORY = "private memory of a Python worker"
GOALS = {PYTHON: 0.30, NODE: 0.35, HTTP: 0.50}
MEMORY_GOAL_MB = 6
SCRIPTS = {"python": "guard.py", "node": "guard.cjs"}
# After that the engine sees by a script's times that it has not changed, as with scripts that were written long ago.
_SETTLED_S = 2.2
_ONCE = Scenario("one hook", 1, 1000, workers=(FLOOR,))
DENIED = "Files with secrets are off limits"
WORKERS = {
    "python": """
from hookline.hook import BeforeTool, Deny, main

def guard(event: BeforeTool) -> Deny | None:
    return Deny("DENIED") if event.tool_input["path"].endswith(".env") else None

main(guard)
""",
    "node": """
const answer = (line) => process.stdout.write(JSON.stringify(line) + "\\n");
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, input } = JSON.parse(line);
  const isSecret = input.tool_input.path.endsWith(".env");
  answer({ id, output: isSecret ? { decision: "deny", reason: "DENIED" } : null });
});
answer({ ready: true });
""",
}
# As ordinary servers do, it writes head and body separately, and leaves it to the kernel when each is sent.
_SERVER = """
import asyncio, json, socket

class Guard(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.data = transport, b""
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
    def data_received(self, data):
        self.data += data
        head, end, body = self.data.partition(b"\\r\\n\\r\\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\\r")[0] or 0) if end else 0
        if end and len(body) >= length:
            path = json.loads(body)["tool_input"]["path"]
            self.data = b""
            answer = b'{"decision":"deny","reason":"DENIED"}' if path.endswith(".env") else b'{"decision":"allow"}'
            self.transport.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(answer))
            self.transport.write(answer)

async def main():
    server = await asyncio.get_running_loop().create_server(Guard, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
""".replace("DENIED", DENIED)


def worker(folder: Path, language: str, program: str) -> dict[str, Any]:
    """A hook that reads its input and looks at one field, as the floor's hook looks at nothing."""
    script = folder / SCRIPTS[language]
    script.write_text(WORKERS[language].replace("DENIED", DENIED))
    return {"type": "command", "command": f"{program} {script}", "worker": True}


@asynccontextmanager
async def sessions(folder: Path, port: int) -> AsyncIterator[dict[str, Session]]:
    """A session with each kind of hook, with the log on."""
    hooks = {PYTHON: worker(folder, "python", sys.executable)}
    if node := shutil.which("node"):
        hooks[NODE] = worker(folder, "node", node)
    hooks[HTTP] = {"type": "http", "url": f"http://127.0.0.1:{port}/"}
    engines = {
        name: Hooks(
            folder,
            settings={
                "enableHooks": True,
                "hooks": {"BeforeTool": [{"hooks": [hook]}]},
                "hooksConfig": {"log": {"path": str(folder / f"{len(name)}.jsonl")}},
            },
        )
        for name, hook in hooks.items()
    }
    try:
        yield {name: engine.session() for name, engine in engines.items()}
    finally:
        for engine in engines.values():
            engine.close()


async def _race(folder: Path, rounds: int, port: int) -> dict[str, float]:
    race = Workers(folder)
    async with sessions(folder, port) as staying:
        for name, session in staying.items():
            for _ in range(5):
                await _answered(name, session)
        await asyncio.sleep(_SETTLED_S)
        names = [*staying, *(() if FLOOR in race.missing else (FLOOR,))]
        ratios: dict[str, list[float]] = {name: [] for name in staying}
        for _ in range(rounds if FLOOR in names else 0):
            spans: dict[str, float] = {}
            for name in random.sample(names, len(names)):
                if name == FLOOR:
                    spans[name] = race.ask(FLOOR, _ONCE)[0]
                else:
                    begin = time.perf_counter_ns()
                    await staying[name].before_tool("write_file", INPUT)
                    spans[name] = time.perf_counter_ns() - begin
            for name in staying:
                ratios[name].append(spans[name] / spans[FLOOR])
        for name, session in staying.items():
            await _answered(name, session)
        memory = await private_mb(str(folder / SCRIPTS["python"]), 1)
        race.stop()
    return {**{name: median(values) for name, values in ratios.items() if values}, MEMORY: memory}


async def _answered(name: str, session: Session) -> None:
    """Fires an event that its guard must deny: a guard that fails is also fast."""
    call = await session.before_tool("write_file", {**INPUT, "path": "/tmp/.env"})
    if not str(call.reason).startswith(DENIED):
        raise SystemExit(f"{name} did not answer: {call.reason}")


def measure(folder: Path, rounds: int) -> dict[str, float]:
    """The ratios of those that are there, and the private memory of the Python worker in MB."""
    server = subprocess.Popen([sys.executable, "-c", _SERVER], stdout=subprocess.PIPE, text=True)
    assert server.stdout
    try:
        return asyncio.run(_race(folder, rounds, int(server.stdout.readline())))
    finally:
        server.terminate()
        server.wait()
