"""What `hookline fire` shows a person: the plan, what each hook did, and what comes of it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from hookline.cli.report.style import Style
from hookline.cli.report.text import one_line
from hookline.contract.events import HookEventName
from hookline.contract.text import visible
from hookline.engine.event_table import EVENT_TABLE

_INDENT = "    "
_MAX_LINES = 20


def show_fire(report: Mapping[str, Any], *, enabled: bool) -> None:
    """Prints a fired event for people."""
    style = Style.for_stdout()
    for line in _lines(report, style, enabled=enabled):
        print(line)


def _lines(report: Mapping[str, Any], style: Style, *, enabled: bool) -> Iterator[str]:
    yield style.bold(report["event"])
    if not enabled:
        yield style.warn('Hooks are disabled: no settings file says "enableHooks": true. Nothing was run.')
        return
    plan = report["plan"]
    if plan is None:
        yield "No hook runs."
    else:
        order = "one after another" if plan["sequential"] else "at the same time"
        count = len(plan["hooks"])
        yield f"{count} hook{'s' if count != 1 else ''}{f', {order}' if count > 1 else ''}"
    for record in report["log"]:
        if record.get("kind") == "skip":
            for hook in record.get("hooks") or [record["hook"]]:
                yield style.dim(f"  not run: {one_line(hook)}: {visible(record['reason'])}")
        elif record.get("kind") in ("settings", "fault"):
            yield style.warn(f"  {visible(record['message'])}")
    for result in report["results"]:
        yield from _result_lines(result, style)
    shown = {complaint for result in report["results"] for complaint in result["complaints"]}
    for record in report["log"]:
        if record.get("kind") in ("advice", "override") and not any(map(record["message"].endswith, shown)):
            yield style.warn(f"  note: {visible(record['message'])}")
    yield from _verdict_lines(report, style)


def _result_lines(result: Mapping[str, Any], style: Style) -> Iterator[str]:
    mark = style.good("ok") if result["success"] else style.bad("failed")
    if result["exitCode"] == 2 and not result["error"]:  # noqa: PLR2004 - the exit code that means deny
        mark = style.bad("denies")
    name = f"{result['name']} ({result['command']})" if result["name"] else str(result["command"])
    yield ""
    yield f"  {style.bold(one_line(name))}  {mark}  {_ending(result)}  {result['duration']:.1f} ms"
    for stream in ("stdout", "stderr"):
        yield from _block(stream, result[stream].rstrip("\n"), style)
    for complaint in result["complaints"]:
        yield style.warn(f"{_INDENT}note: {visible(complaint)}")


def _ending(result: Mapping[str, Any]) -> str:
    if result["error"]:
        return str(result["error"])
    return f"signal {result['signal']}" if result["signal"] is not None else f"exit {result['exitCode']}"


def _verdict_lines(report: Mapping[str, Any], style: Style) -> Iterator[str]:
    verdict, processed = report["verdict"], report["processed"]
    row = EVENT_TABLE[HookEventName(report["event"])]
    yield ""
    if row.only_watches:
        yield style.good("Goes on: ") + f"{report['event']} hooks only watch, and nothing that they answer is applied."
        return
    if verdict["blocked"] and not row.can_block:
        yield style.warn(f"Answered with a block, but {report['event']} cannot block: ") + visible(
            str(verdict["reason"])
        )
    elif verdict["blocked"]:
        yield style.bad("Blocked: ") + visible(str(verdict["reason"]))
    elif processed["shouldStop"]:
        yield style.bad("Stops the agent: ") + visible(str(processed["stopReason"]))
    else:
        yield style.good("Goes on.")
    if processed["systemMessage"]:
        yield from _block("told to the model", processed["systemMessage"], style)
    if processed["suppressOutput"]:
        yield "The result is not shown to the user."
    for name, value in (report["effect"] or {}).items():
        yield from _block(f"goes on with {name}", json.dumps(value, indent=2, ensure_ascii=False), style)


def _block(title: str, text: str, style: Style) -> Iterator[str]:
    if not text:
        return
    lines = visible(text).splitlines()
    yield style.dim(f"{_INDENT}{title}:")
    yield from (f"{_INDENT}  {line[:400]}" for line in lines[:_MAX_LINES])
    if len(lines) > _MAX_LINES:
        yield style.dim(f"{_INDENT}  … {len(lines) - _MAX_LINES} more lines (--json shows all)")
