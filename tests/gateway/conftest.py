"""A gateway as a process, in front of real servers."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.patience import is_alive

OFFICIAL = Path(__file__).with_name("official_server.py")

Groups = Mapping[str, list[dict[str, Any]]]


def hook(command: str, matcher: str | None = None, **options: Any) -> dict[str, Any]:
    """A group of one hook."""
    matched = {} if matcher is None else {"matcher": matcher}
    return {**matched, "hooks": [{"type": "command", "command": command, **options}]}


def specific(**fields: Any) -> dict[str, Any]:
    """An answer with these fields of its event."""
    return {"hookSpecificOutput": fields}


@pytest.fixture
def gateway(tmp_path: Path) -> Callable[..., list[str]]:
    """The words of a gateway with these hooks, in front of a server's command or address."""

    def words(events: Groups, *server: str, config: Mapping[str, Any] | None = None) -> list[str]:
        settings = tmp_path / "gateway.json"
        options = {"log": {"enabled": False}, **(config or {})}
        settings.write_text(json.dumps({"enableHooks": True, "hooksConfig": options, "hooks": events}))
        behind = server if server[0] == "--url" else ("--", *server)
        own = ["--name", "demo", "--project", str(tmp_path), "--settings", str(settings)]
        return [sys.executable, "-m", "hookline", "mcp", *own, *behind]

    return words


@contextmanager
def official_http_server(*token: str) -> "Iterator[tuple[str, subprocess.Popen[bytes]]]":
    """The official server's address and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, OFFICIAL, str(port), *token], **quiet) as server:  # type: ignore[call-overload]
        try:
            deadline = time.monotonic() + 45
            while not _accepts(port):
                assert time.monotonic() < deadline
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/mcp", server
        finally:
            server.kill()


# Not for the whole session: tests of other folders make sure that they leave no child.
@pytest.fixture(scope="module")
def http_server() -> Iterator[str]:
    """The address of the official server."""
    with official_http_server() as (url, _server):
        yield url


@pytest.fixture(params=["stdio", "http"])
def official(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The official server, as the end of a gateway's command line."""
    if request.param == "http":
        return ("--url", str(request.getfixturevalue("http_server")))
    return (sys.executable, str(OFFICIAL))


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Raw:
    """A client that speaks plain lines, and so can misbehave."""

    def __init__(self, words: list[str], **options: Any) -> None:
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
        )

    def send(self, message: object) -> None:
        """Sends a message, or bytes as they are."""
        assert self.process.stdin is not None
        line = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def request(self, id: object, method: str, **params: Any) -> None:  # noqa: A002 - what JSON-RPC calls it
        """Sends a request."""
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})

    def call(self, id: object, name: str, **arguments: Any) -> None:  # noqa: A002
        """Calls a tool."""
        self.request(id, "tools/call", name=name, arguments=arguments)

    def read(self) -> Any:
        """The next message."""
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def leave(self) -> tuple[int, str]:
        """Closes stdin, and returns the exit code and stderr."""
        _, stderr = self.process.communicate(timeout=45)
        return self.process.returncode, stderr.decode()


@pytest.fixture
def raw(gateway: Callable[..., list[str]], tmp_path: Path) -> Iterator[Callable[..., Raw]]:
    """Starts a gateway in front of a server that is given as Python code."""
    clients: list[Raw] = []

    def start(code: str, events: Groups | None = None, **options: Any) -> Raw:
        script = tmp_path / "server.py"
        script.write_text(ROUGH + code)
        clients.append(Raw(gateway(events or {}, sys.executable, str(script), **options)))
        return clients[-1]

    yield start
    for client in clients:
        client.process.kill()
        client.process.communicate()


ROUGH = """
import json, os, signal, subprocess, sys, time
from pathlib import Path

def send(message):
    sys.stdout.write(json.dumps(message) + "\\n")
    sys.stdout.flush()

def answer(request, text):
    send({"jsonrpc": "2.0", "id": request["id"], "result": {"content": [{"type": "text", "text": text}]}})

def requests():
    for line in sys.stdin:
        yield json.loads(line)

"""

ECHO = """
for request in requests():
    answer(request, json.dumps(request.get("params")))
"""


def is_gone(pid: int) -> bool:
    """Whether a process has ended; waits for that a while."""
    deadline = time.monotonic() + 45
    while time.monotonic() < deadline:
        if not is_alive(pid):
            return True
        time.sleep(0.02)
    return False
