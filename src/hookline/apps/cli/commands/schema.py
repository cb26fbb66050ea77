"""Print a JSON Schema, for editors and for tests of your hooks.

Examples:
  hookline schema > settings.schema.json    then, in a settings file: "$schema": "./settings.schema.json"
  hookline schema input BeforeTool          what a BeforeTool hook reads on stdin
  hookline schema output                    what a hook may print on stdout
  hookline schema cases > cases.schema.json     then, in a case file: #:schema ./cases.schema.json
"""

import argparse
from typing import Any

from hookline.apps.cli.options import event_of
from hookline.apps.cli.report.printer import print_json
from hookline.engine.event_table import EVENT_TABLE
from hookline.errors import UsageError
from hookline.protocol.text.json_schema import input_schema, output_schema
from hookline.settings.decode.schema import settings_schema
from hookline.testing.cases.schema import cases_schema


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "what",
        nargs="?",
        choices=("settings", "input", "output", "cases"),
        default="settings",
        help="(default: settings)",
    )
    parser.add_argument("event", nargs="?", metavar="EVENT", help="for input: the event, such as BeforeTool")
    parser.add_argument("--json", action="store_true", help="on one line, for programs")


def run(given: argparse.Namespace) -> int:
    """Print the schema."""
    print_json(_schema(given.what, given.event), indent=None if given.json else 2)
    return 0


def _schema(what: str, event: str | None) -> dict[str, Any]:
    if what != "input":
        if event is not None:
            raise UsageError(f"the schema of {what} is the same for all events; leave {event} out")
        if what == "cases":
            return cases_schema()
        return settings_schema() if what == "settings" else output_schema()
    if event is None:
        raise UsageError("which event? Write, for example, hookline schema input BeforeTool")
    name = event_of(event)
    return input_schema(name, EVENT_TABLE[name].input)
