"""Hooks + event → plan: who runs, in which order, one after another or all at once, and why the others do not."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hookline.contract.events import HookEventName
from hookline.contract.hooks import HookEntry
from hookline.contract.results import HookExecutionPlan, SkippedHook
from hookline.contract.wire import trim
from hookline.engine._matcher import Matcher, compile_matcher, matches_everything
from hookline.engine.event_table import EVENT_TABLE, Matching
from hookline.engine.registry import HookRegistry

# Why a hook of this project may not run, or None when it may.
TrustCheck = Callable[[HookEntry], str | None]

_MAX_KEPT_PLANS = 1024

_Matched = tuple[HookEntry, Matcher | None]


@dataclass(slots=True)
class _KeptPlan:
    version: int
    distrust: tuple[str | None, ...]
    guests: tuple[HookEntry, ...]
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
        self._compiled: dict[HookEventName, tuple[int, Sequence[_Matched]]] = {}

    def create_execution_plan(self, event: HookEventName, subject: str | None = None) -> HookExecutionPlan | None:
        """The plan for an event about a subject (a tool's name, a trigger), or None when no hook has to run."""
        if not self._registry.get_hooks_for_event(event):
            return None
        kept = self._keep((event, subject))
        if not kept.is_told:
            kept.is_told = True
            self._on_plan(kept.plan)
        return kept.plan if kept.plan.hooks else None

    def explain(self, event: HookEventName, subject: str | None = None) -> HookExecutionPlan:
        """The same plan even when it is empty, for whoever asks: nobody is told that hooks are not run."""
        return self._keep((event, subject)).plan

    def _keep(self, key: tuple[HookEventName, str | None]) -> _KeptPlan:
        kept = self._kept.get(key)
        if kept is None or not self._still_holds(kept):
            kept = self._make(key)
        return kept

    def _still_holds(self, kept: _KeptPlan) -> bool:
        if kept.version != self._registry.version:
            return False
        # Asked anew at every event: a script may have been changed since it was trusted, even by the agent itself.
        return not kept.guests or kept.distrust == tuple(map(self._distrust, kept.guests))

    def _make(self, key: tuple[HookEventName, str | None]) -> _KeptPlan:
        hooks = self._registry.get_hooks_for_event(key[0])
        guests = tuple(hook for hook in hooks if hook.needs_trust)
        distrust = tuple(map(self._distrust, guests))
        held_back = {
            id(hook): f"untrusted: {reason}"
            for hook, reason in zip(guests, distrust, strict=True)
            if reason is not None
        }
        plan = _make_plan(*key, self._matched(key[0]), held_back)
        if len(self._kept) >= _MAX_KEPT_PLANS:
            self._kept.clear()
        self._kept[key] = kept = _KeptPlan(self._registry.version, distrust, guests, plan)
        return kept

    def _matched(self, event: HookEventName) -> Sequence[_Matched]:
        """The event's hooks with their matchers, which are compiled once as long as the hooks stay the same."""
        version, matched = self._compiled.get(event, (-1, ()))
        if version != self._registry.version:
            matched = tuple((hook, _matcher(hook)) for hook in self._registry.get_hooks_for_event(event))
            self._compiled[event] = (self._registry.version, matched)
        return matched


def _make_plan(
    event: HookEventName, subject: str | None, hooks: Sequence[_Matched], held_back: Mapping[int, str]
) -> HookExecutionPlan:
    chosen: dict[str | None, HookEntry] = {}
    unmatched: list[HookEntry] = []
    undecided: list[HookEntry] = []
    skipped: list[SkippedHook] = []
    for hook, matches in hooks:
        # A matcher of a hook that nobody trusts is not even tried: a pattern can be made to take long.
        reason = f"disabled: by {hook.disabled_by}" if hook.disabled_by is not None else held_back.get(id(hook))
        is_matched = reason is not None or matches is None or subject is None or matches(subject)
        if is_matched is False:
            unmatched.append(hook)
        elif reason is None and hook.command not in chosen:
            chosen[hook.command] = hook
            if is_matched is None:
                undecided.append(hook)
        else:
            reason = reason or f"duplicate: the same command already runs from {_place(chosen[hook.command])}"
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


def _place(hook: HookEntry) -> str:
    return f"{hook.origin}: {hook.location}"
