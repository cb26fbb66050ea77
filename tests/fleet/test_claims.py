"""Commands of the fleet say that something is done, valid or running only if it is."""

import asyncio
import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.fleet.company import Company
from tests.fleet.server import NatsServer, find_program

from hookline.apps.cli.main import main
from hookline.fleet.names import MACHINES_BUCKET, POLICY_BUCKET
from hookline.fleet.nats.bucket import Bucket, set_value, values_before
from hookline.fleet.nats.connection import connected
from hookline.fleet.policy.documents import new_key, now, public_key, sign, unsigned

pytestmark = pytest.mark.usefixtures("own_home")
_server = pytest.mark.skipif(find_program() is None, reason="no nats-server here: `make setup` installs it")
OFF = ("switch", "agents", "off", "--reason", "incident")


def stored_under(nats: NatsServer, key: str) -> int:
    """How many values the bucket has had under a key."""

    async def go() -> int:
        async with connected(nats.server, "test") as client:
            return len(await values_before(Bucket(client, POLICY_BUCKET), key))

    return asyncio.run(go())


@pytest.fixture
def company(tmp_path: Path, nats: NatsServer) -> Company:
    """A company with a server and one published bundle."""
    company = Company(tmp_path)
    company.write_system(fleet={"servers": [nats.address]})
    file = tmp_path / "policy.json"
    file.write_bytes(company.signed(company.bundle()).to_bytes())
    assert main(["fleet", "policy", "publish", str(file)]) == 0
    return company


def test_an_expired_bundle_is_not_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Machines refuse it, so `verify` does; one that expires later is valid."""
    company, file = Company(tmp_path), tmp_path / "policy.json"
    file.write_bytes(company.signed(company.bundle(expires=now() - timedelta(seconds=1))).to_bytes())
    assert main(["fleet", "policy", "verify", str(file)]) == 1
    printed = capsys.readouterr()
    assert "valid" not in printed.out
    assert "expired on" in printed.err
    file.write_bytes(company.signed(company.bundle(expires=now() + timedelta(days=1))).to_bytes())
    assert main(["fleet", "policy", "verify", str(file)]) == 0
    assert "valid" in capsys.readouterr().out


@_server
def test_an_expired_bundle_is_not_published(company: Company, nats: NatsServer, tmp_path: Path) -> None:
    """Nothing reaches the bucket."""
    file = tmp_path / "policy.json"
    file.write_bytes(company.signed(company.bundle(version=2, expires=now() - timedelta(seconds=1))).to_bytes())
    assert main(["fleet", "policy", "publish", str(file)]) == 1
    assert stored_under(nats, "bundle.all") == 1


@_server
@pytest.mark.parametrize("knows", ["settings", "bucket", "nothing"])
@pytest.mark.parametrize("words", [OFF, ("rollback", "--to", "1")], ids=["switch", "rollback"])
def test_a_key_that_no_machine_obeys_publishes_nothing(
    company: Company,
    nats: NatsServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    knows: str,
    words: tuple[str, ...],
) -> None:
    """Whether the settings here name the keys, or only the bucket shows who signs; --force publishes all the same."""
    assert company.key_file.exists()
    other, key = tmp_path / "other.key", "switches.all" if words is OFF else "bundle.all"
    public = new_key(other)
    if knows != "settings":
        file = Path(os.environ["HOOKLINE_SYSTEM_SETTINGS"])
        file.write_text(json.dumps({"hooksConfig": {"fleet": {"servers": [nats.address]}}}))
    if knows == "nothing":
        _spoil(nats)
    before = stored_under(nats, key)
    assert main(["fleet", "policy", *words, "--key", str(other)]) == 1
    printed = capsys.readouterr()
    assert "published:" not in printed.out
    assert "nothing was published" in printed.err
    assert public in printed.err
    assert stored_under(nats, key) == before
    if words is OFF:
        assert main(["fleet", "policy", *words, "--key", str(other), "--force"]) == 0
        assert stored_under(nats, key) == before + 1


def _spoil(nats: NatsServer) -> None:
    async def go() -> None:
        async with connected(nats.server, "test") as client:
            await set_value(Bucket(client, POLICY_BUCKET), "bundle.all", b"")

    asyncio.run(go())


@_server
def test_the_right_key_publishes_and_the_machine_takes_it(company: Company, tmp_path: Path) -> None:
    """Also the second of two keys, while one replaces the other, and where only the bucket shows who signs."""
    second = tmp_path / "second.key"
    keys = [company.key, new_key(second)]
    servers = json.loads(Path(os.environ["HOOKLINE_SYSTEM_SETTINGS"]).read_text())["hooksConfig"]["fleet"]
    company.write_system(fleet=servers, publicKeys=keys)
    for key in (company.key_file, second):
        assert public_key(key) in keys
        assert main(["fleet", "policy", *OFF, "--key", str(key)]) == 0
        assert main(["fleet", "policy", "pull"]) == 0
    assert main(["fleet", "policy", "rollback", "--to", "1", "--key", str(company.key_file)]) == 0
    assert main(["fleet", "policy", "pull"]) == 0


@_server
def test_a_version_that_machines_have_seen_is_not_published_again(
    company: Company, nats: NatsServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Even if the server has lost it: the journal of this user knows, and the same document may be published again."""
    file = tmp_path / "policy.json"

    async def lose() -> None:
        async with connected(nats.server, "test") as client:
            await client.jetstream().delete_stream(f"KV_{POLICY_BUCKET}")

    first = company.signed(company.bundle(version=5)).to_bytes()
    file.write_bytes(first)
    assert main(["fleet", "policy", "publish", str(file)]) == 0
    asyncio.run(lose())
    file.write_bytes(company.signed(company.bundle({}, version=5)).to_bytes())
    assert main(["fleet", "policy", "publish", str(file)]) == 1
    assert "give it a version from 6 on" in capsys.readouterr().err
    file.write_bytes(first)
    assert main(["fleet", "policy", "publish", str(file)]) == 0


@_server
def test_setup_protects_what_an_older_version_made(nats: NatsServer, tmp_path: Path) -> None:
    """Nobody can erase the heartbeats of others with a header, also in a bucket that is there already."""
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps({"hooksConfig": {"fleet": {"servers": [nats.address]}}}))

    async def erase() -> Any:
        async with connected(nats.server, "test") as client:
            return await client.request(f"$KV.{MACHINES_BUCKET}.a.b.c", b"x", headers={"Nats-Rollup": "all"})

    async def make() -> None:
        async with connected(nats.server, "test") as client:
            await client.jetstream().create_key_value(bucket=MACHINES_BUCKET, history=1)

    asyncio.run(make())
    assert b"error" not in asyncio.run(erase()).data
    assert main(["fleet", "run", "--setup", "--settings", str(settings)]) == 0
    assert b"rollup not permitted" in asyncio.run(erase()).data
    assert main(["fleet", "run", "--setup", "--settings", str(settings)]) == 0


@pytest.mark.parametrize(
    "words",
    [
        ("fleet", "worker", "--subject", "dlp"),
        ("fleet", "run"),
        ("fleet", "run", "--once"),
        ("fleet", "status"),
        ("fleet", "events"),
        ("fleet", "run", "--setup"),
        ("fleet", "verify"),
        ("fleet", "policy", "follow"),
        ("fleet", "policy", "pull"),
        ("fleet", "policy", *OFF, "--key", "policy.key"),
    ],
    ids=" ".join,
)
def test_without_the_extra_a_command_ends_at_once(tmp_path: Path, project: Path, words: tuple[str, ...]) -> None:
    """With the command that installs it; none of them waits for a client that can't come."""
    company = Company(tmp_path)
    company.write_system(fleet={"servers": ["nats://127.0.0.1:9"]})
    file = Path(os.environ["HOOKLINE_SYSTEM_SETTINGS"])
    settings = json.loads(file.read_text())
    hook = {"type": "command", "command": "exit 0"}
    file.write_text(json.dumps({**settings, "enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [hook]}]}}))
    code = (
        "import sys; sys.modules['nats'] = None; from hookline.apps.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    given = [str(tmp_path / word) if word == "policy.key" else word for word in words]
    done = subprocess.run(
        [sys.executable, "-c", code, *given], cwd=project, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, "[fleet]'" in done.stderr) == (1, True), done


def test_a_document_that_nobody_signed_is_not_valid(tmp_path: Path) -> None:
    """Nor one that another key signed."""
    company, file = Company(tmp_path), tmp_path / "policy.json"
    new_key(tmp_path / "other.key")
    for envelope in (unsigned(company.bundle()), sign(unsigned(company.bundle()), tmp_path / "other.key")):
        file.write_bytes(envelope.to_bytes())
        assert main(["fleet", "policy", "verify", str(file)]) == 1
