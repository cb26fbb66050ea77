"""Hooks that run in the background (`async`): on one thread, bounded by their timeouts and the end of their owner."""

import asyncio
import atexit
import os
import threading
from collections.abc import Coroutine, Hashable
from typing import Any

# Imported before the exit handler below is registered, so that this module's handler runs first: the reaper kills
# every process that is left.
import hookline.runners.process.reaper  # noqa: F401
from hookline.runners.loop_thread import LoopThread

# The end of the program, or of an owner, waits this long for its hooks, and then cancels them.
_GRACE_S = 2.0
_CANCELLING_S = 1.0


class Background:
    """Runs coroutines on a separate thread, because the loop of the event that started them may end at once."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything; after a fork the thread exists in the parent only."""
        self._loop = LoopThread("hookline-background")
        self._owners: list[Hashable] = []
        self._tasks: dict[asyncio.Task[None], Hashable] = {}
        self._ended = threading.Condition()

    def spawn(self, work: Coroutine[Any, Any, None], owner: Hashable = None) -> None:
        """Start the work and return; `end` ends the work of one owner."""
        with self._ended:
            self._owners.append(owner)
        try:
            self._loop.submit(self._tracked(work, owner))
        except BaseException:
            work.close()
            self._forget(owner)
            raise

    def join(self, timeout_s: float = _GRACE_S, owner: Hashable = None) -> bool:
        """Wait for the work of an owner, or for all of it; returns True if it is done."""
        with self._ended:
            return self._ended.wait_for(lambda: not self._has_work(owner), timeout_s)

    def end(self, owner: Hashable = None) -> None:
        """Wait a moment, and cancel the work that still runs or waits for its turn."""
        if not self.join(owner=owner):
            self._loop.call(self._cancel, owner)
            self.join(_CANCELLING_S, owner)

    def _has_work(self, owner: Hashable) -> bool:
        return bool(self._owners) if owner is None else owner in self._owners

    def _cancel(self, owner: Hashable) -> None:
        for task, own in [*self._tasks.items()]:
            if owner is None or own == owner:
                task.cancel()

    async def _tracked(self, work: Coroutine[Any, Any, None], owner: Hashable) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks[task] = owner
        try:
            await work
        finally:
            del self._tasks[task]
            self._forget(owner)

    def _forget(self, owner: Hashable) -> None:
        with self._ended:
            self._owners.remove(owner)
            self._ended.notify_all()


BACKGROUND = Background()
atexit.register(BACKGROUND.end)
os.register_at_fork(after_in_child=BACKGROUND.reset)
