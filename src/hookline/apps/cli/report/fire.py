"""The output of `hookline fire` for users."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hookline.apps.cli.report.style import style
from hookline.engine.event_table import EVENT_TABLE, can_block
from hookline.extensions import lazy_module
from hookline.protocol.answers import ToolSelection
from hookline.protocol.constants import LIFECYCLE_REMEDY
from hookline.protocol.events import HookEventName
from hookline.protocol.text.exit_text import show_ending
from hookline.protocol.text.outcome_words import HookResult, outcome_of, run_result, show_outcome
from hookline.protocol.text.readable import HOOKS_DISABLED, one_line, plural, show_message, text_lines
from hookline.protocol.verdict import HookExecutionPlan, HookExecutionResult, Verdict

if TYPE_CHECKING:
    from hookline.inspect.lint import dry_run, programs
else:
    dry_run = lazy_module("hookline.inspect.lint.dry_run")
    programs = lazy_module("hookline.inspect.lint.programs")

AT_ONCE = "at the same time"
_INDENT = "    "
_MAX_LINES = 20
_DENY = 2

Log = Sequence[Mapping[str, Any]]


def fire_lines(verdict: Verdict, log: Log, *, enabled: bool, project: str) -> Iterator[str]:
    """Yield the plan of a fired event, the result of each hook, and the outcome."""
    yield style.bold(verdict.event)
    if not enabled:
        yield style.warn(HOOKS_DISABLED)
        return
    count = len(verdict.plan.hooks) if verdict.plan else 0
    order = f", {show_order(verdict.plan)}" if verdict.plan and count > 1 else ""
    yield f"{plural(count, 'hook')}{order}" if count else "No hook runs."
    for record in log:
        if record.get("kind") == "skip":
            for hook in record.get("hooks") or [record["hook"]]:
                yield style.dim(f"  not run: {one_line(hook)}: {show_message(str(record['reason']))}")
        elif record.get("kind") in ("settings", "fault"):
            yield style.warn(f"  {show_message(str(record['message']))}")
    for run in verdict.runs:
        yield from _run_lines(run, project)
    yield from _note_lines(verdict)
    yield ""
    if EVENT_TABLE[verdict.event].observe_only:
        yield style.good("Allowed: ") + f"{verdict.event} hooks only watch, and their answers are not applied."
    elif verdict.runs and not any(run.hook.would_be_enforced for run in verdict.runs):
        yield style.good("Allowed: ") + f"what {verdict.event} hooks answer is not applied; {LIFECYCLE_REMEDY}."
    else:
        yield from _decision_lines(verdict)
        yield from _effect_lines(verdict)


def _note_lines(verdict: Verdict) -> Iterator[str]:
    for trial in verdict.trials:
        yield style.warn(f"  note: {one_line(trial.message)}")
    for undone in verdict.overridden:
        yield style.warn(f"  note: {undone.by} overrode the {undone.field} of {undone.of}")


def _run_lines(run: HookExecutionResult, project: str) -> Iterator[str]:
    mark = _paint(run_result(run))
    hook = run.hook
    command = hook.run.label or f"{hook.type} hook"
    name = f"{run.hook.name} ({command})" if run.hook.name else command
    ending = run.error or (f"exit {run.exit_code}" if run.signal is None else f"signal {run.signal}")
    if run.is_running:
        ending = show_ending(run)
    yield ""
    by = "" if run.worker is None else f"  by worker {one_line(run.worker)}"
    yield f"  {style.bold(one_line(name))}  {mark}  {ending}  {run.duration_ms:.1f} ms{by}"
    for stream, text in (("stdout", run.stdout), ("stderr", run.stderr)):
        yield from _block(stream, text.rstrip("\n"))
    for text in (*run.advice, *_hints(run, project)):
        yield style.warn(f"{_INDENT}note: {text}")


def _paint(result: HookResult) -> str:
    paint = {HookResult.BLOCKED: style.bad, HookResult.FAILED: style.bad}
    odd = (HookResult.ASKED, HookResult.WOULD_BLOCK, HookResult.WOULD_ASK)
    return paint.get(result, style.warn if result in odd else style.good)(result)


def _hints(run: HookExecutionResult, project: str) -> Iterator[str]:
    """Yield the findings of `hookline check` and `check --run` about this run."""
    if not run.failed and not run.stderr:
        if run.exit_code == _DENY:
            yield "it gave no reason; write one to stderr, so that the model and you know what to do instead"
        return
    if run.exit_code in dry_run.COULD_NOT_RUN and (fault := programs.program_fault(run.hook, project, os.environ)):
        yield f"its command {show_message(fault)}"
    for rule, text in dry_run.findings_in(run):
        if rule != "run-answer":  # which is its advice
            yield f"it {text}"


def _headed(head: str, text: str) -> Iterator[str]:
    """Yield a text of several lines, one for each hook; all but the first are indented."""
    first, *others = text_lines(text) or [""]
    yield head + first
    yield from (f"  {line}" for line in others)


def _decision_lines(verdict: Verdict) -> Iterator[str]:
    reason = str(verdict.reason)
    if verdict.stop:
        yield from _headed(style.bad("Stopped: "), str(verdict.stop_reason))
    if verdict.blocked and verdict.denied:
        yield from _headed(style.bad("Blocked: "), reason)
    elif verdict.go_on:
        yield from _headed(style.bad("Blocked, so the agent continues its turn: "), reason)
    elif verdict.denied and verdict.event is HookEventName.AFTER_TOOL:
        yield from _headed(style.warn("Allowed, because the tool has run; the model reads the reason: "), reason)
    elif verdict.denied and not verdict.stop:
        yield from _headed(style.warn(f"Allowed, because a block has no effect on {verdict.event}: "), reason)
    if verdict.ask:
        yield from _headed(style.warn("Asked: "), reason)
    if not (verdict.stop or verdict.denied or verdict.ask):
        shown = show_outcome(outcome_of(verdict), is_rewritten=bool(verdict.effect))
        yield style.good(f"{shown.capitalize()}.")


def _effect_lines(verdict: Verdict) -> Iterator[str]:
    if not verdict.blocked:
        yield from _block("added for the model", verdict.context or "")
    yield from _block("for the model", verdict.note or "")
    yield from _block("for the user", verdict.user_message or "")
    # An event before a tool or model has a result to hide only if a hook gave a response in place of the model's.
    if verdict.suppress and (verdict.response is not None or not EVENT_TABLE[verdict.event].is_pre):
        yield "The result is not shown to the user."
    if verdict.tools is not None:
        if not verdict.blocked:
            yield _tools_line(verdict.tools)
        return
    for name, value in (verdict.effect or {}).items():
        yield from _block(f"rewritten {name}", json.dumps(value, indent=2, ensure_ascii=False, default=str))


def _tools_line(tools: ToolSelection) -> str:
    if tools.mode == "NONE" or tools.names == ():
        return "The model may call no tool."
    names = "any tool" if tools.names is None else ", ".join(map(one_line, tools.names))
    must = tools.mode == "ANY"
    return f"The model {'must' if must else 'may'} call {names}{'' if must or tools.names is None else ' only'}."


def _block(title: str, text: str) -> Iterator[str]:
    if not text:
        return
    lines = text_lines(text)
    yield style.dim(f"{_INDENT}{title}:")
    yield from (f"{_INDENT}  {line[:400]}" for line in lines[:_MAX_LINES])
    if len(lines) > _MAX_LINES:
        yield style.dim(f"{_INDENT}  … {len(lines) - _MAX_LINES} more lines (--json shows all)")


def runs_by_layer(plan: HookExecutionPlan) -> bool:
    """True if the hooks of a more trusted layer start when those of less trusted ones have ended."""
    return any(map(can_block, plan.hooks)) and len({hook.rank for hook in plan.hooks}) > 1


def show_order(plan: HookExecutionPlan) -> str:
    """Return the order of several hooks, to follow `2 hooks`."""
    if runs_by_layer(plan):
        return "those of the less trusted settings file first"
    if plan.sequential:
        return "one after another"
    finals = sum(hook.final for hook in plan.hooks)
    return f"{AT_ONCE}, and then the final {'one' if finals == 1 else 'ones'}" if finals else AT_ONCE
