"""Hooks that run beside the agent (`async`): owned by one thread, bounded by their timeouts and their owner's end."""

import asyncio
import atexit
import os
import threading
from collections.abc import Coroutine, Hashable
from typing import Any

# Imported before ours is registered, so that its own work at the program's end comes after ours: it kills what is left.
import hookline.child.reaper  # noqa: F401

# How long a program that ends, or closes its hooks, waits for them. What still runs then is killed.
_LAST_MOMENTS_S = 2.0
_CANCELLING_S = 1.0


class Beside:
    """Runs coroutines in a thread of its own, because the loop of the event that started them may end at once."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything: after a fork the thread is the parent's."""
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._owners: list[Hashable] = []
        self._tasks: dict[asyncio.Task[None], Hashable] = {}
        self._ended = threading.Condition(self._lock)

    def spawn(self, work: Coroutine[Any, Any, None], owner: Hashable = None) -> None:
        """Starts the work and returns; `end` ends the work of one owner."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="hookline-beside", daemon=True).start()
            self._owners.append(owner)
        asyncio.run_coroutine_threadsafe(self._watched(work, owner), self._loop)

    def join(self, timeout_s: float = _LAST_MOMENTS_S, owner: Hashable = None) -> bool:
        """Waits until the work of an owner, or all of it, is done, and returns whether it is."""
        with self._ended:
            return self._ended.wait_for(lambda: not self._has_work(owner), timeout_s)

    def end(self, owner: Hashable = None) -> None:
        """Waits a moment; what is still running or waiting for its turn then is cancelled, so that nothing starts."""
        if not self.join(owner=owner) and self._loop is not None:
            self._loop.call_soon_threadsafe(self._cancel, owner)
            self.join(_CANCELLING_S, owner)

    def _has_work(self, owner: Hashable) -> bool:
        return bool(self._owners) if owner is None else owner in self._owners

    def _cancel(self, owner: Hashable) -> None:
        for task, own in [*self._tasks.items()]:
            if owner is None or own == owner:
                task.cancel()

    async def _watched(self, work: Coroutine[Any, Any, None], owner: Hashable) -> None:
        task = asyncio.current_task()
        if task is not None:  # it is one, which mypy can't know
            self._tasks[task] = owner
        try:
            await work
        finally:
            if task is not None:
                del self._tasks[task]
            with self._ended:
                self._owners.remove(owner)
                self._ended.notify_all()


BESIDE = Beside()
atexit.register(BESIDE.end)
os.register_at_fork(after_in_child=BESIDE.reset)
