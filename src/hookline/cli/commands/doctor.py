"""`hookline doctor`: do hooks run here, and if not, why."""

import argparse
import json
import shutil
import sys
import textwrap
from collections.abc import Iterator

from hookline.cli.commands._examine import Health, Sign, examine
from hookline.cli.options import add_settings_options, read_config, require_project
from hookline.cli.report.style import Style
from hookline.contract.text import visible

_EXAMPLES = """\
examples:
  hookline doctor
  hookline doctor --project ../other --json

exit codes:
  0  hooks run here    1  something keeps them from running
"""
_MARKS = {Health.GOOD: "ok", Health.ODD: "note", Health.BAD: "BAD"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the description and the options."""
    parser.description = (
        "Find out whether hooks run here: settings, shell, log, trust, every hook, and a real one fired."
    )
    parser.epilog = _EXAMPLES
    parser.add_argument("--json", action="store_true", help="print one JSON object for programs")
    add_settings_options(parser)


def run(given: argparse.Namespace) -> int:
    """Prints what was found; the exit code is 1 when something keeps hooks from running."""
    require_project(given)
    signs = examine(read_config(given, session_id="hookline-doctor"))
    is_well = all(sign.health is not Health.BAD for sign in signs)
    if given.json:
        print(json.dumps({"healthy": is_well, "signs": [sign.to_dict() for sign in signs]}, indent=2))
    else:
        for line in _lines(signs, is_well=is_well):
            print(line)
    return 0 if is_well else 1


def _lines(signs: list[Sign], *, is_well: bool) -> Iterator[str]:
    style = Style.for_stdout()
    paint = {Health.GOOD: style.good, Health.ODD: style.warn, Health.BAD: style.bad}
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    about = max(len(sign.about) for sign in signs) + 2
    indent = " " * (6 + about)
    for sign in signs:
        said = textwrap.fill(
            visible(sign.said),
            width,
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        yield f"{paint[sign.health](f'{_MARKS[sign.health]:<6}')}{style.bold(f'{sign.about:<{about}}')}{said.lstrip()}"
    bad = sum(sign.health is Health.BAD for sign in signs)
    yield ""
    yield (
        style.good("Hooks run here.")
        if is_well
        else style.bad(f"{bad} thing{'' if bad == 1 else 's'} to mend before all hooks run here.")
    )
