"""What happens to running hooks when something else goes wrong at the same time."""

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

from hookline.child import running
from hookline.child.process import ChildLimits, run_children
from hookline.child.slots import SLOTS
from hookline.child.watch import EpollWatcher

if TYPE_CHECKING:
    from tests.child.conftest import MakeJob, Run


# Pipes are not watched for a millisecond for each hook of an event: with so many there is time before that.
MANY = 3000


def refuse(*_given: object) -> None:
    """Refuses as epoll does when the user watches too much."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_hook_that_cannot_be_watched_leaves_the_others_their_deadlines(
    job: "MakeJob", monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when its own deadline is over at the same time."""
    monkeypatch.setattr(EpollWatcher, "reads", refuse)
    jobs = [job("sleep 60", timeout_ms=4), job("sleep 60", timeout_ms=300)]
    outcomes = asyncio.run(asyncio.wait_for(run_children(jobs), 10))
    assert ["could not be watched" in (outcome.error or "") for outcome in outcomes] == [True, True]


def test_a_known_exit_code_is_kept_when_the_pipes_cannot_be_watched(
    job: "MakeJob", monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deny of a hook that left a background process is no less a deny."""
    monkeypatch.setattr(EpollWatcher, "reads", refuse)
    outcome, *_ = asyncio.run(run_children([job("sleep 2 & echo no >&2; exit 2"), *[job("", timeout_ms=0)] * MANY]))
    assert (outcome.exit_code, outcome.stderr, outcome.error) == (2, b"no\n", None)


def test_what_a_hook_says_while_it_is_cancelled_is_read(job: "MakeJob", tmp_path: Path) -> None:
    """However early that is: it can clean up and end, and need not be killed."""
    command = "trap 'head -c 300000 /dev/zero; echo > cleaned; exit' TERM; echo > ready; while :; do sleep 0.01; done"
    idle = [job("", timeout_ms=0)] * MANY

    async def main() -> float:
        task = asyncio.create_task(run_children([job(command), *idle]))
        while not (tmp_path / "ready").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.002)
        began = time.monotonic()
        task.cancel()
        await asyncio.wait([task])
        return time.monotonic() - began

    assert asyncio.run(main()) < 4
    assert (tmp_path / "cleaned").exists()


@pytest.mark.parametrize("run_loop", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
@pytest.mark.usefixtures("each_path")
def test_a_hook_that_ended_while_the_loop_was_busy_ended_in_time(run_loop: Any, job: "MakeJob") -> None:
    """Its deny must not be lost to a deadline that it kept."""

    async def main() -> Any:
        task = asyncio.create_task(run_children([job("exit 2", timeout_ms=600)]))
        await asyncio.sleep(0.02)
        time.sleep(0.8)  # noqa: ASYNC251 - the busy program
        return (await task)[0]

    outcome = run_loop(main())
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
    """Whoever traces a process is told of its end first, and only then its parent."""
    (tmp_path / "traced.py").write_text(TRACED)
    outcome, other = run(job(f"'{sys.executable}' traced.py"), job("exit 2"))
    if outcome.exit_code == 77:
        pytest.skip("tracing is not allowed here")
    assert (outcome.exit_code, outcome.signal, outcome.error) == (3, None, None)
    assert outcome.duration_ms >= 300
    assert other.exit_code == 2


def test_an_interrupted_start_leaves_nothing(job: "MakeJob", monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is what the program gets to see, and the hooks before are ended."""
    genuine, started = running._spawn, list[int]()

    def spawn(*given: Any) -> int:
        if started:
            raise KeyboardInterrupt
        started.append(genuine(*given))
        return started[0]

    monkeypatch.setattr(running, "_spawn", spawn)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(run_children([job("sleep 60"), job("sleep 60")]))
    gc.collect()  # the traceback of the interruption
    assert SLOTS.taken == 0


def test_an_interruption_while_the_alarm_rings_costs_no_later_alarm(
    job: "MakeJob", monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hook that ignores TERM is killed all the same when it is cancelled afterwards."""
    genuine, times = running.RunningChild.do_due, list[int]()

    def interrupted(self: running.RunningChild) -> None:
        times.append(1)
        if len(times) == 1:
            raise KeyboardInterrupt
        genuine(self)

    monkeypatch.setattr(running.RunningChild, "do_due", interrupted)
    loop = asyncio.new_event_loop()
    stubborn = job("trap '' TERM; while :; do sleep 0.05; done")
    task = loop.create_task(run_children([stubborn], limits=ChildLimits(grace_s=0.3)))
    with pytest.raises(KeyboardInterrupt):
        loop.run_until_complete(task)
    task.cancel()
    done, _ = loop.run_until_complete(asyncio.wait([task], timeout=8))
    loop.close()
    assert done == {task}


def test_without_threads_a_survivor_costs_no_other_hook(job: "MakeJob", monkeypatch: pytest.MonkeyPatch) -> None:
    """What one hook left is killed at once; the deny of another is heard."""
    jobs = [job("sleep 1; exit 2"), job("(trap '' TERM; sleep 30) & sleep 30", timeout_ms=300)]

    def start(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    good, late = asyncio.run(run_children(jobs))
    assert (good.exit_code, good.signal, late.timed_out) == (2, None, True)


def test_a_large_input_arrives_where_it_cannot_be_shared(
    run: "Run", job: "MakeJob", monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sharing is a matter of speed only."""
    monkeypatch.setattr(os, "memfd_create", refuse)
    outcomes = run(*[job("wc -c", stdin=b"x" * 300_000)] * 3)
    assert [(outcome.stdout.strip(), outcome.error) for outcome in outcomes] == [(b"300000", None)] * 3


@pytest.mark.usefixtures("each_path")
def test_a_closed_loop_ends_its_hooks_even_if_it_is_kept(job: "MakeJob", tmp_path: Path) -> None:
    """The thread's current loop stays an object after it is closed."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        task: Any = loop.create_task(run_children([job("trap 'echo > ended; exit' TERM; sleep 60 & wait")]))
        task._log_destroy_pending = False
        loop.run_until_complete(asyncio.sleep(0.3))
        loop.close()
        del task
        gc.collect()
        until = time.monotonic() + 8
        while not (tmp_path / "ended").exists() and time.monotonic() < until:
            time.sleep(0.01)
        assert (tmp_path / "ended").exists()
    finally:
        asyncio.set_event_loop(None)
