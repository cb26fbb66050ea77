"""Cursor asks. Its contract is known from its documentation only, so everything here is tolerant."""

from functools import partial
from typing import Any

from hookline.bridge.copilot import decoded
from hookline.bridge.host import (
    Heard,
    Host,
    Outcome,
    Payload,
    Said,
    losses,
    object_of,
    required,
    text,
    with_patches_inside,
    with_question,
    with_unsaid_stop,
)
from hookline.contract.events import HookEventName
from hookline.dialects.table import Arguments, Tool, tool_of_theirs

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


def hear(payload: Payload, event: str | None = None) -> Heard:
    """Reads a question of Cursor."""
    theirs = event or required(payload, "hook_event_name", "event", "Cursor")
    roots = payload.get("workspace_roots")
    root = text(roots[0]) if isinstance(roots, list) and roots else ""
    heard = Heard(
        theirs=theirs,
        event=EVENTS.get(theirs),
        session_id=text(payload.get("conversation_id")) or text(payload.get("session_id")),
        cwd=text(payload.get("cwd")) or root,
        root=root,
        transcript_path=text(payload.get("transcript_path")),
    )
    return with_patches_inside(with_question(heard, payload, _fields, partial(_call, theirs), _response))


def _call(theirs: str, payload: Payload) -> tuple[Tool, Arguments]:
    if "ShellExecution" in theirs:
        command = required(payload, "command", "command", "Cursor")
        return tool_of_theirs(TOOLS, "Shell"), {"command": command, "cwd": payload.get("cwd")}
    if theirs == "beforeReadFile":
        return tool_of_theirs(TOOLS, "Read"), {"file_path": required(payload, "file_path", "file", "Cursor")}
    name = required(payload, "tool_name", "tool", "Cursor").removeprefix("MCP:")
    arguments = object_of(decoded(payload.get("tool_input"), name), "tool_input", "Cursor")
    return tool_of_theirs(TOOLS, name), arguments


def _response(payload: Payload) -> dict[str, Any]:
    if (error := payload.get("error_message")) is not None:
        return {"llmContent": str(error), "returnDisplay": None, "error": str(error)}
    given = next((payload[name] for name in ("tool_output", "output", "result_json") if name in payload), None)
    return {"llmContent": given, "returnDisplay": None}


def _fields(ours: HookEventName, payload: Payload) -> dict[str, Any]:
    match ours:
        case HookEventName.BEFORE_AGENT:
            return {"prompt": text(payload.get("prompt"))}
        case HookEventName.AFTER_AGENT:
            count = payload.get("loop_count")
            return {"prompt": "", "prompt_response": "", "stop_hook_active": isinstance(count, int) and count > 0}
        case HookEventName.SESSION_START:
            return {"source": "startup"}
        case HookEventName.SESSION_END:
            return {"reason": "exit" if payload.get("reason") in ("completed", "user_close") else "other"}
        case _:
            return {"trigger": "manual" if payload.get("trigger") == "manual" else "auto"}


def say(heard: Heard, outcome: Outcome) -> Said:
    """Answers Cursor; events that can block always get a decision, because `failClosed` takes silence for a no."""
    has_context = heard.theirs in _HAS_CONTEXT
    lost = losses("Cursor", heard, outcome, has_context=has_context)
    refused = outcome.blocked or outcome.stop or outcome.ask
    reason = outcome.reason or outcome.stop_reason
    answer: dict[str, Any] = {}
    if heard.event is HookEventName.BEFORE_TOOL:
        # The model is said to read one of the two messages; which one differs by version.
        messages = {"user_message": reason, "agent_message": reason} if refused else {}
        answer = {"permission": "deny" if refused else "allow", **messages}
        if outcome.arguments is not None and not refused:
            answer["updated_input"] = dict(outcome.arguments)
    elif heard.event is HookEventName.BEFORE_AGENT:
        answer = {"continue": not refused, **({"user_message": reason} if refused else {})}
    elif heard.event is HookEventName.AFTER_AGENT and outcome.blocked and not outcome.stop:
        answer = {"followup_message": reason}
    after = reason if heard.event is HookEventName.AFTER_TOOL and (outcome.blocked or outcome.stop) else ""
    if after and not has_context:
        lost.append(f"a deny: {heard.theirs} of Cursor has no place for it")
    if outcome.result is not None:
        lost.append("another result: Cursor takes one for tools of MCP servers only")
    if outcome.ask:
        lost.append("ask: Cursor does not ask for it, so the call is denied")
    if has_context and (notes := "\n\n".join(filter(None, (after, outcome.context)))):
        answer["additional_context"] = notes
    return with_unsaid_stop(Said(stdout=answer or None, lost=tuple(lost)), "Cursor", heard, outcome)


CURSOR_HOST = Host(
    name="cursor",
    agent="Cursor",
    events=EVENTS,
    unheard=frozenset(
        """
        afterFileEdit subagentStart subagentStop afterAgentResponse afterAgentThought beforeTabFileRead
        afterTabFileEdit workspaceOpen
        """.split()  # noqa: SIM905 - as a list it would fill a screen
    ),
    call_keys=frozenset({"tool_name", "tool_input", "command", "file_path"}),
    hear=hear,
    say=say,
    remarks=(
        "a call without objection is answered with allow: failClosed takes silence for a no",
        "whether that allow skips Cursor's own question is not known",
        "this bridge was written from Cursor's documentation and was not run in Cursor",
    ),
)
