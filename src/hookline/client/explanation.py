"""Which hooks would run for an event: what `hookline fire --plan` shows, for the hooks of this very program."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookline.protocol.text.strings import visible

if TYPE_CHECKING:
    from hookline.protocol.hook_entry import HookEntry
    from hookline.protocol.verdict import HookExecutionPlan, Skip


@dataclass(frozen=True, slots=True)
class Explanation:
    """Which hooks would run for an event now, in which order, and why others would not; its text is for people.

    Attributes:
        plan: everything about it; None while hooks are disabled.
    """

    plan: "HookExecutionPlan | None"

    @property
    def hooks(self) -> "tuple[HookEntry, ...]":
        """The hooks that would run, in running order."""
        return () if self.plan is None else self.plan.hooks

    @property
    def skipped(self) -> "tuple[Skip, ...]":
        """The hooks that would not run, each with its reason."""
        return () if self.plan is None else self.plan.skipped

    def __str__(self) -> str:
        """The same in lines."""
        if self.plan is None:
            return "Hooks are disabled, and this program has registered none."
        return "\n".join(_lines(self.plan))


def _lines(plan: "HookExecutionPlan") -> Iterator[str]:
    yield f"{plan.event}{'' if plan.subject is None else f' {_shown(plan.subject)}'}"
    yield _order(plan)
    for number, hook in enumerate(plan.hooks, start=1):
        matched = f"matcher {_shown(hook.matcher)!r}, " if hook.matcher else ""
        yield f"  {number}. {_shown(hook.label)}  {matched}timeout {hook.timeout_ms / 1000:g} s"
        yield f"     {_place(hook)}"
    if plan.skipped:
        yield "Would not run:"
    for skip in plan.skipped:
        yield f"  {_shown(skip.hook.label)}  {_shown(skip.reason)}"
        yield f"     {_place(skip.hook)}"


def _order(plan: "HookExecutionPlan") -> str:
    count = len(plan.hooks)
    if count == 0:
        return "No hook would run."
    order = "" if count == 1 else ", one after another" if plan.sequential else ", those of one layer at the same time"
    return f"{count} hook{'' if count == 1 else 's'} would run{order}:"


def _place(hook: "HookEntry") -> str:
    return _shown(f"{hook.origin}: {hook.location}")


def _shown(text: str) -> str:
    """The text on one line, with whatever would control a terminal escaped."""
    return visible(" ".join(text.split()))
