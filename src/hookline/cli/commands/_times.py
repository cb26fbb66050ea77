"""How long the hooks of an event take: as they are configured, and started anew for each event."""

from collections.abc import Mapping, Sequence
from statistics import quantiles
from typing import Any

from msgspec.structs import replace

from hookline.contract.hooks import HookEntry
from hookline.contract.verdict import HookExecutionResult, Verdict
from hookline.contract.vocabulary import OWN_DIALECT, HookType, RunWay
from hookline.contract.wire import parse_json
from hookline.engine.handler import HookEventHandler


async def compare(
    handler: HookEventHandler, first: Verdict, fields: Mapping[str, Any], times: int
) -> list[dict[str, Any]]:
    """Fires the event so many times, and runs each command so many times cold; one row for each hook and way."""
    spans: dict[tuple[str, RunWay], list[HookExecutionResult]] = {}
    for _ in range(times):
        _keep(spans, (await handler.fire(first.event, fields)).runs)
    for run in first.runs:
        if run.hook.type is HookType.COMMAND and run.hook.dialect == OWN_DIALECT and run.hook.refusal is None:
            if all(way is RunWay.COLD for label, way in spans if label == run.hook.label):
                continue
            told = parse_json(run.stdin.decode())
            for _ in range(times):
                _keep(spans, await handler.runner.execute_hooks_parallel((_cold(run.hook),), told))
    return [_row(label, way, runs) for (label, way), runs in sorted(spans.items())]


def _cold(hook: HookEntry) -> HookEntry:
    """The same hook, started for each event."""
    return replace(hook, worker=None, warm=False)


def _keep(spans: dict[tuple[str, RunWay], list[HookExecutionResult]], runs: Sequence[HookExecutionResult]) -> None:
    for run in runs:
        spans.setdefault((run.hook.label, run.way), []).append(run)


def _row(label: str, way: RunWay, runs: Sequence[HookExecutionResult]) -> dict[str, Any]:
    took = sorted(run.duration_ms for run in runs)
    deciles = quantiles(took, n=10, method="inclusive") if len(took) > 1 else took * 9
    return {
        "hook": label,
        "way": way.value,
        "runs": len(runs),
        "failed": sum(run.failed for run in runs),
        "median": round(deciles[4], 3),
        "p90": round(deciles[8], 3),
        "longest": round(took[-1], 3),
    }
