"""The results of a session's methods: the verdict on one event, for the caller."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from hookline.client.triggers.results import ToolCall, ToolResult
from hookline.extensions import lazy_module
from hookline.protocol.events import HookEventName
from hookline.protocol.llm import HookToolConfig, LLMRequest, LLMResponse, ToolMode
from hookline.settings.read.merge import PROGRAM_RANK

if TYPE_CHECKING:
    from hookline.engine import selection as tool_limits
    from hookline.formats import hook_format
    from hookline.protocol import answers
    from hookline.protocol.verdict import Verdict
else:  # nothing of the engine is loaded while hooks are disabled
    tool_limits = lazy_module("hookline.engine.selection")
    hook_format = lazy_module("hookline.formats.hook_format")
    answers = lazy_module("hookline.protocol.answers")

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


def read_selection(verdict: "Verdict | None", request: LLMRequest, tools: tuple[str, ...]) -> Selection:
    """Which tools may be offered; the request's own configuration counts where hooks left it alone."""
    own = request.get("toolConfig") or {}
    if verdict is None or verdict.tools is None:
        shared = {"verdict": verdict} if verdict is None or verdict.answer is None else _shared(verdict)
        return Selection(allowed=tools, offered=tools, mode=own.get("mode"), **shared)
    return _restricted(chosen_tools(verdict.tools, own), tools, **_shared(verdict))


def chosen_tools(chosen: "answers.ToolSelection", own: Mapping[str, Any]) -> HookToolConfig:
    """The request's own choice of tools with that of hooks laid over it; a mode that no hook gave stays."""
    changes = chosen.to_dict()
    if chosen.mode is None:
        del changes["mode"]
    return hook_format.overlay_hook_tool_config(own, changes)


def limits_of(chosen: Selection | None) -> "tuple[tool_limits.ToolLimit, ...]":
    """Return the limits that later events can't widen."""
    if chosen is None:
        return ()
    if chosen.verdict is not None and chosen.verdict.event is HookEventName.BEFORE_TOOL_SELECTION:
        return tool_limits.layers_of(chosen.verdict)
    if chosen.names is None and chosen.mode != "NONE":
        return ()
    # The program made it itself, or several layers did.
    names = None if chosen.names is None else tuple(sorted(chosen.names))
    return (tool_limits.ToolLimit(PROGRAM_RANK, answers.ToolSelection(mode=chosen.mode, names=names)),)


def read_model_gate(verdict: "Verdict", request: LLMRequest, chosen: Selection | None = None) -> ModelGate:
    """Whether the call is made, with which request, or what is used in its place."""
    if verdict.answer is None:
        return ModelGate(request=request, verdict=verdict)
    shared = _shared(verdict)
    if verdict.blocked:
        return ModelGate(request=request, blocked=True, reason=verdict.reason, response=_response(verdict), **shared)
    wanted = request if verdict.request is None else cast("LLMRequest", verdict.request)
    shared["selection"] = _restriction(verdict, request, wanted, chosen or Selection())
    if verdict.note is not None:
        wanted, shared["note"] = hook_format.with_note(wanted, verdict.note), None
    return ModelGate(request=wanted, changed=wanted is not request, **shared)


def _restriction(verdict: "Verdict", request: LLMRequest, wanted: LLMRequest, chosen: Selection) -> Selection | None:
    """The tools to offer when a BeforeModel hook changes the choice; the engine has kept it within its limits."""
    config = wanted.get("toolConfig") or {}
    if config == (request.get("toolConfig") or {}):
        return None
    return _restricted(config, chosen.offered, verdict=verdict)


def _restricted(config: HookToolConfig, offered: tuple[str, ...], **shared: Any) -> Selection:
    names = config.get("allowedFunctionNames")
    limited = Selection(
        mode=config.get("mode"), names=None if names is None else frozenset(names), offered=offered, **shared
    )
    return replace(limited, allowed=tuple(name for name in offered if limited.permits(name)))


def read_model_answer(verdict: "Verdict") -> ModelAnswer:
    """The text to go on with: a hook's in place of the model's, or the reason of a stop."""
    if verdict.answer is None:
        return ModelAnswer(verdict=verdict)
    response = _response(verdict)
    text = None if response is None else response.get("text", "")
    if response is None and verdict.stop:
        text = verdict.reason or ""
        response = {"text": text, "candidates": [{"content": {"role": "model", "parts": [text]}}]}
    return ModelAnswer(text=text, response=response, suppress=verdict.suppress, **_shared(verdict))


def restricted_call(call: ToolCall, chosen: Selection) -> tuple[str, tuple[str, ...]]:
    """Why a tool may not be called that the last selection does not permit, and the hooks that chose.

    Models call tools that they were not offered.
    """
    hooks = () if chosen.verdict is None else chosen.verdict.decided_by.get("hookSpecificOutput.toolConfig", ())
    by = f" by {', '.join(hooks)}" if hooks else ""
    return f"{call.name} is not allowed now: the tools were restricted{by}.", hooks


def _response(verdict: "Verdict") -> LLMResponse | None:
    """The hooks' response as one that can be used, with its text and its candidates; None when they gave none."""
    if verdict.response is None:
        return None
    return cast("LLMResponse | None", hook_format.settle_llm_response(verdict.response, {}))


def _shared(verdict: "Verdict") -> dict[str, Any]:
    return {
        "note": verdict.note,
        "stop": verdict.stop,
        "stop_reason": verdict.stop_reason,
        "decided_by": verdict.deciders,
        "verdict": verdict,
    }
