"""Codex asks. It reads answers so strictly that a block is said by exit code 2 and stderr alone."""

from collections.abc import Iterator
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
    text,
    with_unsaid_stop,
)
from hookline.contract.events import HookEventName
from hookline.dialects.codex import CODEX

_EVENTS = {name: ours for name, ours in CODEX.events.items() if name != "PermissionRequest"}
_HAS_CONTEXT = frozenset({"PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart"})
_ONLY_WATCHED = (HookEventName.SESSION_END, HookEventName.NOTIFICATION)
# Here a deny is a mere failure, and a stop ends the turn.
_ONLY_STOPS = (HookEventName.SESSION_START, HookEventName.PRE_COMPRESS)
_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_FILES = ("*** Add File: ", "*** Update File: ", "*** Delete File: ")
_MOVE = "*** Move to: "


def hear(payload: Payload, event: str | None = None) -> Heard:
    """Reads a question of Codex; a patch, alone or inside a shell command, is asked about file by file."""
    heard = hear_in(CODEX, payload, event)
    if heard.tool is None:
        return heard
    command = text(heard.arguments.get("command"))
    files = tuple(_calls(command)) if _BEGIN in command else ()
    own = heard.questions if heard.tool.theirs != "apply_patch" else ()
    rest = {name: value for name, value in heard.questions[0].items() if name not in ("tool_name", "tool_input")}
    questions = (*own, *({**call, **rest} for call in files))
    if not questions:
        return replace(heard, questions=({**heard.questions[0], "tool_name": "apply_patch"},))
    return replace(heard, questions=questions, has_whole=bool(own))


def _calls(command: str) -> Iterator[dict[str, Any]]:
    """The changes that a patch makes, each as the call of a tool of ours."""
    patch = command.partition(_BEGIN)[2].partition(_END)[0]
    kind, path = "", ""
    old: list[str] = []
    new: list[str] = []
    for line in [*patch.splitlines(), _FILES[0]]:
        start = next((mark for mark in (*_FILES, _MOVE) if line.startswith(mark)), None)
        if start is None or start == _MOVE:
            if start == _MOVE:
                yield _call(_FILES[0], line.removeprefix(_MOVE).strip(), [], new)
            elif line[:1] in ("-", "+"):
                (old if line[0] == "-" else new).append(line[1:])
            continue
        if path:
            yield _call(kind, path, old, new)
        kind, path, old, new = start, line.removeprefix(start).strip(), [], []


def _call(kind: str, path: str, old: list[str], new: list[str]) -> dict[str, Any]:
    if kind == _FILES[0]:
        content = "".join(f"{line}\n" for line in new)
        return {"tool_name": "write_file", "tool_input": {"file_path": path, "content": content}}
    arguments = {"file_path": path, "old_string": "\n".join(old), "new_string": "\n".join(new)}
    return {"tool_name": "replace", "tool_input": arguments}


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
    hear=hear,
    say=say,
    remarks=(
        "a rewrite is sent together with allow, because Codex takes it in no other form",
        f"a hook may want {NO_PART}",
        "if the command takes longer than its timeout, Codex goes on: it has no setting that blocks then",
        "Codex runs a new hook only after you have trusted it there, too",
    ),
)
