"""The session of an event, and what functions that an event calls indirectly need to know about the event."""

from contextvars import ContextVar
from typing import NamedTuple


class SessionFacts(NamedTuple):
    """One session, as hooks and the log see it."""

    session_id: str
    cwd: str
    """The directory that hooks are given. They run in the directory of their hook system."""
    transcript_path: str = ""
    """The session's transcript; empty if there is none."""
    agent: str | None = None
    """The name of the agent in a program that has several, for the log."""
    agent_event: str | None = None
    """Another agent's name of the event that its hook command was called for, for the log."""


current_session: ContextVar[SessionFacts | None] = ContextVar("current_session", default=None)
"""The session whose event is being fired, if it is not the hook system's own."""
