"""Programs that take commands among their arguments or in their input: ssh, git, tar, editors, debuggers."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from hookline.guards.facts import data, patterns
from hookline.guards.shell_eval.calls import ProgramCall, Stream
from hookline.guards.shell_eval.commands import Commands
from hookline.guards.shell_eval.grammar import GRAMMARS
from hookline.guards.shell_eval.programs.code import is_harmless
from hookline.guards.shell_eval.programs.prefixes import go_on, guess, rest_behind, taken
from hookline.guards.shell_eval.programs.shells import STDIN, run_stream
from hookline.guards.shell_eval.words import OUTPUT, is_known

TEXTS: Mapping[str, tuple[str, ...]] = {name: tuple(options) for name, options in data("programs")["texts"].items()}
"""Options whose value is a command for a shell, by program."""
_GIT_OPTIONS: Mapping[str, list[str]] = data("programs")["git"]
_TMUX_RUNS = frozenset(data("programs")["programs"]["tmux_runs"])
_LIKE_SSH = frozenset(("scp", "sftp", "sshfs"))
EDITORS, DEBUGGERS, DATABASES = (data("programs")["programs"][name] for name in ("editors", "debuggers", "databases"))
_DEBUGGER_OPTIONS = frozenset(data("programs")["programs"]["debugger_options"])
_P = patterns("programs")
_SUBSTITUTION = re.compile(r"s([^\w\s\\])(?:\\.|(?!\1)[^\\])*\1(?:\\.|(?!\1)[^\\])*\1?")
_DEBUGGER_SHELL = re.compile(r"\s*(?:!|shell\b|platform\s+shell\b|make\b|pipe\b[^|]*\|)\s*(.*)", re.DOTALL)
# Other actions of tar at a checkpoint.
_NO_COMMAND = re.compile(r"dot|bell|totals|wait|sleep=\d+|(?:echo|ttyout)(?:=[^;|&$`]*)?")


def ssh(commands: Commands, call: ProgramCall) -> Stream | None:
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


def git(commands: Commands, call: ProgramCall) -> Stream | None:
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


def _behind(call: ProgramCall, word: str) -> tuple[str, ...]:
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


def texts(commands: Commands, call: ProgramCall) -> None:
    """Follows the commands in the options of programs that have other work."""
    name = {"gtar": "tar", "bsdtar": "tar"}.get(call.program, call.program)
    found = [each[1] for word in call.words[1:] if name in _LIKE_SSH and (each := _P["ssh_command"].match(word))]
    found += [text.removeprefix("=") for text in call.values_of(*TEXTS[name]) if not _NO_COMMAND.fullmatch(text)]
    for text in found:
        commands.inner(text.removeprefix("exec="), via=(*call.via, name), given=call.given)


def cargo(commands: Commands, call: ProgramCall) -> None:
    """Follows the commands that `cargo watch` runs at each change."""
    if call.operands[:1] == ("watch",):
        texts(commands, call)
    guess(commands, call)


def make(commands: Commands, call: ProgramCall) -> None:
    """Follows a makefile from a pipe, a substitution or an option."""
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


def terminal(commands: Commands, call: ProgramCall) -> None:
    """Follows a command in another terminal: tmux, screen, xterm -e."""
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


def editor(commands: Commands, call: ProgramCall) -> None:
    """Follows the commands that an editor gets at its start, or in its input: a command that is not known is unsure."""
    lines = [*_of_editor(call.words[1:])]
    takes_lines = call.program in ("ed", "ex")
    if takes_lines or any(re.fullmatch(r"-\w*[es]s?\w*|-", word) for word in call.words[1:]):
        lines += (call.stdin.text or "").splitlines()
        if call.stdin.is_given and call.stdin.text is None and "file" not in call.stdin.kinds:
            commands.doubt("an editor gets its commands from another program")
    is_typing = False
    for line in lines:
        if is_typing and takes_lines:
            is_typing = line != "."
            continue
        is_typing = re.fullmatch(r"[\d$.,]*[aic]", line.strip()) is not None
        _edited(commands, call, line)


def _of_editor(words: tuple[str, ...]) -> Iterator[str]:
    """The commands in the options: `+CMD`, `-c CMD`, `-sc CMD`, `-cCMD`, `--cmd CMD`."""
    for word, following in pairwise((*words, "")):
        if word.startswith("+"):
            yield word[1:]
        elif word == "--cmd":
            yield following
        elif found := re.match(r"-[A-Za-z]*?c(.*)", word, re.DOTALL):
            yield found[1] or following


def _edited(commands: Commands, call: ProgramCall, line: str) -> None:
    via = (*call.via, "vim")
    text = _P["range"].sub("", line, count=1)
    while (found := _P["modifier"].match(text) or _P["for_lines"].match(text)) is not None and found.end():
        text = _P["range"].sub("", text[found.end() :], count=1)
    if found := _P["executed"].fullmatch(text.strip()):
        _edited(commands, call, found[2])
    elif found := _P["program"].match(text):
        commands.inner(found[1], via=via)
    elif found := _P["write"].match(text):
        commands.emit(("tee", found[1].split("|")[0].strip()), via=via)
    elif not _is_plain(text):
        commands.doubt("an editor runs code")
    elif found := _P["read"].match(text):
        commands.emit(("cat", found[1].split("|")[0].strip()), via=via)
    substitution = _SUBSTITUTION.match(text)
    rest = text[substitution.end() :] if substitution else text
    if "|" in rest and not _P["program"].match(text):
        _edited(commands, call, rest.partition("|")[2])


def _is_plain(text: str) -> bool:
    """Whether a command of an editor starts nothing."""
    if re.match(r"(?:w(?:rite)?|r(?:ead)?)!?$", text):
        return True
    if not (_P["harmless"].match(text) or _P["read"].match(text)) or _P["option"].match(text) or "\\=" in text:
        return False
    if re.match(r"[A-Z]", text):
        return "!" not in text.partition(" ")[2]
    found = _P["expression"].match(text)
    if found is None:
        return True
    if text.startswith("norm"):
        return not re.search(r"[:!@]", found[1])
    return is_harmless(re.sub(r"\b[gbwstlav]:", "", found[1]))


def debugger(commands: Commands, call: ProgramCall) -> None:
    """Follows the commands that a debugger gets: those for a shell, and any that is not known is unsure."""
    words, via = call.words[1:], (*call.via, call.program)
    for word, following in pairwise((*words, "")):
        name, equals, value = word.partition("=")
        line = value if equals else following
        if name not in _DEBUGGER_OPTIONS:
            continue
        if found := _DEBUGGER_SHELL.match(line):
            commands.inner(found[1], via=via)
        elif not _P["debugger_harmless"].match(line) or _P["debugger_calls"].search(line):
            commands.doubt("a debugger runs code")
    if mark := next((each for each in ("--args", "--") if each in words), None):
        rest = words[words.index(mark) + 1 :]
        if rest[1:]:
            commands.emit(rest, stdin=call.stdin, via=via)
    guess(commands, call)


def database(commands: Commands, call: ProgramCall) -> None:
    """Follows the shell of a database: the commands behind its marks, and SQL that starts programs or writes files."""
    guess(commands, call)
    for word in call.words[1:]:
        if found := _P["pager"].match(word):
            commands.inner(found[1], via=(*call.via, call.program))
    if any(map(_P["leaves"].search, (*call.pieces, *call.words[1:]))):
        commands.doubt("a database starts a program, or writes a file")
