import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookline.runners.process.command import ExecError, Invocation, spawn
from hookline.runners.process.job import Stdio


@pytest.fixture
def null() -> Iterator[Stdio]:
    """Three descriptors that lead nowhere."""
    with Path(os.devnull).open("r+b") as file:
        yield (file.fileno(), file.fileno(), file.fileno())


def test_a_process_is_started_in_its_own_session(null: Stdio) -> None:
    """The new process leads a new session and a new group."""
    pid = spawn(Invocation(b"/bin/sleep", ("sleep", "60"), ()), "/", null)
    try:
        assert (os.getsid(pid), os.getpgid(pid)) == (pid, pid)
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)


@pytest.mark.parametrize(
    ("executable", "number"),
    [("/no/such/program", errno.ENOENT), ("/etc/passwd", errno.EACCES), ("/etc", errno.EACCES)],
)
def test_a_program_that_cannot_be_executed_is_told_apart(null: Stdio, executable: str, number: int) -> None:
    """The program's own fault is an ExecError, and leaves no zombie."""
    with pytest.raises(ExecError) as caught:
        spawn(Invocation(os.fsencode(executable), ("x",), ()), "/", null)
    assert caught.value.errno == number


def test_a_wrong_directory_is_no_fault_of_the_program(null: Stdio) -> None:
    """Nothing else would run there either."""
    with pytest.raises(OSError, match="No such file") as caught:
        spawn(Invocation(b"/bin/true", ("true",), ()), "/no/such/place", null)
    assert not isinstance(caught.value, ExecError)
    assert caught.value.filename == "/no/such/place"
