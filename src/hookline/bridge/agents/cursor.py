"""Cursor asks. Its contract is known from its documentation only, so everything here is tolerant."""

from functools import partial
from typing import Any

from hookline.bridge.agents.copilot import decoded
from hookline.bridge.host import (
    AgentRequest,
    AgentResponse,
    HostAgent,
    MergedOutcome,
    Payload,
    lifecycle_fields,
    object_of,
    required,
    text,
    with_patches_inside,
    with_question,
)
from hookline.dialects.table import Arguments, Tool, tool_of_theirs
from hookline.protocol.events import HookEventName

EVENTS = {
    "preToolUse": HookEventName.BEFORE_TOOL,
    "beforeShellExecution": HookEventName.BEFORE_TOOL,
    "beforeMCPExecution": HookEventName.BEFORE_TOOL,
    "beforeReadFile": HookEventName.BEFORE_TOOL,
    "postToolUse": HookEventName.AFTER_TOOL,
    "postToolUseFailure": HookEventName.AFTER_TOOL,
    "afterShellExecution": HookEventName.AFTER_TOOL,
    "afterMCPExecution": HookEventName.AFTER_TOOL,
    "beforeSubmitPrompt": HookEventName.BEFORE_AGENT,
    "stop": HookEventName.AFTER_AGENT,
    "sessionStart": HookEventName.SESSION_START,
    "sessionEnd": HookEventName.SESSION_END,
    "preCompact": HookEventName.PRE_COMPRESS,
}
_REASONS = {"completed": "exit", "user_close": "exit"}
_HAS_CONTEXT = frozenset({"postToolUse", "sessionStart"})
# Both spellings of an argument are in use: the first is ours, or the one that we send back.
_SPELLINGS = {"path": "file_path", "contents": "content", "cwd": "directory"}


def _one_spelling(arguments: dict[str, Any]) -> dict[str, Any]:
    ours = {_SPELLINGS[name]: value for name, value in arguments.items() if name in _SPELLINGS}
    return ours | {name: value for name, value in arguments.items() if name not in _SPELLINGS}


TOOLS = (
    Tool(ours="run_shell_command", theirs="Shell", to_ours=_one_spelling),
    Tool(ours="read_file", theirs="Read", to_ours=_one_spelling),
    Tool(ours="write_file", theirs="Write", to_ours=_one_spelling),
    Tool(ours="replace", theirs="Edit", aliases=("StrReplace",), to_ours=_one_spelling),
    Tool(ours="search_file_content", theirs="Grep", renamed={"path": "file_path"}),
)


def parse_request(payload: Payload, event: str | None = None) -> AgentRequest:
    """Reads a question of Cursor."""
    native_event = event or required(payload, "hook_event_name", "event", "Cursor")
    roots = payload.get("workspace_roots")
    root = text(roots[0]) if isinstance(roots, list) and roots else ""
    request = AgentRequest(
        native_event=native_event,
        event=EVENTS.get(native_event),
        session_id=text(payload.get("conversation_id")) or text(payload.get("session_id")),
        cwd=text(payload.get("cwd")) or root,
        root=root,
        transcript_path=text(payload.get("transcript_path")),
    )
    fields = partial(lifecycle_fields, reasons=_REASONS, words={})
    return with_patches_inside(with_question(request, payload, fields, partial(_call, native_event), _response))


def _call(native_event: str, payload: Payload) -> tuple[Tool, Arguments]:
    if "ShellExecution" in native_event:
        command = required(payload, "command", "command", "Cursor")
        return tool_of_theirs(TOOLS, "Shell"), {"command": command, "cwd": payload.get("cwd")}
    if native_event == "beforeReadFile":
        return tool_of_theirs(TOOLS, "Read"), {"file_path": required(payload, "file_path", "file", "Cursor")}
    name = required(payload, "tool_name", "tool", "Cursor").removeprefix("MCP:")
    arguments = object_of(decoded(payload.get("tool_input"), name), "tool_input", "Cursor")
    return tool_of_theirs(TOOLS, name), arguments


def _response(payload: Payload) -> dict[str, Any]:
    if (error := payload.get("error_message")) is not None:
        return {"llmContent": str(error), "returnDisplay": None, "error": str(error)}
    given = next((payload[name] for name in ("tool_output", "output", "result_json") if name in payload), None)
    return {"llmContent": given, "returnDisplay": None}


def render(request: AgentRequest, outcome: MergedOutcome) -> AgentResponse:
    """Answers Cursor; events that can block always get a decision, because `failClosed` takes silence for a no."""
    has_context = request.native_event in _HAS_CONTEXT
    unsupported: list[str] = []
    refused = outcome.blocked or outcome.stop or outcome.ask
    reason = outcome.reason or outcome.stop_reason
    answer: dict[str, Any] = {}
    if request.event is HookEventName.BEFORE_TOOL:
        # The model reads one of the two messages; by the documentation, which one differs by version.
        messages = {"user_message": reason, "agent_message": reason} if refused else {}
        answer = {"permission": "deny" if refused else "allow", **messages}
        if outcome.arguments is not None and not refused:
            answer["updated_input"] = dict(outcome.arguments)
    elif request.event is HookEventName.BEFORE_AGENT:
        answer = {"continue": not refused, **({"user_message": reason} if refused else {})}
    elif request.event is HookEventName.AFTER_AGENT and outcome.blocked and not outcome.stop:
        answer = {"followup_message": reason}
    after = reason if request.event is HookEventName.AFTER_TOOL and (outcome.blocked or outcome.stop) else ""
    if after and not has_context:
        unsupported.append(f"a deny: {request.native_event} of Cursor has no place for it")
    if outcome.result is not None:
        unsupported.append("another result: Cursor takes one for tools of MCP servers only")
    if outcome.ask:
        unsupported.append("ask: Cursor does not ask for it, so the call is denied")
    if has_context and (notes := "\n\n".join(filter(None, (after, outcome.context)))):
        answer["additional_context"] = notes
    return AgentResponse(stdout=answer or None, unsupported=tuple(unsupported))


CURSOR_HOST = HostAgent(
    name="cursor",
    agent="Cursor",
    version="3.9",
    events=EVENTS,
    unmapped_events=frozenset(
        """
        afterFileEdit subagentStart subagentStop afterAgentResponse afterAgentThought beforeTabFileRead
        afterTabFileEdit workspaceOpen
        """.split()
    ),
    call_keys=frozenset({"tool_name", "tool_input", "command", "file_path"}),
    parse_request=parse_request,
    render=render,
    context_events=_HAS_CONTEXT,
    remarks=(
        "a call without objection is answered with allow: failClosed takes silence for a no",
        "whether that allow skips Cursor's own question is not known",
        "this bridge was written from Cursor's documentation and was not run in Cursor",
    ),
)
