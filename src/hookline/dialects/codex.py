"""Codex CLI: Claude Code's words, read much more strictly (contract of version 0.166)."""

import re
from collections.abc import Mapping
from typing import Any

from hookline.dialects import claude
from hookline.dialects.rules import (
    allows,
    denies,
    deny_reason,
    json_object,
    listed_names,
    object_in,
    some_text,
    text_of_result,
)
from hookline.dialects.table import Convert, Dialect, DialectEvent, Printed, Reading, Tool, UntranslatableError
from hookline.protocol.answers import DEFAULT_DENY_REASON
from hookline.protocol.events import TOOL_EVENTS, HookEventName
from hookline.protocol.text.json_text import trim

_LIST = re.compile(r"[A-Za-z0-9_|]+")
_TEXT_IS_CONTEXT = frozenset({"UserPromptSubmit", "SessionStart"})
_BLOCKING = 2
_WITHOUT_COUNTERPART = frozenset({"PostCompact", "SubagentStart", "SubagentStop"})
_ALLOWED_AT_TOP = frozenset(
    {"continue", "stopReason", "suppressOutput", "systemMessage", "decision", "reason", "hookSpecificOutput"}
)


def exact_names(matcher: str) -> frozenset[str] | None:
    """The names of a matcher that is a plain list; with a comma or a space it is a regular expression here."""
    return listed_names(matcher) if _LIST.fullmatch(matcher) else None


def hook_input(event: DialectEvent) -> dict[str, Any]:
    """Return the input of a hook of Codex."""
    fields = event.fields
    result: dict[str, Any] = {
        "session_id": fields.get("session_id"),
        "transcript_path": fields.get("transcript_path") or None,
        "cwd": fields.get("cwd"),
        "hook_event_name": event.theirs,
    }
    if event.ours is HookEventName.SESSION_END:
        return {**result, "reason": "other"}
    result |= {"model": fields.get("model") or "unknown", "permission_mode": "default"}
    if event.ours is not HookEventName.SESSION_START:
        result["turn_id"] = str(fields.get("session_id"))
    if event.ours not in TOOL_EVENTS:
        own = claude.hook_input(event)
        return result | {name: own[name] for name in own if name in _OWN_FIELDS}
    result |= claude.tool_fields(event, CODEX.tool(event.tool_name))
    if event.ours is HookEventName.AFTER_TOOL:
        result["tool_response"] = text_of_result(fields.get("tool_response"))
    return result


_OWN_FIELDS = frozenset({"prompt", "stop_hook_active", "last_assistant_message", "source", "trigger"})


def read(event: DialectEvent, printed: Printed) -> Reading:
    """Read a hook's exit code and output as Codex does; a deny that it would drop is kept and reported."""
    text = trim(printed.stdout)
    given = json_object(text)
    if printed.exit_code == _BLOCKING:
        return _block(event, some_text(printed.stderr), given)
    complaints: list[str] = []
    is_deny = given is not None and denies(given)
    if printed.exit_code != 0:
        if not is_deny:
            return Reading(failed=True)
        complaints.append(f"Codex ignores an answer beside exit code {printed.exit_code}; exit with 0")
    if given is None:
        if text and event.theirs in _TEXT_IS_CONTEXT and not text.startswith(("{", "[")):
            return Reading(answer={"hookSpecificOutput": {"additionalContext": text}})
        return Reading(failed=text.startswith(("{", "[")))
    if fault := _fault(event, given):
        complaints.append(f"Codex drops the whole answer: {fault}")
        if not is_deny:
            return Reading(complaints=tuple(complaints), failed=True)
    return Reading(answer=_own_answer(event, given), complaints=tuple(complaints))


def _block(event: DialectEvent, stderr: str | None, given: Mapping[str, Any] | None) -> Reading:
    complaints = () if stderr else ("Codex ignores exit code 2 without a reason on stderr; it blocks here",)
    if event.ours is HookEventName.SESSION_START:
        return Reading(failed=True)
    reason = stderr or (deny_reason(given) if given else None) or DEFAULT_DENY_REASON
    return Reading(answer=_refusal(event, trim(reason)), complaints=complaints)


def _refusal(event: DialectEvent, reason: str) -> dict[str, Any]:
    if event.ours is HookEventName.AFTER_TOOL:
        # The reason replaces the result, and the turn continues.
        return {"hookSpecificOutput": {"tool_output": reason}}
    return {"decision": "block", "reason": reason}


def _fault(event: DialectEvent, given: Mapping[str, Any]) -> str | None:
    """Why Codex would not take the answer, or None."""
    specific = object_in(given, "hookSpecificOutput")
    decision = specific.get("permissionDecision")
    if unknown := given.keys() - _ALLOWED_AT_TOP:
        return f"it has no field {min(unknown)}"
    if "hookSpecificOutput" in given and specific.get("hookEventName") != event.theirs:
        return f"hookEventName is not {event.theirs}"
    if given.get("suppressOutput") is True and event.ours in TOOL_EVENTS:
        return f"suppressOutput is not for {event.theirs}"
    if denies(given) and deny_reason(given) is None:
        return "a deny needs a reason"
    if event.theirs == "PreToolUse":
        if given.get("continue") is False or "stopReason" in given:
            return "continue and stopReason are not for PreToolUse"
        if decision == "ask":
            return "it knows no ask"
        if (decision == "allow") != ("updatedInput" in specific):
            return "allow and updatedInput belong together"
    return None


def _own_answer(event: DialectEvent, given: Mapping[str, Any]) -> dict[str, Any]:
    specific = object_in(given, "hookSpecificOutput")
    fields: dict[str, Any] = {}
    if context := some_text(specific.get("additionalContext")):
        fields["additionalContext"] = context
    if isinstance(updated := specific.get("updatedInput"), dict) and event.theirs == "PreToolUse":
        fields |= {"tool_input": _arguments(event, updated), "replacesInput": True}
    answer: dict[str, Any] = {"userMessage": message} if (message := some_text(given.get("systemMessage"))) else {}
    stops = given.get("continue") is False
    if denies(given):
        refusal = _refusal(event, deny_reason(given) or DEFAULT_DENY_REASON)
        fields |= refusal.pop("hookSpecificOutput", {})
        answer |= refusal
    elif event.theirs == "PermissionRequest" and allows(given):
        answer["decision"] = "allow"
    elif stops and event.ours is HookEventName.AFTER_TOOL:
        fields["tool_output"] = some_text(given.get("stopReason"), given.get("reason")) or DEFAULT_DENY_REASON
    if stops and event.ours is not HookEventName.AFTER_TOOL:
        answer["continue"] = False
        if reason := some_text(given.get("stopReason")):
            answer["stopReason"] = reason
    return {**answer, "hookSpecificOutput": fields} if fields else answer


def _arguments(event: DialectEvent, updated: Mapping[str, Any]) -> dict[str, Any]:
    tool = CODEX.tool(event.tool_name)
    if tool.theirs not in ("Bash", "apply_patch"):
        return dict(updated)
    # Of these two tools a hook can change the command alone.
    command = updated.get("command")
    if not isinstance(command, str):
        raise UntranslatableError("a hook returned updatedInput without the text `command`")
    if tool.theirs == "apply_patch":
        raise UntranslatableError(f"a hook rewrote the patch that stands for {tool.ours}, which can't be read back")
    return {**event.arguments, "command": command}


def added_file(arguments: dict[str, Any]) -> dict[str, Any]:
    """A file to be written, as the patch that adds it."""
    lines = "".join(f"+{line}\n" for line in str(arguments.get("content", "")).splitlines())
    return _patch(f"*** Add File: {arguments.get('file_path')}\n{lines}")


def updated_file(arguments: dict[str, Any]) -> dict[str, Any]:
    """A replacement in a file, as the patch that makes it."""
    old = "".join(f"-{line}\n" for line in str(arguments.get("old_string", "")).splitlines())
    new = "".join(f"+{line}\n" for line in str(arguments.get("new_string", "")).splitlines())
    return _patch(f"*** Update File: {arguments.get('file_path')}\n@@\n{old}{new}")


def _patch(body: str) -> dict[str, Any]:
    return {"command": f"*** Begin Patch\n{body}*** End Patch"}


def _patch_tool(ours: str, to_theirs: Convert) -> Tool:
    # A patch of Codex has paths that are relative to the project, and its guards compare them.
    aliases = ("Write", "Edit")
    return Tool(ours=ours, theirs="apply_patch", aliases=aliases, to_theirs=to_theirs, relative_paths=("file_path",))


CODEX = Dialect(
    name="codex",
    agent="Codex",
    events={name: ours for name, ours in claude.EVENTS.items() if name not in ("PostToolUseFailure", "Notification")},
    without_counterpart=_WITHOUT_COUNTERPART,
    at_permission_request=frozenset({"PermissionRequest"}),
    keys=frozenset({"async"}),
    plugin_variables=("PLUGIN_ROOT", "PLUGIN_DATA", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA"),
    tools=(
        Tool(
            ours="run_shell_command",
            theirs="Bash",
            to_theirs=lambda arguments: {"command": arguments.get("command")},
        ),
        _patch_tool("write_file", added_file),
        _patch_tool("replace", updated_file),
    ),
    triggers={"compress": "compact", "exit": "other"},
    exact_names=exact_names,
    hook_input=hook_input,
    environment=lambda _event: {},
    read=read,
)
