"""Claude Code: its words, and how it reads what its hooks answer (contract of version 2.1)."""

import os
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hookline.dialects import conditions
from hookline.dialects.rules import (
    allows,
    denies,
    deny_reason,
    error_of_result,
    json_object,
    listed_names,
    object_in,
    some_text,
    text_of_result,
)
from hookline.dialects.table import Arguments, Dialect, DialectEvent, Printed, Reading, Tool
from hookline.dialects.transcripts.claude_form import in_claude_form
from hookline.extensions import lazy_module
from hookline.protocol.answers import DEFAULT_DENY_REASON
from hookline.protocol.events import TOOL_EVENTS, HookEventName
from hookline.protocol.text.json_text import stringify_json, trim

if TYPE_CHECKING:
    import hashlib
else:
    hashlib = lazy_module("hashlib")  # OpenSSL takes time to load

EVENTS = {
    "PreToolUse": HookEventName.BEFORE_TOOL,
    "PermissionRequest": HookEventName.BEFORE_TOOL,
    "PostToolUse": HookEventName.AFTER_TOOL,
    "PostToolUseFailure": HookEventName.AFTER_TOOL,
    "UserPromptSubmit": HookEventName.BEFORE_AGENT,
    "Stop": HookEventName.AFTER_AGENT,
    "SessionStart": HookEventName.SESSION_START,
    "SessionEnd": HookEventName.SESSION_END,
    "PreCompact": HookEventName.PRE_COMPRESS,
    "Notification": HookEventName.NOTIFICATION,
}
# On these events the plain text that a hook prints goes to the model; on others it is ignored.
_TEXT_IS_CONTEXT = frozenset({"UserPromptSubmit", "SessionStart", "PreCompact"})
_WITHOUT_PERMISSION_MODE = frozenset({"SessionStart", "SessionEnd"})


def hook_input(event: DialectEvent) -> dict[str, Any]:
    """Return the input of a hook of Claude Code."""
    fields = event.fields
    result = {name: fields.get(name) for name in ("session_id", "transcript_path", "cwd")}
    if event.theirs not in _WITHOUT_PERMISSION_MODE:
        result["permission_mode"] = "default"
    return {**result, "hook_event_name": event.theirs, **_OWN_FIELDS[event.ours](event)}


def tool_fields(event: DialectEvent, tool: Tool) -> dict[str, Any]:
    """The fields about a tool call that Claude Code and Codex have in common."""
    # The same call has the same id before and after it ran; the model's own id is not known here.
    call = [event.fields.get("session_id"), tool.ours, event.fields.get("tool_input")]
    digest = hashlib.sha256(stringify_json(call)).hexdigest()
    theirs = event.arguments_for(tool)
    result: dict[str, Any] = {"tool_name": tool.theirs, "tool_input": theirs, "tool_use_id": f"toolu_{digest[:24]}"}
    if event.theirs == "PermissionRequest":
        del result["tool_use_id"]
    return result


def _of_tool(event: DialectEvent) -> dict[str, Any]:
    tool = CLAUDE.tool(event.tool_name)
    result = tool_fields(event, tool)
    if event.ours is HookEventName.BEFORE_TOOL:
        return result
    response = event.fields.get("tool_response")
    error = error_of_result(response)
    if error is not None:
        return {**result, "error": error if tool.theirs != "Bash" else text_of_result(response) or error}
    return {**result, "tool_response": tool.response(object_in(result, "tool_input"), text_of_result(response))}


_OWN_FIELDS: Mapping[HookEventName, Callable[[DialectEvent], dict[str, Any]]] = {
    HookEventName.BEFORE_TOOL: _of_tool,
    HookEventName.AFTER_TOOL: _of_tool,
    HookEventName.BEFORE_AGENT: lambda event: {"prompt": event.fields.get("prompt")},
    HookEventName.AFTER_AGENT: lambda event: {
        "stop_hook_active": bool(event.fields.get("stop_hook_active")),
        "last_assistant_message": event.fields.get("prompt_response"),
    },
    HookEventName.SESSION_START: lambda event: {"source": _trigger(event.fields.get("source"))},
    HookEventName.SESSION_END: lambda event: {"reason": _trigger(event.fields.get("reason"))},
    HookEventName.PRE_COMPRESS: lambda event: {"trigger": event.fields.get("trigger"), "custom_instructions": None},
    HookEventName.NOTIFICATION: lambda event: {
        "message": event.fields.get("message"),
        "notification_type": _trigger(event.fields.get("notification_type")),
    },
}


def _trigger(value: Any) -> Any:
    return CLAUDE.triggers.get(value, value) if isinstance(value, str) else value


def wants(event: DialectEvent) -> bool:
    """A tool that failed is PostToolUseFailure, and only that."""
    if event.ours is not HookEventName.AFTER_TOOL:
        return True
    has_failed = error_of_result(event.fields.get("tool_response")) is not None
    return has_failed == (event.theirs == "PostToolUseFailure")


def meets(event: DialectEvent, condition: str) -> bool:
    """Whether a call meets the rule of a hook's `if`; events that are not about a tool meet none."""
    if event.ours not in TOOL_EVENTS:
        return False
    names = CLAUDE.names_of(event.ours, event.tool_name)
    arguments = CLAUDE.tool(event.tool_name).agent_arguments(event.arguments, event.cwd)
    return conditions.meets(condition, names, arguments, event.cwd, os.environ.get("HOME", ""))


def transcript(record: Mapping[str, Any], facts: Mapping[str, Any], number: int) -> dict[str, Any] | None:
    """A record of our transcript as Claude Code would have written it."""
    cwd = str(facts.get("project", ""))

    def translate(name: str, arguments: Arguments) -> tuple[str, Arguments]:
        tool = CLAUDE.tool(name)
        return tool.theirs, tool.agent_arguments(arguments, cwd)

    return in_claude_form(record, facts, number, translate)


def environment(event: DialectEvent) -> dict[str, str]:
    """Return the variables that Claude Code adds to the environment of its hooks."""
    return {
        "CLAUDECODE": "1",
        "CLAUDE_CODE_SESSION_ID": str(event.fields.get("session_id") or ""),
        "CLAUDE_CODE_ENTRYPOINT": "cli",
    }


def read(event: DialectEvent, printed: Printed) -> Reading:
    """Read a hook's exit code and output as Claude Code does; a deny that it would drop is kept and reported."""
    text = trim(printed.stdout)
    given = json_object(text) if text.startswith("{") else None
    complaints: list[str] = []
    answer: dict[str, Any] | None = {}
    if given is not None:
        answer = _AnswerReader(event, given, complaints).own_answer()
    elif text.startswith("{"):
        complaints.append("stdout begins like JSON and is not valid JSON, so no decision was read from it")
    elif text and event.theirs in _TEXT_IS_CONTEXT and printed.exit_code == 0:
        answer = {"hookSpecificOutput": {"additionalContext": text}}
    elif _ANSWER_IN_TEXT.search(text):
        complaints.append("stdout has an answer after other text, so Claude Code takes all of it for text")
    if printed.exit_code == _BLOCKING and event.theirs not in _TOOL_GUARDS and _MISSING_SCRIPT.search(printed.stderr):
        complaints.append("its script is missing, which does not block this event")
        return Reading(complaints=tuple(complaints), failed=True)
    if printed.exit_code == _BLOCKING:
        answer = answer or {}
        reason = some_text(answer.get("reason"), printed.stderr) or DEFAULT_DENY_REASON
        return Reading(answer={**answer, "decision": "block", "reason": trim(reason)}, complaints=tuple(complaints))
    failed = answer is None or (given is None and (printed.exit_code != 0 or text.startswith("{")))
    return Reading(answer=answer or None, complaints=tuple(complaints), failed=failed)


_BLOCKING = 2
# Python exits with 2 for a script that does not exist. Before a tool that blocks; elsewhere Claude Code continues.
_MISSING_SCRIPT = re.compile(r"^\S*python\S*: can't open file .*\[Errno 2\]", re.MULTILINE)
_TOOL_GUARDS = frozenset({"PreToolUse", "PermissionRequest"})
_ANSWER_IN_TEXT = re.compile(r'\{\s*"(?:decision|hookSpecificOutput|continue)"')


class _AnswerReader:
    """One JSON answer, field by field."""

    def __init__(self, event: DialectEvent, given: Mapping[str, Any], complaints: list[str]) -> None:
        self._event = event
        self._given = given
        self._complaints = complaints
        self._specific = object_in(given, "hookSpecificOutput")

    def own_answer(self) -> dict[str, Any] | None:
        """Return the answer in hookline's own format; None for one that Claude Code drops and that denies nothing."""
        answer: dict[str, Any] = {}
        if self._is_dropped():
            return self._refusal(answer) if denies(self._given) else None
        if self._given.get("continue") is False and self._event.ours is not HookEventName.SESSION_START:
            answer["continue"] = False
            if reason := some_text(self._given.get("stopReason")):
                answer["stopReason"] = reason
        if message := some_text(self._given.get("systemMessage")):
            answer["userMessage"] = message
        if denies(self._given):
            self._refusal(answer)
        elif self._specific.get("permissionDecision") in ("ask", "defer"):
            answer |= {"decision": "ask", "reason": some_text(self._specific.get("permissionDecisionReason")) or ""}
        elif self._event.theirs == "PermissionRequest":
            self._permission(answer)
        if specific := self._own_fields():
            answer["hookSpecificOutput"] = specific
        if self._event.theirs == "Stop" and not denies(self._given) and (context := some_text(specific.get(_CONTEXT))):
            # Context after the end of a turn makes Claude Code continue it.
            answer |= {"decision": "block", "reason": context}
            del answer["hookSpecificOutput"]
        return answer

    def _permission(self, answer: dict[str, Any]) -> None:
        if allows(self._given):
            answer["decision"] = "allow"
        elif "updatedInput" in object_in(self._specific, "decision"):
            text = "updatedInput of PermissionRequest is not applied, because guards have judged the arguments already"
            self._complaints.append(f"{text}; the user is asked")

    def _is_dropped(self) -> bool:
        """Whether Claude Code would drop the whole answer because one field is wrong."""
        name = self._specific.get("hookEventName")
        if "hookSpecificOutput" in self._given and name != self._event.theirs:
            what = f"is for {name!r}" if name is not None else "lacks hookEventName"
            self._complaints.append(f"hookSpecificOutput {what}, so Claude Code drops the whole answer")
            return True
        decision = self._given.get("decision")
        if decision is not None and decision not in ("approve", "block"):
            self._complaints.append(f"Claude Code drops an answer whose decision is {decision!r}; write block")
            return True
        return False

    def _refusal(self, answer: dict[str, Any]) -> dict[str, Any]:
        answer |= {"decision": "block", "reason": deny_reason(self._given) or DEFAULT_DENY_REASON}
        if object_in(self._specific, "decision").get("interrupt") is True:
            answer["continue"] = False
        return answer

    def _own_fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        if context := some_text(self._specific.get(_CONTEXT)):
            fields[_CONTEXT] = context
        if isinstance(updated := self._specific.get("updatedInput"), dict) and self._event.theirs == "PreToolUse":
            tool = CLAUDE.tool(self._event.tool_name)
            fields["tool_input"] = tool.read(updated, self._event.arguments, self._event.cwd)
            fields["replacesInput"] = True
        output = self._specific.get("updatedToolOutput", self._specific.get("updatedMCPToolOutput"))
        if output is not None and self._event.theirs == "PostToolUse":
            self._add_output(fields, output)
        return fields

    def _add_output(self, fields: dict[str, Any], output: Any) -> None:
        if isinstance(output, str) and self._event.fields.get("tool_name") == "run_shell_command":
            self._complaints.append(
                "updatedToolOutput of Bash must be an object with stdout; Claude Code ignores a text"
            )
        elif isinstance(output, dict) and "stdout" in output:
            fields["tool_output"] = "\n".join(filter(None, (output["stdout"], some_text(output.get("stderr")))))
        else:
            fields["tool_output"] = output if isinstance(output, str) else stringify_json(output).decode()


_CONTEXT = "additionalContext"


def _bash_response(_arguments: Arguments, text: str) -> dict[str, Any]:
    # Without what our own shell tool adds for the model.
    output = text.removesuffix("\nExit code: 0")
    stdout = "" if output == "(no output)" else output
    return {"stdout": stdout, "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}


def _read_response(arguments: Arguments, text: str) -> dict[str, Any]:
    lines = text.count("\n") + 1
    start = arguments.get("offset", 1)
    file = {"filePath": arguments.get("file_path"), "content": text, "numLines": lines, "startLine": start}
    return {"type": "text", "file": {**file, "totalLines": lines}}


def _write_response(arguments: Arguments, text: str) -> dict[str, Any]:
    kind = "create" if text.startswith("Created") else "update"
    path, content = arguments.get("file_path"), arguments.get("content")
    result: dict[str, Any] = {"type": kind, "filePath": path, "content": content, "structuredPatch": []}
    return {**result, "originalFile": None, "userModified": False}


def _edit_response(arguments: Arguments, _text: str) -> dict[str, Any]:
    return {
        "filePath": arguments.get("file_path"),
        "oldString": arguments.get("old_string"),
        "newString": arguments.get("new_string"),
        "originalFile": None,
        "structuredPatch": [],
        "userModified": False,
        "replaceAll": bool(arguments.get("replace_all")),
    }


def _glob_response(_arguments: Arguments, text: str) -> dict[str, Any]:
    names = text.splitlines()
    return {"filenames": names, "durationMs": 0, "numFiles": len(names), "truncated": False}


def _grep_response(_arguments: Arguments, text: str) -> dict[str, Any]:
    return {"mode": "content", "filenames": [], "numFiles": 0, "content": text}


def _from_line_one(arguments: dict[str, Any]) -> dict[str, Any]:
    offset = arguments.get("offset")
    return arguments | ({"offset": offset + 1} if isinstance(offset, int) else {})


def _from_line_zero(arguments: dict[str, Any]) -> dict[str, Any]:
    offset = arguments.get("offset")
    return arguments | ({"offset": max(0, offset - 1)} if isinstance(offset, int) else {})


def _to_replace_all(arguments: dict[str, Any]) -> dict[str, Any]:
    count = arguments.pop("expected_replacements", 1)
    is_for_all = arguments.get("replace_all") is True or (isinstance(count, int) and count > 1)
    return {**arguments, "replace_all": is_for_all}


def _to_grep_flags(arguments: dict[str, Any]) -> dict[str, Any]:
    case_sensitive = arguments.pop("case_sensitive", None)
    return arguments if case_sensitive is None else {**arguments, "-i": not case_sensitive}


def from_grep_flags(arguments: dict[str, Any]) -> dict[str, Any]:
    """The option of `grep` as an argument of our tool."""
    ignores_case = arguments.pop("-i", None)
    return arguments if ignores_case is None else {**arguments, "case_sensitive": not ignores_case}


CLAUDE = Dialect(
    name="claude",
    agent="Claude Code",
    events=EVENTS,
    without_counterpart=frozenset(
        """
        PermissionDenied PostToolBatch UserPromptExpansion Setup StopFailure SubagentStart SubagentStop PostCompact
        PreModelSwitch PostModelSwitch Elicitation ElicitationResult TaskCreated TaskCompleted TeammateIdle ConfigChange
        WorktreeCreate WorktreeRemove InstructionsLoaded CwdChanged FileChanged DirectoryAdded MessageDisplay
        """.split()
    ),
    at_permission_request=frozenset({"PermissionRequest"}),
    keys=frozenset({"if", "async", "asyncRewake", "once", "args", "shell"}),
    plugin_variables=("CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA"),
    tools=(
        Tool(ours="run_shell_command", theirs="Bash", response=_bash_response),
        Tool(
            ours="read_file",
            theirs="Read",
            to_theirs=_from_line_one,
            to_ours=_from_line_zero,
            paths=("file_path",),
            response=_read_response,
        ),
        Tool(ours="write_file", theirs="Write", paths=("file_path",), response=_write_response),
        Tool(
            ours="replace",
            theirs="Edit",
            aliases=("MultiEdit",),
            to_theirs=_to_replace_all,
            without_counterpart={"replace_all": "replace can't replace an unknown number of places"},
            paths=("file_path",),
            response=_edit_response,
        ),
        Tool(ours="glob", theirs="Glob", paths=("path",), response=_glob_response),
        Tool(
            ours="search_file_content",
            theirs="Grep",
            renamed={"include": "glob"},
            to_theirs=_to_grep_flags,
            to_ours=from_grep_flags,
            paths=("path",),
            response=_grep_response,
        ),
        Tool(ours="list_directory", theirs="LS", paths=("path",)),
        Tool(ours="web_fetch", theirs="WebFetch"),
        Tool(ours="google_web_search", theirs="WebSearch"),
    ),
    triggers={"compress": "compact", "exit": "other", "ToolPermission": "permission_prompt"},
    input_end=b"\n",
    exact_names=listed_names,
    hook_input=hook_input,
    environment=environment,
    read=read,
    wants=wants,
    meets=meets,
    transcript=transcript,
    env_file={"SessionStart": "CLAUDE_ENV_FILE"},
)
