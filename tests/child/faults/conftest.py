import asyncio
import time
from typing import TYPE_CHECKING, Protocol
from unittest.mock import patch

import pytest

from hookline.child.batch import ChildJob, ChildLimits, ChildOutcome, run_children
from hookline.child.features import FEATURES

if TYPE_CHECKING:
    from tests.child.conftest import MakeJob

USUAL_LIMITS = ChildLimits()
PATHS = {
    "vfork-pidfd": {"fork_exec": True, "pidfd": True, "direct": True},
    "popen-threads": {"fork_exec": False, "pidfd": False, "direct": True},
}


class Survive(Protocol):
    """Runs a misbehaving hook between two good ones; the good ones must not notice."""

    def __call__(self, bad: ChildJob, *, limits: ChildLimits = ..., within_s: float = ...) -> ChildOutcome:
        """The outcome of the misbehaving one."""


@pytest.fixture(params=PATHS)
def survive(request: pytest.FixtureRequest, job: "MakeJob") -> Survive:
    """Runs a misbehaving hook on the best path and on the plainest."""
    choice = PATHS[request.param]

    def on_path(bad: ChildJob, *, limits: ChildLimits = USUAL_LIMITS, within_s: float = 12) -> ChildOutcome:
        good = job("cat; echo good >&2", stdin=b"hello")
        with patch.dict(vars(FEATURES), choice):
            started = time.monotonic()
            before, outcome, after = asyncio.run(run_children([good, bad, good], limits=limits))
            assert time.monotonic() - started < within_s
        assert [(each.exit_code, each.stdout, each.stderr) for each in (before, after)] == [
            (0, b"hello", b"good\n")
        ] * 2
        return outcome

    return on_path
