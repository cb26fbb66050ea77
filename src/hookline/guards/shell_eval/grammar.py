"""The options of programs that run other programs, from data/wrappers.toml, and how a command line is split by them."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import msgspec

from hookline.guards.facts import data

# env and sudo take any name: `1A=2`, `a.b=c`.
_ASSIGNMENT = re.compile(r"[^=-][^=]*=")
_NUMBER = re.compile(r"--?\d+")


class Grammar(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of one program; data/wrappers.toml describes the fields."""

    short: str = ""
    long: str = ""
    single: bool = False
    operands: int = 0
    assignments: bool = False
    dash: bool = False
    numbers: bool = False
    text: tuple[str, ...] = ()
    joined: bool = False
    joined_with: tuple[str, ...] = ()
    stops: tuple[str, ...] = ()
    directory: tuple[str, ...] = ()
    direct: tuple[str, ...] = ()
    lenient: bool = False
    elsewhere: bool = False
    apart: bool = False

    def letter(self, letter: str) -> str | None:
        """`""` for an option without a value, `:` and `::` for one with a value; None for one that is not known."""
        return _letters(self.short).get(letter)

    def named(self, name: str) -> tuple[str, str] | None:
        """The whole name of a long option, and `=` or `?` if it takes a value; a unique beginning is enough."""
        names = _names(self.long)
        if name in names:
            return name, names[name]
        found = [each for each in names if name and each.startswith(name)]
        return (found[0], names[found[0]]) if len(found) == 1 else None


@cache
def _letters(short: str) -> Mapping[str, str]:
    return dict(re.findall(r"([^:])(:{0,2})", short))


@cache
def _names(long: str) -> Mapping[str, str]:
    return {each.rstrip("=?"): each[-1] if each[-1] in "=?" else "" for each in long.split()}


class Split(NamedTuple):
    """A command line of a wrapper."""

    given: Sequence[tuple[str, str]]
    """Its own options with their values, `-u` and `--user` as they are written."""
    assigned: tuple[str, ...]
    """`NAME=value` before the command."""
    own: int
    """The number of words before the command."""
    unknown: str
    """An unknown option, which makes the beginning of the command unknown."""

    @property
    def options(self) -> Mapping[str, str]:
        """Its own options; the last of several counts."""
        return dict(self.given)

    def value(self, names: Sequence[str]) -> str | None:
        """The value of the first of these options that is given."""
        return next((self.options[name] for name in names if name in self.options), None)

    def has(self, names: Sequence[str]) -> bool:
        """Whether one of these options is given."""
        return not self.options.keys().isdisjoint(names)


def split(grammar: Grammar, words: Sequence[str]) -> Split:
    """Takes the words behind a program's name apart, as getopt does: options end at the first operand."""
    return _Splitter(grammar, words).run()


class _Splitter:
    def __init__(self, grammar: Grammar, words: Sequence[str]) -> None:
        self._grammar = grammar
        self._words = words
        self._at = 0
        self._given: list[tuple[str, str]] = []
        self._assigned: list[str] = []
        self._unknown = ""

    def run(self) -> Split:
        words, operands = self._words, self._grammar.operands
        is_over = False
        while self._at < len(words) and not self._unknown:
            word = words[self._at]
            if not is_over and word == "--":
                is_over = True
            elif not is_over and word != "-" and word.startswith(("-", "+") if self._grammar.apart else "-"):
                self._option(word)
            elif self._grammar.assignments and _ASSIGNMENT.match(word):
                self._assigned.append(word)
            elif self._grammar.dash and word == "-":
                pass
            elif operands > 0 and not {name for name, _ in self._given}.intersection(self._grammar.direct):
                operands -= 1
            else:
                break
            self._at += 1
        return Split(self._given, tuple(self._assigned), min(self._at, len(words)), self._unknown)

    def _option(self, word: str) -> None:
        grammar = self._grammar
        if grammar.numbers and _NUMBER.fullmatch(word):
            return
        if word.startswith("--") or (grammar.single and grammar.named(word[1:])):
            self._long(word)
        else:
            self._cluster(word)

    def _long(self, word: str) -> None:
        name, equals, value = word.lstrip("-").partition("=")
        found = self._grammar.named(name)
        if found is None:
            self._unknown = "" if self._grammar.lenient else word
        elif found[1] == "=" and not equals:
            self._given.append((f"--{found[0]}", self._next()))
        else:
            self._given.append((f"--{found[0]}", value))

    def _cluster(self, word: str) -> None:
        for index, letter in enumerate(word[1:], 1):
            kind = self._grammar.letter(letter)
            if kind is None and self._grammar.lenient:
                continue
            if kind is None:
                self._unknown = word
                return
            rest = "" if self._grammar.apart else word[index + 1 :]
            value = "" if kind == "" else rest if rest or kind == "::" else self._next()
            self._given.append((f"-{letter}", value))
            if kind != "" and not self._grammar.apart:
                return

    def _next(self) -> str:
        self._at += 1
        return self._words[self._at] if self._at < len(self._words) else ""


def _read() -> Mapping[str, Mapping[str, Grammar]]:
    raw = data("wrappers")
    groups = {name: raw[name] for name in ("behind", "shells")}
    alone = {name: row for name, row in raw.items() if name not in groups}
    return msgspec.convert({"alone": alone, **groups}, dict[str, dict[str, Grammar]])


_read_once = _read()
GRAMMARS = _read_once["alone"]
"""By program."""
BEHIND = {tuple(name.split(" ")): grammar for name, grammar in _read_once["behind"].items()}
"""By program and subcommand."""
_BEHIND_PROGRAM: dict[str, list[tuple[str, ...]]] = {}
for _name in BEHIND:
    _BEHIND_PROGRAM.setdefault(_name[0], []).append(_name)
SHELL_GRAMMARS = _read_once["shells"]
"""By shell; other shells are read like sh."""
_ALIKE = {"rbash": "bash", "mksh": "ksh", "csh": "tcsh", "pdksh": "ksh", "oksh": "ksh"}


def shell_grammar(program: str) -> Grammar:
    """The options of a shell."""
    return SHELL_GRAMMARS.get(_ALIKE.get(program, program), SHELL_GRAMMARS["sh"])


def subcommand_of(program: str, operands: Sequence[str]) -> tuple[str, ...] | None:
    """The program and the words behind it that make it run another one, as `docker exec`; None if these do not."""
    names = _BEHIND_PROGRAM.get(program, ())
    return next((name for name in names if name[1:] == tuple(operands[: len(name) - 1])), None)
