"""What a hook said. All foreign JSON of hooks is read here, once, into an `Answer`; nothing here ever raises."""

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from hookline.contract.events import BLOCKING_DECISIONS, HookDecision
from hookline.contract.wire import parse_json, stringify_json, trim

DEFAULT_REASON = "No reason given"
DEFAULT_DENY_REASON = "Blocked by hook"
TOOL_MODES = ("AUTO", "ANY", "NONE")  # least restrictive first

_DECISIONS = frozenset(decision.value for decision in HookDecision)
_LOOKS_LIKE_AN_ANSWER = re.compile(r"""^[\[{]|(["'])(?:decision|hookSpecificOutput|continue)\1""")
_NOT_JSON = "stdout looks like JSON but is not valid JSON; taken as text, and no decision was read from it"

Text = str | UnsetType | None
Flag = bool | UnsetType | None
Object = Mapping[str, Any] | UnsetType | None

_Kind = Literal["decision", "text", "context", "flag", "object", "tools"]
_EXPECTED: Mapping[str, tuple[type, str]] = {
    "decision": (str, "a string"),
    "text": (str, "a string"),
    "context": (str, "a string"),
    "flag": (bool, "true or false"),
    "object": (dict, "an object"),
    "tools": (dict, "an object"),
}
# The name on the wire, the field of an Answer, and how its value is read.
_TOP: tuple[tuple[str, str, _Kind], ...] = (
    ("decision", "decision", "decision"),
    ("reason", "reason", "text"),
    ("continue", "proceed", "flag"),
    ("stopReason", "stop_reason", "text"),
    ("suppressOutput", "suppress", "flag"),
    ("systemMessage", "note", "text"),
)
_SPECIFIC: tuple[tuple[str, str, _Kind], ...] = (
    ("permissionDecision", "permission", "decision"),
    ("permissionDecisionReason", "permission_reason", "text"),
    ("additionalContext", "context", "context"),
    ("clearContext", "clear_context", "flag"),
    ("tool_input", "tool_input", "object"),
    ("llm_request", "llm_request", "object"),
    ("llm_response", "llm_response", "object"),
)
_TOP_FIELDS = {name: (field, kind) for name, field, kind in _TOP}
_SPECIFIC_FIELDS = {name: (field, kind) for name, field, kind in _SPECIFIC}
_SPECIFIC_FIELDS["toolConfig"] = ("tools", "tools")
_SPECIFIC_FIELDS["updatedInput"] = ("tool_input", "object")  # Claude Code's name for it

EVERY_FIELD = frozenset(_SPECIFIC_FIELDS)
ANY_FIELD = EVERY_FIELD - {"permissionDecision", "permissionDecisionReason"}
COMMON_FIELDS = frozenset((*_TOP_FIELDS, "hookSpecificOutput"))
_DECIDING = frozenset({"decision", "permissionDecision", "continue"})


class ToolSelection(msgspec.Struct, frozen=True, kw_only=True):
    """Which tools the model may call; None restricts nothing, no names allow nothing."""

    mode: str | None = None
    """None when no hook gave a mode that exists."""
    names: tuple[str, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The selection as a hook's `toolConfig`."""
        names = {} if self.names is None else {"allowedFunctionNames": list(self.names)}
        return {"mode": self.mode or TOOL_MODES[0], **names}


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What one hook said, or several together. UNSET means that nothing was said, None is an explicit null.

    A value of a wrong type and a blank text count as not said.
    """

    decision: Text = UNSET
    reason: Text = UNSET
    proceed: Flag = UNSET
    """The field `continue`; false stops the agent."""
    stop_reason: Text = UNSET
    suppress: Flag = UNSET
    note: Text = UNSET
    """The field `systemMessage`: a text for the model."""
    permission: Text = UNSET
    """`permissionDecision`, which counts on BeforeTool only."""
    permission_reason: Text = UNSET
    context: Text = UNSET
    clear_context: Flag = UNSET
    tool_input: Object = UNSET
    llm_request: Object = UNSET
    llm_response: Object = UNSET
    tools: ToolSelection | UnsetType | None = UNSET
    others: Mapping[str, Any] = {}
    """Top-level fields that nobody reads."""
    other_specific: Mapping[str, Any] = {}
    """Fields of `hookSpecificOutput` that this event does not read."""
    is_explicit: bool = True
    """False when the engine made this answer from plain text or from a failed run."""
    rank: int = 0
    """How trusted the layer is that the hook comes from."""
    given: Mapping[str, Any] | None = None
    """The JSON object that the hook printed; None for a merged answer."""
    complaints: tuple[str, ...] = ()
    """What the hook's author should know about the answer."""
    doubt: str | None = None
    """Why nobody can be sure what the hook decided, or None."""

    @property
    def blocks(self) -> bool:
        """True when this answer blocks the operation."""
        return self.decision in BLOCKING_DECISIONS or self.permission in BLOCKING_DECISIONS

    @property
    def asks(self) -> bool:
        """True when a person should be asked first."""
        return not self.blocks and HookDecision.ASK in (self.decision, self.permission)

    @property
    def stops(self) -> bool:
        """True when this answer stops the agent."""
        return self.proceed is False

    @property
    def why(self) -> str | None:
        """The reason to show for a block: the compatibility reason, the stop reason or the reason."""
        return said(self.permission_reason) or said(self.stop_reason) or said(self.reason)

    @property
    def why_stopped(self) -> str:
        """The reason to show for a stop."""
        return trim(said(self.stop_reason) or self.why or DEFAULT_REASON)

    @property
    def is_specific(self) -> bool:
        """True when the answer has fields in `hookSpecificOutput` that ask for something."""
        fields = (field for _, field, _ in _SPECIFIC)
        asked = any(getattr(self, field) is not UNSET for field in fields) or self.tools is not UNSET
        return asked or bool(self.other_specific.keys() - {"hookEventName"})

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON: as it was given (unknown fields and nulls included), or as it was merged."""
        if self.given is not None:
            return dict(self.given)
        top = {name: value for name, field, _ in _TOP if (value := getattr(self, field)) is not UNSET}
        specific = {name: value for name, field, _ in _SPECIFIC if (value := getattr(self, field)) is not UNSET}
        if isinstance(self.tools, ToolSelection):
            specific["toolConfig"] = self.tools.to_dict()
        specific = {**self.other_specific, **specific}
        return {**self.others, **top, **({"hookSpecificOutput": specific} if specific else {})}


def said(text: Text) -> str | None:
    """The text, or None where there is none."""
    return text or None


def read_stdout(stdout: str, reads: frozenset[str] = EVERY_FIELD, *, rank: int = 0) -> Answer | None:
    """Reads what a hook printed before it exited with 0: JSON first, else plain text for the model.

    `reads` names the fields of `hookSpecificOutput` that count on this event; with ANY_FIELD and EVERY_FIELD
    none is complained about.
    """
    text = trim(stdout)
    if not text:
        return None
    try:
        value = parse_json(text)
        if isinstance(value, str):
            value = parse_json(value)
    except (ValueError, RecursionError):
        return _plain_text(text, rank, _NOT_JSON if _LOOKS_LIKE_AN_ANSWER.search(text) else None)
    if not isinstance(value, dict):
        complaint = f"stdout is JSON but {kind_of(value)}, not an object; taken as text"
        return _plain_text(text, rank, complaint, is_doubtful=not isinstance(value, str))
    return read_object(value, reads, rank=rank)


def deny_from_stderr(stderr: str, *, rank: int = 0) -> Answer:
    """The answer of a hook that exited with 2."""
    return deny(trim(stderr) or DEFAULT_DENY_REASON, rank=rank)


def deny(reason: str, *, rank: int = 0) -> Answer:
    """An answer that denies for this reason."""
    return Answer(decision="deny", reason=reason, rank=rank, given={"decision": "deny", "reason": reason})


def warning_from_stderr(stderr: str, *, rank: int = 0) -> Answer | None:
    """The answer of a hook that failed: its stderr is passed on as a warning."""
    text = trim(stderr)
    return _made(f"Warning: {text}", rank) if text else None


def read_object(
    value: Mapping[str, Any], reads: frozenset[str] = EVERY_FIELD, *, rank: int = 0, is_explicit: bool = True
) -> Answer:
    """The answer in a JSON object."""
    reader = _Reader()
    others = reader.read(value, _TOP_FIELDS, "", EVERY_FIELD)
    specific = value.get("hookSpecificOutput")
    other_specific: dict[str, Any] = {}
    if isinstance(specific, dict):
        del others["hookSpecificOutput"]
        other_specific = reader.read(specific, _SPECIFIC_FIELDS, "hookSpecificOutput.", reads)
    elif "hookSpecificOutput" in others:
        del others["hookSpecificOutput"]
        if specific is not None:
            reader.complain(f"hookSpecificOutput is {kind_of(specific)}, expected an object; ignored")
    return Answer(
        **reader.fields,
        others=others,
        other_specific=other_specific,
        is_explicit=is_explicit,
        rank=rank,
        given=value,
        complaints=tuple(reader.complaints),
        doubt=reader.doubt,
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
    """What a JSON value is called in a message to a person."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "a string"
        case int() | float():
            return "a number"
        case list() | tuple():
            return "an array"
        case Mapping():
            return "an object"
        case _:
            return type(value).__name__


def _plain_text(text: str, rank: int, complaint: str | None, *, is_doubtful: bool = True) -> Answer:
    answer = _made(text, rank)
    if complaint is None:
        return answer
    doubt = f"it printed {shorten(text)!r}, which can't be read as an answer" if is_doubtful else None
    return msgspec.structs.replace(answer, complaints=(complaint,), doubt=doubt)


def _made(note: str, rank: int) -> Answer:
    given = {"decision": "allow", "systemMessage": note}
    return Answer(decision="allow", note=note, is_explicit=False, rank=rank, given=given)


def shorten(text: str, most: int = 200) -> str:
    """The beginning of a text that is too long to quote whole."""
    return text if len(text) <= most else f"{text[:most]}…"


class _Reader:
    """Reads the fields of one answer, and collects what is wrong with them."""

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self.complaints: list[str] = []
        self.doubt: str | None = None

    def read(
        self,
        value: Mapping[str, Any],
        table: Mapping[str, tuple[str, _Kind]],
        prefix: str,
        reads: frozenset[str],
    ) -> dict[str, Any]:
        """Reads the fields of one object; returns those that are not in the table, or do not count here."""
        others: dict[str, Any] = {}
        for name, given in value.items():
            known = table.get(name)
            if known is None:
                others[name] = given
                self._check_place(name, prefix, given)
            elif prefix and name not in reads:
                others[name] = given
            elif name == "updatedInput" and "tool_input" in value:
                others[name] = given  # of both names ours is used
            elif not self._read_field(known, name, prefix, given):
                others[name] = given
        if prefix and reads not in (ANY_FIELD, EVERY_FIELD):
            self._check_unread(others, reads, prefix)
        return others

    def complain(self, complaint: str, *, is_about_decision: bool = False) -> None:
        """Keeps a complaint; one about a decision leaves it in doubt what the hook decided."""
        self.complaints.append(complaint)
        if is_about_decision and self.doubt is None:
            self.doubt = complaint

    def _read_field(self, known: tuple[str, _Kind], name: str, prefix: str, given: Any) -> bool:
        """Whether the value counts; if so, it is kept."""
        field, kind = known
        value = given
        if given is None:
            self.fields[field] = None
            return True
        expected, expected_words = _EXPECTED[kind]
        if type(given) is not expected:
            is_shown = kind == "text"
            consequence = "shown as text" if is_shown else "ignored"
            complaint = f"{prefix}{name} is {kind_of(given)}, expected {expected_words}; {consequence}"
            self.complain(complaint, is_about_decision=name in _DECIDING)
            if is_shown and (text := text_of(given)):
                self.fields[field] = text
                return True
        elif kind == "decision" and given not in _DECISIONS:
            complaint = f"{prefix}{name} {given!r} is not one of block, deny, allow, approve, ask; nothing was decided"
            self.complain(complaint, is_about_decision=True)
        elif kind == "tools":
            selection, complaints = read_tool_selection(value)
            self.complaints += complaints
            if selection != ToolSelection():
                self.fields[field] = selection
                return True
        elif kind not in ("text", "context") or trim(value):
            self.fields[field] = given
            return True
        return False

    def _check_place(self, name: str, prefix: str, given: Any) -> None:
        if prefix and name in COMMON_FIELDS:
            complaint = f"{prefix}{name} counts only at the top level"
        elif not prefix and name in _SPECIFIC_FIELDS:
            complaint = f"{name} stands at the top level; it counts only inside hookSpecificOutput"
        else:
            return
        self.complain(complaint, is_about_decision=name in _DECIDING and given is not None)

    def _check_unread(self, others: Mapping[str, Any], reads: frozenset[str], prefix: str) -> None:
        for name in others:
            if name not in COMMON_FIELDS and name != "hookEventName" and name not in reads:
                fields = ", ".join(sorted(reads)) or "none of them"
                self.complain(f"{prefix}{name} changes nothing; this event reads {fields}")
