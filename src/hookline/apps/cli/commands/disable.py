"""Keep a hook from running: put its name into hooksConfig.disabled of a settings file.

Examples:
  hookline disable guard
  hookline disable guard --scope project
"""

from hookline.apps.cli.commands._switch import configure_switch as configure
from hookline.apps.cli.commands._switch import disable as run

__all__ = ["configure", "run"]
