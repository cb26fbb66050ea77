"""Programs with commands of their own, some of which start others: editors, debuggers, shells of databases."""

import re
from collections.abc import Iterator
from itertools import pairwise

from hookline.guards.facts import data, patterns
from hookline.guards.shell_eval.calls import Call
from hookline.guards.shell_eval.code import is_harmless
from hookline.guards.shell_eval.commands import Commands
from hookline.guards.shell_eval.guesses import guess

EDITORS, DEBUGGERS, DATABASES = (data("programs")["programs"][name] for name in ("editors", "debuggers", "databases"))
_DEBUGGER_OPTIONS = frozenset(data("programs")["programs"]["debugger_options"])
_P = patterns("programs")
_SUBSTITUTION = re.compile(r"s([^\w\s\\])(?:\\.|(?!\1)[^\\])*\1(?:\\.|(?!\1)[^\\])*\1?")
_DEBUGGER_SHELL = re.compile(r"\s*(?:!|shell\b|platform\s+shell\b|make\b|pipe\b[^|]*\|)\s*(.*)", re.DOTALL)


def editor(commands: Commands, call: Call) -> None:
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


def _edited(commands: Commands, call: Call, line: str) -> None:
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


def debugger(commands: Commands, call: Call) -> None:
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


def database(commands: Commands, call: Call) -> None:
    """Follows the shell of a database: the commands behind its marks, and SQL that starts programs or writes files."""
    guess(commands, call)
    for word in call.words[1:]:
        if found := _P["pager"].match(word):
            commands.inner(found[1], via=(*call.via, call.program))
    if any(map(_P["leaves"].search, (*call.pieces, *call.words[1:]))):
        commands.doubt("a database starts a program, or writes a file")
