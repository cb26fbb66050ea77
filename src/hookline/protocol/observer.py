"""Observers, which watch hooks at work."""

from typing import NamedTuple

from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.session import current_session
from hookline.protocol.verdict import HookExecutionPlan, Verdict


class ObservedSession(NamedTuple):
    """The session of an event."""

    id: str
    """The session's identifier, as hooks and log have it."""
    agent: str | None
    """The agent of the program that the session belongs to, if it has one."""


class HookObserver:
    """Base class of observers, such as a terminal that shows the hooks that run; its methods must be quick."""

    shows_failures: bool = False
    """True if the observer shows hooks that failed; otherwise they are on stderr, once per session."""

    def hooks_started(self, plan: HookExecutionPlan, *, session: ObservedSession) -> None:
        """Called when the hooks of an event are about to run."""

    def hook_ended(self, hook: HookEntry, *, session: ObservedSession) -> None:
        """Called when one of them has ended; others may still run."""

    def hooks_finished(self, verdict: Verdict, *, session: ObservedSession) -> None:
        """Called when all of them have answered, when the engine failed, and when the event was cancelled.

        The observer has to show `verdict.unapplied` to the user: without an observer it is on stderr.
        """


class BoundObserver:
    """An observer that is called with the session of the event."""

    def __init__(self, observer: HookObserver, own_session: str, agent: str | None = None) -> None:
        """`own_session` is the id of the session for events that name no session."""
        self._observer = observer
        self.shows_failures = observer.shows_failures
        self._own_session = own_session
        self._agent = agent

    def hooks_started(self, plan: HookExecutionPlan) -> None:
        """Call `HookObserver.hooks_started`."""
        self._observer.hooks_started(plan, session=self._session())

    def hook_ended(self, hook: HookEntry) -> None:
        """Call `HookObserver.hook_ended`."""
        self._observer.hook_ended(hook, session=self._session())

    def hooks_finished(self, verdict: Verdict) -> None:
        """Call `HookObserver.hooks_finished`."""
        self._observer.hooks_finished(verdict, session=self._session())

    def _session(self) -> ObservedSession:
        session = current_session.get()
        if session is None:
            return ObservedSession(self._own_session, self._agent)
        return ObservedSession(session.session_id, session.agent or self._agent)
