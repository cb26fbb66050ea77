"""Print a script that lets your shell complete hookline's commands, options, events and hooks.

Examples:
  eval "$(hookline completion bash)"        for this session; in ~/.bashrc for all sessions
  eval "$(hookline completion zsh)"         in ~/.zshrc, after compinit
  hookline completion fish | source         in ~/.config/fish/config.fish
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from hookline.apps.cli.main import COMMANDS, load_command
from hookline.apps.cli.options import add_json_option
from hookline.apps.cli.report.printer import print_json, print_lines, print_script
from hookline.errors import UsageError
from hookline.extensions import lazy_module
from hookline.protocol.events import HookEventName
from hookline.protocol.text.strings import printable

if TYPE_CHECKING:
    from hookline.bridge import agents
    from hookline.client import config
    from hookline.inspect import view
else:
    agents = lazy_module("hookline.bridge.agents")
    view = lazy_module("hookline.inspect.view")
    config = lazy_module("hookline.client.config")

# Each script calls `hookline completion --words`, which knows all commands and the hooks of this project.
_SCRIPTS = {
    "bash": """\
# To try it: eval "$(hookline completion bash)"   To keep it: put that line into ~/.bashrc.
_hookline() {
    local word
    COMPREPLY=()
    while IFS= read -r word; do
        COMPREPLY+=("$(printf %q "$word")")
    done < <(printf '%s\\0' "${COMP_WORDS[@]:1:COMP_CWORD}" | hookline completion --words 2>/dev/null)
}
complete -o default -F _hookline hookline
""",
    "zsh": """\
#compdef hookline
# To try it: eval "$(hookline completion zsh)"   To keep it: put that line into ~/.zshrc, after compinit.
_hookline() {
    local -a found
    found=("${(@f)$(printf '%s\\0' "${(@)words[2,CURRENT]}" | hookline completion --words 2>/dev/null)}")
    if [[ -n ${found[1]} ]]; then
        compadd -a found
    else
        _files
    fi
}
compdef _hookline hookline
""",
    "fish": """\
# To try it: hookline completion fish | source   To keep it: save it as ~/.config/fish/completions/hookline.fish.
function __hookline_words
    set -l typed (commandline -opc) (commandline -ct)
    printf '%s\\0' $typed[2..-1] | hookline completion --words 2>/dev/null
end
complete -c hookline -a '(__hookline_words)'
""",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("shell", nargs="?", choices=tuple(_SCRIPTS), help="the shell that you use")
    add_json_option(parser)
    parser.add_argument(
        "--words",
        action="store_true",
        help="for the scripts: print the completions of the last word on stdin, where each word ends with a null byte",
    )


def run(given: argparse.Namespace) -> int:
    """Print the script, or the completions."""
    if given.words:
        fitting = candidates(sys.stdin.read().split("\0")[:-1])
        if given.json:
            print_json(fitting, indent=None)
        else:
            # The shell would complete a name with control characters to something else, which is not its name.
            print_lines(*(word for word in fitting if word == printable(word)))
        return 0
    if given.shell is None:
        raise UsageError(f"which shell? hookline completion {'|'.join(_SCRIPTS)}")
    script = _SCRIPTS[given.shell]
    if given.json:
        print_json({"shell": given.shell, "script": script}, indent=None)
    else:
        print_script(script)
    return 0


def candidates(words: Sequence[str]) -> list[str]:
    """Return completions of the last word after `hookline`; none where a file is expected."""
    # Bash splits `--project=here` at the equals sign.
    before = [word for word in words[:-1] if word != "="]
    current = words[-1].strip("='\"").replace("\\", "") if words else ""
    if not before:
        fitting: Iterable[str] = (*COMMANDS, "--help", "--version")
    elif before[0] in COMMANDS:
        command, parser = load_command(before[0])
        # Each subcommand has its own parser.
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
