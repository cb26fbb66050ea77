"""Keep a hook from running: put its name into hooksConfig.disabled of a settings file.

Examples:
  hookline disable guard
  hookline disable guard --scope project
"""

import argparse

from hookline.apps.cli.commands.enable import configure, switch

__all__ = ["configure", "run"]


def run(given: argparse.Namespace) -> int:
    """Disables the hooks of a name, and prints their state."""
    return switch(given, is_on=False)
