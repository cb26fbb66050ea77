"""Verdict → the result that a session's method returns."""

# ruff: noqa: PLC0415 - the engine's words are loaded on use, so that nothing of it is loaded while hooks are disabled

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from hookline.contract.events import HookEventName
from hookline.hooks._checks import check_type
from hookline.hooks.results import ModelAnswer, ModelGate, Selection, ToolCall
from hookline.triggers.results import Normalize, ToolResult, Validate

if TYPE_CHECKING:
    from hookline.contract.llm import LLMRequest, LLMResponse
    from hookline.contract.records import AdviceRecord
    from hookline.contract.verdict import Verdict
    from hookline.engine.selection import ToolLimit
    from hookline.triggers.apply_tool import Write


def selection(verdict: "Verdict | None", request: "LLMRequest", tools: tuple[str, ...]) -> Selection:
    """Which tools may be offered; the request's own configuration counts where hooks left it alone."""
    own = request.get("toolConfig") or {}
    if verdict is None or verdict.answer is None:
        return Selection(allowed=tools, offered=tools, mode=own.get("mode"), verdict=verdict)
    if verdict.tools is None:
        return Selection(allowed=tools, offered=tools, mode=own.get("mode"), **_shared(verdict))
    from hookline.formats.hook_format import overlay_hook_tool_config

    chosen = verdict.tools.to_dict()
    if verdict.tools.mode is None:
        # No hook gave a mode, so the request's own stays.
        del chosen["mode"]
    config = overlay_hook_tool_config(own, chosen)
    names, mode = config.get("allowedFunctionNames"), config.get("mode")
    restricted = Selection(
        mode=mode, names=None if names is None else frozenset(names), offered=tools, **_shared(verdict)
    )
    return replace(restricted, allowed=tuple(name for name in tools if restricted.permits(name)))


def limits_of(chosen: Selection | None) -> "tuple[ToolLimit, ...]":
    """What a selection keeps later events from widening."""
    if chosen is None:
        return ()
    from hookline.contract.answers import ToolSelection
    from hookline.engine.selection import ToolLimit, layers_of
    from hookline.settings.merge import PROGRAM_RANK

    if chosen.verdict is not None and chosen.verdict.event is HookEventName.BEFORE_TOOL_SELECTION:
        return layers_of(chosen.verdict)
    if chosen.names is None and chosen.mode != "NONE":
        return ()
    # The program made it itself, or several layers did.
    names = None if chosen.names is None else tuple(sorted(chosen.names))
    return (ToolLimit(PROGRAM_RANK, ToolSelection(mode=chosen.mode, names=names)),)


def model_gate(verdict: "Verdict", request: "LLMRequest", chosen: Selection | None = None) -> ModelGate:
    """Whether the call is made, with which request, or what is used in its place."""
    if verdict.answer is None:
        return ModelGate(request=request, verdict=verdict)
    shared = _shared(verdict)
    if verdict.blocked:
        return ModelGate(request=request, blocked=True, reason=verdict.reason, response=_response(verdict), **shared)
    wanted = request if verdict.request is None else cast("LLMRequest", verdict.request)
    shared["selection"] = _restriction(verdict, request, wanted, chosen or Selection())
    if verdict.note is not None:
        from hookline.formats.hook_format import with_note

        wanted, shared["note"] = with_note(wanted, verdict.note), None
    return ModelGate(request=wanted, changed=wanted is not request, **shared)


def _restriction(
    verdict: "Verdict", request: "LLMRequest", wanted: "LLMRequest", chosen: Selection
) -> Selection | None:
    """The tools to offer when a BeforeModel hook changes the choice; the engine has kept it within its limits."""
    config = wanted.get("toolConfig") or {}
    if config == (request.get("toolConfig") or {}):
        return None
    names = config.get("allowedFunctionNames")
    restricted = Selection(
        mode=config.get("mode"),
        names=None if names is None else frozenset(names),
        offered=chosen.offered,
        verdict=verdict,
    )
    return replace(restricted, allowed=tuple(name for name in chosen.offered if restricted.permits(name)))


def model_answer(verdict: "Verdict") -> ModelAnswer:
    """The text to go on with: a hook's in place of the model's, or the reason of a stop."""
    if verdict.answer is None:
        return ModelAnswer(verdict=verdict)
    response = _response(verdict)
    text = None if response is None else response.get("text", "")
    if response is None and verdict.stop:
        text = verdict.reason or ""
        response = {"text": text, "candidates": [{"content": {"role": "model", "parts": [text]}}]}
    return ModelAnswer(text=text, response=response, suppress=verdict.suppress, **_shared(verdict))


def tool_call(
    verdict: "Verdict | None",
    name: str,
    told: dict[str, Any],
    call_id: str | None,
    mcp_context: Mapping[str, Any] | None,
) -> ToolCall:
    """Whether the tool runs, and with which arguments."""
    if verdict is None or verdict.answer is None:
        return ToolCall(name=name, arguments=told, call_id=call_id, mcp_context=mcp_context, verdict=verdict)
    arguments = told if verdict.arguments is None else verdict.arguments
    return ToolCall(
        name=name,
        arguments=arguments,
        call_id=call_id,
        mcp_context=mcp_context,
        blocked=verdict.blocked,
        reason=verdict.reason,
        changed=arguments is not told,
        ask=verdict.ask,
        context=verdict.context,
        **_shared(verdict),
    )


def unreadable_call(
    name: str, arguments: object, call_id: str | None, mcp_context: Mapping[str, Any] | None
) -> ToolCall:
    """A call whose arguments are no mapping: no hook could check them."""
    from hookline.triggers.apply_tool import no_arguments

    verdict = _refused(name, no_arguments(name, arguments).llm_content)
    return tool_call(verdict, name, {}, call_id, mcp_context)


def not_permitted(
    name: str,
    told: dict[str, Any],
    call_id: str | None,
    mcp_context: Mapping[str, Any] | None,
    chosen: Selection,
) -> ToolCall:
    """A call of a tool that the last selection does not permit: models call tools that they were not offered."""
    hooks = () if chosen.verdict is None else chosen.verdict.decided_by.get("hookSpecificOutput.toolConfig", ())
    by = f" by {', '.join(hooks)}" if hooks else ""
    verdict = _refused(name, f"{name} is not allowed now: the tools were restricted{by}.")
    return replace(tool_call(verdict, name, told, call_id, mcp_context), decided_by=hooks)


def answered(call: ToolCall, answer: object) -> ToolCall:
    """The call after a person was asked about it; TypeError for an answer that is neither yes nor no."""
    check_type("the answer of on_ask", answer, bool, "True or False")
    return replace(call, ask=False, blocked=not answer)


def checked(
    call: ToolCall, normalize: Normalize | None, validate: Validate | None, write: "Write"
) -> tuple[ToolCall, ToolResult | None]:
    """The call with its arguments under their proper names, or the result in its place."""
    if call.blocked:
        return call, call.refusal
    if not call.changed or (normalize is None and validate is None) or call.verdict is None:
        return call, None
    from hookline.triggers.apply_tool import invalid_rewrite, rewritten

    arguments, fault = rewritten(call.arguments, normalize, validate)
    if fault is not None:
        return call, invalid_rewrite(call.verdict, fault, write)
    return replace(call, arguments=arguments), None


def applied(result: ToolResult, call: ToolCall, after: "Verdict | None") -> ToolResult:
    """The tool's result with what the hooks of both events answered."""
    if call.verdict is None and after is None:
        return result
    from hookline.triggers import apply_tool

    return apply_tool.applied(result, call.verdict, after)


def refusal_record(call: ToolCall) -> "AdviceRecord":
    """What the log says of a call that no hook was asked about."""
    from hookline.contract.records import AdviceRecord, LogLevel

    message = f"BeforeTool {call.name}: blocked: {call.reason}"
    return AdviceRecord(level=LogLevel.WARN, message=message, event="BeforeTool", subject=call.name, blocked=True)


def of_session(record: "AdviceRecord", session: str, agent: str | None) -> "AdviceRecord":
    """The record with the session that it belongs to."""
    import msgspec

    return msgspec.structs.replace(record, session=session, agent=agent)


def _refused(name: str, reason: str) -> "Verdict":
    from hookline.contract.answers import deny
    from hookline.contract.verdict import Verdict

    answer = deny(reason)
    return Verdict(
        event=HookEventName.BEFORE_TOOL, subject=name, blocked=True, denied=True, reason=reason, answer=answer
    )


def _response(verdict: "Verdict") -> "LLMResponse | None":
    """The hooks' response as one that can be used, with its text and its candidates; None when they gave none."""
    if verdict.response is None:
        return None
    from hookline.formats.hook_format import settle_llm_response

    return cast("LLMResponse | None", settle_llm_response(verdict.response, {}))


def _shared(verdict: "Verdict") -> dict[str, Any]:
    return {
        "note": verdict.note,
        "stop": verdict.stop,
        "stop_reason": verdict.stop_reason,
        "decided_by": verdict.deciders,
        "verdict": verdict,
    }
