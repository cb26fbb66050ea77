"""Hooks + event + subject + trust → plan: which hooks run, in which order, and why the others do not."""

from collections import Counter
from collections.abc import Callable, Iterable

import msgspec
from msgspec.structs import replace

from hookline.contract.events import HookEventName
from hookline.contract.hooks import HookEntry
from hookline.contract.verdict import HookExecutionPlan, Skip, SkipKind
from hookline.contract.vocabulary import OnError, at_approval
from hookline.contract.wire import trim
from hookline.engine.matcher import Match, compared_names, match

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
    may_wait: bool = True,
    asks_person: bool = False,
) -> HookExecutionPlan:
    """The plan for an event about a subject (a tool's name, a trigger).

    With `asks_person` it is the plan for the moment at which a person would be asked to allow a tool.
    With `may_wait` a matcher that needs a long search is searched for here; else the plan lists it under `slow`.
    """
    draft = _Draft(subject)
    unmatched: list[HookEntry] = []
    for hook in hooks:
        if hook.event is not event or (asks_person and not hook.at_approval):
            continue
        if hook.at_approval and not asks_person:
            draft.skip(hook, SkipKind.CONDITION, "it runs when a person would be asked to allow the tool")
        elif hook.disabled_by is not None:
            draft.skip(hook, SkipKind.DISABLED, f"by {hook.disabled_by}")
        elif hook.is_asked_about and (why_not := ask_trust(why_untrusted, hook)) is not None:
            # The matcher of an untrusted hook is not even compiled: it could be made to take long.
            if hook.needs_trust and not hook.required:
                draft.skip(hook, SkipKind.UNTRUSTED, why_not)
            elif hook.needs_trust or match(hook, subject, may_wait=may_wait) is not Match.NO:
                draft.add(refused(hook, why_not), Match.YES)
            else:
                unmatched.append(hook)
        elif (matched := match(hook, subject, may_wait=may_wait)) is Match.NO:
            unmatched.append(hook)
        else:
            draft.add(hook, matched)
    # Stable: a more trusted layer judges what the less trusted ones made of it, and final guards run after all others.
    chosen = tuple(sorted(draft.chosen.values(), key=lambda hook: (hook.final, hook.rank)))
    return HookExecutionPlan(
        event=event,
        subject=subject,
        hooks=chosen,
        sequential=any(hook.sequential for hook in chosen),
        kept_back=tuple(draft.kept_back),
        unmatched=tuple(unmatched),
        undecided=tuple(hook for key, hook in draft.chosen.items() if key in draft.undecided),
        slow=tuple(draft.slow),
    )


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
        self._cache: dict[tuple[HookEventName, str | None, bool], _Cached] = {}

    def create_execution_plan(self, event: HookEventName, subject: str | None = None) -> HookExecutionPlan | None:
        """The plan for an event about a subject, or None when no hook has to run."""
        hooks = self._hooks_of(event)
        cached = self._cache.get((event, subject, at_approval.get()))
        # The same tuple of hooks means that the settings have not changed. Trust is asked for at every event: a script
        # may have changed since it was trusted, even by the agent itself.
        if cached is None or cached.hooks is not hooks or (cached.guests and self._is_trust_changed(cached)):
            cached = self._make(hooks, event, subject)
        if not cached.is_reported and not cached.plan.slow:
            cached.is_reported = True
            self._on_plan(cached.plan)
        return cached.plan if cached.plan.hooks else None

    def explain(self, event: HookEventName, subject: str | None = None) -> HookExecutionPlan:
        """The same plan even when it is empty, for callers that only ask; a slow matcher makes them wait."""
        return plan(self._hooks_of(event), event, subject, why_untrusted=self._why_untrusted)

    def why_nothing_runs(self, event: HookEventName, subject: str | None = None) -> str:
        """What keeps the event's hooks from running, after there was no plan for it."""
        cached = self._cache.get((event, subject, at_approval.get()))
        return cached.why_nothing_runs if cached is not None else "no hook is configured"

    def untrusted(self, event: HookEventName, subject: str | None = None) -> tuple[str, ...]:
        """The hooks that would have run for the event if they were trusted, after there was no plan for it."""
        cached = self._cache.get((event, subject, at_approval.get()))
        return () if cached is None else cached.untrusted

    def _is_trust_changed(self, cached: "_Cached") -> bool:
        return cached.why_untrusted != [ask_trust(self._why_untrusted, hook) for hook in cached.guests]

    def _make(self, hooks: tuple[HookEntry, ...], event: HookEventName, subject: str | None) -> "_Cached":
        guests = tuple(hook for hook in hooks if hook.is_asked_about)
        distrust = {id(hook): ask_trust(self._why_untrusted, hook) for hook in guests}
        asks_person = at_approval.get()
        made = plan(
            hooks,
            event,
            subject,
            why_untrusted=lambda hook: distrust[id(hook)],
            may_wait=False,
            asks_person=asks_person,
        )
        cached = _Cached(hooks, guests, list(distrust.values()), made, "" if made.hooks else _why_nothing(made))
        cached.untrusted = tuple(skip.hook.label for skip in made.kept_back if skip.kind is SkipKind.UNTRUSTED)
        if not made.slow:
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            self._cache[event, subject, asks_person] = cached
        return cached


class _Cached(msgspec.Struct):
    hooks: tuple[HookEntry, ...]
    guests: tuple[HookEntry, ...]
    why_untrusted: list[str | None]
    plan: HookExecutionPlan
    why_nothing_runs: str
    is_reported: bool = False
    """Whether the skipped hooks were reported."""
    untrusted: tuple[str, ...] = ()


class _Draft:
    """The plan in the making."""

    def __init__(self, subject: str | None) -> None:
        self._subject = subject
        self.chosen: dict[object, HookEntry] = {}
        self.kept_back: list[Skip] = []
        self.undecided: set[object] = set()
        self.slow: list[tuple[str, str]] = []

    def skip(self, hook: HookEntry, kind: SkipKind, detail: str) -> None:
        self.kept_back.append(Skip(hook=hook, kind=kind, detail=detail))

    def add(self, hook: HookEntry, matched: Match) -> None:
        if matched is Match.SLOW and self._subject is not None:
            self.slow += [(trim(hook.matcher or ""), name) for name in compared_names(hook, self._subject)]
        # With another environment or other limits the same command is another guard, and so is a final one, which can't
        # rewrite. Functions are compared themselves: several may have the same place.
        key = (
            # For a hook of another agent also its words, its event and its rule: there it is another hook then.
            hook.command or hook.plugin or (hook.origin, hook.location, id(hook.call and hook.call.function)),
            (hook.dialect, hook.their_event, hook.condition, hook.args, hook.shell),
            # One that is not waited for decides nothing, and one that is refused only fails: neither replaces a guard.
            (hook.is_async, hook.refusal),
            # In another project the same words name other files.
            hook.project,
            # Nor does one whose decisions do not count.
            hook.mode,
            # A program that is written to stay may not answer when it is started for one event.
            hook.worker is not None,
            tuple(sorted(hook.env.items())),
            hook.limits,
            hook.final,
        )
        first = self.chosen.get(key)
        if first is None:
            self._choose(key, hook, matched)
        elif hook.rank <= first.rank:
            self._skip_duplicate(hook, first)
            self.chosen[key] = _no_weaker(first, hook)
        else:
            # The more trusted one runs, at its own place: a project's copy of a guard must not run before its rewrites.
            self._skip_duplicate(first, hook)
            del self.chosen[key]
            self._choose(key, _no_weaker(hook, first), matched)

    def _choose(self, key: object, hook: HookEntry, matched: Match) -> None:
        self.chosen[key] = hook
        self.undecided.discard(key)
        if matched is Match.UNDECIDED:
            self.undecided.add(key)

    def _skip_duplicate(self, hook: HookEntry, kept: HookEntry) -> None:
        what = "command" if hook.command else "function"
        self.skip(hook, SkipKind.DUPLICATE, f"the same {what} already runs from {kept.origin}: {kept.location}")


def _why_nothing(made: HookExecutionPlan) -> str:
    kinds = Counter(skip.kind.value for skip in made.kept_back) + Counter({"not matching": len(made.unmatched)})
    counted = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    return f"hooks: {counted}" if counted else "no hook is configured"


def _no_weaker(kept: HookEntry, other: HookEntry) -> HookEntry:
    """The hook that runs of two with the same command; if the other one's onError is block, so is its own."""
    if other.on_error is OnError.ALLOW or kept.on_error is OnError.BLOCK:
        return kept
    return replace(kept, on_error=OnError.BLOCK)


def refused(hook: HookEntry, why: str) -> HookEntry:
    """The hook as one that fails at its event, and of which nothing is run or believed."""
    return replace(hook, refusal=why, env={}, call=None, worker=None, needs_trust=False)


def ask_trust(why_untrusted: TrustCheck, hook: HookEntry) -> str | None:
    """Why a hook may not run; also if that can't be determined."""
    try:
        return why_untrusted(hook)
    except Exception as error:  # noqa: BLE001 - an untrusted command must not keep other guards from running
        return f"whether it is trusted can't be determined ({error})"
