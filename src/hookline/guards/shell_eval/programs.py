"""Programs that take a command among their arguments: ssh, docker, git, tar, editors."""

import re
from collections.abc import Mapping

from hookline.guards.facts import data, patterns
from hookline.guards.shell_eval.calls import Call, Stream
from hookline.guards.shell_eval.commands import Commands
from hookline.guards.shell_eval.grammar import GRAMMARS
from hookline.guards.shell_eval.guesses import guess
from hookline.guards.shell_eval.prefixes import go_on, rest_behind, taken
from hookline.guards.shell_eval.shells import STDIN, run_stream
from hookline.guards.shell_eval.words import OUTPUT, is_known

TEXTS: Mapping[str, tuple[str, ...]] = {name: tuple(options) for name, options in data("programs")["texts"].items()}
"""Options whose value is a command for a shell, by program."""
_GIT_OPTIONS: Mapping[str, list[str]] = data("programs")["git"]
_TMUX_RUNS = frozenset(data("programs")["programs"]["tmux_runs"])
_P = patterns("programs")
_LIKE_SSH = frozenset(("scp", "sftp", "sshfs"))
# Other actions of tar at a checkpoint.
_NO_COMMAND = re.compile(r"dot|bell|totals|wait|sleep=\d+|(?:echo|ttyout)(?:=[^;|&$`]*)?")


def _word(call: Call, index: int) -> str:
    return call.words[index] if index < len(call.words) else ""


def ssh(commands: Commands, call: Call) -> Stream | None:
    """Follows a command on another machine, and those that options run on this one."""
    parts = taken(commands, call, GRAMMARS["ssh"])
    for word in call.words[1 : 1 + parts.own]:
        if found := _P["ssh_command"].match(word):
            commands.inner(found[1], via=("ssh",), given=call.given)
    rest = rest_behind(parts, call.words[1:])
    with commands.elsewhere():
        if rest:
            return commands.inner(" ".join(rest), call.stdin, via=("ssh",), given=call.given)
        return run_stream(commands, call.stdin) if call.operands else None


def git(commands: Commands, call: Call) -> Stream | None:
    """Follows the commands in git's settings and filters."""
    for setting in call.values_of("-c"):
        name, _, value = setting.partition("=")
        _git_setting(commands, name, value)
    if any(word.startswith("--config-env") for word in call.words):
        commands.doubt("git takes settings or programs from elsewhere")
    words = call.operands
    match words[:2]:
        case ("config", name) if words[2:]:
            _git_setting(commands, name, words[2])
        case ("submodule", "foreach"):
            rest = [word for word in _behind(call, "foreach") if word not in ("--recursive", "--quiet", "-q")]
            commands.inner(" ".join(rest), given=call.given)
        case ("bisect", "run"):
            go_on(commands, call, _behind(call, "run"))
        case ("grep", *_) if pager := next((word for word in call.words if _GREP_PAGER.match(word)), None):
            commands.inner(pager.partition("=")[2] or pager[2:], via=(*call.via, "git"))
    for flag in _GIT_OPTIONS.get(words[0], ()) if words else ():
        if text := call.value_of(flag):
            commands.inner(text)
    if words[:2] == ("rev-parse",) or "--show-toplevel" in call.flags:
        return Stream(text=commands.project)
    return None


_GREP_PAGER = re.compile(r"-O.|--open-files-in-pager=")


def _behind(call: Call, word: str) -> tuple[str, ...]:
    return call.words[call.words.index(word) + 1 :]


def _git_setting(commands: Commands, name: str, value: str) -> None:
    if value.startswith("!"):
        commands.inner(value[1:])
    elif name.lower().startswith("alias."):
        commands.inner(f"git {value}")
    elif _P["git_runs"].fullmatch(name.lower()):
        commands.inner(value)
    elif _P["git_reads"].fullmatch(name.lower()):
        commands.doubt("git takes settings or programs from elsewhere")


def texts(commands: Commands, call: Call) -> None:
    """Follows the commands in the options of programs that have other work."""
    name = {"gtar": "tar", "bsdtar": "tar"}.get(call.program, call.program)
    found = [each[1] for word in call.words[1:] if name in _LIKE_SSH and (each := _P["ssh_command"].match(word))]
    found += [text.removeprefix("=") for text in call.values_of(*TEXTS[name]) if not _NO_COMMAND.fullmatch(text)]
    for text in found:
        commands.inner(text.removeprefix("exec="), via=(*call.via, name), given=call.given)


def cargo(commands: Commands, call: Call) -> None:
    """Follows the commands that `cargo watch` runs at each change."""
    if call.operands[:1] == ("watch",):
        texts(commands, call)
    guess(commands, call)


def make(commands: Commands, call: Call) -> None:
    """Follows a makefile that is no file: from a pipe, a substitution or an option."""
    for text in call.values_of("--eval", "-E"):
        _makefile(commands, text)
    for word in call.words[1:]:
        if word.startswith("SHELL="):
            commands.inner(word[6:], via=("make",))
    for file in call.values_of("-f", "--file", "--makefile"):
        stream = call.stdin if file in STDIN else commands.substituted if OUTPUT in file else None
        stream = commands.written(call.path(file)) if stream is None else stream
        if stream is not None and stream.is_given and (stream.text is None or not is_known(stream.text)):
            commands.doubt("make runs the output of another program")
        elif stream is not None:
            _makefile(commands, stream.text or "")


def _makefile(commands: Commands, text: str) -> None:
    """Reads the recipes of a makefile."""
    for line in text.splitlines():
        for found in re.finditer(r"\$\(shell ([^()]*)\)|!=\s*(.+)", line):
            commands.inner(found[1] or found[2])
        recipe = line if line.startswith("\t") else line.partition(";")[2] if ":" in line.partition(";")[0] else ""
        if recipe.strip():
            commands.inner(
                re.sub(r"\$\(\w+\)|\$\{\w+\}|\$[@<^*?+]", "x", recipe.strip().lstrip("@-+")).replace("$$", "$")
            )


def terminal(commands: Commands, call: Call) -> None:
    """Follows a command in a terminal of its own: tmux, screen, xterm -e."""
    if call.program == "tmux":
        for index, word in enumerate(call.words[1:], 1):
            if " " in word.strip():
                commands.inner(word)
            elif word in _TMUX_RUNS:
                command = [each for each in call.words[index + 1 :] if not each.startswith("-")]
                with commands.guessing():
                    go_on(commands, call, command)
    elif call.program == "screen":
        rest = iter(call.words[1:])
        for word in rest:
            if not word.startswith("-"):
                go_on(commands, call, (word, *rest))
            elif word[-1] in "SctTLehsp":
                next(rest, None)
    elif mark := next((each for each in ("-e", "--") if each in call.words), None):
        go_on(commands, call, call.words[call.words.index(mark) + 1 :])
