"""Plan → runs, in plan order: in parallel, or as a chain in which each hook sees the changes before it."""

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any

import msgspec

from hookline.child.batch import ChildJob, ChildLimits, ChildOutcome, run_children
from hookline.contract.answers import Answer, deny, read_stdout, warning_from_stderr
from hookline.contract.endings import show_ending, show_ms
from hookline.contract.hooks import PROJECT_DIR_VARIABLES, HookEntry, HookType, OnError
from hookline.contract.verdict import HookExecutionPlan, HookExecutionResult, Skip, SkipKind
from hookline.contract.wire import stringify_json
from hookline.engine.advice import advise
from hookline.engine.callables import run_callables
from hookline.engine.event_table import EVENT_TABLE

EXIT_CODE_SUCCESS = 0
EXIT_CODE_BLOCKING_ERROR = 2

_Hooks = Sequence[HookEntry]
Passes = Callable[[str], bool]


class HookRunner:
    """Runs hooks as child processes, all at once or one after another."""

    def __init__(
        self,
        *,
        limits: ChildLimits | None = None,
        environ: Mapping[str, str] | None = None,
        passes: Passes | None = None,
        on_environment: Callable[[Mapping[Any, Any]], None] | None = None,
        on_end: Callable[[HookEntry], None] | None = None,
    ) -> None:
        """Takes its options.

        Args:
            limits: how much a hook may write, and how many may run.
            environ: what hooks inherit, as it is when they start; this program's own environment if not given.
            passes: which variables of it, by their names; all if not given.
            on_environment: called with all of it when it has changed since the last event.
            on_end: called for each hook that ends, while others may still run.
        """
        self._limits = limits or ChildLimits()
        self._inherited = Inherited(os.environ if environ is None else environ, passes, on_environment)
        self._on_end = on_end

    async def run(self, plan: HookExecutionPlan, event_input: Mapping[str, Any]) -> list[HookExecutionResult]:
        """Runs the hooks of a plan, and returns their results in plan order.

        Where hooks of several layers can block, each layer's hooks start when those of less trusted layers have ended,
        and their input has the changes of those. Final guards come last.
        """
        first, last = plan.hooks[0], plan.hooks[-1]
        if (first.rank == last.rank and not last.final) or not EVENT_TABLE[plan.event].can_block:
            execute = self.execute_hooks_sequential if plan.sequential else self.execute_hooks_parallel
            return await execute(plan.hooks, event_input)
        runs: list[HookExecutionResult] = []
        for hooks, is_chain in _steps(plan.hooks):
            execute = self.execute_hooks_sequential if is_chain else self.execute_hooks_parallel
            runs += await execute(hooks, _told_next(event_input, runs))
        return runs

    async def execute_hooks_parallel(self, hooks: _Hooks, event_input: Mapping[str, Any]) -> list[HookExecutionResult]:
        """Starts all hooks at once with the same input, and returns their results in the given order."""
        stdin = stringify_json(event_input)
        called = [hook for hook in hooks if hook.call is not None or hook.plugin is not None]
        if not called:
            return await self._run_commands(hooks, event_input, stdin)
        if len(called) < len(hooks):
            commands = [hook for hook in hooks if hook.call is None and hook.plugin is None]
            ended = await asyncio.gather(
                self._run_commands(commands, event_input, stdin), self._call_functions(called, stdin)
            )
            runs = {id(run.hook): run for kind in ended for run in kind}
            return [runs[id(hook)] for hook in hooks]
        return await self._call_functions(called, stdin)

    async def _call_functions(self, hooks: _Hooks, stdin: bytes) -> list[HookExecutionResult]:
        if not hooks:
            return []
        on_end = None if self._on_end is None else partial(_notify, self._on_end, hooks)
        outcomes = await run_callables(hooks, stdin, on_end)
        return [_read(hook, outcome, stdin) for hook, outcome in zip(hooks, outcomes, strict=True)]

    async def _run_commands(
        self, hooks: _Hooks, event_input: Mapping[str, Any], stdin: bytes
    ) -> list[HookExecutionResult]:
        cwd = str(event_input["cwd"])
        inherited = self._inherited.in_directory(cwd)
        runnable = [hook for hook in hooks if hook.type is HookType.COMMAND and hook.command is not None]
        jobs = [
            ChildJob(
                command=hook.command or "",
                stdin=stdin,
                cwd=cwd,
                env=_with_own(hook, cwd, inherited) if hook.env else inherited,
                timeout_ms=hook.timeout_ms,
                limits=hook.limits,
            )
            for hook in runnable
        ]
        on_end = None if self._on_end is None else partial(_notify, self._on_end, runnable)
        outcomes = await run_children(jobs, limits=self._limits, on_end=on_end)
        ended = {id(hook): _read(hook, outcome, stdin) for hook, outcome in zip(runnable, outcomes, strict=True)}
        return [ended.get(id(hook)) or _not_runnable(hook, stdin) for hook in hooks]

    async def execute_hooks_sequential(
        self, hooks: _Hooks, event_input: Mapping[str, Any]
    ) -> list[HookExecutionResult]:
        """Runs the hooks one after another; the input of each has the changes of those before it.

        On events that can block, a block ends the chain for hooks of the same or a less trusted layer.
        """
        runs: list[HookExecutionResult] = []
        told = event_input
        for hook in hooks:
            if blocked_by(hook, runs) is not None:
                continue
            (run,) = await self.execute_hooks_parallel((hook,), told)
            if runs and run.answer is not None:
                run = msgspec.structs.replace(run, answer=msgspec.structs.replace(run.answer, is_chained=True))
            runs.append(run)
            told = _told_next(event_input, runs)
        return runs


def _steps(hooks: _Hooks) -> Iterator[tuple[_Hooks, bool]]:
    """The hooks of each layer, and whether they run as a chain; final guards are the last step.

    A less trusted layer can't make a chain of a more trusted one's hooks, or a block among these would end it.
    """
    rewriting = [hook for hook in hooks if not hook.final]
    for rank, layer in groupby(rewriting, key=attrgetter("rank")):
        yield tuple(layer), any(hook.sequential and hook.rank >= rank for hook in hooks)
    if guards := [hook for hook in hooks if hook.final]:
        yield guards, False


def chain_skips(hooks: _Hooks, runs: Sequence[HookExecutionResult]) -> tuple[Skip, ...]:
    """The hooks of a chain that did not run, because a hook before them blocked."""
    ran = {id(run.hook) for run in runs}
    return tuple(
        Skip(hook=hook, kind=SkipKind.CHAIN_STOPPED, detail=f"{blocker.hook.label} blocked")
        for hook in hooks
        if id(hook) not in ran and (blocker := blocked_by(hook, runs)) is not None
    )


def blocked_by(hook: HookEntry, runs: Sequence[HookExecutionResult]) -> HookExecutionResult | None:
    """The run that keeps a later hook of the chain from running, or None."""
    if not EVENT_TABLE[hook.event].can_block:
        return None
    return next((run for run in runs if run.blocks and run.hook.rank >= hook.rank), None)


def _told_next(first: Mapping[str, Any], runs: Sequence[HookExecutionResult]) -> Mapping[str, Any]:
    """The input of the next hook: the event as it would go on if the chain ended now."""
    answers = [run.answer for run in runs if run.success and run.answer is not None]
    if not answers or not EVENT_TABLE[runs[0].event].chains:
        return first
    row = EVENT_TABLE[runs[0].event]
    return {**first, **row.change(first, row.merge(answers).answer, answers)}


def _notify(on_end: Callable[[HookEntry], None], hooks: _Hooks, index: int) -> None:
    with suppress(Exception):  # an observer must not keep the guards from their work
        on_end(hooks[index])


def _with_own(hook: HookEntry, cwd: str, inherited: Mapping[str, str]) -> Mapping[str, str]:
    # The project's directory is a fact that no hook's own settings can change.
    return {**inherited, **hook.env, **dict.fromkeys(PROJECT_DIR_VARIABLES, cwd)}


def _read(hook: HookEntry, outcome: ChildOutcome, stdin: bytes) -> HookExecutionResult:
    """The result of one run: exit code 0 means read stdout, 2 means deny, anything else that the hook failed."""
    stdout = outcome.stdout.decode("utf-8", "replace")
    stderr = outcome.stderr.decode("utf-8", "replace")
    error = outcome.error or (f"timed out after {show_ms(hook.timeout_ms)}" if outcome.timed_out else None)
    answer: Answer | None = None
    advice: tuple[str, ...] = ()
    if error is not None:
        pass
    elif outcome.exit_code == EXIT_CODE_BLOCKING_ERROR:
        answer = deny(stderr, rank=hook.rank)
    elif outcome.exit_code != EXIT_CODE_SUCCESS:
        answer = warning_from_stderr(stderr, rank=hook.rank)
    elif outcome.stdout_truncated:
        cut = f"stdout was cut after {len(outcome.stdout)} bytes, so nothing was read from it"
        advice = (f"{cut}; print less, or raise hooksConfig.outputLimit",)
    elif stdout:
        reads = EVENT_TABLE[hook.event].reads
        answer = read_stdout(stdout, reads - _REWRITES if hook.final else reads, rank=hook.rank)
    if answer is not None and answer.given not in _PLAIN_ANSWERS:
        advice = advise(hook.event, answer)
    result = HookExecutionResult(
        hook=hook,
        event=hook.event,
        success=error is None and outcome.exit_code == EXIT_CODE_SUCCESS,
        # The specification reports 0 for a hook that a signal ended; `signal` beside it has the truth.
        exit_code=0 if outcome.signal is not None else outcome.exit_code,
        signal=outcome.signal,
        timed_out=outcome.timed_out,
        truncated=outcome.stdout_truncated or outcome.stderr_truncated,
        duration_ms=outcome.duration_ms,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        answer=answer,
        error=error,
        is_shortage=outcome.is_shortage,
        advice=advice,
    )
    return result if hook.on_error is OnError.ALLOW else _closed(result, is_cut=outcome.stdout_truncated)


# A final guard can't change the arguments that it judged.
_REWRITES = frozenset({"tool_input", "updatedInput"})
# Answers that need no advice on any event.
_PLAIN_ANSWERS: tuple[Mapping[str, Any], ...] = ({}, {"decision": "allow"})


def _closed(result: HookExecutionResult, *, is_cut: bool) -> HookExecutionResult:
    """The result as a deny, if the hook does not clearly say yes: its onError is block."""
    if not EVENT_TABLE[result.event].can_block or result.blocks:
        return result
    doubt = None if result.answer is None else result.answer.doubt
    if not result.success:
        why = show_ending(result)
    elif is_cut:
        why = "printed more than is read"
    elif doubt is not None:
        why = f"can't be understood ({doubt})"
    else:
        return result
    refusal = deny(f"{result.hook.label} {why}, and its onError is block", rank=result.hook.rank)
    if result.answer is not None:
        # Whatever else was understood stays: a stop, a note.
        given = {**result.answer.to_dict(), **refusal.to_dict()}
        refusal = msgspec.structs.replace(
            result.answer, decision=refusal.decision, reason=refusal.reason, is_explicit=True, given=given
        )
    return msgspec.structs.replace(result, answer=refusal)


def _not_runnable(hook: HookEntry, stdin: bytes) -> HookExecutionResult:
    result = HookExecutionResult(
        hook=hook,
        event=hook.event,
        success=False,
        exit_code=None,
        stdin=stdin,
        error='could not be started: hooks of type "plugin" cannot be run; use "type": "command"',
    )
    return result if hook.on_error is OnError.ALLOW else _closed(result, is_cut=False)


class Inherited:
    """The environment that hooks get, as it is at each event: the same object while nothing has changed."""

    def __init__(
        self,
        environ: Mapping[Any, Any],
        passes: Passes | None = None,
        on_change: Callable[[Mapping[Any, Any]], None] | None = None,
    ) -> None:
        # os.environ decodes every variable at every look; its own bytes are copied and compared in a microsecond.
        self._environ = environ._data if isinstance(environ, type(os.environ)) else environ  # type: ignore[attr-defined]  # noqa: SLF001
        self._passes = passes
        self._on_change = on_change
        # What it was, where hooks ran, and what was made of that: replaced as a whole, for threads.
        self._last: tuple[Mapping[Any, Any] | None, str, Mapping[str, str]] = (None, "", {})

    def in_directory(self, cwd: str) -> Mapping[str, str]:
        """Everything that a hook finds in its environment; runners encode the same object only once."""
        # Another thread may change it meanwhile, so only this copy is read.
        now = dict(self._environ)
        known, last_cwd, made = self._last
        try:
            has_changed = known is None or now != known
        except Exception:  # noqa: BLE001 - foreign code: an entry that can't be compared must not stop every guard
            has_changed = True
        if has_changed and self._on_change is not None:
            self._on_change(now)
        if has_changed or cwd != last_cwd:
            passed_on = {name: value for name, value in _possible(now) if self._passes is None or self._passes(name)}
            made = {**passed_on, **dict.fromkeys(PROJECT_DIR_VARIABLES, cwd)}
            self._last = now, cwd, made
        return made


def _possible(environ: Mapping[Any, Any]) -> Iterator[tuple[str, str]]:
    """The entries that an environment can hold, as text: one invalid entry must not stop every guard."""
    for entry in environ.items():
        name, value = (os.fsdecode(part) if isinstance(part, bytes) else part for part in entry)
        is_text = isinstance(name, str) and isinstance(value, str)
        if is_text and name and not {"=", "\0"} & {*name} and "\0" not in value:
            yield name, value
