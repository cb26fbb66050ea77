"""Answers of hooks. This module reads all JSON that hooks print, once, into a `HookAnswer`; it never raises."""

import re
from collections.abc import Mapping
from types import NoneType
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from hookline.protocol.events import BLOCKING_DECISIONS, HookDecision
from hookline.protocol.text.json_text import JS_WHITESPACE, parse_json, stringify_json, trim
from hookline.protocol.text.near_misses import (
    TEXT_OF_A_DENIAL,
    is_garbled,
    misspelt_denial,
    quoted,
    repeated_field,
    unknown_answer,
)
from hookline.protocol.text.patterns import lazy_pattern
from hookline.protocol.text.strings import shortened

DEFAULT_REASON = "No reason given"
DEFAULT_DENY_REASON = "Blocked by hook"
TOOL_MODES = ("AUTO", "ANY", "NONE")  # least restrictive first

_DECISIONS = frozenset({*HookDecision, True, False})
_LOOKS_LIKE_AN_ANSWER = lazy_pattern(
    r"""\A[\[{]|^\s*\{\s*["']|(["'])(?:decision|hookSpecificOutput|continue)\1""", re.MULTILINE
)
_NOT_JSON = (
    "stdout looks like JSON but is not valid JSON; taken as text, and no decision was read from it;"
    " print the JSON alone, and messages on stderr"
)
_NOT_UTF_8 = "stdout is not in UTF-8, so no decision was read from it; print UTF-8 without a byte order mark"
_DENIAL_IN_TEXT = (
    "stdout begins like a denial but is only text, and no decision was read from it; to deny, exit with code 2 or print"
    ' {"decision": "deny"}'
)

Value = TypeVar("Value")
Text = str | UnsetType | None
Flag = bool | UnsetType | None
Object = Mapping[str, Any] | UnsetType | None

# The name on the wire → the field of a HookAnswer, the type of its value, and whether it is a decision or a text.
_TOP: Mapping[str, tuple[str, type, str]] = {
    "decision": ("decision", str, "decision"),
    "reason": ("reason", str, "text"),
    "continue": ("proceed", bool, "decision"),
    "stopReason": ("stop_reason", str, "text"),
    "suppressOutput": ("suppress", bool, ""),
    "systemMessage": ("note", str, "text"),
    "userMessage": ("user_note", str, "text"),
}
_SPECIFIC: Mapping[str, tuple[str, type, str]] = {
    "permissionDecision": ("permission", str, "decision"),
    "permissionDecisionReason": ("permission_reason", str, "text"),
    "additionalContext": ("context", str, "context"),
    "clearContext": ("clear_context", bool, ""),
    "tool_input": ("tool_input", dict, ""),
    "updatedInput": ("tool_input", dict, ""),  # Claude Code's name for it
    "replacesInput": ("replaces_input", bool, ""),
    "tool_output": ("tool_output", str, "output"),
    "updatedToolOutput": ("tool_output", str, "output"),  # Claude Code's name for it
    "llm_request": ("llm_request", dict, ""),
    "llm_response": ("llm_response", dict, ""),
    "toolConfig": ("tools", dict, "tools"),
    "prompt": ("prompt", str, "context"),
}
_OTHER_NAMES = ("updatedInput", "updatedToolOutput")
# A field of a HookAnswer → the path of its value in the JSON.
PATHS: Mapping[str, str] = {
    **{field: name for name, (field, _, _) in _TOP.items()},
    **{field: f"hookSpecificOutput.{name}" for name, (field, _, _) in _SPECIFIC.items() if name not in _OTHER_NAMES},
}

EVERY_FIELD = frozenset(_SPECIFIC)
ANY_FIELD = EVERY_FIELD - {"permissionDecision", "permissionDecisionReason"}
_COMMON_FIELDS = frozenset((*_TOP, "hookSpecificOutput"))


class ToolSelection(msgspec.Struct, frozen=True, kw_only=True):
    """Which tools the model may call; None restricts nothing, no names allow nothing."""

    mode: str | None = None
    """None when no hook gave a mode that exists."""
    names: tuple[str, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The selection as a hook's `toolConfig`."""
        names = {} if self.names is None else {"allowedFunctionNames": list(self.names)}
        return {"mode": self.mode or TOOL_MODES[0], **names}


class HookAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of one hook, or of several merged. UNSET means that a field is absent; None is an explicit null.

    A value of the wrong type and a blank text count as absent.
    """

    decision: Text = UNSET
    reason: Text = UNSET
    proceed: Flag = UNSET
    """The field `continue`; false stops the agent."""
    stop_reason: Text = UNSET
    suppress: Flag = UNSET
    note: Text = UNSET
    """The field `systemMessage`: a text for the model."""
    user_note: Text = UNSET
    """The field `userMessage`: a text for the user, which the model does not see."""
    permission: Text = UNSET
    """`permissionDecision`, which is read on BeforeTool only."""
    permission_reason: Text = UNSET
    context: Text = UNSET
    clear_context: Flag = UNSET
    tool_input: Object = UNSET
    replaces_input: Flag = UNSET
    """True when `tool_input` is all arguments, and those that are not in it are to be removed."""
    removed: tuple[str, ...] = ()
    """The arguments that are to be removed; `engine/rewrites.py: as_changes` finds them."""
    tool_output: Text = UNSET
    """The text that the model reads in place of the tool's result."""
    llm_request: Object = UNSET
    llm_response: Object = UNSET
    tools: ToolSelection | UnsetType | None = UNSET
    prompt: Text = UNSET
    """The prompt to send in place of the user's."""
    others: Mapping[str, Any] = {}
    """Unknown top-level fields."""
    other_specific: Mapping[str, Any] = {}
    """Fields of `hookSpecificOutput` that this event does not read."""
    is_explicit: bool = True
    """False when the engine made this answer from plain text or from a failed run."""
    is_chained: bool = False
    """True when the hook's input had the changes of the hooks before it."""
    rank: int = 0
    """How trusted the layer is that the hook comes from."""
    given: Mapping[str, Any] | None = None
    """The JSON object that the hook printed; None for a merged answer."""
    complaints: tuple[str, ...] = ()
    """Advice for the hook's author about the answer, one sentence each."""
    doubt: str | None = None
    """Why it is unclear what the hook decided, or None."""

    @property
    def blocks(self) -> bool:
        """True when this answer blocks the operation."""
        return self.decision in BLOCKING_DECISIONS or self.permission in BLOCKING_DECISIONS

    @property
    def asks(self) -> bool:
        """True when the user should be asked first."""
        return not self.blocks and HookDecision.ASK in (self.decision, self.permission)

    @property
    def stops(self) -> bool:
        """True when this answer stops the agent."""
        return self.proceed is False

    @property
    def why(self) -> str | None:
        """The reason to show for a block: the compatibility reason, the stop reason or the reason."""
        return or_none(self.permission_reason) or or_none(self.stop_reason) or or_none(self.reason)

    @property
    def why_stopped(self) -> str | None:
        """The reason to show for a stop, or None when this answer does not stop the agent."""
        return trim(or_none(self.stop_reason) or self.why or DEFAULT_REASON) if self.stops else None

    @property
    def is_specific(self) -> bool:
        """True when the answer has fields in `hookSpecificOutput` that ask for something."""
        return bool(self._given_of(_SPECIFIC) or self.other_specific.keys() - {"hookEventName"})

    @property
    def specific(self) -> Mapping[str, Any]:
        """The object `hookSpecificOutput` as JSON, empty when there is none."""
        given = self.to_dict().get("hookSpecificOutput")
        return given if isinstance(given, dict) else {}

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON: as it was given (unknown fields and nulls included), or as it was merged."""
        if self.given is not None:
            return dict(self.given)
        specific = {**self.other_specific, **self._given_of(_SPECIFIC)}
        for name in _OTHER_NAMES:
            specific.pop(name, None)
        if isinstance(self.tools, ToolSelection):
            specific["toolConfig"] = self.tools.to_dict()
        return {**self.others, **self._given_of(_TOP), **({"hookSpecificOutput": specific} if specific else {})}

    def _given_of(self, table: Mapping[str, tuple[str, type, str]]) -> dict[str, Any]:
        named = {name: getattr(self, field) for name, (field, _, _) in table.items()}
        return {name: value for name, value in named.items() if value is not UNSET}


def or_none(value: Value | UnsetType | None) -> Value | None:
    """The value of an answer's field, or None where the hook gave none."""
    return None if isinstance(value, UnsetType) else value


def read_stdout(stdout: str, reads: frozenset[str] = EVERY_FIELD, *, rank: int = 0) -> HookAnswer | None:
    """Read the stdout of a hook that exited with 0: JSON first, else plain text for the model.

    `reads` names the fields of `hookSpecificOutput` that this event uses; with ANY_FIELD and EVERY_FIELD no field
    is reported as unused.
    """
    text = stdout.strip(JS_WHITESPACE)
    if not text:
        return None
    try:
        value = parse_json(text)
        inner = value if isinstance(value, str) else text
        if isinstance(value, str):
            value = parse_json(value)
    except (ValueError, RecursionError):
        if is_garbled(text):
            return _plain_text(text, rank, _NOT_UTF_8)
        if TEXT_OF_A_DENIAL.match(text):
            return _plain_text(text, rank, _DENIAL_IN_TEXT)
        return _plain_text(text, rank, _NOT_JSON if _LOOKS_LIKE_AN_ANSWER.search(text) else None)
    if not isinstance(value, dict):
        complaint = f"stdout is JSON but {kind_of(value)}, not an object; taken as text"
        return _plain_text(text, rank, complaint, is_doubtful=not isinstance(value, str))
    answer = read_object(value, reads, rank=rank)
    if (repeated := repeated_field(inner)) is None:
        return answer
    complaints = (*answer.complaints, repeated)
    return msgspec.structs.replace(answer, complaints=complaints, doubt=answer.doubt or repeated)


def deny(reason: str, *, rank: int = 0) -> HookAnswer:
    """An answer that denies: for this reason (stderr, if the hook exited with 2), or for a default one."""
    reason = trim(reason) or DEFAULT_DENY_REASON
    return HookAnswer(decision="deny", reason=reason, rank=rank, given={"decision": "deny", "reason": reason})


def warning_from_stderr(stderr: str, *, rank: int = 0) -> HookAnswer | None:
    """The answer of a hook that failed: its stderr is passed on as a warning."""
    text = trim(stderr)
    return _text_answer(f"Warning: {text}", rank) if text else None


def read_object(value: Mapping[str, Any], reads: frozenset[str] = EVERY_FIELD, *, rank: int = 0) -> HookAnswer:
    """The answer in a JSON object."""
    fields: dict[str, Any] = {}
    complaints: list[_Complaint] = []
    others = _read_fields(value, _TOP, "", fields, complaints)
    other_specific: dict[str, Any] = {}
    unread: Mapping[str, Any] = others
    if "hookSpecificOutput" in others:
        specific = others.pop("hookSpecificOutput")
        unread = {**others, "hookSpecificOutput": specific}
        if isinstance(specific, dict):
            other_specific = unread["hookSpecificOutput"] = _read_specific(specific, reads, fields, complaints)
        elif specific is not None:
            shown = f"hookSpecificOutput is {kind_of(specific)} ({quoted(specific)})"
            complaints.append((f"{shown}, expected an object; ignored", True))
    if (others or other_specific) and not any(doubt for _, doubt in complaints):
        denial = misspelt_denial(unread) or unknown_answer(value, _COMMON_FIELDS)
        complaints += [(denial, True)] if denial else []
    return HookAnswer(
        **fields,
        others=others,
        other_specific=other_specific,
        rank=rank,
        given=value,
        complaints=tuple([text for text, _ in complaints]) if complaints else (),
        doubt=next((text for text, leaves_doubt in complaints if leaves_doubt), None) if complaints else None,
    )


def read_tool_selection(value: Mapping[str, Any]) -> tuple[ToolSelection, list[str]]:
    """The usable part of a `toolConfig`, and what is wrong with it.

    It is read generously: `none` in small letters and a lone name must not leave the tools open.
    """
    inner = value.get("functionCallingConfig")  # as Gemini CLI nests it
    fields = dict(value)
    if isinstance(inner, dict):
        del fields["functionCallingConfig"]
        fields = {**inner, **fields}
    mode, names = fields.pop("mode", None), fields.pop("allowedFunctionNames", None)
    known = trim(mode).upper() if isinstance(mode, str) else None
    listed = [names] if isinstance(names, str) else names if isinstance(names, list) else None
    selection = ToolSelection(
        mode=known if known in TOOL_MODES else None,
        names=None if listed is None else tuple(name for name in listed if isinstance(name, str)),
    )
    complaints = [f"toolConfig.{name} changes nothing; mode and allowedFunctionNames are read" for name in fields]
    if mode is not None and mode not in TOOL_MODES:
        complaints.append(f"toolConfig.mode {mode!r} is not one of {', '.join(TOOL_MODES)}")
    if names is not None and (listed is not names or len(listed) != len(selection.names or ())):
        complaints.append("toolConfig.allowedFunctionNames is not an array of names")
    return selection, complaints


def text_of(value: Any) -> str | None:
    """A field as text: empty, blank and null are None, and a number or an object is shown rather than lost."""
    if value is None or value is False:
        return None
    text = value if isinstance(value, str) else stringify_json(value).decode()
    return text if trim(text) else None


def kind_of(value: Any) -> str:
    """Return the name of a JSON value's type for a message."""
    return next((name for kind, name in _KINDS if isinstance(value, kind)), type(value).__name__)


# A bool is an int, so it comes first.
_KINDS: tuple[tuple[Any, str], ...] = (
    (NoneType, "null"),
    (bool, "true or false"),
    (str, "a string"),
    (int | float, "a number"),
    (list | tuple, "an array"),
    (Mapping, "an object"),
)


def _plain_text(text: str, rank: int, complaint: str | None, *, is_doubtful: bool = True) -> HookAnswer:
    answer = _text_answer(text, rank)
    if complaint is None:
        return answer
    doubt = f"it printed {shortened(text)!r}, which can't be read as an answer" if is_doubtful else None
    return msgspec.structs.replace(answer, complaints=(complaint,), doubt=doubt)


def _text_answer(note: str, rank: int) -> HookAnswer:
    given = {"decision": "allow", "systemMessage": note}
    return HookAnswer(decision="allow", note=note, is_explicit=False, rank=rank, given=given)


# A sentence for the hook's author, and whether it leaves the decision in doubt.
_Complaint = tuple[str, bool]


def _read_fields(
    value: Mapping[str, Any],
    table: Mapping[str, tuple[str, type, str]],
    prefix: str,
    fields: dict[str, Any],
    complaints: list[_Complaint],
) -> dict[str, Any]:
    """Reads the fields of one object into `fields`, and returns those that are not in the table or do not count."""
    others: dict[str, Any] = {}
    for name, given in value.items():
        known = table.get(name)
        if known is None:
            others[name] = given
            _check_place(name, prefix, given, complaints)
            continue
        field, expected, kind = known
        if given is None or (type(given) is expected and (not kind or (kind == "decision" and given in _DECISIONS))):
            fields[field] = given
        elif (read := _read_value(name, expected, kind, prefix, given, complaints)) is not UNSET:
            fields[field] = read
        else:
            others[name] = given
    return others


def _read_specific(
    specific: Mapping[str, Any], reads: frozenset[str], fields: dict[str, Any], complaints: list[_Complaint]
) -> dict[str, Any]:
    """Do the same for `hookSpecificOutput`. Each event reads some of its fields only."""
    unread = {name: given for name, given in specific.items() if name in _SPECIFIC and name not in reads}
    if "tool_input" in specific and "updatedInput" in specific:
        unread["updatedInput"] = specific["updatedInput"]  # of both names ours is used
    if "tool_output" in specific and "updatedToolOutput" in specific:
        unread["updatedToolOutput"] = specific["updatedToolOutput"]
    wanted = {name: given for name, given in specific.items() if name not in unread}
    others = _read_fields(wanted, _SPECIFIC, "hookSpecificOutput.", fields, complaints) | unread
    if reads not in (ANY_FIELD, EVERY_FIELD):
        known = {*reads, *_COMMON_FIELDS, "hookEventName"}
        text = f"changes nothing; this event reads {', '.join(sorted(reads))}"
        complaints += [(f"hookSpecificOutput.{name} {text}", False) for name in specific if name not in known]
    return others


def _read_value(name: str, expected: type, kind: str, prefix: str, given: Any, complaints: list[_Complaint]) -> Any:
    """Return the value of a field that is neither null nor usable as given, or UNSET for one that has no effect."""
    value = given  # a type checker takes the one that is compared below for an object
    if type(given) is not expected and isinstance(given, str | dict) and isinstance(given, expected):
        # A subclass, such as a member of an enumeration: the value itself counts, not what `str()` makes of it.
        value = given = str.__str__(given) if isinstance(given, str) else dict(given)
        if not kind or (kind == "decision" and given in _DECISIONS):
            return given
    if kind == "output":
        return given if isinstance(given, str) else stringify_json(given).decode()
    if type(given) is not expected:
        text = text_of(given) if kind == "text" else None
        consequence = "shown as text" if kind == "text" else "ignored"
        shown = f" ({quoted(given)})" if kind == "decision" else ""
        complaint = f"{prefix}{name} is {kind_of(given)}{shown}, expected {kind_of(expected())}; {consequence}"
        complaints.append((complaint, kind == "decision"))
        return text or UNSET
    if kind == "decision":
        complaint = (
            f"{prefix}{name} {shortened(value)!r} is not one of block, deny, allow, approve, ask; nothing was decided"
        )
        complaints.append((complaint, True))
        return UNSET
    if kind == "tools":
        selection, found = read_tool_selection(value)
        complaints += [(text, False) for text in found]
        return UNSET if selection == ToolSelection() else selection
    return value if trim(value) else UNSET


def _check_place(name: str, prefix: str, given: Any, complaints: list[_Complaint]) -> None:
    """Report a field that belongs into the other object."""
    table = _TOP if prefix else _SPECIFIC
    if name not in table and not (prefix and name == "hookSpecificOutput"):
        return
    leaves_doubt = given is not None and table.get(name, ("", str, ""))[2] == "decision"
    shown = f" {quoted(given)}" if leaves_doubt else ""
    where = "is at the top level; it is read only inside hookSpecificOutput"
    complaints.append((f"{prefix}{name}{shown} {'is read only at the top level' if prefix else where}", leaves_doubt))
