"""Calls a program's observer, with the session where it wants to know it."""

import inspect
from collections.abc import Callable
from typing import Any

from hookline.contract.hooks import HookEntry
from hookline.contract.inputs import current_session
from hookline.contract.observer import AnyObserver, ObservedSession
from hookline.contract.verdict import HookExecutionPlan, Verdict


class Observing:
    """A `HookObserver` in front of a program's own; what that raises is for the caller to handle."""

    def __init__(self, observer: AnyObserver, own_session: Callable[[], str], agent: str | None = None) -> None:
        """`own_session` is the id of the session that events without one of their own belong to."""
        self._observer = observer
        self.shows_failures = getattr(observer, "shows_failures", False) is True
        self._own_session = own_session
        self._agent = agent
        names = ("hooks_started", "hook_ended", "hooks_finished")
        self._with_session = {name for name in names if _wants_session(getattr(observer, name, None))}

    def hooks_started(self, plan: HookExecutionPlan) -> None:
        """The hooks of an event are about to run."""
        self._call("hooks_started", plan)

    def hook_ended(self, hook: HookEntry) -> None:
        """One of them has ended."""
        self._call("hook_ended", hook)

    def hooks_finished(self, verdict: Verdict) -> None:
        """All of them have answered."""
        self._call("hooks_finished", verdict)

    def _call(self, name: str, seen: Any) -> None:
        method = getattr(self._observer, name)
        if name in self._with_session:
            method(seen, session=self._session())
        else:
            method(seen)

    def _session(self) -> ObservedSession:
        session = current_session.get()
        if session is None:
            return ObservedSession(self._own_session(), self._agent)
        return ObservedSession(session.get_session_id(), session.get_agent() or self._agent)


def _wants_session(method: Any) -> bool:
    try:
        return "session" in inspect.signature(method).parameters
    except (TypeError, ValueError):  # no function, or one that hides what it takes
        return False
