"""The limit on hooks that run at the same time, for the whole program."""

import asyncio
import os
import threading
from collections.abc import Callable
from contextvars import ContextVar

# The limit is far above what a machine runs at the same time, so hooks hardly ever wait for it.
_POLL_S = 0.002

ON_SHORTAGE: list[Callable[[], None]] = []
"""Called when the system is short of processes or descriptors: what waits for later events is ended."""


class Limit:
    """Counts running hooks over all event loops and threads; hooks above the limit wait in line.

    A slot is any object that stands for one hook. It must not lead to the hook's task, or it would keep the task of a
    closed loop alive.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything: after a fork the hooks belong to the parent."""
        self._running: set[object] = set()
        # In order of arrival. Changed without the lock, because a garbage collection may end a waiter at any time.
        self._waiting: dict[object, asyncio.AbstractEventLoop] = {}
        self._lock = threading.Lock()

    @property
    def running(self) -> int:
        """How many hooks run now."""
        return len(self._running)

    def try_acquire(self, slot: object, most: int) -> bool:
        """Take a slot if fewer than `most` hooks run and no other hook has waited longer."""
        with self._lock:
            # A loop that has stopped must not hold up the others. When it runs again, its hooks keep their places.
            line = self._waiting.copy().items()
            if next((each for each, loop in line if loop.is_running()), slot) is not slot:
                return False
            if len(self._running) >= most:
                return False
            self._running.add(slot)
            return True

    async def acquire(self, slot: object, most: int) -> None:
        """Wait in line until fewer than `most` hooks run, then take a slot."""
        self._waiting[slot] = asyncio.get_running_loop()
        try:
            while not self.try_acquire(slot, most):  # noqa: ASYNC110 - other loops and garbage collection free slots
                await asyncio.sleep(_POLL_S)
        finally:
            self._waiting.pop(slot, None)

    def release(self, slot: object) -> None:
        """Free a slot; a second call does nothing."""
        self._running.discard(slot)


LIMIT = Limit()
SCOPE: ContextVar[Limit] = ContextVar("SCOPE", default=LIMIT)
"""The limit for new hooks. A program that works for several callers gives each its own limit."""
os.register_at_fork(after_in_child=LIMIT.reset)
