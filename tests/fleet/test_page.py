"""The page over a fleet: the same page, with the records and machines of all."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.apps.ui.conftest import HOST, PORT, TOKEN, Page, make_config
from tests.fleet.company import Company, Machine, agents_off, settings
from tests.fleet.records import KEY, PLACE, event, say, send_all, set_up, shipper, write_log, write_trial
from tests.fleet.server import NatsServer

from hookline.apps.cli.main import main
from hookline.apps.ui.app import make_app
from hookline.apps.ui.fleet_backend import FleetBackend
from hookline.fleet.health.heartbeat import Facts, Heartbeat, HookStatus
from hookline.fleet.names import AUDIT_STREAM
from hookline.fleet.query import FleetSelection, mirrored, read_machines
from hookline.fleet.record.backlog import Cursor, next_batch
from hookline.fleet.record.message import Arrival
from hookline.fleet.record.mirror import Mirror
from hookline.fleet.record.statement import RecordPlace, Source
from hookline.log.paths import log_path
from hookline.log.write.sink import FileSink
from hookline.settings.decode.schema import FleetSettings

SHADOW = ["fleet", "events", "--stats", "--shadow"]
HOSTILE = "\x1b[2Jpwned\u202e<img src=x onerror=alert(1)>"


@pytest.fixture
def page(nats: NatsServer, tmp_path: Path) -> Iterator[Page]:
    """Two machines with records, one of which has shown life and says hostile things."""
    set_up(nats)
    for name in ("m1", "m2"):
        log = tmp_path / name / "hooks.jsonl"
        write_log(log, range(1, 4))
        send_all(nats, shipper(log, place=RecordPlace("all", Source(name, "ann", "l"))))
    hook = HookStatus(event="BeforeTool", name=HOSTILE, source="user", state=HOSTILE)
    beat = Heartbeat(team="all", machine="m1", user="ann", hookline="1", facts=Facts(enabled=True, hooks=(hook,)))
    say(nats, beat.key, KEY.sign(beat))
    fleet = FleetSettings(servers=(nats.address,))
    selection = FleetSelection(AUDIT_STREAM)
    with mirrored(fleet, selection, follows=True) as log:
        backend = FleetBackend(log, make_config(tmp_path), fleet, partial(read_machines, fleet, selection))
        app, live = make_app(backend, token=TOKEN, port=PORT)
        try:
            yield Page(backend, tmp_path, app)
        finally:
            live.close()


def test_the_page_has_records_and_machines(page: Page) -> None:
    rows = page.get("/api/rows").json["rows"]
    assert {(row["machine"], row["message"]) for row in rows} == {
        (machine, f"event {number}") for machine in ("m1", "m2") for number in (1, 2, 3)
    }
    (machine,) = page.get("/api/machines").json["machines"]
    assert (machine["machine"], machine["hooks"], machine["running"]) == ("m1", 1, 0)
    assert any("does not run" in problem for problem in machine["problems"])
    assert page.get("/api/settings").json["fleet"] is True


def test_its_security_is_that_of_the_page(page: Page) -> None:
    assert page.get("/api/machines", cookie=None).status in (401, 403)
    assert page.get("/api/machines", host="evil.example").status in (400, 403, 421)
    assert page.get("/api/machines", host=HOST).status == 200


def test_nothing_can_be_changed_there(page: Page) -> None:
    fire = page.get("/api/rows").json["rows"][0]["fire"]
    assert "nothing can be replayed" in page.post(f"/api/events/{fire}/replay").json["error"]
    assert "nothing can be switched" in page.post("/api/hooks/switch", {"hook": "x", "enabled": False}).json["error"]


def lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_machine_can_t_write_into_the_story_of_another(tmp_path: Path) -> None:
    """The ids of a record are marked with the machine that sent it."""
    file = tmp_path / "copy.jsonl"
    mirror = Mirror(file)
    record = b'{"machine":"m2","user":"root","fire":"f1","id":"f1-0","session":"s","message":"x"}'
    for machine in ("m1", "m2"):
        source = Source(machine, "ann", "l")
        mirror.add(Arrival(team="all", source=source, prev="", lines=(record, b"[1]", b"{"), seconds=0.0))
    mirror.close()
    one, two = lines(file)
    assert (one["machine"], one["user"], one["session"]) == ("m1", "ann", "m1/s")
    assert one["fire"] != two["fire"]


@pytest.mark.req("CLAIM-003")
def test_a_denial_by_the_kill_switch_is_shown(own_home: Path, project: Path, tmp_path: Path) -> None:
    """As an event that the switch decided, on its machine; also by the filter for what was denied."""
    del own_home
    company = Company(tmp_path)
    company.gives_settings(settings("exit 0"))
    company.gives(company.switches(agents_off("incident 7")))
    machine = Machine(project)
    assert machine.fires().blocked
    machine.close()
    batch = next_batch(log_path(None), Cursor(), 2**20)
    assert batch is not None
    copy = tmp_path / "copy.jsonl"
    mirror = Mirror(copy)
    lines_sent = tuple(batch.lines.splitlines())
    mirror.add(Arrival(team="all", source=Source("m1", "ann", "l"), prev="", lines=lines_sent, seconds=0.0))
    mirror.close()
    backend = FleetBackend(copy, make_config(tmp_path), FleetSettings(), list)
    app, live = make_app(backend, token=TOKEN, port=PORT)
    page = Page(backend, tmp_path, app)
    try:
        for query in ("", "?decision=blocked", "?show=all&decision=blocked"):
            (row,) = page.get(f"/api/rows{query}").json["rows"]
            assert (row["machine"], row["outcome"], row["decider"]) == ("m1", "blocked", "switch")
            assert "incident 7" in row["message"]
        whole = page.get(f"/api/events/{row['fire']}")
        assert (whole.status, b"incident 7" in whole.body) == (200, True)
        (session,) = page.get("/api/sessions").json
        assert (session["runs"], session["blocks"]) == (0, 1)
        assert b"incident 7" in page.get(f"/api/session?id={session['session']}").body
    finally:
        live.close()


def test_a_copy_is_bounded_and_has_each_record_once(tmp_path: Path) -> None:
    log, file = tmp_path / "hooks.jsonl", tmp_path / "copy.jsonl"
    write_log(log, range(1, 4))
    arrival = Arrival(team="all", source=PLACE.source, prev="", lines=tuple(log.read_bytes().splitlines()), seconds=0.0)
    mirror = Mirror(file)
    mirror.add(arrival)
    mirror.add(arrival)
    mirror.close()
    assert [line["message"] for line in lines(file)] == ["event 1", "event 2", "event 3"]
    small = Mirror(tmp_path / "small.jsonl", most_bytes=10)
    small.add(arrival)
    small.close()
    assert small.is_full


@pytest.mark.fleet
def test_hooks_on_trial_are_counted_over_all_machines(
    nats: NatsServer, own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By user and machine; the same call on two machines is not a repetition."""
    set_up(nats)
    settings = own_home / ".llxprt" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(json.dumps({"hooksConfig": {"fleet": {"servers": [nats.address]}}}))
    for machine, user, times in (("m1", "ann", 2), ("m2", "bert", 1)):
        log = tmp_path / machine / "hooks.jsonl"
        for number in range(times):
            write_trial(log, number=number)
        send_all(nats, shipper(log, place=RecordPlace("all", Source(machine, user, "l"))))
    assert main([*SHADOW, "--json"]) == 0
    (tried,) = json.loads(capsys.readouterr().out)["trials"]
    assert (tried["runs"], tried["wouldBlock"], tried["machines"], tried["repeated"]) == (3, 3, 2, 1)
    assert tried["people"] == {"ann at m1": 2, "bert at m2": 1}
    assert main([*SHADOW, "--machine", "m2"]) == 0
    assert "1 run on 1 machine" in capsys.readouterr().out


def test_what_a_machine_says_is_printed_as_foreign_text(
    nats: NatsServer, own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    set_up(nats)
    settings = own_home / ".llxprt" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(json.dumps({"enableHooks": True, "hooksConfig": {"fleet": {"servers": [nats.address]}}}))
    log = tmp_path / "m" / "hooks.jsonl"
    sink = FileSink(log)
    sink.write_now(msgspec.structs.replace(event(1), message=HOSTILE, subject=HOSTILE, session=HOSTILE))
    sink.close()
    write_trial(log, HOSTILE)
    send_all(nats, shipper(log, place=RecordPlace(HOSTILE, Source(HOSTILE, HOSTILE, HOSTILE))))
    hook = HookStatus(event=HOSTILE, name=HOSTILE, source="user", state=HOSTILE)
    facts = Facts(enabled=True, hooks=(hook,), policy_problem=HOSTILE, problems=(HOSTILE,))
    beat = Heartbeat(team=HOSTILE, machine=HOSTILE, user=HOSTILE, hookline=HOSTILE, facts=facts)
    say(nats, beat.key, KEY.sign(beat))
    for words in (
        ["fleet", "events"],
        ["fleet", "status"],
        ["fleet", "events", "--stats"],
        SHADOW,
        ["fleet", "verify"],
    ):
        for form in (words, [*words, "--json"]):
            main(form)
            shown = capsys.readouterr()
            assert not {"\x1b", "\u202e"} & set(shown.out + shown.err), form
            assert "pwned" in shown.out or "stats" in form
