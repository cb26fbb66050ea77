"""Programs that are not known here: a command among their arguments is taken for one that they run."""

import re
from collections.abc import Iterator

from hookline.guards.facts import ESCAPING, FETCHING, GUESSED, OPTIONS, PASSING, READING, TELLING
from hookline.guards.shell_eval.calls import Call
from hookline.guards.shell_eval.commands import Commands
from hookline.guards.shell_eval.prefixes import go_on

# What stands before a command in the value of an option, or in a line: `--exec=`, `-c`.
_OPTION = re.compile(r"--?[\w-]+=|-\w(?=[a-z]+ )")
_MARK = re.compile(
    r"\s*(?:\\!|[+~]?!|\.(?:shell|system|sh|sys)\b|(?:platform\s+)?shell\b|system\b|syscmd\(\W?|esyscmd\(\W?)\s*(.+)"
)
# They have options of their own, and run commands on other machines.
_RUNNING = frozenset(("kubectl", "gcloud"))
_MOST_LINES = 50
_SILENT = FETCHING | READING | PASSING | TELLING


def guess(commands: Commands, call: Call) -> None:
    """Reads what an unknown program may run: the words from the name of a program on, or a text that begins with one.

    Nothing is unsure about a guess: it may be no command at all.
    """
    if not call.words[1:] and not call.stdin.is_given:
        return
    guess_values(commands, call)
    if call.program in ESCAPING:
        for text in _marked(call):
            commands.inner(text, via=(*call.via, call.program))
    elif call.program not in _SILENT and (call.program not in OPTIONS or call.program in _RUNNING):
        with commands.guessing():
            at = next((at for at, word in enumerate(call.words[1:-1], 1) if _name(word) in GUESSED), None)
            if at is not None:
                go_on(commands, call, call.words[at:])
            for text in _texts(call):
                commands.inner(text, via=(*call.via, call.program))


def guess_values(commands: Commands, call: Call) -> None:
    """Reads the values of options and settings that begin with the name of a program: `--command=`, `ExecStart=`."""
    if call.program in _SILENT or call.program in _WITH_MESSAGES:
        return
    with commands.guessing():
        for word in call.words[1:]:
            found = _VALUE.match(word)
            if found and " " in found[1] and _name(found[1].split(maxsplit=1)[0]) in GUESSED:
                commands.inner(found[1].rstrip("\"')]}"), via=(*call.via, call.program))


# They take texts for people.
_WITH_MESSAGES = frozenset(("git", "gh", "hg", "svn", "jj", "glab", "docker", "podman"))
_VALUE = re.compile(r"(?:-{0,2}[\w.@:-]+[=(]|\$\{:|\s*[~^]?[!|]|\^)[\W]*?((?:/[\w/]*/)?[a-z].*)", re.DOTALL)


def _texts(call: Call) -> Iterator[str]:
    for word in call.words[1:]:
        text = _without_option(word)
        if " " in text and _name(text.split(maxsplit=1)[0] if text.strip() else "") in GUESSED:
            yield text


def _marked(call: Call) -> Iterator[str]:
    """The commands behind a mark that makes a program hand them to a shell."""
    lines = [*call.words[1:], *(call.stdin.text or "").splitlines()[:_MOST_LINES]]
    yield from (found[1] for line in lines if (found := _MARK.match(_without_option(line))))


def _without_option(text: str) -> str:
    found = _OPTION.match(text)
    return text[found.end() :] if found else text


def _name(word: str) -> str:
    return word.rpartition("/")[2]
