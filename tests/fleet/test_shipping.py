"""From the log to the stream: all records, in order, each once, whatever ends in between."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.fleet.records import (
    KEY,
    PLACE,
    audit,
    event,
    findings,
    forget_sent,
    raw,
    read_all,
    send_all,
    set_up,
    shipper,
    with_server,
    write_log,
)
from tests.fleet.server import NatsServer, find_program

from hookline.errors import HooklineError
from hookline.fleet.names import AUDIT_SUBJECTS, UnreachableError
from hookline.fleet.nats.connection import close, connect
from hookline.fleet.nats.jetstream import make_stream
from hookline.fleet.record.backlog import Cursor, next_batch, waiting_bytes
from hookline.fleet.record.message import Arrival, Stated
from hookline.fleet.record.shipper import only_shipper, read_progress
from hookline.fleet.record.statement import StatementKind
from hookline.log.read.verify import log_head
from hookline.log.write.chain import Link
from hookline.log.write.sink import FileSink


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A machine's log."""
    return tmp_path / "machine" / "hooks.jsonl"


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines()


def test_the_stream_has_the_lines_of_the_log_as_they_are(nats: NatsServer, log: Path) -> None:
    """Byte for byte, with number and hash, so that the chain can be checked there."""
    set_up(nats)
    write_log(log, range(1, 31))
    sender = shipper(log, most_bytes=2000)
    send_all(nats, sender)
    found = [one for one in read_all(nats) if isinstance(one, Arrival)]
    assert [line for one in found for line in one.lines] == lines_of(log)
    assert len(found) > 3
    assert {one.source for one in found} == {PLACE.source}
    assert sender.progress.cursor.head == log_head(log)


def test_records_that_come_later_are_sent_from_where_it_ended(nats: NatsServer, log: Path) -> None:
    set_up(nats)
    write_log(log, range(1, 6))
    send_all(nats, shipper(log))
    write_log(log, range(6, 9))
    send_all(nats, shipper(log))
    report = audit(read_all(nats)).sources[0]
    assert (report.records, report.again, report.findings, report.anchors) == (8, 0, [], 2)


def test_a_lost_cursor_costs_copies_that_are_known_by_their_hash(nats: NatsServer, log: Path) -> None:
    set_up(nats)
    write_log(log, range(1, 6))
    send_all(nats, shipper(log))
    write_log(log, range(6, 9))
    forget_sent(log)
    send_all(nats, shipper(log))
    report = audit(read_all(nats)).sources[0]
    assert (report.records, report.again, report.findings) == (8, 5, [])


def test_a_rotated_log_is_sent_whole(nats: NatsServer, log: Path) -> None:
    set_up(nats)
    for start in range(1, 60, 3):
        write_log(log, range(start, start + 3), max_bytes=2000, backups=50)
    assert log.with_name("hooks.jsonl.3").exists()
    send_all(nats, shipper(log))
    report = audit(read_all(nats)).sources[0]
    assert (report.records, report.first, report.findings) == (60, 1, [])


def test_what_the_bound_removed_is_counted_in_the_stream(nats: NatsServer, log: Path) -> None:
    """A signed statement names the records, and the check names the gap."""
    set_up(nats)
    write_log(log, range(1, 3), max_bytes=1000, backups=2)
    send_all(nats, shipper(log))
    for start in range(3, 60, 3):
        write_log(log, range(start, start + 3), max_bytes=1000, backups=2)
    sender = shipper(log)
    send_all(nats, sender)
    found = read_all(nats)
    (dropped,) = [
        one.statement for one in found if isinstance(one, Stated) and one.statement.kind is StatementKind.DROPPED
    ]
    report = audit(found).sources[0]
    assert [(gap.first, gap.last) for gap in report.gaps] == [(dropped.first, dropped.seq)]
    assert dropped.first == 3
    assert sender.progress.dropped == dropped.seq - 2
    assert report.findings == []
    assert report.last is not None
    assert report.records == report.last.seq - (dropped.seq - 2)


def test_a_line_longer_than_a_message_comes_whole(nats: NatsServer, log: Path) -> None:
    set_up(nats)
    sink = FileSink(log)
    sink.write_now(event(1), msgspec.structs.replace(event(2), reason="ä" * 9000), event(3))
    sink.close()
    send_all(nats, shipper(log, most_bytes=1024))
    lines = [line for one in read_all(nats) if isinstance(one, Arrival) for line in one.lines]
    assert lines == lines_of(log)
    assert len(raw(nats)) > 10
    assert findings(read_all(nats)) == []


def test_a_log_that_was_removed_is_a_finding(nats: NatsServer, log: Path) -> None:
    set_up(nats)
    write_log(log, range(1, 6))
    send_all(nats, shipper(log))
    log.unlink()
    write_log(log, range(1, 4))
    send_all(nats, shipper(log))
    (finding,) = findings(read_all(nats))
    assert "a second chain begins with record 1" in finding
    assert "the log on the machine was removed or replaced" in finding


def test_nothing_is_lost_while_the_server_is_gone(nats: NatsServer, log: Path) -> None:
    """Killed, then frozen: sending fails within a bound, the log grows, and later everything arrives once."""
    set_up(nats)
    sender = shipper(log)

    async def go() -> None:
        client = await connect(nats.server, "test")
        try:
            write_log(log, range(1, 11))
            nats.kill()
            with pytest.raises(UnreachableError):
                await sender.ship(client)
            write_log(log, range(11, 21))
            nats.start()
        finally:
            await close(client)

    asyncio.run(go())
    send_all(nats, sender)
    report = audit(read_all(nats)).sources[0]
    assert (report.records, report.again, report.findings) == (20, 0, [])


def test_heads_are_appended_to_the_anchors(nats: NatsServer, log: Path, tmp_path: Path) -> None:
    """One line for each head. If they can't be written, that is reported, and sending continues."""
    set_up(nats)
    heads = tmp_path / "heads"
    heads.mkdir()
    for number in (1, 2):
        write_log(log, range(number, number + 1))
        send_all(nats, shipper(log, anchors=heads))
    assert len((heads / "m1.ann.anchors").read_bytes().splitlines()) == 2
    notes: list[str] = []
    write_log(log, range(3, 4))
    send_all(nats, shipper(log, anchors=tmp_path / "no" / "such" / "place", notify=notes.append))
    assert "the anchors can't be written" in notes[0]


def test_only_one_sends_a_log(log: Path) -> None:
    with only_shipper(log), pytest.raises(HooklineError, match="another process"), only_shipper(log):
        pass
    with only_shipper(log):
        pass


def test_a_damaged_cursor_is_no_cursor(log: Path) -> None:
    write_log(log, range(1, 3))
    log.with_name("hooks.jsonl.sent").write_text("{")
    assert read_progress(log).cursor == Cursor()


def test_a_cursor_that_can_not_be_written_is_said_and_nothing_is_lost(nats: NatsServer, log: Path) -> None:
    """A full disk, or something else of that name: with the file, and all is sent when it can be written again."""
    set_up(nats)
    write_log(log, range(1, 4))
    place = log.with_name("hooks.jsonl.sent")
    place.mkdir()
    with pytest.raises(HooklineError, match="which says how far the log was sent, can't be written"):
        send_all(nats, shipper(log))
    place.rmdir()
    send_all(nats, shipper(log))
    found = [line for one in read_all(nats) if isinstance(one, Arrival) for line in one.lines]
    assert list(dict.fromkeys(found)) == lines_of(log)  # they may come more than once


def test_a_file_of_the_same_number_is_not_taken_for_the_sent_one(tmp_path: Path) -> None:
    """Systems give the number of a removed file to a new one: its content decides."""
    log = tmp_path / "hooks.jsonl"
    write_log(log, range(1, 6))
    batch = next_batch(log, Cursor(), 10**6)
    assert batch is not None
    data = log.read_bytes()
    with log.open("wb") as file:
        file.write(b"")
    write_log(log, range(100, 109))
    again = next_batch(log, batch.end, 10**6)
    assert again is not None
    assert again.is_new_chain
    log.write_bytes(data)
    assert next_batch(log, batch.end, 10**6) is None


def test_batches_are_whole_lines_in_order(tmp_path: Path) -> None:
    log = tmp_path / "hooks.jsonl"
    write_log(log, range(1, 21))
    cursor, seqs = Cursor(), list[int]()
    while (batch := next_batch(log, cursor, 700)) is not None:
        links = [Link.read(line) for line in batch.lines.splitlines()]
        seqs += [link.seq for link in links if link is not None]
        cursor = batch.end
        assert waiting_bytes(log, cursor) == log.stat().st_size - cursor.offset
    assert seqs == list(range(1, 21))


def test_what_waits_is_in_all_files_behind_the_cursor(log: Path) -> None:
    write_log(log, range(1, 21), max_bytes=2000, backups=50)
    batch = next_batch(log, Cursor(), 1)
    assert batch is not None
    whole = sum(file.stat().st_size for file in log.parent.glob(f"{log.name}*") if file.suffix != ".lock")
    assert waiting_bytes(log, batch.end) == whole - len(batch.lines)
    assert waiting_bytes(log, Cursor(seq=99, hash="x", inode=1, offset=5)) == whole


def test_without_a_stream_the_message_says_what_to_do(nats: NatsServer, log: Path) -> None:
    write_log(log, range(1, 3))
    with pytest.raises(UnreachableError, match="hookline fleet run --setup"):
        send_all(nats, shipper(log, key=KEY))


def test_a_stream_for_all_beside_that_of_a_team_is_refused(nats: NatsServer) -> None:
    """Their subjects would overlap."""

    async def make(client: Any) -> None:
        for name, subjects in (("payments", ["hookline.audit.payments.>"]), ("all", AUDIT_SUBJECTS)):
            await make_stream(client, name, subjects, num_replicas=1, max_age=3600, max_bytes=-1)

    with pytest.raises(UnreachableError, match="records are in one stream for all teams, or in one for each"):
        with_server(nats, make)


@pytest.mark.skipif(find_program() is None, reason="no nats-server here: `make setup` installs it")
def test_a_server_without_jetstream_is_named(tmp_path: Path) -> None:
    """With the command that starts it properly."""
    plain = NatsServer(tmp_path / "plain", config="jetstream: disabled\n")
    plain.start()
    try:
        with pytest.raises(UnreachableError, match="the server has no JetStream; start it with: nats-server -js"):
            set_up(plain)
    finally:
        plain.end()
