"""The results of the triggers."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self

from hookline.extensions import lazy_module
from hookline.protocol.arguments import Normalize, Validate
from hookline.protocol.llm import GenerateContentParameters

if TYPE_CHECKING:
    from hookline.formats.genai.sdk import GenerateContentResponse, ToolConfig
    from hookline.protocol.text import json_text
    from hookline.protocol.verdict import Verdict
else:
    json_text = lazy_module("hookline.protocol.text.json_text")  # tools that return results don't need it

__all__ = [
    "AfterAgentHookResult",
    "AfterModelHookResult",
    "AskReason",
    "BeforeAgentHookResult",
    "BeforeModelHookResult",
    "BeforeToolSelectionHookResult",
    "LifecycleHookResult",
    "Normalize",
    "OnAsk",
    "PreCompressHookResult",
    "SessionStartHookResult",
    "ToolCall",
    "ToolResult",
    "Validate",
    "to_tool_result",
]


class AskReason(str):
    """Why the user must be asked; `hooks` are the names of the hooks that want it."""

    __slots__ = ("hooks",)
    hooks: tuple[str, ...]

    def __new__(cls, text: str, hooks: tuple[str, ...] = ()) -> Self:
        """A text that knows its hooks."""
        reason = super().__new__(cls, text)
        reason.hooks = hooks
        return reason


OnAsk = Callable[[AskReason, Mapping[str, Any]], bool | Awaitable[bool]] | Literal["allow"]
"""Asks the user about a call, and returns whether it may run; "allow" runs it without a question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The output of a tool: one part for the model, one for the user.

    Attributes:
        llm_content: what the model reads: a text, or a list of parts.
        return_display: what the user is shown, if that is not the same.
        metadata: anything else that AfterTool hooks may want to know.
        error: what went wrong, for a tool that failed.
        suppress_display: True when a hook wants the user not to be shown this; the model still sees it.
        should_stop: True when a hook wants the agent to stop.
        stop_reason: why; to be shown to the user.
        decided_by: the hooks that blocked the call or stopped the agent, or the user who refused it.
    """

    llm_content: Any
    return_display: Any = None
    metadata: Mapping[str, Any] | None = None
    error: str | None = None
    suppress_display: bool = False
    should_stop: bool = False
    stop_reason: str | None = None
    decided_by: tuple[str, ...] = ()

    def to_tool_response(self) -> dict[str, Any]:
        """The result as AfterTool hooks read it."""
        optional = {"metadata": self.metadata, "error": self.error}
        given = {name: value for name, value in optional.items() if value is not None}
        return {"llmContent": self.llm_content, "returnDisplay": self.return_display, **given}


def to_tool_result(output: Any) -> ToolResult:
    """Return a tool's output as a result: the model reads a text as it is, and any other value as JSON."""
    if isinstance(output, ToolResult):
        return output
    if isinstance(output, str):
        return ToolResult(llm_content=output, return_display=output)
    if output is None:
        return ToolResult(llm_content="")
    text = json_text.stringify_json(output).decode("utf-8", "replace")
    return ToolResult(llm_content=text, return_display=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """The decision about a tool call; pass it to `after_tool` when the tool has run.

    Attributes:
        name: the tool's name.
        arguments: the whole arguments to run the tool with.
        call_id: the program's own id of the call, as it was given.
        mcp_context: the server that the tool is from, as it was given.
        blocked: True when the tool must not run: a hook blocks it, stops the agent or restricted the tools; the user
            said no, or a hook wants the user to be asked and that is not possible; a rewrite is not valid.
        reason: why it is blocked or the user must be asked; always a text then. It is for the model.
        changed: True when hooks rewrote the arguments.
        ask: True when a hook wants the user to be asked, and the user was not. Then the call is blocked, unless the
            program gave `on_ask="allow"`.
        note: a text for the model; `after_tool` and `refusal` add it.
        context: a text for the model that belongs to the result; `after_tool` adds it.
        stop: True when the agent has to stop now.
        stop_reason: why; to be shown to the user.
        decided_by: the hooks that blocked the call, stopped the agent, or want the user to be asked; or the user who
            refused it.
        verdict: everything about the event; None when no hook had to run.
    """

    name: str
    arguments: dict[str, Any]
    call_id: str | None = None
    mcp_context: Mapping[str, Any] | None = None
    blocked: bool = False
    reason: str | None = None
    changed: bool = False
    ask: bool = False
    note: str | None = None
    context: str | None = None
    stop: bool = False
    stop_reason: str | None = None
    decided_by: tuple[str, ...] = ()
    verdict: "Verdict | None" = field(default=None, repr=False)

    @property
    def refusal(self) -> ToolResult:
        """The result in place of the tool's, for a call that is blocked; ValueError for any other."""
        if not self.blocked:
            raise ValueError(f"{self.name} is not blocked, so there is no result in its place")
        reason = self.reason or ""
        content = f"{reason}\n\n[System] {self.note}" if self.note else reason
        if self.verdict is not None and self.verdict.invalid is not None:
            return ToolResult(llm_content=content, return_display=reason, error=reason)
        return ToolResult(
            llm_content=content,
            return_display=reason,
            should_stop=self.stop,
            stop_reason=self.stop_reason if self.stop else None,
            decided_by=self.decided_by,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _ModelHookResult:
    system_message: str | None = None
    """A note for the model; each kind of result says where it belongs."""
    should_stop: bool = False
    stop_reason: str | None = None
    suppress_output: bool = False
    decided_by: tuple[str, ...] = ()
    """The hooks that blocked or stopped."""
    restricted_by: tuple[str, ...] = ()
    """The hooks whose choice of tools stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeModelHookResult(_ModelHookResult):
    """The decision about a model call before it is made.

    When blocked, `system_message` goes with the next message to the model. Otherwise it is part of `modified_request`.
    """

    blocked: bool = False
    """True when the call must not be made: a hook blocks it, or stops the agent."""
    reason: str | None = None
    synthetic_response: "GenerateContentResponse | None" = None
    """The response in place of the model's, when blocked."""
    modified_request: GenerateContentParameters | None = None
    """The request to send in place of the original, or None to send that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterModelHookResult(_ModelHookResult):
    """The decision about the response of a model; `system_message` goes with the next message to the model."""

    response: "GenerateContentResponse"
    """The modified response, or the original one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeToolSelectionHookResult(_ModelHookResult):
    """Which tools the model may call in the next request, to which `system_message` is added for this call only."""

    tool_config: "ToolConfig | None" = None
    """The tool configuration to use in place of the request's own, or None to keep that."""
    tools: Any = None
    """The tools to use: the request's own, less those that the API runs itself and hooks did not allow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleHookResult:
    """The decision of hooks around a prompt or a session; empty if none is applied."""

    reason: str | None = None
    """Why it is blocked or stopped, or the next message with which the agent continues."""
    context: str | None = None
    """A text for the model, beside the prompt."""
    system_message: str | None = None
    """A note for the model, to be sent with the next message as `[System] …`."""
    should_stop: bool = False
    stop_reason: str | None = None
    decided_by: tuple[str, ...] = ()
    """The hooks that blocked, stopped, or made the agent go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeAgentHookResult(LifecycleHookResult):
    """The decision about a prompt."""

    blocked: bool = False
    """True when the prompt must not be sent: a hook blocks it, or stops the agent."""
    prompt: str | None = None
    """The prompt to send in place of the user's, or None to send that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterAgentHookResult(LifecycleHookResult):
    """The decision after the agent's answer."""

    should_go_on: bool = False
    """True when the agent has to go on, with `reason` as the next message; never together with a stop."""
    clear_context: bool = False
    """True when the history must be forgotten, before the agent continues or the next prompt is sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStartHookResult(LifecycleHookResult):
    """The context for the session's first prompt; with `should_stop` no prompt of the session is to be sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreCompressHookResult(LifecycleHookResult):
    """Whether to compress the history; `context` names what the summary must keep, for the model."""

    blocked: bool = False
    """True when the history must stay as it is."""
