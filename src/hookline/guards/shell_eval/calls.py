"""One program that a shell command runs, with its arguments and what it reads and writes."""

import posixpath
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cached_property, lru_cache
from typing import NamedTuple, Protocol, TypedDict, Unpack

from hookline.guards.facts import OPTIONS, SHELLS
from hookline.guards.shell_eval.grammar import GRAMMARS, split
from hookline.guards.shell_eval.words import UNKNOWN
from hookline.shell.pieces import Item


class Stream(NamedTuple):
    """The content of a pipe: its origins, and its text if it is a plain literal."""

    kinds: frozenset[str] = frozenset()
    """`network`, `secret`, `environment`, `file` or `unknown`; several, where commands mix them."""
    text: str | None = None
    entries: tuple[str, ...] = ()
    """The paths that it lists, as patterns."""
    is_given: bool = True
    """False where there is no pipe, so that a program reads what the whole command reads."""


NOTHING = Stream(is_given=False)
ANYTHING = Stream(kinds=frozenset({"unknown"}))
FILE = Stream(kinds=frozenset({"file"}))

_QUESTION = re.compile(r"\S+(?: [a-z][\w-]*){0,3} (?:--help|--version|-h|help)")
_ASKING = frozenset(("--help", "--version", "-h", "help"))
LONGEST_LINE = 8 * 1024
"""Rules look at no longer text at once; the reader is unsure about a call with more."""
_OVERLAP = 1024
ELSEWHERE = "/elsewhere"
"""The directory of commands on another machine, or in a container."""


def merged(streams: Sequence[Stream]) -> Stream:
    """The output of several commands, one after the other."""
    if len(streams) == 1:
        return streams[0]
    kinds = frozenset(kind for each in streams for kind in each.kinds)
    texts = [each.text for each in streams]
    text = None if None in texts or not texts else "\n".join(each or "" for each in texts)
    entries = tuple(entry for each in streams for entry in each.entries)
    return Stream(kinds if text is not None or kinds or entries else frozenset({"unknown"}), text, entries)


class Surroundings(TypedDict, total=False):
    """The arguments of `Call` beside its words."""

    stdin: Stream
    writes: tuple[str, ...]
    reads: tuple[str, ...]
    via: tuple[str, ...]
    assigned: tuple[str, ...]
    given: frozenset[str]


class Call:
    """A program with its arguments. Words are as the program gets them; unknown parts are marked in them."""

    def __init__(
        self,
        words: tuple[str, ...],
        *,
        cwd: str,
        stdin: Stream = NOTHING,
        writes: tuple[str, ...] = (),
        reads: tuple[str, ...] = (),
        via: tuple[str, ...] = (),
        assigned: tuple[str, ...] = (),
        given: frozenset[str] = frozenset(),
    ) -> None:
        self.words = words
        self.cwd = cwd
        self.stdin = stdin
        self.writes = writes
        """Files that redirections write to."""
        self.reads = reads
        self.via = via
        """The programs that run it, such as sudo or xargs, outermost first."""
        self.assigned = assigned
        """Variables that are set for it alone, as `NAME=value`."""
        self.given = given
        """The kinds of what substitutions put into its words."""
        self.kinds: dict[object, frozenset[str]] = {}
        """The kinds of places that its paths are, by the function that finds these: several packs ask for them."""
        # Each is used for nearly every call, and a cached property takes longer.
        self.line = " ".join(words)
        """The whole call as one text."""
        self.program = program_of(words[0]) if words else ""
        """The program's name without its directory."""
        self.flags, self.operands = _arguments(self.program, words)
        """Its flags: `-rf` as `-r` and `-f` (and as it is written), `--name=value` as `--name`.

        Its operands are its arguments that are no flags, nor the values of flags that are known to have one.
        """

    def __repr__(self) -> str:
        return f"Call({' '.join(self.words)!r}, via={self.via})"

    @cached_property
    def long_flags(self) -> tuple[str, ...]:
        """Its flags that have names."""
        return tuple(flag for flag in self.flags if flag.startswith("--"))

    @cached_property
    def identity(self) -> tuple[object, ...]:
        """All that rules can tell it from other calls by."""
        return self.words, self.cwd, self.stdin, self.writes, self.reads, self.via, self.assigned, self.given

    @cached_property
    def is_question(self) -> bool:
        """Whether the program is asked about itself, and does nothing else: `rm --help`, `terraform destroy --help`."""
        return self.words[-1:] != () and self.words[-1] in _ASKING and _QUESTION.fullmatch(self.line) is not None

    @cached_property
    def lowered(self) -> str:
        """All that it is told, in small letters."""
        return self.text.lower()

    @cached_property
    def text(self) -> str:
        """All that it is told: its name without a directory, its words, and a text that it reads."""
        line = " ".join((self.program, *self.words[1:]))
        return line if self.stdin.text is None else f"{line}\n{self.stdin.text}"

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """The same in pieces of a bounded length, for regular expressions; long input overlaps from piece to piece."""
        if len(self.text) <= LONGEST_LINE:
            return (self.text,)
        text = self.stdin.text or ""
        starts = range(0, len(text), LONGEST_LINE - _OVERLAP)
        return (self.text[:LONGEST_LINE], *(text[start : start + LONGEST_LINE] for start in starts))

    @cached_property
    def _dashed(self) -> tuple[tuple[int, str], ...]:
        return tuple((index, word) for index, word in enumerate(self.words) if word[:1] == "-" and index)

    def value_of(self, *flags: str) -> str | None:
        """The value of the first of these flags: the word behind it, or behind its `=`."""
        for index, word in self._dashed:
            name, equals, value = word.partition("=")
            if name in flags:
                return value if equals else next(iter(self.words[index + 1 :]), None)
            # -ofile
            if not word.startswith("--") and (short := word[:2]) in flags and word != short:
                return word[2:]
        return None

    def path(self, operand: str) -> str:
        """An operand as an absolute path, as far as it is known."""
        if operand.startswith((UNKNOWN, "/")):
            return posixpath.normpath(operand) if operand.startswith("/") else operand
        return posixpath.normpath(posixpath.join(self.cwd, operand))


@lru_cache(maxsize=256)
def program_of(word: str) -> str:
    """The name of the program that a word runs, without its directory."""
    name = posixpath.basename(word.rstrip("/"))
    name = name[:-4].lower() if name.lower().endswith(".exe") else name
    # bash-5.2
    return short if (short := name.rstrip("0123456789.-")) != name and short in SHELLS else name


def _arguments(program: str, words: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...]]:
    """The flags and operands of a call, in one pass: what a flag takes as its value is neither."""
    if not any(word[:1] == "-" for word in words) and program not in GRAMMARS:
        return _NO_FLAGS, words[1:]
    flags: set[str] = set()
    operands: list[str] = []
    with_value = OPTIONS.get(program, _NO_FLAGS)
    # The flags of a command that it runs are not its own.
    grammar = GRAMMARS.get(program)
    own = len(words) if grammar is None else 1 + split(grammar, words[1:]).own
    index = 1
    while index < len(words):
        word = words[index]
        index += 1
        if word == "--":
            operands += words[index:]
            break
        if not word.startswith("-") or word == "-":
            operands.append(word)
            if len(operands) == 1:
                with_value |= OPTIONS.get(f"{program} {word}", _NO_FLAGS)
            continue
        found, takes_next = _read_flag(word, with_value)
        flags.update(found if index <= own else ())
        index += takes_next
    return frozenset(flags), tuple(operands)


_NO_FLAGS: frozenset[str] = frozenset()


def _read_flag(word: str, with_value: frozenset[str]) -> tuple[list[str], bool]:
    """The flags that a word gives, and whether the next word is the value of the last of them."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return ([] if value in ("false", "no") else [name]), not equals and name in with_value
    found = [word]
    for at, char in enumerate(word[1:], 1):
        found += [f"-{char}"] if char.isalnum() else []
        if f"-{char}" in with_value:
            return found, at == len(word) - 1
    return found, word in with_value


class Reader(Protocol):
    """The interface of the command reader for programs that run others; `Commands` implements it."""

    calls: list[Call]
    cwd: str
    home: str
    project: str
    given: set[str]
    made_by: list[str]
    """The calls of the substitutions in the command that is being read."""

    @property
    def substituted(self) -> Stream:
        """The output of the substitutions in the command that is being read, where that is not known."""

    def start_command(self) -> None:
        """Forgets the substitutions of the command before."""

    def emit(self, words: Sequence[str], **surroundings: Unpack[Surroundings]) -> Stream:
        """Adds a call and those that it makes in turn; returns what it writes to its output."""

    def simple(self, words: list[str], *, is_plain: bool, **surroundings: Unpack[Surroundings]) -> Stream:
        """One simple command, with its alias replaced."""

    def inner(
        self,
        text: str,
        stdin: Stream = NOTHING,
        *,
        arguments: Sequence[str] = (),
        via: tuple[str, ...] = (),
        given: frozenset[str] = frozenset(),
        is_same_shell: bool = False,
    ) -> Stream:
        """Reads a command that another one hands to a shell."""

    def doubt(self, sentence: str) -> None:
        """Notes something that can't be known."""

    def guessing(self) -> AbstractContextManager[None]:
        """Reads a text that may be no command at all: what can't be known about it is not noted."""

    def spend(self, steps: int) -> None:
        """Counts steps; past the budget nothing more is read."""

    def define(self, name: str, body: tuple[Item, ...]) -> None:
        """Notes a function."""

    def values(self, name: str) -> tuple[str, ...] | None:
        """The values that a variable may have; None where it was not set here."""

    def assign(self, name: str, *values: str) -> None:
        """Gives a variable the values that it may have."""

    def forget(self, *names: str) -> None:
        """Makes variables unknown, or all of them if none is named."""

    def refer(self, name: str) -> None:
        """Makes a variable unknown for good: another name writes to it."""

    def assigned(self, pairs: Sequence[str]) -> AbstractContextManager[None]:
        """Sets variables, as `NAME=value`, for one command."""

    def scoped(self) -> AbstractContextManager[None]:
        """A subshell: its directory and its variables are its own."""

    def piped(self) -> AbstractContextManager[None]:
        """A part of a pipeline: in some shells its variables are its own, in others they are not."""

    def elsewhere(self) -> AbstractContextManager[None]:
        """Another machine or container: what is relative there is not below this project."""

    def alias(self, name: str, text: str) -> None:
        """Gives a word another meaning for the rest of the command."""

    def written(self, path: str) -> Stream | None:
        """The text that this command has written to a file; None for a file that it did not write."""

    def change_directory(self, directory: str) -> None:
        """Follows `cd`."""
