"""The event loop in a separate thread."""

import os
import threading

import pytest
from tests.patience import LONG_S

from hookline.runners.loop_thread import LoopThread


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_program_that_forks_while_it_is_busy_gets_another_one() -> None:
    """Though the thread of the parent, which the child does not have, is in the middle of a call."""
    loop = LoopThread("hookline-test")
    is_busy, may_end = threading.Event(), threading.Event()

    def work() -> None:
        is_busy.set()
        may_end.wait(LONG_S)

    async def nothing() -> None:
        """Ends at once."""

    loop.call(work)
    assert is_busy.wait(LONG_S)
    child = os.fork()
    if not child:
        code = 1
        try:
            loop.forget()
            called = threading.Event()
            loop.call(called.set)
            code = 0 if called.wait(LONG_S) else 2
        finally:
            os._exit(code)
    may_end.set()
    assert os.waitpid(child, 0)[1] == 0
    loop.close(nothing)
