"""Runs hooks of which some are no commands of ours: functions, requests, hooks of other agents."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from hookline.child.batch import ChildLimits
from hookline.contract.hooks import HookEntry
from hookline.contract.verdict import HookExecutionResult
from hookline.contract.wire import stringify_json
from hookline.engine.beside import BESIDE
from hookline.engine.callables import call_hooks
from hookline.engine.reading import left_running, not_runnable, notify, read_run
from hookline.engine.stays import Stays
from hookline.engine.telling import Asked, ask_each
from hookline.engine.warmth import Warmth
from hookline.engine.ways import Means, Way, way_of


class Mixed(msgspec.Struct, frozen=True):
    """The same options as the runner's."""

    limits: ChildLimits
    http_allow: tuple[str, ...]
    on_end: Callable[[HookEntry], None] | None
    on_late: Callable[[HookExecutionResult], None] | None
    stays: Stays
    warmth: Warmth
    agent: str | None = None

    async def run(
        self, hooks: Sequence[HookEntry], told: Mapping[str, Any], cwd: str, inherited: Mapping[str, str]
    ) -> list[HookExecutionResult]:
        """Starts all hooks at once, each in its own way, and returns their results in the given order."""
        if all(hook.call is not None for hook in hooks):
            return await call_hooks(hooks, told, self.on_end)
        stdin = stringify_json(told)
        asked = ask_each(hooks, told, stdin, inherited)
        means = Means(
            limits=self.limits,
            cwd=cwd,
            http_allow=self.http_allow,
            stays=self.stays,
            warmth=self.warmth,
            agent=self.agent,
            is_alone=len(asked) == 1,
        )
        if means.is_alone:  # without a task
            return [await self._run_one(asked[0], means)]
        return list(await asyncio.gather(*[self._run_one(each, means) for each in asked]))

    async def _run_one(self, asked: Asked, means: Means) -> HookExecutionResult:
        way = way_of(asked.hook)
        if asked.fault is not None or way is None:
            self._notify(asked.hook)
            return not_runnable(asked)
        if asked.hook.is_async:
            BESIDE.spawn(self._run_beside(way, asked, means), self.on_late)
            return left_running(asked)
        outcome = await way(asked, means)
        self._notify(asked.hook)
        return read_run(asked.hook, outcome, asked.stdin, asked.told, asked.telling)

    def _notify(self, hook: HookEntry) -> None:
        if self.on_end is not None:
            notify(self.on_end, (hook,), 0)

    async def _run_beside(self, way: Way, asked: Asked, means: Means) -> None:
        result = read_run(asked.hook, await way(asked, means), asked.stdin, asked.told, asked.telling)
        if self.on_late is not None:
            self.on_late(result)
