"""The input of hooks: one JSON object on stdin, first the session's facts, then the event's own fields."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    NotRequired,
    TypedDict,
    TypeGuard,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import Meta

from hookline.extensions import lazy_module
from hookline.protocol.answers import kind_of
from hookline.protocol.events import PreCompressTrigger, SessionEndReason, SessionStartSource
from hookline.protocol.llm import LLMRequestFields, LLMResponse

if TYPE_CHECKING:
    import hashlib
else:
    hashlib = lazy_module("hashlib")  # OpenSSL takes time to load, and few names are so long

_LONGEST_TOOL_NAME = 64


class HookInput(TypedDict):
    """The fields that every hook gets."""

    session_id: Annotated[str, Meta(description="The session's identifier.")]
    cwd: Annotated[str, Meta(description="The session's directory; usually the project's.")]
    timestamp: Annotated[str, Meta(description="When the event happened.", examples=["2025-02-18T16:30:00.000Z"])]
    hook_event_name: Annotated[str, Meta(description="The event.")]
    transcript_path: Annotated[str, Meta(description="The session's transcript, or an empty string.")]


class BeforeToolFields(TypedDict):
    """The fields of BeforeTool."""

    tool_name: Annotated[str, Meta(min_length=1, description="The tool that is called.")]
    tool_input: Annotated[dict[str, Any], Meta(description="The arguments that the tool is called with.")]
    mcp_context: NotRequired[
        Annotated[dict[str, Any], Meta(description="Which server the tool is from; for tools of an MCP server only.")]
    ]


class AfterToolFields(BeforeToolFields):
    """The fields of AfterTool."""

    tool_response: Annotated[
        dict[str, Any],
        Meta(description="The tool's result: llmContent, returnDisplay, metadata and, if it failed, error."),
    ]


class BeforeModelFields(TypedDict):
    """The field of BeforeModel and BeforeToolSelection."""

    llm_request: Annotated[LLMRequestFields, Meta(description="The request to the model, text only.")]


class AfterModelFields(BeforeModelFields):
    """The fields of AfterModel."""

    llm_response: Annotated[LLMResponse, Meta(description="The model's complete response, text only.")]


class BeforeAgentFields(TypedDict):
    """The field of BeforeAgent."""

    prompt: Annotated[str, Meta(description="The user's prompt.")]


class AfterAgentFields(BeforeAgentFields):
    """The fields of AfterAgent."""

    prompt_response: Annotated[str, Meta(description="The agent's final answer.")]
    stop_hook_active: Annotated[bool, Meta(description="True when a hook made the agent go on before.")]


class SessionStartFields(TypedDict):
    """The field of SessionStart."""

    source: Annotated[SessionStartSource, Meta(description="How the session came to be.")]


class SessionEndFields(TypedDict):
    """The field of SessionEnd."""

    reason: Annotated[SessionEndReason, Meta(description="Why the session ended.")]


class PreCompressFields(TypedDict):
    """The field of PreCompress."""

    trigger: Annotated[PreCompressTrigger, Meta(description="Whether the user or the agent started it.")]


class NotificationFields(TypedDict):
    """The fields of Notification."""

    notification_type: Annotated[
        str, Meta(min_length=1, description="The subject of the notification.", examples=["ToolPermission"])
    ]
    message: Annotated[str, Meta(min_length=1, description="The text that the user sees.")]
    details: Annotated[dict[str, Any], Meta(description="Further facts, depending on the type of the notification.")]


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


def mcp_tool_name(server: str, tool: str) -> str:
    """`mcp__server__tool`, as models accept it; long names that start alike stay different."""
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", f"mcp__{server}__{tool}")
    if len(name) <= _LONGEST_TOOL_NAME:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: _LONGEST_TOOL_NAME - len(digest) - 1]}_{digest}"


def mcp_server_facts(
    name: str,
    *,
    command: str | None = None,
    args: Sequence[str] = (),
    cwd: str | None = None,
    url: str | None = None,
) -> dict[str, Any]:
    """A server as hooks see it in `mcp_context`, without its environment, which may hold secrets."""
    if url is not None:
        return {"server_name": name, "url": url}
    facts: dict[str, Any] = {"server_name": name, "command": command, "args": list(args)}
    return facts if cwd is None else {**facts, "cwd": cwd}


Fields = TypeVar("Fields")


def input_problems(input_type: type, value: object) -> tuple[str, ...]:
    """Return the faults of an event's own fields, one sentence each, by the TypedDict of its input."""
    required, optional = _hints(input_type)
    if not isinstance(value, Mapping):
        return (f"input is {kind_of(value)}, expected an object with {', '.join(required)}",)
    problems = [f"{name} is missing" for name in required if name not in value]
    for name, hint in (required | optional).items():
        if name in value:
            try:
                msgspec.convert(value[name], hint)
            except ValueError as error:
                fault, _, place = str(error).partition(" - at `$")
                problems.append(f"{name}{place.rstrip('`')}: {fault[0].lower()}{fault[1:]}")
    return tuple(problems)


@cache
def _hints(input_type: type) -> tuple[dict[str, Any], dict[str, Any]]:
    """The types of an event's own fields, first those of the required ones."""
    hints = get_type_hints(input_type, include_extras=True)
    own = {name: hint for name, hint in hints.items() if name not in HookInput.__annotations__}
    optional = {name: get_args(hint)[0] for name, hint in own.items() if get_origin(hint) is NotRequired}
    return {name: hint for name, hint in own.items() if name not in optional}, optional


def _predicate(fields: type[Fields]) -> Callable[[object], TypeGuard[Fields]]:
    """A function that is true for values with the fields of this TypedDict, and narrows them to it."""

    def has_fields(value: object) -> TypeGuard[Fields]:
        return not input_problems(fields, value)

    # At run time the type variable would be all that a reader of the annotation finds.
    has_fields.__annotations__["return"] = TypeGuard[fields]
    return has_fields


is_before_tool_input = _predicate(BeforeToolFields)
is_after_tool_input = _predicate(AfterToolFields)
is_before_model_input = _predicate(BeforeModelFields)
is_after_model_input = _predicate(AfterModelFields)
is_before_tool_selection_input = _predicate(BeforeModelFields)
is_before_agent_input = _predicate(BeforeAgentFields)
is_after_agent_input = _predicate(AfterAgentFields)
is_session_start_input = _predicate(SessionStartFields)
is_session_end_input = _predicate(SessionEndFields)
is_pre_compress_input = _predicate(PreCompressFields)
is_notification_input = _predicate(NotificationFields)
