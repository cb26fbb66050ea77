"""What a hook may answer. Answers are foreign JSON: everything here reads them tolerantly and never raises."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from hookline.contract.events import BLOCKING_DECISIONS, HookDecision
from hookline.contract.wire import parse_json, stringify_json, trim

DEFAULT_REASON = "No reason given"
DEFAULT_DENY_REASON = "Blocked by hook"

COMMON_FIELDS: Mapping[str, type] = {
    "decision": str,
    "reason": str,
    "continue": bool,
    "stopReason": str,
    "suppressOutput": bool,
    "systemMessage": str,
    "hookSpecificOutput": dict,
}
_SPECIFIC_FIELDS: Mapping[str, type] = {
    "tool_input": dict,
    "updatedInput": dict,
    "llm_request": dict,
    "llm_response": dict,
    "toolConfig": dict,
    "additionalContext": str,
    "permissionDecision": str,
    "permissionDecisionReason": str,
    "clearContext": bool,
}
_TYPE_NAMES = {str: "a string", bool: "true or false", dict: "an object"}
_SHOWN_AS_TEXT = frozenset({"reason", "stopReason", "systemMessage", "permissionDecisionReason"})
_MISPLACED = {
    "": "stands at the top level; it counts only inside hookSpecificOutput",
    "hookSpecificOutput.": "counts only at the top level",
}
_LOOKS_LIKE_AN_ANSWER = re.compile(r"""(["'])(?:decision|hookSpecificOutput|continue)\1""")
_DECIDING = frozenset({"decision", "permissionDecision"})
_DECISIONS = frozenset(decision.value for decision in HookDecision)


AnyOutput = TypeVar("AnyOutput", bound="DefaultHookOutput")


@dataclass(frozen=True, slots=True)
class BlockingError:
    """Whether an operation is blocked, and why (empty when it is not)."""

    blocked: bool
    reason: str


class DefaultHookOutput:
    """One answer, of a hook or merged from several, with the questions that callers ask of it."""

    __slots__ = ("_data", "is_explicit")

    def __init__(self, data: Mapping[str, Any] | None = None, *, is_explicit: bool = True) -> None:
        self._data: dict[str, Any] = dict(data or {})
        self.is_explicit = is_explicit
        """False when the engine made this answer from plain text or from a failed run."""

    def read_as(self, kind: type[AnyOutput]) -> AnyOutput:
        """The same answer with the questions of another kind."""
        reading = kind.__new__(kind)
        reading._data = self._data  # noqa: SLF001 - it is one of us
        reading.is_explicit = self.is_explicit
        return reading

    def says(self, name: str) -> bool:
        """Whether a common field has a value that counts; null does, as it takes back what another hook said."""
        if name not in self._data:
            return False
        value = self._data[name]
        if value is None:
            return True
        return type(value) is COMMON_FIELDS[name] and (name != "decision" or value in _DECISIONS)

    @property
    def decision(self) -> str | None:
        """The decision as the hook wrote it, or None."""
        decision = self._data.get("decision")
        return decision if isinstance(decision, str) else None

    @property
    def reason(self) -> str | None:
        """The reason for the decision, or None."""
        return text_of(self._data.get("reason"))

    @property
    def stop_reason(self) -> str | None:
        """The reason for stopping the agent, or None."""
        return text_of(self._data.get("stopReason"))

    @property
    def system_message(self) -> str | None:
        """The text meant for the model, or None."""
        return text_of(self._data.get("systemMessage"))

    @property
    def suppress_output(self) -> bool:
        """True when the user is not to be shown the result."""
        return self._data.get("suppressOutput") is True

    @property
    def hook_specific_output(self) -> Mapping[str, Any]:
        """The event's own part of the answer, empty when there is none."""
        specific = self._data.get("hookSpecificOutput")
        return specific if isinstance(specific, dict) else {}

    def is_blocking_decision(self) -> bool:
        """True when this answer blocks the operation."""
        return self.decision in BLOCKING_DECISIONS

    def should_stop_execution(self) -> bool:
        """True when this answer stops the agent; only the boolean false does."""
        return self._data.get("continue") is False

    def get_effective_reason(self) -> str:
        """The reason to show: why it stops, or else why it decided, or else a default."""
        return self.stop_reason or self.reason or DEFAULT_REASON

    def get_additional_context(self) -> str | None:
        """The text to add to the tool's result or the prompt, or None."""
        context = self.hook_specific_output.get("additionalContext")
        return context if isinstance(context, str) else None

    def get_blocking_error(self) -> BlockingError:
        """Whether this answer blocks, and why."""
        if self.is_blocking_decision():
            return BlockingError(blocked=True, reason=self.get_effective_reason())
        return BlockingError(blocked=False, reason="")

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON, as it was given: unknown fields and explicit nulls included."""
        return dict(self._data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DefaultHookOutput) and type(other) is type(self) and other._data == self._data

    def __hash__(self) -> int:
        return hash((type(self), frozenset(self._data)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._data!r})"


class BeforeToolHookOutput(DefaultHookOutput):
    """An answer to BeforeTool, which may also speak in Claude Code's compatibility fields."""

    __slots__ = ()

    def is_blocking_decision(self) -> bool:
        """True when either the decision or the compatibility field blocks."""
        if self.decision in BLOCKING_DECISIONS:
            return True
        return self.hook_specific_output.get("permissionDecision") in ("block", "deny")

    def get_effective_reason(self) -> str:
        """The compatibility reason, or else the ordinary one."""
        return text_of(self.hook_specific_output.get("permissionDecisionReason")) or super().get_effective_reason()

    def get_modified_tool_input(self) -> dict[str, Any] | None:
        """The arguments to lay over the original ones, or None."""
        tool_input = self.hook_specific_output.get("tool_input")
        return tool_input if isinstance(tool_input, dict) else None


class DecodedOutput(msgspec.Struct, frozen=True):
    """What a hook printed: the answer, if there is one, and what its author should know about it."""

    output: DefaultHookOutput | None
    complaints: tuple[str, ...] = ()


def decode_stdout(stdout: str) -> DecodedOutput:
    """Reads what a hook printed before it exited with 0: JSON first, else plain text for the model."""
    text = trim(stdout)
    if not text:
        return DecodedOutput(None)
    try:
        value = parse_json(text)
        if isinstance(value, str):
            value = parse_json(value)
    except (ValueError, RecursionError):
        return DecodedOutput(_plain_text(text), _plain_text_complaints(text))
    if not isinstance(value, dict):
        return DecodedOutput(_plain_text(text), (f"stdout is JSON but {kind_of(value)}, not an object; taken as text",))
    return DecodedOutput(DefaultHookOutput(_in_our_words(value)), tuple(_complaints(value)))


def _in_our_words(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The answer with what other systems call otherwise under the name that counts here, where that is not given."""
    specific = value.get("hookSpecificOutput")
    if not isinstance(specific, dict):
        return value
    named: dict[str, Any] = {}
    if "tool_input" not in specific and isinstance(specific.get("updatedInput"), dict):
        named["tool_input"] = specific["updatedInput"]
    config = specific.get("toolConfig")
    if isinstance(config, dict) and isinstance(inner := config.get("functionCallingConfig"), dict):
        named["toolConfig"] = inner | {key: item for key, item in config.items() if key != "functionCallingConfig"}
    return {**value, "hookSpecificOutput": {**specific, **named}} if named else value


def deny_from_stderr(stderr: str) -> DefaultHookOutput:
    """The answer of a hook that exited with 2."""
    return DefaultHookOutput({"decision": "deny", "reason": trim(stderr) or DEFAULT_DENY_REASON})


def warning_from_stderr(stderr: str) -> DefaultHookOutput | None:
    """The answer of a hook that failed: what it wrote to stderr is passed on as a warning."""
    text = trim(stderr)
    return (
        DefaultHookOutput({"decision": "allow", "systemMessage": f"Warning: {text}"}, is_explicit=False)
        if text
        else None
    )


def text_of(value: Any) -> str | None:
    """A field as text: empty and null are None, and a number or an object is shown rather than lost."""
    if value is None or value == "" or value is False:
        return None
    return value if isinstance(value, str) else stringify_json(value).decode()


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


def _plain_text(text: str) -> DefaultHookOutput:
    return DefaultHookOutput({"decision": "allow", "systemMessage": text}, is_explicit=False)


def _plain_text_complaints(text: str) -> tuple[str, ...]:
    if _LOOKS_LIKE_AN_ANSWER.search(text):
        return ("stdout looks like JSON but is not valid JSON; taken as text, and no decision was read from it",)
    return ()


def _complaints(value: Mapping[str, Any]) -> list[str]:
    said = _complaints_of(value, "", COMMON_FIELDS, _SPECIFIC_FIELDS)
    if isinstance(specific := value.get("hookSpecificOutput"), dict):
        said += _complaints_of(specific, "hookSpecificOutput.", _SPECIFIC_FIELDS, COMMON_FIELDS)
    return said


def _complaints_of(
    value: Mapping[str, Any], prefix: str, fields: Mapping[str, type], elsewhere: Mapping[str, type]
) -> list[str]:
    """What is wrong with the fields of one object, given those that belong there and those that do not."""
    said = []
    for name, given in value.items():
        expected = fields.get(name)
        if expected is None:
            if name in elsewhere:
                said.append(f"{prefix}{name} {_MISPLACED[prefix]}")
        elif type(given) is not expected:
            if given is not None:
                consequence = "shown as text" if name in _SHOWN_AS_TEXT else "ignored"
                said.append(f"{prefix}{name} is {kind_of(given)}, expected {_TYPE_NAMES[expected]}; {consequence}")
        elif name in _DECIDING and given not in _DECISIONS:
            said.append(f"{prefix}{name} {given!r} is not one of block, deny, allow, approve, ask; nothing was decided")
    return said
