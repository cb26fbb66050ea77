"""The output of commands about remote hooks."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.fleet.server import NatsServer, find_program, free_port
from tests.fleet.workers import WorkerProcess, guard, remote_settings

from hookline.apps.cli.main import main

pytestmark = pytest.mark.skipif(find_program() is None, reason="no nats-server here: `make setup` installs it")

Run = Callable[..., tuple[int, Any]]


@pytest.fixture
def run(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command with `--json` on a machine with one remote hook."""

    def call(fleet: dict[str, Any] | None, *words: str) -> tuple[int, Any]:
        file = tmp_path / "machine.json"
        file.write_text(json.dumps(remote_settings(fleet, name="secrets")))
        code = main([*words, "--json", "--project", str(project), "--settings", str(file)])
        return code, json.loads(capsys.readouterr().out)

    return call


def fleet_checks(report: Any) -> list[tuple[str, str]]:
    """Return the messages of doctor about the fleet."""
    return [(check["severity"], check["message"]) for check in report["checks"] if check["about"] == "fleet"]


def test_doctor_finds_the_server_and_the_worker(nats: NatsServer, tmp_path: Path, run: Run) -> None:
    """Good with a worker, bad without one; its hooks are not run for that."""
    fleet = {"servers": [nats.address]}
    accepts = f"{nats.address} accepts connections of team all"
    unknown = "it does not ask who connects, so workers are not told who asks"
    nobody = "nobody answers remote hooks about dlp: no worker is there; start one: hookline fleet worker --subject dlp"
    code, report = run(fleet, "doctor")
    assert (code, fleet_checks(report)) == (1, [("ok", f"{accepts}; {unknown}"), ("error", nobody)])
    worker = WorkerProcess(tmp_path / "w", fleet, guard("touch ran"))
    try:
        worker.wait()
        code, report = run(fleet, "doctor")
    finally:
        worker.end()
    assert fleet_checks(report)[1:] == [("ok", f"worker {worker.name} would answer remote hooks about dlp")]
    assert not (tmp_path / "w/ran").exists()


def test_doctor_says_that_the_server_is_not_there(run: Run) -> None:
    """With the address, and as bad as it is."""
    port = free_port()
    _, report = run({"servers": [f"nats://127.0.0.1:{port}"]}, "doctor")
    ((severity, message),) = fleet_checks(report)
    assert (severity, f"127.0.0.1:{port} can't be reached" in message) == ("error", True)


def test_list_explain_and_check_show_it(run: Run) -> None:
    """By its name, its type and its subject; a server that is not named is an error."""
    fleet = {"servers": ["nats://127.0.0.1:9"]}
    _, listed = run(fleet, "list")
    (hook,) = listed["hooks"]
    assert (hook["hook"], hook["type"], hook["subject"], hook["state"]) == ("secrets", "remote", "dlp", "on")
    _, explained = run(fleet, "fire", "--plan", "BeforeTool", "--tool", "write_file")
    assert "secrets" in json.dumps(explained)
    assert run(fleet, "check")[0] == 0
    code, found = run(None, "check")
    assert (code, "no server is named" in json.dumps(found)) == (1, True)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        pytest.param({"hooks": guard("true")}, "no server is named to listen on", id="no server"),
        pytest.param({"enableHooks": False}, "hooks are off here", id="off"),
        pytest.param({"hooks": {}}, "no hook is configured here", id="no hooks"),
        pytest.param({}, "is a remote hook, and a worker runs its hooks itself", id="asks again"),
    ],
)
def test_a_worker_does_not_start_where_it_would_judge_nothing(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], settings: dict[str, Any], why: str
) -> None:
    """It says why, with the remedy."""
    fleet = None if why.startswith("no server") else {"servers": ["nats://127.0.0.1:9"]}
    file = tmp_path / "worker.json"
    file.write_text(json.dumps({**remote_settings(fleet), **settings}))
    assert main(["fleet", "worker", "--subject", "dlp", "--project", str(project), "--settings", str(file)]) == 1
    assert why in capsys.readouterr().err
