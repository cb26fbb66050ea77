"""The code that a call gives to an interpreter: in its options, its operands, a file, or its input."""

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import unquote

import msgspec

from hookline.guards.facts import data
from hookline.guards.shell_eval.calls import Call, Stream
from hookline.guards.shell_eval.commands import Commands
from hookline.guards.shell_eval.grammar import Grammar, split
from hookline.guards.shell_eval.shells import STDIN
from hookline.guards.shell_eval.words import OUTPUT, UNKNOWN


class _Interpreter(Grammar, frozen=True, kw_only=True):
    """The options of an interpreter; data/languages.toml describes the fields."""

    programs: str = ""
    code: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    first: bool = False
    lenient: bool = True
    reads: bool = True


class Piece(NamedTuple):
    """Code that a call gives to an interpreter."""

    stream: Stream
    language: str
    """Empty for a language that is not read here."""


_raw = data("languages")
_INTERPRETERS = {
    program: (name, msgspec.convert(row, _Interpreter, strict=False))
    for name, row in _raw["interpreters"].items()
    for program in row.get("programs", name).split()
}
_VERSIONED = re.compile(r"(python|pypy|ruby|perl|lua|php|node)[0-9.]*$")
_POWERSHELL = ("pwsh", "powershell")
_ASKING = frozenset(("--version", "--help", "-V", "-v", "-h"))
# Python's modules that run what follows them, or their input.
_RUNNING_MODULES = ("timeit", "code", "pdb", "runpy")
_SHORTEST = 2
_MOST_BEHIND = 4
# They run a script that takes subcommands of its own.
_SCRIPT_RUNNERS = ("python", "php", "ruby", "bundle", "uv", "poetry")

_Row = tuple[tuple[str, ...], str, tuple[str, ...]]


def _rows() -> dict[str, list[_Row]]:
    """By program: the words behind it, the language (empty if it is not read), and the options that take code."""
    found: dict[str, list[_Row]] = {}
    for language, entries in (("", _raw["code"]), *_raw["read"].items()):
        for name, options in entries.items():
            program, *behind = name.split()
            found.setdefault(program, []).append((tuple(behind), language, tuple(options)))
    return found


_ROWS = _rows()


def pieces(commands: Commands, call: Call) -> Iterator[Piece]:
    """The code of a call."""
    found = _VERSIONED.match(call.program)
    name, row = _INTERPRETERS.get(found[1] if found else call.program, ("", None))
    if call.program in _POWERSHELL:
        if (stream := _powershell(commands, call)) is not None:
            yield Piece(stream, "powershell")
    elif row is not None:
        yield from _by_options(commands, call, name, row)
    for behind, language, options in _entries(call):
        for stream in _by_words(commands, call, behind, options):
            yield Piece(stream, language)


def _literal(call: Call, text: str) -> Stream:
    return Stream(call.given - {"shown", "kept", "variable"}, text)


def _by_options(commands: Commands, call: Call, name: str, row: _Interpreter) -> Iterator[Piece]:
    """The code by the interpreter's own options and operands."""
    parts = split(row, call.words[1:])
    rest = call.words[1 + parts.own :]
    given = parts.given
    if name == "python":
        # What follows -c or -m is for the program.
        given = [*itertools.takewhile(lambda each: each[0] not in ("-c", "-m"), given), *_first(given, ("-c", "-m"))]
    code = [value for option, value in given if option in row.code]
    files = [value for option, value in given if option in row.files]
    module = dict(given).get("-m", "")
    if module:
        code = {"timeit": [*rest], "pdb": [value for option, value in parts.given if option == "-c"]}.get(module, [])
    elif rest and row.first and not code and not files:
        code += [word for word in rest if word][:1]
    elif rest and not row.first and not code:
        files.append(rest[0])
    addresses = (value for option, value in given if option in row.addresses and value.startswith("data:"))
    code += [unquote(value.partition(",")[2]) for value in addresses]
    if code:
        yield Piece(_literal(call, "\n".join(code)), name)
    yield from (Piece(stream, name) for file in files if (stream := _written(commands, call, file)) is not None)
    runs_input = module in _RUNNING_MODULES or not (module or code or files)
    if row.reads and runs_input and not _ASKING & {*call.words[1:]}:
        yield Piece(call.stdin, name)


def _first(given: Sequence[tuple[str, str]], names: tuple[str, ...]) -> list[tuple[str, str]]:
    return [each for each in given if each[0] in names][:1]


def _written(commands: Commands, call: Call, file: str) -> Stream | None:
    if file in STDIN:
        return call.stdin
    return commands.substituted if OUTPUT in file else commands.written(call.path(file))


def _powershell(commands: Commands, call: Call) -> Stream | None:
    """PowerShell takes the beginnings of its options, in any case, and all words behind them."""
    for index, word in enumerate(call.words[1:], 2):
        name = word.lower().lstrip("-")
        if not word.startswith("-") or (name and "file".startswith(name)):
            return _written(commands, call, next(iter(call.words[index:]), ""))
        if name and "command".startswith(name) and call.words[index:] != ("-",):
            return _literal(call, " ".join(call.words[index:]))
        if name and "encodedcommand".startswith(name):
            return _literal(call, UNKNOWN)
    return call.stdin


def _entries(call: Call) -> Iterator[_Row]:
    """The rows of the table for a call: of its program, or of a script that an interpreter runs (`php artisan`)."""
    words = [word for word in (call.program, *call.operands[:_MOST_BEHIND]) if word]
    for at, word in enumerate(words):
        for behind, language, options in _ROWS.get(word.rpartition("/")[2], ()):
            is_meant = tuple(words[at + 1 : at + 1 + len(behind)]) == behind
            if is_meant and (at == 0 or (behind and call.program.startswith(_SCRIPT_RUNNERS))):
                yield tuple(words[1 : at + 1 + len(behind)]), language, options


def _by_words(commands: Commands, call: Call, behind: tuple[str, ...], options: tuple[str, ...]) -> Iterator[Stream]:
    """The code by options that may stand anywhere, for programs whose other options are not known here."""
    words = call.words[1:]
    named = [*_named(words, options)]
    operands = [word for word in call.operands[len(behind) :] if word not in named]
    yield from (_literal(call, text) for text in (*named, *(operands[:1] if "" in options else ())))
    if "-" in options and not named and "" not in options:
        if operands and OUTPUT in operands[0]:
            yield commands.substituted
        elif not operands or STDIN & {*operands, *words}:
            yield call.stdin


def _named(words: tuple[str, ...], options: tuple[str, ...]) -> Iterator[str]:
    """The values of the options that have code: behind them, behind `=` or `:`, or in the same word."""
    for word, *following in (words[at : at + 4] for at in range(len(words))):
        for option in (each for each in options if len(each) >= _SHORTEST):
            if word == option:
                yield " ".join(following if option in ("-run", "-s") else following[:1])
            elif option.startswith("--") and word.startswith((f"{option}=", f"{option}:")):
                yield word[len(option) + 1 :]
            elif len(option) == _SHORTEST and not word.startswith("--") and word.startswith("-"):
                if word.startswith(option):
                    yield word[_SHORTEST:]
                elif word.endswith(option[1]) and word[1:].isalpha() and len(word) <= _SHORTEST + 2:
                    yield " ".join(following[:1])
