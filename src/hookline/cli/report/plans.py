"""What the plans of an event make of its hooks: which of them run, and whether they do so one after another."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from hookline.cli.lint.matchers import subjects_of
from hookline.cli.lint.setup import Setup
from hookline.contract.events import HookEventName
from hookline.contract.hooks import HookEntry
from hookline.contract.verdict import HookExecutionPlan, SkipKind
from hookline.engine.event_table import EVENT_TABLE, Matching

_WORD = re.compile(r"\w+")

# A hook's file, and where in it: a plan may hold it with the stricter options of a duplicate.
_Place = tuple[str, str]


class Plans:
    """What is known from the plans of every event, for each tool or trigger that it may be about."""

    def __init__(self, setup: Setup, is_trusted: Callable[[HookEntry], bool]) -> None:
        self._orders: defaultdict[_Place, set[bool]] = defaultdict(set)
        self._duplicates: set[_Place] = set()
        self._always_sequential: set[HookEventName] = set()
        # Matchers of hooks that nobody trusts are not even looked at, as in the engine.
        trusted = replace(setup, hooks=tuple(hook for hook in setup.hooks if is_trusted(hook)))
        for event in {hook.event: None for hook in setup.hooks}:
            self._note(event, [trusted.plan(event, subject) for subject in _subjects(event, trusted)])

    def order_of(self, hook: HookEntry) -> str:
        """`sequential`, `parallel`, or `either` when that depends on what the event is about."""
        orders = self._orders.get(_place(hook), set())
        # Of a hook that is in no plan it is known only what holds in all of them.
        if hook.sequential or orders == {True} or (not orders and hook.event in self._always_sequential):
            return "sequential"
        return "either" if True in orders else "parallel"

    def is_duplicate(self, hook: HookEntry) -> bool:
        """Whether it never runs, because another one with the same command does."""
        return _place(hook) in self._duplicates and _place(hook) not in self._orders

    def _note(self, event: HookEventName, plans: Sequence[HookExecutionPlan]) -> None:
        for plan in plans:
            for hook in plan.hooks:
                self._orders[_place(hook)].add(plan.sequential)
            self._duplicates |= {_place(skip.hook) for skip in plan.skipped if skip.kind is SkipKind.DUPLICATE}
        if all(plan.sequential for plan in plans):
            self._always_sequential.add(event)


def _subjects(event: HookEventName, setup: Setup) -> Iterator[str | None]:
    yield from subjects_of(event, setup)
    if EVENT_TABLE[event].matching is Matching.REGEX:
        # The words in a matcher of tools that we do not know make a name that it is likely to match.
        yield from dict.fromkeys("".join(_WORD.findall(hook.matcher or "")) for hook in setup.active(event))


def _place(hook: HookEntry) -> _Place:
    return hook.origin, hook.location
