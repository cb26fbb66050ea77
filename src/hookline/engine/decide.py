"""Runs → verdict: what the event came to, decided here and nowhere else."""

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from hookline.engine.event_table import EVENT_TABLE, EventRow
from hookline.engine.merge import Merged, merge_or_decision
from hookline.engine.rewrites import normal_change
from hookline.engine.selection import narrowed_answer
from hookline.protocol.answers import DEFAULT_REASON, PATHS, HookAnswer, or_none
from hookline.protocol.arguments import ToolArguments
from hookline.protocol.constants import HookMode, HookType
from hookline.protocol.events import BLOCKING_DECISIONS, LIFECYCLE_EVENTS, HookDecision, HookEventName
from hookline.protocol.results import AggregatedHookResult
from hookline.protocol.results import blocked as blocked_verdict
from hookline.protocol.verdict import HookError, HookExecutionPlan, HookExecutionResult, Override, Skip, Verdict

Runs = Sequence[HookExecutionResult]


def decide(
    event: HookEventName,
    hook_input: Mapping[str, Any],
    runs: Runs,
    *,
    plan: HookExecutionPlan | None = None,
    skipped: tuple[Skip, ...] = (),
    started: float | None = None,
    arguments: ToolArguments | None = None,
) -> Verdict:
    """The verdict on an event, from the input of its hooks and their runs.

    `started` is when the event began, on the clock of `time.perf_counter`. `arguments` has the rules for the arguments
    of a tool: a rewrite that breaks them blocks.
    """
    if plan is not None and plan.has_trials and any(run.hook.mode is not HookMode.ENFORCE for run in runs):
        options: Any = {"plan": plan, "skipped": skipped, "started": started, "arguments": arguments}
        return _without_trials(runs, lambda own: decide(event, hook_input, own, **options))
    nothing_said = Verdict(
        event=event,
        subject=None if plan is None else plan.subject,
        plan=plan,
        runs=tuple(runs),
        skipped=skipped,
        success=False not in [run.success for run in runs],
        errors=tuple([HookError(f"{run.hook.label} {run.error}") for run in runs if run.error is not None]),
        duration_ms=0.0 if started is None else (time.perf_counter() - started) * 1000,
    )
    answers = [run.answer for run in runs if run.answer is not None]
    if not answers:
        return nothing_said
    if len(answers) > 1:
        answers = _each_finding_once(runs)
    row = EVENT_TABLE[event]
    merged = row.merge(answers)
    if event not in LIFECYCLE_EVENTS:
        decision = _decision(row, hook_input, merged, answers, arguments)
    else:
        counting = [
            run.answer for run in runs if run.answer is not None and run.hook.is_enforced and not row.observe_only
        ]
        decision = _lifecycle_decision(row, hook_input, merged, answers, counting)
    verdict = msgspec.structs.replace(nothing_said, overridden=_overridden(merged, runs), **decision)
    return verdict if arguments is None or verdict.blocked else _checked(verdict, arguments)


def _without_trials(runs: Runs, decided: Callable[[Runs], Verdict]) -> Verdict:
    """The verdict of the enforced hooks, with all runs in it: those of hooks in shadow mode are only logged."""
    enforced = [run for run in runs if run.hook.mode is HookMode.ENFORCE]
    verdict = msgspec.structs.replace(decided(enforced), runs=tuple(runs))
    # Its holders are positions among the answers of the enforced hooks alone.
    answering = [run for run in runs if run.answer is not None]
    positions = [index for index, run in enumerate(answering) if run.hook.mode is HookMode.ENFORCE]
    holders = {path: tuple(positions[index] for index in held) for path, held in verdict.holders.items()}
    return msgspec.structs.replace(verdict, holders=holders)


def _each_finding_once(runs: Runs) -> list[HookAnswer]:
    """The answers, in which no pack gives a reason that a pack of another file has given; all decisions stay."""
    answers: list[HookAnswer] = []
    reported: set[str] = set()
    for run in runs:
        answer = run.answer
        if answer is not None and run.hook.type is HookType.PACK and (reason := or_none(answer.reason)):
            # A reason for each finding, which ends with `(rule ID of PACK)`; several packs have the same rule.
            findings = {_BY_PACK.sub("", each): each for each in _END_OF_FINDING.split(reason)}
            if not reported.isdisjoint(findings):
                new = " ".join(each for finding, each in findings.items() if finding not in reported)
                answer = msgspec.structs.replace(answer, reason=new or UNSET)
            reported.update(findings)
        if answer is not None:
            answers.append(answer)
    return answers


def _checked(verdict: Verdict, arguments: ToolArguments) -> Verdict:
    """The verdict; a block if the arguments as hooks rewrote them are not valid, whatever else hooks answered."""
    if (fault := arguments.why_invalid(verdict.arguments)) is None:
        return verdict
    hooks = ", ".join(verdict.decided_by.get(PATHS["tool_input"], ()))
    reason = f"The tool was not run: a hook ({hooks}) rewrote its arguments, and they are not valid: {fault}"
    return blocked_verdict(msgspec.structs.replace(verdict, invalid=fault), reason)


def _lifecycle_decision(
    row: EventRow,
    hook_input: Mapping[str, Any],
    merged: Merged,
    answers: Sequence[HookAnswer],
    counting: Sequence[HookAnswer],
) -> dict[str, Any]:
    """Return the decision of the applied answers, with what all hooks together answered and whether that denies."""
    # By this rule whatever the event's own is: a block is never lost.
    decision = _decision(row, hook_input, merge_or_decision(counting), counting) if counting else {}
    if not decision.get("denied"):
        denied = merged.answer.decision in BLOCKING_DECISIONS
        reason = _reasons(merged.answer.why, [one.why for one in answers if one.blocks]) if denied else None
        decision |= {"denied": denied, "reason": decision.get("reason") or reason or merged.answer.reason or None}
    return {**decision, "answer": merged.answer, "holders": merged.holders}


def _decision(
    row: EventRow,
    hook_input: Mapping[str, Any],
    merged: Merged,
    answers: Sequence[HookAnswer],
    arguments: ToolArguments | None = None,
) -> dict[str, Any]:
    answer = merged.answer
    # Merging puts a deny of the compatibility field into the decision, so that this is the only place to look.
    denied = answer.decision in BLOCKING_DECISIONS
    stop = answer.proceed is False
    blocked = (row.can_block and denied) or (row.is_pre and stop)
    # The merged answer has no decision to ask: one hook that asks is enough, whatever the others answer.
    may_ask = row.can_ask and not denied and not stop
    undone = {of for _, _, of in merged.overridden}
    standing = [one for index, one in enumerate(answers) if index not in undone]
    if (blocked or stop) and or_none(answer.llm_response) is not None:
        answer = _without_foreign_response(row, merged, answers, standing)
    asking = [one for one in answers if may_ask and _ASK in (one.decision, one.permission)]
    effect = _effect(row, hook_input, answer, answers, arguments, blocked=blocked)
    if answer.llm_request is not UNSET:
        answer = narrowed_answer(answer, effect.get("request") or hook_input.get("llm_request") or {})
    # A block that another hook undid has its reason shown all the same if the operation is blocked in the end.
    objecting = answers if denied else standing
    return {
        "blocked": blocked,
        "denied": denied,
        "stop": stop,
        "ask": bool(asking),
        "go_on": row.block_continues_turn and denied and not stop,
        "reason": (
            _reasons(answer.why, [one.why for one in asking or objecting if one.blocks or one.asks])
            if denied or stop or asking
            else answer.reason or None
        ),
        "stop_reason": (
            _reasons(answer.why_stopped, [one.why_stopped for one in standing if one.stops and one.why])
            if stop
            else None
        ),
        "note": answer.note or None,
        "user_message": answer.user_note or None,
        "tool_output": None if answer.tool_output is UNSET else answer.tool_output,
        "context": answer.context or None,
        "suppress": answer.suppress is True,
        "answer": answer,
        "holders": merged.holders,
        **effect,
    }


def _without_foreign_response(
    row: EventRow, merged: Merged, answers: Sequence[HookAnswer], standing: list[HookAnswer]
) -> HookAnswer:
    """The merged answer, without a response that a less trusted layer puts beside a block or a stop."""
    holders = merged.holders.get(PATHS["llm_response"], ())
    given_by = max((answers[index].rank for index in holders), default=0)
    is_foreign = any(one.rank > given_by for one in standing if one.stops or (row.can_block and one.blocks))
    return msgspec.structs.replace(merged.answer, llm_response=UNSET) if is_foreign else merged.answer


def _reasons(merged: str | None, others: Iterable[str | None]) -> str:
    """The merged reason, and those of the others that it does not contain."""
    lines = merged.split("\n") if merged else []
    for reason in others:
        own = reason.split("\n") if reason else []
        if not set(own) <= set(lines):
            lines += own
    return "\n".join(lines) or DEFAULT_REASON


def _effect(
    row: EventRow,
    hook_input: Mapping[str, Any],
    answer: HookAnswer,
    answers: Sequence[HookAnswer],
    arguments: ToolArguments | None,
    *,
    blocked: bool,
) -> dict[str, Any]:
    """Return the values that replace the caller's."""
    if answer.tools is answer.tool_input is answer.llm_request is answer.llm_response is answer.prompt is UNSET:
        return {}
    if (tools := or_none(answer.tools)) is not None:
        return {"tools": tools}
    if blocked:
        # Only a response in place of the model's can have an effect now.
        response = or_none(answer.llm_response)
        return {} if response is None else {"response": dict(response)}
    changed = normal_change(row.change(hook_input, answer, answers), hook_input, answer, arguments)
    effect = {_FIELDS[name]: value for name, value in changed.items() if name in _FIELDS}
    return {**effect, "shown_request": hook_input["llm_request"]} if "request" in effect else effect


def _overridden(merged: Merged, runs: Runs) -> tuple[Override, ...]:
    if not merged.overridden:
        return ()
    labels = [run.hook.label for run in runs if run.answer is not None]
    return tuple(Override(field, labels[by], labels[of]) for field, by, of in merged.overridden)


_ASK = HookDecision.ASK
_BY_PACK = re.compile(r" of hookline:\w+\)$")
_END_OF_FINDING = re.compile(r"(?<=\)) ")
_FIELDS = {"tool_input": "arguments", "llm_request": "request", "llm_response": "response", "prompt": "prompt"}


class HookAggregator:
    """The specification's name for the step from results to one result."""

    def aggregate_results(
        self, results: Runs, event: HookEventName, event_input: Mapping[str, Any] | None = None
    ) -> AggregatedHookResult:
        """One result: what the hooks answered together, and whether all of them ran well."""
        return AggregatedHookResult.of(decide(event, event_input or {}, results), EVENT_TABLE[event].output)
