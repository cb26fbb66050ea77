"""Policies by a real server: published by one process, followed by another, through every outage."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.fleet.company import Company, Machine, agents_off, settings
from tests.fleet.server import NatsServer, find_program
from tests.patience import run_async, until, until_async

from hookline.apps.cli.main import main
from hookline.errors import UsageError
from hookline.fleet.names import POLICY_BUCKET, ServerAddress
from hookline.fleet.nats.bucket import Bucket, ConflictError, make_bucket, put_value, value_of
from hookline.fleet.nats.connection import connected
from hookline.fleet.policy.bucket import publish
from hookline.fleet.policy.documents import Document, SignedDocument, new_key, now, sign, unsigned
from hookline.fleet.policy.follow import Follower, PolicyUpdate

# A server that does not answer is noticed after some seconds.
pytestmark = pytest.mark.timeout(90)

WAIT_S = 40.0


@pytest.fixture
def company(nats: NatsServer, own_home: Path, tmp_path: Path) -> Company:
    """The company; its machine's settings name the server."""
    del own_home
    made = Company(tmp_path)
    made.write_system(fleet={"servers": [nats.address]})
    return made


def version_in(company: Company, team: str = "all") -> int:
    """The version in force; 0 before the first."""
    found = company.place(team).read(company.place(team).current)
    return 0 if found is None else found.document.version


def _has_version(company: Company, version: int) -> bool:
    return version_in(company) == version


class Following:
    """A follower in this process, and what it said."""

    def __init__(self, company: Company, nats: NatsServer, team: str = "all") -> None:
        self.heard: list[PolicyUpdate] = []
        self.follower = Follower(nats.server, company.place(team), self.heard.append, alive_s=0.3)

    def has_said(self, words: str) -> bool:
        """Whether it said these words."""
        return any(words in news.message for news in self.heard)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Following"]:
        """While it follows."""
        task = asyncio.create_task(self.follower.run())
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def put(nats: NatsServer, company: Company, document: Document) -> tuple[str, ...]:
    """Publishes a document."""
    async with connected(nats.server, "test") as client:
        return await publish(client, company.signed(document), (company.key,))


async def force(nats: NatsServer, key: str, data: bytes) -> None:
    """Put any bytes under a key, as an attacker could who has the server and not the company's key."""
    async with connected(nats.server, "test") as client:
        await make_bucket(client, POLICY_BUCKET, history=8)
        bucket = Bucket(client, POLICY_BUCKET)
        found = await value_of(bucket, key)
        await put_value(bucket, key, data, after=None if found is None else found.revision)


@run_async
async def test_a_change_reaches_a_follower(company: Company, nats: NatsServer) -> None:
    """Before there is a bucket, and each time that something is published."""
    async with Following(company, nats).running() as following:
        await until_async(lambda: following.has_said("the server does not have it"))
        for version in (1, 2, 3):
            assert await put(nats, company, company.bundle(version=version)) == ("bundle.all",)
            await until_async(partial(_has_version, company, version))
        await put(nats, company, company.switches(agents_off()))
        await until_async(company.place().switches_of("all").exists)


@pytest.mark.fleet
@pytest.mark.parametrize("outage", ["killed", "frozen"])
@run_async
async def test_an_outage_loses_nothing(company: Company, nats: NatsServer, outage: str) -> None:
    """The policy stays in force during an outage, and a newer one arrives when the server is back."""
    async with Following(company, nats).running() as following:
        await put(nats, company, company.bundle(version=1))
        await until_async(lambda: version_in(company) == 1)
        nats.kill() if outage == "killed" else nats.freeze()
        said = "was lost" if outage == "killed" else "does not answer"
        await until_async(lambda: following.has_said(said))
        assert version_in(company) == 1
        nats.start() if outage == "killed" else nats.thaw()
        await put(nats, company, company.bundle(version=2))
        await until_async(lambda: version_in(company) == 2)
        nats.kill()
        nats.start()
        await put(nats, company, company.bundle(version=3))
        await until_async(lambda: version_in(company) == 3)
        await put(nats, company, company.bundle(version=4))
        await until_async(lambda: version_in(company) == 4)


@run_async
async def test_a_follower_ends_although_the_client_forgets_that_it_was_cancelled(
    company: Company, nats: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Python 3.11 the client's `wait_for` does that if an answer comes just then; SIGTERM would have no effect."""
    is_waiting = asyncio.Event()

    async def forgets(_client: Any, timeout: int = 10) -> None:  # noqa: ASYNC109 - as the client has it
        del timeout
        is_waiting.set()
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)

    await put(nats, company, company.bundle())
    monkeypatch.setattr("nats.aio.client.Client.flush", forgets)
    task = asyncio.create_task(Following(company, nats).follower.run())
    await asyncio.wait_for(is_waiting.wait(), WAIT_S)
    task.cancel()
    done, _ = await asyncio.wait((task,), timeout=WAIT_S)
    assert done


@run_async
async def test_what_must_not_be_in_force_is_refused_and_said(
    company: Company, nats: NatsServer, tmp_path: Path
) -> None:
    """Forged, older, expired, cut off, for another team, or of another kind: the last good one stays."""
    new_key(tmp_path / "other.key")
    whole = company.signed(company.bundle(version=9)).to_bytes()
    bad: dict[str, SignedDocument | bytes] = {
        "not signed by a key": sign(unsigned(company.bundle(version=9)), tmp_path / "other.key"),
        "is not signed; run": unsigned(company.bundle(version=9)),
        "not newer than 5": company.signed(company.bundle(version=4)),
        "version 6 expired on": company.signed(company.bundle(version=6, expires=now() - timedelta(days=1))),
        "was cut off": whole[:-30],
        "is for web, and": company.signed(company.bundle(version=9, teams=("web",))),
        "not a signed document": b"hello",
    }
    await put(nats, company, company.bundle(version=5))
    async with Following(company, nats).running() as following:
        await until_async(lambda: version_in(company) == 5)
        for words, document in bad.items():
            await force(nats, "bundle.all", document if isinstance(document, bytes) else document.to_bytes())
            await until_async(partial(following.has_said, words))
        assert version_in(company) == 5
        assert all(news.is_problem for news in following.heard if "refused" in news.message)
        with pytest.raises(UsageError, match="has version 6 already"):
            await put(nats, company, company.bundle(version=6))
        await put(nats, company, company.bundle(version=7))
        await until_async(lambda: version_in(company) == 7)


@run_async
async def test_a_team_has_its_own_and_everybodys_switches(company: Company, nats: NatsServer) -> None:
    """In any order, the team's bundle is in force, and the switch for all also applies."""
    await put(nats, company, company.bundle(version=8))
    await put(nats, company, company.bundle(version=3, teams=("pay.ments",)))
    async with Following(company, nats, "pay.ments").running() as following:
        await until_async(lambda: version_in(company, "pay.ments") == 3)
        await put(nats, company, company.switches(agents_off()))
        await until_async(company.place("pay.ments").switches_of("all").exists)
        await put(nats, company, company.bundle(version=9))
        await put(nats, company, company.bundle(version=4, teams=("pay.ments",)))
        await until_async(lambda: version_in(company, "pay.ments") == 4)
        assert not following.has_said("refused")


@run_async
async def test_a_directory_that_can_not_be_written_is_tried_again(company: Company, nats: NatsServer) -> None:
    """The bundle is valid: the follower reports the fault, and installs it as soon as it can."""
    company.directory.write_text("in the way")
    await put(nats, company, company.bundle())
    async with Following(company, nats).running() as following:
        await until_async(lambda: following.has_said("can't be put in force"))
        company.directory.unlink()
        await until_async(lambda: company.place().current.exists() and version_in(company) == 1)


@pytest.mark.parametrize("harm", ["bundle", "script", "switches", "everything"])
@run_async
async def test_what_somebody_removes_is_put_in_force_again(company: Company, nats: NatsServer, harm: str) -> None:
    """By a running follower, without a new document from the company, and with a warning."""
    place = company.place()
    await put(nats, company, company.bundle(version=7, files={"guard.sh": "exit 2"}))
    await put(nats, company, company.switches(agents_off(), version=3))
    async with Following(company, nats).running() as following:
        await until_async(lambda: following.has_said("version 7 for all is in force"))
        await until_async(lambda: following.has_said("version 3 for all are in force"))
        match harm:
            case "bundle":
                place.current.unlink()
            case "script":
                next(company.directory.glob("versions/*/guard.sh")).unlink()
            case "switches":
                place.switches_of("all").unlink()
            case "everything":
                # At once: the follower may write there at the same time.
                company.directory.rename(company.root / "gone")
        await until_async(lambda: following.has_said("changed or removed here"))
        await until_async(lambda: place.is_whole() and place.switches_of("all").exists())
        assert version_in(company) == 7
        assert not following.has_said("refused")


@run_async
async def test_a_change_does_not_hide_that_the_rest_was_removed(company: Company, nats: NatsServer) -> None:
    """Switches that arrive in an emptied directory are all that seen.json knows then; the bundle comes back as well."""
    place = company.place()
    await put(nats, company, company.bundle(version=7))
    async with Following(company, nats).running() as following:
        await until_async(lambda: following.has_said("in force"))
        company.directory.rename(company.root / "gone")
        place.take(company.signed(company.switches(agents_off(), version=3)).to_bytes())
        assert version_in(company) == 0
        await until_async(lambda: version_in(company) == 7)


@run_async
async def test_versions_only_grow_in_the_bucket(company: Company, nats: NatsServer) -> None:
    """A lower version is refused before it is published; two at the same time can't both win."""
    await put(nats, company, company.bundle(version=3))
    with pytest.raises(UsageError, match="give it a version from 4 on"):
        await put(nats, company, company.bundle(settings("true"), version=3))
    async with connected(nats.server, "test") as client:
        await make_bucket(client, POLICY_BUCKET, history=8)
        bucket = Bucket(client, POLICY_BUCKET)
        found = await value_of(bucket, "bundle.all")
        assert found is not None
        await put_value(bucket, "bundle.all", b"x", after=found.revision)
        with pytest.raises(ConflictError, match="changed by another user"):
            await put_value(bucket, "bundle.all", b"y", after=found.revision)
    # An unsigned value in the bucket blocks no publisher.
    await put(nats, company, company.bundle(version=4))


@contextmanager
def process(*words: str, cwd: Path) -> Iterator["subprocess.Popen[str]"]:
    """A hookline process, which is ended at the end."""
    command = [sys.executable, "-m", "hookline", *words]
    started = subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield started
    finally:
        started.send_signal(signal.SIGTERM)
        started.communicate(timeout=45)


@pytest.mark.fleet
def test_the_commands_by_a_server(
    company: Company, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another process follows while this one publishes, switches and rolls back; a third asks the hooks."""
    key = ("--key", str(company.key_file))
    file = tmp_path / "policy.json"
    machine = Machine(project)

    def publish_version(version: int, command: str) -> None:
        file.write_bytes(company.signed(company.bundle(settings(command), version)).to_bytes())
        assert main(["fleet", "policy", "publish", str(file)]) == 0

    with process("fleet", "policy", "follow", cwd=project) as follower:
        assert follower.stdout is not None
        assert "following nats://" in follower.stdout.readline()
        publish_version(1, "echo one >&2; exit 2")
        until(lambda: machine.fires().reason == "one")
        publish_version(2, "exit 0")
        until(lambda: not machine.fires().blocked)
        assert main(["fleet", "policy", "rollback", "--to", "1", *key]) == 0
        until(lambda: machine.fires().reason == "one")
        assert main(["fleet", "policy", "switch", "hook", "guard", "off", "--reason", "noise", *key]) == 0
        until(lambda: not machine.fires().blocked)
        assert (
            main(["fleet", "policy", "switch", "agents", "off", "--reason", "incident", "--expires", "1h", *key]) == 0
        )
        until(lambda: "incident" in (machine.fires().reason or ""))
        assert main(["fleet", "policy", "switch", "agents", "on", *key]) == 0
        until(lambda: not machine.fires().blocked)
    capsys.readouterr()
    assert main(["fleet", "policy", "rollback", "--to", "77", *key]) == 1
    assert "it has: 1, 2, 3" in capsys.readouterr().err
    assert main(["fleet", "policy", "pull"]) == 0
    assert main(["fleet", "policy", "status", "--json"]) == 0
    status: dict[str, Any] = json.loads(capsys.readouterr().out.partition("\n")[2])
    assert (status["version"], list(status["hooksOff"])) == (3, ["guard"])
    log = Path(os.environ["HOOKLINE_STATE_DIR"], "hooks.jsonl").read_text()
    assert "policy: bundle version 3 for all is in force" in log


@pytest.mark.fleet
@pytest.mark.skipif(sys.platform != "linux", reason="the server of bridges needs Linux")
def test_serve_follows_beside_its_work(company: Company, nats: NatsServer, project: Path) -> None:
    """Where the settings name a server and this user may write the policy's directory."""
    with process("serve", cwd=project):
        asyncio.run(put(nats, company, company.bundle()))
        until(lambda: company.place().current.exists() and version_in(company) == 1)


HALF = """
authorization {
  users: [
    {user: all, password: p}
    {user: half, password: p, permissions: {publish: {deny: "$KV.hookline_policy.bundle.web"}}}
  ]
}
"""


@pytest.mark.fleet
def test_a_publisher_that_fails_half_way_says_who_has_it(
    own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same again does the rest, and leaves alone what is there already."""
    del own_home
    if find_program() is None:
        pytest.skip("no nats-server here: `make setup` installs it")
    nats = NatsServer(tmp_path / "nats", config=HALF)
    nats.start()
    try:
        company, file = Company(tmp_path), tmp_path / "policy.json"
        document = company.bundle(version=3, teams=("payments", "web"))
        file.write_bytes(company.signed(document).to_bytes())
        for user, code in (("half", 2), ("all", 0), ("all", 0)):
            company.write_system(fleet={"servers": [nats.address.replace("//", f"//{user}:p@")]})
            assert (main(["fleet", "policy", "publish", str(file)]) == 0) is (code == 0)
            shown = capsys.readouterr()
            if code:
                assert "payments has it, and web may not have it; do the same again" in shown.err
            else:
                assert "published: bundle.payments, bundle.web" in shown.out

        async def revisions() -> list[int]:
            async with connected(ServerAddress(addresses=(nats.address.replace("//", "//all:p@"),)), "test") as client:
                await make_bucket(client, POLICY_BUCKET, history=8)
                bucket = Bucket(client, POLICY_BUCKET)
                kept = [await value_of(bucket, f"bundle.{team}") for team in ("payments", "web")]
                return [0 if value is None else value.revision for value in kept]

        assert asyncio.run(revisions()) == [1, 2]
    finally:
        nats.end()
