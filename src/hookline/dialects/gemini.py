"""Gemini CLI: hookline's own names where they agree, and its rules where they differ (contract of version 0.61)."""

import re
from collections.abc import Mapping
from typing import Any

from hookline.dialects.rules import is_block, json_object, object_in, some_text
from hookline.dialects.table import Dialect, DialectEvent, MatcherRule, Printed, Reading, Tool
from hookline.protocol.answers import DEFAULT_DENY_REASON
from hookline.protocol.constants import DEFAULT_TIMEOUT_MS
from hookline.protocol.events import TOOL_EVENTS, HookEventName
from hookline.protocol.text.json_text import parse_json, trim

_MCP = re.compile(r"mcp__(.+?)__(.+)")
# From this exit code on, text is a deny.
_BLOCKING = 2
_CHANGES = ("llm_request", "llm_response", "toolConfig", "clearContext")


def hook_input(event: DialectEvent) -> dict[str, Any]:
    """Return the input of a hook of Gemini CLI."""
    result = dict(event.fields)
    if event.ours in TOOL_EVENTS:
        tool = GEMINI.tool(event.tool_name)
        result |= {"tool_name": tool.theirs, "tool_input": event.arguments_for(tool)}
    return result


def environment(event: DialectEvent) -> dict[str, str]:
    """Return the variables that Gemini CLI adds to the environment of its hooks."""
    cwd = str(event.fields.get("cwd") or "")
    return {"GEMINI_CWD": cwd, "GEMINI_SESSION_ID": str(event.fields.get("session_id") or "")}


def read(event: DialectEvent, printed: Printed) -> Reading:
    """Read a hook's output as Gemini CLI does: JSON with any exit code, text depending on the code."""
    text = trim(printed.stdout) or trim(printed.stderr)
    given = _unwrapped(text)
    if given is not None:
        return _from_json(event, given)
    if printed.exit_code == 0:
        return Reading(answer={"userMessage": text} if text else None)
    if printed.exit_code < _BLOCKING:
        return Reading(answer={"userMessage": f"Warning: {text}"} if text else None, failed=not text)
    if not text and printed.exit_code != _BLOCKING:
        return Reading(failed=True)
    complaint = () if text else ("Gemini CLI ignores exit code 2 if nothing is printed; it blocks here",)
    return Reading(answer=_refusal(event, text or DEFAULT_DENY_REASON), complaints=complaint)


def _unwrapped(text: str) -> Mapping[str, Any] | None:
    given = json_object(text)
    if given is not None or not text.startswith('"'):
        return given
    try:
        return json_object(str(parse_json(text)))
    except (ValueError, RecursionError):
        return None


def _refusal(event: DialectEvent, reason: str) -> dict[str, Any]:
    if event.ours is HookEventName.AFTER_TOOL:
        return {"hookSpecificOutput": {"tool_output": reason}}  # in place of the result
    return {"decision": "deny", "reason": reason}


def _denies_in_claude_words(event: DialectEvent, own: Mapping[str, Any]) -> bool:
    return event.ours is HookEventName.BEFORE_TOOL and is_block(own.get("permissionDecision"))


def _from_json(event: DialectEvent, given: Mapping[str, Any]) -> Reading:
    own = object_in(given, "hookSpecificOutput")
    answer = {name: given[name] for name in ("continue", "stopReason", "reason") if name in given}
    if message := some_text(given.get("systemMessage")):
        answer["userMessage"] = message
    fields = {name: own[name] for name in (*_CHANGES, "additionalContext") if name in own}
    complaints: list[str] = []
    if (is_trap := _denies_in_claude_words(event, own)) or is_block(given.get("decision")):
        if is_trap and not is_block(given.get("decision")):
            complaints.append("Gemini CLI ignores permissionDecision, and so this deny; it blocks here; write decision")
        reasons = (given.get("reason"), given.get("stopReason"), own.get("permissionDecisionReason"))
        refusal = _refusal(event, some_text(*reasons, own.get("reason"), own.get("message")) or DEFAULT_DENY_REASON)
        fields |= refusal.pop("hookSpecificOutput", {})
        answer |= refusal
    elif given.get("decision") == "ask":
        answer["decision"] = "ask"
        answer.setdefault("reason", some_text(given.get("systemMessage")) or "")
    if isinstance(rewritten := own.get("tool_input"), dict) and event.ours is HookEventName.BEFORE_TOOL:
        fields["tool_input"] = GEMINI.tool(event.tool_name).read(rewritten, event.arguments, event.cwd)
        fields["replacesInput"] = True
    if "tailToolCallRequest" in own:
        complaints.append("tailToolCallRequest is not supported, so the result is withheld")
        fields["tool_output"] = "A hook wanted another tool to be called in place of this result."
    return Reading(answer={**answer, "hookSpecificOutput": fields} if fields else answer, complaints=tuple(complaints))


def _to_lines(arguments: dict[str, Any]) -> dict[str, Any]:
    """Lines to skip and to read → first and last line."""
    skip, limit = arguments.pop("offset", None), arguments.pop("limit", None)
    first = skip + 1 if isinstance(skip, int) else None
    last = (skip or 0) + limit if isinstance(limit, int) else None
    lines = {"start_line": first, "end_line": last}
    return arguments | {name: line for name, line in lines.items() if line is not None}


def _from_lines(arguments: dict[str, Any]) -> dict[str, Any]:
    first, last = arguments.pop("start_line", None), arguments.pop("end_line", None)
    skip = first - 1 if isinstance(first, int) else None
    limit = last - (skip or 0) if isinstance(last, int) else None
    lines = {"offset": skip, "limit": limit}
    return arguments | {name: line for name, line in lines.items() if line is not None}


def _to_allow_multiple(arguments: dict[str, Any]) -> dict[str, Any]:
    count = arguments.pop("expected_replacements", 1)
    is_for_all = arguments.get("allow_multiple") is True or (isinstance(count, int) and count > 1)
    return {"instruction": "", **arguments, "allow_multiple": is_for_all}


def _without_instruction(arguments: dict[str, Any]) -> dict[str, Any]:
    arguments.pop("instruction", None)
    return arguments


_DIRECTORY = {"path": "dir_path"}

GEMINI = Dialect(
    name="gemini",
    agent="Gemini CLI",
    events={event.value: event for event in HookEventName},
    tools=(
        Tool(ours="run_shell_command", theirs="run_shell_command", renamed={"directory": "dir_path"}),
        Tool(ours="read_file", theirs="read_file", to_theirs=_to_lines, to_ours=_from_lines),
        Tool(
            ours="replace",
            theirs="replace",
            to_theirs=_to_allow_multiple,
            to_ours=_without_instruction,
            without_counterpart={"allow_multiple": "replace needs the number of places"},
        ),
        Tool(ours="list_directory", theirs="list_directory", renamed=_DIRECTORY),
        Tool(ours="glob", theirs="glob", renamed=_DIRECTORY),
        Tool(
            ours="search_file_content",
            theirs="grep_search",
            aliases=("search_file_content",),
            renamed={**_DIRECTORY, "include": "include_pattern"},
        ),
    ),
    bad_matcher_is_text=True,
    rules={
        HookEventName.SESSION_START: MatcherRule.EQUALITY,
        HookEventName.SESSION_END: MatcherRule.EQUALITY,
        HookEventName.PRE_COMPRESS: MatcherRule.EQUALITY,
        HookEventName.NOTIFICATION: MatcherRule.IGNORED,
    },
    name_of_other=lambda name: _MCP.sub(r"mcp_\1_\2", name),
    timeout_unit_ms=1.0,
    default_timeout_ms=DEFAULT_TIMEOUT_MS,
    exact_names=lambda _matcher: None,
    hook_input=hook_input,
    environment=environment,
    read=read,
)
