"""The words that complete a command line, taken from the commands' own parsers."""

import argparse
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from hookline.apps.cli.main import COMMANDS, load_command
from hookline.extensions import lazy_module
from hookline.protocol.events import HookEventName

if TYPE_CHECKING:
    from hookline.bridge import agents
    from hookline.client import config
    from hookline.inspect import view
else:
    agents = lazy_module("hookline.bridge.agents")
    view = lazy_module("hookline.inspect.view")
    config = lazy_module("hookline.client.config")


def candidates(words: Sequence[str]) -> list[str]:
    """The words that can replace the last of these, which follow `hookline`; none where a file is expected."""
    # Bash splits `--project=here` at the equals sign.
    before = [word for word in words[:-1] if word != "="]
    current = words[-1].strip("='\"").replace("\\", "") if words else ""
    if not before:
        fitting: Iterable[str] = (*COMMANDS, "--help", "--version")
    elif before[0] in COMMANDS:
        command, parser = load_command(before[0])
        # A command with several forms has a parser for each.
        parser_of = getattr(command, "parser_of", lambda _words: None)
        parser, typed = (parser_of(before[1:]) if before[1:] else None) or (parser, before[1:])
        fitting = _fitting(parser, typed, current)
    else:
        fitting = ()
    return [word for word in fitting if word.startswith(current)]


def _fitting(parser: argparse.ArgumentParser, before: Sequence[str], current: str) -> Iterable[str]:
    # argparse has no public way to list the arguments.
    actions = [
        action
        for action in parser._actions  # noqa: SLF001
        if action.help != argparse.SUPPRESS or action.choices is not None
    ]
    options = {name: action for action in actions for name in action.option_strings}
    places = [action for action in actions if not action.option_strings]
    waiting: argparse.Action | None = None
    for word in before:
        if waiting is not None:
            waiting = None
        elif word.partition("=")[0] in options and "=" in word:
            continue
        elif word in options:
            waiting = options[word] if options[word].nargs != 0 else None
        elif places and places[0].nargs not in ("*", "+"):
            places.pop(0)
    if waiting is not None:
        return _values(waiting, before)
    if current.startswith("-") or not places:
        return options
    return _values(places[0], before)


def _values(action: argparse.Action, before: Sequence[str]) -> Iterable[str]:
    if action.choices is not None:
        return [str(choice) for choice in action.choices]
    called = (action.dest, str(action.metavar).lower())
    if "event" in called:
        return [event.value for event in HookEventName]
    if "agent" in called:
        return tuple(agents.HOSTS)
    if "tool" in called:
        return view.KNOWN_TOOLS
    return _hooks(before) if "hook" in called or "name" in called else ()


def _hooks(before: Sequence[str]) -> Iterable[str]:
    given = dict(pairwise(before))
    files = [given["--settings"]] if "--settings" in given else None
    setup = view.read_setup(config.Config(given.get("--project", "."), settings_files=files))
    return dict.fromkeys(hook.label for hook in setup.hooks)
