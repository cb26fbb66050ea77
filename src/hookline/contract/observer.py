from typing import Protocol

from hookline.contract.hooks import HookEntry
from hookline.contract.verdict import HookExecutionPlan, Verdict


class HookObserver(Protocol):
    """Watches hooks at work, for a terminal that shows what is going on; its calls must be quick."""

    def hooks_started(self, plan: HookExecutionPlan) -> None:
        """The hooks of an event are about to run."""

    def hook_ended(self, hook: HookEntry) -> None:
        """One of them has ended; the others are still running."""

    def hooks_finished(self, verdict: Verdict) -> None:
        """All of them have answered; also called when the engine failed or the event was cancelled.

        Whatever is in `verdict.unapplied` has to be shown to the person: without an observer it would be on stderr.
        """
