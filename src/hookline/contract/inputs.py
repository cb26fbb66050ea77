"""What hooks are told: one JSON object with the session's facts first and then the event's own fields."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple, NotRequired, Protocol, TypedDict, TypeGuard

from msgspec import Meta

from hookline.contract.events import HookEventName, PreCompressTrigger, SessionEndReason, SessionStartSource
from hookline.contract.llm import GenerateContentParameters, LLMRequest, LLMResponse
from hookline.contract.outputs import kind_of


class SessionFacts(Protocol):
    """Where the fields that every hook gets come from; `Config` is one."""

    def get_session_id(self) -> str:
        """The session's identifier."""

    def get_working_dir(self) -> str:
        """The project's directory, in which hooks run."""

    def get_transcript_path(self) -> str:
        """The path of the session's transcript, or an empty string."""


class HookInput(TypedDict):
    """The fields that every hook gets."""

    session_id: Annotated[str, Meta(description="The session's identifier.")]
    cwd: Annotated[str, Meta(description="The project's directory, in which the hook runs.")]
    timestamp: Annotated[str, Meta(description="When the event happened.", examples=["2025-02-18T16:30:00.000Z"])]
    hook_event_name: Annotated[str, Meta(description="The event.")]
    transcript_path: Annotated[str, Meta(description="The session's transcript, or an empty string.")]


class BeforeToolFields(TypedDict):
    """The fields of BeforeTool."""

    tool_name: Annotated[str, Meta(description="The tool that is called.")]
    tool_input: Annotated[dict[str, Any], Meta(description="The arguments that the tool is called with.")]
    mcp_context: NotRequired[
        Annotated[dict[str, Any], Meta(description="Which server the tool is from; for tools of an MCP server only.")]
    ]


class AfterToolFields(BeforeToolFields):
    """The fields of AfterTool."""

    tool_response: Annotated[
        dict[str, Any], Meta(description="What the tool gave: llmContent, returnDisplay, metadata and maybe error.")
    ]


class BeforeModelFields(TypedDict):
    """The field of BeforeModel and BeforeToolSelection."""

    llm_request: Annotated[LLMRequest, Meta(description="The request to the model, text only.")]


class AfterModelFields(BeforeModelFields):
    """The fields of AfterModel."""

    llm_response: Annotated[LLMResponse, Meta(description="The model's complete response, text only.")]


class BeforeAgentFields(TypedDict):
    """The field of BeforeAgent."""

    prompt: Annotated[str, Meta(description="What the agent was asked.")]


class AfterAgentFields(BeforeAgentFields):
    """The fields of AfterAgent."""

    prompt_response: Annotated[str, Meta(description="What the agent answered in the end.")]
    stop_hook_active: Annotated[bool, Meta(description="True when a hook made the agent go on before.")]


class SessionStartFields(TypedDict):
    """The field of SessionStart."""

    source: Annotated[SessionStartSource, Meta(description="How the session came to be.")]


class SessionEndFields(TypedDict):
    """The field of SessionEnd."""

    reason: Annotated[SessionEndReason, Meta(description="Why the session ended.")]


class PreCompressFields(TypedDict):
    """The field of PreCompress."""

    trigger: Annotated[PreCompressTrigger, Meta(description="Who asked for it.")]


class NotificationFields(TypedDict):
    """The fields of Notification."""

    notification_type: Annotated[str, Meta(description="What it is about.", examples=["ToolPermission"])]
    message: Annotated[str, Meta(description="What the user is told.")]
    details: Annotated[dict[str, Any], Meta(description="What belongs to this type of notification.")]


class BeforeToolInput(HookInput, BeforeToolFields):
    """All that a BeforeTool hook gets."""


class AfterToolInput(HookInput, AfterToolFields):
    """All that an AfterTool hook gets."""


class BeforeModelInput(HookInput, BeforeModelFields):
    """All that a BeforeModel hook gets."""


class AfterModelInput(HookInput, AfterModelFields):
    """All that an AfterModel hook gets."""


class BeforeToolSelectionInput(HookInput, BeforeModelFields):
    """All that a BeforeToolSelection hook gets."""


class BeforeAgentInput(HookInput, BeforeAgentFields):
    """All that a BeforeAgent hook gets."""


class AfterAgentInput(HookInput, AfterAgentFields):
    """All that an AfterAgent hook gets."""


class SessionStartInput(HookInput, SessionStartFields):
    """All that a SessionStart hook gets."""


class SessionEndInput(HookInput, SessionEndFields):
    """All that a SessionEnd hook gets."""


class PreCompressInput(HookInput, PreCompressFields):
    """All that a PreCompress hook gets."""


class NotificationInput(HookInput, NotificationFields):
    """All that a Notification hook gets."""


class _Kind(NamedTuple):
    expected: str
    holds: Callable[[object], bool]


def _one_of(values: type[SessionStartSource] | type[SessionEndReason] | type[PreCompressTrigger]) -> _Kind:
    names = [value.value for value in values]
    return _Kind(f"one of {', '.join(names)}", lambda value: value in names)


_NAME = _Kind("a non-empty string", lambda value: isinstance(value, str) and value != "")
_TEXT = _Kind("a string", lambda value: isinstance(value, str))
_OBJECT = _Kind("an object", lambda value: isinstance(value, Mapping))
_FLAG = _Kind("true or false", lambda value: isinstance(value, bool))
_REQUEST = _Kind(
    "an object (a request in hook or SDK form)",
    lambda value: isinstance(value, Mapping | GenerateContentParameters),
)
_RESPONSE = _Kind(
    "an object (a response in hook or SDK form)",
    lambda value: isinstance(value, Mapping) or hasattr(value, "candidates"),
)

_FIELDS: Mapping[HookEventName, Mapping[str, _Kind]] = {
    HookEventName.BEFORE_TOOL: {"tool_name": _NAME, "tool_input": _OBJECT},
    HookEventName.AFTER_TOOL: {"tool_name": _NAME, "tool_input": _OBJECT, "tool_response": _OBJECT},
    HookEventName.BEFORE_MODEL: {"llm_request": _REQUEST},
    HookEventName.AFTER_MODEL: {"llm_request": _REQUEST, "llm_response": _RESPONSE},
    HookEventName.BEFORE_TOOL_SELECTION: {"llm_request": _REQUEST},
    HookEventName.BEFORE_AGENT: {"prompt": _TEXT},
    HookEventName.AFTER_AGENT: {"prompt": _TEXT, "prompt_response": _TEXT, "stop_hook_active": _FLAG},
    HookEventName.SESSION_START: {"source": _one_of(SessionStartSource)},
    HookEventName.SESSION_END: {"reason": _one_of(SessionEndReason)},
    HookEventName.PRE_COMPRESS: {"trigger": _one_of(PreCompressTrigger)},
    HookEventName.NOTIFICATION: {"notification_type": _NAME, "message": _NAME, "details": _OBJECT},
}


def input_problems(event: HookEventName, value: object) -> tuple[str, ...]:
    """What is wrong with an event's own fields, one sentence each; empty when nothing is."""
    if not isinstance(value, Mapping):
        return (f"input is {kind_of(value)}, expected an object with {', '.join(_FIELDS[event])}",)
    return tuple(
        f"{name} is {kind_of(value[name]) if name in value else 'missing'}, expected {kind.expected}"
        for name, kind in _FIELDS[event].items()
        if name not in value or not kind.holds(value[name])
    )


def is_before_tool_input(value: object) -> TypeGuard[BeforeToolFields]:
    """True when the value has BeforeTool's fields."""
    return not input_problems(HookEventName.BEFORE_TOOL, value)


def is_after_tool_input(value: object) -> TypeGuard[AfterToolFields]:
    """True when the value has AfterTool's fields."""
    return not input_problems(HookEventName.AFTER_TOOL, value)


def is_before_model_input(value: object) -> TypeGuard[BeforeModelFields]:
    """True when the value has BeforeModel's field."""
    return not input_problems(HookEventName.BEFORE_MODEL, value)


def is_after_model_input(value: object) -> TypeGuard[AfterModelFields]:
    """True when the value has AfterModel's fields."""
    return not input_problems(HookEventName.AFTER_MODEL, value)


def is_before_tool_selection_input(value: object) -> TypeGuard[BeforeModelFields]:
    """True when the value has BeforeToolSelection's field."""
    return not input_problems(HookEventName.BEFORE_TOOL_SELECTION, value)


def is_before_agent_input(value: object) -> TypeGuard[BeforeAgentFields]:
    """True when the value has BeforeAgent's field."""
    return not input_problems(HookEventName.BEFORE_AGENT, value)


def is_after_agent_input(value: object) -> TypeGuard[AfterAgentFields]:
    """True when the value has AfterAgent's fields."""
    return not input_problems(HookEventName.AFTER_AGENT, value)


def is_session_start_input(value: object) -> TypeGuard[SessionStartFields]:
    """True when the value has SessionStart's field."""
    return not input_problems(HookEventName.SESSION_START, value)


def is_session_end_input(value: object) -> TypeGuard[SessionEndFields]:
    """True when the value has SessionEnd's field."""
    return not input_problems(HookEventName.SESSION_END, value)


def is_pre_compress_input(value: object) -> TypeGuard[PreCompressFields]:
    """True when the value has PreCompress's field."""
    return not input_problems(HookEventName.PRE_COMPRESS, value)


def is_notification_input(value: object) -> TypeGuard[NotificationFields]:
    """True when the value has Notification's fields."""
    return not input_problems(HookEventName.NOTIFICATION, value)
