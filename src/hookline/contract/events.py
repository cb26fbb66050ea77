import difflib
from collections.abc import Mapping
from enum import StrEnum


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


class SessionStartSource(StrEnum):
    """How a session came to be."""

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
    """Who asked for the history to be compressed."""

    MANUAL = "manual"
    AUTO = "auto"


class NotificationType(StrEnum):
    """What a notification is about."""

    TOOL_PERMISSION = "ToolPermission"


class HookDecision(StrEnum):
    """What a hook may decide; `ask` is reserved and counts as `allow`."""

    ASK = "ask"
    BLOCK = "block"
    DENY = "deny"
    APPROVE = "approve"
    ALLOW = "allow"


BLOCKING_DECISIONS = frozenset({HookDecision.BLOCK.value, HookDecision.DENY.value})

# What other hook systems call these moments.
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
    """The event that somebody meant who wrote the name of one that does not exist, or None."""
    spelled = {event.value.lower(): event for event in HookEventName}
    close = difflib.get_close_matches(name.lower(), spelled, n=1)
    return _FOREIGN_EVENTS.get(name) or (spelled[close[0]] if close else None)


def suggest_event(name: str) -> str:
    """What to say to that person."""
    meant = likely_event(name)
    return f"did you mean {meant}?" if meant else f"the events are {', '.join(HookEventName)}"
