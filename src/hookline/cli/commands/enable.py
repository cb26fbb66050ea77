"""`hookline enable`: let a hook run again."""

import argparse

from hookline.cli.commands import _switch

_EXAMPLES = """\
examples:
  hookline enable guard
  hookline enable guard --in project
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the description and the options."""
    parser.description = (
        "Let a hook that was disabled run again: take its name out of hooksConfig.disabled of a settings file."
    )
    parser.epilog = _EXAMPLES
    _switch.configure_switch(parser)


def run(given: argparse.Namespace) -> int:
    """Writes the setting."""
    return _switch.enable(given)
