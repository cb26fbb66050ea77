"""Plan → runs, in plan order: in parallel, or as a chain in which each hook sees the changes before it."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.child.batch import ChildJob, ChildLimits, LateInput, run_children
from hookline.child.environment import own_environment
from hookline.contract.arguments import ToolArguments
from hookline.contract.hooks import HookEntry
from hookline.contract.verdict import HookExecutionPlan, HookExecutionResult, Skip, SkipKind
from hookline.contract.vocabulary import OWN_DIALECT, PROJECT_DIR_VARIABLES, HookType
from hookline.contract.wire import stringify_json
from hookline.engine.changes import in_normal_form, no_change, normal_change
from hookline.engine.event_table import EVENT_TABLE, can_block
from hookline.engine.plan import TrustCheck, ask_trust, everything_is_trusted, refused
from hookline.engine.reading import in_this_context, notify, read_run
from hookline.engine.stays import Stays
from hookline.engine.warmth import Warmth

if TYPE_CHECKING:
    from hookline.engine.mixed import Mixed

# Making its JSON takes as long as a few calls of the system; a shorter one is in the pipe before the process starts.
_LONG_TEXT = 64 * 1024

_Hooks = Sequence[HookEntry]
Passes = Callable[[str], bool]
OnEnd = Callable[[HookEntry], None]
CallHooks = Callable[[_Hooks, Mapping[str, Any], OnEnd | None], Awaitable[list[HookExecutionResult]]]


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
        warmth: Warmth | None = None,
        stays: Stays | None = None,
        agent: str | None = None,
        why_untrusted: TrustCheck = everything_is_trusted,
    ) -> None:
        """Takes its options.

        Args:
            limits: how much a hook may write, and how many may run.
            environ: what hooks inherit, as it is when they start; this program's own environment if not given.
            passes: which variables of it, by their names; all if not given.
            on_environment: called with all of it when it has changed since the last event.
            on_end: called for each hook that ends, while others may still run.
            http_allow: other machines that hooks of the type http may be on.
            on_late: called with the result of each hook that ran beside the agent, in another thread.
            warmth: which hooks may have interpreters that wait for their events; none, if not given.
            stays: what outlives an event: the processes of workers, and connections.
            agent: the agent that asks, as workers on other machines are told.
            why_untrusted: asked again for hooks that wait for others, which may change their scripts meanwhile.
            directory: where hooks run, if not in the `cwd` of their input: scripts are found, and trusted, there.
            must_exist: whether hooks fail without that directory; else they run in the nearest above that is there.
        """
        self._limits = limits or ChildLimits()
        self._inherited = Inherited(os.environ if environ is None else environ, passes, on_environment)
        self._on_end = on_end
        self._on_late = on_late
        self._http_allow = http_allow
        self._directory = directory
        self._must_exist = must_exist
        self.warmth = warmth or Warmth(0)
        """The interpreters that wait for events."""
        self._call_hooks: CallHooks | None = None
        self._mixed: Mixed | None = None
        self._agent = agent
        self._why_untrusted = why_untrusted
        self.stays = stays or Stays()
        """What outlives an event."""

    async def run(
        self, plan: HookExecutionPlan, event_input: Mapping[str, Any], arguments: ToolArguments | None = None
    ) -> list[HookExecutionResult]:
        """Runs the hooks of a plan, and returns their results in plan order.

        Where hooks of several layers can block, each layer's hooks start when those of less trusted layers have ended,
        and their input has the changes of those. Final guards come last. `arguments` gives every change of a tool's
        arguments its normal form before the next hook sees it.
        """
        if plan.is_of_functions:
            # The log has to know the secrets of the environment even if no process gets it.
            self._inherited.in_directory(str(event_input["cwd"]) if self._directory is None else self._directory)
            runs = await (self._call_hooks or self._load_call())(plan.hooks, event_input, self._on_end)
            return runs if arguments is None else _in_normal_form(runs, event_input, arguments)
        first, last = plan.hooks[0], plan.hooks[-1]
        if (first.rank == last.rank and not last.final) or not any(map(can_block, plan.hooks)):
            return await self._execute(plan.hooks, event_input, arguments, is_chain=plan.sequential)
        runs = []
        for planned, is_chain in _steps(plan.hooks):
            hooks = self._as_trusted_now(planned) if runs else planned
            told = _told_next(event_input, runs, hooks, arguments)
            runs += _of_planned(planned, hooks, await self._execute(hooks, told, arguments, is_chain=is_chain))
        return runs

    async def _execute(
        self, hooks: _Hooks, told: Mapping[str, Any], arguments: ToolArguments | None, *, is_chain: bool
    ) -> list[HookExecutionResult]:
        if is_chain:
            more = () if arguments is None else (arguments,)
            return await self.execute_hooks_sequential(hooks, told, *more)
        runs = await self.execute_hooks_parallel(hooks, told)
        return runs if arguments is None else _in_normal_form(runs, told, arguments)

    def _as_trusted_now(self, hooks: _Hooks) -> _Hooks:
        """Hooks that have waited for others; one that has changed since the event was planned will fail."""
        reasons = [ask_trust(self._why_untrusted, hook) if hook.is_asked_about else None for hook in hooks]
        if not any(reasons):
            return hooks
        return [hook if why is None else refused(hook, why) for hook, why in zip(hooks, reasons, strict=True)]

    def _load_call(self) -> CallHooks:
        # Loaded on use, because most hooks are commands of ours; and once, because importing takes time in every event.
        from hookline.engine.callables import call_hooks  # noqa: PLC0415

        self._call_hooks = call_hooks
        return call_hooks

    def _load_mixed(self) -> "Mixed":
        from hookline.engine.mixed import Mixed  # noqa: PLC0415 - for the same reasons

        self._mixed = Mixed(
            self._limits, self._http_allow, self._on_end, self._on_late, self.stays, self.warmth, self._agent
        )
        return self._mixed

    def why_cold(self, hook: HookEntry) -> str | None:
        """Why a Python script is not warm although it ran often enough; None for other hooks."""
        cwd = self._directory or os.getcwd()  # noqa: PTH109 - a text is needed
        return self.warmth.why_cold(hook, own_environment(hook, self._inherited.in_directory(cwd)), cwd)

    async def execute_hooks_parallel(self, hooks: _Hooks, event_input: Mapping[str, Any]) -> list[HookExecutionResult]:
        """Starts all hooks at once with the same input, and returns their results in the given order."""
        own = hooks[0].project if hooks else None
        if any(hook.project != own for hook in hooks):
            return await self._in_each_project(hooks, event_input)
        cwd = own or (str(event_input["cwd"]) if self._directory is None else self._directory)
        cwd = cwd if self._must_exist else _existing(cwd)
        inherited = self._inherited.in_directory(cwd)
        unusual = [
            hook
            for hook in hooks
            if hook.type is not HookType.COMMAND
            or hook.dialect != OWN_DIALECT
            or hook.refusal
            or hook.command is None
            or hook.worker is not None
        ]
        if unusual:
            return await (self._mixed or self._load_mixed()).run(hooks, event_input, cwd, inherited)
        is_late = len(hooks) == 1 and _is_long(event_input)
        given = LateInput(partial(stringify_json, event_input)) if is_late else stringify_json(event_input)
        jobs = [
            ChildJob(
                command=hook.command or "",
                stdin=given,
                cwd=cwd,
                env=own_environment(hook, inherited) if hook.env else inherited,
                timeout_ms=hook.timeout_ms,
                limits=hook.limits,
                # Asked here already: most hooks are no Python scripts.
                parking=None if hook.command in self.warmth.cold else self.warmth.parking_for(hook),
            )
            for hook in hooks
        ]
        on_end = None if self._on_end is None else partial(notify, in_this_context(self._on_end), hooks)
        outcomes = await run_children(jobs, limits=self._limits, on_end=on_end)
        stdin = given.data if isinstance(given, LateInput) else given
        return [read_run(hook, outcome, stdin, event_input) for hook, outcome in zip(hooks, outcomes, strict=True)]

    async def _in_each_project(self, hooks: _Hooks, event_input: Mapping[str, Any]) -> list[HookExecutionResult]:
        """Starts all hooks at once, those of each project in its own directory."""
        groups: dict[str | None, list[HookEntry]] = {}
        for hook in hooks:
            groups.setdefault(hook.project, []).append(hook)
        runs = await asyncio.gather(*(self.execute_hooks_parallel(group, event_input) for group in groups.values()))
        found = {
            id(hook): run
            for group, done in zip(groups.values(), runs, strict=True)
            for hook, run in zip(group, done, strict=True)
        }
        return [found[id(hook)] for hook in hooks]

    async def execute_hooks_sequential(
        self, hooks: _Hooks, event_input: Mapping[str, Any], arguments: ToolArguments | None = None
    ) -> list[HookExecutionResult]:
        """Runs the hooks one after another; the input of each has the changes of those before it.

        On events that can block, a block ends the chain for hooks of the same or a less trusted layer.
        """
        runs: list[HookExecutionResult] = []
        told = event_input
        for hook in hooks:
            if blocked_by(hook, runs) is not None:
                continue
            now = self._as_trusted_now((hook,)) if runs else (hook,)
            ended = await self._execute(now, told, arguments, is_chain=False)
            for run in _of_planned((hook,), now, ended):
                if runs and run.answer is not None:
                    chained = msgspec.structs.replace(run.answer, is_chained=True)
                    runs.append(msgspec.structs.replace(run, answer=chained))
                else:
                    runs.append(run)
            told = _told_next(event_input, runs, hooks, arguments)
        return runs


def _in_normal_form(
    runs: list[HookExecutionResult], told: Mapping[str, Any], arguments: ToolArguments
) -> list[HookExecutionResult]:
    """The runs of hooks with this input, with what they change of a tool's arguments in normal form."""
    return [
        run
        if run.answer is None
        or not run.hook.counts
        or (answer := in_normal_form(run.answer, told, arguments)) is run.answer
        else msgspec.structs.replace(run, answer=answer)
        for run in runs
    ]


def _of_planned(planned: _Hooks, hooks: _Hooks, runs: list[HookExecutionResult]) -> list[HookExecutionResult]:
    """The runs as those of the hooks in the plan, by which they are compared."""
    if hooks is planned:
        return runs
    by_id = {id(hook): each for hook, each in zip(hooks, planned, strict=True)}
    return [msgspec.structs.replace(run, hook=by_id[id(run.hook)]) for run in runs]


def _is_long(event_input: Mapping[str, Any]) -> bool:
    """Whether there is a long text where tools, prompts and results have theirs."""
    for value in event_input.values():
        for item in value.values() if type(value) is dict else (value,):
            if type(item) is str and len(item) > _LONG_TEXT:
                return True
    return False


def _steps(hooks: _Hooks) -> Iterator[tuple[_Hooks, bool]]:
    """The hooks of each layer, and whether they run as a chain; final guards are the last step.

    A less trusted layer can't make a chain of a more trusted one's hooks, or a block among these would end it.
    """
    rewriting = [hook for hook in hooks if not hook.final]
    for rank, layer in groupby(rewriting, key=attrgetter("rank")):
        yield tuple(layer), any(hook.sequential and hook.rank >= rank for hook in hooks)
    if guards := [hook for hook in hooks if hook.final]:
        yield guards, False


def skips(hooks: _Hooks, runs: Sequence[HookExecutionResult], told: Mapping[str, Any]) -> tuple[Skip, ...]:
    """The hooks of a plan that did not run: a hook before them blocked, or their own agent would not run them."""
    ran = {id(run.hook) for run in runs}
    return tuple(_skip(hook, runs, told) for hook in hooks if id(hook) not in ran)


def _skip(hook: HookEntry, runs: Sequence[HookExecutionResult], told: Mapping[str, Any]) -> Skip:
    blocker = blocked_by(hook, runs)
    if blocker is not None:
        return Skip(hook=hook, kind=SkipKind.CHAIN_STOPPED, detail=f"{blocker.hook.label} blocked")
    from hookline.engine.telling import why_not_asked  # noqa: PLC0415 - for hooks of other agents only

    return Skip(hook=hook, kind=SkipKind.CONDITION, detail=why_not_asked(hook, told))


def blocked_by(hook: HookEntry, runs: Sequence[HookExecutionResult]) -> HookExecutionResult | None:
    """The run that keeps a later hook of the chain from running, or None."""
    return next((run for run in runs if run.blocks and run.hook.rank >= hook.rank and can_block(run.hook)), None)


def _told_next(
    first: Mapping[str, Any],
    runs: Sequence[HookExecutionResult],
    hooks: _Hooks,
    arguments: ToolArguments | None = None,
) -> Mapping[str, Any]:
    """The input of the next of these hooks: the event as it would go on if the chain ended now."""
    # A guard must judge the prompt that is sent, without the changes of hooks that only watch.
    guards = any(hook.counts for hook in hooks)
    answers = [
        run.answer
        for run in runs
        if run.answer is not None
        and (run.success or run.hook.dialect != OWN_DIALECT)
        and (run.hook.counts or not guards)
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


def _existing(folder: str) -> str:
    """The directory, or the nearest above that is there: an agent that removes its own must not lose its guards."""
    while not os.path.isdir(folder) and (above := os.path.dirname(folder)) != folder:  # noqa: PTH112, PTH120 - at every event
        folder = above
    return folder or "/"


def _possible(environ: Mapping[Any, Any]) -> Iterator[tuple[str, str]]:
    """The entries that an environment can hold, as text: one invalid entry must not stop every guard."""
    for entry in environ.items():
        name, value = (os.fsdecode(part) if isinstance(part, bytes) else part for part in entry)
        is_text = isinstance(name, str) and isinstance(value, str)
        if is_text and name and not {"=", "\0"} & {*name} and "\0" not in value:
            yield name, value
