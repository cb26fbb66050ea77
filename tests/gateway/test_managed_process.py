"""A program that runs beside us: it is ended with everything that it started."""

import asyncio
import os
import sys
from pathlib import Path

import pytest
from tests.patience import descriptors, is_alive, until

from hookline.gateway.process import ManagedProcess
from hookline.runners.process.reaper import REAPER

STARTS_OTHERS = """
import os, signal, subprocess, sys, time
if "stubborn" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
pids = [subprocess.Popen(sleep).pid, subprocess.Popen(sleep, start_new_session=True).pid]
print(os.getpid(), *pids, flush=True)
if "leaves" not in sys.argv:
    sys.stdin.read()
    time.sleep(60 if "stubborn" in sys.argv else 0)
sys.exit(3)
"""


def is_gone(pid: int) -> bool:
    """Whether a process has ended; waits for that a while."""
    return until(lambda: not is_alive(pid), "its end")


@pytest.mark.parametrize(
    ("manner", "status"), [("polite", 3), ("leaves", 3), ("stubborn", -9)], ids=["polite", "leaves", "stubborn"]
)
@pytest.mark.parametrize("hurried", [False, True], ids=["calm", "hurried"])
def test_nothing_is_left(manner: str, status: int, hurried: bool) -> None:
    """Children in its group and outside of it also end, whether it exits by itself or must be killed."""

    async def work() -> tuple[list[int], int | None]:
        program = ManagedProcess((sys.executable, "-c", STARTS_OTHERS, manner), str(Path.cwd()), dict(os.environ))
        pids = [int(word) for word in (await asyncio.to_thread(os.read, program.stdout, 100)).split()]
        os.close(program.stdin)
        hurry = asyncio.Event()
        # The others exit by themselves, if they are given the time.
        if hurried:
            asyncio.get_running_loop().call_later(0.2 if manner == "stubborn" else 600, hurry.set)
        wait_s = 0.5 if manner == "stubborn" and not hurried else 30
        await program.end(wait_s=wait_s, grace_s=0.5 if not hurried else 30, hurry=hurry, hurry_s=0.2)
        for fd in (program.stdout, program.stderr):
            os.close(fd)
        assert program.pid not in REAPER.running
        return pids, program.status

    pids, ended = asyncio.run(work())
    assert ended == status
    assert all(is_gone(pid) for pid in pids)


def test_a_program_that_does_not_exist() -> None:
    """The error names it, and no descriptor stays open."""

    async def work() -> None:
        before = descriptors()
        with pytest.raises(FileNotFoundError):
            ManagedProcess(("no-such-program",), str(Path.cwd()), {"PATH": "/bin"})
        until(lambda: descriptors() <= before, "the end of every new descriptor")

    asyncio.run(work())
