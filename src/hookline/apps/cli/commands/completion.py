"""Print a script that lets your shell complete hookline's commands, options, events and hooks.

Examples:
  eval "$(hookline completion bash)"        for this session; in ~/.bashrc for all sessions
  eval "$(hookline completion zsh)"         in ~/.zshrc, after compinit
  hookline completion fish | source         in ~/.config/fish/config.fish
"""

import argparse
import sys

from hookline.apps.cli.commands._complete import candidates
from hookline.apps.cli.options import add_json_option
from hookline.apps.cli.report.printer import print_json, print_lines, print_script
from hookline.errors import UsageError
from hookline.protocol.text.strings import printable

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
    """Adds the options."""
    parser.add_argument("shell", nargs="?", choices=tuple(_SCRIPTS), help="the shell that you use")
    add_json_option(parser)
    parser.add_argument(
        "--words",
        action="store_true",
        help="for the scripts: print the completions of the last word on stdin, where each word ends with a null byte",
    )


def run(given: argparse.Namespace) -> int:
    """Prints the script, or the completions."""
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
