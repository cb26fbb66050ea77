"""A cluster of three servers that loses each of its nodes in turn, while policies are published and followed."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests import patience
from tests.fleet.company import Company, Machine, settings
from tests.fleet.server import NatsServer

from hookline.apps.cli.main import main
from hookline.fleet.names import POLICY_BUCKET, ServerAddress
from hookline.fleet.nats.connection import connected

until = partial(patience.until, within_s=60.0)
pytestmark = [pytest.mark.fleet, pytest.mark.timeout(170)]


@contextmanager
def following() -> Iterator["subprocess.Popen[bytes]"]:
    """A real `hookline fleet policy follow`, in a separate process."""
    command = [sys.executable, "-m", "hookline", "fleet", "policy", "follow"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def publishes(company: Company, file: Path, version: int) -> None:
    """Publish, and repeat with the same file if the cluster has just lost its leader."""
    file.write_bytes(company.signed(company.bundle(settings(f"echo v{version} >&2; exit 2"), version)).to_bytes())
    until(lambda: main(["fleet", "policy", "publish", str(file), "--replicas", "3"]) == 0)


def has_three_copies(cluster: list[NatsServer]) -> bool:
    """Whether all three nodes have all of the bucket again."""

    async def look() -> Any:
        async with connected(ServerAddress(addresses=tuple(each.address for each in cluster)), "test") as client:
            return await client.jetstream(timeout=2.0).stream_info(f"KV_{POLICY_BUCKET}")

    try:
        copies = asyncio.run(look()).cluster
    except Exception:  # noqa: BLE001 - it elects a leader
        return False
    return copies.leader is not None and [peer.current for peer in copies.replicas or ()] == [True, True]


def test_a_policy_reaches_a_machine_whichever_node_is_lost(
    cluster: list[NatsServer], own_home: Path, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each node goes in turn, so the leader and the one that the machine is connected to are among them."""
    del own_home
    company = Company(tmp_path)
    company.write_system(fleet={"servers": [each.address for each in cluster]})
    machine = Machine(project)

    def enforces(version: int) -> bool:
        verdict = machine.fires()
        return verdict.blocked and verdict.reason == f"v{version}"

    with following() as follower:
        publishes(company, tmp_path / "policy.json", 1)
        until(lambda: enforces(1))
        for version, node in enumerate(cluster, start=2):
            until(lambda: has_three_copies(cluster))
            node.kill()
            publishes(company, tmp_path / "policy.json", version)
            until(lambda version=version: enforces(version))  # type: ignore[misc]
            node.start()
        assert follower.poll() is None
    machine.close()
    shown = capsys.readouterr().out
    assert "published: bundle.all" in shown


def test_a_lone_node_confirms_nothing_and_the_policy_stays(
    cluster: list[NatsServer], own_home: Path, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a majority the publisher gets an error and the guard stays; later the same file can be published."""
    del own_home
    company = Company(tmp_path)
    company.write_system(fleet={"servers": [each.address for each in cluster]})
    machine, file = Machine(project), tmp_path / "policy.json"
    publishes(company, file, 1)
    assert main(["fleet", "policy", "pull"]) == 0
    until(lambda: has_three_copies(cluster))
    for node in cluster[1:]:
        node.kill()
    file.write_bytes(company.signed(company.bundle(settings("echo v2 >&2; exit 2"), 2)).to_bytes())
    capsys.readouterr()
    assert main(["fleet", "policy", "publish", str(file), "--replicas", "3"]) != 0
    assert re.search("does not answer|can't be reached|no answer within", capsys.readouterr().err)
    assert machine.fires().reason == "v1"
    for node in cluster[1:]:
        node.start()
    until(lambda: main(["fleet", "policy", "publish", str(file)]) == 0)
    until(lambda: main(["fleet", "policy", "pull"]) == 0)
    until(lambda: machine.fires().reason == "v2")
    machine.close()
