"""`hookline explain`: what would run, and why the rest would not."""

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from hookline.cli.event_argument import event_of
from hookline.cli.lint.setup import Setup, read_setup
from hookline.cli.options import add_settings_options, make_config, require_project
from hookline.cli.report.overview import place_of
from hookline.cli.report.style import Style
from hookline.cli.report.text import one_line, plural, show_ms, show_place
from hookline.contract.events import HookEventName, likely_event
from hookline.contract.hooks import HookEntry
from hookline.contract.verdict import HookExecutionPlan, describe_hook
from hookline.engine.event_table import EVENT_TABLE, Matching
from hookline.errors import UsageError
from hookline.settings.read import Problem
from hookline.settings.trust import TrustStore, default_trust_path

_EXAMPLES = """\
examples:
  hookline explain BeforeTool --tool write_file
  hookline explain SessionStart --subject startup --json

Nothing is run. The plan is the one that an agent would follow at this moment.
"""

_BELOW_HOOKS = re.compile(r"(?:extensions\[\d+\]\.)?hooks\.(.*)", re.DOTALL)


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the description and the options."""
    parser.description = "Tell what would run for an event, in which order, and why other hooks would not."
    parser.epilog = _EXAMPLES
    parser.add_argument("event", metavar="EVENT", help="the event, such as BeforeTool")
    subject = parser.add_mutually_exclusive_group()
    subject.add_argument("--tool", metavar="TOOL", help="the tool that it is about (BeforeTool, AfterTool)")
    subject.add_argument("--subject", metavar="WORD", help="its source, reason, trigger or type (SessionStart, …)")
    parser.add_argument("--json", action="store_true", help="print one JSON object for programs")
    add_settings_options(parser)


def run(given: argparse.Namespace) -> int:
    """Prints the plan."""
    event = event_of(given.event)
    subject = _subject(event, given)
    require_project(given)
    config = make_config(given)
    setup = read_setup(config)
    plan = None
    if config.get_enable_hooks():
        store = TrustStore(default_trust_path())
        plan = setup.plan(event, subject, lambda hook: store.why_untrusted(hook, setup.project_dir))
    invalid = [problem for problem in setup.problems if problem.is_error and _may_cost(problem, event)]
    if given.json:
        print(json.dumps(_report(event, subject, plan, setup, invalid), indent=2))
    else:
        for line in _lines(event, subject, plan, setup, invalid):
            print(line)
    return 0


def _may_cost(problem: Problem, event: HookEventName) -> bool:
    """Whether an error may have cost a hook of the event: it stands there, above it, or where it was misnamed."""
    below = _BELOW_HOOKS.fullmatch(problem.path)
    if below is None:
        return problem.path in ("", "hooks") or problem.path.startswith("extensions")
    name = below[1].partition("[")[0]
    return event is (HookEventName(name) if name in set(HookEventName) else likely_event(below[1]))


def _subject(event: HookEventName, given: argparse.Namespace) -> str | None:
    row = EVENT_TABLE[event]
    if given.tool is not None and row.matching is not Matching.REGEX:
        advice = f"use --subject for its {row.subject}" if row.subject else "leave --tool out: every hook runs"
        raise UsageError(f"{event} is not about a tool; {advice}")
    if given.subject is not None and row.subject is None:
        raise UsageError(f"{event} has nothing that a matcher is compared with; leave --subject out: every hook runs")
    subject: str | None = given.tool if given.tool is not None else given.subject
    return subject


def _sequential_groups(plan: HookExecutionPlan) -> list[tuple[str, str]]:
    """The groups, by file and place, that make the event's hooks run one after another."""
    groups = ((hook.origin, hook.location.rpartition(".hooks[")[0]) for hook in plan.hooks if hook.sequential)
    return list(dict.fromkeys(groups))


def _report(
    event: HookEventName,
    subject: str | None,
    plan: HookExecutionPlan | None,
    setup: Setup,
    invalid: Sequence[Problem],
) -> dict[str, Any]:
    groups = _sequential_groups(plan) if plan else []
    return {
        "event": event.value,
        "subject": subject,
        "enabled": plan is not None,
        "sequential": plan is not None and plan.sequential,
        "sequentialBecause": [{"origin": origin, "location": location} for origin, location in groups],
        "hooks": [_describe(hook, setup) for hook in (plan.hooks if plan else ())],
        "skipped": [{**_describe(skip.hook, setup), "reason": skip.reason} for skip in (plan.skipped if plan else ())],
        "invalid": [str(problem) for problem in invalid],
    }


def _describe(hook: HookEntry, setup: Setup) -> dict[str, Any]:
    file, line = place_of(setup, hook)
    return {"hook": hook.label, **describe_hook(hook), "file": file, "line": line}


def _lines(
    event: HookEventName,
    subject: str | None,
    plan: HookExecutionPlan | None,
    setup: Setup,
    invalid: Sequence[Problem],
) -> Iterator[str]:
    style = Style.for_stdout()
    yield style.bold(f"{event} {one_line(subject)}" if subject is not None else event.value)
    if plan is None:
        yield style.warn('Hooks are disabled: no settings file says "enableHooks": true. Nothing would run.')
    else:
        yield from _plan_lines(plan, setup, style)
        if plan.skipped or invalid:
            yield "Would not run:"
        for skip in plan.skipped:
            yield f"  {style.warn(one_line(skip.hook.label))}  {one_line(skip.reason)}"
            yield style.dim(f"     {show_place(*place_of(setup, skip.hook))}")
    for problem in invalid:
        yield f"  {style.warn('invalid')}  {one_line(str(problem))}"


def _plan_lines(plan: HookExecutionPlan, setup: Setup, style: Style) -> Iterator[str]:
    yield from _order(plan)
    for number, hook in enumerate(plan.hooks, start=1):
        yield f"  {number}. {style.good(one_line(hook.label))}  {_details(hook, plan)}"
        yield style.dim(f"     {show_place(*place_of(setup, hook))}")


def _order(plan: HookExecutionPlan) -> Iterator[str]:
    if not plan.hooks:
        yield "No hook would run."
    elif len(plan.hooks) == 1:
        yield "1 hook would run:"
    elif plan.sequential:
        yield f"{plural(len(plan.hooks), 'hook')} would run, one after another, because of"
        yield from (f'  "sequential": true in {origin}: {location}' for origin, location in _sequential_groups(plan))
    else:
        yield f"{plural(len(plan.hooks), 'hook')} would run, at the same time; no group says sequential:"


def _details(hook: HookEntry, plan: HookExecutionPlan) -> str:
    said = [f"timeout {show_ms(hook.timeout_ms)}"]
    if hook in plan.undecided:
        said.insert(0, f"because it can't be told in time whether {one_line(hook.matcher or '')!r} matches")
    elif hook.matcher and EVENT_TABLE[hook.event].matching is not Matching.NEVER_ASKED:
        said.insert(0, f"{'if' if plan.subject is None else 'because'} {one_line(hook.matcher)!r} matches")
    return ", ".join(said)
