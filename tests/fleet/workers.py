"""Real worker processes, and the settings of a machine that asks them."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hookline.client.config import Config
from hookline.protocol.events import HookEventName
from hookline.protocol.verdict import Verdict

_START_S = 15.0
# A hook that answers whatever the arguments of its tool say it should.
ECHO = """python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin)["tool_input"].get("answer", {})))'"""


class WorkerProcess:
    """`hookline fleet worker`, with separate settings."""

    def __init__(self, directory: Path, fleet: Mapping[str, Any], hooks: Mapping[str, Any], *options: str) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        settings = directory / "worker.json"
        log = {"path": str(directory / "worker.jsonl")}
        settings.write_text(
            json.dumps({"enableHooks": True, "hooks": hooks, "hooksConfig": {"log": log, "fleet": dict(fleet)}})
        )
        command = [sys.executable, "-m", "hookline", "fleet", "worker", "--subject", "dlp", "--settings", str(settings)]
        self.process = subprocess.Popen(
            [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=directory
        )
        self.ready = ""

    @property
    def name(self) -> str:
        """The name of the worker in answers."""
        return f"{os.uname().nodename}-{self.process.pid}"

    def wait(self) -> "WorkerProcess":
        """Returns when it says that it is ready."""
        assert self.process.stdout is not None
        found, _, _ = select.select([self.process.stdout], [], [], _START_S)
        self.ready = self.process.stdout.readline().decode() if found else ""
        assert self.ready.startswith("READY"), (self.ready, self.process.poll())
        return self

    def signal(self, number: signal.Signals) -> None:
        """Sends it a signal."""
        self.process.send_signal(number)

    def end(self) -> None:
        """End the process in any state."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.communicate()


def guard(command: str, **options: Any) -> dict[str, Any]:
    """The hooks of a worker with one guard of tools."""
    return {"BeforeTool": [{"hooks": [{"type": "command", "name": "guard", "command": command, **options}]}]}


def remote_settings(fleet: Mapping[str, Any] | None, **options: Any) -> dict[str, Any]:
    """The settings of a machine with one remote hook."""
    hook = {"type": "remote", "subject": "dlp", "onError": "block", **options}
    return {
        "enableHooks": True,
        "hooks": {"BeforeTool": [{"hooks": [hook]}]},
        "hooksConfig": {"log": {"enabled": False}, **({} if fleet is None else {"fleet": dict(fleet)})},
    }


class Machine:
    """A machine that fires events; `close` it."""

    def __init__(self, project: Path, settings: Mapping[str, Any] | None, **options: Any) -> None:
        self.config = Config(project, settings=settings, session_id="s-1", **options)
        system = self.config.get_hook_system()
        assert system is not None
        self.system = system
        self.took_s = 0.0

    async def fire(self, **arguments: Any) -> Verdict:
        """BeforeTool with these arguments."""
        await self.system.initialize()
        handler, started = self.system.get_event_handler(), time.monotonic()
        fields = {"tool_name": "write_file", "tool_input": arguments}
        verdict = await handler.fire(HookEventName.BEFORE_TOOL, fields)
        self.took_s = time.monotonic() - started
        return verdict

    def close(self) -> None:
        """Closes its connection and log."""
        self.system.dispose()


def lines(file: Path) -> list[str]:
    """Return the lines that hooks wrote into a file."""
    return file.read_text().splitlines() if file.exists() else []


def ended(workers: Iterable[WorkerProcess]) -> None:
    """Ends workers."""
    for worker in workers:
        worker.end()
