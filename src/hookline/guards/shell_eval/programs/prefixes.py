"""Programs that run the command behind their own options, such as sudo and env, and programs that are not known."""

import re
import shlex
from collections.abc import Iterator, Sequence

from hookline.guards.facts import ESCAPING, FETCHING, GUESSED, OPTIONS, PASSING, READING, TELLING
from hookline.guards.shell_eval.calls import ELSEWHERE, ProgramCall, Stream
from hookline.guards.shell_eval.commands import Commands
from hookline.guards.shell_eval.grammar import BEHIND, GRAMMARS, Grammar, Split, split
from hookline.guards.shell_eval.words import is_known

# An option before a command in the same word: `--exec=`, `-c`.
_OPTION = re.compile(r"--?[\w-]+=|-\w(?=[a-z]+ )")
_MARK = re.compile(
    r"\s*(?:\\!|[+~]?!|\.(?:shell|system|sh|sys)\b|(?:platform\s+)?shell\b|system\b|syscmd\(\W?|esyscmd\(\W?)\s*(.+)"
)
# They run commands on other machines, behind options that are in the table.
_RUNNING = frozenset(("kubectl", "gcloud"))
_MOST_LINES = 50
_SILENT = FETCHING | READING | PASSING | TELLING
# They take texts for people.
_WITH_MESSAGES = frozenset(("git", "gh", "hg", "svn", "jj", "glab", "docker", "podman"))
_VALUE = re.compile(r"(?:-{0,2}[\w.@:-]+[=(]|\$\{:|\s*[~^]?[!|]|\^)[\W]*?((?:/[\w/]*/)?[a-z].*)", re.DOTALL)


def prefix(commands: Commands, call: ProgramCall) -> Stream | None:
    """Follows a program that runs the command behind its own options."""
    return _wrapped(commands, call, GRAMMARS[call.program], call.words[1:])


def runner(commands: Commands, call: ProgramCall, name: tuple[str, ...]) -> Stream | None:
    """Follows a program that runs a command behind one of its subcommands: `poetry run`, `docker exec`."""
    at = 0
    for word in name[1:]:
        at = call.words.index(word, at + 1)
    grammar = BEHIND[name]
    if not grammar.elsewhere:
        return _wrapped(commands, call, grammar, call.words[at + 1 :])
    with commands.elsewhere():
        return _wrapped(commands, call, grammar, call.words[at + 1 :])


def env(commands: Commands, call: ProgramCall) -> Stream | None:
    """Follows env, which also splits a text into words."""
    parts = taken(commands, call, GRAMMARS["env"])
    text = parts.value(("-S", "--split-string"))
    if text is None:
        return prefix(commands, call)
    rest = shlex.join(call.words[1 + parts.own :]) if is_known(call.line) else " ".join(call.words[1 + parts.own :])
    return commands.inner(f"env {text} {rest}", call.stdin, via=("env",), given=call.given)


def taken(commands: Commands, call: ProgramCall, grammar: Grammar, words: Sequence[str] | None = None) -> Split:
    """The options of a wrapper; one that is not known makes the command unsure."""
    parts = split(grammar, call.words[1:] if words is None else words)
    if parts.unknown:
        commands.doubt(f"{call.program} has an option that is not known here: {parts.unknown}")
    return parts


def rest_behind(parts: Split, words: Sequence[str]) -> Sequence[str]:
    """The command behind the options. Behind an unknown one it is a guess: the first word without a dash."""
    at = parts.own
    while parts.unknown and at < len(words) and words[at].startswith("-"):
        at += 1
    return words[at:]


def _wrapped(commands: Commands, call: ProgramCall, grammar: Grammar, words: Sequence[str]) -> Stream | None:
    parts = taken(commands, call, grammar, words)
    if parts.has(grammar.stops):
        return None
    saved = commands.cwd
    if (directory := parts.value(grammar.directory)) is not None:
        commands.change_directory(directory)
    try:
        with commands.assigned(parts.assigned):
            return _command(commands, call, grammar, parts, rest_behind(parts, words))
    finally:
        commands.cwd = saved


def _command(
    commands: Commands, call: ProgramCall, grammar: Grammar, parts: Split, rest: Sequence[str]
) -> Stream | None:
    if (text := parts.value(grammar.text)) is not None:
        return commands.inner(text, call.stdin, via=(call.program,), given=call.given)
    if grammar.joined or parts.has(grammar.joined_with):
        return commands.inner(" ".join(rest), call.stdin, via=(call.program,), given=call.given) if rest else None
    if len(rest) == 1 and " " in rest[0]:
        return commands.inner(rest[0], call.stdin, via=(call.program,), given=call.given)
    return go_on(commands, call, rest)


def go_on(commands: Commands, call: ProgramCall, words: Sequence[str], stdin: Stream | None = None) -> Stream | None:
    """Adds the call that another one runs, with the same input if no other is given."""
    if not words:
        return None
    return commands.emit(
        words,
        stdin=call.stdin if stdin is None else stdin,
        via=(*call.via, call.program),
        # The output of another machine shows nothing of this one.
        given=call.given if commands.cwd != ELSEWHERE else call.given - {"shown", "kept"},
    )


def guess(commands: Commands, call: ProgramCall) -> None:
    """Reads the command that an unknown program may run: words or a text that begin with the name of a program.

    A guess adds no doubts: the words are perhaps not a command.
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


def guess_values(commands: Commands, call: ProgramCall) -> None:
    """Reads the values of options and settings that begin with the name of a program: `--command=`, `ExecStart=`."""
    if call.program in _SILENT or call.program in _WITH_MESSAGES:
        return
    with commands.guessing():
        for word in call.words[1:]:
            found = _VALUE.match(word)
            if found and " " in found[1] and _name(found[1].split(maxsplit=1)[0]) in GUESSED:
                commands.inner(found[1].rstrip("\"')]}"), via=(*call.via, call.program))


def _texts(call: ProgramCall) -> Iterator[str]:
    for word in call.words[1:]:
        text = _without_option(word)
        if " " in text and _name(text.split(maxsplit=1)[0] if text.strip() else "") in GUESSED:
            yield text


def _marked(call: ProgramCall) -> Iterator[str]:
    """The commands behind a mark that makes a program hand them to a shell."""
    lines = [*call.words[1:], *(call.stdin.text or "").splitlines()[:_MOST_LINES]]
    yield from (found[1] for line in lines if (found := _MARK.match(_without_option(line))))


def _without_option(text: str) -> str:
    found = _OPTION.match(text)
    return text[found.end() :] if found else text


def _name(word: str) -> str:
    return word.rpartition("/")[2]
