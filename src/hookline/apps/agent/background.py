"""Hooks that the agent does not wait for until the session ends."""

import asyncio
from collections.abc import Coroutine
from typing import Any

# Cancelling a hook sends SIGTERM to its group; cancelling it again kills the group.
_TERM_S = 0.5


class BackgroundHooks:
    """Runs hooks in the background, and ends them within a bounded time."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def spawn(self, hooks: Coroutine[Any, Any, None]) -> None:
        """Start the hooks on the next iteration of the event loop."""
        task = asyncio.get_running_loop().create_task(hooks)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def drain(self, timeout_s: float) -> None:
        """Wait for the hooks started so far, and cancel those that take longer."""
        tasks = set(self._tasks)
        if tasks:
            _, tasks = await asyncio.wait(tasks, timeout=timeout_s)
        while tasks:
            for task in tasks:
                task.cancel()
            _, tasks = await asyncio.wait(tasks, timeout=_TERM_S)
