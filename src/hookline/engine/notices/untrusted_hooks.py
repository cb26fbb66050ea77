"""Report on stderr, once, which hooks wait for trust."""

from collections.abc import Callable, Iterable

from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.text.strings import shortened
from hookline.protocol.verdict import HookExecutionPlan, SkipKind
from hookline.stderr import warn_user

Waiting = Iterable[tuple[HookEntry, str]]
"""Hooks that are not run, each with the reason."""

UNTRUSTED = ": untrusted: "
"""The parts of each line of a notice."""

# An untrusted project must not fill the screen.
_MOST_NAMES = 3
_MOST_REASONS = 3
_FOR_MANY = {"look at it ": "look at them ", "it changed since it was ": "they changed since they were "}


class TrustNotice:
    """One line about all hooks that wait for the same, when the first of them should run; new ones get a new line."""

    def __init__(self, waiting: Callable[[], Waiting]) -> None:
        self._waiting = waiting
        self._reported: set[str] = set()

    def report(self, plan: HookExecutionPlan) -> None:
        """Reports the hooks that wait, if the plan has one that was not reported."""
        skips = [(skip.hook, skip.detail) for skip in plan.skips if skip.kind is SkipKind.UNTRUSTED]
        if all(_key(*found) in self._reported for found in skips):
            return
        by_reason: dict[str, list[HookEntry]] = {}
        for hook, why in self._fresh((*skips, *self._waiting())):
            by_reason.setdefault(why, []).append(hook)
        for why, hooks in list(by_reason.items())[:_MOST_REASONS]:
            warn_user(_line(hooks, why))
        if len(by_reason) > _MOST_REASONS:
            warn_user(f"more hooks are not run{UNTRUSTED}hookline list shows them")

    def acknowledge(self) -> None:
        """Count the hooks that wait now as reported, because the caller has shown them."""
        self._fresh(self._waiting())

    def _fresh(self, hooks: Waiting) -> list[tuple[HookEntry, str]]:
        """Return the hooks that were not returned before."""
        fresh = {key: found for found in hooks if (key := _key(*found)) not in self._reported}
        self._reported.update(fresh)
        return list(fresh.values())


def _key(hook: HookEntry, why: str) -> str:
    return f"{why} {hook.origin} {hook.location}"


def _line(hooks: list[HookEntry], why: str) -> str:
    if len(hooks) == 1:
        return f"{hooks[0].event} hook {hooks[0].label} is not run{UNTRUSTED}{why}"
    names = ", ".join(shortened(hook.label) for hook in hooks[:_MOST_NAMES])
    more = f" and {len(hooks) - _MOST_NAMES} more" if len(hooks) > _MOST_NAMES else ""
    for one, many in _FOR_MANY.items():
        why = why.replace(one, many)
    return f"{len(hooks)} hooks are not run ({names}{more}){UNTRUSTED}{why}"
