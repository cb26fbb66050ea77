"""The command `hookline`: find the command that was asked for, load it alone, and turn errors into exit codes."""

import argparse
import signal
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

from hookline.errors import HooklineError

TYPE_CHECKING = False  # typing.TYPE_CHECKING without typing, which `hookline --help` need not wait for
if TYPE_CHECKING:
    from typing import Any, NoReturn, Protocol

    class Command(Protocol):
        """What a command's module offers."""

        def configure(self, parser: argparse.ArgumentParser) -> None:
            """Adds the description and the options."""

        def run(self, given: argparse.Namespace) -> int:
            """Does it, and returns the exit code."""


EXIT_TERMINATED = 143

# Each command is a module of `commands/` with `configure(parser)` and `run(given)`.
COMMANDS: Mapping[str, str] = {
    "init": "write a commented settings file and a first hook",
    "list": "list every hook: where it stands, whether it runs, how it did",
    "enable": "let a disabled hook run again",
    "disable": "keep a hook from running",
    "check": "find what is wrong with the settings, or surely not meant",
    "explain": "tell what would run for an event, and why the rest would not",
    "fire": "fire one event by hand and show what the hooks answer",
    "trust": "look at a project's hooks and let them run",
    "untrust": "take that back",
    "log": "show what happened, newest last, or all about one run",
    "stats": "count runs, blocks and failures, and measure times against budgets",
    "doctor": "find out whether hooks run here, and if not, why",
    "schema": "print the JSON Schema of settings, inputs or outputs",
    "completion": "print a script that lets your shell complete all this",
    "agent": "run the coding agent whose every step goes through the hooks",
}


class Parser(argparse.ArgumentParser):
    """Bad usage is exit code 1, because 2 means that a hook blocks."""

    def error(self, message: str) -> "NoReturn":
        """Says what is wrong and how it is used, and ends the program."""
        self.print_usage(sys.stderr)
        sys.stderr.write(f"hookline: {message}\n")
        sys.exit(1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:
        # As if asked politely: hooks that run are ended with us, which a plain death by signal would not do.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT_TERMINATED))
    words = _with_dashes(words)
    parser = _top_parser()
    if not words:
        parser.print_help()
        return 1
    given = parser.parse_args(words[:1])
    command, own_parser = load_command(given.command)
    try:
        return command.run(own_parser.parse_args(words[1:]))
    except HooklineError as error:
        sys.stderr.write(f"hookline: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has gone; there is nobody left to tell.
        sys.stderr.close()
        return 1
    except Exception:  # noqa: BLE001 - the door: a person gets a sentence, and what we need to mend it
        import traceback  # noqa: PLC0415 - needed at this moment only

        sys.stderr.write(f"{traceback.format_exc()}hookline: this is a fault in hookline itself; please report it\n")
        return 1


def load_command(name: str) -> "tuple[Command, Parser]":
    """The command of this name, with the parser of its options."""
    command: Any = import_module(f"hookline.cli.commands.{name}")
    parser = Parser(prog=f"hookline {name}", formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    command.configure(parser)
    return command, parser


def _with_dashes(words: list[str]) -> list[str]:
    """The words, with the options that are meant by `help` and `version`, which other programs have as commands."""
    match words:
        case ["help"] | ["help", "help" | "version", *_]:
            return ["--help"]
        case ["help", command, *_]:
            return [command, "--help"]
        case ["version", *_]:
            return ["--version"]
    return words


def _top_parser() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS)) + 2
    listed = "\n".join(f"  {name:{width}}{purpose}" for name, purpose in COMMANDS.items())
    parser = Parser(
        prog="hookline",
        usage="hookline COMMAND [options]",
        description="Lifecycle hooks for AI agents: your own scripts, run at every tool and model call.",
        epilog=f"commands:\n{listed}\n\nhookline COMMAND --help tells more about one of them. To begin: hookline init",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", metavar="COMMAND", choices=COMMANDS, help=argparse.SUPPRESS)
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    return parser


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version  # noqa: PLC0415 - slow to load, and rarely needed

        print(f"hookline {version('hookline')}")
        parser.exit()
