"""What the triggers give back to their callers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hookline.contract.llm import GenerateContentParameters

if TYPE_CHECKING:
    from hookline.formats.sdk import GenerateContentResponse, ToolConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool gave back: one part for the model, one for the user."""

    llm_content: Any
    """Text, or a list of parts."""
    return_display: Any = None
    metadata: Mapping[str, Any] | None = None
    error: str | None = None
    suppress_display: bool = False
    """True when a hook wants the user not to be shown this; the model still sees it."""
    should_stop: bool = False
    """True when a hook wants the agent to stop."""
    stop_reason: str | None = None

    def to_tool_response(self) -> dict[str, Any]:
        """The result as AfterTool hooks are told it."""
        given = {
            "llmContent": self.llm_content,
            "returnDisplay": self.return_display,
            "metadata": self.metadata,
            "error": self.error,
        }
        return {
            key: value for key, value in given.items() if value is not None or key in ("llmContent", "returnDisplay")
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeModelHookResult:
    """What to do about a model call that is about to be made."""

    blocked: bool = False
    """True when the call must not be made: a hook blocks it, or stops the agent."""
    reason: str | None = None
    synthetic_response: "GenerateContentResponse | None" = None
    """What to use in place of the model's response, when blocked."""
    modified_request: GenerateContentParameters | None = None
    """The request to send in place of the original, or None to send that."""
    system_message: str | None = None
    """When blocked: to be passed on with the next message to the model."""
    should_stop: bool = False
    stop_reason: str | None = None
    suppress_output: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterModelHookResult:
    """What to go on with after a model call."""

    response: "GenerateContentResponse"
    """The modified response, or the original one."""
    system_message: str | None = None
    """To be passed on with the next message to the model."""
    should_stop: bool = False
    stop_reason: str | None = None
    suppress_output: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeToolSelectionHookResult:
    """Which tools the model may call in the request that is about to be made."""

    tool_config: "ToolConfig | None" = None
    """The tool configuration to use in place of the request's own, or None to keep that."""
    tools: Any = None
    """The tool definitions, which hooks never change."""
    system_message: str | None = None
    """To be added to the request, for this call only."""
    should_stop: bool = False
    stop_reason: str | None = None
    suppress_output: bool = False
