"""How long the hooks of an event take: as they are configured, and started anew for each event."""

import asyncio
from collections.abc import Mapping, Sequence
from statistics import quantiles
from typing import Any

from msgspec.structs import replace

from hookline.engine.handler import HookEventHandler
from hookline.protocol.constants import OWN_DIALECT, HookType, RunWay
from hookline.protocol.hook_entry import CommandLine, HookEntry
from hookline.protocol.text.exit_text import show_ending, telling_line
from hookline.protocol.text.json_text import parse_json
from hookline.protocol.verdict import HookExecutionResult, Verdict

# Starting an interpreter before its event takes a tenth of a second, or some on a busy machine.
_PATIENCE_S = 10.0
# The event was fired once before these; a script is parked after its second run.
_LEAST_TIMES = 2
_RUNS_BEFORE_WARM = 2
_TOO_FEW = "a script is warm from its third run on; give a larger number"

# By label, because rows are sorted by it, and by place, because labels may repeat.
_Key = tuple[str, str, str]
_Spans = dict[tuple[_Key, RunWay], list[HookExecutionResult]]


async def compare(
    handler: HookEventHandler, first: Verdict, fields: Mapping[str, Any], times: int
) -> list[dict[str, Any]]:
    """Fires the event so many times, and runs each command so many times cold; one row for each hook and way."""
    spans = await _fire_often(handler, first, fields, times)
    reasons = {_key(run.hook): why for run in first.runs if (why := _why_cold(handler, run.hook, spans, times))}
    for run in first.runs:
        if run.hook.type is HookType.COMMAND and run.hook.dialect == OWN_DIALECT and run.hook.refusal is None:
            if _ways(spans, run.hook) <= {RunWay.COLD}:
                continue
            told = parse_json(run.stdin.decode())
            for _ in range(times):
                _keep(spans, await handler.runner.execute_hooks_parallel((_cold(run.hook),), told))
            if run.hook.worker is not None:
                await _run_warm(handler, run.hook, told, times, spans)
    return [_row(key, way, runs, reasons.get(key)) for (key, way), runs in sorted(spans.items())]


async def _run_warm(
    handler: HookEventHandler, hook: HookEntry, told: Mapping[str, Any], times: int, spans: _Spans
) -> None:
    """Runs a worker's script by an interpreter that waits for it, if it can have one."""
    script = replace(hook, run=_script(hook, warm=isinstance(hook.run, CommandLine) and hook.run.warm))
    for done in range(_RUNS_BEFORE_WARM + times):
        await asyncio.to_thread(handler.runner.warm_policy.wait_until_warm, _PATIENCE_S)
        runs = await handler.runner.execute_hooks_parallel((script,), told)
        warm = [run for run in runs if run.way is RunWay.WARM]
        _keep(spans, warm)
        if done >= _RUNS_BEFORE_WARM and not warm:
            return


async def _fire_often(handler: HookEventHandler, first: Verdict, fields: Mapping[str, Any], times: int) -> _Spans:
    spans: _Spans = {}
    may_wait = True
    for _ in range(times):
        # Events in a row leave no time to start interpreters, as an agent's events do.
        if may_wait:
            may_wait = await asyncio.to_thread(handler.runner.warm_policy.wait_until_warm, _PATIENCE_S)
        _keep(spans, (await handler.fire(first.event, fields)).runs)
    return spans


def _why_cold(handler: HookEventHandler, hook: HookEntry, spans: _Spans, times: int) -> str | None:
    """Why all runs of a Python script were cold; None for other hooks."""
    if hook.type is not HookType.COMMAND or hook.refusal or _ways(spans, hook) != {RunWay.COLD}:
        return None
    why = handler.runner.why_cold(hook)
    return why if why is None or times >= _LEAST_TIMES else _TOO_FEW


def _key(hook: HookEntry) -> _Key:
    return hook.label, hook.origin, hook.location


def _ways(spans: _Spans, hook: HookEntry) -> set[RunWay]:
    return {way for key, way in spans if key == _key(hook)}


def _cold(hook: HookEntry) -> HookEntry:
    """The same hook, started for each event."""
    return replace(hook, run=_script(hook, warm=False))


def _script(hook: HookEntry, *, warm: bool) -> CommandLine:
    """Return the command of a hook, started for each event."""
    return CommandLine(hook.command or "", args=hook.args, warm=warm)


def _keep(spans: _Spans, runs: Sequence[HookExecutionResult]) -> None:
    for run in runs:
        spans.setdefault((_key(run.hook), run.way), []).append(run)


def _row(key: _Key, way: RunWay, runs: Sequence[HookExecutionResult], why_cold: str | None) -> dict[str, Any]:
    took = sorted(run.duration_ms for run in runs if not run.is_unasked)
    deciles = quantiles(took, n=10, method="inclusive") if len(took) > 1 else took * 9
    has_failed = all(run.failed for run in runs)
    label, origin, location = key
    return {
        "hook": label,
        "origin": origin,
        "location": location,
        "way": way.value,
        "runs": len(runs),
        "failed": sum(run.failed for run in runs),
        "unasked": sum(run.is_unasked for run in runs),
        "median": round(deciles[4], 3) if took else None,
        "p90": round(deciles[8], 3) if took else None,
        "longest": round(took[-1], 3) if took else None,
        **({"reason": _reason(runs)} if has_failed else {}),
        **({"whyCold": why_cold} if why_cold else {}),
    }


def _reason(runs: Sequence[HookExecutionResult]) -> str:
    """Why the first of these failed that was asked at all."""
    run = next((run for run in runs if not run.is_unasked), runs[0])
    line = telling_line(run.stderr)
    return f"{show_ending(run)} ({line})" if line else show_ending(run)
