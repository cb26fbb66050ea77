"""The sample configuration of contrib/nats, on a real server: what each role may do, and what it may not."""

import asyncio
import json
import runpy
import shutil
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest
from tests.fleet.server import NatsServer, find_program
from tests.fleet.workers import Machine, WorkerProcess, guard, remote_settings

from hookline.fleet.names import (
    AUDIT_STREAM,
    AUDIT_SUBJECTS,
    MACHINES_BUCKET,
    POLICY_BUCKET,
    ServerAddress,
    UnreachableError,
    inbox_of,
    record_subjects,
)
from hookline.fleet.nats.bucket import Bucket, latest_values, make_bucket, set_value, value_of, values_before
from hookline.fleet.nats.connection import close, connect, connected
from hookline.fleet.nats.jetstream import make_stream, store, stored

pytestmark = [
    pytest.mark.fleet,
    pytest.mark.usefixtures("patient"),
    pytest.mark.skipif(find_program() is None, reason="no nats-server here: `make setup` installs it"),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl here, which makes the certificate"),
]
# A refused request gets no answer, so it takes the whole timeout; an allowed one gets more time, for a busy machine.
_REFUSED_S, _ALLOWED_S = 2.0, 30.0
_within_s: ContextVar[float] = ContextVar("_within_s")
CONTRIB = Path(__file__).resolve().parents[2] / "contrib" / "nats"
USERS = (
    ("admin", "ops"),
    ("publisher", "release"),
    ("auditor", "security"),
    ("auditor", "lea", "web"),
    ("worker", "payments", "build7", "dlp"),
    ("worker", "payments", "build9", "payroll"),
    ("machine", "payments", "laptop-7"),
    ("machine", "payments", "laptop-8"),
    ("machine", "games", "laptop-9"),
)


class Place:
    """A server with the sample configuration."""

    def __init__(self, folder: Path, *, store: str = "") -> None:
        self._folder = folder
        _make_certificate(folder)
        add_user: Any = runpy.run_path(str(CONTRIB / "users.py"))["main"]
        for words in USERS:
            assert add_user([str(folder), *words]) == 0
        sample = (CONTRIB / "server.conf").read_text()
        here = sample.replace("/etc/hookline-nats", str(folder)).replace("/var/lib/hookline-nats", str(folder / "js"))
        assert str(folder) in here
        here = here.replace("jetstream {", f"jetstream {{ {store}")
        self.nats = NatsServer(folder, config=here)

    def fleet(self, user: str, team: str = "payments") -> dict[str, Any]:
        """The settings of a user, such as `machine-laptop-7`."""
        return {
            "servers": [self.address],
            "team": team,
            "machine": user.partition("-")[2],
            "nkey": str(self._folder / "keys" / f"{user}.nk"),
            "tls": {"ca": str(self._folder / "server.pem")},
        }

    def server(self, user: str) -> ServerAddress:
        """The address and identity for a connection."""
        fleet = self.fleet(user)
        inbox = inbox_of(fleet["machine"])
        return ServerAddress(addresses=(self.address,), nkey=fleet["nkey"], ca=fleet["tls"]["ca"], inbox=inbox)

    @property
    def address(self) -> str:
        """With encryption."""
        return f"tls://127.0.0.1:{self.nats.port}"

    @property
    def ca(self) -> str:
        """The certificate."""
        return str(self._folder / "server.pem")


def _make_certificate(folder: Path) -> None:
    where = ("-keyout", str(folder / "server.key"), "-out", str(folder / "server.pem"))
    kind = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1")
    name = ("-subj", "/CN=fleet", "-addext", "subjectAltName=IP:127.0.0.1")
    subprocess.run(["openssl", "req", "-x509", *kind, *name, *where], check=True, capture_output=True)


@pytest.fixture(scope="module")
def place(patient: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """One server for all tests here, with the streams and buckets of a fleet."""
    del patient
    place = Place(tmp_path_factory.mktemp("fleet"))
    place.nats.start()
    try:
        asyncio.run(_set_up(place))
        yield place
    finally:
        place.nats.end()


async def _set_up(place: Place) -> None:
    async with connected(place.server("admin-ops"), "admin") as client:
        assert await make_stream(
            client, AUDIT_STREAM, AUDIT_SUBJECTS, num_replicas=1, max_age=3600, max_bytes=10_000_000
        )
        await make_bucket(client, MACHINES_BUCKET, history=1)
        await make_bucket(client, POLICY_BUCKET, history=5)
    async with connected(place.server("publisher-release"), "publisher") as client:
        bucket = Bucket(client, POLICY_BUCKET)
        for team in ("payments", "games", "all"):
            await set_value(bucket, f"bundle.{team}", team.encode())


Act = Callable[[Any, list[str]], Awaitable[Any]]


def attempt(place: Place, user: str, act: Act, *, is_allowed: bool = True) -> tuple[Any, list[str]]:
    """Return a user's result or the type of the error, and the server's messages about it."""

    async def go() -> tuple[Any, list[str]]:
        said: list[str] = []
        _within_s.set(_ALLOWED_S if is_allowed else _REFUSED_S)
        client = await connect(place.server(user), "test", on_change=said.append)
        try:
            result = await act(client, said)
        except Exception as error:  # noqa: BLE001 - that it fails is what is tried
            result = type(error).__name__
        await client.flush()
        end = time.monotonic() + _ALLOWED_S
        while not is_allowed and not said and time.monotonic() < end:
            await client.flush()  # a violation may come after the answer to the first
        heard = tuple(said)
        await close(client)
        return result, list(heard)

    return asyncio.run(go())


def publishes(subject: str, data: bytes = b"x") -> Act:
    """Publish one message; a stream that stores it acknowledges it."""

    async def act(client: Any, _said: list[str]) -> Any:
        await client.publish(subject, data)
        await client.flush()

    return act


def stores(subject: str) -> Act:
    """The same for a subject that a stream keeps."""

    async def act(client: Any, _said: list[str]) -> Any:
        await asyncio.wait_for(store(client, subject, b"x", {"a": "b"}), _within_s.get())
        return "stored"

    return act


def listens(subject: str, queue: str = "") -> Act:
    """Subscribes, and hears whether it may."""

    async def act(client: Any, _said: list[str]) -> Any:
        await client.subscribe(subject, queue=queue, cb=_ignore)
        await client.flush()

    return act


async def _ignore(_message: Any) -> None:
    pass


def reads(bucket: str, key: str) -> Act:
    """The value of a key."""

    async def act(client: Any, _said: list[str]) -> Any:
        async with asyncio.timeout(_within_s.get()):
            value = await value_of(Bucket(client, bucket), key)
        return value and value.data

    return act


def puts(bucket: str, key: str) -> Act:
    """Sets the value of a key."""

    async def act(client: Any, _said: list[str]) -> Any:
        async with asyncio.timeout(_within_s.get()):
            await set_value(Bucket(client, bucket), key, b"mine")
        return "put"

    return act


async def reads_records(client: Any, _said: list[str]) -> Any:
    """Whether there are records of all teams."""
    async with asyncio.timeout(_within_s.get()):
        return len([one async for one in stored(client, AUDIT_STREAM, record_subjects())]) > 0


async def reads_history(client: Any, _said: list[str]) -> Any:
    """The policies that were there before."""
    async with asyncio.timeout(_within_s.get()):
        return len(await values_before(Bucket(client, POLICY_BUCKET), "bundle.all")) > 0


async def reads_life(client: Any, _said: list[str]) -> Any:
    """The signs of life of all machines."""
    async with asyncio.timeout(_within_s.get()):
        return len(await latest_values(client, MACHINES_BUCKET)) > 0


async def removes_records(client: Any, _said: list[str]) -> Any:
    """Empties the stream of records."""
    return await client.jetstream(timeout=1.0).purge_stream(AUDIT_STREAM)


ASK = "hookline.ask.payments.dlp"
REQUEST = "one.hook-execution-request"

ALLOWED = [
    pytest.param("machine-laptop-7", stores("hookline.audit.payments.laptop-7"), "stored", id="its-records"),
    pytest.param("machine-laptop-7", stores("hookline.anchor.payments.laptop-7"), "stored", id="its-anchors"),
    pytest.param("machine-laptop-7", puts(MACHINES_BUCKET, "payments.laptop-7.eva"), "put", id="its-signs-of-life"),
    pytest.param("machine-laptop-7", reads(POLICY_BUCKET, "bundle.payments"), b"payments", id="its-policy"),
    pytest.param("machine-laptop-7", reads(POLICY_BUCKET, "bundle.all"), b"all", id="policy-of-all"),
    pytest.param("machine-laptop-7", listens(f"$KV.{POLICY_BUCKET}.bundle.payments"), None, id="changes-of-policy"),
    pytest.param("publisher-release", puts(POLICY_BUCKET, "switches.games"), "put", id="publish"),
    pytest.param("publisher-release", reads_history, True, id="roll-back"),
    pytest.param("auditor-security", reads_records, True, id="read-records"),
    pytest.param("auditor-security", reads_life, True, id="read-signs-of-life"),
    pytest.param("auditor-security", reads(POLICY_BUCKET, "bundle.payments"), b"payments", id="read-versions"),
    pytest.param("worker-build7", listens(f"{ASK}.*.{REQUEST}", "workers"), None, id="hear-requests"),
]


@pytest.mark.parametrize(("user", "act", "result"), ALLOWED)
def test_what_a_role_needs_is_allowed(place: Place, user: str, act: Act, result: Any) -> None:
    """Nothing that hookline does is refused."""
    attempt(place, "machine-laptop-8", stores("hookline.audit.payments.laptop-8"))
    attempt(place, "machine-laptop-8", puts(MACHINES_BUCKET, "payments.laptop-8.eva"))
    assert attempt(place, user, act) == (result, [])


REFUSED = [
    pytest.param("machine-laptop-7", puts(POLICY_BUCKET, "bundle.payments"), id="a-machine-publishes-policy"),
    pytest.param("machine-laptop-7", publishes(f"$KV.{POLICY_BUCKET}.switches.all"), id="a-machine-throws-a-switch"),
    pytest.param("machine-laptop-7", reads(POLICY_BUCKET, "bundle.games"), id="a-machine-reads-anothers-policy"),
    pytest.param("machine-laptop-7", listens(f"{ASK}.*.{REQUEST}", "workers"), id="a-machine-plays-worker"),
    pytest.param("machine-laptop-7", listens(f"{ASK}.>"), id="a-machine-overhears-requests"),
    pytest.param("machine-laptop-7", listens("_INBOX.laptop-8.>"), id="a-machine-reads-anothers-answers"),
    pytest.param("machine-laptop-7", listens("_INBOX.>"), id="a-machine-reads-all-answers"),
    pytest.param("machine-laptop-7", publishes("_INBOX.laptop-8.x.1"), id="a-machine-answers-another"),
    pytest.param("machine-laptop-7", publishes(f"{ASK}.laptop-8.{REQUEST}"), id="a-machine-asks-as-another"),
    pytest.param(
        "machine-laptop-9", publishes(f"{ASK}.laptop-9.{REQUEST}"), id="a-machine-asks-workers-of-another-team"
    ),
    pytest.param("machine-laptop-7", publishes(f"{ASK}.laptop-7.all.x"), id="a-machine-asks-all-workers"),
    pytest.param("machine-laptop-7", stores("hookline.audit.payments.laptop-8"), id="a-machine-forges-records"),
    pytest.param("machine-laptop-7", stores("hookline.anchor.games.laptop-9"), id="a-machine-forges-anchors"),
    pytest.param("machine-laptop-7", puts(MACHINES_BUCKET, "payments.laptop-8.eva"), id="a-machine-forges-life"),
    pytest.param("machine-laptop-7", reads_records, id="a-machine-reads-records"),
    pytest.param("machine-laptop-7", listens("hookline.audit.>"), id="a-machine-overhears-records"),
    pytest.param("machine-laptop-7", removes_records, id="a-machine-removes-records"),
    pytest.param("auditor-security", removes_records, id="an-auditor-removes-records"),
    pytest.param("auditor-security", puts(POLICY_BUCKET, "bundle.payments"), id="an-auditor-publishes-policy"),
    pytest.param("auditor-security", stores("hookline.audit.payments.laptop-7"), id="an-auditor-forges-records"),
    pytest.param("auditor-lea", reads_records, id="an-auditor-of-a-team-reads-all"),
    pytest.param("publisher-release", reads_records, id="a-publisher-reads-records"),
    pytest.param("worker-build7", publishes(f"{ASK}.build7.{REQUEST}"), id="a-worker-asks"),
    pytest.param("worker-build7", publishes("_INBOX.laptop-7.x.1"), id="a-worker-answers-unasked"),
    pytest.param(
        "worker-build7", listens(f"hookline.ask.games.dlp.*.{REQUEST}", "workers"), id="a-worker-hears-another-team"
    ),
    pytest.param(
        "worker-build7",
        listens(f"hookline.ask.payments.payroll.*.{REQUEST}", "workers"),
        id="a-worker-hears-another-subject",
    ),
    pytest.param("worker-build7", listens(f"{ASK}.*.{REQUEST}"), id="a-worker-overhears-other-workers"),
]


@pytest.mark.parametrize(("user", "act"), REFUSED)
def test_what_a_role_must_not_do_is_refused(place: Place, user: str, act: Act) -> None:
    """The server reports a violation, and nothing changes."""
    result, said = attempt(place, user, act, is_allowed=False)
    assert any("permissions violation" in line.lower() for line in said), (result, said)
    assert result in (None, "TimeoutError", "UnreachableError", "NoStreamResponseError"), result


def test_a_remote_hook_works_with_these_users_and_is_told_who_asks(place: Place, project: Path, tmp_path: Path) -> None:
    """Over TLS, with nkeys: the input of the worker's hook has the machine that the server authenticated."""
    command = """cat > told; echo '{"decision": "deny", "reason": "no"}'"""
    worker = WorkerProcess(tmp_path / "w", place.fleet("worker-build7"), guard(command))
    machine = Machine(project, remote_settings(place.fleet("machine-laptop-7")), agent="codex")
    try:
        worker.wait()
        verdict = asyncio.run(machine.fire(path="a"))
    finally:
        machine.close()
        worker.end()
    assert (verdict.blocked, verdict.reason) == (True, "no")
    told = json.loads((tmp_path / "w/told").read_text())
    assert (told["session_id"], told["cwd"]) == ("s-1", str(project))
    asker = told["asker"]
    assert (asker["machine"], asker["team"], asker["agent"]) == ("laptop-7", "payments", "codex")
    assert (asker["project"], bool(asker["user"])) == (str(project), True)


def test_nobody_gets_in_without_a_key_or_without_the_right_authority(place: Place, tmp_path: Path) -> None:
    """No user, a server that an unknown authority signed, and no encryption are all refused."""
    other = tmp_path / "other"
    other.mkdir()
    _make_certificate(other)
    anonymous = ServerAddress(addresses=(place.address,), ca=place.ca)
    good = place.server("machine-laptop-7")
    stranger = ServerAddress(addresses=(place.address,), nkey=good.nkey, ca=str(other / "server.pem"))
    for server, why in ((anonymous, "uthorization"), (stranger, "certificate|CERTIFICATE|answer")):
        with pytest.raises(UnreachableError, match=why):
            asyncio.run(connect(server, "test"))
