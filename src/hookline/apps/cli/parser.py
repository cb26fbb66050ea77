"""The parser of a command's options, and its help; loaded at the start of every command."""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Sequence

from hookline.protocol.text.strings import misspelled_option, nearest_word
from hookline.stderr import warn_user

TYPE_CHECKING = False  # as in main.py
if TYPE_CHECKING:
    from typing import Any, NoReturn


class Parser(argparse.ArgumentParser):
    """Exits with code 1 on bad usage, because 2 means that a hook blocks; suggests a word for a misspelled one."""

    _words: "Sequence[str]" = ()

    def parse_known_args(self, args: "Any" = None, namespace: "Any" = None) -> "Any":
        """Keep the words for the error message."""
        self._words = tuple(sys.argv[1:] if args is None else args)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> "NoReturn":
        """Print the usage and the message, and exit."""
        self.print_usage(sys.stderr)
        warn_user(self._option_advice(message) or message)
        sys.exit(1)

    @property
    def option_names(self) -> "Iterable[str]":
        """All spellings of the options of this parser."""
        return self._option_string_actions

    def _option_advice(self, message: str) -> str | None:
        """Return a better message, if a misspelled option may be the cause."""
        name, meant = misspelled_option(self._words, self.option_names)
        if meant is not None:
            # The value of an unknown option is taken for a positional argument, so the message may be about anything.
            return f"there is no option {name}; did you mean {meant}?"
        return f"{message}; {self.prog} --help lists the options" if name and name in message else None

    def _check_value(self, action: argparse.Action, value: "Any") -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            meant = nearest_word(str(value), map(str, action.choices or ()))
            raise argparse.ArgumentError(
                action, f"{error.message}; did you mean {meant}?" if meant else error.message
            ) from None


class Help(argparse.RawDescriptionHelpFormatter):
    """Sets the width itself, because argparse would import `shutil` for it each time a command starts."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=terminal_columns() - 2)


def terminal_columns() -> int:
    """Return the width of the terminal, or 80."""
    try:
        return int(os.environ.get("COLUMNS") or os.get_terminal_size(sys.stdout.fileno()).columns) or 80
    except (AttributeError, ValueError, OSError):  # no stdout, or one that is not a terminal
        return 80


def make_parser(prog: str, text: str, configure: "Callable[[Parser], None]") -> Parser:
    """Return the parser of a command; its help begins with the text up to "Examples:", and ends with the rest."""
    description, heading, examples = text.partition("Examples:\n")
    parser = Parser(
        prog=prog, description=description, epilog=heading + examples, formatter_class=Help, allow_abbrev=False
    )
    configure(parser)
    parser.add_argument("--color", choices=("auto", "always", "never"), help="colours in the output (default: auto)")
    return parser
