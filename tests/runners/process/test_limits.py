import asyncio
import os
import shutil
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from hookline.protocol.hook_entry import ResourceLimits
from hookline.runners.process import limit_launcher as _stage
from hookline.runners.process.batch import ChildLimits, run_children

if TYPE_CHECKING:
    from tests.runners.conftest import MakeJob, Run

HOG = "x = bytearray(300 << 20)"
BURNER = "while True: pass"
STUBBORN_BURNER = "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
OPENER = "files = [open('/dev/null') for _ in range(200)]"


def python(code: str) -> str:
    return f'{sys.executable} -c "{code}"'


@pytest.mark.parametrize(
    ("code", "limits", "ending", "stderr"),
    [
        pytest.param(HOG, ResourceLimits(memory_bytes=100 << 20), (1, None), b"MemoryError", id="memory"),
        pytest.param(OPENER, ResourceLimits(files=30), (1, None), b"Too many open files", id="files"),
        pytest.param("print(1)", ResourceLimits(memory_bytes=1), (None, signal.SIGSEGV), b"", id="no-memory-at-all"),
    ],
)
def test_a_limit_holds(
    job: "MakeJob",
    run: "Run",
    code: str,
    limits: ResourceLimits,
    ending: tuple[int | None, int | None],
    stderr: bytes,
) -> None:
    """The hook ends as the system ends such a process, and the program around it continues."""
    (outcome,) = run(job(python(code), limits=limits))
    assert (outcome.exit_code, outcome.signal) == ending
    assert stderr in outcome.stderr
    assert outcome.error is None


def test_a_limit_on_processor_time_holds(job: "MakeJob") -> None:
    """A hook that ignores the signal is killed a second later. On one path only: the limits are set in the child."""
    limits = ResourceLimits(cpu_s=1)
    burners = [job(python(code), limits=limits) for code in (BURNER, STUBBORN_BURNER)]
    outcomes = asyncio.run(run_children(burners, limits=ChildLimits()))
    endings = [(outcome.exit_code, outcome.signal, outcome.error) for outcome in outcomes]
    assert endings == [(None, signal.SIGXCPU, None), (None, signal.SIGKILL, None)]


def test_within_its_limits_a_hook_runs_as_usual(job: "MakeJob", run: "Run") -> None:
    """It reads its input, answers and exits."""
    limits = ResourceLimits(memory_bytes=1 << 30, cpu_s=10, files=100)
    (outcome,) = run(job("cat; echo problem >&2; exit 2", stdin=b"input", limits=limits))
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (2, b"input", b"problem\n")


def test_limits_can_not_be_raised_and_lower_ones_stay(job: "MakeJob", run: "Run") -> None:
    """The hook inherits hard limits; its own limit never raises one that exists already."""
    inner = "ulimit -Hn; ulimit -Sn; ulimit -Hv; ulimit -St; ulimit -Ht"
    limits = ResourceLimits(memory_bytes=1 << 30, cpu_s=10, files=100)
    (outcome,) = run(job(inner, limits=limits))
    assert outcome.stdout.split() == [b"100", b"100", b"1048576", b"10", b"11"]
    nested = f"ulimit -n 50; {sys.executable} -I -S {_stage.__file__} files=100 '' /bin/bash bash -c 'ulimit -Hn'"
    (outcome,) = run(job(nested))
    assert outcome.stdout.split() == [b"50"]


@pytest.mark.skipif(os.getuid() != 0, reason="the kernel applies the limit to ordinary users")
def test_a_limit_that_has_no_effect_is_refused(job: "MakeJob", run: "Run") -> None:
    """For root the kernel ignores the limit on processes, so the hook is not run."""
    (outcome,) = run(job("echo ran", limits=ResourceLimits(processes=20)))
    assert outcome.stdout == b""
    assert outcome.error is not None
    assert outcome.error.startswith("could not be started: limits.processes has no effect for this user")
    assert "run as an ordinary user, or remove it from the hook" in outcome.error


def test_without_a_network_nothing_can_be_reached(job: "MakeJob", run: "Run", tmp_path: Path) -> None:
    """Not even a server on this machine; and files that the hook writes belong to the same user as ever."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        connect = f"echo hello > /dev/tcp/127.0.0.1/{port} && echo reached; id -u; id -g; echo > own"
        (free, cut) = run(job(connect), job(connect, limits=ResourceLimits(network=False)))
    if cut.error is not None:
        assert '"network": false needs user and network namespaces' in cut.error
        pytest.skip(cut.error)
    user = f"{os.getuid()}\n{os.getgid()}\n".encode()
    assert free.stdout == b"reached\n" + user
    assert cut.stdout == user
    assert b"Network is unreachable" in cut.stderr
    assert (tmp_path / "own").stat().st_uid == os.getuid()


@pytest.mark.skipif(shutil.which("unshare") is None, reason="there is no unshare, which gives us such a system")
def test_where_namespaces_are_refused_the_command_is_not_run(job: "MakeJob", run: "Run") -> None:
    """The program that sets the limits fails, and says what to do."""
    stage = f"{sys.executable} -I -S {_stage.__file__} network=off '' /bin/echo echo ran"
    (outcome,) = run(job(f"unshare -r sh -c 'echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"' sh {stage}"))
    assert (outcome.exit_code, outcome.stdout) == (125, b"")
    assert b"this system refuses them ([Errno 28] No space left on device); allow unprivileged" in outcome.stderr


@pytest.mark.parametrize(
    ("limits", "patched", "error"),
    [
        pytest.param(ResourceLimits(cpu_s=1), {"executable": None}, "need a Python interpreter", id="embedded"),
        pytest.param(ResourceLimits(cpu_s=1), {"frozen": True}, "need a Python interpreter", id="frozen"),
    ],
)
def test_limits_that_can_not_be_set_are_refused(
    job: "MakeJob", run: "Run", limits: ResourceLimits, patched: dict[str, Any], error: str
) -> None:
    """The hook does not run without them."""
    with patch.multiple(sys, create=True, **{"executable": sys.executable, **patched}):
        (outcome,) = run(job("echo ran", limits=limits))
    assert outcome.stdout == b""
    assert outcome.error is not None
    assert error in outcome.error
