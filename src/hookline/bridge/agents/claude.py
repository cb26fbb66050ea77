"""Answers Claude Code in the format of its own hooks."""

from functools import partial
from typing import Any

from hookline.bridge.host import (
    AgentRequest,
    AgentResponse,
    HostAgent,
    MergedOutcome,
    Payload,
    lifecycle_fields,
    object_of,
    permission,
    required,
    text,
    with_question,
)
from hookline.dialects.claude import CLAUDE
from hookline.dialects.claude_results import HIDDEN, in_its_shape, text_of
from hookline.dialects.table import Arguments, Dialect, Tool
from hookline.protocol.events import HookEventName

_EVENTS = {name: ours for name, ours in CLAUDE.events.items() if name != "PermissionRequest"}
_REASONS = {reason: reason for reason in ("clear", "logout", "prompt_input_exit")}
_HAS_CONTEXT = frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "SessionStart"})


def parse_request(payload: Payload, event: str | None = None) -> AgentRequest:
    """Parse a request of Claude Code."""
    return parse_claude_request(CLAUDE, payload, event)


def parse_claude_request(dialect: Dialect, payload: Payload, event: str | None) -> AgentRequest:
    """Parse a request in Claude Code's format, which Codex uses as well."""
    native_event = event or required(payload, "hook_event_name", "event", dialect.agent)
    facts: dict[str, Any] = {name: text(payload.get(name)) for name in ("session_id", "cwd", "transcript_path")}
    request = AgentRequest(
        native_event=native_event, event=dialect.events.get(native_event), result=payload.get("tool_response"), **facts
    )

    def call(payload: Payload) -> tuple[Tool, Arguments]:
        name = required(payload, "tool_name", "tool", dialect.agent)
        return dialect.tool_of_theirs(name), object_of(payload.get("tool_input"), "tool_input", dialect.agent)

    words = {native_word: word for word, native_word in dialect.triggers.items()} | {"fork": "resume"}
    return with_question(request, payload, partial(lifecycle_fields, reasons=_REASONS, words=words), call, _response)


def _response(payload: Payload) -> dict[str, Any]:
    if (error := payload.get("error")) is not None:
        return {"llmContent": text(error), "returnDisplay": None, "error": text(error) or str(error)}
    given = payload.get("tool_response")
    if (output := text_of(given)) is not given:
        return {"llmContent": output, "returnDisplay": output, "metadata": given}
    return {"llmContent": given, "returnDisplay": None}


def render(request: AgentRequest, outcome: MergedOutcome) -> AgentResponse:
    """Answers Claude Code; it never says allow, which would skip the user's permission prompt."""
    answer: dict[str, Any] = {}
    specific: dict[str, Any] = {}
    if outcome.stop:
        answer |= {"continue": False, "stopReason": outcome.stop_reason or outcome.reason}
    if request.event is HookEventName.BEFORE_TOOL:
        specific |= permission(outcome, "updatedInput")
    elif outcome.blocked or (outcome.stop and request.event is HookEventName.BEFORE_AGENT):
        answer |= {"decision": "block", "reason": outcome.reason or outcome.stop_reason}
    if outcome.context and request.native_event in _HAS_CONTEXT:
        specific["additionalContext"] = outcome.context
    if outcome.message:
        answer["systemMessage"] = outcome.message
    is_result = outcome.result is not None and request.native_event == "PostToolUse"
    replaced = in_its_shape(request.result, outcome.result or "") if is_result else None
    if replaced is not None:
        specific["updatedToolOutput"] = replaced
    if specific:
        answer["hookSpecificOutput"] = {"hookEventName": request.native_event, **specific}
    unsupported: tuple[str, ...] = ()
    if outcome.result is not None and replaced is None:
        # Claude Code takes a result in the tool's own shape only. The model must not read the one that is there.
        answer |= {"continue": False, "stopReason": HIDDEN}
        unsupported = (
            f"another result: {request.native_event} of Claude Code takes none here, so the agent is stopped",
        )
    return AgentResponse(stdout=answer or None, unsupported=unsupported)


CLAUDE_HOST = HostAgent(
    name="claude",
    agent="Claude Code",
    # The program comes inside this Python package; those of the other agents are npm packages.
    version="2.1.325",
    package="claude-agent-sdk==0.2.182",
    events=_EVENTS,
    unmapped_events=CLAUDE.without_counterpart | {"PermissionRequest"},
    parse_request=parse_request,
    render=render,
    context_events=_HAS_CONTEXT,
    deny_only=frozenset({HookEventName.SESSION_START}),
    keeps_history=True,
    remarks=(
        "a project's disableAllHooks also turns these hooks off",
        "ask without a user at the terminal (claude -p) refuses the call",
    ),
)
