"""Hooks that can't be started."""

import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookline.runners.process.batch import ChildJob

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.runners.conftest import MakeJob
    from tests.runners.process.faults.conftest import Survive

FOREIGN = b"\x7fELF\x02\x01\x01" + b"\0" * 9 + b"\x02\0\xf3\0" + b"\0" * 44


@pytest.fixture
def hook(job: "MakeJob", tmp_path: Path) -> "Callable[[bytes | None, int], ChildJob]":
    """Writes the hook's file and makes the job that runs it."""

    def write(content: bytes | None, mode: int) -> ChildJob:
        if content is not None:
            (tmp_path / "hook").write_bytes(content)
            (tmp_path / "hook").chmod(mode)
        return job("./hook", stdin=b"input")

    return write


@pytest.mark.parametrize(
    ("content", "mode", "exit_codes", "message"),
    [
        pytest.param(None, 0, (127,), "bash: line 1: ./hook: No such file or directory", id="missing"),
        pytest.param(b"#!/bin/sh\n", 0o644, (126,), "bash: line 1: ./hook: Permission denied", id="not executable"),
        pytest.param(b"#!/nowhere\n", 0o755, (126, 127), "bash: line 1: ./hook: cannot execute", id="lost shebang"),
        pytest.param(FOREIGN, 0o755, (126,), "bash: line 1: ./hook: cannot execute binary file", id="foreign binary"),
    ],
)
def test_programs_that_do_not_run(
    survive: "Survive",
    hook: "Callable[[bytes | None, int], ChildJob]",
    content: bytes | None,
    mode: int,
    exit_codes: tuple[int, ...],
    message: str,
) -> None:
    """The exit code and the words are those of bash, whether or not bash was asked first."""
    outcome = survive(hook(content, mode))
    assert outcome.exit_code in exit_codes
    assert outcome.stderr.decode().startswith(message)
    assert (outcome.stdout, outcome.error) == (b"", None)


def test_a_script_without_shebang(survive: "Survive", hook: "Callable[[bytes | None, int], ChildJob]") -> None:
    """A script that names no interpreter is run by bash."""
    outcome = survive(hook(b"echo ${BASH_VERSION:+bash}; cat", 0o755))
    assert (outcome.exit_code, outcome.stdout, outcome.error) == (0, b"bash\ninput", None)


def test_a_directory_as_command(survive: "Survive", job: "MakeJob", tmp_path: Path) -> None:
    """A directory is not a program."""
    (tmp_path / "hook").mkdir()
    outcome = survive(job("./hook"))
    assert (outcome.exit_code, outcome.stderr) == (126, b"bash: line 1: ./hook: Is a directory\n")


def test_an_unknown_command(survive: "Survive", job: "MakeJob") -> None:
    """A program that is not on PATH is named as bash names it."""
    outcome = survive(job("no-such-program"))
    assert (outcome.exit_code, outcome.stderr) == (127, b"bash: line 1: no-such-program: command not found\n")


@pytest.mark.parametrize("command", ["cat", "cat; :"], ids=["simple", "shell"])
def test_a_missing_working_directory(survive: "Survive", job: "MakeJob", tmp_path: Path, command: str) -> None:
    """A hook without a place to run fails with a sentence that names the place."""
    outcome = survive(job(command, cwd=str(tmp_path / "gone")))
    assert (outcome.exit_code, outcome.signal, outcome.timed_out) == (None, None, False)
    assert outcome.error == (
        f"could not be started: its working directory {tmp_path / 'gone'} can't be used: No such file or directory"
    )


@pytest.mark.parametrize("command", ["cat", "cat; :"], ids=["simple", "shell"])
def test_an_environment_that_is_too_large(survive: "Survive", job: "MakeJob", command: str) -> None:
    """Two megabytes of variables are refused by the system, and the refusal is reported."""
    large = {f"LARGE_{number}": "x" * 100_000 for number in range(22)}
    # One variable beyond what the kernel takes of any: a generous limit on the stack would allow the sum.
    outcome = survive(job(command, stdin=b"data", env={**large, "HUGE": "x" * 200_000}))
    assert (outcome.exit_code, outcome.error) == (None, "could not be started: Argument list too long")


def test_a_replaced_script(survive: "Survive", job: "MakeJob", tmp_path: Path) -> None:
    """Nothing about a program is remembered from one start to the next."""
    script = tmp_path / "hook"
    for text, expected in (("#!/bin/sh\necho one\n", b"one\n"), ("echo two\n", b"two\n"), ("#!/bin/cat\n", None)):
        script.write_text(text)
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        assert survive(job("./hook")).stdout == (expected or b"#!/bin/cat\n")
