"""Events, the sessions that they belong to, and the decisions about them."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from hookline.protocol.text.strings import nearest


class HookEventName(StrEnum):
    """The moments of an agent's life at which hooks run."""

    BEFORE_TOOL = "BeforeTool"
    AFTER_TOOL = "AfterTool"
    BEFORE_MODEL = "BeforeModel"
    AFTER_MODEL = "AfterModel"
    BEFORE_TOOL_SELECTION = "BeforeToolSelection"
    BEFORE_AGENT = "BeforeAgent"
    AFTER_AGENT = "AfterAgent"
    SESSION_START = "SessionStart"
    SESSION_END = "SessionEnd"
    PRE_COMPRESS = "PreCompress"
    NOTIFICATION = "Notification"

    # Enum's own hash is written in Python, and every event looks things up by its name several times.
    __hash__ = str.__hash__


TOOL_EVENTS = frozenset({HookEventName.BEFORE_TOOL, HookEventName.AFTER_TOOL})

LIFECYCLE_EVENTS = frozenset(
    {
        HookEventName.BEFORE_AGENT,
        HookEventName.AFTER_AGENT,
        HookEventName.SESSION_START,
        HookEventName.SESSION_END,
        HookEventName.PRE_COMPRESS,
        HookEventName.NOTIFICATION,
    }
)
"""The events around prompts and sessions. Answers to them are applied only if the settings allow it."""

WATCHED_EVENTS = frozenset({HookEventName.SESSION_END, HookEventName.NOTIFICATION})
"""The events whose hooks only watch, whatever the settings say."""

BLOCKABLE_EVENTS = frozenset(
    {
        HookEventName.BEFORE_TOOL,
        HookEventName.BEFORE_MODEL,
        HookEventName.BEFORE_AGENT,
        HookEventName.AFTER_AGENT,
        HookEventName.PRE_COMPRESS,
    }
)
"""The events on which a block keeps back what comes next: the operation, or the end of the agent's turn."""

EVENT_DESCRIPTIONS: Mapping[HookEventName, str] = {
    HookEventName.BEFORE_TOOL: "Before a tool runs: can block it or change its input.",
    HookEventName.AFTER_TOOL: "After a tool ran: can add context for the model and hide its output from the user.",
    HookEventName.BEFORE_MODEL: "Before the model is called: can change the request or answer in its place.",
    HookEventName.AFTER_MODEL: "After the model answered: can change or hide the answer.",
    HookEventName.BEFORE_TOOL_SELECTION: "Before the model chooses a tool: can restrict what it may call.",
    HookEventName.BEFORE_AGENT: "When a prompt is given to the agent: can block it, change it and add context.",
    HookEventName.AFTER_AGENT: "When the agent has dealt with a prompt: can make it go on.",
    HookEventName.SESSION_START: "When a session begins: can add context; matchers: startup, resume, clear, compress.",
    HookEventName.SESSION_END: "When a session ends; matchers: exit, clear, logout, prompt_input_exit, other.",
    HookEventName.PRE_COMPRESS: "Before a compression: can prevent it or add context; matchers: manual, auto.",
    HookEventName.NOTIFICATION: "When the user is asked for something; matcher: ToolPermission.",
}


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


class SessionStartSource(StrEnum):
    """How a session began."""

    STARTUP = "startup"
    RESUME = "resume"
    CLEAR = "clear"
    COMPRESS = "compress"


class SessionEndReason(StrEnum):
    """Why a session ended."""

    EXIT = "exit"
    CLEAR = "clear"
    LOGOUT = "logout"
    PROMPT_INPUT_EXIT = "prompt_input_exit"
    OTHER = "other"


class PreCompressTrigger(StrEnum):
    """The trigger of a compression of the history."""

    MANUAL = "manual"
    AUTO = "auto"


class NotificationType(StrEnum):
    """The subject of a notification."""

    TOOL_PERMISSION = "ToolPermission"


class HookDecision(StrEnum):
    """The decisions of hooks; `ask` blocks nothing, and asks the user where there is one."""

    ASK = "ask"
    BLOCK = "block"
    DENY = "deny"
    APPROVE = "approve"
    ALLOW = "allow"


BLOCKING_DECISIONS = frozenset({HookDecision.BLOCK.value, HookDecision.DENY.value})

# The names of these events in other hook systems.
_FOREIGN_EVENTS: Mapping[str, HookEventName] = {
    "PreToolUse": HookEventName.BEFORE_TOOL,
    "PostToolUse": HookEventName.AFTER_TOOL,
    "PostToolUseFailure": HookEventName.AFTER_TOOL,
    "UserPromptSubmit": HookEventName.BEFORE_AGENT,
    "Stop": HookEventName.AFTER_AGENT,
    "SubagentStart": HookEventName.BEFORE_AGENT,
    "SubagentStop": HookEventName.AFTER_AGENT,
    "PermissionRequest": HookEventName.BEFORE_TOOL,
    "PreCompact": HookEventName.PRE_COMPRESS,
}


def likely_event(name: str) -> HookEventName | None:
    """The event that was probably meant by a name that is not one, or None."""
    spelled = {event.value.lower(): event for event in HookEventName}
    close = nearest(name.lower(), spelled)
    return _FOREIGN_EVENTS.get(name) or (spelled[close] if close else None)


def suggest_event(name: str) -> str:
    """Return a hint for a name that is not an event."""
    meant = likely_event(name)
    return f"did you mean {meant}?" if meant else f"the events are {', '.join(HookEventName)}"
