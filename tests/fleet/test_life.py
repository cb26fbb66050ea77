"""Whether machines live, and whether their guards run."""

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.fleet.company import Company, Machine
from tests.fleet.records import KEY, event, read_all, set_up, with_server, write_log
from tests.fleet.server import NatsServer
from tests.patience import until

from hookline.apps.cli.commands.serve import fleet_thread
from hookline.apps.cli.main import main
from hookline.fleet.health.heartbeat import (
    MOST_HOOKS,
    BridgeStatus,
    CanaryResult,
    Facts,
    Heartbeat,
    HookStatus,
    read_canary,
    try_canaries,
)
from hookline.fleet.health.status import MachineStatus, judge
from hookline.fleet.keys import MachineKey
from hookline.fleet.names import AUDIT_STREAM, AUDIT_SUBJECTS
from hookline.fleet.nats.bucket import Bucket, Latest, set_value
from hookline.fleet.nats.jetstream import make_stream
from hookline.fleet.policy.bucket import publish
from hookline.fleet.record.message import Arrival, Stated
from hookline.fleet.record.shipper import is_sent
from hookline.fleet.service import Service, ServiceThread
from hookline.inspect.machine import machine_service, read_facts
from hookline.log.paths import default_log_path
from hookline.log.read.entry import LogQuery
from hookline.log.read.reader import LogReader
from hookline.log.write.sink import FileSink
from hookline.protocol.constants import ConfigSource
from hookline.protocol.text.readable import show_size
from hookline.settings.decode.schema import CanarySettings, FleetSettings, HooksConfigSettings, LogSettings
from hookline.settings.decode.settings import decode_settings
from hookline.settings.read.files import Layer

GUARD = """case "$(cat)" in *"rm -rf"*) echo 'no rm here' >&2; exit 2;; esac"""
HOOK = HookStatus(event="BeforeTool", name="guard", source="user", state="on", last_run="2026-01-01T00:00:00.000Z")
GOOD = Facts(enabled=True, policy=7, hooks=(HOOK,))


def beat(facts: Facts = GOOD, **more: Any) -> Heartbeat:
    usual = {"team": "all", "machine": "m1", "user": "ann", "hookline": "1", "canary": CanaryResult(tried=1)}
    return Heartbeat(**{**usual, "facts": facts, **more})


def value(said: Heartbeat, *, key: MachineKey = KEY, age_s: float = 0.0, at: str | None = None) -> Latest:
    return Latest(at or said.key, key.sign(said), time.time() - age_s)


def status_of(*values: Latest, **options: Any) -> MachineStatus:
    return judge(values, **{"keys": {}, **options})[0]


def write_settings(home: Path, servers: list[str], **fleet: Any) -> None:
    hook = {"type": "command", "name": "guard", "command": GUARD}
    settings = {
        "enableHooks": True,
        "hooks": {"BeforeTool": [{"hooks": [hook]}]},
        "hooksConfig": {"fleet": {"servers": servers, "machine": "m1", **fleet}},
    }
    file = home / ".llxprt" / "settings.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(settings))


def test_a_machine_in_order_has_no_problem() -> None:
    denied = CanaryResult(tried=2)
    assert status_of(value(beat(canary=denied))).problems == []


def with_facts(**changes: Any) -> Latest:
    """The heartbeat of a machine in order, but for these facts."""
    return value(beat(msgspec.structs.replace(GOOD, **changes)))


def with_hook(**changes: Any) -> Latest:
    """The same with one changed hook."""
    return with_facts(hooks=(msgspec.structs.replace(HOOK, **changes),))


def with_canary(**changes: Any) -> Latest:
    """The same with another result of the canaries."""
    return value(beat(canary=CanaryResult(tried=1, **changes)))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        pytest.param(value(beat(), age_s=4000), "silent for 1 h", id="silent"),
        pytest.param(value(beat(is_leaving=True)), "its service was ended", id="ended"),
        pytest.param(with_facts(policy=6), "version 6 of the policy", id="out-of-date"),
        pytest.param(with_facts(enabled=False), "hooks are disabled", id="disabled"),
        pytest.param(with_facts(logged=False), "log is disabled", id="no-log"),
        pytest.param(with_hook(state="changed"), "BeforeTool guard does not run: changed", id="untrusted"),
        pytest.param(with_hook(problem="no sh"), "does not run: no sh", id="unable"),
        pytest.param(
            with_facts(bridges=(BridgeStatus(agent="claude", configured=False, problem="not found"),)),
            "the bridge of claude: not found",
            id="bridge",
        ),
        pytest.param(with_canary(missed=("rm",)), "canary: rm", id="canary"),
        pytest.param(value(beat(canary=None)), "canary: none was tried yet", id="no-canary"),
        pytest.param(with_canary(time="2026-01-01T00:00:00.000Z"), "older than two days", id="old-canary"),
        pytest.param(with_canary(time="2999-01-01T00:00:00.000Z"), "or a clock was wrong", id="canary-of-the-future"),
        pytest.param(value(beat(time="2026-01-01T00:00:00.000Z")), "or an old heartbeat was sent again", id="replayed"),
        pytest.param(value(beat(time="9000-01-01T00:00:00.000Z")), "ahead of the server's", id="clock-ahead"),
        pytest.param(value(beat(time="soon")), "behind the server's", id="no-time"),
        pytest.param(value(beat(every_s=86_400.0), age_s=7200.0), "silent for 2 h", id="seldom"),
        pytest.param(value(beat(dropped=5)), "5 of its records were dropped", id="dropped"),
        pytest.param(value(beat(), at="all.m2.ann"), "or is another machine's", id="another-machine's"),
        pytest.param(Latest("all.m1.ann", b"{}", time.time()), "can't be read", id="unreadable"),
        pytest.param(
            value(beat())._replace(data=value(beat()).data.replace(b"guard", b"guart")), "forged", id="forged"
        ),
    ],
)
def test_what_is_wrong_is_said(said: Latest, words: str) -> None:
    found = judge([said, value(beat(machine="m9"))], keys={}, now=time.time())
    problems = [problem for status in found for problem in status.problems]
    assert any(words in problem for problem in problems), problems


def test_another_key_than_before_is_a_problem() -> None:
    found = status_of(value(beat()), keys={("m1", "ann"): "0" * 64})
    assert any("its key is another than before" in problem for problem in found.problems)


def test_a_machine_that_was_never_seen_is_listed() -> None:
    found = judge([value(beat())], keys={}, expected=["m1", "m2"])
    assert [(status.machine, status.problems) for status in found] == [("m1", []), ("m2", ["was never seen"])]


def test_a_machine_whose_key_is_listed_and_that_says_nothing_is_shown() -> None:
    """Somebody may have removed its heartbeat from the bucket."""
    found = judge([value(beat())], keys={}, listed=[("m1", "ann"), ("m1", "bob"), ("m2", "ann")])
    assert [(one.machine, one.user) for one in found if one.is_silent] == [("m1", "bob"), ("m2", "ann")]


def test_a_machine_can_t_make_others_look_out_of_date() -> None:
    """Where it is known what was published, no machine's own word counts."""
    liar = value(beat(msgspec.structs.replace(GOOD, policy=10**6), machine="liar"))
    found = judge([value(beat()), liar], keys={}, newest={"all": 7})
    assert not any(one.is_outdated for one in found)


def test_hooks_that_a_person_disabled_are_no_problem_unless_required() -> None:
    off = msgspec.structs.replace(HOOK, state="disabled")
    assert status_of(value(beat(msgspec.structs.replace(GOOD, hooks=(off,))))).problems == []
    off = msgspec.structs.replace(off, required=True)
    assert status_of(value(beat(msgspec.structs.replace(GOOD, hooks=(off,))))).is_unguarded


def test_a_canary_that_is_asked_about_is_not_denied(own_home: Path) -> None:
    """A guard that only asks denies nothing, though no user can answer here."""
    write_settings(own_home, [])
    file = own_home / ".llxprt" / "settings.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "use": ["hookline:shell"]}))
    asked = CanarySettings(tool="run_shell_command", input={"command": "env"})
    assert try_canaries(own_home, [asked]).missed == ('nothing denies run_shell_command {"command":"env"}',)


def test_canaries_go_the_way_of_every_event(own_home: Path) -> None:
    """The guard of the moment denies one, and the machine's own guards those that the settings name."""
    write_settings(own_home, [])
    dangerous = CanarySettings(tool="run_shell_command", input={"command": "rm -rf /"})
    harmless = CanarySettings(tool="run_shell_command", input={"command": "ls"})
    word = try_canaries(own_home, [dangerous])
    assert (word.tried, word.missed) == (2, ())
    assert try_canaries(own_home, [harmless]).missed == ('nothing denies run_shell_command {"command":"ls"}',)
    with LogReader(default_log_path()) as reader:
        assert reader.statistics(LogQuery()).hooks == {}  # they are not real runs
        assert len(list(reader.entries(LogQuery(kinds=frozenset({"hook"}))))) >= 4


def test_canaries_of_a_machine_without_hooks_are_missed(own_home: Path) -> None:
    (own_home / ".llxprt").mkdir(parents=True, exist_ok=True)
    word = try_canaries(own_home, [])
    assert word.missed[0] == "hooks are disabled here"


def test_a_machine_knows_itself(own_home: Path) -> None:
    write_settings(own_home, [])
    facts = read_facts()
    (hook,) = facts.hooks
    assert (hook.name, hook.state, hook.can_run, hook.last_run) == ("guard", "on", True, None)
    assert facts.enabled
    assert facts.logged


@pytest.mark.attack("30.D4", "a guard that can't run behind hundreds of disabled hooks and a dozen warnings")
def test_a_machine_reports_what_is_wrong_first(own_home: Path) -> None:
    """A heartbeat has room for 200 hooks and ten problems: those that hide a missing guard must be among them."""
    write_settings(own_home, [])
    file = own_home / ".llxprt" / "settings.json"
    settings = json.loads(file.read_text())
    disabled = [{"type": "command", "name": f"d{number}", "command": "exit 0"} for number in range(MOST_HOOKS + 50)]
    missing = {"type": "command", "name": "missing", "command": "/no/such/guard"}
    wrong = [{"type": "command"}]
    settings["hooks"]["BeforeTool"] += [{"hooks": [*disabled, missing]}, {"hooks": wrong}]
    settings["hooksConfig"] |= {f"unknown{number}": 1 for number in range(12)}
    settings["hooksConfig"]["disabled"] = [hook["name"] for hook in disabled]
    file.write_text(json.dumps(settings))
    problems = status_of(value(beat(read_facts()))).problems
    assert any("BeforeTool missing does not run" in problem for problem in problems), problems
    assert any("settings: " in problem and "command" in problem for problem in problems), problems


def broken_guards(home: Path) -> dict[str, dict[str, Any]]:
    """Guards that can't run, by what their machine has to say of them."""
    (home / "plain.sh").write_text("exit 2\n")
    (home / "odd.sh").write_text("#!/no/such/interpreter\n")
    (home / "odd.sh").chmod(0o755)
    (home / "split.sh").write_text("#!/usr/bin/env -S no-such-interpreter -x\n")
    (home / "split.sh").chmod(0o755)
    (home / "folder").mkdir()
    return {
        "gone.sh, which does not exist": {"command": "~/gone.sh"},
        "gone.py, which does not exist": {"command": "python3 ~/gone.py"},
        "by.sh, which does not exist": {"command": 'sh "$HOME/by.sh" || exit 2'},
        "plain.sh, which is not executable": {"command": "~/plain.sh"},
        "asks for /no/such/interpreter": {"command": "~/odd.sh"},
        "no-such-program, which is neither on PATH": {"command": "no-such-program --x"},
        "cannot be parsed by": {"command": "echo 'x"},
        "piped.sh, which does not exist": {"command": "cat | ~/piped.sh"},
        "inner.sh, which does not exist": {"command": "(~/inner.sh)"},
        "read.sh, which does not exist": {"command": ". ~/read.sh"},
        "given.sh, which does not exist": {"command": "bash -c '~/given.sh --strict'"},
        "asks for no-such-interpreter": {"command": "~/split.sh"},
        "folder, which is a directory": {"command": "sh ~/folder"},
        "no-such-wrapped, which is neither on PATH": {"command": "nohup no-such-wrapped"},
        "/no/such/place, which is not a directory": {"command": "cd /no/such/place && ./guard.sh"},
        "no-such-group, which is neither on PATH": {"command": "{ no-such-group; }"},
        "no-such-filter, which is neither on PATH": {"command": "cat | no-such-filter -e .x && exit 2"},
    }


@pytest.mark.parametrize(("required", "part"), [(False, slice(8)), (True, slice(8)), (False, slice(8, None))])
def test_guards_that_can_not_run_are_listed_with_the_reason(
    nats: NatsServer, own_home: Path, capsys: pytest.CaptureFixture[str], required: bool, part: slice
) -> None:
    """The machine tests them where they run; `fleet status`, `doctor`, `list` and the heartbeat agree."""
    set_up(nats)
    write_settings(own_home, [nats.address])
    file = own_home / ".llxprt" / "settings.json"
    settings = json.loads(file.read_text())
    guards = dict(list(broken_guards(own_home).items())[part])
    hooks = [
        {"type": "command", "name": f"g{number}", "required": required, **guard}
        for number, guard in enumerate(guards.values())
    ]
    settings["hooks"] = {"BeforeTool": [*settings["hooks"]["BeforeTool"], {"matcher": "none", "hooks": hooks}]}
    file.write_text(json.dumps(settings))
    assert main(["fleet", "run", "--once"]) == 0
    capsys.readouterr()
    assert main(["fleet", "status"]) == 1
    shown = capsys.readouterr().out
    assert f"{len(guards) + 1} hooks, 1 can run" in shown
    assert " ok" not in shown
    for number, why in enumerate(guards):
        assert any(f"BeforeTool g{number} does not run: " in line and why in line for line in shown.splitlines()), why
    assert main(["doctor"]) == 1
    doctor = capsys.readouterr().out
    main(["list"])
    listed = capsys.readouterr().out
    assert [why for why in guards if why not in doctor or why not in listed] == []


def test_the_service_sends_signs_and_says_that_it_lives(
    nats: NatsServer, own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a thread beside `hookline serve`; the other commands then show the machine and its records."""
    set_up(nats)
    write_settings(own_home, [nats.address], anchors=str(own_home / "heads"))
    sink = FileSink(default_log_path())
    sink.write_now(event(1), event(2))
    service = machine_service(lambda _words: None)
    assert service is not None
    thread = ServiceThread(service)
    try:
        until((own_home / "heads").exists)
        until(lambda: main(["fleet", "status"]) == 0 and "canary denied" in capsys.readouterr().out)
        assert main(["fleet", "status"]) == 0
        assert "1 hook, 1 can run" in capsys.readouterr().out
    finally:
        thread.stop()
        sink.close()
    assert main(["fleet", "status"]) == 1
    assert "its service was ended" in capsys.readouterr().out
    found = read_all(nats)
    assert any(isinstance(one, Stated) and one.statement.seq >= 2 for one in found)
    assert b"event 1" in b"".join(line for one in found if isinstance(one, Arrival) for line in one.lines)


def test_a_canary_that_ends_while_a_sign_of_life_is_sent_is_in_the_next_one(
    nats: NatsServer, own_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the machine would be listed as one without a canary until the next minute."""
    set_up(nats)
    write_settings(own_home, [nats.address])
    service = machine_service(lambda _words: None)
    assert service is not None
    is_sending = threading.Event()
    try_canary = service._try_canaries

    def canary() -> CanaryResult:
        is_sending.wait(30)
        return try_canary()

    async def send(bucket: Bucket, key: str, data: bytes) -> None:
        is_sending.set()
        assert service._trying is not None
        await service._trying
        await set_value(bucket, key, data)

    monkeypatch.setattr(service, "_try_canaries", canary)
    monkeypatch.setattr("hookline.fleet.service.set_value", send)
    thread = ServiceThread(service)
    try:
        until(lambda: main(["fleet", "status"]) == 0 and "canary denied" in capsys.readouterr().out)
    finally:
        thread.stop()


def test_records_of_all_machines_are_shown_and_counted(
    nats: NatsServer, own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    set_up(nats)
    write_settings(own_home, [nats.address])
    assert main(["fire", "BeforeTool", "--input", '{"tool_name": "x", "tool_input": {"command": "rm -rf x"}}']) == 2
    assert main(["fleet", "run", "--once"]) == 0
    capsys.readouterr()
    assert main(["fleet", "events", "--decision", "blocked", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    row = next(row for row in rows if row["hook"] == "guard")
    assert (row["machine"], row["user"], row["kind"]) == ("m1", os.environ.get("USER", row["user"]), "hook")
    assert row["session"].startswith("m1/")
    assert main(["fleet", "events"]) == 0
    assert "m1" in capsys.readouterr().out
    assert main(["fleet", "events", "--stats", "--json"]) == 0
    (hook,) = json.loads(capsys.readouterr().out)["hooks"]
    assert (hook["hook"], hook["runs"], hook["blocks"]) == ("guard", 1, 1)
    assert main(["fleet", "events", "--stats", "--machine", "m2"]) == 0
    assert "0 runs" in capsys.readouterr().out
    whole = json.loads(next(line for line in default_log_path().read_text().splitlines() if '"kind":"hook"' in line))
    assert len(whole["digest"]) == 64


def test_what_is_wrong_with_the_policy_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`status` reads the settings for the server and for the policy's keys, and prints each warning once."""
    Company(tmp_path, fleet={"servers": ["nats://127.0.0.1:1"]})
    assert main(["fleet", "status"]) != 0
    assert capsys.readouterr().err.count("no policy is installed here yet") == 1


def test_a_machine_with_an_older_policy_is_out_of_date(
    nats: NatsServer, tmp_path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By what is published, even if no other machine has it; and records say which version was in force."""
    set_up(nats)
    company = Company(tmp_path, fleet={"servers": [nats.address], "machine": "m1"})
    company.gives_settings(version=1)
    machine = Machine(project)
    assert machine.fires().blocked
    machine.close()
    run = next(line for line in default_log_path().read_text().splitlines() if '"kind":"event"' in line)
    assert json.loads(run)["policy"] == 1
    assert main(["fleet", "run", "--once"]) == 0
    capsys.readouterr()
    assert main(["fleet", "status"]) == 0
    assert "policy 1" in capsys.readouterr().out
    with_server(nats, lambda client: publish(client, company.signed(company.bundle(version=2)), (company.key,)))
    assert main(["fleet", "status"]) == 1
    assert "it has version 1 of the policy, and 2 is in force" in capsys.readouterr().out


# The service's canary writes records as well.
_ALL_SENT = re.compile(r"record (?!0)(\d+) of \1 was sent last .*(now|ago); 0 bytes of at most")


def test_serve_and_doctor_know_whether_the_log_is_sent(
    nats: NatsServer, own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`hookline serve` has a thread for it; without any service, doctor says what to do."""
    set_up(nats)
    write_settings(own_home, [nats.address])

    def record() -> list[tuple[str, str]]:
        capsys.readouterr()
        main(["doctor", "--json"])
        checks = json.loads(capsys.readouterr().out)["checks"]
        return [(check["severity"], check["message"]) for check in checks if check["about"] == "record"]

    ((severity, message),) = record()
    assert severity == "warning"
    assert "no service sends the log; record 0 of 0 was sent last; 0 bytes of at most 256 MiB wait" in message
    assert "hookline fleet run" in message
    write_log(default_log_path(), range(1, 6))
    size = default_log_path().stat().st_size
    ((_, message),) = record()
    assert f"record 0 of 5 was sent last; {show_size(size)} of at most 256 MiB wait" in message
    thread = fleet_thread()
    assert thread is not None
    try:
        until(lambda: is_sent(default_log_path()))
        ((severity, message),) = record()
        assert (severity, "a service sends the log" in message) == ("ok", True)
        until(lambda: _ALL_SENT.search(record()[0][1]))
    finally:
        thread.stop()


def test_settings_that_a_running_service_does_not_use_are_said(own_home: Path) -> None:
    """In its heartbeat, and once where it runs."""
    write_settings(own_home, ["nats://old"])
    heard: list[str] = []
    service = machine_service(heard.append)
    assert service is not None
    assert not service.facts().problems
    write_settings(own_home, ["nats://new"])
    for _ in range(2):
        assert "restart it" in service.facts().problems[0]
    assert len(heard) == 1


def test_a_machine_without_a_server_has_no_thread(own_home: Path) -> None:
    write_settings(own_home, [])
    assert fleet_thread() is None
    loaded = (
        "import sys, hookline.apps.cli.commands.serve; print([name for name in sys.modules if name.startswith('nats')])"
    )
    assert subprocess.check_output([sys.executable, "-c", loaded], text=True).strip() == "[]"


def test_a_user_can_t_switch_off_what_the_company_records() -> None:
    """The system's settings send the log, so a user's file can't disable it, and a warning reports that."""
    fleet = {"servers": ["nats://x"]}
    off = Layer(source=ConfigSource.USER, origin="user", values={"hooksConfig": {"log": {"enabled": False}}})
    sends = Layer(source=ConfigSource.SYSTEM, origin="system", values={"hooksConfig": {"fleet": fleet}})
    settings = decode_settings((off, sends))
    assert settings.options.log.enabled
    assert any("company's record" in problem.message for problem in settings.problems)
    own = Layer(
        source=ConfigSource.USER, origin="u", values={"hooksConfig": {"fleet": fleet, "log": {"enabled": False}}}
    )
    assert not decode_settings((own,)).options.log.enabled
    keeps = Layer(source=ConfigSource.SYSTEM, origin="s", values={"hooksConfig": {"fleet": {**fleet, "audit": False}}})
    assert not decode_settings((off, keeps)).options.log.enabled


def test_rotation_keeps_what_may_have_to_wait() -> None:
    """As many files as the bound allows, and never fewer than the log keeps anyway."""
    log = LogSettings(max_bytes=1000, backups=5)
    sends = HooksConfigSettings(log=log, fleet=FleetSettings(servers=("nats://x",), spool_bytes=20_000))
    assert sends.rotated_files == 20
    assert HooksConfigSettings(log=log).rotated_files == 5
    keeps = HooksConfigSettings(log=log, fleet=FleetSettings(servers=("nats://x",), audit=False, spool_bytes=20_000))
    assert keeps.rotated_files == 5


def test_a_lock_keeps_two_services_apart(nats: NatsServer, own_home: Path) -> None:
    set_up(nats)
    write_settings(own_home, [nats.address])
    said: list[str] = []
    first, second = machine_service(lambda _words: None), machine_service(said.append)
    assert first is not None
    assert second is not None
    one = ServiceThread(first)
    until(lambda: default_log_path().with_name("hooks.jsonl.sent.lock").exists())
    two = ServiceThread(second)
    try:
        until(lambda: said)
        assert "another process" in said[0]
    finally:
        two.stop()
        one.stop()


def test_records_go_even_if_signs_of_life_can_t(nats: NatsServer, own_home: Path) -> None:
    """An administrator may have made only the stream; a warning names the missing bucket."""

    async def make(client: Any) -> None:
        await make_stream(client, AUDIT_STREAM, AUDIT_SUBJECTS, num_replicas=1, max_age=3600, max_bytes=-1)

    with_server(nats, make)
    write_settings(own_home, [nats.address])
    sink = FileSink(default_log_path())
    sink.write_now(event(1))
    sink.close()
    said: list[str] = []
    service = machine_service(said.append)
    assert service is not None
    thread = ServiceThread(service)
    try:
        until(lambda: service.sent >= 1)
        until(lambda: said)
    finally:
        thread.stop()
    assert "hookline_machines" in said[0]
    assert "hookline fleet run --setup" in said[0]


def test_the_canary_is_tried_once_a_day(nats: NatsServer, own_home: Path) -> None:
    """Also if the service is started often; but one that nothing denied is tried again."""
    set_up(nats)
    write_settings(own_home, [nats.address])
    log = default_log_path()
    write_log(log, range(1, 2))
    tried = list[str]()

    def service(word: CanaryResult) -> Service:
        fleet = FleetSettings(servers=(nats.address,), machine="m1")

        def fly() -> CanaryResult:
            tried.append("x")
            return word

        return Service(log, fleet, facts=lambda: GOOD, canary=fly, notify=lambda _words: None)

    asyncio.run(service(CanaryResult(tried=1, missed=("x",))).run_once())
    assert len(tried) == 2  # once more, because another program may have used the same file
    for _ in range(2):
        thread = ServiceThread(service(CanaryResult(tried=1)))
        until(lambda: read_canary(log) == CanaryResult(tried=1, time=getattr(read_canary(log), "time", "")))
        thread.stop()
    assert len(tried) == 3


def test_a_missing_server_is_told_once_and_waited_for(own_home: Path) -> None:
    write_settings(own_home, ["nats://127.0.0.1:1"])
    said: list[str] = []
    is_said = asyncio.Event()

    def hear(words: str) -> None:
        said.append(words)
        is_said.set()

    service = machine_service(hear)
    assert service is not None

    async def go() -> None:
        ending = asyncio.Event()
        running = asyncio.create_task(service.run(ending))
        await is_said.wait()
        ending.set()
        await running

    asyncio.run(go())
    assert len(said) == 1
    assert "the log keeps what has to wait" in said[0]
