"""The specification's output and result classes: thin faces over a `HookAnswer` and a `Verdict`."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import msgspec
from msgspec import UNSET

from hookline.protocol.answers import (
    ANY_FIELD,
    DEFAULT_REASON,
    EVERY_FIELD,
    HookAnswer,
    deny,
    or_none,
    read_object,
)
from hookline.protocol.constants import Decider
from hookline.protocol.events import HookEventName
from hookline.protocol.verdict import HookError, HookExecutionResult, Verdict


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
    def of(cls, answer: HookAnswer) -> Self:
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


class AggregatedHookResult(msgspec.Struct, frozen=True, kw_only=True):
    """The merged answer of all hooks of one event.

    Policy is read from `final_output`; `success` only says whether every hook ran well.
    """

    success: bool
    final_output: DefaultHookOutput | None = None
    all_outputs: tuple[DefaultHookOutput, ...] = ()
    errors: tuple[HookError, ...] = ()
    total_duration: float = 0.0
    """Milliseconds, from planning to merging."""
    verdict: Verdict | None = None
    """The verdict; None for an event for which no hook had to run."""

    @classmethod
    def of(cls, verdict: Verdict, output: type[DefaultHookOutput]) -> "AggregatedHookResult":
        """The face of a verdict, with answers in the event's own output class."""
        return cls(
            success=verdict.success,
            final_output=None if verdict.answer is None else output.of(verdict.answer),
            all_outputs=tuple(output.of(run.answer) for run in verdict.runs if run.answer is not None),
            errors=verdict.errors,
            total_duration=verdict.duration_ms,
            verdict=verdict,
        )

    @property
    def results(self) -> tuple[HookExecutionResult, ...]:
        """The result of each hook, in plan order."""
        return () if self.verdict is None else self.verdict.runs

    @property
    def effect(self) -> dict[str, Any] | None:
        """The changed `tool_input`, `llm_request`, `llm_response` or `toolConfig` to go on with, in hook form."""
        return None if self.verdict is None else self.verdict.effect

    def to_dict(self) -> dict[str, Any]:
        """The result as it travels on the bus and in `hookline fire --json`."""
        return {
            "success": self.success,
            "finalOutput": self.final_output and self.final_output.to_dict(),
            "allOutputs": [output.to_dict() for output in self.all_outputs],
            "errors": [error.to_dict() for error in self.errors],
            "totalDuration": round(self.total_duration, 3),
        }


class ProcessedHookResult(msgspec.Struct, frozen=True, kw_only=True):
    """The one reading of the fields that every event has in common."""

    aggregated: AggregatedHookResult
    should_stop: bool
    stop_reason: str | None
    system_message: str | None
    suppress_output: bool

    def to_dict(self) -> dict[str, Any]:
        """The reading as `hookline fire --json` shows it."""
        return {
            "shouldStop": self.should_stop,
            "stopReason": self.stop_reason,
            "systemMessage": self.system_message,
            "suppressOutput": self.suppress_output,
        }


def process_common_hook_output_fields(result: AggregatedHookResult) -> ProcessedHookResult:
    """Whether the agent has to stop and why, the note for the model, and whether the user is shown the result."""
    answer = HookAnswer() if result.final_output is None else result.final_output.answer
    return ProcessedHookResult(
        aggregated=result,
        should_stop=answer.stops,
        stop_reason=answer.why_stopped,
        system_message=or_none(answer.note),
        suppress_output=answer.suppress is True,
    )


def make_empty_success_result() -> AggregatedHookResult:
    """The result of an event for which no hook had to run; a fresh one each time."""
    return AggregatedHookResult(success=True)


def build_failure_envelope(
    error: BaseException, stage: str, meta: Mapping[str, Any] | None = None
) -> AggregatedHookResult:
    """The result of an event that the engine itself failed to handle: no answer, and the fault reported."""
    return AggregatedHookResult(success=False, errors=(_fault(error, stage, meta or {}),))


def failure_verdict(event: HookEventName, subject: str | None, error: BaseException, stage: str) -> Verdict:
    """The same as a verdict, for an event that is known."""
    fault = _fault(error, stage, {"event": event.value})
    return Verdict(event=event, subject=subject, success=False, errors=(fault,), decider=Decider.FAULT)


def as_block(verdict: Verdict, why: str) -> Verdict:
    """Return the verdict as a block, because of a fault of hookline and of onFault."""
    return blocked(verdict, f"{why}, and onFault is block", Decider.FAULT)


def blocked(verdict: Verdict, reason: str, decider: Decider | None = None) -> Verdict:
    """The verdict as a block that no hook asked for; what hooks changed is dropped."""
    return msgspec.structs.replace(
        verdict,
        blocked=True,
        decider=decider,
        denied=True,
        ask=False,
        go_on=False,
        reason=reason,
        arguments=None,
        request=None,
        response=None,
        prompt=None,
        answer=deny(reason)
        if verdict.answer is None
        else msgspec.structs.replace(
            verdict.answer, decision="deny", reason=reason, permission_reason=UNSET, llm_response=UNSET, given=None
        ),
    )


def _fault(error: BaseException, stage: str, meta: Mapping[str, Any]) -> HookError:
    return HookError(f"{stage} failed: {error!r}", stage=stage, details={"error": type(error).__name__, **meta})
