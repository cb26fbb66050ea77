"""Every change of the records is found, or `verify` reports that it could not check it."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.fleet.records import KEY, PLACE, findings, send_all, set_up, shipper, write_log
from tests.fleet.server import NatsServer

from hookline.apps.cli.main import main
from hookline.apps.cli.report.fleet import audit_lines
from hookline.fleet.health.status import judge
from hookline.fleet.keys import MachineKey, add_pins, machine_key, read_pins
from hookline.fleet.nats.bucket import Latest
from hookline.fleet.nats.jetstream import Stored
from hookline.fleet.record.backlog import Cursor, next_batch
from hookline.fleet.record.message import Arrival, Foreign, Stated, arrivals, messages_of
from hookline.fleet.record.mirror import Mirror
from hookline.fleet.record.statement import RecordPlace, Source, StatementKind, state
from hookline.fleet.record.verify import Audit, Window
from hookline.log.write.chain import Head, Link, link_lines

STRANGER = MachineKey(b"s" * 32)


def sent(log: Path, place: RecordPlace = PLACE, key: MachineKey = KEY, most: int = 1500) -> list[Stored]:
    """Return the messages of a log, with a signed head after each of them."""
    found: list[Stored] = []
    cursor = Cursor()
    while (batch := next_batch(log, cursor, most)) is not None:
        for body, headers in messages_of(batch, place, 10**6):
            found.append(Stored(place.audit, body, headers, len(found) + 1, 0.0))
        cursor = batch.end
        found.append(anchor(cursor.head, place, key))
    return found


def anchor(head: Head, place: RecordPlace = PLACE, key: MachineKey = KEY) -> Stored:
    """A signed head."""
    return Stored(place.anchor, key.sign(state(place, StatementKind.HEAD, head)), {}, 0, 0.0)


def read(messages: Sequence[Stored]) -> list[Arrival | Stated | Foreign]:
    """Return the content of the messages."""

    async def each() -> AsyncIterator[Stored]:
        for message in messages:
            yield message

    async def go() -> list[Arrival | Stated | Foreign]:
        return [found async for found in arrivals(each())]

    return asyncio.run(go())


def with_body(messages: list[Stored], index: int, change: Callable[[bytes], bytes]) -> list[Stored]:
    """The same with another body."""
    return [
        message._replace(data=change(message.data)) if number == index else message
        for number, message in enumerate(messages)
    ]


def hashed_anew(messages: list[Stored], change: Callable[[bytes], bytes]) -> list[Stored]:
    """Somebody who keeps the stream changes a record, and computes all hashes after it."""
    head, changed = Head(0, ""), list[Stored]()
    for message in messages:
        if not message.subject.startswith("hookline.audit"):
            changed.append(message)
            continue
        bodies = [change(re.sub(rb',"seq":.*', b"}\n", line)) for line in message.data.splitlines() if Link.read(line)]
        envelope = json.loads(message.headers["Hookline"]) | {"prev": head.hash}
        data, head = link_lines(bodies, head, names_prev=False)
        changed.append(message._replace(data=data, headers={**message.headers, "Hookline": json.dumps(envelope)}))
    return changed


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "machine" / "hooks.jsonl"
    write_log(path, range(1, 31))
    return path


def test_untouched_records_are_intact(log: Path) -> None:
    assert findings(read(sent(log))) == []


def replaced(line: bytes) -> bytes:
    return line.replace(b"event 8", b"event X")


@pytest.mark.parametrize(
    ("tamper", "words"),
    [
        pytest.param(
            lambda it: with_body(it, 2, replaced),
            "record 8, or the hash of the record before it, was changed",
            id="changed",
        ),
        pytest.param(
            lambda it: with_body(it, 2, lambda data: b"\n".join(data.split(b"\n")[:2] + data.split(b"\n")[3:])),
            "record 7 is missing before record 8",
            id="removed",
        ),
        pytest.param(lambda it: it[:2] + it[4:], "missing before record", id="removed-message"),
        pytest.param(
            lambda it: with_body(it, 2, lambda data: b'{"message":"invented"}\n' + data),
            "a record has no sequence number and hash: invented",
            id="invented",
        ),
        pytest.param(
            lambda it: [*it, it[-2]._replace(data=it[-2].data.replace(b"event 30", b"event XX"))],
            "a copy of record 30 was changed",
            id="changed-copy",
        ),
        pytest.param(lambda it: it[:-2] + it[-1:], "the end was cut off", id="end-cut-off"),
        pytest.param(
            lambda it: hashed_anew(it, replaced),
            "is not the one that the machine signed",
            id="changed-and-hashed-anew",
        ),
        pytest.param(
            lambda it: [*it, anchor(Head(999, "0" * 64), key=STRANGER)], "forged, another machine", id="forged-key"
        ),
        pytest.param(
            lambda it: [*it, it[1]._replace(data=it[1].data.replace(b'\\"seq\\":', b'\\"seq\\":1'))],
            "its signature is wrong",
            id="forged-signature",
        ),
        pytest.param(
            lambda it: [
                *it,
                it[0]._replace(headers={"Hookline": json.dumps({"machine": "m2", "user": "x", "log": "y"})}),
            ],
            "claims to be of 'm2'",
            id="another-machine's-name",
        ),
        pytest.param(lambda it: [*it, it[0]._replace(headers={})], "is not what a machine sends", id="foreign"),
        pytest.param(
            lambda it: [
                *it,
                anchor(Head(1, "0" * 64), RecordPlace("all", Source("m2", "ann", "l")))._replace(subject=PLACE.anchor),
            ],
            "stands among those of this machine",
            id="another-machine's-anchor",
        ),
    ],
)
def test_what_was_done_is_found(log: Path, tamper: Callable[[list[Stored]], list[Stored]], words: str) -> None:
    found = findings(read(tamper(sent(log))))
    assert any(words in finding for finding in found), found


def test_two_machines_with_one_name_are_found(log: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "hooks.jsonl"
    write_log(other, range(50, 70))
    found = findings(read([*sent(log), *sent(other, key=STRANGER)]))
    assert any("a second chain begins with record 1" in finding for finding in found)
    assert any("another machine has the same name" in finding for finding in found)


def test_an_invented_continuation_is_found_when_the_machine_goes_on(log: Path) -> None:
    """Anybody can compute hashes, so a chain alone would not show it."""
    messages = sent(log)
    last = Link.read(messages[-2].data.splitlines()[-1])
    assert last is not None
    invented, _ = link_lines([b'{"message":"invented"}\n'], Head(last.seq, last.hash), names_prev=False)
    envelope = json.loads(messages[-2].headers["Hookline"]) | {"prev": last.hash}
    forged = Stored(PLACE.audit, invented, {"Hookline": json.dumps(envelope)}, 0, 0.0)
    assert findings(read([*messages, forged])) == []  # it comes after the last signed head, and `verify` reports that
    write_log(log, range(31, 35))
    rest = sent(log)
    found = findings(read([*messages, forged, *rest[len(messages) - 2 :]]))
    assert any(
        "a second chain begins with record 31" in finding or "two different records" in finding for finding in found
    )


def test_a_gap_that_somebody_else_declares_is_a_finding(log: Path) -> None:
    messages = sent(log)
    first = Link.read(messages[2].data.splitlines()[0])
    last = Link.read(messages[2].data.splitlines()[-1])
    assert first is not None
    assert last is not None
    excuse = STRANGER.sign(state(PLACE, StatementKind.DROPPED, Head(last.seq, ""), first.seq))
    found = findings(read([*messages[:2], Stored(PLACE.anchor, excuse, {}, 0, 0.0), *messages[4:]]))
    assert any("forged" in finding for finding in found)
    assert any("missing before record" in finding for finding in found)


def test_a_key_that_was_seen_before_counts(log: Path) -> None:
    """Even if another key is the first that is read."""
    add_pins({PLACE.source.person: KEY.public})
    add_pins({PLACE.source.person: STRANGER.public, ("m2", "bob"): STRANGER.public})
    assert read_pins() == {PLACE.source.person: KEY.public, ("m2", "bob"): STRANGER.public}
    forged = [anchor(Head(1, "0" * 64), key=STRANGER), *sent(log)]
    assert any("forged" in finding for finding in findings(read(forged), keys=read_pins()))


def test_records_without_any_signature_are_said_to_be_so(log: Path) -> None:
    """The server's administrator can remove the heads and compute all hashes again."""
    bare = [message for message in hashed_anew(sent(log), replaced) if message.subject == PLACE.audit]
    audit = Audit(Window(), {})
    for found in read(bare):
        audit.add(found)
    done = audit.finish()
    assert done.is_intact
    shown = list(audit_lines(done, Window()))
    assert any("Intact by the hashes alone: nothing of 1 log is signed" in line for line in shown)
    known = findings(read(bare), keys={PLACE.source.person: KEY.public})
    assert any("signed no head of these records" in finding for finding in known)


def test_hostile_numbers_and_hashes_are_no_statement() -> None:
    data = KEY.sign(msgspec.structs.replace(state(PLACE, StatementKind.HEAD, Head(1, "x"))))
    (found,) = read([Stored(PLACE.anchor, data, {}, 0, 0.0)])
    assert isinstance(found, Foreign)


DEEP = "[" * 50_000 + "]" * 50_000
NAMED = '"machine": "m1", "user": "ann", "log": "log1"'


@pytest.mark.parametrize(
    ("subject", "data", "header"),
    [
        pytest.param("audit", f'{{"x":{DEEP},"seq":1,"hash":"{"a" * 64}"}}\n', f"{{{NAMED}}}", id="record"),
        pytest.param("audit", f'{{"x":{DEEP}}}\n', f"{{{NAMED}}}", id="line"),
        pytest.param("audit", "{}\n", f'{{{NAMED}, "x": {DEEP[:1500]}}}', id="header"),
        pytest.param("anchor", json.dumps({"statement": DEEP, "key": "", "signature": ""}), "", id="statement"),
    ],
)
def test_no_machine_can_keep_others_from_being_seen(tmp_path: Path, subject: str, data: str, header: str) -> None:
    """JSON that is nested too deeply is a finding, and ends neither the audit nor what events and stats read."""
    hostile = Stored(f"hookline.{subject}.all.m1", data.encode(), {"Hookline": header}, 0, time.time())
    found = read([hostile])
    assert findings(found)
    mirror = Mirror(tmp_path / "records.jsonl")
    for each in found:
        if isinstance(each, Arrival):
            mirror.add(each)
    mirror.close()
    assert judge([Latest("all.m1.ann", data.encode(), time.time())], keys={})[0].is_unguarded


def test_a_machine_can_t_hide_the_records_of_another(log: Path, tmp_path: Path) -> None:
    """By sending other records with their hashes first."""
    (first, *_) = (found for found in read(sent(log)) if isinstance(found, Arrival))
    lines = tuple(line.replace(b"event", b"bogus") for line in first.lines)
    file = tmp_path / "records.jsonl"
    mirror = Mirror(file)
    mirror.add(msgspec.structs.replace(first, source=Source("m2", "eve", "log1"), lines=lines))
    mirror.add(first)
    mirror.close()
    assert file.read_bytes().count(b'"m1"') == len(first.lines)


def test_the_key_is_private_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "state" / "machine.key"
    assert machine_key(path).public == machine_key(path).public
    assert path.stat().st_mode & 0o777 == 0o600


class Desk:
    """Somebody who answers for the records, with settings that name the server."""

    def __init__(self, home: Path, nats: NatsServer, capsys: pytest.CaptureFixture[str]) -> None:
        file = home / ".llxprt" / "settings.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"enableHooks": True, "hooksConfig": {"fleet": {"servers": [nats.address]}}}))
        self._capsys = capsys

    def run(self, *words: str, code: int = 0) -> str:
        """Run a command, and return its output."""
        self._capsys.readouterr()
        ended = main(words)
        printed = self._capsys.readouterr()
        assert ended == code, printed
        return printed.out

    def json(self, *words: str, code: int = 0) -> Any:
        """The same with --json."""
        return json.loads(self.run(*words, "--json", code=code))


@pytest.fixture
def desk(own_home: Path, nats: NatsServer, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(own_home, nats, capsys)


def test_the_command_says_what_it_checked_and_what_not(nats: NatsServer, desk: Desk, log: Path, tmp_path: Path) -> None:
    set_up(nats)
    send_all(nats, shipper(log, anchors=tmp_path / "heads"))
    shown = desk.run("fleet", "verify", "--machine", "m1")
    assert "Intact: no record was changed, removed or invented." in shown
    assert "30 records: 1 to 30" in shown
    assert "the machine signed record 30" in shown
    assert "Not checked: whether everything that happened was logged" in shown
    assert "is the machine's key" in shown
    assert "is the machine's key" not in desk.run("fleet", "verify", "--machine", "m1")  # pinned now
    report = desk.json("fleet", "verify", "--since", "1h", "--anchors", str(tmp_path / "heads"))
    assert report["machines"][0]["inWindow"] == 30
    assert report["machines"][0]["anchors"] == 2
    desk.run("fleet", "verify", "--machine", "m9", code=1)


def test_the_command_finds_a_forged_record_in_the_stream(nats: NatsServer, desk: Desk, log: Path) -> None:
    set_up(nats)
    send_all(nats, shipper(log))
    log.write_bytes(log.read_bytes().replace(b"event 8", b"event X"))
    send_all(nats, shipper(log))  # nothing new
    log.with_name("hooks.jsonl.sent").unlink()
    send_all(nats, shipper(log))
    shown = desk.run("fleet", "verify", code=1)
    assert "a copy of record 8 was changed" in shown
    assert "Not intact" in shown


def test_a_log_file_is_checked_against_anchors_kept_elsewhere(
    desk: Desk, nats: NatsServer, log: Path, tmp_path: Path
) -> None:
    set_up(nats)
    heads = tmp_path / "heads"
    heads.mkdir()
    send_all(nats, shipper(log, anchors=heads))
    (file,) = heads.iterdir()
    words = ("fleet", "verify", "--source", str(log), "--anchors")
    assert "Intact" in desk.run(*words, str(file))
    assert "Intact" in desk.run(*words, str(heads))
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:-1]))
    cut = desk.run(*words, str(file), code=1)
    assert cut.startswith(f"{log}\n")
    assert "\n  the machine signed record" in cut
    assert "the end was cut off" in cut
    assert "Not checked: whether all hashes were recomputed: no record that the machine signed is here" in cut
    assert "no signed head is there" not in cut
    keys = tmp_path / "keys"
    keys.write_text(f"# ours\nm1 ann {STRANGER.public}\n")
    log.write_bytes(b"".join(lines))
    assert "is forged" in desk.run(*words, str(file), "--keys", str(keys), code=1)
