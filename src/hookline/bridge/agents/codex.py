"""Codex as a host. It reads answers so strictly that exit code 2 and stderr alone report a block."""

from dataclasses import replace
from typing import Any

from hookline.bridge.agents.claude import parse_claude_request
from hookline.bridge.host import (
    NO_PART,
    AgentRequest,
    AgentResponse,
    HostAgent,
    MergedOutcome,
    Payload,
    in_place,
    with_patch,
)
from hookline.dialects.codex import CODEX
from hookline.protocol.events import TOOL_EVENTS, HookEventName
from hookline.shell.patches import FileChange, PatchError, parse_patch, patch_in_command

_EVENTS = {name: ours for name, ours in CODEX.events.items() if name != "PermissionRequest"}
_HAS_CONTEXT = frozenset({"PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart"})
_ONLY_WATCHED = (HookEventName.SESSION_END, HookEventName.NOTIFICATION)
# Here a deny is a mere failure, and a stop ends the turn.
_ONLY_STOPS = (HookEventName.SESSION_START, HookEventName.PRE_COMPRESS)


def parse_request(payload: Payload, event: str | None = None) -> AgentRequest:
    """Reads a question of Codex; a patch, alone or inside a shell command, is asked about file by file."""
    request = parse_claude_request(CODEX, payload, event)
    if request.tool is None:
        return request
    try:
        return with_patch(request, _changes(request), is_whole=request.tool.theirs != "apply_patch")
    except PatchError as error:
        if request.event is HookEventName.AFTER_TOOL:
            return request
        return replace(
            request, fault=f"this call can't be read completely, so it is not known what it changes: {error}"
        )


def _changes(request: AgentRequest) -> tuple[FileChange, ...]:
    """The changes of the patches in a call, read as Codex reads them; PatchError for a call that may hide one."""
    is_patch = request.tool is not None and request.tool.theirs == "apply_patch"
    is_command = is_patch or (request.tool is not None and request.tool.theirs == "Bash")
    if is_command and not isinstance(request.arguments.get("command"), str):
        raise PatchError("the call has no text `command`")
    given = [question["tool_input"].get("command") for question in request.questions]
    commands = [command for command in given if isinstance(command, str)]
    read = parse_patch if is_patch else patch_in_command
    return tuple(change for command in commands for change in read(command) or ())


def render(request: AgentRequest, outcome: MergedOutcome) -> AgentResponse:
    """Answers Codex: a deny has no JSON that it could object to, and a rewrite exactly the fields that it takes."""
    refused = outcome.blocked or outcome.stop or outcome.ask
    if request.event in _ONLY_WATCHED:
        return AgentResponse()
    answer: dict[str, Any] = {}
    # At the end of a turn exit code 2 would make Codex go on.
    if outcome.stop and (request.event in _ONLY_STOPS or request.event is HookEventName.AFTER_AGENT):
        answer = {"continue": False, "stopReason": outcome.stop_reason}
    elif (refused and request.event not in _ONLY_STOPS) or outcome.result is not None:
        return _refusal(outcome)
    specific: dict[str, Any] = {}
    if outcome.arguments is not None:
        # Codex takes a rewrite only together with allow.
        specific |= {"permissionDecision": "allow", "updatedInput": dict(outcome.arguments)}
    if outcome.context and request.native_event in _HAS_CONTEXT:
        specific["additionalContext"] = outcome.context
    if outcome.message:
        answer["systemMessage"] = outcome.message
    if specific:
        answer["hookSpecificOutput"] = {"hookEventName": request.native_event, **specific}
    return AgentResponse(stdout=answer or None)


def _refusal(outcome: MergedOutcome) -> AgentResponse:
    unsupported = ("ask: Codex would let the call run, so it is denied",) if outcome.ask else ()
    # After a tool, the text on stderr replaces the result, and the turn continues.
    return AgentResponse(stderr=in_place(outcome), exit_code=2, unsupported=unsupported)


CODEX_HOST = HostAgent(
    name="codex",
    agent="Codex",
    version="0.166.0",
    package="@openai/codex@0.166.0",
    events=_EVENTS,
    unmapped_events=CODEX.without_counterpart | {"PermissionRequest"},
    parse_request=parse_request,
    render=render,
    context_events=_HAS_CONTEXT,
    deny_only=TOOL_EVENTS,
    remarks=(
        "a rewrite is sent together with allow, because Codex takes it in no other form",
        f"a hook may want {NO_PART}",
        "if the command takes longer than its timeout, Codex continues: it has no setting that blocks then",
        "Codex runs a new hook only after you have also trusted it there",
    ),
)
