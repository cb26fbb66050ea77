"""Programs that run a command for each thing on a list: find, xargs, parallel."""

import re

from hookline.packs.known import SHELLS
from hookline.packs.places import is_whole
from hookline.packs.reading.calls import NOTHING, Call, Reader, Stream
from hookline.packs.reading.prefixes import go_on, rest_of
from hookline.packs.reading.words import ENTRY, UNKNOWN

_NARROWING = re.compile(
    r"-(?:i?(?:name|path|wholename|regex|lname)|[acm](?:min|time)|[acm]?newer\w*|size|empty|perm|inum|nouser|nogroup"
    r"|links|samefile|xtype)"
)
_NAMING = ("-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename")
_EVERYTHING = ("*", ".*", "*.*")
_RUNNING = ("-exec", "-execdir", "-ok", "-okdir")
_OPTIONS = ("-L", "-H", "-P", "-E")


def xargs(commands: Reader, call: Call) -> Stream | None:
    """Follows xargs: the words behind its options, with what stands in its pipe."""
    words = [*rest_of(call, "IiLlnPsadE")] or ["echo"]
    if "network" in call.stdin.kinds and any(word in SHELLS for word in words):
        commands.emit(("run-from-network",))
    given = _listed(call.stdin, is_whole=not call.flags.isdisjoint(("-0", "--null", "-d", "--delimiter")))
    place = call.value_of("-I", "--replace") or ("{}" if "-i" in call.flags else None)
    words = [word.replace(place, given[0] if given else "") for word in words] if place else [*words, *given]
    return go_on(commands, call, words, NOTHING)


def _listed(stream: Stream, *, is_whole: bool) -> list[str]:
    if stream.text is not None and UNKNOWN not in stream.text:
        return stream.text.strip("\0").split("\0") if is_whole else stream.text.split()
    return list(stream.entries) or [UNKNOWN]


def parallel(commands: Reader, call: Call) -> Stream | None:
    """Follows GNU parallel."""
    rest = rest_of(call, "jINSLnX")
    words = [*rest[: rest.index(":::")]] if ":::" in rest else [*rest]
    given = [*rest[rest.index(":::") + 1 :]] if ":::" in rest else [UNKNOWN]
    if len(words) == 1 and " " in words[0]:
        return commands.inner(words[0])
    return go_on(commands, call, [*words, *given])


def find(commands: Reader, call: Call) -> Stream | None:
    """Follows what find deletes and runs; its output is what it finds."""
    words = call.words[1:]
    start = next((at for at, word in enumerate(words) if _begins_tests(word)), len(words))
    base = [call.path(word) for word in words[:start] if not word.startswith("-")] or [call.path(".")]
    tests = _without_commands(words[start:])
    found = _found(base, tests)
    if "-delete" in tests:
        commands.emit(("rm", "-r", *found), via=(*call.via, "find"))
    for index, word in enumerate(words):
        if word in _RUNNING:
            _execute(commands, call, words[index + 1 :], found)
    return Stream(entries=tuple(each if ENTRY in each else f"{each}/*" for each in found))


def fd(commands: Reader, call: Call) -> Stream | None:
    """Follows what fd runs for what it finds: fd PATTERN [PATH…] -x COMMAND."""
    at = next((at for at, word in enumerate(call.words) if word in ("-x", "-X", "--exec", "--exec-batch")), None)
    if at is None:
        return None
    own = Call(call.words[:at], cwd=call.cwd)
    base = [call.path(word) for word in own.operands[1:]] or [call.path(".")]
    is_narrow = own.operands[:1] not in ((), (".",)) or not own.flags.isdisjoint(("-e", "--extension"))
    _execute(commands, call, (*call.words[at + 1 :], "{}"), [f"{each}/{ENTRY}" for each in base] if is_narrow else base)
    return None


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
    """What the tests leave: the places themselves, or entries in them, by the names that are asked for."""
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


def _execute(commands: Reader, call: Call, rest: tuple[str, ...], found: list[str]) -> None:
    end = next((at for at, each in enumerate(rest) if each in (";", "+")), len(rest))
    words: list[str] = []
    for each in rest[:end]:
        words.extend(found if each == "{}" else [each.replace("{}", found[0])])
    go_on(commands, call, words, NOTHING)
