"""Hooks + event → plan: who runs, in which order, one after another or all at once, and why the others do not."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hookline.contract.events import HookEventName
from hookline.contract.hooks import HookEntry, OnError
from hookline.contract.results import HookExecutionPlan, SkippedHook
from hookline.contract.wire import trim
from hookline.engine._matcher import Matcher, compile_matcher, matches_everything
from hookline.engine.event_table import EVENT_TABLE, Matching
from hookline.engine.registry import HookRegistry

# Why a hook of this project may not run, or None when it may.
TrustCheck = Callable[[HookEntry], str | None]

_MAX_KEPT_PLANS = 1024

_Hooks = tuple[HookEntry, ...]


@dataclass(slots=True)
class _KeptPlan:
    hooks: _Hooks
    """All hooks of the event, as the registry had them; it has others when something has changed."""
    guests: _Hooks
    distrust: tuple[str | None, ...]
    plan: HookExecutionPlan
    is_told: bool = False
    """Whether it was said of each skipped hook why it does not run."""


class HookPlanner:
    """Makes plans, and keeps them while nothing that they depend on changes."""

    def __init__(
        self, registry: HookRegistry, *, distrust: TrustCheck, on_plan: Callable[[HookExecutionPlan], None]
    ) -> None:
        self._registry = registry
        self._distrust = distrust
        self._on_plan = on_plan
        self._kept: dict[tuple[HookEventName, str | None], _KeptPlan] = {}
        self._compiled: dict[HookEventName, tuple[_Hooks, tuple[Matcher | None, ...]]] = {}

    def create_execution_plan(self, event: HookEventName, subject: str | None = None) -> HookExecutionPlan | None:
        """The plan for an event about a subject (a tool's name, a trigger), or None when no hook has to run."""
        hooks = self._registry.get_hooks_for_event(event)
        if not hooks:
            return None
        kept = self._keep(hooks, (event, subject))
        if not kept.is_told:
            kept.is_told = True
            self._on_plan(kept.plan)
        return kept.plan if kept.plan.hooks else None

    def explain(self, event: HookEventName, subject: str | None = None) -> HookExecutionPlan:
        """The same plan even when it is empty, for whoever asks: nobody is told that hooks are not run."""
        return self._keep(self._registry.get_hooks_for_event(event), (event, subject)).plan

    def _keep(self, hooks: _Hooks, key: tuple[HookEventName, str | None]) -> _KeptPlan:
        # The hooks are passed on and not asked for again: in another thread they may be read anew at any moment.
        kept = self._kept.get(key)
        if kept is None or kept.hooks is not hooks or not self._is_trusted_as_before(kept):
            kept = self._make(hooks, key)
        return kept

    def _is_trusted_as_before(self, kept: _KeptPlan) -> bool:
        # Asked anew at every event: a script may have been changed since it was trusted, even by the agent itself.
        return not kept.guests or kept.distrust == tuple(map(self._why_not, kept.guests))

    def _why_not(self, guest: HookEntry) -> str | None:
        try:
            return self._distrust(guest)
        except Exception as error:  # noqa: BLE001 - a stranger's command must not keep others' guards from running
            return f"whether it is trusted can't be told ({error})"

    def _make(self, hooks: _Hooks, key: tuple[HookEventName, str | None]) -> _KeptPlan:
        guests = tuple(hook for hook in hooks if hook.needs_trust)
        distrust = tuple(map(self._why_not, guests))
        reasons = iter(distrust)
        held_back = [next(reasons) if hook.needs_trust else None for hook in hooks]
        plan = _make_plan(*key, hooks, self._matchers(hooks, key[0]), held_back)
        if len(self._kept) >= _MAX_KEPT_PLANS:
            self._kept.clear()
        self._kept[key] = kept = _KeptPlan(hooks, guests, distrust, plan)
        return kept

    def _matchers(self, hooks: _Hooks, event: HookEventName) -> tuple[Matcher | None, ...]:
        """The matchers of the event's hooks, which are compiled once as long as the hooks stay the same."""
        compiled_for, matchers = self._compiled.get(event, (None, ()))
        if compiled_for is not hooks:
            matchers = tuple(map(_matcher, hooks))
            self._compiled[event] = (hooks, matchers)
        return matchers


def _make_plan(
    event: HookEventName,
    subject: str | None,
    hooks: _Hooks,
    matchers: Sequence[Matcher | None],
    distrust: Sequence[str | None],
) -> HookExecutionPlan:
    chosen: dict[str | None, HookEntry] = {}
    unmatched: list[HookEntry] = []
    undecided: list[HookEntry] = []
    skipped: list[SkippedHook] = []
    for hook, matches, why_not in zip(hooks, matchers, distrust, strict=True):
        # A matcher of a hook that nobody trusts is not even tried: a pattern can be made to take long.
        reason = None if why_not is None else f"untrusted: {why_not}"
        if hook.disabled_by is not None:
            reason = f"disabled: by {hook.disabled_by}"
        is_matched = reason is not None or matches is None or subject is None or matches(subject)
        if is_matched is False:
            unmatched.append(hook)
        elif reason is None and hook.command not in chosen:
            chosen[hook.command] = hook
            if is_matched is None:
                undecided.append(hook)
        else:
            if reason is None:
                reason = f"duplicate: the same command already runs from {_place(chosen[hook.command])}"
                chosen[hook.command] = _no_weaker(chosen[hook.command], hook)
            skipped.append(SkippedHook(hook=hook, reason=reason))
    return HookExecutionPlan(
        event=event,
        subject=subject,
        hooks=tuple(chosen.values()),
        sequential=any(hook.sequential for hook in chosen.values()),
        held_back=tuple(skipped),
        unmatched=tuple(unmatched),
        undecided=tuple(undecided),
    )


def _matcher(hook: HookEntry) -> Matcher | None:
    """How the hook's matcher is compared with an event's subject; None when it matches whatever comes."""
    if hook.matcher is None or matches_everything(hook.matcher):
        return None
    match EVENT_TABLE[hook.event].matching:
        case Matching.REGEX:
            return compile_matcher(hook.matcher)
        case Matching.EQUALITY:
            return trim(hook.matcher).__eq__
        case Matching.NEVER_ASKED:
            return None


def _no_weaker(first: HookEntry, other: HookEntry) -> HookEntry:
    """The first of two hooks with the same command; what makes the other one a guard is not lost with it."""
    on_error = OnError.BLOCK if OnError.BLOCK in (first.on_error, other.on_error) else first.on_error
    # A project's copy must not cut the time of a user's or the system's guard.
    is_cut = first.needs_trust and not other.needs_trust and other.timeout_ms > first.timeout_ms
    timeout_ms = other.timeout_ms if is_cut else first.timeout_ms
    if (on_error, timeout_ms) == (first.on_error, first.timeout_ms):
        return first
    return replace(first, on_error=on_error, timeout_ms=timeout_ms)


def _place(hook: HookEntry) -> str:
    return f"{hook.origin}: {hook.location}"
