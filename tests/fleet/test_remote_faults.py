"""Workers, servers and networks that die, stand still or are slow: the configured answer, soon; nothing runs later."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.fleet.proxy import SlowProxy
from tests.fleet.server import NatsServer
from tests.fleet.workers import Machine, WorkerProcess, ended, guard, lines, remote_settings
from tests.patience import run_async, until_async

from hookline.protocol.verdict import Verdict

pytestmark = pytest.mark.fleet

# The requirement is one second; a loaded machine gets more. The hooks' own timeout is a minute.
SOON_S = 8.0
# Notes that it began, and ends when the file `go` exists.
WAITING = "echo began >> began; until [ -e go ]; do sleep 0.02; done; echo ended >> ended"

StartWorker = Callable[..., WorkerProcess]


@pytest.fixture
def start_worker(nats: NatsServer, tmp_path: Path) -> Iterator[StartWorker]:
    """Starts workers, and ends them."""
    started: list[WorkerProcess] = []

    def start(name: str, command: str = "true", *options: str, **more: Any) -> WorkerProcess:
        fleet = {"servers": [nats.address], **more}
        started.append(WorkerProcess(tmp_path / name, fleet, guard(command), *options))
        return started[-1].wait()

    yield start
    ended(started)
    for folder in tmp_path.iterdir():  # a worker that is killed leaves its hook behind
        if folder.is_dir():
            (folder / "go").touch()


@pytest.fixture
def machine(nats: NatsServer, project: Path) -> Iterator[Machine]:
    """A machine with a strict remote hook."""
    machine = Machine(project, remote_settings({"servers": [nats.address]}))
    yield machine
    machine.close()


def reason(verdict: Verdict) -> str:
    """Why it is blocked; it has to be."""
    assert verdict.blocked, verdict
    return verdict.reason or ""


def test_a_worker_that_is_killed_at_work_means_deny(
    start_worker: StartWorker, machine: Machine, tmp_path: Path
) -> None:
    """Its signs of life end, and the asker does not wait for the timeout."""
    worker = start_worker("w", WAITING)

    async def go() -> Verdict:
        asking = asyncio.create_task(machine.fire())
        await until_async(lambda: bool(lines(tmp_path / "w/began")))
        worker.signal(signal.SIGKILL)
        return await asking

    assert f"worker {worker.name} fell silent while it worked" in reason(asyncio.run(go()))
    assert machine.took_s < SOON_S


@run_async
async def test_a_frozen_worker_does_not_run_what_was_abandoned(
    start_worker: StartWorker, machine: Machine, tmp_path: Path
) -> None:
    """The client has left when the suspended worker resumes and reads its request; the next event is served."""
    worker = start_worker("w", "echo ran >> ran")
    await machine.fire()
    worker.signal(signal.SIGSTOP)
    for _ in range(2):
        why = reason(await machine.fire())
        assert "no worker answered" in why
        assert machine.took_s < SOON_S
    worker.signal(signal.SIGCONT)
    await asyncio.sleep(1.0)  # whatever it would run, it would run now
    assert lines(tmp_path / "w/ran") == ["ran"]
    assert not (await machine.fire()).blocked
    assert lines(tmp_path / "w/ran") == ["ran", "ran"]


@pytest.mark.parametrize("is_server_dead", [False, True])
def test_a_worker_that_freezes_while_requests_wait_in_it_runs_none_of_them(
    start_worker: StartWorker, machine: Machine, nats: NatsServer, tmp_path: Path, *, is_server_dead: bool
) -> None:
    """They got their go and waited for a slot. After the suspension their clients have left."""
    worker = start_worker("w", WAITING, "--concurrency", "1")

    async def go() -> None:
        asking = [asyncio.create_task(machine.fire()) for _ in range(4)]
        await until_async(lambda: bool(lines(tmp_path / "w/began")))
        await asyncio.sleep(0.7)  # all four are claimed, and three wait
        worker.signal(signal.SIGSTOP)
        if is_server_dead:
            nats.kill()
        for verdict in await asyncio.gather(*asking):
            assert "fell silent" in reason(verdict)
        (tmp_path / "w/go").touch()
        await asyncio.sleep(0.3)
        worker.signal(signal.SIGCONT)
        await asyncio.sleep(1.5)

    asyncio.run(go())
    assert lines(tmp_path / "w/began") == ["began"]


def test_another_worker_answers_for_a_frozen_one(start_worker: StartWorker, machine: Machine, tmp_path: Path) -> None:
    """A request that no worker claims is sent again, and runs once."""
    frozen, other = start_worker("a", "echo ran >> ran"), start_worker("b", "echo ran >> ran")

    async def go() -> list[Verdict]:
        await machine.fire()
        frozen.signal(signal.SIGSTOP)
        (tmp_path / "b/ran").unlink(missing_ok=True)
        verdicts = [await machine.fire() for _ in range(6)]
        frozen.signal(signal.SIGCONT)
        await asyncio.sleep(1.0)
        return verdicts

    verdicts = asyncio.run(go())
    served = [verdict for verdict in verdicts if not verdict.blocked]
    # Three attempts all go to the frozen one in one of eight cases.
    assert len(served) >= 2
    assert {run.worker for verdict in served for run in verdict.runs} == {other.name}
    assert len(lines(tmp_path / "b/ran")) == len(served)
    assert len(lines(tmp_path / "a/ran")) <= 1


@pytest.mark.parametrize("how", ["kill", "freeze"])
@run_async
async def test_a_dead_server_means_deny_and_all_go_on_when_it_is_back(
    start_worker: StartWorker, machine: Machine, nats: NatsServer, how: str
) -> None:
    """Asker and worker connect again by themselves."""
    start_worker("w")
    assert not (await machine.fire()).blocked
    (nats.kill if how == "kill" else nats.freeze)()
    for _ in range(2):
        assert (await machine.fire()).blocked
        assert machine.took_s < SOON_S
    (nats.start if how == "kill" else nats.thaw)()
    async with asyncio.timeout(15):
        while (await machine.fire()).blocked:  # noqa: ASYNC110
            await asyncio.sleep(0.1)


def test_a_server_that_dies_while_a_worker_works_means_deny(
    start_worker: StartWorker, machine: Machine, nats: NatsServer, tmp_path: Path
) -> None:
    """The client gets no answer, and the worker ends the abandoned request."""
    start_worker("w", f"echo $$ > pid; {WAITING}")

    async def go() -> Verdict:
        asking = asyncio.create_task(machine.fire())
        await until_async(lambda: bool(lines(tmp_path / "w/began")))
        nats.kill()
        verdict = await asking
        hook = Path("/proc", (tmp_path / "w/pid").read_text().strip())
        await until_async(lambda: not hook.exists())
        return verdict

    reason(asyncio.run(go()))
    assert machine.took_s < SOON_S
    assert not lines(tmp_path / "w/ended")


@pytest.mark.parametrize(
    ("delay_s", "is_served"), [pytest.param(0.05, True, id="slow"), pytest.param(3.0, False, id="too slow")]
)
def test_a_slow_network_is_waited_for_a_second_at_most(
    start_worker: StartWorker, nats: NatsServer, project: Path, tmp_path: Path, delay_s: float, *, is_served: bool
) -> None:
    """Each way takes that long. What takes too long is not run later, either."""
    start_worker("w", "echo ran >> ran")
    with SlowProxy(nats.port) as proxy:
        machine = Machine(project, remote_settings({"servers": [f"nats://127.0.0.1:{proxy.port}"]}))

        async def go() -> None:
            assert not (await machine.fire()).blocked
            proxy.delay_s = delay_s
            verdict = await machine.fire()
            assert verdict.blocked is not is_served
            assert machine.took_s < SOON_S
            await asyncio.sleep(0 if is_served else 2.5 * delay_s)

        asyncio.run(go())
        machine.close()
    assert len(lines(tmp_path / "w/ran")) == (2 if is_served else 1)


def test_sigterm_finishes_what_runs_and_takes_no_more(
    start_worker: StartWorker, machine: Machine, tmp_path: Path
) -> None:
    """The current event is answered; the next one finds no worker."""
    worker = start_worker("w", WAITING)

    async def go() -> None:
        asking = asyncio.create_task(machine.fire())
        await until_async(lambda: bool(lines(tmp_path / "w/began")))
        worker.signal(signal.SIGTERM)
        await asyncio.sleep(0.5)
        assert "no worker is there" in reason(await machine.fire())
        (tmp_path / "w/go").touch()
        assert not (await asking).blocked

    asyncio.run(go())
    assert worker.process.wait(45) == 0
    assert lines(tmp_path / "w/ended") == ["ended"]


def test_an_asker_that_gives_up_ends_the_hook(
    start_worker: StartWorker, nats: NatsServer, project: Path, tmp_path: Path
) -> None:
    """The hook's timeout applies at the client, and the worker kills the hook of an abandoned request."""
    start_worker("w", "echo $$ > pid; exec sleep 60")
    machine = Machine(project, remote_settings({"servers": [nats.address]}, timeout=1000))

    def is_gone() -> bool:
        pid = int((tmp_path / "w/pid").read_text())
        return not Path(f"/proc/{pid}").exists()

    async def go() -> None:
        assert "timed out" in reason(await machine.fire())
        await until_async(is_gone)

    asyncio.run(go())
    machine.close()
