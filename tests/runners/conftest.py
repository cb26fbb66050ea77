import asyncio
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol
from unittest.mock import patch

import pytest
import uvloop
from tests.patience import LONG_S, children, descriptors

from hookline.protocol.hook_entry import ResourceLimits
from hookline.runners.process.batch import ChildJob, ChildLimits, ChildOutcome, run_children
from hookline.runners.process.features import FEATURES

USUAL_LIMITS = ChildLimits()
PATHS = {
    "pidfd": {"pidfd": True, "direct": True},
    "threads": {"pidfd": False, "direct": True},
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
        limits: ResourceLimits | None = None,
    ) -> ChildJob:
        """The job."""


class Run(Protocol):
    """Runs jobs on one of the paths, on a separate loop."""

    def __call__(self, *jobs: ChildJob, limits: ChildLimits = ...) -> list[ChildOutcome]:
        """Their outcomes."""


@pytest.fixture
def job(tmp_path: Path) -> MakeJob:
    """Makes jobs."""
    where = str(tmp_path)
    usual = {"PATH": os.environ["PATH"], "HOME": where, "LLXPRT_PROJECT_DIR": where}

    def make(
        command: str,
        *,
        stdin: bytes = b"",
        timeout_ms: float = 15_000,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        limits: ResourceLimits | None = None,
    ) -> ChildJob:
        return ChildJob(
            command=command,
            stdin=stdin,
            cwd=cwd or where,
            env={**usual, **(env or {})},
            timeout_ms=timeout_ms,
            limits=limits,
        )

    return make


@pytest.fixture(params=[*PATHS, "uvloop", "uvloop-threads"])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs jobs, in turn on each path and each kind of loop."""
    name: str = request.param
    start: Callable[..., list[ChildOutcome]] = uvloop.run if name.startswith("uvloop") else asyncio.run
    choice = PATHS["threads" if name.endswith("threads") else "pidfd"]

    def on_path(*jobs: ChildJob, limits: ChildLimits = USUAL_LIMITS) -> list[ChildOutcome]:
        with patch.dict(vars(FEATURES), choice):
            return start(run_children(jobs, limits=limits))

    return on_path


@pytest.fixture(params=PATHS)
def each_path(request: pytest.FixtureRequest) -> Iterator[None]:
    """Runs the test on each path; the test makes its own loop."""
    with patch.dict(vars(FEATURES), PATHS[request.param]):
        yield


@pytest.fixture(scope="session", autouse=True)
def own_descriptors_of_uvloop() -> None:
    """Its first loop opens a pipe that stays for the whole program."""
    uvloop.run(asyncio.sleep(0))


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """No descriptor more than before and no child, neither running nor as a zombie; other tests may have left some."""
    before = descriptors(), children()
    yield
    deadline = time.monotonic() + LONG_S
    # Looked at once each time: a thread that looks for strays has files open for a moment.
    while (left := (descriptors() - before[0], children() - before[1])) != (set(), set()):
        assert time.monotonic() < deadline, left
        time.sleep(0.01)
