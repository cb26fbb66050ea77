"""Results → one merged result."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from hookline.contract.events import HookEventName
from hookline.contract.outputs import DefaultHookOutput
from hookline.contract.results import AggregatedHookResult, HookError, HookExecutionPlan, HookExecutionResult
from hookline.engine.event_table import EVENT_TABLE


class HookAggregator:
    """Merges the answers of all hooks of an event, by the event's own rule."""

    def aggregate_results(
        self,
        results: Sequence[HookExecutionResult],
        event: HookEventName,
        event_input: Mapping[str, Any] | None = None,
        *,
        plan: HookExecutionPlan | None = None,
        started: float | None = None,
    ) -> AggregatedHookResult:
        """One result: what the hooks answered together, and whether all of them ran well.

        `event_input` is what the hooks were told; `started` when the event began, on the clock of `time.perf_counter`.
        """
        row = EVENT_TABLE[event]
        success = True
        outputs: list[DefaultHookOutput] = []
        errors: list[HookError] = []
        for result in results:
            success = success and result.success
            if result.output is not None:
                outputs.append(result.output.read_as(row.output))
            if result.error is not None:
                errors.append(HookError(f"{result.hook.label} {result.error}"))
        final = row.output(row.merge(outputs)) if outputs else None
        return AggregatedHookResult(
            success=success,
            final_output=final,
            all_outputs=tuple(outputs),
            errors=tuple(errors),
            total_duration=0.0 if started is None else (time.perf_counter() - started) * 1000,
            results=tuple(results),
            plan=plan,
            effect=row.effect(event_input, final) if final is not None and event_input is not None else None,
        )


def overridden(results: Sequence[HookExecutionResult]) -> list[str]:
    """On events where a later answer replaces an earlier one: which block or stop was undone, and by whom."""
    said: list[str] = []
    standing: dict[str, HookExecutionResult] = {}
    for result in results:
        if result.output is None or not result.output.is_explicit:
            continue
        for field, guards in _GUARDED.items():
            if not result.output.says(field):
                continue
            if guards(result.output):
                standing[field] = result
            elif field in standing:
                earlier = standing.pop(field)
                said.append(f"{result.hook.label} overrode the {field} of {earlier.hook.label}")
    return said


_GUARDED = {
    "decision": DefaultHookOutput.is_blocking_decision,
    "continue": DefaultHookOutput.should_stop_execution,
}
