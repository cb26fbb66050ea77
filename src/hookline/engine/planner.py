"""Hooks + event → plan: who runs, in which order, one after another or all at once, and why the others do not."""

from collections.abc import Callable
from dataclasses import dataclass

from hookline.contract.events import HookEventName
from hookline.contract.hooks import HookEntry
from hookline.contract.results import HookExecutionPlan, SkippedHook
from hookline.contract.wire import trim
from hookline.engine._matcher import compile_matcher, matches_everything
from hookline.engine.event_table import EVENT_TABLE, Matching
from hookline.engine.registry import HookRegistry

# Why a hook of this project may not run, or None when it may.
TrustCheck = Callable[[HookEntry], str | None]

_MAX_KEPT_PLANS = 1024


@dataclass(frozen=True, slots=True)
class _KeptPlan:
    version: int
    distrust: tuple[str | None, ...]
    guests: tuple[HookEntry, ...]
    plan: HookExecutionPlan


class HookPlanner:
    """Makes plans, and keeps them while nothing that they depend on changes."""

    def __init__(
        self, registry: HookRegistry, *, distrust: TrustCheck, on_plan: Callable[[HookExecutionPlan], None]
    ) -> None:
        self._registry = registry
        self._distrust = distrust
        self._on_plan = on_plan
        self._kept: dict[tuple[HookEventName, str | None], _KeptPlan] = {}

    def create_execution_plan(self, event: HookEventName, subject: str | None = None) -> HookExecutionPlan | None:
        """The plan for an event about a subject (a tool's name, a trigger), or None when no hook has to run."""
        if not self._registry.get_hooks_for_event(event):
            return None
        plan = self.explain(event, subject)
        return plan if plan.hooks else None

    def explain(self, event: HookEventName, subject: str | None = None) -> HookExecutionPlan:
        """The same plan even when it is empty: it says of every configured hook why it does not run."""
        key = (event, subject)
        kept = self._kept.get(key)
        if kept is not None and self._still_holds(kept):
            return kept.plan
        return self._make(key)

    def _still_holds(self, kept: _KeptPlan) -> bool:
        if kept.version != self._registry.version:
            return False
        # Asked anew at every event: a script may have been changed since it was trusted, even by the agent itself.
        return not kept.guests or kept.distrust == tuple(map(self._distrust, kept.guests))

    def _make(self, key: tuple[HookEventName, str | None]) -> HookExecutionPlan:
        hooks = self._registry.get_hooks_for_event(key[0])
        guests = tuple(hook for hook in hooks if hook.needs_trust)
        distrust = tuple(map(self._distrust, guests))
        plan = _make_plan(key[0], hooks, key[1], dict(zip(map(id, guests), distrust, strict=True)))
        if len(self._kept) >= _MAX_KEPT_PLANS:
            self._kept.clear()
        self._kept[key] = _KeptPlan(self._registry.version, distrust, guests, plan)
        self._on_plan(plan)
        return plan


def _make_plan(
    event: HookEventName, hooks: tuple[HookEntry, ...], subject: str | None, distrust: dict[int, str | None]
) -> HookExecutionPlan:
    chosen: dict[str | None, HookEntry] = {}
    skipped: list[SkippedHook] = []
    for hook in hooks:
        reason = _why_not(hook, subject, distrust.get(id(hook)))
        if reason is None and hook.command in chosen:
            reason = f"duplicate: the same command already runs from {_place(chosen[hook.command])}"
        if reason is None:
            chosen[hook.command] = hook
        else:
            skipped.append(SkippedHook(hook=hook, reason=reason))
    planned = tuple(chosen.values())
    return HookExecutionPlan(
        event=event,
        hooks=planned,
        sequential=any(hook.sequential for hook in planned),
        skipped=tuple(skipped),
    )


def _why_not(hook: HookEntry, subject: str | None, distrust: str | None) -> str | None:
    """Why a hook does not run, or None when it does."""
    if not hook.enabled:
        return f"disabled: by {hook.disabled_by}"
    if distrust is not None:
        return f"untrusted: {distrust}"
    if not _matches(hook, subject):
        return f"matcher: {hook.matcher!r} does not match {subject!r}"
    return None


def _matches(hook: HookEntry, subject: str | None) -> bool:
    # Without a subject there is nothing to compare with, and a guard too many is safer than one too few.
    if hook.matcher is None or subject is None or matches_everything(hook.matcher):
        return True
    match EVENT_TABLE[hook.event].matching:
        case Matching.REGEX:
            return compile_matcher(hook.matcher)(subject)
        case Matching.EQUALITY:
            return trim(hook.matcher) == subject
        case Matching.NEVER_ASKED:
            return True


def _place(hook: HookEntry) -> str:
    return f"{hook.origin}: {hook.location}"
