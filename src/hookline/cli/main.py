"""The command `hookline`: parse, dispatch, and turn errors into exit codes."""

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import cast

from hookline.errors import HooklineError

_DESCRIPTION = "Lifecycle hooks for AI agents: run your own scripts at every tool and model call."

_FIRE_EPILOG = """\
examples:
  hookline fire BeforeTool --input '{"tool_name": "write_file", "tool_input": {"file_path": "a.txt"}}'
  hookline fire BeforeTool --settings hooks.json --input @input.json --json

exit codes:
  0  the hooks ran (or none had to)    2  the merged answer blocks    1  the command could not do its work
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.run is None:
        parser.print_help()
        return 1
    module, function = given.run.split(":")
    try:
        # Only the command that was asked for is loaded: `hookline --help` must not wait for the engine.
        run = cast("Callable[[argparse.Namespace], int]", getattr(import_module(f"hookline.cli.{module}"), function))
        return run(given)
    except HooklineError as error:
        print(f"hookline: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has gone; there is nobody left to tell.
        sys.stderr.close()
        return 1


class _Parser(argparse.ArgumentParser):
    """Bad usage is exit code 1, because 2 means that a hook blocks."""

    def error(self, message: str) -> None:  # type: ignore[override]  # it ends the program, as the base class's does
        self.print_usage(sys.stderr)
        print(f"hookline: {message}", file=sys.stderr)
        sys.exit(1)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="hookline", description=_DESCRIPTION)
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)
    fire = commands.add_parser(
        "fire",
        help="fire one event by hand and show what the hooks answer",
        description="Fire one event by hand, on the very path that an agent uses, and show what the hooks answer.",
        epilog=_FIRE_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    fire.add_argument("event", metavar="EVENT", help="the event, such as BeforeTool")
    fire.add_argument(
        "--input",
        metavar="JSON",
        default="{}",
        help="the event's own fields as one JSON object: inline, @FILE, or - for standard input",
    )
    fire.add_argument("--json", action="store_true", help="print one JSON object for programs")
    fire.add_argument("--session-id", metavar="ID", help="the session's id; one is made if it is not given")
    add_settings_options(fire)
    fire.set_defaults(run="fire:run")
    return parser


def add_settings_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say which settings are read, and for which project."""
    parser.add_argument("--project", metavar="DIR", default=".", help="the project's directory (default: this one)")
    parser.add_argument(
        "--settings",
        metavar="FILE",
        action="append",
        help="read this settings file only, and trust it (may be repeated; the first has the highest priority)",
    )


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version  # noqa: PLC0415 - slow to load, and rarely needed

        print(f"hookline {version('hookline')}")
        parser.exit()
