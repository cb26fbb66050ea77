"""Fires the events of cases on the path that an agent uses, several at a time, and judges what comes of them.

No tool is run, no model is called, and nothing is written to the log that the settings name: only hooks run.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from hookline.client.config import Config, new_session_id
from hookline.engine.event_table import EVENT_TABLE
from hookline.engine.system import HookSystem
from hookline.errors import HooklineError
from hookline.protocol.constants import WHY_DISABLED
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.verdict import SkipKind, Verdict
from hookline.runners.background import BACKGROUND
from hookline.stderr import captured_notices
from hookline.testing.cases.case import Case
from hookline.testing.cases.judge import Difference, judge

MakeConfig = Callable[[Mapping[str, str]], Config]
"""The configuration with these variables for the hooks, besides the usual ones; its `log_file` has to be False."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of one case."""

    case: Case
    verdict: Verdict | None = None
    differences: tuple[Difference, ...] = ()
    problem: str | None = None
    """Why it could not be judged, such as a hook that is not trusted."""
    messages: tuple[str, ...] = ()
    """The notices that the user got during the case."""

    @property
    def passed(self) -> bool:
        """True when everything is as expected."""
        return self.problem is None and not self.differences


class HooksDisabledError(HooklineError):
    """The settings do not enable hooks, so cases would show nothing."""


Compare = Callable[[Case, Verdict], tuple[Difference, ...]]
"""The differences from the expectation."""


def compare_expected(case: Case, verdict: Verdict) -> tuple[Difference, ...]:
    """The differences from what the case expects."""
    return judge(case.expected, case.fields, verdict)


async def run_cases(
    cases: Sequence[Case],
    make_config: MakeConfig,
    *,
    jobs: int = 1,
    compare: Compare = compare_expected,
    on_result: Callable[[Result], None] = lambda _: None,
) -> list[Result]:
    """The results in the order of the cases; `on_result` gets each as soon as it is there."""
    bench = Bench(make_config, compare)
    results: list[Result | None] = [None] * len(cases)
    waiting = iter(enumerate(cases))

    async def work() -> None:
        for index, case in waiting:
            results[index] = result = await bench.run(case)
            on_result(result)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(max(1, min(jobs, len(cases)))):
                group.create_task(work())
    except* HooklineError as errors:
        raise errors.exceptions[0] from None
    finally:
        bench.close()
    return [result for result in results if result is not None]


class Bench:
    """Fires events with the hooks that are configured, keeping one hook system for each environment."""

    def __init__(self, make_config: MakeConfig, compare: Compare = compare_expected) -> None:
        self._make_config = make_config
        self._compare = compare
        self._systems: dict[frozenset[tuple[str, str]], HookSystem] = {}
        self._configs: dict[HookSystem, Config] = {}

    async def run(self, case: Case) -> Result:
        """Fires the event of a case, and judges what comes of it."""
        messages: list[str] = []
        token = captured_notices.set(messages)
        try:
            system = self._system(case.environment)
            if (problem := self._why_untrusted(system, case)) is not None:
                return Result(case=case, problem=problem)
            verdict = await self._fire(system, case)
        finally:
            captured_notices.reset(token)
        if verdict.fault is not None:
            return Result(case=case, verdict=verdict, problem=f"hookline failed: {verdict.fault.message}")
        differences = self._compare(case, verdict)
        return Result(case=case, verdict=verdict, differences=differences, messages=tuple(dict.fromkeys(messages)))

    def hooks(self) -> tuple[HookEntry, ...]:
        """Every hook that is configured."""
        return self._system({}).get_all_hooks()

    def close(self) -> None:
        """Ends the hook systems."""
        BACKGROUND.join()
        for system in self._systems.values():
            system.dispose()

    def _fire(self, system: HookSystem, case: Case) -> Awaitable[Verdict]:
        # A new session for each case, because hooks may keep state per session.
        session = self._configs[system].session_facts._replace(session_id=new_session_id())
        return system.get_event_handler().fire(case.event, case.fields, session)

    def _system(self, environment: Mapping[str, str]) -> HookSystem:
        key = frozenset(environment.items())
        if key not in self._systems:
            config = self._make_config(environment)
            system = config.get_hook_system()
            if system is None:
                raise HooksDisabledError(f"hooks are disabled: {WHY_DISABLED}")
            system.start()
            self._systems[key] = system
            self._configs[system] = config
        return self._systems[key]

    def _why_untrusted(self, system: HookSystem, case: Case) -> str | None:
        """The hooks that would run if they were trusted: without them the case says nothing about what they guard."""
        field = EVENT_TABLE[case.event].subject
        plan = system.explain(case.event, None if field is None else str(case.fields.get(field)))
        skips = [skip for skip in plan.skips if skip.kind is SkipKind.UNTRUSTED]
        if not skips:
            return None
        more = f" (and {len(skips) - 1} more)" if len(skips) > 1 else ""
        return f"not tried, because a hook does not run: {skips[0].hook.label}{more}: {skips[0].reason}"
