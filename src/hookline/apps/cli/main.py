"""The command `hookline`: loads the requested command alone, runs it, and turns errors into exit codes."""

import argparse
import errno
import gc
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

from hookline.apps.cli.parser import Help, Parser, make_parser
from hookline.errors import HooklineError, MissingExtraError
from hookline.extensions import lazy_module, missing_part
from hookline.protocol.text.strings import did_you_mean, visible
from hookline.stderr import warn_user

TYPE_CHECKING = False  # typing.TYPE_CHECKING without importing typing, which `hookline --help` does not need
if TYPE_CHECKING:
    from typing import Any, Protocol

    class Command(Protocol):
        """A module of `commands/`; its docstring is the description and, from "Examples:" on, the end of its help."""

        def configure(self, parser: argparse.ArgumentParser) -> None:
            """Add the options."""

        def run(self, given: argparse.Namespace) -> int:
            """Run the command and return the exit code."""

    import traceback
    from importlib import metadata

    from hookline.apps.cli.commands import hook
    from hookline.apps.cli.report import style
else:
    traceback = lazy_module("traceback")
    style = lazy_module("hookline.apps.cli.report.style")
    hook = lazy_module("hookline.apps.cli.commands.hook")
    metadata = lazy_module("importlib.metadata")


EXIT_TERMINATED = 143
EXIT_CODES: Mapping[int, str] = {
    0: "done: the answer is yes, or the operation is allowed",
    1: "the answer is no, the usage is wrong, or the command failed",
    2: "blocked, by fire and hook only",
    130: "interrupted by Ctrl-C",
    EXIT_TERMINATED: "ended by SIGTERM",
}
"""The meaning of each exit code, for every command."""

GROUPS: Mapping[str, Mapping[str, str]] = {
    "Set up": {
        "init": "write a commented settings file and a first hook",
        "check": "find errors and likely mistakes in the settings",
        "doctor": "find out whether hooks run here, and if not, why",
        "trust": "review a project's hooks and let them run",
        "enable": "enable a hook",
        "disable": "disable a hook",
    },
    "Write": {
        "fire": "fire one event by hand, or show what would run for it",
        "test": "run case files: events, and what your hooks must decide",
        "replay": "run today's hooks on events that really happened",
    },
    "Look": {
        "list": "list every hook: where it is, whether it runs, how it did",
        "log": "show what happened, count it, or verify the log",
        "ui": "see events, sessions and hooks in your browser",
    },
    "Connect": {
        "agent": "run a coding agent with hooks at every step",
        "bridge": "let your hooks guard Claude Code, Codex, Gemini CLI, ...",
        "mcp": "let your hooks guard the tools of an MCP server",
    },
    "Company": {
        "fleet": "policies, status, records and workers of your machines",
    },
}
"""The commands for people, under the headings of `hookline --help`."""

HIDDEN: Mapping[str, str] = {
    "schema": "print the JSON Schema of settings, inputs or outputs",
    "completion": "print a script for completion in your shell",
    "serve": "keep hookline loaded, so that agents are answered at once",
    "hook": "answer one event of another agent, which starts this",
}
"""The commands for programs."""

COMMANDS: Mapping[str, str] = {name: about for group in (*GROUPS.values(), HIDDEN) for name, about in group.items()}


EXTRAS: Mapping[str, str] = {"agent": "agent", "mcp": "agent", "ui": "ui"}
"""The commands that need more packages, and the extra that brings them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    if arguments is not None:
        return _run(arguments)
    # Exit in an orderly way, so that running hooks are ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT_TERMINATED))
    # Loading modules makes no garbage, and a collection takes a fifth of a short command.
    gc.set_threshold(50_000)
    try:
        return _run(sys.argv[1:], at_start=_let_interrupts_raise)
    finally:
        # What ends the remaining hooks must not be interrupted: it takes a bounded time.
        signal.signal(signal.SIGTERM, lambda *_: None)
        gc.freeze()


def _let_interrupts_raise() -> None:
    """Let SIGINT raise KeyboardInterrupt, because from now on there may be something to clean up."""
    if callable(signal.getsignal(signal.SIGINT)):
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _run(arguments: Sequence[str], at_start: Callable[[], None] = lambda: None) -> int:
    words = _with_dashes(list(arguments))
    parser = _top_parser()
    if not words:
        return _guarded(_show_state)
    if words[0] == "hook" and not {"-h", "--help"} & {*words}:
        return _answer_agent(tuple(words[1:]), at_start)
    if words[0] not in COMMANDS and not words[0].startswith("-"):
        parser.error(_unknown_command(words[0]))
    late = next((word for word in words[1:] if word in COMMANDS), None)
    if late is not None and words[0].startswith("-") and words[0] not in parser.option_names:
        parser.error(f"the command comes first: hookline {late} {words[0]} …")
    name = parser.parse_args(words[:1]).command
    return _guarded(lambda: _run_command(name, words[1:], at_start))


def _show_state() -> int:
    shown: int = import_module("hookline.apps.cli.state").print_state()
    return shown


def _run_command(name: str, words: Sequence[str], at_start: Callable[[], None]) -> int:
    command, parser = load_command(name)
    options = parser.parse_args(words)
    if getattr(options, "color", None) is not None:
        style.use_colour(options.color)
    at_start()
    return command.run(options)


def _guarded(work: Callable[[], int]) -> int:
    """Run a command; turn every error into a message and an exit code."""
    try:
        return work()
    except HooklineError as error:
        warn_user(str(error))
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of the output is gone, so a message would not be read.
        sys.stderr.close()
        return 1
    except Exception as error:  # noqa: BLE001 - the door: print a sentence, and the traceback that a report needs
        if (message := _fault_of_system(error)) is not None:
            warn_user(message)
            return 1
        # Indented, because the error's message may have several lines.
        sys.stderr.write(visible(traceback.format_exc()).rstrip().replace("\n", "\n  ") + "\n")
        warn_user("this is a bug in hookline; please report it")
        return 1


def _answer_agent(words: tuple[str, ...], at_start: Callable[[], None]) -> int:
    """Answer an agent. Its words are not for argparse: what can't be parsed must be refused."""
    at_start()
    return hook.answer(words)


def _fault_of_system(error: Exception) -> str | None:
    """Return the message about a fault of the system, or None if the error is a bug in hookline."""
    if isinstance(error, FileNotFoundError) and _is_directory_gone():
        return "the current directory does not exist any more; cd into one that does, and try again"
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"what this command writes can't be written: {error.strerror}; make room, and try again"
    return None


def _is_directory_gone() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def load_command(name: str) -> "tuple[Command, Parser]":
    """Return a command and the parser of its options."""
    try:
        command: Any = import_module(f"hookline.apps.cli.commands.{name}")
    except ModuleNotFoundError as error:
        if (missing := missing_part(error)) is not None:
            raise missing from error
        if name not in EXTRAS or str(error.name).startswith("hookline"):
            raise
        raise MissingExtraError(str(error.name).partition(".")[0], EXTRAS[name]) from error
    return command, make_parser(f"hookline {name}", command.__doc__ or "", command.configure)


def _unknown_command(name: str) -> str:
    advice = did_you_mean(name, COMMANDS, "hookline --help lists all commands")
    return f"there is no command {name}; {advice}"


def _with_dashes(words: list[str]) -> list[str]:
    """Return the words with `help` and `version`, which are commands of other programs, as options."""
    match words:
        case ["help"] | ["help", "help" | "version", *_]:
            return ["--help"]
        case ["help", command, *_]:
            return [command, "--help"]
        case ["version", *_]:
            return ["--version"]
    return words


def _top_parser() -> Parser:
    listed = "\n\n".join(
        f"{heading}\n" + "\n".join(f"  {name:<10}{about}" for name, about in group.items())
        for heading, group in GROUPS.items()
    )
    codes = "\n".join(f"  {code:<10}{meaning}" for code, meaning in EXIT_CODES.items())
    parser = Parser(
        prog="hookline",
        usage="hookline COMMAND [options]",
        description="Lifecycle hooks for AI agents: your scripts run at every tool and model call.",
        epilog=f"{listed}\n\nExit codes\n{codes}\n\nhookline COMMAND --help explains one. To begin: hookline init",
        formatter_class=Help,
    )
    parser.add_argument("command", metavar="COMMAND", choices=COMMANDS, help=argparse.SUPPRESS)
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    return parser


class _Version(argparse.Action):
    """Looks up the version only when it is requested."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        sys.stdout.write(f"hookline {metadata.version('hookline')}\n")
        parser.exit()
