"""Plan → results, in plan order."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from hookline.child.batch import ChildJob, ChildLimits, run_children
from hookline.contract.hooks import PROJECT_DIR_VARIABLES, HookEntry, HookType
from hookline.contract.results import HookExecutionResult
from hookline.contract.wire import stringify_json
from hookline.engine.event_table import EVENT_TABLE
from hookline.engine.exit_codes import blocked_by_failure, read_outcome


class HookRunner:
    """Runs hooks as child processes, all at once or one after another."""

    def __init__(
        self,
        *,
        limits: ChildLimits | None = None,
        environ: Mapping[str, str] | None = None,
        passes_on: Callable[[str], bool] | None = None,
        on_end: Callable[[HookEntry], None] | None = None,
    ) -> None:
        """Takes what it needs to know.

        Args:
            limits: how much a hook may write, and how many may run.
            environ: what hooks inherit, as it is when they start; this program's own environment if not given.
            passes_on: which variables of it, by their names; all if not given.
            on_end: is told of each hook that ends, while others may still run.
        """
        self._limits = limits or ChildLimits()
        self._environ = snapshots_of(os.environ if environ is None else environ, passes_on)
        self._on_end = on_end
        # Where hooks run, the environment around them, and the one that they get: replaced as a whole, for threads.
        self._inherited: tuple[str, Mapping[str, str] | None, Mapping[str, str]] = ("", None, {})

    async def execute_hooks_parallel(
        self, hooks: Sequence[HookEntry], event_input: Mapping[str, Any]
    ) -> list[HookExecutionResult]:
        """Starts all hooks at once, each told the same, and returns their results in the given order."""
        stdin = stringify_json(event_input)
        cwd = str(event_input["cwd"])
        inherited = self._environment_in(cwd)
        jobs = [_job(hook, stdin, cwd, inherited) for hook in hooks if _is_runnable(hook)]
        on_end = None
        if self._on_end is not None:
            on_end = partial(_tell_end, self._on_end, tuple(filter(_is_runnable, hooks)))
        outcomes = iter(await run_children(jobs, limits=self._limits, on_end=on_end))
        return [
            read_outcome(hook, next(outcomes), stdin, can_block=EVENT_TABLE[hook.event].can_block)
            if _is_runnable(hook)
            else _not_runnable(hook, stdin)
            for hook in hooks
        ]

    async def execute_hooks_sequential(
        self, hooks: Sequence[HookEntry], event_input: Mapping[str, Any]
    ) -> list[HookExecutionResult]:
        """Runs the hooks one after another, each told what the ones before it changed; a block ends the chain."""
        results: list[HookExecutionResult] = []
        first = event_input
        for hook in hooks:
            (result,) = await self.execute_hooks_parallel((hook,), event_input)
            results.append(result)
            if result.output is None:
                continue
            row = EVENT_TABLE[hook.event]
            if result.output.read_as(row.output).is_blocking_decision():
                break
            if result.success and row.chain is not None:
                event_input = row.chain(event_input, result.output, first)
        return results

    def _environment_in(self, cwd: str) -> Mapping[str, str]:
        """What every hook finds in its environment; the same object while nothing changes, as it is encoded once."""
        last_cwd, last, environment = self._inherited
        now = self._environ()
        if now is not last or cwd != last_cwd:
            environment = {**now, **dict.fromkeys(PROJECT_DIR_VARIABLES, cwd)}
            self._inherited = cwd, now, environment
        return environment


def _tell_end(on_end: Callable[[HookEntry], None], hooks: Sequence[HookEntry], index: int) -> None:
    with suppress(Exception):  # whoever watches the guards must not keep them from their work
        on_end(hooks[index])


def _job(hook: HookEntry, stdin: bytes, cwd: str, inherited: Mapping[str, str]) -> ChildJob:
    env = inherited
    if hook.env:
        # The project's directory is a fact that no hook's own settings can change.
        env = {**inherited, **hook.env, **dict.fromkeys(PROJECT_DIR_VARIABLES, cwd)}
    return ChildJob(command=hook.command or "", stdin=stdin, cwd=cwd, env=env, timeout_ms=hook.timeout_ms)


def snapshots_of(
    environ: Mapping[Any, Any], passes_on: Callable[[str], bool] | None = None
) -> Callable[[], Mapping[str, str]]:
    """Gives what is passed on of an environment as it is at each call: the same object while nothing has changed."""
    # os.environ decodes every variable at every look; its own bytes are compared in a microsecond.
    data: Mapping[Any, Any] = getattr(environ, "_data", environ) if isinstance(environ, type(os.environ)) else environ
    # What it was, and what was made of that: replaced as a whole, for threads.
    last: tuple[dict[Any, Any] | None, Mapping[str, str]] = (None, {})

    def snapshot() -> Mapping[str, str]:
        nonlocal last
        known, passed_on = last
        # What is no plain dictionary may have its own idea of being equal.
        now = data if type(data) is dict else dict(data)
        try:
            has_changed = known is None or now != known
        except Exception:  # noqa: BLE001 - foreign code: an odd entry that can't be compared must not cost every guard
            has_changed = True
        if has_changed:
            # Read from a copy, because another thread may change it meanwhile.
            known = dict(now)
            passed_on = {name: value for name, value in _possible(known) if passes_on is None or passes_on(name)}
            last = known, passed_on
        return passed_on

    return snapshot


def _possible(environ: Mapping[Any, Any]) -> Iterator[tuple[str, str]]:
    """What an environment can hold, as text: one odd entry that a program gives must not cost every guard."""
    for entry in environ.items():
        name, value = (os.fsdecode(part) if isinstance(part, bytes) else part for part in entry)
        is_text = isinstance(name, str) and isinstance(value, str)
        if is_text and name and not {"=", "\0"} & {*name} and "\0" not in value:
            yield name, value


def _is_runnable(hook: HookEntry) -> bool:
    return hook.type is HookType.COMMAND and hook.command is not None


def _not_runnable(hook: HookEntry, stdin: bytes) -> HookExecutionResult:
    result = HookExecutionResult(
        hook=hook,
        event=hook.event,
        success=False,
        exit_code=None,
        stdin=stdin,
        error='could not be started: hooks of type "plugin" cannot be run; use "type": "command"',
    )
    return blocked_by_failure(result) if EVENT_TABLE[hook.event].can_block else result
