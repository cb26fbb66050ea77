"""The specification's output classes: thin faces over an `Answer`, with the questions that callers ask of it."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import msgspec

from hookline.protocol.answers import ANY_FIELD, DEFAULT_REASON, EVERY_FIELD, Answer, or_none, read_object


class BlockingError(msgspec.Struct, frozen=True):
    """Whether an operation is blocked, and why (empty when it is not)."""

    blocked: bool
    reason: str


class DefaultHookOutput:
    """One answer, of a hook or merged from several."""

    __slots__ = ("answer",)
    _reads: ClassVar[frozenset[str]] = ANY_FIELD

    def __init__(self, data: Mapping[str, Any] | None = None) -> None:
        self.answer = read_object(data or {}, self._reads)

    @classmethod
    def of(cls, answer: Answer) -> Self:
        """The face of an answer that was read already."""
        face = cls.__new__(cls)
        face.answer = answer
        return face

    @property
    def decision(self) -> str | None:
        """The decision, or None."""
        return or_none(self.answer.decision)

    @property
    def reason(self) -> str | None:
        """The reason for the decision, or None."""
        return or_none(self.answer.reason)

    @property
    def stop_reason(self) -> str | None:
        """The reason for stopping the agent, or None."""
        return or_none(self.answer.stop_reason)

    @property
    def system_message(self) -> str | None:
        """The text meant for the model, or None."""
        return or_none(self.answer.note)

    @property
    def suppress_output(self) -> bool:
        """True when the user is not to be shown the result."""
        return self.answer.suppress is True

    @property
    def hook_specific_output(self) -> Mapping[str, Any]:
        """The event's own part of the answer, empty when there is none."""
        return self.answer.specific

    def is_blocking_decision(self) -> bool:
        """True when this answer blocks the operation."""
        return self.answer.blocks

    def should_stop_execution(self) -> bool:
        """True when this answer stops the agent; only the boolean false does."""
        return self.answer.stops

    def get_effective_reason(self) -> str:
        """The reason to show: why it stops, or else why it decided, or else a default."""
        return self.answer.why or DEFAULT_REASON

    def get_additional_context(self) -> str | None:
        """The text to add to the tool's result or the prompt, or None."""
        return or_none(self.answer.context)

    def get_blocking_error(self) -> BlockingError:
        """Whether this answer blocks, and why."""
        blocked = self.is_blocking_decision()
        return BlockingError(blocked=blocked, reason=self.get_effective_reason() if blocked else "")

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON, as it was given: unknown fields and explicit nulls included."""
        return self.answer.to_dict()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DefaultHookOutput) and type(other) is type(self) and other.to_dict() == self.to_dict()

    def __hash__(self) -> int:
        return hash((type(self), frozenset(self.to_dict())))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.to_dict()!r})"


class BeforeToolHookOutput(DefaultHookOutput):
    """An answer to BeforeTool, which may also speak in Claude Code's compatibility fields."""

    __slots__ = ()
    _reads = EVERY_FIELD

    def get_modified_tool_input(self) -> dict[str, Any] | None:
        """The arguments to lay over the original ones, or None."""
        given = or_none(self.answer.tool_input)
        return None if given is None else dict(given)
