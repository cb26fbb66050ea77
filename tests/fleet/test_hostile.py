"""A machine whose credentials were stolen, on a server with exactly the configuration of contrib/nats."""

import asyncio
import json
import os
import runpy
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.fleet.company import Company, Machine
from tests.fleet.records import shipper, write_log
from tests.fleet.server import find_program
from tests.fleet.test_security import ASK, CONTRIB, REQUEST, Place
from tests.patience import run_async, until

from hookline.apps.cli.main import main
from hookline.fleet.names import AUDIT_STREAM, AUDIT_SUBJECTS, MACHINES_BUCKET, POLICY_BUCKET, record_subjects
from hookline.fleet.nats.bucket import Bucket, latest_values, make_bucket, set_value
from hookline.fleet.nats.connection import connect, connected
from hookline.fleet.nats.jetstream import store, stored
from hookline.fleet.policy.follow import Follower, PolicyUpdate
from hookline.fleet.record.backlog import Cursor, next_batch
from hookline.fleet.record.message import messages_of
from hookline.fleet.record.shipper import MOST_BYTES
from hookline.fleet.record.statement import RecordPlace, Source

pytestmark = [
    pytest.mark.fleet,
    pytest.mark.timeout(120),
    pytest.mark.usefixtures("patient"),
    pytest.mark.skipif(find_program() is None, reason="no nats-server here: `make setup` installs it"),
]
BEAT, RECORD = f"$KV.{MACHINES_BUCKET}.payments.laptop-8.eva", "hookline.audit.payments.laptop-8"
TARGETS = (
    f"$KV.{POLICY_BUCKET}.switches.all",
    f"$KV.{POLICY_BUCKET}.bundle.payments",
    BEAT,
    RECORD,
    "hookline.anchor.payments.laptop-8",
    f"$JS.API.STREAM.DELETE.{AUDIT_STREAM}",
    f"$JS.API.STREAM.PURGE.KV_{POLICY_BUCKET}",
    f"$JS.API.STREAM.MSG.DELETE.KV_{MACHINES_BUCKET}",
    f"$JS.API.STREAM.UPDATE.{AUDIT_STREAM}",
    f"$JS.ACK.{AUDIT_STREAM}.x.1.1.1.1.0",
    "$JS.FC.x.y",
    f"{ASK}.laptop-8.{REQUEST}",
    "_INBOX.laptop-8.x.1",
)
"""Where a machine must not be able to have anything written."""
Everything = dict[str, list[tuple[str, bytes, int]]]


def subjects_of(*words: str) -> list[str]:
    """Every subject that a user may publish to, without wildcards."""
    role, *arguments = words
    granted: Any = runpy.run_path(str(CONTRIB / "users.py"))[role](*arguments)
    tails = {"*": "dlp" if role == "machine" else "x", ">": REQUEST.partition(".")[2]}
    return [
        ".".join(tails.get(part, part) for part in subject.split("."))
        for subject in filter(None, (*granted.publish, granted.asks))
    ]


@pytest.fixture(scope="module")
def place(patient: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A server with two machines' records and heartbeats, set up by `hookline fleet run --setup`."""
    del patient
    place = Place(tmp_path_factory.mktemp("fleet"))
    place.nats.start()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HOOKLINE_STATE_DIR", str(tmp_path_factory.mktemp("state")))
            settings = tmp_path_factory.mktemp("admin") / "settings.json"
            settings.write_text(json.dumps({"hooksConfig": {"fleet": place.fleet("admin-ops")}}))
            assert main(["fleet", "run", "--setup", "--settings", str(settings)]) == 0
        asyncio.run(_live(place))
        yield place
    finally:
        place.nats.end()


async def _live(place: Place) -> None:
    for name in ("laptop-7", "laptop-8"):
        async with connected(place.server(f"machine-{name}"), "test") as client:
            await set_value(Bucket(client, MACHINES_BUCKET), f"payments.{name}.eva", b"beat")
            await client.jetstream().publish(f"hookline.audit.payments.{name}", b"record")
    async with connected(place.server("publisher-release"), "test") as client:
        for key in ("switches.all", "bundle.payments", "bundle.all"):
            await set_value(Bucket(client, POLICY_BUCKET), key, b"signed")


async def everything(place: Place) -> Everything:
    """All that the streams have, but what the hostile machine may write."""
    own = (
        "hookline.audit.payments.laptop-7",
        "hookline.anchor.payments.laptop-7",
        f"$KV.{MACHINES_BUCKET}.payments.laptop-7.",
    )
    streams = {
        AUDIT_STREAM: AUDIT_SUBJECTS,
        f"KV_{MACHINES_BUCKET}": (f"$KV.{MACHINES_BUCKET}.>",),
        f"KV_{POLICY_BUCKET}": (f"$KV.{POLICY_BUCKET}.>",),
    }
    async with connected(place.server("admin-ops"), "test") as client:
        return {
            name: [
                (message.subject, message.data, message.seq)
                async for message in stored(client, name, subjects)
                if not message.subject.startswith(own)
            ]
            for name, subjects in streams.items()
        }


def attacked(place: Place, user: str, attack: Callable[[Any], Awaitable[None]]) -> tuple[Everything, Everything]:
    """Return the content of the streams before an attack and after it."""

    async def go() -> tuple[Everything, Everything]:
        before = await everything(place)
        client = await connect(place.server(user), "hostile")
        try:
            await attack(client)
            # The same connection is served in order, so whatever was set off has happened when this is answered.
            await client.flush()
        finally:
            await client.close()
        heard = await connect(place.server("worker-build7"), "worker")
        await heard.flush()
        await heard.close()
        return before, await everything(place)

    return asyncio.run(go())


async def _worker(place: Place) -> Any:
    """Answers whatever it is asked, wherever the asker wants the answer."""
    client = await connect(place.server("worker-build7"), "worker")

    async def answer(message: Any) -> None:
        await client.publish(message.reply, b'{"forged": true}', reply=f"$KV.{POLICY_BUCKET}.switches.all")

    await client.subscribe(f"{ASK}.*.{REQUEST}", queue="workers", cb=answer)
    await client.flush()
    return client


@pytest.mark.attack("30.F13", "a machine has the server or a worker answer to a subject that it may not write to")
def test_no_answer_goes_where_the_asker_may_not_write(place: Place) -> None:
    """Every subject that a machine may publish to, with every reply subject that would do harm."""
    subjects = subjects_of("machine", "payments", "laptop-7")
    assert f"{ASK}.laptop-7.{REQUEST}" in subjects
    assert len(subjects) == 8

    async def attack(client: Any) -> None:
        worker = await _worker(place)
        for subject in (*subjects, f"$JS.API.DIRECT.GET.KV_{POLICY_BUCKET}.$KV.{POLICY_BUCKET}.none.payments"):
            for target in TARGETS:
                await client.publish(subject, b"", reply=target)
        answers = await client.subscribe(f"{client._inbox_prefix.decode()}.own")
        await client.publish(f"{ASK}.laptop-7.{REQUEST}", b"", reply=answers.subject)
        claim = await answers.next_msg(30)
        await client.publish(claim.reply, b"")  # the worker's own reply, which is as hostile
        await client.flush()
        await worker.flush()
        await worker.close()

    before, after = attacked(place, "machine-laptop-7", attack)
    assert after == before


@pytest.mark.attack("30.F13", "a worker and a machine together write to a worker of another subject, as any machine")
def test_a_worker_reaches_no_worker_of_another_subject(place: Place) -> None:
    """The worker names its target as the reply of its claim, and the machine that asked answers there."""
    targets = (f"hookline.ask.payments.payroll.laptop-8.{REQUEST}", "_INBOX.build9.x.1")

    async def go() -> list[bytes]:
        got: list[bytes] = []

        async def hear(message: Any) -> None:
            got.append(message.data)

        async def claim(message: Any) -> None:
            for target in targets:
                await hostile.publish(message.reply, b"claim", reply=target)

        async with (
            connected(place.server("worker-build9"), "worker") as other,
            connected(place.server("worker-build7"), "worker") as hostile,
            connected(place.server("machine-laptop-7"), "machine") as machine,
        ):
            await other.subscribe(f"hookline.ask.payments.payroll.*.{REQUEST}", queue="workers", cb=hear)
            await other.subscribe("_INBOX.build9.>", cb=hear)
            await hostile.subscribe(f"{ASK}.*.{REQUEST}", queue="workers", cb=claim)
            for worker in (other, hostile):
                await worker.flush()
            answers = await machine.subscribe("_INBOX.laptop-7.own")
            await machine.publish(f"{ASK}.laptop-7.{REQUEST}", b"", reply="_INBOX.laptop-7.own")
            for _ in targets:
                await machine.publish((await answers.next_msg(30)).reply, b"forged")
            # Requests of one machine arrive in order.
            await machine.publish(f"hookline.ask.payments.payroll.laptop-7.{REQUEST}", b"last")
            await machine.flush()
            await asyncio.to_thread(until, lambda: b"last" in got)
        return got

    assert asyncio.run(go()) == [b"last"]


@pytest.mark.attack("30.F13", "a machine uses the message ids of another machine's next records")
def test_records_arrive_whatever_ids_others_have_used(place: Place, tmp_path: Path) -> None:
    """The server drops a message whose id it has seen in the last minutes, from any sender."""
    log, source = tmp_path / "log", RecordPlace("payments", Source("laptop-8", "eva", "log1"))
    write_log(log, range(1, 4))
    batch = next_batch(log, Cursor(), MOST_BYTES)
    assert batch is not None

    async def go() -> list[bytes]:
        async with connected(place.server("machine-laptop-7"), "hostile") as client:
            for _, headers in messages_of(batch, source, MOST_BYTES):
                await store(client, "hookline.audit.payments.laptop-7", b"first", headers)
        async with connected(place.server("machine-laptop-8"), "machine") as client:
            assert await shipper(log, place=source).ship(client)
        async with connected(place.server("auditor-security"), "auditor") as client:
            return [message.data async for message in stored(client, AUDIT_STREAM, (RECORD,))]

    assert batch.lines in asyncio.run(go())


@pytest.mark.attack("30.F13", "a machine fills the server's disk, so that no switch can be published")
def test_a_full_disk_stops_no_switch(
    patient: None, own_home: Path, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its records and heartbeats have bounds; room is left for policies."""
    del patient, own_home
    monkeypatch.setattr("hookline.apps.cli.commands.fleet.machines.MACHINES_BYTES", 20_000_000)
    folder = tmp_path / "server"
    folder.mkdir()
    place = Place(folder, store="max_file_store: 60MB")
    place.nats.start()

    async def flood() -> None:
        async with connected(place.server("machine-laptop-7"), "hostile") as client:
            for number in range(160):
                for subject in (
                    "hookline.audit.payments.laptop-7",
                    f"$KV.{MACHINES_BUCKET}.payments.laptop-7.{number}",
                ):
                    await client.publish(subject, os.urandom(500_000), reply="_INBOX.laptop-7.x")
            await client.flush(60)

    try:
        settings = tmp_path / "settings.json"
        settings.write_text(json.dumps({"hooksConfig": {"fleet": place.fleet("admin-ops")}}))
        setup = ("fleet", "run", "--setup", "--max-bytes", "30000000", "--settings", str(settings))
        assert main(setup) == 0
        asyncio.run(flood())
        fleet = Fleet(place, tmp_path)
        assert fleet.switch("agents", "off", "--reason", "incident") == 0
        fleet.pull()
        machine = Machine(project)
        until(lambda: machine.fires().blocked)
        machine.close()
    finally:
        place.nats.end()


@pytest.mark.attack("30.F13", "an auditor or a publisher has the server answer to a subject that it may not write to")
@pytest.mark.parametrize(
    ("user", "role"),
    [("auditor-security", ("auditor", "security")), ("publisher-release", ("publisher", "release"))],
)
def test_readers_have_nothing_written(place: Place, user: str, role: Sequence[str]) -> None:
    """They read by direct gets, whose answers end in their own account."""
    reads = [subject for subject in subjects_of(*role) if "DIRECT" in subject]
    request = json.dumps({"seq": 1, "next_by_subj": ">", "batch": 10}).encode()
    targets = [target for target in TARGETS if user != "publisher-release" or POLICY_BUCKET not in target]

    async def attack(client: Any) -> None:
        for subject in reads:
            for target in targets:
                await client.publish(subject, request if subject.count(".") == 4 else b"", reply=target)

    before, after = attacked(place, user, attack)
    assert after == before


HEADERS: Sequence[dict[str, str]] = (
    {"Nats-Rollup": "all"},
    {"Nats-Rollup": "sub"},
    {"KV-Operation": "PURGE", "Nats-Rollup": "sub"},
    {"KV-Operation": "DEL"},
    {"Nats-TTL": "1s"},
    {"Nats-Expected-Stream": f"KV_{POLICY_BUCKET}"},
    {"Nats-Subject": BEAT, "Nats-Sequence": "1"},
    {"Nats-Schedule": "@every 1s", "Nats-Schedule-Target": BEAT},
    {"Nats-Incr": "+1"},
    {"Nats-Batch-Id": "x", "Nats-Batch-Sequence": "1", "Nats-Batch-Commit": "1"},
)


@pytest.mark.attack(
    "30.F13", "headers on a machine's own messages that remove or replace those of others, such as a rollup"
)
def test_headers_of_own_messages_touch_nothing_of_others(place: Place) -> None:
    """`Nats-Rollup: all` on one's own heartbeat erased everybody's."""

    async def attack(client: Any) -> None:
        for headers in HEADERS:
            for subject in (f"$KV.{MACHINES_BUCKET}.payments.laptop-7.eva", "hookline.audit.payments.laptop-7"):
                await client.publish(subject, b"x", reply=f"{client._inbox_prefix.decode()}.x", headers=headers)

    before, after = attacked(place, "machine-laptop-7", attack)
    assert after == before


FORBIDDEN: Sequence[tuple[str, dict[str, Any]]] = (
    (f"$JS.API.CONSUMER.CREATE.{AUDIT_STREAM}", {"stream_name": AUDIT_STREAM, "config": {"deliver_subject": BEAT}}),
    ("$JS.API.STREAM.CREATE.X", {"name": "X", "subjects": ["x"], "republish": {"src": "x", "dest": BEAT}}),
    (f"$JS.API.STREAM.UPDATE.{AUDIT_STREAM}", {"name": AUDIT_STREAM, "subjects": ["x"]}),
    (f"$JS.API.STREAM.PURGE.{AUDIT_STREAM}", {}),
    (f"$JS.API.STREAM.MSG.DELETE.{AUDIT_STREAM}", {"seq": 1}),
    (f"$JS.API.STREAM.INFO.{AUDIT_STREAM}", {"subjects_filter": ">"}),
    (f"$JS.API.STREAM.MSG.GET.{AUDIT_STREAM}", {"seq": 1}),
    (f"$JS.API.DIRECT.GET.{AUDIT_STREAM}", {"seq": 1}),
    (f"$JS.API.DIRECT.GET.KV_{MACHINES_BUCKET}.{BEAT}", {}),
    ("$SYS.REQ.SERVER.PING", {}),
    ("$SYS.REQ.ACCOUNT.HOOKLINE.CONNZ", {}),
    (BEAT, {}),
    (f"$KV.{POLICY_BUCKET}.switches.all", {}),
)


@pytest.mark.attack("30.F13", "requests of JetStream and of the system's account, from a machine")
def test_a_machine_can_ask_the_server_for_nothing_else(place: Place) -> None:
    """Each of them is refused, and changes nothing."""

    async def attack(client: Any) -> None:
        for subject, body in FORBIDDEN:
            with pytest.raises(TimeoutError):
                await client.request(subject, json.dumps(body).encode(), timeout=0.3)

    before, after = attacked(place, "machine-laptop-7", attack)
    assert after == before


RAW_HEADERS = (
    b"NATS/1.0 404 Gone\r\n\r\n",
    b"NATS/1.0 204 EOB\r\nNats-Num-Pending: 0\r\n\r\n",
    b"NATS/1.0 503\r\nStatus: 503\r\n\r\n",
    b"NATS/1.0\r\nNats-Subject: " + RECORD.encode() + b"\r\nNats-Sequence: 1\r\nStatus: 404\r\n\r\n",
    b"NATS/1.0\r\nX: y",
    b"nonsense\r\n\xff\xfe: x\r\n\r\n",
)


@pytest.mark.attack(
    "30.F13", "a record whose headers look like the end of the stream, or like another machine's record"
)
@run_async
async def test_what_a_machine_writes_into_headers_hides_and_forges_nothing(place: Place) -> None:
    """An auditor reads every record behind it, and knows each by the subject that the server vouches for."""
    client = await connect(place.server("machine-laptop-7"), "hostile")
    for header in RAW_HEADERS:
        for subject in ("hookline.audit.payments.laptop-7", f"$KV.{MACHINES_BUCKET}.payments.laptop-7.eva"):
            command = f"HPUB {subject} {len(header)} {len(header) + 4}\r\n".encode() + header + b"evil\r\n"
            await client._send_command(command)
    await client.flush()
    await client.close()
    async with connected(place.server("machine-laptop-8"), "test") as client:
        await client.jetstream().publish(RECORD, b"behind")
    async with connected(place.server("auditor-security"), "test") as client:
        found = [message async for message in stored(client, AUDIT_STREAM, record_subjects())]
        beats = await latest_values(client, MACHINES_BUCKET)
    assert found[-1].data == b"behind"
    evil = [message for message in found if message.data == b"evil"]
    assert {message.subject for message in evil} == {"hookline.audit.payments.laptop-7"}
    assert len(evil) == len(RAW_HEADERS)
    assert {beat.key for beat in beats} >= {"payments.laptop-7.eva", "payments.laptop-8.eva"}


class Fleet:
    """A publisher and a machine that obeys its key."""

    def __init__(self, place: Place, root: Path) -> None:
        self.place, self.company = place, Company(root)
        self.heard: list[PolicyUpdate] = []

    def switch(self, *words: str) -> int:
        """Runs `hookline fleet policy switch` as the publisher."""
        self.company.write_system(fleet=self.place.fleet("publisher-release", "all"))
        return main(["fleet", "policy", "switch", *words, "--key", str(self.company.key_file)])

    def pull(self) -> None:
        """Takes what is published, as the machine laptop-7."""
        server = self.place.server("machine-laptop-7")
        asyncio.run(Follower(server, self.company.place("payments"), self.heard.append).pull())


@pytest.mark.attack(
    "30.F13", "the bucket has garbage, an older switch or nothing in place of the switch that machines have"
)
@pytest.mark.parametrize("how", ["garbage", "older", "lost"])
def test_the_kill_switch_works_after_the_bucket_lost_it(
    place: Place, own_home: Path, project: Path, tmp_path: Path, how: str
) -> None:
    """Its next version is higher than all that machines have seen, and until then they keep what they had."""
    del own_home
    fleet = Fleet(place, tmp_path)
    machine = Machine(project)
    key = "switches.all"

    async def spoil() -> None:
        async with connected(place.server("admin-ops"), "test") as client:
            bucket = Bucket(client, POLICY_BUCKET)
            if how == "lost":
                await client.jetstream().delete_stream(bucket.stream)
                await make_bucket(client, POLICY_BUCKET, history=64)
            else:
                older = fleet.company.signed(fleet.company.switches(version=3)).to_bytes()
                await set_value(bucket, key, older if how == "older" else b"{}")

    try:
        assert fleet.switch("agents", "off", "--reason", "incident") == 0
        fleet.pull()
        until(lambda: machine.fires().blocked)
        asyncio.run(spoil())
        fleet.pull()
        assert machine.fires().blocked
        assert fleet.switch("agents", "on") == 0
        (state_file,) = Path(os.environ["HOOKLINE_STATE_DIR"]).glob("published.json")
        state_file.unlink()  # another administrator publishes the next one
        fleet.pull()
        until(lambda: not machine.fires().blocked)
        asyncio.run(spoil())
        assert fleet.switch("agents", "off", "--reason", "incident") == 0
        fleet.pull()
        until(lambda: machine.fires().blocked)
    finally:
        machine.close()


@run_async
async def test_a_machine_hears_of_a_switch_at_once(place: Place, own_home: Path, tmp_path: Path) -> None:
    """Machines import the messages of the publisher's account, and do not wait for their poll."""
    del own_home
    fleet = Fleet(place, tmp_path)

    def took(count: int) -> bool:
        return sum(news.message.endswith("in force") for news in fleet.heard) == count

    server = place.server("machine-laptop-7")
    following = Follower(server, fleet.company.place("payments"), fleet.heard.append, poll_s=3600.0)
    task = asyncio.create_task(following.run())
    try:
        for count, word in enumerate(("off", "on"), 1):
            # The first one may be found by looking; the second is heard of.
            assert await asyncio.to_thread(fleet.switch, "agents", word, "--reason", "test") == 0
            await asyncio.to_thread(until, partial(took, count))
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
