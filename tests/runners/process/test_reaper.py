import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from hookline.runners.process.reaper import REAPER, Reaper, group_remains, signal_group

if TYPE_CHECKING:
    from tests.runners.conftest import MakeJob, Run

SLEEP = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True); time.sleep(60)",
]


def start() -> int:
    """A process in a separate group that ignores TERM and is ready."""
    process = subprocess.Popen(SLEEP, start_new_session=True, stdout=subprocess.PIPE)
    assert process.stdout
    process.stdout.readline()
    process.stdout.close()
    process.returncode = 0  # reaped by the test
    return process.pid


def has_gone(pid: int) -> bool:
    until = time.monotonic() + 45
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


def test_an_adopted_child_is_killed_at_its_time_and_reaped() -> None:
    """A process that a closed loop left behind ends, without a zombie."""
    pid, reaper = start(), Reaper()
    reaper.take_over(pid, deadline=time.monotonic() + 0.2, unreaped=True)
    assert has_gone(pid)


def test_an_adopted_child_that_ends_by_itself_is_reaped() -> None:
    """Nobody is killed who ends within the grace."""
    pid, reaper = start(), Reaper()
    reaper.take_over(pid, deadline=time.monotonic() + 600, unreaped=True)
    os.kill(pid, signal.SIGKILL)
    assert has_gone(pid)


def test_the_end_of_the_program_kills_everybody() -> None:
    """Tracked and adopted groups end at once."""
    tracked, adopted, reaper = start(), start(), Reaper()
    reaper.running.add(tracked)
    reaper.take_over(adopted, deadline=time.monotonic() + 600, unreaped=True)
    reaper.end_with_program()
    statuses = []
    for pid in (tracked, adopted):
        try:
            statuses.append(os.waitpid(pid, 0)[1])
        except ChildProcessError:
            statuses.append(signal.SIGKILL)  # reaped by the reaper
    assert statuses == [signal.SIGKILL, signal.SIGKILL]


def test_after_the_end_of_the_program_nothing_waits() -> None:
    """A process that is handed over even later is killed without a grace and without a thread."""
    pid, reaper = start(), Reaper()
    reaper.end_with_program()
    reaper.take_over(pid, deadline=time.monotonic() + 600, unreaped=True)
    try:
        assert os.waitpid(pid, 0)[1] == signal.SIGKILL
    except ChildProcessError:
        assert has_gone(pid)


def test_an_ended_child_is_out_of_account(run: "Run", job: "MakeJob") -> None:
    """Its number may be another process's when the program ends."""
    before = {*REAPER.running}
    assert run(job("exit 0"), job("kill -9 $$"), job("sleep 60", timeout_ms=100))[2].timed_out
    assert {*REAPER.running} <= before


@pytest.mark.req("WARM-007")
def test_a_group_without_members_does_not_remain() -> None:
    """A reaped leader without members is not a group; a living process with that number is another one."""
    pid = start()
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert not group_remains(pid)
    stranger = start()
    assert not group_remains(stranger)
    os.kill(stranger, signal.SIGKILL)
    os.waitpid(stranger, 0)


@pytest.mark.req("WARM-007")
@pytest.mark.parametrize("group", [0, -1])
def test_what_is_no_group_of_a_child_gets_no_signal(group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the system 0 is the group of this very program."""
    sent = list[int]()
    monkeypatch.setattr(os, "killpg", lambda group, _: sent.append(group))
    signal_group(group, signal.SIGTERM)
    assert sent == []
