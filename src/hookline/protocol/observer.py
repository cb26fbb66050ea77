"""Observers, which watch hooks at work."""

from hookline.protocol.events import SessionFacts
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.verdict import HookExecutionPlan, Verdict


class HookObserver:
    """Base class of observers, such as a terminal that shows the hooks that run; its methods must be quick."""

    shows_failures: bool = False
    """True if the observer shows hooks that failed; otherwise they are on stderr, once per session."""

    def hooks_started(self, plan: HookExecutionPlan, *, session: SessionFacts) -> None:
        """Called when the hooks of an event are about to run."""

    def hook_ended(self, hook: HookEntry, *, session: SessionFacts) -> None:
        """Called when one of them has ended; others may still run."""

    def hooks_finished(self, verdict: Verdict, *, session: SessionFacts) -> None:
        """Called when all of them have answered, when the engine failed, and when the event was cancelled.

        The observer has to show `verdict.unapplied` to the user: without an observer it is on stderr.
        """
