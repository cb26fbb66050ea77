"""A guided tour of a fleet: a server, two machines, a worker; a policy, a shadow guard, the kill switch, an audit."""

import contextlib
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

GUARD = '''\
"""Denies to write a private key."""
import json, sys
if "PRIVATE KEY" in json.dumps(json.load(sys.stdin)["tool_input"]):
    print("private keys do not belong into files", file=sys.stderr)
    sys.exit(2)
'''
WATCH = '''\
"""Would deny every plain http address: a new guard, which is tried out first."""
import json, sys
if "http://" in json.dumps(json.load(sys.stdin)["tool_input"]):
    print("use https", file=sys.stderr)
    sys.exit(2)
'''
CUSTOMERS = '''\
"""Denies to write a customer's name. The list is on the worker, and nowhere else."""
import json, sys
if "Ada Lovelace" in json.dumps(json.load(sys.stdin)["tool_input"]):
    print("a customer's name", file=sys.stderr)
    sys.exit(2)
'''
POLICY = {
    "hooks": {
        "BeforeTool": [
            {
                "matcher": "write_file",
                "hooks": [
                    {"type": "command", "name": "no-keys", "command": "python3 $HOOKLINE_POLICY_DIR/no_keys.py"},
                    {
                        "type": "command",
                        "name": "https-only",
                        "mode": "shadow",
                        "command": "python3 $HOOKLINE_POLICY_DIR/https_only.py",
                    },
                    {"type": "remote", "name": "customers", "subject": "customers", "onError": "block"},
                ],
            }
        ]
    }
}
TEXTS = (
    "-----BEGIN PRIVATE KEY-----",
    "Call Ada Lovelace back",
    "see http://docs.example",
    "just a note",
)
_WAIT_S = 60.0
# Exit codes of `hookline fleet verify`.
_NOT_INTACT = 1


class Place:
    """One machine: a separate home, state directory, system settings and project."""

    def __init__(self, folder: Path, name: str, address: str, key: str | None = None) -> None:
        self.name = name
        self._folder = folder / name
        self.project = self._folder / "project"
        self.state = self._folder / "state"
        self.project.mkdir(parents=True)
        (self._folder / "home").mkdir()
        self._fleet = {"servers": [address], "team": "payments", "machine": name}
        options: dict[str, Any] = {"fleet": self._fleet}
        if key is not None:
            options["policy"] = {"publicKeys": [key], "directory": str(self._folder / "policy")}
        system = self._folder / "system.json"
        system.write_text(json.dumps({"hooksConfig": options}))
        self._env = {
            **os.environ,
            "HOME": str(self._folder / "home"),
            "HOOKLINE_STATE_DIR": str(self.state),
            "HOOKLINE_SYSTEM_SETTINGS": str(system),
            "HOOKLINE_SERVE": "0",
        }
        self._env.pop("HOOKLINE_USER_SETTINGS", None)

    def run(self, *words: str, is_shown: bool = True, **options: Any) -> "subprocess.CompletedProcess[str]":
        """Runs `hookline` here, and shows what it prints."""
        if is_shown:
            print(f"\n{self.name} $ hookline {shlex.join(words)}")
        done = subprocess.run(  # noqa: S603 - our own command
            _hookline(words), cwd=self.project, env=self._env, capture_output=True, text=True, check=False, **options
        )
        if is_shown:
            for line in (done.stdout + done.stderr).strip().splitlines():
                print(f"  {line}")
        return done

    @contextlib.contextmanager
    def running(self, *words: str, ready: bool = False) -> Iterator[None]:
        """Runs `hookline` in the background; `ready` waits for its first line."""
        print(f"\n{self.name} $ hookline {shlex.join(words)} &")
        process = subprocess.Popen(  # noqa: S603 - our own command
            _hookline(words), cwd=self.project, env=self._env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        try:
            if ready and process.stdout is not None:
                print(f"  {process.stdout.readline().decode().strip()}")
            yield
        finally:
            process.terminate()
            process.communicate()

    def writes(self, text: str) -> dict[str, Any]:
        """Return the hooks' decision about a file with this text."""
        given = json.dumps({"tool_name": "write_file", "tool_input": {"file_path": "a.txt", "content": text}})
        done = self.run("fire", "BeforeTool", "--input", given, "--json", is_shown=False)
        report: dict[str, Any] = json.loads(done.stdout)
        return report

    def with_fleet(self, file: Path) -> Path:
        """A settings file that is read alone, with the server of this machine."""
        settings = json.loads(file.read_text())
        file.write_text(json.dumps({**settings, "hooksConfig": {"fleet": self._fleet}}))
        return file

    def policy_version(self) -> int | None:
        """The version of the policy that is in force here."""
        done = self.run("fleet", "policy", "status", "--json", is_shown=False)
        version: int | None = json.loads(done.stdout).get("version") if done.stdout else None
        return version


def _hookline(words: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "hookline", *words]


def show(machine: Place, text: str) -> bool:
    """Have a machine write a file, and print the result; True if it was denied."""
    report = machine.writes(text)
    is_denied = bool(report["verdict"]["blocked"])
    by = " and ".join(report["provenance"].get("decision", ()))
    came_of = f"denied{f' by {by}' if by else ''}: {report['verdict']['reason']}" if is_denied else "allowed"
    print(f"  {machine.name} writes {text!r}: {came_of}")
    return is_denied


def wait(is_so: Callable[[], bool]) -> None:
    """Waits for something that takes a moment."""
    end = time.monotonic() + _WAIT_S
    while not is_so():
        if time.monotonic() > end:
            raise SystemExit("this takes too long; is the machine very busy?")
        time.sleep(0.1)


def chapter(title: str) -> None:
    """A heading."""
    print(f"\n== {title}", flush=True)


@contextlib.contextmanager
def server(folder: Path) -> Iterator[str]:
    """A NATS server on loopback; gives its address."""
    beside = Path(sys.executable).with_name("nats-server")
    program = str(beside) if beside.exists() else shutil.which("nats-server")
    if program is None:
        raise SystemExit("there is no nats-server here; `make setup` installs one, and Debian has it, too")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [program, "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(folder / "store")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603 - found above

    def answers() -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
            return True
        return False

    try:
        wait(answers)
        yield f"nats://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def worker_settings(folder: Path) -> Path:
    """The hooks of the worker, and the list that only it has."""
    script = folder / "customers.py"
    script.write_text(CUSTOMERS)
    hook = {"type": "command", "name": "customer-list", "command": f"python3 {shlex.quote(str(script))}"}
    file = folder / "hooks.json"
    file.write_text(json.dumps({"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [hook]}]}}))
    return file


def publish_policy(office: Place, folder: Path, key: Path) -> None:
    """Packs, signs and publishes the policy."""
    guards = folder / "guards"
    guards.mkdir()
    (guards / "settings.json").write_text(json.dumps(POLICY, indent=2))
    (guards / "no_keys.py").write_text(GUARD)
    (guards / "https_only.py").write_text(WATCH)
    bundle = str(folder / "policy.json")
    office.run("fleet", "policy", "pack", str(guards), "--version", "1", "-o", bundle)
    office.run("fleet", "policy", "sign", bundle, "--key", str(key))
    office.run("fleet", "policy", "publish", bundle)
    office.run("fleet", "policy", "pull", bundle)


def enforce(anna: Place, bert: Place) -> None:
    """The policy at work."""
    chapter("The policy is in force on both machines")
    for machine in (anna, bert):
        wait(lambda machine=machine: machine.policy_version() == 1)  # type: ignore[misc]
        for text in TEXTS:
            show(machine, text)
    chapter("The guard that is only tried out: what it would have denied, next to what happened")
    anna.run("log", "--stats", "--shadow")


def switch_off(office: Place, anna: Place, key: Path) -> None:
    """The kill switch."""
    chapter("The kill switch: all agents off, and on again")
    off = ("agents", "off", "--reason", "incident 4711", "--expires", "1h")
    office.run("fleet", "policy", "switch", *off, "--key", str(key))
    wait(lambda: bool(anna.writes("just a note")["verdict"]["blocked"]))
    show(anna, "just a note")
    office.run("fleet", "policy", "switch", "agents", "on", "--key", str(key))
    wait(lambda: not anna.writes("just a note")["verdict"]["blocked"])
    show(anna, "just a note")


def audit(office: Place, anna: Place, bert: Place) -> int:
    """The record, and a forged one; returns the exit code of the last look."""
    chapter("The record of both machines, in the company's stream")
    for machine in (anna, bert):
        machine.run("fleet", "run", "--once")
    office.run("fleet", "status")
    office.run("fleet", "verify")
    chapter("Somebody changes a denial in a machine's log into a yes")
    log = anna.state / "hooks.jsonl"
    forged = log.read_text().replace('"decision":"deny"', '"decision":"allow"', 1)
    log.write_text(forged)
    return office.run("fleet", "verify", "--machine", "anna", "--source", str(log)).returncode


def main(folder: Path) -> int:
    """The tour; 0 if everything was as it should be."""
    chapter("A server, an office that publishes, two machines and a worker; all of it in a directory that is removed")
    with server(folder) as address:
        key = folder / "policy.key"
        made = Place(folder, "signing", address).run("fleet", "policy", "keygen", str(key), "--json")
        public = json.loads(made.stdout)["publicKey"]
        office = Place(folder, "office", address, public)
        anna, bert = Place(folder, "anna", address, public), Place(folder, "bert", address, public)
        worker = Place(folder, "worker", address)
        publish_policy(office, folder, key)
        office.run("fleet", "run", "--setup")
        with contextlib.ExitStack() as stack:
            settings = worker.with_fleet(worker_settings(folder))
            serving = worker.running(
                "fleet", "worker", "--subject", "customers", "--settings", str(settings), ready=True
            )
            stack.enter_context(serving)
            for machine in (anna, bert):
                stack.enter_context(machine.running("fleet", "policy", "follow"))
            enforce(anna, bert)
            switch_off(office, anna, key)
            found = audit(office, anna, bert)
    print("\nNext: docs/fleet.md.")
    return 0 if found == _NOT_INTACT else 1


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(main(Path(temporary)))
