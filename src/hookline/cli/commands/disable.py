"""`hookline disable`: keep a hook from running."""

import argparse

from hookline.cli.commands import _switch

_EXAMPLES = """\
examples:
  hookline disable guard
  hookline disable guard --in project
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the description and the options."""
    parser.description = "Keep a hook from running: put its name into hooksConfig.disabled of a settings file."
    parser.epilog = _EXAMPLES
    _switch.configure_switch(parser)


def run(given: argparse.Namespace) -> int:
    """Writes the setting."""
    return _switch.disable(given)
