"""Find out whether hooks run here: settings, shell, log, trust, every hook, and a real one fired.

With --prove, prove instead that hooks judged what agents did: a call that only a hook can deny, and every call of the
transcripts of Claude Code, Codex, Gemini CLI and hookline's own agent. Each call that ran must have a decision in the
log; those without one are shown with the likely cause. Transcripts of Cursor and Copilot are not read: there the canary
and the log are the proof.

Examples:
  hookline doctor
  hookline doctor --project ../other --json
  hookline doctor --prove                   our own agent's canary; the transcripts of all agents of the last 7 days
  hookline doctor --prove claude            prints one line to run, and waits until the call was denied
  hookline doctor --prove codex --no-canary --since 30d

Exit codes:
  0  hooks run here; every call was judged, and the canary was denied
  1  a hook can't run; a call was not judged, or there is nothing to compare
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from hookline.apps.cli.interrupt import run_loop
from hookline.apps.cli.options import add_common_options, at_least, read_config
from hookline.apps.cli.report.printer import print_report
from hookline.apps.cli.report.style import style
from hookline.apps.cli.report.text import wrap
from hookline.bridge.agents import HOSTS
from hookline.client.config import Config
from hookline.dialects.transcripts.find import OWN
from hookline.extensions import lazy_module
from hookline.inspect.doctor.checks import diagnose
from hookline.inspect.doctor.diagnostic import Diagnostic, Severity
from hookline.protocol.constants import FiredBy
from hookline.protocol.text.readable import plural

if TYPE_CHECKING:
    from hookline.apps.cli.commands.doctor import prove
else:
    prove = lazy_module("hookline.apps.cli.commands.doctor.prove")

_PAINTS = {Severity.OK: style.good, Severity.WARNING: style.warn, Severity.ERROR: style.bad}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    agents = (OWN, *HOSTS)
    parser.add_argument(
        "--prove",
        metavar="AGENT",
        nargs="?",
        const=True,
        choices=(True, *agents),
        help=f"prove that hooks judged the calls of an agent: {', '.join(agents)} (default: all)",
    )
    parser.add_argument(
        "--no-canary", action="store_true", help="with --prove: only compare the transcripts with the log"
    )
    parser.add_argument(
        "--wait",
        metavar="SECONDS",
        type=at_least(0, float),
        default=120.0,
        help="with --prove: how long to wait for another agent's canary (default: 120)",
    )
    parser.add_argument(
        "--since", metavar="WHEN", default="7d", help="with --prove: calls that are not older (default: 7d)"
    )
    parser.add_argument("--session", metavar="ID", help="with --prove: calls of this session")
    add_common_options(parser)


def run(given: argparse.Namespace) -> int:
    """Print the checks; the exit code is 1 if a hook can't run."""
    if given.prove is not None:
        return prove.prove(given)
    config = read_config(given, session_id="hookline-doctor", fired_by=FiredBy.DOCTOR)
    found = diagnose(config, run_loop)
    bad = sum(each.severity is Severity.ERROR for each in found)
    shown = [{name: value for name, value in asdict(each).items() if value is not None} for each in found]
    print_report(given, {"healthy": not bad, "checks": shown}, _lines(found, _conclusion(bad, config)))
    return 1 if bad else 0


def _conclusion(bad: int, config: Config) -> str:
    """One sentence, which claims nothing of hooks that do not exist or are disabled."""
    hooks, policy = config.get_settings().hooks, config.get_settings().policy
    if policy is not None and policy.agents_off is not None:
        return style.bad(f"No agent may work here: {policy.agents_off}")
    if bad:
        return style.bad(f"{plural(bad, 'thing')} to fix before all hooks run here.")
    if not hooks:
        return style.warn("No hook runs here: none is configured.")
    if not any(hook.enabled for hook in hooks):
        return style.warn("No hook runs here: all are disabled.")
    if disabled := sum(not hook.enabled for hook in hooks):
        return style.warn(f"Hooks run here, but for {disabled} that {'is' if disabled == 1 else 'are'} disabled.")
    return style.good("Hooks run here.")


def _lines(found: Sequence[Diagnostic], conclusion: str) -> Iterator[str]:
    width = max(len(each.about) for each in found) + 2
    for each in found:
        paint = _PAINTS[each.severity]
        first, *others = wrap(each.message, " " * (9 + width))
        yield f"{paint(f'{each.severity.value:<9}')}{style.bold(f'{each.about:<{width}}')}{first.lstrip()}"
        yield from others
    yield ""
    yield conclusion
