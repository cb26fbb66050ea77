"""Hooks that run beside the agent (`async`): owned by one thread, bounded by their timeouts and the program's end."""

import asyncio
import atexit
import os
import threading
from collections.abc import Coroutine
from typing import Any

# Imported before ours is registered, so that its own work at the program's end comes after ours: it kills what is left.
import hookline.child.reaper  # noqa: F401

# How long a program that ends waits for them. What still runs then is killed.
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
        self._running = 0
        self._idle = threading.Event()
        self._idle.set()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Starts the work and returns."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="hookline-beside", daemon=True).start()
            self._running += 1
            self._idle.clear()
        asyncio.run_coroutine_threadsafe(self._watched(work), self._loop)

    def join(self, timeout_s: float = _LAST_MOMENTS_S) -> bool:
        """Waits until all of it is done, and returns whether it is."""
        return self._idle.wait(timeout_s)

    def end_with_program(self) -> None:
        """Waits a moment; what is still running or waiting for its turn then is cancelled, so that nothing starts."""
        if not self.join() and self._loop is not None:
            asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop)
            self.join(_CANCELLING_S)

    async def _watched(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        finally:
            with self._lock:
                self._running -= 1
                if not self._running:
                    self._idle.set()


async def _cancel_all() -> None:
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()


BESIDE = Beside()
atexit.register(BESIDE.end_with_program)
os.register_at_fork(after_in_child=BESIDE.reset)
