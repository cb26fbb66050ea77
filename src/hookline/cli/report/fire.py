"""What `hookline fire` shows a person: the plan, what each hook did, and what comes of it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hookline.cli.report.style import Style
from hookline.cli.report.text import one_line
from hookline.contract.answers import ToolSelection
from hookline.contract.text import visible
from hookline.contract.verdict import HookExecutionResult, Verdict
from hookline.engine.event_table import EVENT_TABLE

_INDENT = "    "
_MAX_LINES = 20

Log = Sequence[Mapping[str, Any]]


def show_fire(verdict: Verdict, log: Log, *, enabled: bool) -> None:
    """Prints a fired event for people."""
    style = Style.for_stdout()
    for line in _lines(verdict, log, style, enabled=enabled):
        print(line)


def _lines(verdict: Verdict, log: Log, style: Style, *, enabled: bool) -> Iterator[str]:
    yield style.bold(verdict.event)
    if not enabled:
        yield style.warn('Hooks are disabled: no settings file says "enableHooks": true. Nothing was run.')
        return
    if verdict.plan is None:
        yield "No hook runs."
    else:
        order = "one after another" if verdict.plan.sequential else "at the same time"
        count = len(verdict.plan.hooks)
        yield f"{count} hook{'s' if count != 1 else ''}{f', {order}' if count > 1 else ''}"
    for record in log:
        if record.get("kind") == "skip":
            for hook in record.get("hooks") or [record["hook"]]:
                yield style.dim(f"  not run: {one_line(hook)}: {visible(record['reason'])}")
        elif record.get("kind") in ("settings", "fault"):
            yield style.warn(f"  {visible(record['message'])}")
    for run in verdict.runs:
        yield from _run_lines(run, style)
    for undone in verdict.overridden:
        yield style.warn(visible(f"  note: {undone.by} overrode the {undone.field} of {undone.of}"))
    yield ""
    yield from _outcome_lines(verdict, style)


def _run_lines(run: HookExecutionResult, style: Style) -> Iterator[str]:
    mark = style.good("ok") if run.success else style.bad("failed" if run.failed else "denies")
    name = f"{run.hook.name} ({run.hook.command})" if run.hook.name else str(run.hook.command)
    yield ""
    yield f"  {style.bold(one_line(name))}  {mark}  {_ending(run)}  {run.duration_ms:.1f} ms"
    for stream, text in (("stdout", run.stdout), ("stderr", run.stderr)):
        yield from _block(stream, text.rstrip("\n"), style)
    for text in run.advice:
        yield style.warn(f"{_INDENT}note: {visible(text)}")


def _ending(run: HookExecutionResult) -> str:
    if run.error:
        return run.error
    return f"signal {run.signal}" if run.signal is not None else f"exit {run.exit_code}"


def _outcome_lines(verdict: Verdict, style: Style) -> Iterator[str]:
    row = EVENT_TABLE[verdict.event]
    if row.only_watches:
        yield style.good("Goes on: ") + f"{verdict.event} hooks only watch, and nothing that they answer is applied."
        return
    if verdict.stop:
        yield style.bad("Stops the agent: ") + visible(str(verdict.stop_reason))
    if verdict.blocked and verdict.denied:
        yield style.bad("Blocked: ") + visible(str(verdict.reason))
    elif verdict.denied:
        yield style.warn(f"Answered with a block, but {verdict.event} cannot block: ") + visible(str(verdict.reason))
    if verdict.ask:
        yield style.warn("Asks a person first: ") + visible(str(verdict.reason))
    if not (verdict.blocked or verdict.stop or verdict.denied or verdict.ask):
        yield style.good("Goes on.")
    yield from _block("added for the model", verdict.context or "", style)
    yield from _block("told to the model", verdict.note or "", style)
    if verdict.suppress:
        yield "The result is not shown to the user."
    if verdict.tools is not None:
        yield _tools_line(verdict.tools)
        return
    for name, value in (verdict.effect or {}).items():
        yield from _block(f"goes on with {name}", json.dumps(value, indent=2, ensure_ascii=False, default=str), style)


def _tools_line(tools: ToolSelection) -> str:
    if tools.mode == "NONE" or tools.names == ():
        return "The model may call no tool."
    names = "any tool" if tools.names is None else ", ".join(map(one_line, tools.names))
    must = tools.mode == "ANY"
    return f"The model {'must' if must else 'may'} call {names}{'' if must or tools.names is None else ' only'}."


def _block(title: str, text: str, style: Style) -> Iterator[str]:
    if not text:
        return
    lines = visible(text).splitlines()
    yield style.dim(f"{_INDENT}{title}:")
    yield from (f"{_INDENT}  {line[:400]}" for line in lines[:_MAX_LINES])
    if len(lines) > _MAX_LINES:
        yield style.dim(f"{_INDENT}  … {len(lines) - _MAX_LINES} more lines (--json shows all)")
