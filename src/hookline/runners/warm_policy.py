"""Decides which hooks use the warm pool; imports the pool on a hook's second run."""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from hookline.extensions import lazy_module
from hookline.protocol.hook_entry import CommandLine, HookEntry
from hookline.runners.process.batch import ChildJob, ChildLimits, ChildOutcome, run_children
from hookline.runners.process.environment import is_for_bash
from hookline.runners.process.features import FEATURES

if TYPE_CHECKING:
    from hookline.runners.warm import pool, process_state, runner
else:  # most programs fire each hook once
    pool = lazy_module("hookline.runners.warm.pool")
    process_state = lazy_module("hookline.runners.warm.process_state")
    runner = lazy_module("hookline.runners.warm.runner")

# A program may make up commands without end.
_MOST_SEEN = 1000


class WarmPolicy:
    """The parked interpreters of one engine, if it has any."""

    def __init__(self, most: int) -> None:
        """Park at most so many; 0 means that every hook runs cold."""
        self._most = most if FEATURES.warm else 0
        self.cold: set[str] = set()
        """Commands that are known to run no Python script; one that becomes such a script later stays cold."""
        self._seen: set[str] = set()
        self._pool: pool.WarmPool | None = None
        self._lock = threading.Lock()

    async def run(
        self,
        hooks: Sequence[HookEntry],
        jobs: Sequence[ChildJob],
        *,
        limits: ChildLimits,
        on_end: Callable[[int], None] | None = None,
    ) -> list[ChildOutcome]:
        """Run the jobs of these hooks at the same time, in interpreters that wait for them where there are any."""
        pools = [self._pool_for(hook) for hook in hooks]
        if not any(pools):
            return await run_children(jobs, limits=limits, on_end=on_end)
        return await runner.run_warm(jobs, pools, limits=limits, on_end=on_end)

    def _pool_for(self, hook: HookEntry) -> "pool.WarmPool | None":
        """The pool in which an interpreter may wait for this hook; None for a hook that must be started."""
        if not self._most or not _may_be_warm(hook) or hook.limits is not None or hook.command is None:
            return None
        if hook.command in self.cold:  # most hooks are no Python scripts
            return None
        if hook.command not in self._seen:
            if len(self._seen) < _MOST_SEEN:
                self._seen.add(hook.command)
            return None
        return self._pool or self._open()

    def close(self) -> None:
        """End all of them; hooks that run later run cold."""
        with self._lock:
            self._most = 0
            ended, self._pool = self._pool, None
        if ended is not None:
            ended.close()

    def _open(self) -> "pool.WarmPool | None":
        with self._lock:  # loops in other threads may be here
            if self._pool is None and self._most:
                self._pool = pool.WarmPool(self._most, cold=self.cold)
            return self._pool


def _may_be_warm(hook: HookEntry) -> bool:
    return isinstance(hook.run, CommandLine) and hook.run.warm


def cold_variable(env: Mapping[str, str]) -> str | None:
    """Which variable keeps every Python script cold, and what to do; None without one."""
    if name := next(filter(is_for_bash, env), None):
        return f"{name} is set, so bash has to start each command; unset it"
    return process_state.why_cold(os.fsencode(f"{name}={value}") for name, value in env.items())
