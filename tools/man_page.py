"""Writes docs/hookline.1, the man page, from the help of the commands."""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from hookline.cli.main import COMMANDS, load_command

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "hookline.1"

_START = """\
.\\" Written by `make man-page` from the help of the commands.
.TH HOOKLINE 1 "" hookline "User Commands"
.SH NAME
hookline \\- lifecycle hooks for AI agents: your own scripts, run at every tool and model call
.SH SYNOPSIS
.B hookline
.I COMMAND
.RI [ options ]
.SH DESCRIPTION
At every tool call and every model call hookline runs your own scripts, in any language, and they can block it, rewrite
it, add to it, or stop the agent. Settings say which hooks there are; to begin, run
.BR "hookline init" .
.PP
.B hookline COMMAND --help
explains one command.
.SH COMMANDS"""
_END = """\
.SH EXIT STATUS
0 if the command did its work, and 1 if it could not, or found what it looks for.
.B fire
exits with 2 when the operation would not take place. Other codes are with their commands.
.SH FILES
.TP
.I .llxprt/settings.json
the hooks of a project; they need trust
.TP
.I ~/.llxprt/settings.json
your own hooks, for all projects
.TP
.I /etc/llxprt-code/settings.json
the hooks of the system
.TP
.I ~/.local/state/hookline/
the log, and what you trust"""


def page() -> str:
    """The page as it should be."""
    return "\n".join([_START, *(line for name in COMMANDS for line in _command(name)), _END]) + "\n"


def _command(name: str) -> Iterator[str]:
    command, parser = load_command(name)
    yield from _parser(name, parser)
    forms = next((action.choices for action in parser._actions if action.dest == "form"), None)  # noqa: SLF001
    for form in forms or ():
        found = getattr(command, "parser_of")([form])  # noqa: B009 - every command with forms has it
        if found is not None and not found[1]:  # `hookline bridge claude` is no form for people
            yield from _parser(f"{name} {form}", found[0])


def _parser(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    actions = [action for action in parser._actions if not isinstance(action, argparse._HelpAction)]  # noqa: SLF001
    shown = [action for action in actions if action.help != argparse.SUPPRESS]
    yield f".SS hookline {_text(name)}"
    yield "\n.PP\n".join(_paragraph(text) for text in re.split(r"\n\n+", (parser.description or "").strip("\n")))
    for action in shown:
        yield f".TP\n{_usage(action)}\n{_text(' '.join((action.help or '').split()))}"
    if parser.epilog:
        yield f".PP\n.nf\n{_text(parser.epilog.strip())}\n.fi"


def _paragraph(text: str) -> str:
    """Flowing text; a list keeps its lines."""
    return f".nf\n{_text(text)}\n.fi" if text.startswith(" ") else _text(" ".join(text.split()))


def _usage(action: argparse.Action) -> str:
    """An option with its value, or the name of an argument."""
    choices = "|".join(map(str, action.choices)) if action.choices else None
    value = action.metavar if isinstance(action.metavar, str) else choices or action.dest.upper()
    if not action.option_strings:
        return rf"\fI{_text(value)}\fR"
    options = ", ".join(rf"\fB{_text(option)}\fR" for option in action.option_strings)
    return options if action.nargs == 0 else rf"{options} \fI{_text(value)}\fR"


def _text(text: str) -> str:
    """Plain text in the language of man pages: what would be a command or an escape there is neither."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("%%", "%")
    return re.sub(r"^(?=[.'])", r"\\&", escaped, flags=re.MULTILINE)


def main() -> int:
    """Writes the page."""
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
