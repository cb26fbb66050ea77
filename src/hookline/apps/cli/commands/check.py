"""Check the settings for errors and likely mistakes: what is wrong, where, and how to fix it.

Examples:
  hookline check                          all settings that apply here
  hookline check --settings hooks.json    this file only
  hookline check --run                    also run every hook on sample inputs, and check its answers
  hookline check --strict --sarif > hooks.sarif    in CI

Exit codes:
  0  no errors (with --strict: no warnings either)    1  there are some, or the command failed
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from hookline.apps.cli.interrupt import run_loop
from hookline.apps.cli.options import add_common_options, add_json_option, read_config
from hookline.apps.cli.report.printer import print_json, print_report
from hookline.apps.cli.report.style import style
from hookline.apps.cli.report.text import trust_advice, wrap
from hookline.inspect.foreign_settings import unread_lines, unread_report
from hookline.inspect.hooks import trust_states
from hookline.inspect.lint.checks import CHECKS, run_checks
from hookline.inspect.lint.dry_run import RULES, dry_run
from hookline.inspect.lint.evidence import SampleRun, by_hook, evidence_report, summary_of
from hookline.inspect.lint.finding import LintFinding, sarif
from hookline.inspect.lint.guards import is_unproven
from hookline.inspect.view import Setup, read_setup
from hookline.protocol.constants import FiredBy
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.text.readable import one_line, plural, show_place
from hookline.stderr import warn_user

_UNPROVEN = "none of these is dangerous, so nothing shows that it denies anything; say in a case file what it must deny"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--run",
        action="store_true",
        help="also run the hooks on harmless and suspicious sample inputs, which are never carried out",
    )
    parser.add_argument("--strict", action="store_true", help="also fail on warnings")
    parser.add_argument(
        "--tool", metavar="NAME", action="append", default=[], help="another tool that your agent has (may be repeated)"
    )
    shape = parser.add_mutually_exclusive_group()
    add_json_option(shape)
    shape.add_argument("--sarif", action="store_true", help="print SARIF 2.1.0 for code scanning")
    add_common_options(parser, json=False)


def run(given: argparse.Namespace) -> int:
    """Print the findings; the exit code is 1 when there are errors."""
    # Samples are not real events, so they are not logged and do not count in statistics.
    config = read_config(given, session_id="hookline-check", log_file=False, fired_by=FiredBy.CHECK)
    setup = read_setup(config, given.tool)
    findings = list(run_checks(setup))
    system = config.get_hook_system() if given.run else None
    trials: list[SampleRun] = []
    if system is not None:
        tried = run_loop(dry_run(system, setup))
        findings += tried.findings
        trials = tried.trials
    elif given.run:
        warn_user("nothing was run, because hooks are not enabled")
    findings.sort(key=lambda finding: (not finding.problem.is_error, _place(finding)))
    if given.sarif:
        rules = {check.rule: check.about for check in CHECKS} | RULES
        report = sarif(findings, rules, project_dir=setup.project_dir, version=version("hookline"))
        print_json(report)
    else:
        evidence = by_hook(trials)
        summary = {
            **_report(findings, setup),
            **({"evidence": [evidence_report(*entry) for entry in evidence]} if given.run else {}),
            "unread": unread_report(config),
        }
        print_report(given, summary, _lines(findings, summary, setup, evidence))
    return 1 if any(given.strict or finding.problem.is_error for finding in findings) else 0


def _place(finding: LintFinding) -> tuple[str, int, int]:
    problem = finding.problem
    return problem.origin, problem.line or 0, problem.column or 0


def _report(findings: Sequence[LintFinding], setup: Setup) -> dict[str, Any]:
    trust = trust_states(setup)
    return {
        "files": [layer.origin for layer in setup.layers if layer.text is not None or layer.problems],
        "hooks": len(setup.hooks),
        # Enabled hooks that do not run because they are not trusted.
        "untrusted": sum(trust[id(hook)] in ("new", "changed") for hook in setup.active()),
        "findings": [finding.to_dict() for finding in findings],
    }


def _lines(
    findings: Sequence[LintFinding],
    report: Mapping[str, Any],
    setup: Setup,
    evidence: Sequence[tuple[HookEntry, Sequence[SampleRun]]],
) -> Iterator[str]:
    for finding in findings:
        paint = style.bad if finding.problem.is_error else style.warn
        yield f"{style.bold(_shown(finding))}: {paint(finding.level)} {style.dim(f'[{finding.rule}]')}"
        yield from wrap(finding.text, "    ")
    if findings:
        yield ""
    for hook, trials in evidence:
        yield style.dim(f"{hook.event} {one_line(hook.label)}, tried on {plural(len(trials), 'sample')}:")
        yield from wrap(summary_of(trials), "    ")
        if is_unproven(hook, trials, setup.project_dir):
            yield from map(style.warn, wrap(_UNPROVEN, "    "))
    if evidence:
        yield ""
    yield _summary(findings, report, setup)
    if report["untrusted"]:
        yield style.warn(trust_advice(report["untrusted"]))
        yield style.dim("Matchers and scripts are checked when they are trusted, or with --settings FILE.")
    yield from map(style.warn, unread_lines(report["unread"]))


def _shown(finding: LintFinding) -> str:
    """The place in a form that terminals and editors can open."""
    problem = finding.problem
    file = show_place(problem.origin, problem.line)
    return f"{file}:{problem.column}" if problem.line else file


def _summary(findings: Sequence[LintFinding], report: Mapping[str, Any], setup: Setup) -> str:
    counts = Counter(finding.level for finding in findings)
    if not report["files"]:
        looked = ", ".join(show_place(layer.origin) for layer in setup.layers)
        return f"There is no settings file (looked for {looked}); hookline init writes one."
    where = f"{plural(report['hooks'], 'hook')} in {plural(len(report['files']), 'file')}"
    if not counts and report["untrusted"]:
        return style.warn(f"{report['untrusted']} of {where} not checked, because of missing trust.")
    if not counts:
        return style.good("Nothing wrong") + f" with {where}."
    count = ", ".join(plural(counts[level], level) for level in ("error", "warning") if counts[level])
    return f"{style.bad(count) if counts['error'] else style.warn(count)} ({where})"
