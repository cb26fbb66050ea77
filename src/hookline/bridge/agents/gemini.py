"""Gemini CLI asks in words that are mostly ours."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hookline.bridge.host import (
    AgentRequest,
    AgentResponse,
    HostAgent,
    MergedOutcome,
    Payload,
    UnreadableQuestionError,
    in_place,
    mapping,
    object_of,
    required,
    text,
    with_call,
)
from hookline.dialects.gemini import GEMINI
from hookline.protocol.events import TOOL_EVENTS, HookEventName

_FACTS = ("session_id", "cwd", "transcript_path")
_NOT_FIELDS = frozenset({*_FACTS, "timestamp", "hook_event_name"})
_MODEL_FIELDS = ("llm_request", "llm_response", "toolConfig")
_HAS_CONTEXT = frozenset({"AfterTool", "BeforeAgent", "SessionStart"})


def parse_request(payload: Payload, event: str | None = None) -> AgentRequest:
    """Reads a question of Gemini CLI."""
    native_event = event or required(payload, "hook_event_name", "event", "Gemini CLI")
    facts: dict[str, Any] = {name: text(payload.get(name)) for name in _FACTS}
    ours = GEMINI.events.get(native_event)
    fields = {name: value for name, value in payload.items() if name not in _NOT_FIELDS}
    if ours not in TOOL_EVENTS:
        return AgentRequest(native_event=native_event, event=ours, questions=(fields,) if ours else (), **facts)
    request = AgentRequest(native_event=native_event, event=ours, **facts)
    try:
        tool = GEMINI.tool_of_theirs(required(payload, "tool_name", "tool", "Gemini CLI"))
        arguments = object_of(payload.get("tool_input"), "tool_input", "Gemini CLI")
    except UnreadableQuestionError as error:
        return replace(request, fault=str(error))
    return with_call(request, tool, arguments, {**fields, "tool_name": _mcp_name(tool.ours, payload)})


def _mcp_name(name: str, payload: Payload) -> str:
    """A tool of an MCP server under the name that our matchers know."""
    context = payload.get("mcp_context")
    if not isinstance(context, Mapping):
        return name
    return f"mcp__{context.get('server_name')}__{context.get('tool_name')}"


def render(request: AgentRequest, outcome: MergedOutcome) -> AgentResponse:
    """Render the answer for Gemini CLI. It never asks: without a terminal Gemini CLI would wait for ever."""
    answer: dict[str, Any] = {}
    specific: dict[str, Any] = {}
    if outcome.stop:
        answer |= {"continue": False, "stopReason": outcome.stop_reason or outcome.reason}
    is_refused = outcome.blocked and request.event is not HookEventName.PRE_COMPRESS
    if is_refused or outcome.ask or outcome.result is not None:
        # After a tool, the reason of a deny replaces the result.
        answer |= {"decision": "deny", "reason": in_place(outcome)}
    if outcome.message:
        answer["systemMessage"] = outcome.message
    if outcome.arguments is not None and request.event is HookEventName.BEFORE_TOOL and "decision" not in answer:
        specific["tool_input"] = dict(outcome.arguments)
    specific |= _about_model(request, outcome.model)
    if outcome.context and request.native_event in _HAS_CONTEXT:
        specific["additionalContext"] = outcome.context
    if specific:
        answer["hookSpecificOutput"] = {"hookEventName": request.native_event, **specific}
    denied = "ask: Gemini CLI waits forever where there is no user to ask, so the call is denied"
    return AgentResponse(stdout=answer or None, unsupported=(denied,) if outcome.ask else ())


def _about_model(request: AgentRequest, effect: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changes of hooks to a model call. Unchanged messages are left out: Gemini CLI drops their calls."""
    answer = {name: value for name, value in effect.items() if name in _MODEL_FIELDS}
    if "llm_request" in answer:
        asked = mapping(request.questions[0].get("llm_request"))
        answer["llm_request"] = {
            name: value for name, value in answer["llm_request"].items() if value != asked.get(name)
        }
    if "toolConfig" in answer:
        chosen = answer["toolConfig"]
        if isinstance(names := chosen.get("allowedFunctionNames"), list):
            chosen = {**chosen, "allowedFunctionNames": [GEMINI.tool(name).theirs for name in names]}
        answer["toolConfig"] = chosen
    return answer


GEMINI_HOST = HostAgent(
    name="gemini",
    agent="Gemini CLI",
    version="0.61.0",
    package="@google/gemini-cli@0.61.0",
    events=GEMINI.events,
    parse_request=parse_request,
    render=render,
    context_events=_HAS_CONTEXT,
    deny_only=frozenset({HookEventName.SESSION_START}),
    remarks=(
        "if the command takes longer than its timeout, Gemini CLI continues",
        "a project's hooksConfig.enabled: false also turns these hooks off",
    ),
)
