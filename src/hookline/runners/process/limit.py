"""The limit on hooks that run at the same time, for the whole program."""

import asyncio
import os
import threading
from collections.abc import Callable
from contextvars import ContextVar

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
        # In order of arrival.
        self._waiting: dict[object, asyncio.Future[None]] = {}
        # Not taken by `release`, which a garbage collection may call at any time.
        self._lock = threading.Lock()

    @property
    def running(self) -> int:
        """How many hooks run now."""
        return len(self._running)

    def try_acquire(self, slot: object, most: int) -> bool:
        """Take a slot if fewer than `most` hooks run and none waits."""
        with self._lock:
            if self._waiting or len(self._running) >= most:
                return False
            self._running.add(slot)
            return True

    async def acquire(self, slot: object, most: int) -> None:
        """Wait in line until fewer than `most` hooks run, then take a slot."""
        loop = asyncio.get_running_loop()
        # A hook in line may have given way to a loop that has stopped since.
        self._wake_all()
        try:
            while not self._acquire_or_wait(slot, most, wake := loop.create_future()):
                await wake
        finally:
            self._waiting.pop(slot, None)
            self._wake_all()

    def release(self, slot: object) -> None:
        """Free a slot; a second call does nothing."""
        self._running.discard(slot)
        if self._waiting:
            self._wake_all()

    def _acquire_or_wait(self, slot: object, most: int, wake: asyncio.Future[None]) -> bool:
        with self._lock:
            # First the future, then the check, so that no release between the two is missed.
            self._waiting[slot] = wake
            if self._first_waiting() is wake and len(self._running) < most:
                self._running.add(slot)
                return True
            return False

    def _first_waiting(self) -> asyncio.Future[None] | None:
        # A loop that has stopped must not hold up the others. When it runs again, it finds its old place in the line.
        return next((wake for wake in self._waiting.copy().values() if wake.get_loop().is_running()), None)

    def _wake_all(self) -> None:
        """Let every hook in line look again: each batch waits with one hook at most, so the line is short."""
        for slot, wake in self._waiting.copy().items():
            try:
                wake.get_loop().call_soon_threadsafe(_wake, wake)
            except RuntimeError:  # the loop was closed
                self._waiting.pop(slot, None)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


LIMIT = Limit()
SCOPE: ContextVar[Limit] = ContextVar("SCOPE", default=LIMIT)
"""The limit for new hooks. A program that works for several callers gives each its own limit."""
os.register_at_fork(after_in_child=LIMIT.reset)
