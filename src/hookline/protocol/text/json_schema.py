"""The input and output of hooks as JSON Schemas; the files in docs/schema/ are made from these types."""

from typing import Annotated, Any, Literal, TypedDict

import msgspec
from msgspec import Meta

from hookline.protocol.events import HookEventName
from hookline.protocol.llm import HookToolConfig, LLMRequestFields, LLMResponse

Decision = Literal["block", "deny", "allow", "approve", "ask"]


class HookSpecificAnswer(TypedDict, total=False):
    """The event's own part of an answer."""

    hookEventName: Annotated[HookEventName | None, Meta(description="The event that is answered; not needed.")]
    tool_input: Annotated[
        dict[str, Any] | None, Meta(description="BeforeTool: arguments to lay over the original ones, key by key.")
    ]
    updatedInput: Annotated[
        dict[str, Any] | None, Meta(description="BeforeTool: the same, for scripts that were written for Claude Code.")
    ]
    replacesInput: Annotated[
        bool | None, Meta(description="BeforeTool: true means that tool_input is all arguments; others are removed.")
    ]
    tool_output: Annotated[Any, Meta(description="AfterTool: what the model reads in place of the result.")]
    updatedToolOutput: Annotated[
        Any, Meta(description="AfterTool: the same, for scripts that were written for Claude Code.")
    ]
    additionalContext: Annotated[
        str | None,
        Meta(description="BeforeTool, AfterTool: text added to the result for the model. Around prompts: beside them."),
    ]
    prompt: Annotated[str | None, Meta(description="BeforeAgent: the prompt to send in place of the user's.")]
    llm_request: Annotated[
        LLMRequestFields | None, Meta(description="BeforeModel: what to change of the request, key by key.")
    ]
    llm_response: Annotated[
        LLMResponse | None,
        Meta(description="BeforeModel with a block: the answer in the model's place. AfterModel: a changed answer."),
    ]
    toolConfig: Annotated[HookToolConfig | None, Meta(description="BeforeToolSelection: what the model may call.")]
    permissionDecision: Annotated[
        Decision | None, Meta(description="BeforeTool: the same as `decision`, for scripts that were written for it.")
    ]
    permissionDecisionReason: Annotated[
        str | None, Meta(description="BeforeTool: why, going before the other reasons.")
    ]
    clearContext: Annotated[bool | None, Meta(description="Asks for the history to be forgotten.")]


class HookOutput(msgspec.Struct, kw_only=True, rename="camel"):
    """The object that a hook may print on stdout before it exits with 0; fields that are not here are ignored."""

    decision: Annotated[
        Decision | None, Meta(description="`block` and `deny` block the operation; the others let it go on.")
    ] = None
    reason: Annotated[str | None, Meta(description="Why; the model reads it when a tool is blocked.")] = None
    continue_: Annotated[bool | None, Meta(description="false stops the agent after this event.")] = msgspec.field(
        default=None, name="continue"
    )
    stop_reason: Annotated[str | None, Meta(description="Why the agent is stopped; shown to the user.")] = None
    suppress_output: Annotated[
        bool | None, Meta(description="true hides the result from the user; the model still sees it.")
    ] = None
    system_message: Annotated[str | None, Meta(description="A note for the model.")] = None
    user_message: Annotated[str | None, Meta(description="A message for the user, which the model does not see.")] = (
        None
    )
    hook_specific_output: Annotated[
        HookSpecificAnswer | None, Meta(description="The event's own part of the answer.")
    ] = None


def input_schema(event: HookEventName, input_type: type) -> dict[str, Any]:
    """The JSON Schema of what an event's hooks read, given its type."""
    schema = json_schema(input_type, f"{event} hook input")
    schema["$defs"][input_type.__name__]["properties"]["hook_event_name"]["const"] = event.value
    return schema


def output_schema() -> dict[str, Any]:
    """The JSON Schema of what a hook may answer."""
    return json_schema(HookOutput, "hook output")


def json_schema(described: type, title: str) -> dict[str, Any]:
    """Return the JSON Schema of a type with a title."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "title": title, **msgspec.json.schema(described)}
