"""Streams of their own for two teams, on servers of their own: as docs/fleet.md says how to shard."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.fleet.records import write_log
from tests.fleet.server import NatsServer

from hookline.apps.cli.main import main
from hookline.fleet.names import AUDIT_STREAM, MACHINES_BUCKET, ServerAddress
from hookline.fleet.nats.bucket import make_bucket
from hookline.fleet.nats.connection import connected

pytestmark = [pytest.mark.fleet, pytest.mark.timeout(170)]
WITHIN_S = 60.0


def wait_until(is_so: Callable[[], object]) -> None:
    end = time.monotonic() + WITHIN_S
    while not is_so():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.1)


def ask(cluster: list[NatsServer], work: Callable[[Any], Any]) -> Any:
    """What the cluster answers; None while it elects a leader."""

    async def go() -> Any:
        async with connected(ServerAddress(addresses=tuple(each.address for each in cluster)), "test") as client:
            return await work(client)

    try:
        return asyncio.run(go())
    except Exception:  # noqa: BLE001 - whatever a cluster says that is not ready
        return None


def leader_of(cluster: list[NatsServer], stream: str) -> str | None:
    """Which node keeps a stream."""
    info = ask(cluster, lambda client: client.jetstream().stream_info(stream))
    return None if info is None else info.cluster.leader


class Team:
    """A machine of a team, which is a home of its own, and the team's stream."""

    def __init__(self, root: Path, name: str, servers: list[str]) -> None:
        self.name = name
        self.stream = f"{AUDIT_STREAM}_{name}"
        self._home = root / name
        self._log = self._home / "state" / "hooks.jsonl"
        settings = self._home / ".llxprt" / "settings.json"
        settings.parent.mkdir(parents=True)
        fleet = {"servers": servers, "team": name, "machine": f"{name}-1"}
        settings.write_text(json.dumps({"hooksConfig": {"fleet": fleet}}))
        self._environ = {**os.environ, "HOME": str(self._home), "HOOKLINE_STATE_DIR": str(self._log.parent)}
        self._environ["HOOKLINE_USER_SETTINGS"] = str(settings)

    def works(self, numbers: range) -> None:
        """Writes records."""
        write_log(self._log, numbers)

    def sends(self) -> bool:
        """Runs the machine's service once."""
        command = [sys.executable, "-m", "hookline", "fleet", "run", "--once"]
        return subprocess.run(command, env=self._environ, capture_output=True, check=False).returncode == 0


def machines_in(stream: str, capsys: pytest.CaptureFixture[str]) -> dict[str, int]:
    """How many of our records a stream has of each machine."""
    capsys.readouterr()
    if main(["fleet", "events", "--stream", stream, "--json", "-n", "0"]) != 0:
        return {}
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    ours = [record["machine"] for record in found if str(record["message"]).startswith("event ")]
    return {machine: ours.count(machine) for machine in ours}


def test_two_teams_have_streams_on_servers_of_their_own(
    cluster: list[NatsServer], own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each team's records are on its server; the loss of one server holds up no other team, and loses nothing."""
    servers = [each.address for each in cluster]
    settings = own_home / ".llxprt" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(json.dumps({"hooksConfig": {"fleet": {"servers": servers}}}))
    payments, web = (Team(tmp_path, name, servers) for name in ("payments", "web"))
    # Signs of life are of all teams, so they outlive every single server.
    wait_until(lambda: ask(cluster, lambda client: make_bucket(client, MACHINES_BUCKET, history=1, replicas=3)))
    for team, tag in ((payments, "shard0"), (web, "shard1")):
        words = ["fleet", "run", "--setup", "--team", team.name, "--tag", tag]
        wait_until(lambda words=words: main(words) == 0)  # type: ignore[misc]
    for team, node in ((payments, "n0"), (web, "n1")):
        wait_until(lambda team=team, node=node: leader_of(cluster, team.stream) == node)  # type: ignore[misc]
    capsys.readouterr()
    assert main(["fleet", "run", "--setup"]) != 0
    assert "overlap" in capsys.readouterr().err

    for team in (payments, web):
        team.works(range(1, 6))
        wait_until(team.sends)
    for team in (payments, web):
        sent = {f"{team.name}-1": 5}
        wait_until(lambda team=team, sent=sent: machines_in(team.stream, capsys) == sent)  # type: ignore[misc]

    cluster[0].kill()
    for team in (payments, web):
        team.works(range(6, 11))
    wait_until(web.sends)
    assert not payments.sends()
    wait_until(lambda: machines_in(web.stream, capsys) == {"web-1": 10})
    cluster[0].start()
    wait_until(payments.sends)
    wait_until(lambda: machines_in(payments.stream, capsys) == {"payments-1": 10})
    for team in (payments, web):
        wait_until(lambda team=team: main(["fleet", "verify", "--stream", team.stream]) == 0)  # type: ignore[misc]
    capsys.readouterr()
    wait_until(lambda: {"payments-1", "web-1"} <= _known(capsys))


def _known(capsys: pytest.CaptureFixture[str]) -> set[str]:
    capsys.readouterr()
    main(["fleet", "status", "--json"])
    try:
        return {one["machine"] for one in json.loads(capsys.readouterr().out)["machines"]}
    except (ValueError, KeyError):  # no answer yet
        return set()
