"""Codex asks. It reads answers so strictly that a block is said by exit code 2 and stderr alone."""

from dataclasses import replace
from typing import Any

from hookline.bridge.claude import hear_in
from hookline.bridge.host import (
    NO_PART,
    Heard,
    Host,
    Outcome,
    Payload,
    Said,
    in_place,
    losses,
    with_patch,
    with_unsaid_stop,
)
from hookline.contract.events import HookEventName
from hookline.dialects.codex import CODEX
from hookline.shell.patches import FileChange, PatchError, parse_patch, patch_in_command

_EVENTS = {name: ours for name, ours in CODEX.events.items() if name != "PermissionRequest"}
_HAS_CONTEXT = frozenset({"PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart"})
_ONLY_WATCHED = (HookEventName.SESSION_END, HookEventName.NOTIFICATION)
# Here a deny is a mere failure, and a stop ends the turn.
_ONLY_STOPS = (HookEventName.SESSION_START, HookEventName.PRE_COMPRESS)


def hear(payload: Payload, event: str | None = None) -> Heard:
    """Reads a question of Codex; a patch, alone or inside a shell command, is asked about file by file."""
    heard = hear_in(CODEX, payload, event)
    if heard.tool is None:
        return heard
    try:
        return with_patch(heard, _changes(heard), is_whole=heard.tool.theirs != "apply_patch")
    except PatchError as error:
        if heard.event is HookEventName.AFTER_TOOL:
            return heard
        return replace(heard, fault=f"this call can't be read completely, so it is not known what it changes: {error}")


def _changes(heard: Heard) -> tuple[FileChange, ...]:
    """The changes of the patches in a call, read as Codex reads them; PatchError for a call that may hide one."""
    is_patch = heard.tool is not None and heard.tool.theirs == "apply_patch"
    is_command = is_patch or (heard.tool is not None and heard.tool.theirs == "Bash")
    if is_command and not isinstance(heard.arguments.get("command"), str):
        raise PatchError("the call has no text `command`")
    given = [question["tool_input"].get("command") for question in heard.questions]
    commands = [command for command in given if isinstance(command, str)]
    read = parse_patch if is_patch else patch_in_command
    return tuple(change for command in commands for change in read(command) or ())


def say(heard: Heard, outcome: Outcome) -> Said:
    """Answers Codex: a deny has no JSON that it could object to, and a rewrite exactly the fields that it takes."""
    has_context = heard.theirs in _HAS_CONTEXT
    refused = outcome.blocked or outcome.stop or outcome.ask
    lost = losses("Codex", heard, outcome, has_context=has_context, has_message=not refused and outcome.result is None)
    if heard.event in _ONLY_WATCHED:
        return Said(lost=tuple(lost))
    answer: dict[str, Any] = {}
    # At the end of a turn exit code 2 would make Codex go on.
    if outcome.stop and (heard.event in _ONLY_STOPS or heard.event is HookEventName.AFTER_AGENT):
        answer = {"continue": False, "stopReason": outcome.stop_reason}
    elif (refused and heard.event not in _ONLY_STOPS) or outcome.result is not None:
        return _refusal(heard, outcome, lost)
    specific: dict[str, Any] = {}
    if outcome.arguments is not None:
        # Codex takes a rewrite only together with allow.
        specific |= {"permissionDecision": "allow", "updatedInput": dict(outcome.arguments)}
    if outcome.context and has_context:
        specific["additionalContext"] = outcome.context
    if outcome.message:
        answer["systemMessage"] = outcome.message
    if specific:
        answer["hookSpecificOutput"] = {"hookEventName": heard.theirs, **specific}
    return Said(stdout=answer or None, lost=tuple(lost))


def _refusal(heard: Heard, outcome: Outcome, lost: list[str]) -> Said:
    if outcome.ask:
        lost.append("ask: Codex would let the call run, so it is denied")
    # After a tool, what Codex reads on stderr replaces the result, and the turn goes on.
    said = Said(stderr=in_place(outcome), exit_code=2, lost=tuple(lost))
    return with_unsaid_stop(said, "Codex", heard, outcome)


CODEX_HOST = Host(
    name="codex",
    agent="Codex",
    events=_EVENTS,
    unheard=CODEX.without_counterpart | {"PermissionRequest"},
    hear=hear,
    say=say,
    remarks=(
        "a rewrite is sent together with allow, because Codex takes it in no other form",
        f"a hook may want {NO_PART}",
        "if the command takes longer than its timeout, Codex goes on: it has no setting that blocks then",
        "Codex runs a new hook only after you have trusted it there, too",
    ),
)
