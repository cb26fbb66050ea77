import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.patience import LONG_S, until, with_enough_time

from hookline.protocol.hook_entry import ResourceLimits
from hookline.runners.process import orphans
from hookline.runners.process.batch import ChildLimits, ChildOutcome, run_children

if TYPE_CHECKING:
    from tests.runners.conftest import MakeJob, Run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="strays are found in /proc")

DAEMON = """
import os, signal, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
if "stubborn" in sys.argv: signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open("pid", "w") as file: file.write(f"{os.getpid()}\\n")
time.sleep(60)
"""
SETSID = "setsid sh -c 'echo $$ > pid; exec sleep 60'"
READY = "while ! test -s pid; do sleep 0.01; done"
HANG = "touch ready; sleep 60"
GRACE = ChildLimits(grace_s=0.5)


def is_alive(pid: int) -> bool:
    return orphans._orphan(pid) is not None


def is_gone_soon(pid: int) -> bool:
    return until(lambda: not is_alive(pid), "its end")


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[str]:
    """The command that starts a daemon, which does not survive the test."""
    (tmp_path / "daemon.py").write_text(DAEMON)
    yield f"{sys.executable} daemon.py"
    if (tmp_path / "pid").exists() and is_alive(pid := pid_in(tmp_path)):
        os.kill(pid, signal.SIGKILL)


def pid_in(folder: Path) -> int:
    return int((folder / "pid").read_text())


def wait_for_pid(folder: Path) -> None:
    until(lambda: (folder / "pid").exists() and (folder / "pid").read_text())


@pytest.mark.parametrize("limits", [None, ResourceLimits(cpu_s=50)], ids=["free", "within limits"])
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(f"{SETSID} & {READY}; {HANG}", id="setsid"),
        pytest.param(f"env -i {SETSID} & {READY}; {HANG}", id="setsid-without-environment"),
        pytest.param(f"(({SETSID} &) &); {READY}; {HANG}", id="setsid-of-an-orphan"),
        pytest.param(f"DAEMON; {READY}; {HANG}", id="daemon"),
        pytest.param(f"DAEMON stubborn; {READY}; {HANG}", id="daemon-that-ignores-TERM"),
        pytest.param(f"trap '' TERM; DAEMON; {READY}; {HANG} & while :; do sleep 1; done", id="hook-that-ignores-TERM"),
        pytest.param(f"DAEMON; {READY}; kill -STOP $(cat pid); {HANG}", id="stopped-daemon"),
    ],
)
def test_nothing_outlives_a_timeout(
    job: "MakeJob", tmp_path: Path, daemon: str, command: str, limits: ResourceLimits | None
) -> None:
    """A process that has left the group of the hook ends with it: by SIGTERM, and else by SIGKILL after the grace."""

    def attempt(timeout_ms: float) -> tuple[ChildOutcome, float]:
        (tmp_path / "pid").unlink(missing_ok=True)
        given = job(command.replace("DAEMON", daemon), timeout_ms=timeout_ms, limits=limits)
        (outcome,) = asyncio.run(run_children([given], limits=GRACE))
        return outcome, timeout_ms

    outcome, timeout_ms = with_enough_time(500, tmp_path / "ready", attempt)
    assert (outcome.timed_out, outcome.error) == (True, None)
    assert outcome.duration_ms < timeout_ms + 20_000
    assert is_gone_soon(pid_in(tmp_path))


def test_on_every_path_a_daemon_ends(job: "MakeJob", run: "Run", tmp_path: Path, daemon: str) -> None:
    """However processes are started and watched."""
    command = f"{daemon}; {READY}; {HANG}"

    def attempt(timeout_ms: float) -> ChildOutcome:
        (tmp_path / "pid").unlink(missing_ok=True)
        return run(job(command, timeout_ms=timeout_ms))[0]

    outcome = with_enough_time(500, tmp_path / "ready", attempt)
    assert outcome.timed_out
    assert is_gone_soon(pid_in(tmp_path))


def test_a_cancelled_hook_leaves_nothing(job: "MakeJob", tmp_path: Path, daemon: str) -> None:
    """The person who interrupts the agent does not expect its hooks to go on."""

    async def cancel() -> None:
        task = asyncio.ensure_future(run_children([job(f"{daemon}; sleep 60")], limits=GRACE))
        await asyncio.to_thread(wait_for_pid, tmp_path)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert is_gone_soon(pid_in(tmp_path))


def test_hooks_of_a_hook_end_with_it(job: "MakeJob", tmp_path: Path) -> None:
    """A hook may run hookline itself, whose hooks have other sessions and marks."""
    (tmp_path / "inner.py").write_text(
        "import asyncio, os\n"
        "from hookline.runners.process.batch import ChildJob, run_children\n"
        "command = '(setsid sh -c \"echo $$ > pid; touch ready; exec sleep 60\" &) ; sleep 60'\n"
        "job = ChildJob(command=command, stdin=b'', cwd='.', env=dict(os.environ), timeout_ms=60000)\n"
        "asyncio.run(run_children([job]))\n"
    )
    source = str(Path(orphans.__file__).parents[3])

    def attempt(timeout_ms: float) -> ChildOutcome:
        outer = job(f"{sys.executable} inner.py", timeout_ms=timeout_ms, env={"PYTHONPATH": source})
        return asyncio.run(run_children([outer], limits=GRACE))[0]

    assert with_enough_time(1000, tmp_path / "ready", attempt).timed_out
    assert is_gone_soon(pid_in(tmp_path))


def test_a_background_process_of_a_hook_that_ended_in_time_is_left_alone(
    job: "MakeJob", tmp_path: Path, daemon: str
) -> None:
    """Also while another hook of the same event times out."""
    fine, late = job(f"{daemon}; {READY}"), job("sleep 60", timeout_ms=500)
    outcomes = asyncio.run(run_children([fine, late], limits=GRACE))
    assert [outcome.timed_out for outcome in outcomes] == [False, True]
    time.sleep(1)
    assert is_alive(pid_in(tmp_path))


def test_at_the_end_of_the_program_nothing_has_its_grace(tmp_path: Path, daemon: str) -> None:
    """A daemon that ignores SIGTERM is killed before the program ends."""
    (tmp_path / "program.py").write_text(
        "import asyncio, os, sys\n"
        "from hookline.runners.process.batch import ChildJob, ChildLimits, run_children\n"
        f"job = ChildJob(command={f'{daemon} stubborn; {READY}; {HANG}'!r}, stdin=b'', cwd='.', "
        "env=dict(os.environ), timeout_ms=float(sys.argv[1]))\n"
        "asyncio.run(run_children([job], limits=ChildLimits(grace_s=600)))\n"
    )

    def attempt(timeout_ms: float) -> None:
        (tmp_path / "pid").unlink(missing_ok=True)
        command = [sys.executable, "program.py", str(timeout_ms)]
        subprocess.run(command, cwd=tmp_path, check=True, timeout=LONG_S)

    with_enough_time(500, tmp_path / "ready", attempt)
    assert is_gone_soon(pid_in(tmp_path))


def test_every_mark_is_given_once() -> None:
    """Also after a fork; and none is the beginning of another, so that no run is taken for another."""
    first = [next(orphans.MARKS) for _ in range(20)]
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.write(write, next(orphans.MARKS))
        os._exit(0)
    os.waitpid(child, 0)
    marks = [*first, os.read(read, 100), next(orphans.MARKS)]
    os.close(read)
    os.close(write)
    assert [(one, other) for one in marks for other in marks if one is not other and one in other] == []


@pytest.mark.req("WARM-007")
def test_a_number_that_now_belongs_to_another_process_is_not_signalled() -> None:
    """The time at which it started distinguishes them."""
    process = subprocess.Popen(["sleep", "60"])
    try:
        stray = orphans._orphan(process.pid)
        assert stray is not None
        orphans._send(stray._replace(started=b"1"), signal.SIGKILL)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.2)
        orphans._send(stray, signal.SIGKILL)
        assert process.wait(LONG_S) == -signal.SIGKILL
        orphans._send(stray, signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
