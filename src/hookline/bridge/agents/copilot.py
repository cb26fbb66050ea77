"""Copilot CLI asks, in the camelCase form of its hooks."""

from functools import partial
from typing import Any

from hookline.bridge.host import (
    PATCH_TOOLS,
    AgentRequest,
    AgentResponse,
    HostAgent,
    MergedOutcome,
    Payload,
    UnreadableQuestionError,
    lifecycle_fields,
    mapping,
    object_of,
    permission,
    required,
    text,
    with_patches_inside,
    with_question,
)
from hookline.dialects.claude import from_grep_flags
from hookline.dialects.table import Arguments, Tool, tool_of_theirs
from hookline.protocol.events import HookEventName
from hookline.protocol.text.json_text import parse_json

EVENTS = {
    "preToolUse": HookEventName.BEFORE_TOOL,
    "postToolUse": HookEventName.AFTER_TOOL,
    "postToolUseFailure": HookEventName.AFTER_TOOL,
    "userPromptSubmitted": HookEventName.BEFORE_AGENT,
    "agentStop": HookEventName.AFTER_AGENT,
    "sessionStart": HookEventName.SESSION_START,
    "sessionEnd": HookEventName.SESSION_END,
    "preCompact": HookEventName.PRE_COMPRESS,
    "notification": HookEventName.NOTIFICATION,
}
_REASONS = {"complete": "exit", "user_exit": "exit"}
_HAS_CONTEXT = frozenset(EVENTS) - {"agentStop", "sessionEnd", "preCompact"}


def _to_range(arguments: dict[str, Any]) -> dict[str, Any]:
    skip, limit = arguments.pop("offset", None), arguments.pop("limit", None)
    if not isinstance(skip, int) and not isinstance(limit, int):
        return arguments
    first = (skip or 0) + 1
    return {**arguments, "view_range": [first, -1 if limit is None else first + limit - 1]}


def _from_range(arguments: dict[str, Any]) -> dict[str, Any]:
    lines = arguments.pop("view_range", None)
    if not isinstance(lines, list) or [type(line) for line in lines] != [int, int]:
        return arguments
    first, last = lines
    return {**arguments, "offset": max(0, first - 1), **({} if last < first else {"limit": last - first + 1})}


def _from_flags(arguments: dict[str, Any]) -> dict[str, Any]:
    paths = arguments.get("path")
    if isinstance(paths, list):
        arguments["path"] = paths[0] if len(paths) == 1 else " ".join(map(str, paths))
    return from_grep_flags(arguments)


_PATH = {"file_path": "path"}
_EDIT = {**_PATH, "old_string": "old_str", "new_string": "new_str"}
TOOLS = (
    Tool(ours="run_shell_command", theirs="bash"),
    Tool(ours="read_file", theirs="view", renamed=_PATH, to_theirs=_to_range, to_ours=_from_range),
    Tool(ours="write_file", theirs="create", renamed={**_PATH, "content": "file_text"}),
    Tool(ours="replace", theirs="edit", renamed=_EDIT),
    Tool(ours="replace", theirs="str_replace_editor", renamed=_EDIT),
    Tool(ours="search_file_content", theirs="grep", aliases=("rg",), renamed={"path": "paths", "include": "glob"}),
    Tool(ours="glob", theirs="glob", renamed={"path": "paths"}, to_ours=_from_flags),
)


def parse_request(payload: Payload, event: str | None = None) -> AgentRequest:
    """Reads a question of Copilot CLI, whose input does not say which event it is about."""
    native_event = event or _guessed(payload)
    request = AgentRequest(
        native_event=native_event,
        event=EVENTS.get(native_event),
        session_id=text(payload.get("sessionId")),
        cwd=text(payload.get("cwd")),
        transcript_path=text(payload.get("transcriptPath")),
    )
    fields = partial(lifecycle_fields, reasons=_REASONS, words={"new": "startup"})
    return with_patches_inside(with_question(request, payload, fields, _call, _response))


def _call(payload: Payload) -> tuple[Tool, Arguments]:
    name = required(payload, "toolName", "tool", "Copilot CLI")
    return tool_of_theirs(TOOLS, name), object_of(decoded(payload.get("toolArgs"), name), "toolArgs", "Copilot CLI")


def _guessed(payload: Payload) -> str:
    """The event by the fields that only it has; a question that fits none is about something we can't know."""
    if "toolName" in payload:
        after = "postToolUse" if "toolResult" in payload else "postToolUseFailure" if "error" in payload else None
        return after or "preToolUse"
    raise UnreadableQuestionError("say which event of Copilot CLI this is: hookline hook copilot EVENT")


def decoded(value: Any, tool: str) -> Any:
    """Arguments of a tool, which older versions send as a JSON text; a patch tool may get the patch as it is."""
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value)
    except (ValueError, RecursionError):
        return {"input": value} if tool in PATCH_TOOLS else value


def _response(payload: Payload) -> dict[str, Any]:
    if (error := payload.get("error")) is not None:
        message = mapping(error).get("message") or error
        return {"llmContent": str(message), "returnDisplay": None, "error": str(message)}
    result = mapping(payload.get("toolResult"))
    return {"llmContent": result.get("textResultForLlm"), "returnDisplay": None}


def render(request: AgentRequest, outcome: MergedOutcome) -> AgentResponse:
    """Answers Copilot CLI by JSON and exit code 0: with exit code 2 the reason would be lost."""
    has_context = request.native_event in _HAS_CONTEXT
    unsupported: tuple[str, ...] = ()
    answer: dict[str, Any] = {}
    reason = outcome.reason or outcome.stop_reason
    if request.event is HookEventName.BEFORE_TOOL:
        answer |= permission(outcome, "modifiedArgs")
    elif request.event is HookEventName.AFTER_AGENT:
        if outcome.blocked and not outcome.stop:
            answer |= {"decision": "block", "reason": reason}
    elif (outcome.blocked or outcome.stop) and request.event is HookEventName.BEFORE_AGENT:
        answer |= {"decision": "block", "reason": reason}
    elif reason and (outcome.blocked or outcome.stop) and has_context:
        answer["additionalContext"] = reason
    if outcome.result is not None:
        if request.native_event == "postToolUse":
            answer["modifiedResult"] = {"resultType": "success", "textResultForLlm": outcome.result}
        else:
            unsupported = (f"another result: {request.native_event} of Copilot CLI takes none",)
    if outcome.context and has_context:
        answer["additionalContext"] = "\n\n".join(filter(None, (answer.get("additionalContext"), outcome.context)))
    return AgentResponse(stdout=answer or None, unsupported=unsupported)


COPILOT_HOST = HostAgent(
    name="copilot",
    agent="Copilot CLI",
    version="1.0.102",
    package="@github/copilot@1.0.102",
    events=EVENTS,
    unmapped_events=frozenset(
        {"userPromptTransformed", "permissionRequest", "subagentStart", "subagentStop", "errorOccurred"}
    ),
    parse_request=parse_request,
    render=render,
    context_events=_HAS_CONTEXT,
    # On a prompt it only warns, and on a tool the reason is lost.
    exit_2_blocks=False,
    remarks=(
        "if the command takes longer than its timeout, Copilot CLI continues",
        "a project's file is read only in a folder that you trust in Copilot CLI",
    ),
)
