"""The thread that works between events."""

import threading

import pytest
from tests.patience import until

from hookline.runners.warm.pool_thread import PoolThread


class PoolOwner:
    """Fails a given number of times, in one of its functions."""

    def __init__(self, fails_in: str) -> None:
        self.failures_left = 2
        self._fails_in = fails_in

    def until_idle(self) -> float:
        """At once."""
        self._maybe_fail("until_idle")
        return 0.0

    def end_idle(self) -> bool:
        """Nothing is left."""
        self._maybe_fail("end_idle")
        return False

    def close(self) -> None:
        """There is nothing to close."""
        self._maybe_fail("close")

    def _maybe_fail(self, where: str) -> None:
        if where == self._fails_in and self.failures_left:
            self.failures_left -= 1
            raise RuntimeError(where)


def _started(pool_thread: PoolThread) -> threading.Event:
    done = threading.Event()
    assert pool_thread.do(done.set)
    return done


@pytest.mark.parametrize("fails_in", ["until_idle", "end_idle", "close"])
def test_it_goes_on_after_a_failure(fails_in: str) -> None:
    """After any failure later work is done, and the thread ends when there is none."""
    owner = PoolOwner(fails_in)
    pool_thread = PoolThread(owner, threading.RLock())
    for _ in range(3):
        done = _started(pool_thread)
        pool_thread.close_later()
        assert done.wait(30)
    until(lambda: pool_thread._thread is None)
    assert owner.failures_left == 0
