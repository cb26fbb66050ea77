from typing import NamedTuple, Protocol

from hookline.contract.hooks import HookEntry
from hookline.contract.verdict import HookExecutionPlan, Verdict


class ObservedSession(NamedTuple):
    """Whose event an observer sees."""

    id: str
    """The session's identifier, as hooks and log have it."""
    agent: str | None
    """Which of a program's agents it is, if the session has one."""


class HookObserver(Protocol):
    """Watches hooks at work, for a terminal that shows what is going on; its calls must be quick."""

    def hooks_started(self, plan: HookExecutionPlan) -> None:
        """The hooks of an event are about to run."""

    def hook_ended(self, hook: HookEntry) -> None:
        """One of them has ended; the others are still running."""

    def hooks_finished(self, verdict: Verdict) -> None:
        """All of them have answered; also called when the engine failed or the event was cancelled.

        Whatever is in `verdict.unapplied` has to be shown to the person: without an observer it would be on stderr.
        Hooks that failed are on stderr, once per session, unless the observer has a true attribute `shows_failures`.
        """


class SessionObserver(Protocol):
    """The same for a program with several sessions: each method that has a parameter `session` is given it."""

    def hooks_started(self, plan: HookExecutionPlan, *, session: ObservedSession) -> None:
        """The hooks of an event of this session are about to run."""

    def hook_ended(self, hook: HookEntry, *, session: ObservedSession) -> None:
        """One of them has ended; the others are still running."""

    def hooks_finished(self, verdict: Verdict, *, session: ObservedSession) -> None:
        """All of them have answered, as for `HookObserver`."""


AnyObserver = HookObserver | SessionObserver
