"""`hookline check`: what is wrong with the settings, and what is surely not meant."""

import argparse
import asyncio
import json
import os
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

from hookline.cli.lint.checks import CHECKS, run_checks
from hookline.cli.lint.dry_run import RULES, dry_run
from hookline.cli.lint.finding import Finding
from hookline.cli.lint.sarif import sarif
from hookline.cli.lint.setup import Setup, read_setup
from hookline.cli.options import add_settings_options, read_config, require_project
from hookline.cli.report.overview import trust_of
from hookline.cli.report.style import Style
from hookline.cli.report.text import plural
from hookline.contract.text import visible
from hookline.settings.trust import TrustState, TrustStore, default_trust_path

_EXAMPLES = """\
examples:
  hookline check                          all settings that count here
  hookline check --settings hooks.json    this file only
  hookline check --run                    also run every hook on sample inputs, and read what it answers
  hookline check --strict --sarif > hooks.sarif    in CI

exit codes:
  0  no errors (with --strict: no warnings either)    1  there are some, or the command could not do its work
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the description and the options."""
    parser.description = "Check the settings: what is wrong, where, and what to do; and what is legal but not meant."
    parser.epilog = _EXAMPLES
    parser.add_argument(
        "--run",
        action="store_true",
        help="run the hooks, too: on harmless and on suspicious samples, which are told to them and never carried out",
    )
    parser.add_argument("--strict", action="store_true", help="let warnings fail the command as well")
    parser.add_argument(
        "--tool", metavar="NAME", action="append", default=[], help="a tool that your agent has, too (may be repeated)"
    )
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print one JSON object for programs")
    shape.add_argument("--sarif", action="store_true", help="print SARIF 2.1.0 for code scanning")
    add_settings_options(parser)


def run(given: argparse.Namespace) -> int:
    """Prints what was found; the exit code is 1 when there are errors."""
    require_project(given)
    config = read_config(given, session_id="hookline-check")
    setup = read_setup(config, given.tool)
    findings = list(run_checks(setup))
    system = config.get_hook_system() if given.run else None
    if system is not None:
        findings += asyncio.run(dry_run(system, setup))
    elif given.run:
        print("hookline: nothing was run, because hooks are not enabled", file=sys.stderr)
    findings.sort(key=lambda finding: (not finding.problem.is_error, _place(finding)))
    if given.sarif:
        rules = {check.rule: check.about for check in CHECKS} | RULES
        report = sarif(findings, rules, project_dir=setup.project_dir, version=version("hookline"))
        print(json.dumps(report, indent=2))
    elif given.json:
        print(json.dumps(_report(findings, setup), indent=2))
    else:
        for line in _lines(findings, setup):
            print(line)
    fails = [finding for finding in findings if given.strict or finding.problem.is_error]
    return 1 if fails else 0


def _place(finding: Finding) -> tuple[str, int, int]:
    problem = finding.problem
    return problem.origin, problem.line or 0, problem.column or 0


def _report(findings: Sequence[Finding], setup: Setup) -> dict[str, object]:
    return {
        "files": _files(setup),
        "hooks": len(setup.hooks),
        "untrusted": _untrusted(setup),
        "findings": [finding.to_dict() for finding in findings],
    }


def _files(setup: Setup) -> list[str]:
    return [layer.origin for layer in setup.layers if layer.text is not None or layer.problems]


def _untrusted(setup: Setup) -> int:
    """How many hooks wait for trust: nothing is wrong with them, and yet they do not run."""
    store = TrustStore(default_trust_path())
    return sum(trust_of(hook, setup.project_dir, store) is not TrustState.TRUSTED for hook in setup.active())


def _lines(findings: Sequence[Finding], setup: Setup) -> Iterator[str]:
    style = Style.for_stdout()
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    for finding in findings:
        paint = style.bad if finding.problem.is_error else style.warn
        yield f"{style.bold(visible(_shown(finding)))}: {paint(finding.level)} {style.dim(f'[{finding.rule}]')}"
        yield textwrap.fill(
            visible(finding.text),
            width,
            initial_indent="    ",
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    if findings:
        yield ""
    yield _summary(findings, setup, style)
    if waiting := _untrusted(setup):
        yield f"{plural(waiting, 'hook')} of this project will not run before you have looked: hookline trust"


def _shown(finding: Finding) -> str:
    """The place in a way that terminals and editors open, short where it is below this directory."""
    problem = finding.problem
    file = os.path.relpath(problem.origin) if Path(problem.origin).is_relative_to(Path.cwd()) else problem.origin
    return f"{file}:{problem.line}:{problem.column}" if problem.line else file


def _summary(findings: Sequence[Finding], setup: Setup, style: Style) -> str:
    counts = Counter(finding.level for finding in findings)
    files = _files(setup)
    if not files:
        looked = ", ".join(layer.origin for layer in setup.layers)
        return f"There are no settings (looked for {looked}). hookline init writes some."
    where = f"{plural(len(setup.hooks), 'hook')} in {plural(len(files), 'file')}"
    if not counts:
        return style.good("Nothing wrong") + f" with {where}."
    said = ", ".join(plural(counts[level], level) for level in ("error", "warning") if counts[level])
    return f"{style.bad(said) if counts['error'] else style.warn(said)} ({where})"
