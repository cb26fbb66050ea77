"""The events that an agent sends to its listener: a terminal, JSON output, a test."""

from collections.abc import Callable
from typing import Any

import msgspec

from hookline.apps.agent.tool import ToolCall


class Event(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type"):
    """Something that happened; its tag and its fields are what programs read."""


class SessionStarted(Event, frozen=True, tag="session"):
    """A session started."""

    session_id: str
    transcript_path: str
    model: str


class ModelText(Event, frozen=True, tag="text"):
    """Text of the model to show; `is_final` marks the end of a message that arrived in pieces."""

    text: str
    is_final: bool = True


class ToolCallChanged(Event, frozen=True, tag="tool_call"):
    """A tool call has a new status."""

    call: ToolCall


class HooksStarted(Event, frozen=True, tag="hooks_started"):
    """Hooks of an event are running; a terminal shows a spinner that names the slow one."""

    event: str
    hooks: tuple[str, ...]
    is_awaited: bool = True
    """False where nothing that they answer is applied, so that nobody waits for them."""
    messages: dict[str, str] = {}
    """What to show while a hook runs, for those whose settings say so."""


class HookEnded(Event, frozen=True, tag="hook_ended"):
    """One of the running hooks has ended; the others are still running."""

    event: str
    hook: str


class HooksFinished(Event, frozen=True, tag="hook_decision"):
    """The hooks of an event have answered."""

    event: str
    subject: str | None
    blocked: bool
    should_stop: bool
    reason: str | None
    decided_by: tuple[str, ...]
    effect: dict[str, Any] | None = None
    goes_on: bool = False
    """True when hooks make the agent go on after its answer."""


class HistoryCompressed(Event, frozen=True, tag="compression"):
    """The history was replaced by a summary."""

    trigger: str
    before_tokens: int
    after_tokens: int


class Note(Event, frozen=True, tag="note"):
    """A message for the user that comes neither from the model nor from a tool: a warning, a retry, a refusal."""

    text: str
    is_error: bool = False


class TurnEnded(Event, frozen=True, tag="result"):
    """The agent has answered, or hooks ended the turn."""

    response: str
    stopped: bool
    stop_reason: str | None
    turns: int
    calls: tuple[ToolCall, ...]
    blocked: bool = False
    """True when a hook kept the prompt from being sent or the model from being called; the turn ended there."""
    is_sent: bool = True
    """False when the model was not given the prompt."""
    reason: str | None = None
    """Why the prompt or the call was blocked."""
    decided_by: tuple[str, ...] = ()
    """The hooks that ended the turn."""


Listener = Callable[[Event], None]
