"""Programs that run a command for each thing on a list: find, xargs, parallel."""

import re

from hookline.guards.path_kinds import is_whole
from hookline.guards.shell_eval.calls import NOTHING, ProgramCall, Stream
from hookline.guards.shell_eval.commands import Commands
from hookline.guards.shell_eval.grammar import GRAMMARS
from hookline.guards.shell_eval.programs.prefixes import go_on, rest_behind, taken
from hookline.guards.shell_eval.words import ENTRY, UNKNOWN, is_known

_NARROWING = re.compile(
    r"-(?:i?(?:name|path|wholename|regex|lname)|[acm](?:min|time)|[acm]?newer\w*|size|empty|perm|inum|nouser|nogroup"
    r"|links|samefile|xtype)"
)
_NAMING = ("-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename")
_EVERYTHING = ("*", ".*", "*.*")
_RUNNING = ("-exec", "-execdir", "-ok", "-okdir")
_WRITING = ("-fprint", "-fprint0", "-fprintf", "-fls")
_OPTIONS = ("-L", "-H", "-P", "-E")
# xargs and parallel take quotes and backslashes away.
_QUOTING = re.compile(r"[\\\"']")
_SEPARATOR = re.compile(r":{3,4}\+?")
_REPLACED = re.compile(r"\{[./#%0-9=+-]*\}")
_MOST_GIVEN = 50


def xargs(commands: Commands, call: ProgramCall) -> Stream | None:
    """Follows xargs: the words behind its options, with the lines of its input."""
    parts = taken(commands, call, GRAMMARS["xargs"])
    words = [*rest_behind(parts, call.words[1:])] or ["echo"]
    place = parts.value(("-I", "-J", "-i", "--replace"))
    is_whole = place is not None or parts.has(("-0", "--null", "-d", "--delimiter", "-L", "--max-lines"))
    given = [UNKNOWN] if parts.has(("-a", "--arg-file")) else _listed(call.stdin, is_whole=is_whole)
    return go_on(commands, call, _filled(words, "{}" if place == "" else place, given), NOTHING)


def _filled(words: list[str], place: str | None, given: list[str]) -> list[str]:
    """The words with each given one in its place, or behind them."""
    if place is None or not any(place in word for word in words):
        return [*words, *given]
    if any(word == place for word in words):
        return [each for word in words for each in (given if word == place else [word.replace(place, given[0])])]
    return [word.replace(place, " ".join(given)) for word in words]


def _listed(stream: Stream, *, is_whole: bool) -> list[str]:
    text = stream.text
    if text is not None and is_known(text) and not _QUOTING.search(text):
        return [line.strip() for line in re.split(r"[\0\n]", text.strip("\0\n"))] if is_whole else text.split()
    return list(stream.entries) or [UNKNOWN]


def parallel(commands: Commands, call: ProgramCall) -> None:
    """Follows GNU parallel: a command for a shell, with each argument in it; without a command the arguments are."""
    parts = taken(commands, call, GRAMMARS["parallel"])
    rest = rest_behind(parts, call.words[1:])
    if parts.has(("--pipe", "--pipe-part", "--pipepart")):
        go_on(commands, call, rest)
        return
    at = next((at for at, word in enumerate(rest) if _SEPARATOR.fullmatch(word)), len(rest))
    words = list(rest[:at])
    given = [word for word in rest[at + 1 :] if not _SEPARATOR.fullmatch(word)]
    if at == len(rest):
        given = _listed(call.stdin, is_whole=True)
    elif "::::" in rest[at] or parts.has(("-a", "--arg-file")):
        given = [UNKNOWN]
    place = parts.value(("-I", "-i", "--replace", "--replacement-string")) or "{}"
    if not words:
        words = [place]
    if not any("{" in word or place in word for word in words):
        words.append(place)
    for each in given[:_MOST_GIVEN] or [UNKNOWN]:
        filled = [_REPLACED.sub(lambda _, each=each: each, word.replace(place, each)) for word in words]  # type: ignore[misc]
        commands.inner(" ".join(filled), via=(*call.via, call.program), given=call.given)
    if len(given) > _MOST_GIVEN:
        commands.doubt("parallel gets too many arguments to look at each")


def find(commands: Commands, call: ProgramCall) -> Stream | None:
    """Follows what find deletes and runs; its output is what it finds."""
    words = call.words[1:]
    start = next((at for at, word in enumerate(words) if _begins_tests(word)), len(words))
    base = [call.path(word) for word in words[:start] if not word.startswith("-")] or [call.path(".")]
    tests = _without_commands(words[start:])
    found = _found(base, tests)
    if "-delete" in tests:
        commands.emit(("rm", "-r", *found), via=(*call.via, "find"))
    index = start
    while index < len(words):
        if words[index] in _WRITING and index + 1 < len(words):
            commands.emit(("tee", words[index + 1]), via=(*call.via, "find"))
        if words[index] in _RUNNING:
            end = next((at for at in range(index, len(words)) if words[at] in (";", "+")), len(words))
            _execute(commands, call, words[index + 1 : end], found)
            index = end
        index += 1
    return Stream(entries=tuple(each if ENTRY in each else f"{each}/*" for each in found))


def fd(commands: Commands, call: ProgramCall) -> Stream | None:
    """Follows what fd runs for what it finds: fd PATTERN [PATH…] -x COMMAND."""
    at = next((at for at, word in enumerate(call.words) if word in ("-x", "-X", "--exec", "--exec-batch")), None)
    own = call if at is None else ProgramCall(call.words[:at], cwd=call.cwd)
    base = [call.path(word) for word in own.operands[1:]] or [call.path(".")]
    pattern = "" if own.operands[:1] in ((), (".",)) else own.operands[0]
    if pattern or not own.flags.isdisjoint(("-e", "--extension")):
        name = _HIDDEN.get(pattern.strip("^$*").replace("\\", "").lstrip("."), ENTRY)
        base = [f"{each}/{ENTRY}" if name == ENTRY else f"{each}/{ENTRY}/{name}" for each in base]
    if at is not None:
        _execute(commands, call, (*call.words[at + 1 :], "{}"), base)
        return None
    return Stream(entries=tuple(each if ENTRY in each else f"{each}/*" for each in base))


# Files with secrets, by the patterns that fd finds them with.
_HIDDEN = {
    name.lstrip("."): name
    for name in (".env", ".netrc", ".npmrc", ".pgpass", ".pypirc", "id_rsa", "id_ed25519", "credentials", ".htpasswd")
}


def _begins_tests(word: str) -> bool:
    return word.startswith(("-", "(", "!", ",")) and word not in _OPTIONS


def _without_commands(tests: tuple[str, ...]) -> tuple[str, ...]:
    """The tests without the words of commands, in which -delete and -name mean something else."""
    kept: list[str] = []
    is_command = False
    for word in tests:
        is_command = word in _RUNNING or (is_command and word not in (";", "+"))
        kept += [] if is_command else [word]
    return tuple(kept)


def _found(base: list[str], tests: tuple[str, ...]) -> list[str]:
    """The paths that pass the tests: the directories themselves, or entries in them, by the names in the tests."""
    pairs = list(zip(("", *tests), tests, (*tests[1:], ""), strict=False))
    if (
        not any(_NARROWING.fullmatch(test) and value not in _EVERYTHING for _, test, value in pairs)
        and "l" not in tests
    ):
        return base
    names = [
        value.rstrip("/").rsplit("/", 1)[-1]
        for before, test, value in pairs
        if test in _NAMING and before not in ("!", "-not") and value not in _EVERYTHING
    ]
    if names:
        return [f"{each}/{ENTRY}/{name}" for each in base for name in names]
    # A size or a date leaves files of every kind, which matters where all of them do.
    return [each if is_whole(each) else f"{each}/{ENTRY}" for each in base]


def _execute(commands: Commands, call: ProgramCall, rest: tuple[str, ...], found: list[str]) -> None:
    words: list[str] = []
    for each in rest:
        words.extend(found if each == "{}" else [each.replace("{}", found[0])])
    go_on(commands, call, words, NOTHING)
