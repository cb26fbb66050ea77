"""What an agent tells whoever watches it: a terminal, a program that reads JSON, a test."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hookline.agent.tool import ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStarted:
    """A session began."""

    session_id: str
    transcript_path: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelText:
    """Text of the model that a person is shown; `is_final` ends a message that came in pieces."""

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
    """One of the running hooks has ended; the others still run."""

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
    """Something a person should know that is neither the model's nor a tool's: a warning, a retry, a refusal."""

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
