"""Hooks + event + subject + trust → plan: which hooks run, in which order, and why the others do not."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable

import msgspec
from msgspec.structs import replace

from hookline.engine.matcher import match
from hookline.protocol.constants import OnError
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import Callback, CommandLine, HookEntry, Plugin
from hookline.protocol.verdict import HookExecutionPlan, Skip, SkipKind

# Why a hook of this project may not run, or None when it may.
TrustCheck = Callable[[HookEntry], str | None]
HooksOfEvent = Callable[[HookEventName], tuple[HookEntry, ...]]

_MAX_CACHED = 1024


def everything_is_trusted(_hook: HookEntry) -> None:
    """The trust check for callers that ask about matchers only."""


def plan(
    hooks: Iterable[HookEntry],
    event: HookEventName,
    subject: str | None = None,
    *,
    why_untrusted: TrustCheck = everything_is_trusted,
    at_permission_request: bool = False,
) -> HookExecutionPlan:
    """Return the plan for an event about a subject (a tool's name, a trigger).

    With `at_permission_request` it is the plan for the moment at which the user is asked to allow a tool.
    """
    draft = _PlanDraft()
    unmatched: list[HookEntry] = []
    for hook in hooks:
        if hook.event is not event or (at_permission_request and not hook.at_permission_request):
            continue
        if hook.at_permission_request and not at_permission_request:
            draft.skip(hook, SkipKind.CONDITION, "it runs when the user is asked to allow the tool")
        elif hook.disabled_by is not None:
            draft.skip(hook, SkipKind.DISABLED, f"by {hook.disabled_by}")
        elif hook.verify_each_event and (why_not := ask_trust(why_untrusted, hook)) is not None:
            # The matcher of an untrusted hook is not even compiled: it could be made to take long.
            if hook.needs_trust and not hook.required:
                draft.skip(hook, SkipKind.UNTRUSTED, why_not)
            elif hook.needs_trust or match(hook, subject):
                draft.add(refused(hook, why_not))
            else:
                unmatched.append(hook)
        elif match(hook, subject):
            draft.add(hook)
        else:
            unmatched.append(hook)
    # Stable: a more trusted layer judges what the less trusted ones made of it, and final guards run after all others.
    chosen = tuple(sorted(draft.chosen.values(), key=lambda hook: (hook.final, hook.rank)))
    return HookExecutionPlan(
        event=event,
        subject=subject,
        hooks=chosen,
        sequential=any(hook.sequential for hook in chosen),
        skips=tuple(draft.skips),
        unmatched=tuple(unmatched),
    )


class PlannedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """The plan for an event about a subject, and the facts that it depends on."""

    plan: HookExecutionPlan
    why_nothing_runs: str
    """The reason for which the plan has no hooks; empty if it has some."""
    untrusted: tuple[str, ...]
    """The names of the hooks that would run if they were trusted."""
    hooks: tuple[HookEntry, ...]
    """All hooks of the event, as they were when the plan was made."""
    distrust: tuple[tuple[HookEntry, str | None], ...]
    """The hooks whose trust is checked again before each event, with the result of the check."""


class HookPlanner:
    """Makes plans, and keeps them while nothing that they depend on changes."""

    def __init__(
        self,
        hooks_of: HooksOfEvent,
        *,
        why_untrusted: TrustCheck = everything_is_trusted,
        on_plan: Callable[[HookExecutionPlan], None] = lambda _: None,
    ) -> None:
        self._hooks_of = hooks_of
        self._why_untrusted = why_untrusted
        self._on_plan = on_plan
        self._cache: dict[tuple[HookEventName, str | None, bool], PlannedEvent] = {}

    def create_execution_plan(self, event: HookEventName, subject: str | None = None) -> HookExecutionPlan | None:
        """Return the plan for an event about a subject, or None when no hook has to run."""
        new_plan = self.planned(event, subject).plan
        return new_plan if new_plan.hooks else None

    def explain(self, event: HookEventName, subject: str | None = None) -> HookExecutionPlan:
        """The same plan even when it is empty, for callers that only ask."""
        return plan(self._hooks_of(event), event, subject, why_untrusted=self._why_untrusted)

    def planned(
        self, event: HookEventName, subject: str | None = None, *, at_permission_request: bool = False
    ) -> PlannedEvent:
        """Return the plan for an event about a subject, with the reason if no hook has to run."""
        hooks = self._hooks_of(event)
        cached = self._cache.get((event, subject, at_permission_request))
        # The same tuple of hooks means that the settings have not changed. Trust is checked at every event: a script
        # may have changed since it was trusted, even by the agent itself.
        if cached is not None and cached.hooks is hooks and not (cached.distrust and self._is_trust_changed(cached)):
            return cached
        distrust = {id(hook): (hook, ask_trust(self._why_untrusted, hook)) for hook in hooks if hook.verify_each_event}
        new_plan = plan(
            hooks,
            event,
            subject,
            why_untrusted=lambda hook: distrust[id(hook)][1],
            at_permission_request=at_permission_request,
        )
        new = PlannedEvent(
            plan=new_plan,
            why_nothing_runs="" if new_plan.hooks else _why_nothing(new_plan),
            untrusted=tuple(skip.hook.label for skip in new_plan.skips if skip.kind is SkipKind.UNTRUSTED),
            hooks=hooks,
            distrust=tuple(distrust.values()),
        )
        if len(self._cache) >= _MAX_CACHED:
            self._cache.clear()
        self._cache[event, subject, at_permission_request] = new
        self._on_plan(new_plan)
        return new

    def _is_trust_changed(self, cached: PlannedEvent) -> bool:
        return any(why != ask_trust(self._why_untrusted, hook) for hook, why in cached.distrust)


class _PlanDraft:
    """The plan in the making."""

    def __init__(self) -> None:
        self.chosen: dict[object, HookEntry] = {}
        self.skips: list[Skip] = []

    def skip(self, hook: HookEntry, kind: SkipKind, detail: str) -> None:
        self.skips.append(Skip(hook=hook, kind=kind, detail=detail))

    def add(self, hook: HookEntry) -> None:
        # With another environment or other limits the same command is another guard, and so is a final one, which can't
        # rewrite. Functions are compared themselves: several may have the same place.
        key = (
            # For a hook of another agent also its words, its event and its rule: there it is another hook then.
            _run_key(hook),
            (hook.dialect, hook.foreign_event, hook.condition),
            # One that is not waited for decides nothing, and one that is refused only fails: neither replaces a guard.
            (hook.is_async, hook.refusal),
            # In another project the same words name other files.
            hook.project,
            # Nor does one whose decisions do not count.
            hook.mode,
            tuple(sorted(hook.env.items())),
            hook.limits,
            hook.final,
        )
        first = self.chosen.get(key)
        if first is None:
            self.chosen[key] = hook
        elif hook.rank <= first.rank:
            self._skip_duplicate(hook, first)
            self.chosen[key] = _no_weaker(first, hook)
        else:
            # The more trusted one runs, at its own place: a project's copy of a guard must not run before its rewrites.
            self._skip_duplicate(first, hook)
            del self.chosen[key]
            self.chosen[key] = _no_weaker(hook, first)

    def _skip_duplicate(self, hook: HookEntry, kept: HookEntry) -> None:
        what = "command" if hook.command else "function"
        self.skip(hook, SkipKind.DUPLICATE, f"the same {what} already runs from {kept.origin}: {kept.location}")


def _run_key(hook: HookEntry) -> Hashable:
    """Return a value that is equal for hooks that run the same program or function."""
    match hook.run:
        case CommandLine(text=text, args=args, shell=shell) if text:
            # A program that is written as a worker may not answer when it is started for one event.
            return hook.worker is not None, text, args, shell
        case Plugin(reference=reference):
            return reference
        case Callback(function=function):
            return hook.origin, hook.location, id(function)
    return hook.origin, hook.location


def _why_nothing(new_plan: HookExecutionPlan) -> str:
    kinds = Counter(skip.kind.value for skip in new_plan.skips) + Counter({"not matching": len(new_plan.unmatched)})
    counted = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    return f"hooks: {counted}" if counted else "no hook is configured"


def _no_weaker(kept: HookEntry, other: HookEntry) -> HookEntry:
    """The hook that runs of two with the same command; if the other one's onError is block, so is its own."""
    if other.on_error is OnError.ALLOW or kept.on_error is OnError.BLOCK:
        return kept
    return replace(kept, on_error=OnError.BLOCK)


def refused(hook: HookEntry, why: str) -> HookEntry:
    """The hook as one that fails at its event, and of which nothing is run or believed."""
    return replace(hook, refusal=why, env={}, needs_trust=False)


def ask_trust(why_untrusted: TrustCheck, hook: HookEntry) -> str | None:
    """Why a hook may not run; also if that can't be determined."""
    try:
        return why_untrusted(hook)
    except Exception as error:  # noqa: BLE001 - an untrusted command must not stop other guards
        return f"whether it is trusted can't be determined ({error})"
