"""One program that a shell command runs, with its arguments and what it reads and writes."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple, TypedDict

from hookline.guards.facts import OPTIONS, SHELLS
from hookline.guards.shell_eval.grammar import GRAMMARS, split
from hookline.guards.shell_eval.words import UNKNOWN


class Stream(NamedTuple):
    """The content of a pipe: its origins, and its text if it is a plain literal."""

    kinds: frozenset[str] = frozenset()
    """`network`, `secret`, `environment`, `file` or `unknown`; several, where commands mix them."""
    text: str | None = None
    entries: tuple[str, ...] = ()
    """The paths that it lists, as patterns."""
    is_given: bool = True
    """False without a pipe: the program then reads the input of the whole command."""


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
    """The arguments of `ProgramCall` beside its words."""

    stdin: Stream
    writes: tuple[str, ...]
    reads: tuple[str, ...]
    via: tuple[str, ...]
    assigned: tuple[str, ...]
    given: frozenset[str]


class ProgramCall:
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

        Its operands are the other arguments, without the values of flags that are known to take one.
        """

    def __repr__(self) -> str:
        return f"ProgramCall({' '.join(self.words)!r}, via={self.via})"

    @cached_property
    def long_flags(self) -> tuple[str, ...]:
        """Its flags that have names."""
        return tuple(flag for flag in self.flags if flag.startswith("--"))

    @cached_property
    def identity(self) -> tuple[object, ...]:
        """The properties that rules compare."""
        return self.words, self.cwd, self.stdin, self.writes, self.reads, self.via, self.assigned, self.given

    @cached_property
    def is_question(self) -> bool:
        """Whether the program is asked about itself, and does nothing else: `rm --help`, `terraform destroy --help`."""
        return self.words[-1:] != () and self.words[-1] in _ASKING and _QUESTION.fullmatch(self.line) is not None

    @cached_property
    def lowered(self) -> str:
        """The same text in lower case."""
        return self.text.lower()

    @cached_property
    def text(self) -> str:
        """The name without its directory, the words, and the text of its input."""
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

    def values_of(self, *flags: str) -> Iterator[str]:
        """The values of these flags: the word behind one, behind its `=`, or in the same word, as in -ofile and -zof.

        A long one may be given by its beginning, as most programs take it.
        """
        cluster = _cluster(self.program, flags)
        for index, word in self._dashed:
            name, equals, value = word.partition("=")
            if name in flags or _is_beginning(name, self.program, flags):
                yield value if equals else self._behind(index)
            elif cluster and (found := cluster.match(word)):
                yield word[found.end() :] or self._behind(index)

    def _behind(self, index: int) -> str:
        return next(iter(self.words[index + 1 : index + 2]), "")

    def value_of(self, *flags: str) -> str | None:
        """The value of the first of these flags."""
        return next(self.values_of(*flags), None)

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
SHORTEST_BEGINNING = len("--for")
"""A long option that is this long may be a shortened one."""


def _is_beginning(name: str, program: str, flags: tuple[str, ...]) -> bool:
    """Whether a long option is the beginning of one of these, and no other one that the program has."""
    is_short = len(name) < SHORTEST_BEGINNING or not name.startswith("--")
    return not is_short and name not in OPTIONS.get(program, _NO_FLAGS) and any(each.startswith(name) for each in flags)


@lru_cache(maxsize=512)
def _cluster(program: str, flags: tuple[str, ...]) -> re.Pattern[str] | None:
    """Finds one of these letters among several options in a word, before another one that takes the rest."""
    letters, others = (
        "".join(flag[1] for flag in every if len(flag) == len("-x") and flag != "--")
        for every in (flags, OPTIONS.get(program, _NO_FLAGS))
    )
    return re.compile(rf"-[^\W{re.escape(letters + others)}]*[{re.escape(letters)}]") if letters else None


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
