"""Running hooks while something else goes wrong."""

import asyncio
import errno
import gc
import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import uvloop
from tests.patience import LONG_S, is_alive, until, until_async, with_enough_time

from hookline.runners.process import command, process
from hookline.runners.process.batch import ChildLimits, ChildOutcome, run_children
from hookline.runners.process.limit import LIMIT
from hookline.runners.process.pipes import OutputPipe
from hookline.runners.process.process import Process

if TYPE_CHECKING:
    from tests.runners.conftest import MakeJob, Run

SHORT = ChildLimits(grace_s=0.3)


@pytest.fixture
def long_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pipes of a new hook are not watched for five seconds."""
    monkeypatch.setattr(process, "QUIET_S", 5.0)


def refuse(*_given: object) -> None:
    """Fail as epoll does when the user watches too many descriptors."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_hook_that_cannot_be_watched_leaves_the_others_their_deadlines(
    job: "MakeJob", monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is ended, and reported as not watched."""
    monkeypatch.setattr(OutputPipe, "watch", refuse)
    jobs = [job("sleep 60"), job("sleep 60", timeout_ms=300)]
    outcomes = asyncio.run(asyncio.wait_for(run_children(jobs), 45))
    assert ["could not be watched" in (outcome.error or "") for outcome in outcomes] == [True, True]


@pytest.mark.usefixtures("long_quiet")
def test_a_known_exit_code_is_kept_when_the_pipes_cannot_be_watched(
    job: "MakeJob", monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deny of a hook that left a background process is no less a deny."""
    monkeypatch.setattr(OutputPipe, "watch", refuse)
    (outcome,) = asyncio.run(run_children([job("sleep 2 & echo no >&2; exit 2")]))
    assert (outcome.exit_code, outcome.stderr, outcome.error) == (2, b"no\n", None)


def test_output_after_a_cancellation_is_read(job: "MakeJob", tmp_path: Path) -> None:
    """So a hook that writes a lot while it cleans up can exit and need not be killed."""
    command = "trap 'head -c 300000 /dev/zero; echo > cleaned; exit' TERM; echo > ready; while :; do sleep 0.01; done"

    async def main() -> None:
        task = asyncio.create_task(run_children([job(command)], limits=ChildLimits(grace_s=20)))
        await until_async((tmp_path / "ready").exists)
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(main())
    assert (tmp_path / "cleaned").exists()


@pytest.mark.parametrize("run_loop", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
@pytest.mark.usefixtures("each_path")
def test_a_hook_that_ended_while_the_loop_was_busy_ended_in_time(run_loop: Any, job: "MakeJob", tmp_path: Path) -> None:
    """Its deny must not be lost: it met its deadline."""
    pid, go = tmp_path / "pid", tmp_path / "go"
    command = "echo $$ > new; mv new pid; until [ -e go ]; do sleep 0.01; done; touch ended; exit 2"

    async def main(timeout_ms: float) -> Any:
        deadline = time.monotonic() + timeout_ms / 1000
        task = asyncio.create_task(run_children([job(command, timeout_ms=timeout_ms)]))
        await until_async(lambda: pid.exists() or task.done())
        go.touch()
        while not task.done() and (is_alive(int(pid.read_text())) or time.monotonic() < deadline + 0.1):
            time.sleep(0.01)  # noqa: ASYNC251 - the busy program
        return (await task)[0]

    def attempt(timeout_ms: float) -> Any:
        for file in (pid, go):
            file.unlink(missing_ok=True)
        return run_loop(main(timeout_ms))

    outcome = with_enough_time(300, tmp_path / "ended", attempt)
    assert (outcome.exit_code, outcome.timed_out) == (2, False)


TRACED = """
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
ANYBODY, PR_SET_PTRACER, PTRACE_SEIZE = ctypes.c_long(-1), 0x59616D61, 0x4206
libc.prctl(PR_SET_PTRACER, ANYBODY, 0, 0, 0)
heard, tells = os.pipe()
if os.fork() == 0:
    for fd in (0, 1, 2, heard):
        os.close(fd)
    os.write(tells, bytes([libc.ptrace(PTRACE_SEIZE, os.getppid(), None, None) == 0]))
    os.close(tells)
    time.sleep(0.3)
    os._exit(0)
os.close(tells)
os._exit(3 if os.read(heard, 1) == bytes([1]) else 77)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ptrace is called as Linux has it")
def test_the_exit_code_of_a_traced_hook_is_waited_for(run: "Run", job: "MakeJob", tmp_path: Path) -> None:
    """The tracer of a process gets its exit status first, and only then its parent."""
    (tmp_path / "traced.py").write_text(TRACED)
    outcome, other = run(job(f"'{sys.executable}' traced.py"), job("exit 2"))
    if outcome.exit_code == 77:
        pytest.skip("tracing is not allowed here")
    assert (outcome.exit_code, outcome.signal, outcome.error) == (3, None, None)
    assert outcome.duration_ms >= 300
    assert other.exit_code == 2


def test_an_interrupted_start_leaves_nothing(job: "MakeJob", monkeypatch: pytest.MonkeyPatch) -> None:
    """The program gets its KeyboardInterrupt, and hooks that were started before are terminated."""
    genuine, started = command.start, list[int]()

    def spawn(*given: Any) -> int:
        if started:
            raise KeyboardInterrupt
        started.append(genuine(*given))
        return started[0]

    monkeypatch.setattr(command, "start", spawn)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(run_children([job("sleep 60"), job("sleep 60")]))
    gc.collect()  # the traceback of the interrupt
    assert LIMIT.running == 0


@pytest.mark.usefixtures("each_path")
def test_a_keyboard_interrupt_in_the_loop_leaves_nothing(job: "MakeJob") -> None:
    """A program that is interrupted in a separate loop and then cancels its tasks has no hook and no slot left."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    loop = asyncio.new_event_loop()
    task = loop.create_task(run_children([job("sleep 60"), job("trap '' TERM; sleep 60")], limits=SHORT))
    loop.call_later(0.2, interrupt)
    with pytest.raises(KeyboardInterrupt):
        loop.run_until_complete(task)
    task.cancel()
    done, _ = loop.run_until_complete(asyncio.wait([task], timeout=LONG_S))
    loop.close()
    assert (done, LIMIT.running) == ({task}, 0)


def test_without_threads_a_survivor_costs_no_other_hook(job: "MakeJob", monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of one hook's group is killed at once; the deny of another hook is kept."""
    jobs = [job("sleep 1; exit 2"), job("(trap '' TERM; sleep 30) & sleep 30", timeout_ms=300)]

    def start(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    good, late = asyncio.run(run_children(jobs))
    assert (good.exit_code, good.signal, late.timed_out) == (2, None, True)


@pytest.mark.usefixtures("each_path")
def test_a_closed_loop_ends_its_hooks_even_if_it_is_kept(job: "MakeJob", tmp_path: Path) -> None:
    """The thread's current loop stays an object after it is closed."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        command = "trap 'echo > ended; exit' TERM; echo > ready; sleep 60 & wait"
        task: Any = loop.create_task(run_children([job(command, timeout_ms=60_000)]))
        task._log_destroy_pending = False
        loop.run_until_complete(until_async((tmp_path / "ready").exists))
        loop.close()
        del task
        gc.collect()
        until((tmp_path / "ended").exists)
    finally:
        asyncio.set_event_loop(None)


def test_a_failing_abandon_does_not_stop_the_others(job: "MakeJob", monkeypatch: pytest.MonkeyPatch) -> None:
    """When a batch is closed, the others are terminated, and the loop and the shared input are released."""
    genuine, failed = Process.abandon, list[int]()

    def fail_once(self: Process) -> None:
        genuine(self)
        failed.append(self.index)
        if len(failed) == 1:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    monkeypatch.setattr(Process, "abandon", fail_once)
    coroutine = run_children([job("sleep 60", stdin=b"x" * 100_000)] * 6)
    loop = asyncio.new_event_loop()
    task: Any = loop.create_task(coroutine)
    task._log_destroy_pending = False
    loop.run_until_complete(until_async(lambda: LIMIT.running == 6))
    coroutine.close()
    loop.close()
    del task, coroutine, loop
    gc.collect()
    assert (sorted(failed), LIMIT.running) == ([0, 1, 2, 3, 4, 5], 0)


@pytest.mark.usefixtures("each_path")
def test_an_outcome_that_cannot_be_made_is_an_error(job: "MakeJob", monkeypatch: pytest.MonkeyPatch) -> None:
    """The event ends although there is not enough memory for the output."""

    def outcome_of(*, stdout: bytes = b"", error: str = "", **_rest: object) -> ChildOutcome:
        if stdout:
            raise MemoryError
        return ChildOutcome(error=error)

    monkeypatch.setattr(process, "ChildOutcome", outcome_of)
    (outcome,) = asyncio.run(asyncio.wait_for(run_children([job("echo much")]), 45))
    assert (outcome.exit_code, outcome.error) == (None, "the hook's outcome is not known: MemoryError()")
    assert LIMIT.running == 0
