"""The same guards on every machine of a company: signed policies, and how they get there.

  hookline policy keygen FILE        make the key that signs policies
  hookline policy pack DIR           make a bundle of settings and scripts
  hookline policy sign FILE          sign it
  hookline policy verify FILE        check a signature
  hookline policy publish FILE       put it into the company's bucket
  hookline policy pull [FILE]        put it in force on this machine
  hookline policy status             what is in force here
  hookline policy rollback           publish older content under a new version
  hookline policy follow             keep this machine's policy as the server has it
  hookline policy switch             switch all agents off, or one hook, and on again

`hookline policy sign --help` explains one form. Without a server everything but publish and follow works with files.

Examples:
  hookline policy keygen policy.key
  hookline policy pack guards/ --version 1 -o policy.json
  hookline policy sign policy.json --key policy.key
  hookline policy pull policy.json
  hookline policy switch agents off --reason "incident 4711" --expires 2h --key policy.key
"""

import argparse
from collections.abc import Sequence
from difflib import get_close_matches

from hookline.cli.commands._policy_make import MAKE_FORMS
from hookline.cli.commands._policy_use import USE_FORMS
from hookline.cli.main import Parser
from hookline.errors import UsageError

FORMS = {**MAKE_FORMS, **USE_FORMS}


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    parser.usage = f"hookline policy {{{','.join(FORMS)}}} [options]"
    parser.add_argument("form", metavar="FORM", nargs="?", type=_form, choices=tuple(FORMS), help=argparse.SUPPRESS)
    parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def parser_of(words: Sequence[str]) -> tuple[argparse.ArgumentParser, Sequence[str]] | None:
    """For completion: the parser of the words after `hookline policy`, and the words that it reads."""
    return (_parser(words[0]), words[1:]) if words[0] in FORMS else None


def run(given: argparse.Namespace) -> int:
    """Runs one of the forms."""
    if given.form is None:
        raise UsageError(f"what to do? hookline policy {'|'.join(FORMS)}; hookline policy --help explains it")
    return FORMS[given.form].run(_parser(given.form).parse_args(given.words))


def _parser(form: str) -> argparse.ArgumentParser:
    parser = Parser(
        prog=f"hookline policy {form}",
        description=FORMS[form].purpose,
        epilog=f"Examples:\n{FORMS[form].examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    FORMS[form].configure(parser)
    return parser


def _form(word: str) -> str:
    if word not in FORMS:
        near = get_close_matches(word.lower(), FORMS, 1)
        advice = f"did you mean {near[0]}?" if near else f"give {', '.join(FORMS)}"
        raise argparse.ArgumentTypeError(f"{word} is no form of this command; {advice}")
    return word
