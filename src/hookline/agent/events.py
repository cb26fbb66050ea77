"""The events that an agent sends to its listener: a terminal, JSON output, a test."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hookline.agent.tool import ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStarted:
    """A session started."""

    session_id: str
    transcript_path: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelText:
    """Text of the model to show; `is_final` marks the end of a message that arrived in pieces."""

    text: str
    is_final: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallChanged:
    """A tool call has a new status."""

    call: ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class HooksStarted:
    """Hooks of an event are running; a terminal shows a spinner that names the slow one."""

    event: str
    hooks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEnded:
    """One of the running hooks has ended; the others are still running."""

    event: str
    hook: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HooksFinished:
    """The hooks of an event have answered."""

    event: str
    subject: str | None
    blocked: bool
    should_stop: bool
    reason: str | None
    decided_by: tuple[str, ...]
    effect: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryCompressed:
    """The history was replaced by a summary."""

    trigger: str
    before_tokens: int
    after_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A message for the user that comes neither from the model nor from a tool: a warning, a retry, a refusal."""

    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded:
    """The agent has answered, or hooks ended the turn."""

    response: str
    stopped: bool
    stop_reason: str | None
    turns: int
    calls: tuple[ToolCall, ...]
    blocked: bool = False
    """True when a hook kept the model from being called; the turn ended there."""
    reason: str | None = None
    """Why the call was blocked."""
    decided_by: tuple[str, ...] = ()
    """The hooks that ended the turn."""


AgentEvent = (
    SessionStarted
    | ModelText
    | ToolCallChanged
    | HooksStarted
    | HookEnded
    | HooksFinished
    | HistoryCompressed
    | Note
    | TurnEnded
)
Listener = Callable[[AgentEvent], None]
