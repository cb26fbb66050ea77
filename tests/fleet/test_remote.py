"""Remote hooks with a real server and a real worker: what they answer counts as any hook's answer does."""

import asyncio
import json
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.fleet.server import NatsServer, find_program, free_port
from tests.fleet.workers import ECHO, Machine, WorkerProcess, guard, remote_settings

from hookline.client.config import Config
from hookline.fleet.names import ServerAddress
from hookline.fleet.nats.connection import connected
from hookline.fleet.policy.documents import now
from hookline.fleet.policy.packing import pack
from hookline.log.write.logger import MemorySink
from hookline.protocol.events import HookEventName
from hookline.protocol.verdict import Verdict
from hookline.settings.read.paths import SettingsPaths

pytestmark = pytest.mark.skipif(find_program() is None, reason="no nats-server here: `make setup` installs it")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, Any], WorkerProcess]]:
    """A server and a worker that says what it is asked to, for all tests here."""
    folder = tmp_path_factory.mktemp("place")
    server = NatsServer(folder / "nats")
    server.start()
    fleet = {"servers": [server.address]}
    worker = WorkerProcess(folder / "worker", fleet, guard(ECHO))
    try:
        worker.wait()
        yield fleet, worker
    finally:
        worker.end()
        server.end()


def fire(project: Path, settings: dict[str, Any] | None, *answers: Any, **options: Any) -> list[Verdict]:
    """Fire events one after another on one connection, and return their verdicts."""
    machine = Machine(project, settings, **options)

    async def go() -> list[Verdict]:
        return [await machine.fire(answer=answer, path="a") for answer in answers]

    try:
        return asyncio.run(go())
    finally:
        machine.close()


ANSWERS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "deny": {"decision": "deny", "reason": "a secret is in it"},
    "rewrite": {"hookSpecificOutput": {"tool_input": {"path": "b"}}},
    "context": {"hookSpecificOutput": {"additionalContext": "mind the licence"}},
    "ask": {"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "sure?"}},
    "stop": {"continue": False, "stopReason": "enough"},
    "notes": {"systemMessage": "for the model", "userMessage": "for you", "suppressOutput": True},
}
DECISION = (
    *("blocked", "denied", "stop", "ask", "reason", "stop_reason", "note", "user_message", "context", "suppress"),
    "arguments",
)


def decision(verdict: Verdict) -> dict[str, Any]:
    """Everything that a caller acts upon."""
    return {name: getattr(verdict, name) for name in DECISION}


def test_a_remote_hook_decides_as_a_local_one(place: tuple[dict[str, Any], WorkerProcess], project: Path) -> None:
    """Deny, rewrite, context, ask and stop: the event comes to the same, wherever the hook runs."""
    fleet, _ = place
    local = {**remote_settings(None), "hooks": guard(ECHO)}
    here = [decision(verdict) for verdict in fire(project, local, *ANSWERS.values())]
    there = [decision(verdict) for verdict in fire(project, remote_settings(fleet), *ANSWERS.values())]
    assert dict(zip(ANSWERS, there, strict=True)) == dict(zip(ANSWERS, here, strict=True))


def test_the_log_names_the_hook_the_way_and_the_worker(
    place: tuple[dict[str, Any], WorkerProcess], project: Path
) -> None:
    """The log names the machine that decided, and its hook."""
    fleet, worker = place
    memory = MemorySink()
    settings = remote_settings(fleet, name="secrets")
    (verdict,) = fire(project, settings, ANSWERS["deny"], log_sinks=[memory])
    who = f"secrets (worker {worker.name}: guard)"
    assert verdict.deciders == (who,)
    assert verdict.decided_by["decision"] == (who,)
    records = [record.to_dict() for record in memory.records]
    (run,) = [record for record in records if record["kind"] == "hook"]
    assert (run["way"], run["worker"], run["type"]) == ("remote", f"{worker.name}: guard", "remote")
    (event,) = [record for record in records if record["kind"] == "event"]
    assert list(event["by"]) == [who]


def test_a_remote_hook_has_the_rank_of_its_settings(
    place: tuple[dict[str, Any], WorkerProcess], project: Path, tmp_path: Path
) -> None:
    """A user's remote hook stands above a project's own, whatever the worker's settings are."""
    fleet, _ = place
    user = tmp_path / "user.json"
    user.write_text(json.dumps(remote_settings(fleet)))
    paths = SettingsPaths(project=project / "none.json", user=user, system=tmp_path / "none.json")
    (verdict,) = fire(project, None, ANSWERS["deny"], settings_paths=paths)
    (run,) = verdict.runs
    assert run.answer is not None
    assert (run.answer.rank, run.hook.rank, run.hook.source) == (2, 2, "user")


def test_no_worker_is_decided_by_on_error(place: tuple[dict[str, Any], WorkerProcess], project: Path) -> None:
    """Without a worker for the subject the server answers at once, and onError decides."""
    fleet, _ = place
    (denied,) = fire(project, remote_settings(fleet, subject="nobody"), {})
    assert (denied.blocked, denied.success) == (True, False)
    assert denied.reason is not None
    assert "no worker is there" in denied.reason
    (allowed,) = fire(project, remote_settings(fleet, subject="nobody", onError="allow"), {})
    assert (allowed.blocked, allowed.success) == (False, False)


def test_no_server_is_decided_by_on_error(project: Path) -> None:
    """Nothing accepts a connection: the configured answer, and at once while that is known."""
    fleet = {"servers": [f"nats://127.0.0.1:{free_port()}"]}
    first, second = fire(project, remote_settings(fleet), {}, {})
    assert first.blocked
    assert "can't be reached" in (first.reason or "") or "did not accept" in (first.reason or "")
    assert second.blocked


def test_an_event_that_no_hook_of_the_worker_is_for_fails(
    place: tuple[dict[str, Any], WorkerProcess], project: Path
) -> None:
    """A worker without a guard for the event must not let it pass in silence."""
    fleet, _ = place
    settings = remote_settings(fleet)
    settings["hooks"] = {"BeforeAgent": settings["hooks"]["BeforeTool"]}
    settings["hooksConfig"]["lifecycle"] = "apply"
    machine = Machine(project, settings)

    async def go() -> Verdict:
        await machine.system.initialize()
        return await machine.system.get_event_handler().fire(HookEventName.BEFORE_AGENT, {"prompt": "go"})

    try:
        verdict = asyncio.run(go())
    finally:
        machine.close()
    assert verdict.blocked
    assert "it has no hook for BeforeAgent" in (verdict.reason or "")


def test_whatever_is_sent_to_a_worker_it_goes_on(place: tuple[dict[str, Any], WorkerProcess], project: Path) -> None:
    """Messages that are none, nested without end, or without a reply are dropped, and the next event is served."""
    fleet, _ = place
    subject = "hookline.ask.all.dlp.x.one.hook-execution-request"

    async def send() -> None:
        async with connected(ServerAddress(addresses=tuple(fleet["servers"])), "stranger") as client:
            for data in (b"", b"[]", b"{", b"[" * 100_000, b'{"a":' * 100_000, b'{"correlationId": {"a": [1]}}'):
                await client.publish(subject, data)
                await client.publish(subject, data, reply="nobody.hears")
            await client.flush()

    asyncio.run(send())
    (verdict,) = fire(project, remote_settings(fleet), ANSWERS["deny"])
    assert verdict.reason == "a secret is in it"


def test_a_request_that_is_too_long_for_the_server_fails(
    place: tuple[dict[str, Any], WorkerProcess], project: Path
) -> None:
    """The server takes a megabyte; what is longer is not judged, and that is decided by onError."""
    fleet, _ = place
    (verdict,) = fire(project, remote_settings(fleet), {"reason": "x" * 1_100_000})
    assert verdict.blocked
    assert "and the server takes 1048576 at most" in (verdict.reason or "")


@pytest.mark.parametrize(
    ("fleet", "has_client", "why"),
    [
        pytest.param(None, True, "no server is named that its workers listen on", id="no fleet"),
        pytest.param({"team": "x"}, True, "no server is named that its workers listen on", id="no servers"),
        pytest.param({"servers": ["nats://x"]}, False, "[fleet]'", id="no extra"),
    ],
)
def test_a_remote_hook_that_can_not_be_asked_is_a_problem_and_fails(
    project: Path, monkeypatch: pytest.MonkeyPatch, fleet: Any, has_client: bool, why: str
) -> None:
    """A warning with the remedy comes when the settings are read, and onError decides its events."""
    if not has_client:
        monkeypatch.setitem(sys.modules, "nats", None)
    settings = remote_settings(fleet)
    (problem,) = Config(project, settings=settings).get_settings().problems
    assert problem.is_error
    assert why in str(problem)
    (verdict,) = fire(project, settings, {})
    assert verdict.blocked
    assert why in (verdict.reason or "")


@pytest.mark.parametrize(
    ("hook", "why"),
    [
        ({"type": "remote"}, 'add one, such as "subject": "dlp"'),
        ({"type": "remote", "subject": " "}, 'add one, such as "subject": "dlp"'),
        ({"type": "remote", "subject": 7}, 'add one, such as "subject": "dlp"'),
    ],
)
def test_a_remote_hook_needs_a_subject(project: Path, hook: dict[str, Any], why: str) -> None:
    """Without a subject the hook is invalid, and a warning reports it."""
    settings = {"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [hook]}]}}
    found = Config(project, settings=settings).get_settings()
    assert (found.hooks, [why in str(problem) for problem in found.problems]) == ((), [True])


def test_a_project_can_not_name_the_server(project: Path, tmp_path: Path) -> None:
    """Its remote hook is asked on the server of the user's or system's settings, and needs trust as any other."""
    (project / ".llxprt").mkdir()
    file = project / ".llxprt" / "settings.json"
    file.write_text(json.dumps(remote_settings({"servers": ["nats://evil"]})))
    user = tmp_path / "user.json"
    user.write_text(json.dumps({"hooksConfig": {"fleet": {"servers": ["nats://good"]}}}))
    paths = SettingsPaths(project=file, user=user, system=tmp_path / "none.json")
    found = Config(project, settings_paths=paths).get_settings()
    (hook,) = found.hooks
    assert (hook.needs_trust, hook.refusal) == (True, None)
    assert found.options.fleet is not None
    assert found.options.fleet.servers == ("nats://good",)


def test_a_policy_may_have_remote_hooks(tmp_path: Path) -> None:
    """They ask the server that each machine's own system settings name, so the bundle need not name one."""
    (tmp_path / "settings.json").write_text(json.dumps({"hooks": remote_settings(None)["hooks"]}))
    packed = pack(tmp_path, version=1, expires=now() + timedelta(days=1), teams=["all"])
    assert packed.warnings == ()
