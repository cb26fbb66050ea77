"""`hookline fire`: one event by hand."""

import argparse
import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from hookline.cli.event_argument import event_of
from hookline.cli.options import add_settings_options, make_config
from hookline.cli.report.fire import show_fire
from hookline.config import Config
from hookline.contract.events import HookEventName
from hookline.contract.outputs import kind_of
from hookline.contract.results import AggregatedHookResult, make_empty_success_result
from hookline.contract.wire import parse_json, stringify_json
from hookline.engine.event_table import EVENT_TABLE
from hookline.engine.interpret import process_common_hook_output_fields
from hookline.engine.provenance import decided_by
from hookline.errors import UsageError
from hookline.log import LogRecord, MemorySink, Redactor
from hookline.settings.decode import decode_options

EXIT_BLOCKED = 2

_INLINE = "--input"

_EXAMPLES = """\
examples:
  hookline fire BeforeTool --input '{"tool_name": "write_file", "tool_input": {"file_path": "a.txt"}}'
  hookline fire BeforeTool --settings hooks.json --input @input.json --json

exit codes:
  0  the hooks ran (or none had to)    2  the merged answer blocks    1  the command could not do its work
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the description and the options."""
    parser.description = "Fire one event by hand, on the very path that an agent uses, and show what the hooks answer."
    parser.epilog = _EXAMPLES
    parser.add_argument("event", metavar="EVENT", help="the event, such as BeforeTool")
    parser.add_argument(
        "--input",
        metavar="JSON",
        default="{}",
        help="the event's own fields as one JSON object: inline, @FILE, or - for standard input",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object for programs")
    parser.add_argument("--session-id", metavar="ID", help="the session's id; one is made if it is not given")
    add_settings_options(parser)


def run(given: argparse.Namespace) -> int:
    """Fires the event and prints what came of it; the exit code is 2 when the merged answer blocks."""
    event = event_of(given.event)
    fields = _fields(given.input)
    if not Path(given.project).is_dir():
        print(f"hookline: {given.project} is not a directory, so no hook can be started in it", file=sys.stderr)
    memory = MemorySink()
    config = make_config(given, memory)
    result = asyncio.run(_fire(config, event, fields))
    report = _report(event, result, _redacted(config, memory.records))
    if given.json:
        sys.stdout.buffer.write(stringify_json(report) + b"\n")
        sys.stdout.buffer.flush()
    else:
        subject = EVENT_TABLE[event].subject
        if subject is not None and subject not in fields:
            print(f"hookline: --input has no {subject}, so every matcher counts as one that matches", file=sys.stderr)
        show_fire(report, enabled=config.get_enable_hooks())
    return EXIT_BLOCKED if report["verdict"]["blocked"] else 0


async def _fire(config: Config, event: HookEventName, fields: Mapping[str, Any]) -> AggregatedHookResult:
    system = config.get_hook_system()
    if system is None:
        return make_empty_success_result()
    await system.initialize()
    try:
        return await system.get_event_handler().fire_event(event, fields)
    finally:
        system.dispose()


def _fields(given: str) -> Mapping[str, Any]:
    text, place = _input_text(given)
    try:
        fields = parse_json(text)
    except ValueError as error:
        hint = _forgotten_at(given) if place == _INLINE else ""
        raise UsageError(f"{place} is not JSON: {error}{hint}") from error
    if not isinstance(fields, dict):
        raise UsageError(f"{place} is {kind_of(fields)}, expected an object with the event's own fields")
    return fields


def _input_text(given: str) -> tuple[str, str]:
    if given == "-":
        return sys.stdin.buffer.read().decode("utf-8", "replace"), "standard input"
    if not given.startswith("@"):
        return given, _INLINE
    try:
        return Path(given[1:]).read_bytes().decode("utf-8", "replace"), given[1:]
    except OSError as error:
        raise UsageError(f"cannot read {given[1:]}: {error.strerror}") from error


def _forgotten_at(given: str) -> str:
    try:
        return f"; for the file of that name: --input {quote('@' + given)}" if Path(given).is_file() else ""
    except (OSError, ValueError):  # longer than a name can be, or with a NUL in it
        return ""


def _redacted(config: Config, records: list[LogRecord]) -> list[dict[str, Any]]:
    options = decode_options(config.get_layers())
    redactor = Redactor(options.redact, config.get_environ())
    return [(redactor.redact(record) if options.redact else record).to_dict() for record in records]


def _report(event: HookEventName, result: AggregatedHookResult, log: list[dict[str, Any]]) -> dict[str, Any]:
    output = result.final_output
    blocked = output is not None and output.is_blocking_decision()
    explains = output is not None and (blocked or output.should_stop_execution() or output.reason is not None)
    return {
        "event": event.value,
        "plan": result.plan and result.plan.to_dict(),
        "results": [hook_result.to_dict() for hook_result in result.results],
        "aggregated": result.to_dict(),
        "processed": process_common_hook_output_fields(result).to_dict(),
        "verdict": {"blocked": blocked, "reason": output.get_effective_reason() if output and explains else None},
        "effect": result.effect,
        "provenance": decided_by(result),
        "log": log,
    }
