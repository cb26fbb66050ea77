"""Commands with several forms, such as `hookline fleet status`: each form has options of its own."""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hookline.apps.cli.main import Parser
from hookline.apps.cli.report.style import use_colour
from hookline.errors import UsageError
from hookline.protocol.text.strings import did_you_mean


@dataclass(frozen=True, slots=True)
class Form:
    """One form of a command."""

    purpose: str
    examples: str
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    forms: "Forms | None" = None
    """The forms of this form, if it has some: `fleet policy` does."""


class Forms:
    """The forms of one command, by the word that names each."""

    def __init__(self, command: str, forms: Mapping[str, Form]) -> None:
        self._command = command
        self._forms = forms

    def names(self) -> Iterator[str]:
        """Every form by its words, with those below a form."""
        for word, form in self._forms.items():
            yield from (word,) if form.forms is None else (f"{word} {name}" for name in form.forms.names())

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Adds the form's word and everything after it, which the form's own parser reads."""
        words = tuple(self._forms)
        parser.usage = f"hookline {self._command} {{{','.join(words)}}} [options]"
        parser.add_argument("form", metavar="FORM", nargs="?", type=self._known, choices=words, help=argparse.SUPPRESS)
        parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)

    def run(self, given: argparse.Namespace) -> int:
        """Runs the form that was named."""
        if given.form is None:
            words = "|".join(self._forms)
            raise UsageError(
                f"what to do? hookline {self._command} {words}; hookline {self._command} --help explains it"
            )
        options = self._parser(given.form).parse_args(given.words)
        if getattr(given, "color", None) is None and options.color is not None:
            use_colour(options.color)
        return self._forms[given.form].run(options)

    def parser_of(self, words: Sequence[str]) -> tuple[argparse.ArgumentParser, Sequence[str]] | None:
        """For completion: the parser of the words after the command, and the words that it reads."""
        if words[0] not in self._forms:
            return None
        inner = self._forms[words[0]].forms
        found = inner.parser_of(words[1:]) if inner is not None and words[1:] else None
        return found or (self._parser(words[0]), words[1:])

    def _parser(self, form: str) -> argparse.ArgumentParser:
        parser = Parser(
            prog=f"hookline {self._command} {form}",
            description=self._forms[form].purpose,
            epilog=f"Examples:\n{self._forms[form].examples}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self._forms[form].configure(parser)
        parser.add_argument(
            "--color", choices=("auto", "always", "never"), help="colours in the output (default: auto)"
        )
        return parser

    def _known(self, word: str) -> str:
        if word not in self._forms:
            advice = did_you_mean(word, self._forms, f"the forms are {', '.join(self._forms)}")
            raise argparse.ArgumentTypeError(f"{word} is no form of this command; {advice}")
        return word
