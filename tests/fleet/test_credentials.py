"""Credentials with JWTs, and TLS with certificates of both sides, on real servers: right, wrong, expired, damaged."""

import asyncio
import json
import runpy
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.authority import Authority
from tests.fleet.credentials import Operator
from tests.fleet.server import NatsServer, find_program
from tests.patience import run_async, until_async

from hookline.apps.cli.main import main
from hookline.fleet.names import (
    AUDIT_STREAM,
    AUDIT_SUBJECTS,
    ServerAddress,
    UnreachableError,
    inbox_of,
    record_subjects,
)
from hookline.fleet.nats.connection import close, connect, connected
from hookline.fleet.nats.jetstream import make_stream, store

pytestmark = [
    pytest.mark.fleet,
    pytest.mark.usefixtures("patient"),
    pytest.mark.timeout(90),
    pytest.mark.skipif(find_program() is None, reason="no nats-server here: `make setup` installs it"),
]
CONTRIB = Path(__file__).resolve().parents[2] / "contrib" / "nats"
MACHINE: Any = runpy.run_path(str(CONTRIB / "users.py"))["machine"]("all", "m1")
WITHIN_S = 30.0


@pytest.fixture(scope="module")
def operator() -> Operator:
    return Operator(MACHINE.publish)


@pytest.fixture(scope="module")
def trusting(operator: Operator, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    """A server that believes this operator's JWTs."""
    folder = tmp_path_factory.mktemp("jwt")
    server = NatsServer(folder, config=operator.config(folder / "js"))
    server.start()
    try:
        yield server
    finally:
        server.end()


def server_of(nats: NatsServer, credentials: Path, machine: str = "m1") -> ServerAddress:
    return ServerAddress(addresses=(nats.address,), credentials=str(credentials), inbox=inbox_of(machine))


def refusal(server: ServerAddress) -> str:
    """Why a connection is refused."""
    with pytest.raises(UnreachableError) as raised:
        asyncio.run(connect(server, "test"))
    return str(raised.value)


@run_async
async def test_credentials_let_in_and_have_the_permissions_of_the_sample(
    trusting: NatsServer, operator: Operator, tmp_path: Path
) -> None:
    """With a JWT a machine may do what its role may in contrib/nats, and nothing else."""
    permissions = {"pub": {"allow": list(MACHINE.publish)}, "sub": {"allow": list(MACHINE.subscribe)}}
    machine = server_of(trusting, operator.user(tmp_path / "m1.creds", permissions))
    admin = server_of(trusting, operator.user(tmp_path / "admin.creds"), "admin")
    said: list[str] = []
    async with connected(admin, "admin") as client:
        await make_stream(client, AUDIT_STREAM, AUDIT_SUBJECTS, num_replicas=1, max_age=3600, max_bytes=-1)
    client = await connect(machine, "test", on_change=said.append)
    try:
        await store(client, record_subjects("all", "m1")[0], b"x", {})
        assert said == []
        await client.publish(record_subjects("all", "m2")[0], b"forged")
        await until_async(lambda: any("ermissions violation" in line for line in said))
    finally:
        await close(client)


def test_expired_credentials_are_named_with_their_date(
    trusting: NatsServer, operator: Operator, tmp_path: Path
) -> None:
    words = refusal(server_of(trusting, operator.user(tmp_path / "old.creds", expires=1_700_000_000)))
    assert "refuses this machine" in words
    assert f"{tmp_path / 'old.creds'} expired on 2023-11-14 22:13 UTC" in words
    assert "get new ones" in words


def test_credentials_of_another_company_are_refused_with_the_remedy(trusting: NatsServer, tmp_path: Path) -> None:
    words = refusal(server_of(trusting, Operator().user(tmp_path / "other.creds")))
    assert "refuses this machine" in words
    assert "hooksConfig.fleet.credentials" in words
    assert "expired" not in words


@pytest.mark.parametrize("text", ["", "hello", "-----BEGIN NATS USER JWT-----\nx\n------END NATS USER JWT------\n"])
def test_a_file_without_credentials_is_named(trusting: NatsServer, tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.creds").write_text(text)
    words = refusal(server_of(trusting, tmp_path / "bad.creds"))
    assert f"hooksConfig.fleet.credentials names {tmp_path / 'bad.creds'}, which has no" in words


def test_new_credentials_bring_a_connection_back(
    trusting: NatsServer, operator: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Credentials that expire while they are in use: the server ends the connection, and the new file is read."""
    monkeypatch.setattr("hookline.fleet.nats.connection._REFUSED_S", 0.1)
    file = tmp_path / "short.creds"
    operator.user(file, expires=int(time.time()) + 6)
    said: list[str] = []

    async def go() -> bytes:
        client = await connect(server_of(trusting, file), "test", on_change=said.append)
        try:
            heard = await client.subscribe("a")
            await until_async(lambda: any("xpired" in line for line in said))
            await until_async(lambda: any("Authorization Violation" in line for line in said))
            file.write_text("a moment without credentials")
            await until_async(lambda: any("has no JWT" in line for line in said))
            operator.user(file)
            await until_async(lambda: "connected again" in said)
            await client.publish("a", b"still subscribed")
            return bytes((await heard.next_msg(timeout=WITHIN_S)).data)
        finally:
            await close(client)

    assert asyncio.run(go()) == b"still subscribed"


def test_doctor_says_that_the_credentials_have_expired(
    trusting: NatsServer, operator: Operator, own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    credentials = operator.user(tmp_path / "old.creds", expires=1_700_000_000)
    fleet = {"servers": [trusting.address], "credentials": str(credentials)}
    settings = own_home / ".llxprt" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(json.dumps({"hooksConfig": {"fleet": fleet}}))
    main(["doctor", "--json"])
    checks = json.loads(capsys.readouterr().out)["checks"]
    (message,) = [check["message"] for check in checks if check["about"] == "fleet"]
    assert "expired on 2023-11-14" in message


@pytest.fixture(scope="module")
def encrypted(authority: Authority) -> Iterator[NatsServer]:
    """A server that wants a certificate of the authority from everybody."""
    cert, key = authority.certificate("server")
    config = f'tls {{ cert_file: "{cert}", key_file: "{key}", ca_file: "{authority.ca}", verify: true }}\n'
    server = NatsServer(authority.folder, config=config)
    server.start()
    try:
        yield server
    finally:
        server.end()


def test_a_machine_with_a_certificate_gets_in(encrypted: NatsServer, authority: Authority) -> None:
    cert, key = authority.certificate("m1")
    address = encrypted.address.replace("nats://", "tls://")
    server = ServerAddress(addresses=(address,), ca=str(authority.ca), cert=cert, key=key)

    async def go() -> bool:
        async with connected(server, "test") as client:
            await client.flush()
            return bool(client.is_connected)

    assert asyncio.run(go())


def test_who_has_no_certificate_or_one_of_another_authority_does_not(
    encrypted: NatsServer, authority: Authority, tmp_path: Path
) -> None:
    other = Authority(tmp_path)
    cert, key = other.certificate("m1")
    addresses = (encrypted.address.replace("nats://", "tls://"),)
    for server in (
        ServerAddress(addresses=addresses, ca=str(authority.ca)),
        ServerAddress(addresses=addresses, ca=str(authority.ca), cert=cert, key=key),
        ServerAddress(addresses=addresses, ca=str(other.ca), cert=cert, key=key),
    ):
        assert "hooksConfig.fleet" in refusal(server)


@pytest.mark.parametrize("option", ["ca", "cert", "key"])
@pytest.mark.parametrize("harm", ["missing", "damaged"])
def test_a_file_of_tls_that_can_not_be_used_is_named(
    authority: Authority, tmp_path: Path, option: str, harm: str
) -> None:
    """Before any connection, so no server is needed."""
    cert, key = authority.certificate("m1")
    bad = tmp_path / "bad.pem"
    if harm == "damaged":
        bad.write_text("no PEM\n")
    files: dict[str, Any] = {"ca": str(authority.ca), "cert": cert, "key": key, option: str(bad)}
    words = refusal(ServerAddress(addresses=("tls://127.0.0.1:1",), **files))
    assert "hooksConfig.fleet.tls" in words
    assert str(bad) in words
