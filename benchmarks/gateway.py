"""Measures the MCP gateway beside a plain proxy: `python benchmarks/gateway.py [ROUNDS]`.

A client calls a tool of the same small server through both, and waits for the answer: through the least that asyncio
needs to pass lines on in both directions, and through the gateway with hooks that don't match. In each round both
get one call, in random order; the figure is the median of the ratios within rounds. The server answers at once, so that
nothing hides the gateway's share.
"""

import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

ROUNDS = 3000
GOALS = {"gateway": 1.3}

_CALL = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read","arguments":{"path":"a.txt"}}}\n'
_SERVER = """
import json, sys
for line in sys.stdin.buffer:
    result = {"content": [{"type": "text", "text": "ok"}], "isError": False}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": result}) + "\\n")
    sys.stdout.flush()
"""
_PROXY = """
import asyncio, sys

async def pump(reader, writer):
    while line := await reader.readline():
        writer.write(line)
        await writer.drain()
    writer.close()

async def main():
    loop = asyncio.get_running_loop()
    server = await asyncio.create_subprocess_exec(*sys.argv[1:], stdin=-1, stdout=-1)
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout)
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    await asyncio.gather(pump(reader, server.stdin), pump(server.stdout, writer))
    await server.wait()

asyncio.run(main())
"""


def measure(rounds: int = ROUNDS) -> dict[str, float]:
    """The ratio to a plain proxy, and the microseconds of both."""
    with tempfile.TemporaryDirectory() as folder, _running(Path(folder)) as ways:
        times: dict[str, list[float]] = {name: [] for name in ways}
        for number in range(rounds + 200):
            for name in random.sample(list(ways), len(ways)):
                times[name].append(_time(ways[name], _CALL % number))
    proxy, gateway = times["proxy"][200:], times["gateway"][200:]
    ratio = median(one / floor for one, floor in zip(gateway, proxy, strict=True))
    return {"gateway": ratio, "gateway_us": median(gateway) * 1e6, "gateway_proxy_us": median(proxy) * 1e6}


@contextlib.contextmanager
def _running(folder: Path) -> Iterator[dict[str, "subprocess.Popen[bytes]"]]:
    """The proxy and the gateway, each in front of a separate server."""
    for name, text in (("server.py", _SERVER), ("proxy.py", _PROXY)):
        (folder / name).write_text(text, encoding="utf-8")
    group = {"matcher": "mcp__bench__other", "hooks": [{"type": "command", "command": "exit 2"}]}
    hooks = {"BeforeTool": [group], "AfterTool": [group]}
    (folder / "settings.json").write_text(json.dumps({"enableHooks": True, "hooks": hooks}), encoding="utf-8")
    server = [sys.executable, str(folder / "server.py")]
    own = ["--name", "bench", "--settings", str(folder / "settings.json")]
    commands = {
        "proxy": [sys.executable, str(folder / "proxy.py"), *server],
        "gateway": [sys.executable, "-m", "hookline", "mcp", *own, "--", *server],
    }
    env = {**os.environ, "HOOKLINE_STATE_DIR": str(folder / "state")}
    with contextlib.ExitStack() as stack:
        yield {
            name: stack.enter_context(subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
            for name, command in commands.items()
        }


def _time(process: "subprocess.Popen[bytes]", call: bytes) -> float:
    assert process.stdin is not None
    assert process.stdout is not None
    started = time.perf_counter()
    process.stdin.write(call)
    process.stdin.flush()
    assert b"result" in process.stdout.readline()
    return time.perf_counter() - started


if __name__ == "__main__":
    figures = measure(int(sys.argv[1]) if sys.argv[1:] else ROUNDS)
    print(f"a call through a plain proxy: {figures['gateway_proxy_us']:.0f} µs")
    print(f"a call through the gateway:   {figures['gateway_us']:.0f} µs")
    print(f"the gateway against the proxy: {figures['gateway']:.2f} (at most {GOALS['gateway']:g})")
