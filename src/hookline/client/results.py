"""The results of a session's methods: the verdict on one event, for the caller."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hookline.client.triggers.results import ToolCall, ToolResult
from hookline.protocol.llm import LLMRequest, LLMResponse, ToolMode

if TYPE_CHECKING:
    from hookline.protocol.verdict import Verdict

__all__ = ["ModelAnswer", "ModelGate", "Selection", "ToolCall", "ToolFunction", "ToolOutput"]

ToolOutput = ToolResult | str | Mapping[str, Any]
ToolFunction = Callable[[dict[str, Any]], ToolOutput | Awaitable[ToolOutput]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    note: str | None = None
    stop: bool = False
    stop_reason: str | None = None
    decided_by: tuple[str, ...] = ()
    verdict: "Verdict | None" = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection(_Result):
    """Which tools the model may call in the next request.

    Attributes:
        allowed: the tools to offer: those that were given and that hooks allow, in the given order.
        mode: "AUTO", "ANY" (the model must call one) or "NONE", if a hook or the request says so.
        names: every name that hooks allow; None when they restrict nothing.
        offered: the tools that were given.
        note: a text for the model, to be added to this request only, as `[System] …`.
        stop: True when the agent has to stop now.
        stop_reason: why; to be shown to the user.
        decided_by: the hooks that stopped the agent.
        verdict: everything about the event; None when no hook had to run.
    """

    allowed: tuple[str, ...] = ()
    mode: ToolMode | None = None
    names: frozenset[str] | None = None
    offered: tuple[str, ...] = field(default=(), repr=False)

    def permits(self, name: str) -> bool:
        """Whether the model may call the tool of this name."""
        return self.mode != "NONE" and (self.names is None or name in self.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelGate(_Result):
    """The decision about a model call before it is made.

    Attributes:
        blocked: True when the call must not be made: a hook blocks it, or stops the agent.
        reason: why; always a text when blocked.
        response: what to use in place of the model's response when blocked, if a hook gave one.
        request: the request as it is to be sent, with a hook's note as its last message.
        changed: True when `request` is not what was given.
        selection: the tools that may be called, if a hook changed the choice of tools here; `before_tool` enforces it.
        note: a text for the model that could not be sent, because the call is blocked: add it to the next message.
        stop: True when the agent has to stop now.
        stop_reason: why; to be shown to the user.
        decided_by: the hooks that blocked the call or stopped the agent.
        verdict: everything about the event; None when no hook had to run.
    """

    request: LLMRequest
    blocked: bool = False
    reason: str | None = None
    response: LLMResponse | None = None
    changed: bool = False
    selection: Selection | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer(_Result):
    """The decision about the response of a model.

    Attributes:
        text: the text in place of the model's; None when it is unchanged.
        response: the same with all candidates, in hook form; None when it is unchanged.
        suppress: True when the user must not be shown the response.
        note: a text for the model, to be added to the next message as `[System] …`.
        stop: True when the agent has to stop now; then `text` is for the user.
        stop_reason: why; to be shown to the user.
        decided_by: the hooks that stopped the agent.
        verdict: everything about the event; None when no hook had to run.
    """

    text: str | None = None
    response: LLMResponse | None = None
    suppress: bool = False
