"""Hooks that do not end as they should."""

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.patience import is_alive, until, with_enough_time

from hookline.runners.process.batch import ChildLimits

if TYPE_CHECKING:
    from tests.runners.conftest import MakeJob
    from tests.runners.process.faults.conftest import Survive

SHORT = ChildLimits(grace_s=0.5)
STUBBORN = "trap '' TERM; while :; do sleep 0.05; done"


def members(group: int) -> list[int]:
    """The living processes of a group."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def is_empty_soon(group: int) -> bool:
    return until(lambda: not members(group), "its end")


@pytest.mark.req("HOOK-117", "HOOK-118")
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(STUBBORN, id="ignores TERM"),
        pytest.param(f"({STUBBORN}) & ({STUBBORN}) & {STUBBORN}", id="and its children too"),
        pytest.param(f"({STUBBORN}) & (({STUBBORN}) &) ; wait", id="only its children"),
        pytest.param("sleep 60 & sleep 60 | sleep 60", id="a pipeline"),
        pytest.param("kill -STOP $$", id="stops itself"),
        pytest.param("sleep 60 & kill -STOP $!; kill -STOP $$", id="stops itself and its child"),
        pytest.param("exec >&- 2>&-; exec sleep 60", id="closes its output"),
    ],
)
def test_nothing_of_a_group_is_left_after_a_timeout(
    survive: "Survive", job: "MakeJob", tmp_path: Path, command: str
) -> None:
    """TERM, then KILL, for everybody in the group; the event waits no longer than timeout and grace."""
    begin = "echo $$ > group; touch begun"
    outcome = with_enough_time(
        400, tmp_path / "begun", lambda ms: survive(job(f"{begin}; {command}", timeout_ms=ms), limits=SHORT)
    )
    assert (outcome.timed_out, outcome.exit_code, outcome.error) == (True, None, None)
    assert outcome.signal in (signal.SIGTERM, signal.SIGKILL)
    assert is_empty_soon(int((tmp_path / "group").read_text()))


@pytest.mark.req("HOOK-118")
@pytest.mark.slow
def test_the_usual_grace_is_five_seconds(survive: "Survive", job: "MakeJob") -> None:
    """KILL comes five seconds after TERM."""
    outcome = survive(job(STUBBORN, timeout_ms=300))
    assert (outcome.timed_out, outcome.signal) == (True, signal.SIGKILL)
    assert 5_300 <= outcome.duration_ms < 9_000


def test_ending_between_term_and_kill(survive: "Survive", job: "MakeJob", tmp_path: Path) -> None:
    """A hook that ends on TERM in its own time is not killed, and has timed out all the same."""
    command = "trap 'sleep 0.2; echo bye; exit 0' TERM; touch ready; while :; do sleep 0.02; done"
    patient = ChildLimits(grace_s=20)
    outcome = with_enough_time(200, tmp_path / "ready", lambda ms: survive(job(command, timeout_ms=ms), limits=patient))
    assert (outcome.timed_out, outcome.exit_code, outcome.signal, outcome.stdout) == (True, 0, None, b"bye\n")


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("(sleep 30 & echo $! > daemon) & wait; echo answer", id="double fork keeping stdout"),
        pytest.param("setsid sh -c 'echo $$ > daemon; exec sleep 30' & while ! [ -s daemon ]; do sleep 0.01; done; "
                     "echo answer", id="daemon with setsid"),
        pytest.param("(sleep 1; echo late) & sleep 30 & echo $! > daemon; echo answer", id="writes later"),
    ],
)  # fmt: skip
def test_background_processes_are_left_alone(survive: "Survive", job: "MakeJob", tmp_path: Path, command: str) -> None:
    """A background process with the hook's pipes does not hold the event."""
    outcome = survive(job(command))
    daemon = int((tmp_path / "daemon").read_text())
    try:
        assert (outcome.exit_code, outcome.timed_out, outcome.stdout) == (0, False, b"answer\n")
        assert is_alive(daemon)
    finally:
        os.kill(daemon, signal.SIGKILL)


def test_an_endless_background_writer_does_not_hold_the_event(
    survive: "Survive", job: "MakeJob", tmp_path: Path
) -> None:
    """Even a flood on our pipes ends with the grace for pipes."""
    outcome = survive(job("yes & echo $! > daemon; while ! [ -s daemon ]; do sleep 0.01; done; exit 3"))
    with suppress(ProcessLookupError):  # it may have ended when our pipes were closed
        os.kill(int((tmp_path / "daemon").read_text()), signal.SIGKILL)
    assert (outcome.exit_code, outcome.timed_out) == (3, False)
    assert set(outcome.stdout) <= set(b"y\n")


@pytest.mark.req("HOOK-196")
@pytest.mark.usefixtures("usual_signals")
@pytest.mark.parametrize(
    "number",
    sorted(
        set(signal.Signals)
        - {signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
        - {signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH}
    ),
)
def test_killed_by_each_signal(survive: "Survive", job: "MakeJob", number: signal.Signals) -> None:
    """The signal that ended a hook is reported by its number."""
    # Not bash itself, which ignores SIGQUIT.
    outcome = survive(job(f"ulimit -c 0; exec sh -c 'echo last words; kill -{number.value} $$; sleep 5'"))
    assert (outcome.exit_code, outcome.signal, outcome.stdout) == (None, number, b"last words\n")


def test_deleting_the_own_working_directory(survive: "Survive", job: "MakeJob", tmp_path: Path) -> None:
    """A hook may remove the ground under its feet."""
    inner = tmp_path / "inner"
    inner.mkdir()
    outcome = survive(job(f"rmdir '{inner}'; echo gone", cwd=str(inner)))
    assert (outcome.exit_code, outcome.stdout, inner.exists()) == (0, b"gone\n", False)
