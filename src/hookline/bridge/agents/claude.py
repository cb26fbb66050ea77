"""Claude Code asks, and is answered in the words of its hooks."""

from functools import partial
from typing import Any

from hookline.bridge.host import (
    AT_START,
    AgentRequest,
    AgentResponse,
    Host,
    Outcome,
    Payload,
    object_of,
    required,
    text,
    unsupported_by,
    with_pending_stop,
    with_question,
)
from hookline.dialects.claude import CLAUDE
from hookline.dialects.claude_results import HIDDEN, in_its_shape, text_of
from hookline.dialects.table import Arguments, Dialect, Tool
from hookline.protocol.events import HookEventName

_EVENTS = {name: ours for name, ours in CLAUDE.events.items() if name != "PermissionRequest"}
# With these our hooks can add to what the model reads.
_HAS_CONTEXT = frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "SessionStart"})


def parse_request(payload: Payload, event: str | None = None) -> AgentRequest:
    """Reads a question of Claude Code."""
    return hear_in(CLAUDE, payload, event)


def hear_in(dialect: Dialect, payload: Payload, event: str | None) -> AgentRequest:
    """Reads a question in the words of Claude Code, which Codex uses, too."""
    native_event = event or required(payload, "hook_event_name", "event", dialect.agent)
    facts: dict[str, Any] = {name: text(payload.get(name)) for name in ("session_id", "cwd", "transcript_path")}
    request = AgentRequest(
        native_event=native_event, event=dialect.events.get(native_event), result=payload.get("tool_response"), **facts
    )

    def call(payload: Payload) -> tuple[Tool, Arguments]:
        name = required(payload, "tool_name", "tool", dialect.agent)
        return dialect.tool_of_theirs(name), object_of(payload.get("tool_input"), "tool_input", dialect.agent)

    return with_question(request, payload, partial(_fields, dialect), call, _response)


def _fields(dialect: Dialect, ours: HookEventName, payload: Payload) -> dict[str, Any]:
    words = {native_event: our_word for our_word, native_event in dialect.triggers.items()}
    match ours:
        case HookEventName.BEFORE_AGENT:
            return {"prompt": text(payload.get("prompt"))}
        case HookEventName.AFTER_AGENT:
            response = text(payload.get("last_assistant_message"))
            return {
                "prompt": "",
                "prompt_response": response,
                "stop_hook_active": payload.get("stop_hook_active") is True,
            }
        case HookEventName.SESSION_START:
            source = text(payload.get("source"))
            return {"source": {"fork": "resume"}.get(source, words.get(source, source)) or "startup"}
        case HookEventName.SESSION_END:
            reason = text(payload.get("reason"))
            return {"reason": reason if reason in ("clear", "logout", "prompt_input_exit") else "other"}
        case HookEventName.PRE_COMPRESS:
            return {"trigger": "manual" if payload.get("trigger") == "manual" else "auto"}
        case _:
            kind = text(payload.get("notification_type")) or "other"
            return {"notification_type": words.get(kind, kind), "message": text(payload.get("message")), "details": {}}


def _response(payload: Payload) -> dict[str, Any]:
    if (error := payload.get("error")) is not None:
        return {"llmContent": text(error), "returnDisplay": None, "error": text(error) or str(error)}
    given = payload.get("tool_response")
    if (output := text_of(given)) is not given:
        return {"llmContent": output, "returnDisplay": output, "metadata": given}
    return {"llmContent": given, "returnDisplay": None}


def render_response(request: AgentRequest, outcome: Outcome) -> AgentResponse:
    """Answers Claude Code; it never says allow, which would skip the person's own permission prompt."""
    answer: dict[str, Any] = {}
    specific: dict[str, Any] = {}
    has_context = request.native_event in _HAS_CONTEXT
    if outcome.stop:
        answer |= {"continue": False, "stopReason": outcome.stop_reason or outcome.reason}
    if request.event is HookEventName.BEFORE_TOOL:
        specific |= _about_tool(outcome)
    elif outcome.blocked or (outcome.stop and request.event is HookEventName.BEFORE_AGENT):
        answer |= {"decision": "block", "reason": outcome.reason or outcome.stop_reason}
    if outcome.context and has_context:
        specific["additionalContext"] = outcome.context
    if outcome.message:
        answer["systemMessage"] = outcome.message
    is_result = outcome.result is not None and request.native_event == "PostToolUse"
    replaced = in_its_shape(request.result, outcome.result or "") if is_result else None
    if replaced is not None:
        specific["updatedToolOutput"] = replaced
    if specific:
        answer["hookSpecificOutput"] = {"hookEventName": request.native_event, **specific}
    unsupported = unsupported_by(
        "Claude Code", request, outcome, has_context=has_context, has_message=True, keeps_history=True
    )
    if outcome.result is not None and replaced is None:
        # Claude Code takes a result in the tool's own shape only. The model must not read the one that is there.
        answer |= {"continue": False, "stopReason": HIDDEN}
        unsupported.append(
            f"another result: {request.native_event} of Claude Code takes none here, so the agent is stopped"
        )
    return with_pending_stop(
        AgentResponse(stdout=answer or None, unsupported=tuple(unsupported)), "Claude Code", request, outcome, AT_START
    )


def _about_tool(outcome: Outcome) -> dict[str, Any]:
    reason = outcome.reason or outcome.stop_reason
    if outcome.blocked or outcome.stop:
        # A stop alone would let the tool run first.
        return {"permissionDecision": "deny", "permissionDecisionReason": reason}
    asked = {"permissionDecision": "ask", "permissionDecisionReason": reason} if outcome.ask else {}
    # Also with a question: the user is asked about what runs.
    return asked if outcome.arguments is None else {**asked, "updatedInput": dict(outcome.arguments)}


CLAUDE_HOST = Host(
    name="claude",
    agent="Claude Code",
    events=_EVENTS,
    unmapped_events=CLAUDE.without_counterpart | {"PermissionRequest"},
    parse_request=parse_request,
    render_response=render_response,
    remarks=(
        "a project's disableAllHooks turns these hooks off, too",
        "ask without a person at the terminal (claude -p) is a no",
    ),
)
