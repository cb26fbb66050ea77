import asyncio
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

import pytest

from hookline.child.facilities import Facilities, using
from hookline.child.process import ChildJob, ChildLimits, ChildOutcome, run_children

USUAL_LIMITS = ChildLimits()
PATHS = {
    "vfork-pidfd": Facilities(has_fork_exec=True, has_pidfd=True),
    "popen-threads": Facilities(has_fork_exec=False, has_pidfd=False),
}


class MakeJob(Protocol):
    """Makes a job in the test's own directory."""

    def __call__(
        self,
        command: str,
        *,
        stdin: bytes = b"",
        timeout_ms: float = 15_000,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> ChildJob:
        """The job."""


class Survive(Protocol):
    """Runs a misbehaving hook between two good ones; the good ones must not notice."""

    def __call__(self, bad: ChildJob, *, limits: ChildLimits = ..., within_s: float = ...) -> ChildOutcome:
        """The outcome of the misbehaving one."""


@pytest.fixture
def job(tmp_path: Path) -> MakeJob:
    """Makes jobs."""
    where = str(tmp_path)
    usual = {"PATH": os.environ["PATH"], "HOME": where}

    def make(
        command: str,
        *,
        stdin: bytes = b"",
        timeout_ms: float = 15_000,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> ChildJob:
        return ChildJob(
            command=command, stdin=stdin, cwd=cwd or where, env={**usual, **(env or {})}, timeout_ms=timeout_ms
        )

    return make


@pytest.fixture(params=PATHS)
def survive(request: pytest.FixtureRequest, job: MakeJob) -> Survive:
    """Runs a misbehaving hook on the best path and on the plainest."""
    choice = PATHS[request.param]

    def on_path(bad: ChildJob, *, limits: ChildLimits = USUAL_LIMITS, within_s: float = 12) -> ChildOutcome:
        good = job("cat; echo good >&2", stdin=b"hello")
        with using(choice):
            started = time.monotonic()
            before, outcome, after = asyncio.run(run_children([good, bad, good], limits=limits))
            assert time.monotonic() - started < within_s
        assert [(each.exit_code, each.stdout, each.stderr) for each in (before, after)] == [
            (0, b"hello", b"good\n")
        ] * 2
        return outcome

    return on_path


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """No descriptor more than before and no child, neither running nor as a zombie."""
    before = _descriptors()
    yield
    until = time.monotonic() + 8
    while (_descriptors() > before or _has_children()) and time.monotonic() < until:
        time.sleep(0.01)
    assert (_descriptors() - before, _has_children()) == (set(), False)


def _descriptors() -> set[str]:
    names: set[str] = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            names.add(f"{entry.name} {entry.readlink()}")
        except OSError:
            continue  # the descriptor of this very listing
    return names


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True
