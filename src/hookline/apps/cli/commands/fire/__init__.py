"""Fire one event by hand, exactly as an agent would; with --plan, only show what would run.

Examples:
  hookline fire BeforeTool --input '{"tool_name": "write_file", "tool_input": {"file_path": "a.txt"}}'
  hookline fire BeforeTool --settings hooks.json --input @input.json --json
  hookline fire BeforeTool --tool run_shell_command --input '{"tool_input": {"command": "ls"}}'
  hookline fire PreToolUse --dialect claude --tool Bash     with Claude Code's names, and its settings
  hookline fire --plan BeforeTool --tool write_file             which hooks would run, and why others would not
  hookline fire --plan SessionStart --subject startup --json

With --plan nothing is run. The plan is the one that an agent would follow at this moment. Functions that a program
registers in code come after it; in that program, hooks.explain(EVENT, tool=…) shows them.

Exit codes:
  0  the operation is allowed    2  it does not take place    1  the command failed
"""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from hookline.apps.cli.options import add_common_options, event_of, make_config, settle_project
from hookline.apps.cli.report.fire import fire_lines
from hookline.apps.cli.report.printer import print_lines, print_wire
from hookline.engine.event_table import EVENT_TABLE
from hookline.engine.notices.untrusted_hooks import UNTRUSTED
from hookline.errors import UsageError
from hookline.extensions import lazy_module
from hookline.inspect.fire import fire_once
from hookline.log.write.logger import MemorySink
from hookline.protocol.answers import kind_of
from hookline.protocol.constants import FiredBy
from hookline.protocol.events import TOOL_EVENTS, HookEventName
from hookline.protocol.results import AggregatedHookResult, process_common_hook_output_fields
from hookline.protocol.text.exit_text import FAILURES
from hookline.protocol.text.json_text import parse_json
from hookline.protocol.verdict import Verdict
from hookline.runners.process.features import unknown_word
from hookline.stderr import captured_notices, warn_user

if TYPE_CHECKING:
    from hookline.apps.cli import interrupt
    from hookline.apps.cli.commands.fire import plan
    from hookline.dialects import registry
    from hookline.dialects import table as dialect_table
    from hookline.dialects.table import Dialect
else:
    interrupt = lazy_module("hookline.apps.cli.interrupt")
    plan = lazy_module("hookline.apps.cli.commands.fire.plan")
    registry = lazy_module("hookline.dialects.registry")
    dialect_table = lazy_module("hookline.dialects.table")

EXIT_BLOCKED = 2

_INLINE = "--input"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "event", metavar="EVENT", help="the event, such as BeforeTool; with --dialect also as that agent calls it"
    )
    parser.add_argument(
        "--plan", action="store_true", help="show which hooks would run, in which order, and why others would not"
    )
    subject = parser.add_mutually_exclusive_group()
    subject.add_argument("--tool", metavar="NAME", help="the tool's name; with --dialect also as that agent calls it")
    subject.add_argument("--subject", metavar="WORD", help="the source, reason, trigger or type (SessionStart, …)")
    parser.add_argument(
        "--input",
        metavar="JSON",
        help="the event's own fields as one JSON object: inline, @FILE, or - for standard input (default: none)",
    )
    parser.add_argument("--session-id", metavar="ID", help="the session's id (default: a new one)")
    add_common_options(parser)


def run(given: argparse.Namespace) -> int:
    """Fires the event and prints the result; the exit code is 2 when the operation does not take place."""
    event, table = _event(given)
    fields = _with_tool(given, event, table, _with_subject(given, event, _fields(given.input or "{}")))
    if given.plan:
        return plan.show_plan(given, event, fields)
    settle_project(given)
    if not Path(given.project).is_dir():
        warn_user(f"{given.project} is not a directory, so no hook can be started in it")
    if unknown := unknown_word():
        warn_user(unknown)
    memory = MemorySink()
    config = make_config(given, memory, project_must_exist=False, fired_by=FiredBy.FIRE)
    messages: list[str] = []
    token = captured_notices.set(None if given.json else messages)
    try:
        verdict = interrupt.run_loop(fire_once(config, event, fields))
    finally:
        captured_notices.reset(token)
        for message in messages:
            if UNTRUSTED not in message and FAILURES not in message:  # which are in the report below
                warn_user(message)
    redactor = config.get_redactor()
    log = redactor.clean_records([record.to_dict() for record in memory.records])
    if given.json:
        # Programs keep this output. A person who looks at the terminal sees what the hooks wrote.
        print_wire(_report(verdict, log), redactor.clean_json)
    else:
        subject = EVENT_TABLE[event].subject
        if subject is not None and subject not in fields:
            warn_user(f"--input has no {subject}, so every matcher counts as a match")
        project = str(Path(given.project).resolve())
        known = {str(problem) for problem in config.get_problems()}  # make_config has reported them
        news = [record for record in log if record["kind"] != "settings" or record["message"] not in known]
        print_lines(*fire_lines(verdict, news, enabled=config.get_enable_hooks(), project=project))
    return EXIT_BLOCKED if verdict.blocked else 0


def _event(given: argparse.Namespace) -> "tuple[HookEventName, Dialect | None]":
    """The event, and the table of the agent whose name for it was given."""
    if not given.dialect and given.event in {*HookEventName}:
        return HookEventName(given.event), None
    for table in map(registry.dialect_of, given.dialect or ()):
        if given.event in table.events:
            return table.events[given.event], table
        if given.event in table.without_counterpart:
            raise UsageError(f"{given.event} of {table.agent} has no counterpart here, so no hook runs for it")
    for table in map(registry.dialect_of, registry.FOREIGN_DIALECTS):
        if given.event in table.events and given.event not in {*HookEventName}:
            advice = f"write {table.events[given.event]}, or add --dialect {table.name}"
            raise UsageError(f"{given.event} is an event of {table.agent}; {advice}")
    return event_of(given.event), registry.dialect_of(given.dialect[0]) if given.dialect else None


def _with_tool(
    given: argparse.Namespace, event: HookEventName, table: "Dialect | None", fields: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The fields with the tool that was named; an agent's own names become ours."""
    if given.tool is not None:
        if event not in TOOL_EVENTS:
            name = EVENT_TABLE[event].subject
            advice = f"use --subject for its {name}" if name else "leave --tool out: every hook runs"
            raise UsageError(f"{event} is not about a tool; {advice}")
        if fields.get("tool_name", given.tool) != given.tool:
            raise UsageError(f"--tool is {given.tool}, and --input says {fields['tool_name']}; give one of them")
        fields = {"tool_name": given.tool, "tool_input": {}, **fields}
    if table is None or not isinstance(name := fields.get("tool_name"), str):
        return fields
    several = [tool.ours for tool in table.tools if tool.theirs == name]
    if len(several) > 1:
        theirs = f"{name} of {table.agent} can be {' or '.join(several)} here, and several calls at once"
        raise UsageError(f"{theirs}; fire one of these, or give all of it to hookline hook {table.name}")
    tool, arguments = dialect_table.tool_of_theirs(table.tools, name), fields.get("tool_input")
    ours = tool.own_arguments(arguments) if isinstance(arguments, Mapping) else arguments
    return {**fields, "tool_name": tool.ours, "tool_input": ours}


def _with_subject(given: argparse.Namespace, event: HookEventName, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    if given.subject is None:
        return fields
    name = EVENT_TABLE[event].subject
    if name is None:
        raise UsageError(f"matchers are not used on {event}; leave --subject out: every hook runs")
    if fields.get(name, given.subject) != given.subject:
        raise UsageError(f"--subject is {given.subject}, and --input says {fields[name]}; give one of them")
    return {**fields, name: given.subject}


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
    except (OSError, ValueError):  # too long for a file name, or with a NUL in it
        return ""


def _report(verdict: Verdict, log: list[dict[str, Any]]) -> dict[str, Any]:
    aggregated = AggregatedHookResult.of(verdict, EVENT_TABLE[verdict.event].output)
    output = aggregated.final_output
    explains = output is not None and (verdict.denied or verdict.stop or output.reason is not None)
    return {
        "event": verdict.event.value,
        "plan": verdict.plan and verdict.plan.to_dict(),
        "results": [run.to_dict() for run in verdict.runs],
        "aggregated": aggregated.to_dict(),
        "processed": process_common_hook_output_fields(aggregated).to_dict(),
        "verdict": {
            "blocked": verdict.denied,
            "reason": output.get_effective_reason() if output and explains else None,
        },
        "outcome": {
            "blocked": verdict.blocked,
            "stopped": verdict.stop,
            "ask": verdict.ask,
            **({"continues": True} if verdict.go_on else {}),
            "reason": verdict.reason,
            **({"userMessage": verdict.user_message} if verdict.user_message else {}),
        },
        "effect": verdict.effect,
        "provenance": verdict.decided_by,
        "log": log,
    }
