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
