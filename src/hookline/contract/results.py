from dataclasses import dataclass
from typing import Any

import msgspec

from hookline.contract.events import HookEventName
from hookline.contract.hooks import HookEntry
from hookline.contract.outputs import DefaultHookOutput

# What is made for every event or every run of a hook is a Struct: making one costs a tenth of making a dataclass.


class HookExecutionResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one hook that was started, or that could not be."""

    hook: HookEntry
    event: HookEventName
    success: bool
    """True for exit code 0 only: execution health, not policy."""
    exit_code: int | None
    """0 also for a hook that a signal ended, as the specification has it; None if it never started."""
    signal: int | None = None
    timed_out: bool = False
    truncated: bool = False
    duration_ms: float = 0.0
    stdin: bytes = b""
    stdout: str = ""
    stderr: str = ""
    output: DefaultHookOutput | None = None
    error: str | None = None
    """Set for a timeout, a plugin, and a process that could not be started or watched; never for an exit code."""
    complaints: tuple[str, ...] = ()
    """What the hook's author should know about the answer, such as a field of the wrong type."""

    def to_dict(self) -> dict[str, Any]:
        """The result as `hookline fire --json` shows it."""
        return {
            "command": self.hook.command,
            "name": self.hook.name,
            "success": self.success,
            "exitCode": self.exit_code,
            "signal": self.signal,
            "timedOut": self.timed_out,
            "truncated": self.truncated,
            "duration": round(self.duration_ms, 3),
            "stdout": self.stdout,
            "stderr": self.stderr,
            "output": self.output and self.output.to_dict(),
            "error": self.error,
            "complaints": list(self.complaints),
        }


@dataclass(frozen=True, slots=True)
class HookError:
    """Why a hook, or the engine itself, could not do its work."""

    message: str
    stage: str | None = None
    details: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The error as JSON."""
        given = {"message": self.message, "stage": self.stage, "details": self.details}
        return {key: value for key, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedHook:
    """A configured hook that was not planned, and why."""

    hook: HookEntry
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HookExecutionPlan:
    """The hooks chosen for one event, in running order, and those that were not."""

    event: HookEventName
    subject: str | None = None
    """What the event is about, and what matchers were compared with: a tool's name, a trigger."""
    hooks: tuple[HookEntry, ...]
    sequential: bool
    held_back: tuple[SkippedHook, ...] = ()
    """Those that are disabled, not trusted, or duplicates."""
    unmatched: tuple[HookEntry, ...] = ()
    """Those whose matcher does not match."""
    undecided: tuple[HookEntry, ...] = ()
    """Those of `hooks` of which it can't be told in time whether they match: they run, to be on the safe side."""

    @property
    def skipped(self) -> tuple[SkippedHook, ...]:
        """All that do not run, with the reason of each."""
        unmatched = (
            SkippedHook(hook=hook, reason=f"matcher: {hook.matcher!r} does not match {self.subject!r}")
            for hook in self.unmatched
        )
        return (*self.held_back, *unmatched)

    def to_dict(self) -> dict[str, Any]:
        """The plan as `hookline fire --json` shows it."""
        return {
            "sequential": self.sequential,
            "hooks": [describe_hook(hook) for hook in self.hooks],
            "skipped": [{**describe_hook(skip.hook), "reason": skip.reason} for skip in self.skipped],
        }


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
    results: tuple[HookExecutionResult, ...] = ()
    """What became of each hook, in plan order."""
    plan: HookExecutionPlan | None = None
    effect: dict[str, Any] | None = None
    """The changed `tool_input`, `llm_request`, `llm_response` or `toolConfig` to go on with, in hook form."""

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


def make_empty_success_result() -> AggregatedHookResult:
    """The result of an event for which no hook had to run; a fresh one each time."""
    return AggregatedHookResult(success=True)


def describe_hook(hook: HookEntry) -> dict[str, Any]:
    """A hook as people are shown it, in JSON."""
    return {
        "command": hook.command,
        "name": hook.name,
        "type": hook.type.value,
        "source": hook.source.value,
        "origin": hook.origin,
        "location": hook.location,
        "matcher": hook.matcher,
        "timeout": hook.timeout_ms,
        "sequential": hook.sequential,
    }
