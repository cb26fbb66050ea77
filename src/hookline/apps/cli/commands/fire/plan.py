"""`hookline fire --plan`: the hooks that would run for an event, in which order, and why others would not."""

import argparse
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hookline.apps.cli.options import make_config
from hookline.apps.cli.report.fire import AT_ONCE, runs_by_layer, show_order
from hookline.apps.cli.report.printer import print_report
from hookline.apps.cli.report.style import style
from hookline.apps.cli.report.text import screen_width, show_dialect, show_policy, wrap
from hookline.engine.event_table import EVENT_TABLE, Matching
from hookline.engine.plan import plan as make_plan
from hookline.inspect.view import Setup, read_setup
from hookline.protocol.constants import LIFECYCLE_REMEDY
from hookline.protocol.events import HookEventName, likely_event
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.text.readable import HOOKS_DISABLED, cut, one_line, plural, show_message, show_ms, show_place
from hookline.protocol.verdict import HookExecutionPlan
from hookline.settings.read.files import Problem

_BELOW_HOOKS = re.compile(r"(?:extensions\[\d+\]\.)?hooks\.(.*)", re.DOTALL)


def show_plan(given: argparse.Namespace, event: HookEventName, fields: Mapping[str, Any]) -> int:
    """Print the plan."""
    name = EVENT_TABLE[event].subject
    subject = None if name is None else fields.get(name)
    setup = read_setup(make_config(given))
    hooks = setup.hooks if setup.is_enabled else ()
    plan = make_plan(hooks, event, subject if isinstance(subject, str) else None, why_untrusted=setup.why_untrusted)
    report = _report(plan, setup)
    print_report(given, report, _lines(report, show_order(plan)))
    return 0


def _report(plan: HookExecutionPlan, setup: Setup) -> dict[str, Any]:
    groups = ((hook.origin, hook.location.rpartition(".hooks[")[0]) for hook in plan.hooks if hook.sequential)
    refused = [_spot(hook, setup) for hook in plan.hooks if hook.refusal]
    errors = (problem for problem in setup.problems if problem.is_error and _affects(problem, plan.event))
    return {
        "event": plan.event.value,
        "subject": plan.subject,
        "enabled": setup.is_enabled,
        "sequential": plan.sequential,
        "byLayer": runs_by_layer(plan),
        "sequentialBecause": [{"origin": origin, "location": path} for origin, path in dict.fromkeys(groups)],
        "hooks": [setup.describe(hook) for hook in plan.hooks],
        "skipped": [{**setup.describe(skip.hook), "reason": skip.reason} for skip in plan.skipped],
        # The line of a hook that would run says why it fails.
        "invalid": [str(problem) for problem in errors if not any(_is_about(problem, spot) for spot in refused)],
    }


def _spot(hook: HookEntry, setup: Setup) -> tuple[str, str]:
    """The file and the path of a hook, as problems have them."""
    return setup.place(hook)[0].origin, hook.location


def _is_about(problem: Problem, spot: tuple[str, str]) -> bool:
    origin, location = spot
    return problem.origin == origin and (problem.path == location or problem.path.startswith(f"{location}."))


def _affects(problem: Problem, event: HookEventName) -> bool:
    """Whether an error may cost the event a hook: it is in the event, above it, or in a misspelled event."""
    below = _BELOW_HOOKS.fullmatch(problem.path)
    if below is None:
        return problem.path in ("", "hooks") or problem.path.startswith("extensions")
    name = below[1].partition("[")[0]
    return event is (HookEventName(name) if name in set(HookEventName) else likely_event(name))


def _lines(report: Mapping[str, Any], order: str) -> Iterator[str]:
    event, subject = report["event"], report["subject"]
    yield style.bold(event if subject is None else f"{event} {one_line(subject)}")
    if report["enabled"]:
        yield from _order(report, order)
    else:
        yield style.warn(HOOKS_DISABLED)
    for number, hook in enumerate(report["hooks"], start=1):
        yield from _headed(f"  {number}. ", hook["hook"], style.good, _details(hook, report))
        if "dialect" in hook:
            yield style.dim(f"     {show_dialect(hook)}")
        if "policyVersion" in hook:
            yield style.dim(f"     {show_policy(hook)}")
        if "refusal" in hook:
            yield style.warn(f"     fails: {show_message(hook['refusal'])}")
        yield style.dim(f"     {show_place(hook['file'], hook['line'])}")
    if report["skipped"] or (report["invalid"] and report["enabled"]):
        yield "Would not run:"
    for skip in report["skipped"]:
        yield from _headed("  ", skip["hook"], style.warn, show_message(skip["reason"]))
        yield style.dim(f"     {show_place(skip['file'], skip['line'])}")
    if any(hook.get("applied") is False and "mode" not in hook for hook in report["hooks"]):
        yield style.warn(f"Answers that are only logged have no effect; {LIFECYCLE_REMEDY}.")
    for problem in report["invalid"]:
        yield f"  {style.warn('invalid')}  {show_message(problem)}"


def _headed(start: str, name: str, paint: Callable[[str], str], details: str) -> Iterator[str]:
    """Yield a hook and its details, on one line if that fits on the screen."""
    width, shown = screen_width(), one_line(name)
    if len(start) + len(shown) + 2 + len(details) <= width:
        yield f"{start}{paint(shown)}  {details}"
    else:
        yield f"{start}{paint(cut(shown, width - len(start)))}"
        yield from wrap(details, "     ")


def _order(report: Mapping[str, Any], order: str) -> Iterator[str]:
    count = len(report["hooks"])
    would_run = f"{plural(count, 'hook')} would run"
    if count == 0:
        yield "No hook would run."
    elif count == 1:
        yield f"{would_run}:"
    elif report["sequential"] and not report["byLayer"]:
        yield f"{would_run}, {order}, because of"
        for at in report["sequentialBecause"]:
            yield f'  "sequential": true in {show_place(at["origin"])}: {at["location"]}'
    elif order == AT_ONCE:
        yield f"{would_run} {order}, because no group is sequential:"
    else:
        yield f"{would_run}, {order}:"


def _details(hook: Mapping[str, Any], report: Mapping[str, Any]) -> str:
    timeout = f"timeout {show_ms(hook['timeout'])}"
    if hook["final"]:
        timeout = f"{timeout}, final: after all others, with the arguments as they will be used"
    if "mode" in hook:
        timeout = f"{timeout}, mode {hook['mode']}: what it decides does not count"
    elif hook.get("applied") is False or EVENT_TABLE[report["event"]].observe_only:
        timeout = f"{timeout}, what it answers is only logged"
    if not hook["matcher"] or EVENT_TABLE[report["event"]].matching is Matching.NEVER_ASKED:
        return timeout
    return f"{'if' if report['subject'] is None else 'because'} {one_line(hook['matcher'])!r} matches, {timeout}"
