"""Plan → results, in plan order."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hookline.contract.hooks import HookEntry, HookType
from hookline.contract.results import HookExecutionResult
from hookline.contract.wire import stringify_json
from hookline.engine.child.exit_codes import read_outcome
from hookline.engine.child.process import ChildJob, ChildLimits, run_children
from hookline.engine.event_table import EVENT_TABLE

PROJECT_DIR_VARIABLES = ("LLXPRT_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR")


class HookRunner:
    """Runs hooks as child processes, all at once or one after another."""

    def __init__(
        self, *, limits: ChildLimits | None = None, environ: Callable[[], Mapping[str, str]] | None = None
    ) -> None:
        self._limits = limits or ChildLimits()
        self._environ = environ or _own_environment

    async def execute_hooks_parallel(
        self, hooks: Sequence[HookEntry], event_input: Mapping[str, Any]
    ) -> list[HookExecutionResult]:
        """Starts all hooks at once, each told the same, and returns their results in the given order."""
        stdin = stringify_json(event_input)
        jobs = {index: self._job(hook, event_input, stdin) for index, hook in enumerate(hooks) if _is_runnable(hook)}
        outcomes = dict(zip(jobs, await run_children(tuple(jobs.values()), limits=self._limits), strict=True))
        return [
            read_outcome(hook, outcomes[index], stdin, can_block=EVENT_TABLE[hook.event].can_block)
            if index in outcomes
            else _not_runnable(hook, stdin)
            for index, hook in enumerate(hooks)
        ]

    async def execute_hooks_sequential(
        self, hooks: Sequence[HookEntry], event_input: Mapping[str, Any]
    ) -> list[HookExecutionResult]:
        """Runs the hooks one after another, each told what the ones before it changed; a block ends the chain."""
        results: list[HookExecutionResult] = []
        for hook in hooks:
            (result,) = await self.execute_hooks_parallel((hook,), event_input)
            results.append(result)
            if result.output is None:
                continue
            row = EVENT_TABLE[hook.event]
            if row.output(result.output.to_dict()).is_blocking_decision():
                break
            if result.success and row.chain is not None:
                event_input = row.chain(event_input, result.output)
        return results

    def _job(self, hook: HookEntry, event_input: Mapping[str, Any], stdin: bytes) -> ChildJob:
        cwd = str(event_input["cwd"])
        return ChildJob(
            command=hook.command or "",
            stdin=stdin,
            cwd=cwd,
            env={**self._environ(), **hook.env, **dict.fromkeys(PROJECT_DIR_VARIABLES, cwd)},
            timeout_ms=hook.timeout_ms,
        )


def _own_environment() -> Mapping[str, str]:
    return os.environ


def _is_runnable(hook: HookEntry) -> bool:
    return hook.type is HookType.COMMAND and hook.command is not None


def _not_runnable(hook: HookEntry, stdin: bytes) -> HookExecutionResult:
    return HookExecutionResult(
        hook=hook,
        event=hook.event,
        success=False,
        exit_code=None,
        stdin=stdin,
        error='could not be started: hooks of type "plugin" cannot be run; use "type": "command"',
    )
