"""Commands with subcommands, such as `hookline fleet status`; each has its own options."""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hookline.apps.cli.parser import Parser, make_parser
from hookline.apps.cli.report.style import use_colour
from hookline.errors import UsageError
from hookline.protocol.text.strings import did_you_mean


@dataclass(frozen=True, slots=True)
class Subcommand:
    """One subcommand."""

    purpose: str
    """One line, and details after an empty one."""
    examples: str
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    group: "SubcommandGroup | None" = None
    """Its own subcommands, if it has some: `fleet policy` does."""


class SubcommandGroup:
    """The subcommands of one command, by name."""

    def __init__(self, command: str, members: Mapping[str, Subcommand]) -> None:
        self._command = command
        self._members = members

    def names(self) -> Iterator[str]:
        """Yield every subcommand by its words, and those below it."""
        for word, member in self._members.items():
            yield from (word,) if member.group is None else (f"{word} {name}" for name in member.group.names())

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the subcommand's name, and the words after it for its own parser."""
        names = tuple(self._members)
        parser.usage = f"hookline {self._command} {{{','.join(names)}}} [options]"
        parser.add_argument("name", metavar="NAME", nargs="?", type=self._known, choices=names, help=argparse.SUPPRESS)
        parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)

    def run(self, given: argparse.Namespace) -> int:
        """Run the subcommand that was named."""
        if given.name is None:
            names = "|".join(self._members)
            raise UsageError(
                f"which subcommand? hookline {self._command} {names}; hookline {self._command} --help explains them"
            )
        options = self._parser(given.name).parse_args(given.words)
        if getattr(given, "color", None) is None and options.color is not None:
            use_colour(options.color)
        return self._members[given.name].run(options)

    def parser_of(self, words: Sequence[str]) -> tuple[argparse.ArgumentParser, Sequence[str]] | None:
        """Return the parser for the words after the command, and the words that it reads; for completion."""
        if words[0] not in self._members:
            return None
        inner = self._members[words[0]].group
        found = inner.parser_of(words[1:]) if inner is not None and words[1:] else None
        return found or (self._parser(words[0]), words[1:])

    def _parser(self, name: str) -> Parser:
        member = self._members[name]
        text = f"{member.purpose}\n\nExamples:\n{member.examples}"
        return make_parser(f"hookline {self._command} {name}", text, member.configure)

    def _known(self, word: str) -> str:
        if word not in self._members:
            advice = did_you_mean(word, self._members, f"they are {', '.join(self._members)}")
            raise argparse.ArgumentTypeError(f"{word} is not a subcommand; {advice}")
        return word
