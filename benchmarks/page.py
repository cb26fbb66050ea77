"""The page over a large log: how long each view takes; `python -m benchmarks.page --records 1000000`.

It starts a real `hookline ui` over the log that benchmarks/log.py writes, and asks it as the browser does: over HTTP,
one request at a time. Of the settings only the hooks' names matter.
"""

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from urllib.parse import parse_qs, quote, urlsplit

from benchmarks.log import write_log

from hookline.protocol.text.json_text import utc_timestamp

_HOOKS = [
    {"type": "command", "name": name, "command": f"{name}.py"} for name in ("guard", "format", "audit", "secrets")
]
_SETTINGS = {"enableHooks": True, "hooks": {event: [{"hooks": _HOOKS}] for event in ("BeforeTool", "AfterTool")}}


class Server:
    """A real `hookline ui`, asked as a browser asks it."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._host = parts.netloc
        self._headers = {"Cookie": f"hookline-{parts.port}={parse_qs(parts.query)['token'][0]}"}

    def ask(self, path: str) -> bytes:
        """Return the server's answer."""
        connection = http.client.HTTPConnection(self._host, timeout=600)
        connection.request("GET", f"/api/{path}", headers=self._headers)
        reply = connection.getresponse()
        body = reply.read()
        connection.close()
        if reply.status != http.HTTPStatus.OK:
            raise SystemExit(f"{path}: {reply.status} {body[:300]!r}")
        return body

    @contextmanager
    def following(self) -> Iterator[http.client.HTTPResponse]:
        """The stream of new records, from its first line on."""
        connection = http.client.HTTPConnection(self._host, timeout=600)
        connection.request("GET", "/api/live", headers=self._headers)
        reply = connection.getresponse()
        reply.readline()
        yield reply
        connection.close()


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """A server over the log of this folder."""
    words = ["ui", "--no-open", "--project", str(folder), "--settings", str(folder / "settings.json")]
    env = {**os.environ, "HOOKLINE_STATE_DIR": str(folder)}
    command = [str(Path(sys.executable).with_name("hookline")), *words]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Server(process.stdout.readline().split()[-1])
        finally:
            process.terminate()


def measure(records: int, rounds: int, folder: Path) -> None:
    """Prints the seconds of each view."""
    log = folder / "hooks.jsonl"
    (folder / "settings.json").write_text(json.dumps(_SETTINGS), encoding="utf-8")
    if not log.exists():
        _, size = write_log(log, records)
        print(f"{records:,} records, {size / 1e9:.2f} GB", flush=True)
    since = quote(utc_timestamp(1_700_000_000 + records / 6))
    with serving(folder) as server:
        latest = json.loads(server.ask("rows"))
        fire = latest["rows"][0]["fire"]
        session = json.loads(server.ask(f"rows?count=1&until={since}"))["rows"][0]["session"]
        views = {
            "the first page": "rows",
            "a filter by tool": "rows?tool=grep",
            "denies of a hook": "rows?hook=guard&decision=blocked",
            "failures since a time in the middle": f"rows?failures=1&since={since}",
            "a filter that nothing is like": "rows?tool=nothing",
            "unfinished hooks": "rows?unfinished=1",
            "a session's events": f"rows?session={session}",
            "an older page": f"rows?before={quote(latest['next'])}",
            "one event in full": f"events/{fire}",
            "the sessions": "sessions",
            "a session as a story": f"session?id={session}",
            "the projects to choose from": "projects",
            "the hooks and their health": "hooks",
            "the latest runs of a hook": "durations?hook=guard&event=BeforeTool",
            "the settings": "settings",
        }
        for name, path in views.items():
            _show(name, [_seconds(partial(server.ask, path)) for _ in range(rounds)])
        _show("a new record on the page", list(_updates(server, log, rounds)))
        _show("the first page, after that", [_seconds(lambda: server.ask("rows")) for _ in range(rounds)])
        _show("a filter, after that", [_seconds(lambda: server.ask("rows?tool=grep")) for _ in range(rounds)])


def _updates(server: Server, log: Path, rounds: int) -> Iterator[float]:
    """Seconds from a line in the log to its arrival on the page."""
    line = log.read_bytes()[:-1].rpartition(b"\n")[2] + b"\n"
    with server.following() as stream:
        for _ in range(rounds):
            time.sleep(0.5)
            began = time.perf_counter()
            with log.open("ab") as file:
                file.write(line)
            while not stream.readline().startswith(b"data: [{"):
                pass
            yield time.perf_counter() - began


def _seconds(ask: Callable[[], object]) -> float:
    began = time.perf_counter()
    ask()
    return time.perf_counter() - began


def _show(name: str, times: list[float]) -> None:
    print(f"{name:<42} {median(times):7.3f} s (at most {max(times):.3f} s)", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", help="where they are kept, and used again (default: they are removed)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        measure(given.records, given.rounds, Path(given.folder or directory))
