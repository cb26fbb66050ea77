"""The options and resources with which runners run the hooks of one event."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar, copy_context
from typing import Protocol

import msgspec

from hookline.protocol.events import SessionFacts
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.observer import HookObserver
from hookline.protocol.verdict import HookExecutionPlan, Verdict
from hookline.runners.invocation import HookInvocation
from hookline.runners.process.job import ChildLimits, ChildOutcome
from hookline.runners.resources import EngineResources
from hookline.runners.warm_policy import WarmPolicy

OnEnd = Callable[[HookEntry], None]

current_session: ContextVar[SessionFacts | None] = ContextVar("current_session", default=None)
"""The session whose event is being fired, if it is not the hook system's own."""


class RunContext(msgspec.Struct, frozen=True, kw_only=True):
    """The options and resources for the hooks of one event."""

    limits: ChildLimits = ChildLimits()
    cwd: str
    http_allow: tuple[str, ...] = ()
    """Other machines that may be asked."""
    agent: str | None = None
    """The agent that fired the event, for workers on other machines."""
    user_name: Callable[[], str]
    warm_policy: WarmPolicy
    resources: EngineResources
    on_end: OnEnd | None = None
    """Called for each hook that ends, while others may still run."""

    def ended(self, hook: HookEntry) -> None:
        """Notify the observer that a hook has ended."""
        if self.on_end is not None:
            notify(self.on_end, hook)

    def indexed_on_end(self, hooks: Sequence[HookEntry]) -> Callable[[int], None] | None:
        """Return a function for the end of each of these hooks, by its index."""
        return indexed(self.on_end, hooks)


class Runner(Protocol):
    """Runs hooks of one kind at the same time."""

    async def __call__(self, invocations: Sequence[HookInvocation], context: RunContext) -> list[ChildOutcome]:
        """Return the outcomes in order, in the form of a process's. Raises only CancelledError."""


class BoundObserver:
    """An observer that is called with the session of the event."""

    def __init__(self, observer: HookObserver, facts: SessionFacts) -> None:
        """`facts` are of the session for events that name no session."""
        self._observer = observer
        self.shows_failures = observer.shows_failures
        self._facts = facts

    def hooks_started(self, plan: HookExecutionPlan) -> None:
        """Call `HookObserver.hooks_started`."""
        self._observer.hooks_started(plan, session=self._session())

    def hook_ended(self, hook: HookEntry) -> None:
        """Call `HookObserver.hook_ended`."""
        self._observer.hook_ended(hook, session=self._session())

    def hooks_finished(self, verdict: Verdict) -> None:
        """Call `HookObserver.hooks_finished`."""
        self._observer.hooks_finished(verdict, session=self._session())

    def _session(self) -> SessionFacts:
        session = current_session.get() or self._facts
        return session if session.agent else session._replace(agent=self._facts.agent)


def indexed(on_end: OnEnd | None, hooks: Sequence[HookEntry]) -> Callable[[int], None] | None:
    """Return a function for the end of each of these hooks, by its index; it runs in the caller's context.

    A hook may end in a callback that another event has registered.
    """
    if on_end is None:
        return None
    context = copy_context()
    return lambda index: context.run(notify, on_end, hooks[index])


def notify(on_end: OnEnd, hook: HookEntry) -> None:
    """Notify an observer that a hook has ended."""
    with suppress(Exception):  # an observer must not keep the guards from their work
        on_end(hook)
