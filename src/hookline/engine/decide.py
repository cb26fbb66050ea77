"""Runs → verdict: what the event came to, decided here and nowhere else."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from hookline.contract.answers import DEFAULT_REASON, Answer, ToolSelection, said
from hookline.contract.events import HookEventName
from hookline.contract.results import AggregatedHookResult
from hookline.contract.verdict import (
    HookError,
    HookExecutionPlan,
    HookExecutionResult,
    Override,
    Skip,
    Verdict,
    common_fields,
)
from hookline.engine.event_table import EVENT_TABLE
from hookline.engine.merge import Merged

Runs = Sequence[HookExecutionResult]


def decide(
    event: HookEventName,
    told: Mapping[str, Any],
    runs: Runs,
    *,
    plan: HookExecutionPlan | None = None,
    skipped: tuple[Skip, ...] = (),
    started: float | None = None,
) -> Verdict:
    """The verdict on an event, from what its hooks were told and what became of them.

    `started` is when the event began, on the clock of `time.perf_counter`.
    """
    ran: dict[str, Any] = {
        "event": event,
        "subject": None if plan is None else plan.subject,
        "plan": plan,
        "runs": tuple(runs),
        "skipped": skipped,
        "success": False not in [run.success for run in runs],
        "errors": tuple([HookError(f"{run.hook.label} {run.error}") for run in runs if run.error is not None]),
        "duration_ms": 0.0 if started is None else (time.perf_counter() - started) * 1000,
    }
    answering = [run for run in runs if run.answer is not None]
    if not answering:
        return Verdict(**ran)
    merged = EVENT_TABLE[event].merge([run.answer for run in answering if run.answer is not None])
    return Verdict(**ran, **_decision(event, told, merged, answering))


def _decision(event: HookEventName, told: Mapping[str, Any], merged: Merged, runs: Runs) -> dict[str, Any]:
    row = EVENT_TABLE[event]
    answer = merged.answer
    blocks = answer.blocks
    stop, stop_reason, note, suppress = common_fields(answer)
    stop = stop and not row.only_watches
    blocked = (row.can_block and blocks) or (row.comes_before and stop)
    # Asking is no decision in the merged answer: one hook that asks is enough, whatever the others say.
    asking = [] if blocks or stop or not row.can_block else [run for run in runs if run.answer and run.answer.asks]
    labels = [run.hook.label for run in runs]
    return {
        "blocked": blocked,
        "denied": blocks,
        "stop": stop,
        "ask": bool(asking),
        "reason": _reason(answer, asking or runs) if blocks or stop or asking else said(answer.reason),
        "stop_reason": stop_reason if stop else None,
        "note": note,
        "context": said(answer.context),
        "suppress": suppress,
        "answer": answer,
        "decided_by": {path: tuple([labels[index] for index in held]) for path, held in merged.holders.items()},
        "overridden": tuple([Override(field, labels[by], labels[of]) for field, by, of in merged.overridden]),
        **_effect(event, told, answer, runs, blocked=blocked),
    }


def _reason(answer: Answer, runs: Runs) -> str:
    """The merged reason, and the reason of each hook that blocks or asks and would not be heard otherwise."""
    reasons = [answer.why] if answer.why else []
    for run in runs:
        why = run.answer.why if run.answer is not None and (run.answer.blocks or run.answer.asks) else None
        if why and not any(why in reason for reason in reasons):
            reasons.append(why)
    return "\n".join(reasons) or DEFAULT_REASON


def _effect(
    event: HookEventName, told: Mapping[str, Any], answer: Answer, runs: Runs, *, blocked: bool
) -> dict[str, Any]:
    """What the caller goes on with in another form."""
    if isinstance(answer.tools, ToolSelection):
        return {"tools": answer.tools}
    if blocked:
        # Only a response in place of the model's can have an effect now.
        return {"response": dict(answer.llm_response)} if isinstance(answer.llm_response, Mapping) else {}
    changed = EVENT_TABLE[event].change(told, answer, [run.answer for run in runs if run.answer is not None])
    return {_FIELDS[name]: value for name, value in changed.items()}


_FIELDS = {"tool_input": "arguments", "llm_request": "request", "llm_response": "response", "prompt": "prompt"}


class HookAggregator:
    """The specification's name for the step from results to one result."""

    def aggregate_results(
        self, results: Runs, event: HookEventName, event_input: Mapping[str, Any] | None = None
    ) -> AggregatedHookResult:
        """One result: what the hooks answered together, and whether all of them ran well."""
        return AggregatedHookResult.of(decide(event, event_input or {}, results), EVENT_TABLE[event].output)
