"""Let a disabled hook run again: remove its name from hooksConfig.disabled of a settings file.

Examples:
  hookline enable guard
  hookline enable guard --scope project
"""

import argparse
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from hookline.apps.cli.options import (
    add_common_options,
    add_scope_option,
    add_yes_option,
    make_config,
    read_config,
    require_terminal,
)
from hookline.apps.cli.report.printer import print_report
from hookline.apps.cli.report.style import style
from hookline.inspect.switches import still_off, switch_off, switch_on
from hookline.inspect.view import Setup, read_setup
from hookline.protocol.constants import ConfigSource
from hookline.protocol.text.readable import one_line, show_place


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `enable` and `disable`."""
    parser.add_argument("name", metavar="NAME", help="the hook's name, or its command if it has no name")
    add_scope_option(parser, "user", "whose settings file to change; a project's can disable only its own hooks")
    add_yes_option(parser)
    add_common_options(parser, settings=False)


def run(given: argparse.Namespace) -> int:
    """Enables the hooks of a name, and prints what still disables them."""
    return switch(given, is_on=True)


def switch(given: argparse.Namespace, *, is_on: bool) -> int:
    """Switches the hooks of a name, and prints their state from the settings as they are then."""
    change = switch_on if is_on else switch_off
    confirm = partial(require_terminal, given)
    target, is_changed = change(read_setup(make_config(given)), given.name, ConfigSource(given.scope), confirm)
    setup = read_setup(read_config(given))
    states = [
        {"event": hook.event.value, "origin": hook.origin, "enabled": hook.enabled, "disabledBy": hook.disabled_by}
        for hook in setup.hooks
        if hook.label == given.name
    ]
    report = {"hook": given.name, "file": target.origin, "changed": is_changed, "hooks": states}
    print_report(given, report, _lines(report, setup))
    return 0


def _lines(report: Mapping[str, Any], setup: Setup) -> Iterator[str]:
    change = "was changed" if report["changed"] else "needed no change"
    yield f"{one_line(report['hook'])}: {show_place(report['file'])} {change}"
    for hook in report["hooks"]:
        state = style.good("on") if hook["enabled"] else style.warn("off")
        off = hook["disabledBy"]
        why = f" ({still_off(setup, off)})" if off and off != report["file"] else ""
        yield f"  {hook['event']} from {show_place(hook['origin'])}: {state}{why}"
