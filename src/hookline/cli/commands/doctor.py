"""Find out whether hooks run here: settings, shell, log, trust, every hook, and a real one fired.

Examples:
  hookline doctor
  hookline doctor --project ../other --json

Exit codes:
  0  hooks run here    1  something keeps them from running
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from hookline.cli.commands._examine import examine
from hookline.cli.commands._signs import Health, Sign
from hookline.cli.options import add_common_options, read_config
from hookline.cli.report.printer import print_report
from hookline.cli.report.style import style
from hookline.cli.report.text import plural, wrap
from hookline.config import Config
from hookline.contract.vocabulary import FiredBy

_MARKS = {Health.GOOD: ("ok", style.good), Health.ODD: ("note", style.warn), Health.BAD: ("BAD", style.bad)}


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    add_common_options(parser)


def run(given: argparse.Namespace) -> int:
    """Prints the findings; the exit code is 1 when something keeps hooks from running."""
    config = read_config(given, session_id="hookline-doctor", fired_by=FiredBy.DOCTOR)
    signs = examine(config)
    bad = sum(sign.health is Health.BAD for sign in signs)
    shown = [{name: value for name, value in asdict(sign).items() if value is not None} for sign in signs]
    print_report(given, {"healthy": not bad, "signs": shown}, _lines(signs, _conclusion(bad, config)))
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


def _lines(signs: Sequence[Sign], conclusion: str) -> Iterator[str]:
    width = max(len(sign.about) for sign in signs) + 2
    for sign in signs:
        mark, paint = _MARKS[sign.health]
        first, *others = wrap(sign.message, " " * (6 + width))
        yield f"{paint(f'{mark:<6}')}{style.bold(f'{sign.about:<{width}}')}{first.lstrip()}"
        yield from others
    yield ""
    yield conclusion
