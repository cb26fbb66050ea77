"""The events that an agent sends to its listener: a terminal, JSON output or a test."""

from collections.abc import Callable
from typing import Any

import msgspec

from hookline.apps.agent.tool import AgentCall


class AgentEvent(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type"):
    """An event of a session; its tag and fields are the format of `--stream-json`."""


class SessionStarted(AgentEvent, frozen=True, tag="session"):
    """A session started."""

    session_id: str
    transcript_path: str
    model: str


class ModelText(AgentEvent, frozen=True, tag="text"):
    """Text of the model for the user; `is_final` marks the end of a message that arrived in pieces."""

    text: str
    is_final: bool = True


class ToolCallChanged(AgentEvent, frozen=True, tag="tool_call"):
    """A tool call has a new status."""

    call: AgentCall


class HooksStarted(AgentEvent, frozen=True, tag="hooks_started"):
    """Hooks of an event are running."""

    event: str
    hooks: tuple[str, ...]
    is_awaited: bool = True
    """False if the agent does not wait for them, because their answers are not applied."""
    messages: dict[str, str] = {}
    """The configured status messages, by hook."""


class HookEnded(AgentEvent, frozen=True, tag="hook_ended"):
    """One of the running hooks has ended."""

    event: str
    hook: str


class HooksFinished(AgentEvent, frozen=True, tag="hook_decision"):
    """All hooks of an event have ended."""

    event: str
    subject: str | None
    blocked: bool
    should_stop: bool
    reason: str | None
    decided_by: tuple[str, ...]
    effect: dict[str, Any] | None = None
    continues: bool = False
    """True if AfterAgent hooks continue the turn."""


class HistoryCompressed(AgentEvent, frozen=True, tag="compression"):
    """The history was replaced by a summary."""

    trigger: str
    before_tokens: int
    after_tokens: int


class Notice(AgentEvent, frozen=True, tag="note"):
    """A message for the user that comes from neither the model nor a tool, such as a warning or a retry."""

    text: str
    is_error: bool = False


class TurnEnded(AgentEvent, frozen=True, tag="result"):
    """The agent has answered, or hooks ended the turn."""

    response: str
    stopped: bool
    stop_reason: str | None
    turns: int
    calls: tuple[AgentCall, ...]
    blocked: bool = False
    """True if a hook blocked the prompt or a model call."""
    is_sent: bool = True
    """False if the model did not receive the prompt."""
    reason: str | None = None
    """The reason for a block."""
    decided_by: tuple[str, ...] = ()
    """The hooks that ended the turn."""


Listener = Callable[[AgentEvent], None]
