from typing import Protocol

from hookline.contract.hooks import HookEntry
from hookline.contract.results import AggregatedHookResult, HookExecutionPlan


class HookObserver(Protocol):
    """Watches hooks at work, for a terminal that shows what is going on; its calls must be quick."""

    def hooks_started(self, plan: HookExecutionPlan, subject: str | None) -> None:
        """The hooks of an event about a subject (a tool, a trigger) are about to run."""

    def hook_ended(self, hook: HookEntry) -> None:
        """One of them has ended; the others are still running."""

    def hooks_finished(self, result: AggregatedHookResult, subject: str | None) -> None:
        """All of them have answered; also called, with what there is, when the engine failed."""
