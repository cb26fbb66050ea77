"""Plan → runs, in plan order: in parallel, or as a chain in which each hook sees the changes before it."""

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

import msgspec

from hookline.engine.event_table import EVENT_TABLE, can_block
from hookline.engine.outcome import left_running, to_result
from hookline.engine.plan import TrustCheck, ask_trust, everything_is_trusted, refused
from hookline.engine.rewrites import in_normal_form, no_change, normal_change
from hookline.log.consent import user_name
from hookline.protocol.arguments import ToolArguments
from hookline.protocol.constants import OWN_DIALECT, PROJECT_DIR_VARIABLES
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.text.json_text import stringify_json
from hookline.protocol.verdict import HookExecutionPlan, HookExecutionResult, Skip, SkipKind
from hookline.runners.background import BACKGROUND
from hookline.runners.context import OnEnd, RunContext
from hookline.runners.dialect import prepare, why_not_run
from hookline.runners.invocation import HookInvocation
from hookline.runners.process.batch import ChildLimits
from hookline.runners.resources import EngineResources
from hookline.runners.table import run_all
from hookline.runners.warm_policy import WarmPolicy
from hookline.settings.decode.schema import FleetSettings
from hookline.settings.trust.worker_source import WorkerSources

_Hooks = Sequence[HookEntry]
Passes = Callable[[str], bool]


class HookRunner:
    """Runs hooks as child processes, all at once or one after another."""

    def __init__(  # noqa: PLR0913 - described one by one below
        self,
        *,
        limits: ChildLimits | None = None,
        environ: Mapping[str, str] | None = None,
        passes: Passes | None = None,
        on_environment: Callable[[Mapping[Any, Any]], None] | None = None,
        on_end: OnEnd | None = None,
        on_late: Callable[[HookExecutionResult], None] | None = None,
        http_allow: tuple[str, ...] = (),
        directory: str | None = None,
        must_exist: bool = False,
        warm_policy: WarmPolicy | None = None,
        resources: EngineResources | None = None,
        agent: str | None = None,
        why_untrusted: TrustCheck = everything_is_trusted,
    ) -> None:
        """Take the options of all events.

        Args:
            limits: how much a hook may write, and how many may run.
            environ: the environment that hooks inherit, read at each event; by default this program's own.
            passes: selects the variables that hooks inherit, by name; by default all.
            on_environment: called with the environment when it has changed since the last event.
            on_end: called for each hook that ends, while others may still run.
            http_allow: other machines that hooks of the type http may be on.
            on_late: called in another thread with the result of each background hook.
            warm_policy: selects the hooks that may have warm interpreters; by default none.
            resources: worker processes and connections.
            agent: the agent that fires the events, for workers on other machines.
            why_untrusted: called again before hooks that wait for others, which may change their scripts.
            directory: where hooks run and their scripts are trusted; by default the `cwd` of the input.
            must_exist: True if hooks fail without that directory; else they run in its nearest existing parent.
        """
        self._limits = limits or ChildLimits()
        self._inherited = Inherited(os.environ if environ is None else environ, passes, on_environment)
        self._on_end = on_end
        self._on_late = on_late
        self._http_allow = http_allow
        self._directory = directory
        self._must_exist = must_exist
        self.warm_policy = warm_policy or WarmPolicy(0)
        self._agent = agent
        self._why_untrusted = why_untrusted
        self.resources = resources or EngineResources(WorkerSources(), fleet=FleetSettings())

    async def run(
        self, plan: HookExecutionPlan, event_input: Mapping[str, Any], arguments: ToolArguments | None = None
    ) -> list[HookExecutionResult]:
        """Run the hooks of a plan, and return their results in plan order.

        Where hooks of several layers can block, the hooks of a layer start when those of the less trusted layers have
        ended, and their input has the changes of those. Final guards run last. `arguments` brings each change of a
        tool's arguments into normal form before the next hook sees it.
        """
        first, last = plan.hooks[0], plan.hooks[-1]
        if (first.rank == last.rank and not last.final) or not any(map(can_block, plan.hooks)):
            return await self._execute(plan.hooks, event_input, arguments, is_chain=plan.sequential)
        runs: list[HookExecutionResult] = []
        for planned, is_chain in _steps(plan.hooks):
            hooks = self._as_trusted_now(planned) if runs else planned
            hook_input = _next_input(event_input, runs, hooks, arguments)
            runs += _of_planned(planned, hooks, await self._execute(hooks, hook_input, arguments, is_chain=is_chain))
        return runs

    async def _execute(
        self, hooks: _Hooks, hook_input: Mapping[str, Any], arguments: ToolArguments | None, *, is_chain: bool
    ) -> list[HookExecutionResult]:
        if is_chain:
            return await self.execute_hooks_sequential(hooks, hook_input, arguments)
        runs = await self.execute_hooks_parallel(hooks, hook_input)
        return runs if arguments is None else _in_normal_form(runs, hook_input, arguments)

    def _as_trusted_now(self, hooks: _Hooks) -> _Hooks:
        """Hooks that have waited for others; one that has changed since the event was planned will fail."""
        reasons = [ask_trust(self._why_untrusted, hook) if hook.verify_each_event else None for hook in hooks]
        if not any(reasons):
            return hooks
        return [hook if why is None else refused(hook, why) for hook, why in zip(hooks, reasons, strict=True)]

    async def execute_hooks_parallel(self, hooks: _Hooks, event_input: Mapping[str, Any]) -> list[HookExecutionResult]:
        """Starts all hooks at once with the same input, and returns their results in the given order."""
        own = hooks[0].project if hooks else None
        if any(hook.project != own for hook in hooks):
            return await self._in_each_project(hooks, event_input)
        cwd = own or (str(event_input["cwd"]) if self._directory is None else self._directory)
        cwd = cwd if self._must_exist else _existing(cwd)
        inherited = self._inherited.in_directory(cwd)
        invocations = prepare(hooks, event_input, stringify_json(event_input), inherited)
        context = RunContext(
            limits=self._limits,
            cwd=cwd,
            http_allow=self._http_allow,
            agent=self._agent,
            user_name=user_name,
            warm_policy=self.warm_policy,
            resources=self.resources,
            on_end=self._on_end,
        )
        return await self._run_together(invocations, context)

    async def _run_together(
        self, invocations: Sequence[HookInvocation], context: RunContext
    ) -> list[HookExecutionResult]:
        """Start all hooks at once; the event does not wait for those that run in the background."""
        is_late = [each.hook.is_async and each.fault is None for each in invocations]
        for each, late in zip(invocations, is_late, strict=True):
            if late:
                BACKGROUND.spawn(self._run_late(each, context), self._on_late)
        waiting = [each for each, late in zip(invocations, is_late, strict=True) if not late]
        outcomes = iter(await run_all(waiting, context) if waiting else ())
        return [
            left_running(each) if late else to_result(each, next(outcomes))
            for each, late in zip(invocations, is_late, strict=True)
        ]

    async def _run_late(self, invocation: HookInvocation, context: RunContext) -> None:
        (outcome,) = await run_all((invocation,), msgspec.structs.replace(context, on_end=None))
        if self._on_late is not None:
            self._on_late(to_result(invocation, outcome))

    async def _in_each_project(self, hooks: _Hooks, event_input: Mapping[str, Any]) -> list[HookExecutionResult]:
        """Starts all hooks at once, those of each project in its own directory."""
        projects = dict.fromkeys(hook.project for hook in hooks)
        groups = [[hook for hook in hooks if hook.project == project] for project in projects]
        done = await asyncio.gather(*(self.execute_hooks_parallel(group, event_input) for group in groups))
        runs = {id(run.hook): run for group in done for run in group}
        return [runs[id(hook)] for hook in hooks if id(hook) in runs]

    async def execute_hooks_sequential(
        self, hooks: _Hooks, event_input: Mapping[str, Any], arguments: ToolArguments | None = None
    ) -> list[HookExecutionResult]:
        """Runs the hooks one after another; the input of each has the changes of those before it.

        On events that can block, a block ends the chain for hooks of the same or a less trusted layer.
        """
        runs: list[HookExecutionResult] = []
        hook_input = event_input
        for hook in hooks:
            if blocked_by(hook, runs) is not None:
                continue
            now = self._as_trusted_now((hook,)) if runs else (hook,)
            ended = await self._execute(now, hook_input, arguments, is_chain=False)
            is_first = not runs
            for run in _of_planned((hook,), now, ended):
                answer = run.answer
                if not is_first and answer is not None:
                    answer = msgspec.structs.replace(answer, is_chained=True)
                runs.append(msgspec.structs.replace(run, answer=answer))
            hook_input = _next_input(event_input, runs, hooks, arguments)
        return runs


def _in_normal_form(
    runs: list[HookExecutionResult], hook_input: Mapping[str, Any], arguments: ToolArguments
) -> list[HookExecutionResult]:
    """The runs of hooks with this input, with what they change of a tool's arguments in normal form."""
    return [
        run
        if run.answer is None
        or not run.hook.is_enforced
        or (answer := in_normal_form(run.answer, hook_input, arguments)) is run.answer
        else msgspec.structs.replace(run, answer=answer)
        for run in runs
    ]


def _of_planned(planned: _Hooks, hooks: _Hooks, runs: list[HookExecutionResult]) -> list[HookExecutionResult]:
    """The runs as those of the hooks in the plan, by which they are compared."""
    if hooks is planned:
        return runs
    by_id = {id(hook): each for hook, each in zip(hooks, planned, strict=True)}
    return [msgspec.structs.replace(run, hook=by_id[id(run.hook)]) for run in runs]


def _steps(hooks: _Hooks) -> Iterator[tuple[_Hooks, bool]]:
    """The hooks of each layer, and whether they run as a chain; final guards are the last step.

    A less trusted layer can't make a chain of a more trusted one's hooks, or a block among these would end it.
    """
    rewriting = [hook for hook in hooks if not hook.final]
    for rank, layer in groupby(rewriting, key=attrgetter("rank")):
        yield tuple(layer), any(hook.sequential and hook.rank >= rank for hook in hooks)
    if guards := [hook for hook in hooks if hook.final]:
        yield guards, False


def skips(hooks: _Hooks, runs: Sequence[HookExecutionResult], hook_input: Mapping[str, Any]) -> tuple[Skip, ...]:
    """The hooks of a plan that did not run: a hook before them blocked, or their own agent would not run them."""
    ran = {id(run.hook) for run in runs}
    left = [(hook, blocked_by(hook, runs)) for hook in hooks if id(hook) not in ran]
    return tuple(
        Skip(hook=hook, kind=SkipKind.CONDITION, detail=why_not_run(hook, hook_input))
        if blocker is None
        else Skip(hook=hook, kind=SkipKind.CHAIN_STOPPED, detail=f"{blocker.hook.label} blocked")
        for hook, blocker in left
    )


def blocked_by(hook: HookEntry, runs: Sequence[HookExecutionResult]) -> HookExecutionResult | None:
    """The run that keeps a later hook of the chain from running, or None."""
    return next((run for run in runs if run.blocks and run.hook.rank >= hook.rank and can_block(run.hook)), None)


def _next_input(
    first: Mapping[str, Any],
    runs: Sequence[HookExecutionResult],
    hooks: _Hooks,
    arguments: ToolArguments | None = None,
) -> Mapping[str, Any]:
    """The input of the next of these hooks: the event as it would go on if the chain ended now."""
    # A guard must judge the prompt that is sent, without the changes of hooks that only watch.
    guards = any(hook.is_enforced for hook in hooks)
    answers = [
        run.answer
        for run in runs
        if run.answer is not None
        and (run.success or run.hook.dialect != OWN_DIALECT)
        and (run.hook.is_enforced or not guards)
    ]
    if not answers:
        return first
    row = EVENT_TABLE[runs[0].event]
    change = row.chain or row.change
    if change is no_change:
        return first
    merged = row.merge(answers).answer
    return {**first, **normal_change(change(first, merged, answers), first, merged, arguments)}


class Inherited:
    """The environment that hooks inherit, read at each event: the same object while nothing has changed."""

    def __init__(
        self,
        environ: Mapping[Any, Any],
        passes: Passes | None = None,
        on_change: Callable[[Mapping[Any, Any]], None] | None = None,
    ) -> None:
        self._environ = environ
        self._passes = passes
        self._on_change = on_change
        # The last environment, cwd and result; replaced as a whole, because other threads read it.
        self._last: tuple[Mapping[Any, Any] | None, str, Mapping[str, str]] = (None, "", {})

    def in_directory(self, cwd: str) -> Mapping[str, str]:
        """Return the environment of a hook; runners encode the same object only once."""
        now = _copy(self._environ)
        last_environ, last_cwd, inherited = self._last
        try:
            has_changed = last_environ is None or now != last_environ
        except Exception:  # noqa: BLE001 - foreign code: an entry that can't be compared must not stop every guard
            has_changed = True
        if has_changed and self._on_change is not None:
            self._on_change(now)
        if has_changed or cwd != last_cwd:
            passed = {name: value for name, value in now.items() if _is_possible(name, value)}
            if self._passes is not None:
                passed = {name: value for name, value in passed.items() if self._passes(name)}
            inherited = {**passed, **dict.fromkeys(PROJECT_DIR_VARIABLES, cwd)}
            self._last = now, cwd, inherited
        return inherited


def _copy(environ: Mapping[Any, Any]) -> dict[Any, Any]:
    try:
        return dict(environ)
    except KeyError:  # another thread has just removed a variable
        return {name: value for name in environ if (value := environ.get(name)) is not None}


def _existing(folder: str) -> str:
    """The directory, or its nearest existing parent: an agent that removes its directory must not lose its guards."""
    while not os.path.isdir(folder) and (above := os.path.dirname(folder)) != folder:
        folder = above
    return folder or "/"


def _is_possible(name: Any, value: Any) -> bool:
    """True for an entry that an environment can hold: one invalid entry must not stop every guard."""
    is_text = isinstance(name, str) and isinstance(value, str)
    return is_text and bool(name) and not {"=", "\0"} & {*name} and "\0" not in value
