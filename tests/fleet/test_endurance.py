"""Slow tests: many records, servers that are killed and suspended, a lost node. `make fleet` runs them."""

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests import patience
from tests.fleet.records import (
    audit,
    connected_all,
    read_all,
    send_all,
    set_up,
    shipper,
    with_server,
    write_log,
    write_plain,
)
from tests.fleet.server import NatsServer

from hookline.fleet.health.heartbeat import CanaryResult, Facts
from hookline.fleet.names import MACHINES_BUCKET, ServerAddress
from hookline.fleet.nats.bucket import latest_values
from hookline.fleet.record.message import Arrival
from hookline.fleet.record.shipper import read_progress
from hookline.fleet.record.statement import RecordPlace, Source
from hookline.fleet.service import Service, ServiceThread
from hookline.log.paths import default_log_path
from hookline.log.read.verify import log_head
from hookline.log.write.chain import Link
from hookline.settings.decode.schema import FleetSettings

until = partial(patience.until, within_s=120.0)
pytestmark = [pytest.mark.fleet, pytest.mark.timeout(170)]
MANY = 100_000


def service_of(log: Path, *addresses: str) -> Service:
    fleet = FleetSettings(servers=addresses, machine="m1")
    return Service(
        log,
        fleet,
        facts=lambda: Facts(enabled=True),
        canary=lambda: CanaryResult(tried=1),
        notify=lambda _words: None,
    )


@contextmanager
def running(service: Service) -> Iterator[Service]:
    thread = ServiceThread(service)
    try:
        yield service
    finally:
        thread.stop()


def seqs_in(nats: NatsServer) -> list[int]:
    lines = (line for one in read_all(nats) if isinstance(one, Arrival) for line in one.lines)
    return [link.seq for line in lines if (link := Link.read(line)) is not None]


def test_a_hundred_thousand_records_while_the_server_is_killed_twice(nats: NatsServer, tmp_path: Path) -> None:
    """None is lost and none is there twice, while other programs write and rotate the log."""
    set_up(nats)
    log = tmp_path / "m" / "hooks.jsonl"

    def write() -> None:
        for _ in range(20):
            write_plain(log, MANY // 20, max_bytes=2_000_000, backups=100)

    writer = threading.Thread(target=write)
    service = service_of(log, nats.address)
    with running(service):
        writer.start()
        for part in (0.2, 0.6):
            until(lambda part=part: service.sent >= part * MANY)  # type: ignore[misc]
            nats.kill()
            time.sleep(1.0)
            nats.start()
        writer.join()
        until(lambda: service.sent == MANY)
    report = audit(read_all(nats)).sources[0]
    assert (report.records, report.first, report.findings, report.gaps) == (MANY, 1, [], [])
    assert report.last == log_head(log)
    assert sorted(seqs_in(nats)) == list(range(1, MANY + 1))  # not even copies


def test_a_service_that_is_killed_goes_on_where_it_ended(nats: NatsServer, own_home: Path) -> None:
    """A real `hookline fleet run`, ended by SIGKILL in the middle, and at last as systemd ends it."""
    set_up(nats)
    settings = own_home / ".llxprt" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(json.dumps({"hooksConfig": {"fleet": {"servers": [nats.address], "machine": "m1"}}}))
    log = default_log_path()
    write_plain(log, MANY // 2)
    command = [sys.executable, "-m", "hookline", "fleet", "run"]
    for part in (0.2, 0.5):
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as service:
            until(lambda part=part: read_progress(log).cursor.seq >= part * MANY / 2)  # type: ignore[misc]
            service.kill()
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as service:
        until(lambda: read_progress(log).cursor.seq == MANY // 2)
        service.terminate()
        assert service.wait(45) == 0
    report = audit(read_all(nats)).sources[0]
    assert (report.records, report.findings) == (MANY // 2, [])
    assert report.proven == log_head(log)


def test_a_frozen_server_holds_nothing_up_and_costs_nothing(nats: NatsServer, tmp_path: Path) -> None:
    set_up(nats)
    log = tmp_path / "m" / "hooks.jsonl"
    write_log(log, range(1, 11))
    service = service_of(log, nats.address)
    with running(service):
        until(lambda: service.sent == 10)
        nats.freeze()
        write_log(log, range(11, 21))
        time.sleep(7)  # longer than an answer may take
        assert service.sent == 10
        nats.thaw()
        until(lambda: service.sent == 20)
    assert sorted(seqs_in(nats)) == list(range(1, 21))
    assert with_server(nats, lambda client: latest_values(client, MACHINES_BUCKET))


def test_a_cluster_that_loses_a_node_keeps_the_record(cluster: list[NatsServer], tmp_path: Path) -> None:
    """Three copies: what was stored stays readable, and more can be stored, with one of them gone for good."""
    first = cluster[0]

    def is_set_up() -> bool:
        try:
            set_up(first, replicas=3)
        except Exception:  # noqa: BLE001 - it has not elected a leader yet
            return False
        return True

    until(is_set_up)
    log = tmp_path / "m" / "hooks.jsonl"
    write_log(log, range(1, 501))
    addresses = tuple(server.address for server in cluster)
    service = service_of(log, *addresses)
    with running(service):
        until(lambda: service.sent == 500)
        cluster[1].kill()
        write_log(log, range(501, 1001))
        until(lambda: service.sent == 1000)
    left = cluster[2]
    until(lambda: _has_all(left))
    read: list[Any] = []

    def is_read() -> bool:
        try:
            read[:] = read_all(left)
        except Exception:  # noqa: BLE001 - a busy machine elects leaders again
            return False
        return True

    until(is_read)
    report = audit(read).sources[0]
    assert (report.records, report.findings) == (1000, [])
    assert ServerAddress(addresses=addresses).shown.count("nats://") == 3


def _has_all(server: NatsServer) -> bool:
    try:
        return len(set(seqs_in(server))) == 1000
    except Exception:  # noqa: BLE001 - it elects a leader
        return False


def test_two_hundred_machines_send_at_once(nats: NatsServer, tmp_path: Path) -> None:
    """Tasks of one process, each with a separate log, key and connection."""
    set_up(nats)
    places = [RecordPlace("all", Source(f"m{number}", "u", "l")) for number in range(200)]
    senders = []
    for place in places:
        log = tmp_path / place.source.machine / "hooks.jsonl"
        write_log(log, range(1, 6))
        senders.append(shipper(log, place=place))
    asyncio.run(connected_all(nats, senders))
    done = audit(read_all(nats))
    assert done.is_intact
    assert [report.records for report in done.sources] == [5] * 200
    assert all(report.proven for report in done.sources)
    send_all(nats, senders[0])
