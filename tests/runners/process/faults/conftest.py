import asyncio
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from hookline.runners.process.batch import ChildJob, ChildLimits, ChildOutcome
from hookline.runners.process.features import FEATURES
from hookline.runners.warm.pool import WarmPool
from hookline.runners.warm.runner import run_warm

if TYPE_CHECKING:
    from tests.runners.conftest import MakeJob

USUAL_LIMITS = ChildLimits()
PATHS = {
    "pidfd": {"pidfd": True, "direct": True},
    "threads": {"pidfd": False, "direct": True},
}
WARM = "warm"


class Survive(Protocol):
    """Runs a misbehaving hook between two good ones; the good ones must not notice."""

    def __call__(self, bad: ChildJob, *, limits: ChildLimits = ..., within_s: float = ...) -> ChildOutcome:
        """The outcome of the misbehaving one."""


class Parked:
    """Runs any command in a process that was a parked interpreter."""

    def __init__(self, folder: Path) -> None:
        self.pool = WarmPool()
        self._script, self._command = folder / "parked.py", folder / "parked.command"
        self._script.write_text(
            "import os, signal\n"
            "for number in (signal.SIGPIPE, signal.SIGXFSZ): signal.signal(number, signal.SIG_DFL)\n"
            f"os.execvp('bash', ['bash', '-c', open({str(self._command)!r}).read()])\n"
        )

    def job(self, bad: ChildJob) -> ChildJob:
        """The same job, with an interpreter that waits for it."""
        self._command.write_text("true")
        command = f"{sys.executable} {self._script}"
        first = replace(bad, command=command, stdin=b"", timeout_ms=15_000)
        asyncio.run(run_warm([first], [self.pool], limits=USUAL_LIMITS))
        assert self.pool.wait_until_idle()
        self._command.write_text(bad.command)
        return replace(bad, command=command)


@pytest.fixture(params=[*PATHS, pytest.param(WARM, marks=pytest.mark.slow)])
def survive(
    request: pytest.FixtureRequest, job: "MakeJob", tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Survive]:
    """Runs a misbehaving hook on the best path, on the plainest, and by an interpreter that was parked."""
    is_warm = request.param == WARM
    choice = PATHS["pidfd" if is_warm else request.param]
    parked = Parked(tmp_path_factory.mktemp("parked")) if is_warm else None

    def on_path(bad: ChildJob, *, limits: ChildLimits = USUAL_LIMITS, within_s: float = 30) -> ChildOutcome:
        good = job("cat; echo good >&2", stdin=b"hello")
        with patch.dict(vars(FEATURES), choice):
            bad = bad if parked is None else parked.job(bad)
            started = time.monotonic()
            pools = [None, None if parked is None else parked.pool, None]
            before, outcome, after = asyncio.run(run_warm([good, bad, good], pools, limits=limits))
            assert time.monotonic() - started < within_s
        # A hook that can't be started is not warm either.
        assert outcome.way == (WARM if is_warm and outcome.error is None else "cold")
        assert [(each.exit_code, each.stdout, each.stderr) for each in (before, after)] == [
            (0, b"hello", b"good\n")
        ] * 2
        return outcome

    yield on_path
    if parked is not None:
        parked.pool.close()
