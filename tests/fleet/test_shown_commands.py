"""The commands of docs/fleet.md, as a company would give them, with a real server and one machine."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.fleet.server import NatsServer
from tests.test_docs import shown_commands

pytestmark = [pytest.mark.fleet, pytest.mark.timeout(300)]

IN_ORDER = [
    "fleet policy keygen policy.key",
    "fleet policy pack guards/ --version 7 --expires 90d --teams payments,web -o policy.json",
    "fleet policy sign policy.json --key policy.key",
    "fleet policy verify policy.json",
    "fleet policy publish policy.json",
    "fleet policy follow",
    "fleet policy pull",
    "fleet policy pull FILE",
    "fleet policy status",
    "fleet policy rollback --to 6 --team payments --key policy.key",
    "fleet policy switch agents off --reason 'incident 4711' --expires 2h --key policy.key",
    "fleet policy switch hook no-secrets off --reason 'false alarms' --expires 1d --key policy.key",
    "fleet policy switch agents on --key policy.key",
    "fleet worker --subject dlp",
    "fleet worker --subject dlp --settings dlp.json",
    "fleet run --setup",
    "fleet run --setup --max-bytes 20000000000",
    "fleet run --setup --max-bytes 20000000000 --replicas 3",
    "fleet run",
    "fleet status",
    "fleet status --json",
    "fleet status --expect machines.txt --json",
    "fleet events",
    "fleet events --stats",
    "fleet events --stats --shadow",
    "fleet verify --machine build7 --since 7d",
    "fleet verify --anchors /mnt/anchors --keys machines.keys",
    "fleet verify --source hooks.jsonl --anchors anchors",
    "ui --fleet",
]
# In place of the stream for all teams, so it needs a separate server.
SHARDED = "fleet run --setup --team payments --replicas 3"
# They go on until they are interrupted: what each prints when it is at work.
LASTING = {
    "fleet policy follow": "version 7",
    "fleet run": "runs",
    "fleet worker --subject dlp": "dlp",
    "fleet worker --subject dlp --settings dlp.json": "dlp",
    "ui --fleet": "http://127.0.0.1",
}
# The machine's service was interrupted, and its policy is out of date: the output names both, and the exit code is 1.
HAS_PROBLEMS = "fleet status"
REAL = {
    "FILE": "policy.json",
    "/mnt/anchors": "anchors",
    "20000000000": "20000000",  # the server reserves them
    "3": "1",  # one server; tests/fleet/test_endurance.py has a cluster
    "hooks.jsonl": "state/hooks.jsonl",
}


def test_every_command_of_a_fleet_is_here() -> None:
    """The commands of the pages; `fleet policy sign` is only the name of a form in a sentence."""
    found = {shlex.join(words) for _, words in shown_commands()}
    starts = ("fleet ", "ui --fleet")
    assert {one for one in found if one.startswith(starts)} - {"fleet policy sign"} == {*IN_ORDER, SHARDED}


def test_a_team_can_have_a_stream_of_its_own(tmp_path: Path, nats: NatsServer) -> None:
    """On a server without the stream for all teams."""
    desk = Desk(tmp_path, nats)
    desk.names("ed25519:none")
    assert "HOOKLINE_AUDIT_payments" in desk.run(SHARDED)


def test_the_commands_of_the_page_run(tmp_path: Path, nats: NatsServer) -> None:
    """From the key to the audit, on a machine that has judged something."""
    desk = Desk(tmp_path, nats)
    for command in IN_ORDER:
        if command == "fleet policy sign policy.json --key policy.key":
            six = "fleet policy pack guards/ --version 6 --expires 90d --teams payments,web -o six.json"
            for prepared in (six, "fleet policy sign six.json --key policy.key", "fleet policy publish six.json"):
                desk.run(prepared)
        if command in LASTING:
            desk.run_until(command, LASTING[command])
            continue
        shown = desk.run(command, code=int(command.startswith(HAS_PROBLEMS)))
        if command == "fleet status --json":
            machine = json.loads(shown)["machines"][0]
            (tmp_path / "machines.keys").write_text(f"build7 {machine['user']} {machine['key']}\n")
        if command.startswith("fleet policy keygen"):
            (key,) = re.findall(r"ed25519:[^\"]+", shown)
            desk.names(key)
        if command == "fleet policy status":
            assert "7" in shown


class Desk:
    """Somebody at a machine that is the publisher's, the administrator's and the team's at once."""

    def __init__(self, place: Path, nats: NatsServer) -> None:
        self.place, self._nats = place, nats
        (place / "guards").mkdir()
        hook = {"type": "command", "name": "no-secrets", "command": "sh $HOOKLINE_POLICY_DIR/no_secrets.sh"}
        guards = {"hooks": {"BeforeTool": [{"hooks": [hook]}]}}
        (place / "guards" / "settings.json").write_text(json.dumps(guards))
        (place / "guards" / "no_secrets.sh").write_text("grep -q SECRET && exit 2\nexit 0\n")
        server = {"hooksConfig": {"fleet": {"servers": [nats.address]}}}
        (place / "dlp.json").write_text(json.dumps({"enableHooks": True, **guards, **server}))
        (place / "machines.txt").write_text("build7\n")

    def run(self, command: str, code: int = 0) -> str:
        """Run a command, and return its output."""
        done = subprocess.run(self._words(command), **self._options(), timeout=100, check=False)
        assert done.returncode == code, f"{command}\n{done.stdout}"
        return str(done.stdout)

    def run_until(self, command: str, word: str) -> None:
        """Starts a command, waits until it says that it is at work, and interrupts it."""
        process = subprocess.Popen(self._words(command), **self._options())
        assert process.stdout is not None
        shown = ""
        try:
            while word not in shown:
                line = process.stdout.readline()
                assert line, f"{command} has ended:\n{shown}"
                shown += line
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=100)
        finally:
            process.kill()
            process.wait()
        assert process.returncode in (0, 130), shown

    def names(self, key: str) -> None:
        """Writes the system's settings, which name the server and the key that signs."""
        fleet = {"servers": [self._nats.address], "team": "payments", "machine": "build7", "anchors": "anchors"}
        fleet["anchors"] = str(self.place / "anchors")
        policy = {"publicKeys": [key], "directory": str(self.place / "policy")}
        file = Path(os.environ["HOOKLINE_SYSTEM_SETTINGS"])
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"enableHooks": True, "hooksConfig": {"policy": policy, "fleet": fleet}}))

    def _words(self, command: str) -> list[str]:
        words = [REAL.get(word, word) for word in shlex.split(command)]
        more = ["--no-open"] if words[0] == "ui" else []
        return [sys.executable, "-m", "hookline", *words, *more]

    def _options(self) -> dict[str, Any]:
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        environ = {**os.environ, "HOOKLINE_STATE_DIR": str(self.place / "state")}
        return {"cwd": self.place, "text": True, "env": environ, **pipes}
