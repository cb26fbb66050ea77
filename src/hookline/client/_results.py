"""Verdict → the result that a session's method returns."""

# ruff: noqa: PLC0415 - the engine's words are loaded on use, so that nothing of it is loaded while hooks are disabled

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from hookline.client.results import ModelAnswer, ModelGate, Selection, ToolCall
from hookline.protocol.events import HookEventName

if TYPE_CHECKING:
    from hookline.engine.selection import ToolLimit
    from hookline.protocol.llm import LLMRequest, LLMResponse
    from hookline.protocol.records import LogRecord
    from hookline.protocol.session import SessionFacts
    from hookline.protocol.verdict import Verdict


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
    """Return the limits that later events can't widen."""
    if chosen is None:
        return ()
    from hookline.engine.selection import ToolLimit, layers_of
    from hookline.protocol.answers import ToolSelection
    from hookline.settings.read.merge import PROGRAM_RANK

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


def restricted_call(call: ToolCall, chosen: Selection) -> tuple[str, tuple[str, ...]]:
    """Why a tool may not be called that the last selection does not permit, and the hooks that chose.

    Models call tools that they were not offered.
    """
    hooks = () if chosen.verdict is None else chosen.verdict.decided_by.get("hookSpecificOutput.toolConfig", ())
    by = f" by {', '.join(hooks)}" if hooks else ""
    return f"{call.name} is not allowed now: the tools were restricted{by}.", hooks


def of_session(record: "LogRecord", session: "SessionFacts") -> "LogRecord":
    """The record with the session that it belongs to."""
    import msgspec

    return msgspec.structs.replace(record, session=session.session_id, agent=session.agent)


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
