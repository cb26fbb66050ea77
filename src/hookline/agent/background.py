"""Hooks that nobody waits for, and yet nobody forgets."""

import asyncio
from collections.abc import Coroutine
from typing import Any

# A cancelled hook gets its TERM first; cancelled once more, its group is killed at once.
_TERM_S = 0.5


class BackgroundHooks:
    """Runs what is spawned beside the agent, and ends it all within a bounded time."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def spawn(self, hooks: Coroutine[Any, Any, None]) -> None:
        """Starts it at the loop's next turn and returns."""
        task = asyncio.get_running_loop().create_task(hooks)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def drain(self, timeout_s: float) -> bool:
        """Waits for everything spawned so far; what takes longer is ended. True when nothing had to be."""
        tasks = set(self._tasks)
        if tasks:
            _, tasks = await asyncio.wait(tasks, timeout=timeout_s)
        is_complete = not tasks
        while tasks:
            for task in tasks:
                task.cancel()
            _, tasks = await asyncio.wait(tasks, timeout=_TERM_S)
        return is_complete
