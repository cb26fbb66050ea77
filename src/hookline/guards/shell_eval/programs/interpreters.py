"""The code that a call gives to an interpreter in options, operands, a file or its input, and the literals in code."""

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import unquote

import msgspec

from hookline.guards.facts import data
from hookline.guards.shell_eval.calls import ProgramCall, Stream
from hookline.guards.shell_eval.commands import Commands
from hookline.guards.shell_eval.grammar import Grammar, split
from hookline.guards.shell_eval.programs.shells import STDIN
from hookline.guards.shell_eval.words import OUTPUT, UNKNOWN

_PLAIN_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "'": "'", "/": "/", "`": "`", "$": "$"}
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_QUOTED = r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'"
_TRIPLE = r"\"\"\"(?:[^\"\\]|\\.|\"(?!\"\"))*\"\"\"|\'\'\'(?:[^'\\]|\\.|'(?!''))*\'\'\'"
_BACKQUOTED = r"`(?:[^`\\]|\\.)*`"
_DELIMITED = r"\([^()]*\)|\{[^{}]*\}|\[[^\[\]]*\]|/[^/\n]*/|\|[^|\n]*\||![^!\n]*!"
_PATTERNS = {
    "python": rf"(?P<prefix>(?<!\w)[rbfuRBFU]{{0,2}})(?P<body>{_TRIPLE}|{_QUOTED})",
    "perl": rf"(?P<prefix>\bq[qwx]?\s?(?=[({{\[/|!])|)"
    rf"(?P<body>{_QUOTED}|{_BACKQUOTED}|(?:(?<=[qwx])|(?<=[qwx]\s))(?:{_DELIMITED}))",
    "ruby": rf"(?P<prefix>%[qQwWx]?(?=[({{\[|!])|)(?P<body>{_QUOTED}|{_BACKQUOTED}|(?<=[qQwWx%])(?:{_DELIMITED}))",
    "lua": rf"(?P<prefix>)(?P<body>{_QUOTED}|\[\[.*?\]\])",
    "": rf"(?P<prefix>)(?P<body>{_QUOTED}|{_BACKQUOTED})",
}
_COMPILED = {name: re.compile(pattern, re.DOTALL) for name, pattern in _PATTERNS.items()}
_ALIKE = {"pypy": "python", "luajit": "lua", "raku": "perl", "julia": "", "ipython": "python", "ipython3": "python"}
# In these languages text between backquotes is run.
_RUN_BACKQUOTED = frozenset(("perl", "ruby", "php", "raku", "julia"))
_INTERPOLATED = {
    "perl": re.compile(r"[$@][\w{]"),
    "ruby": re.compile(r"#[{$@]"),
    "php": re.compile(r"\$\w|\{\$"),
    "julia": re.compile(r"\$[\w(]"),
    "tclsh": re.compile(r"[$\[]"),
}
_TOKEN = re.compile(
    r"[ \t]*(?:\ue010(?P<literal>\d+)\ue011|(?P<comma>,)|(?P<open>[\[(])|(?P<close>[\])])"
    r"|(?P<named>[A-Za-z_]\w*\s*=(?![=>]))|.|$)",
    re.DOTALL,
)
_OVER = re.compile(r"[ \t]*(?:$|[;\n}{|&(]|(?:if|unless|or|and|while|for|function|async)\b|\w+\s*=>)")
_ENDS = re.compile(r"\s*(?:[,)\];}\n]|$|(?:if|unless|or|and|while|for)\b|&&|\|\||\|\s*getline)")


class _Interpreter(Grammar, frozen=True, kw_only=True):
    """The options of an interpreter; data/languages.toml describes the fields."""

    programs: str = ""
    code: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    first: bool = False
    lenient: bool = True
    reads: bool = True


class GivenCode(NamedTuple):
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
# They run scripts that take subcommands.
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


def pieces(commands: Commands, call: ProgramCall) -> Iterator[GivenCode]:
    """The code of a call."""
    found = _VERSIONED.match(call.program)
    name, row = _INTERPRETERS.get(found[1] if found else call.program, ("", None))
    if call.program in _POWERSHELL:
        if (stream := _powershell(commands, call)) is not None:
            yield GivenCode(stream, "powershell")
    elif row is not None:
        yield from _by_options(commands, call, name, row)
    for behind, language, options in _entries(call):
        for stream in _by_words(commands, call, behind, options):
            yield GivenCode(stream, language)


def _literal(call: ProgramCall, text: str) -> Stream:
    return Stream(call.given - {"shown", "kept", "variable"}, text)


def _by_options(commands: Commands, call: ProgramCall, name: str, row: _Interpreter) -> Iterator[GivenCode]:
    """The code by the interpreter's own options and operands."""
    parts = split(row, call.words[1:])
    rest = call.words[1 + parts.own :]
    given = parts.given
    if name == "python":
        # Words behind -c or -m are arguments of the program.
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
        yield GivenCode(_literal(call, "\n".join(code)), name)
    yield from (GivenCode(stream, name) for file in files if (stream := _written(commands, call, file)) is not None)
    runs_input = module in _RUNNING_MODULES or not (module or code or files)
    if row.reads and runs_input and not _ASKING & {*call.words[1:]}:
        yield GivenCode(call.stdin, name)


def _first(given: Sequence[tuple[str, str]], names: tuple[str, ...]) -> list[tuple[str, str]]:
    return [each for each in given if each[0] in names][:1]


def _written(commands: Commands, call: ProgramCall, file: str) -> Stream | None:
    if file in STDIN:
        return call.stdin
    return commands.substituted if OUTPUT in file else commands.written(call.path(file))


def _powershell(commands: Commands, call: ProgramCall) -> Stream | None:
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


def _entries(call: ProgramCall) -> Iterator[_Row]:
    """The rows of the table for a call: of its program, or of a script that an interpreter runs (`php artisan`)."""
    words = [word for word in (call.program, *call.operands[:_MOST_BEHIND]) if word]
    for at, word in enumerate(words):
        for behind, language, options in _ROWS.get(word.rpartition("/")[2], ()):
            is_meant = tuple(words[at + 1 : at + 1 + len(behind)]) == behind
            if is_meant and (at == 0 or (behind and call.program.startswith(_SCRIPT_RUNNERS))):
                yield tuple(words[1 : at + 1 + len(behind)]), language, options


def _by_words(
    commands: Commands, call: ProgramCall, behind: tuple[str, ...], options: tuple[str, ...]
) -> Iterator[Stream]:
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


class Literal(NamedTuple):
    """A string in code."""

    text: str
    is_plain: bool
    """Whether it is what it looks like: no value is put into it, and no escape hides a character."""
    is_command: bool = False
    """Whether the language runs it by itself, as between backquotes."""
    is_list: bool = False
    """Whether it is a list of words."""


class Code:
    """A piece of code: `text` has a mark in the place of each literal."""

    def __init__(self, code: str, language: str) -> None:
        self.literals: list[Literal] = []
        name = _ALIKE.get(language, language)
        self._language = name
        self.text = _COMPILED.get(name, _COMPILED[""]).sub(self._note, code.replace("\ue010", "").replace("\ue011", ""))

    def _note(self, found: re.Match[str]) -> str:
        self.literals.append(self._literal(found["prefix"].strip(), found["body"]))
        return f"\ue010{len(self.literals) - 1}\ue011"

    def _literal(self, prefix: str, body: str) -> Literal:
        width = 3 if body[:3] in ('"""', "'''") and len(body) > 5 else 2 if body[:2] == "[[" else 1  # noqa: PLR2004
        text = body[width:-width]
        is_raw = (
            "r" in prefix.lower() or prefix == "q" or (body[0] == "'" and self._language in ("perl", "ruby", "php"))
        )
        is_plain = is_raw or all(found[1] in _PLAIN_ESCAPES for found in _ESCAPED.finditer(text))
        if self._has_values(prefix, body):
            is_plain = False
        if not is_raw:
            text = _ESCAPED.sub(lambda found: _PLAIN_ESCAPES.get(found[1], found[0]), text)
        is_command = prefix in ("qx", "%x") or (body[0] == "`" and self._language in _RUN_BACKQUOTED)
        return Literal(text, is_plain, is_command, prefix in ("qw", "%w", "%W"))

    def _has_values(self, prefix: str, body: str) -> bool:
        """Whether the language puts values into the text."""
        if self._language == "python":
            return "f" in prefix.lower() and "{" in body
        if body[0] == "'" or prefix in ("q", "qw", "%q", "%w"):
            return False
        if body[0] == "`" and self._language not in _RUN_BACKQUOTED:
            return "${" in body
        pattern = _INTERPOLATED.get(self._language)
        return pattern is not None and pattern.search(body) is not None

    def mentions(self, pattern: re.Pattern[str]) -> bool:
        """Whether a literal has a match of a pattern."""
        return any(pattern.search(each.text) for each in self.literals)

    def literals_at(self, at: int) -> list[Literal]:
        """The literal whose mark is at a position, if there is one."""
        found = _TOKEN.match(self.text, at) if at >= 0 else None
        return [self.literals[int(found["literal"])]] if found and found["literal"] else []

    def arguments(self, at: int) -> list[Literal] | None:
        """The literals that a call at this position gets; None if there is anything else among them."""
        found: list[Literal] = []
        depth = 1
        while depth and (token := _TOKEN.match(self.text, at)) is not None:
            at = token.end()
            if token["literal"]:
                found.append(self.literals[int(token["literal"])])
                if not _ENDS.match(self.text, at):
                    return None
            elif token["close"]:
                depth -= 1
            elif token["open"] and not (token["open"] == "(" and found):
                depth += 1
            elif token["named"] and not found:
                pass  # the argument has a name
            elif not token["comma"]:
                # A function that gets the result, options, or the end; anything else makes it another text.
                return found or None if token["named"] or _OVER.match(self.text, token.start()) else None
        return found or None
