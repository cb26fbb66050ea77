"""Let a hook that was disabled run again: take its name out of hooksConfig.disabled of a settings file.

Examples:
  hookline enable guard
  hookline enable guard --scope project
"""

from hookline.apps.cli.commands._switch import configure_switch as configure
from hookline.apps.cli.commands._switch import enable as run

__all__ = ["configure", "run"]
