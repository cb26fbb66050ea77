"""Rules about commands: data with an id, what a rule stops and why, and examples that are checked.

A rule has one or more patterns. A pattern holds for a call if all of its keys do:

    run      the program, and the words behind it: "git reset"; "|" for a choice, "*" in names
    flag     one of these flags is given (two lists: one of each)
    unless   none of these flags is given
    at       an operand is one of these kinds of places (see places.py)
    to       a file that is written is
    reads    a file that is read is
    word     an operand matches this regular expression
    line     the whole call, or a text that is piped into it, does
    stdin    what is piped in is of one of these kinds
    via      it is run by one of these programs
    sets     a variable that is set for it matches this regular expression
"""

import fnmatch
import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from hookline.packs.calls import Call
from hookline.packs.commands import Commands
from hookline.packs.places import PLACES, places
from hookline.packs.streams import READING

ACTIONS = ("deny", "ask")
# With these a program tells about itself and does nothing else.
_HARMLESS_FLAGS = frozenset(("--help", "--version"))


class Pattern(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a call must be like."""

    run: str = ""
    flag: tuple[str | tuple[str, ...], ...] = ()
    unless: tuple[str, ...] = ()
    at: tuple[str, ...] = ()
    to: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    word: str = ""
    line: str = ""
    stdin: tuple[str, ...] = ()
    via: tuple[str, ...] = ()
    sets: str = ""


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that a pack stops."""

    id: str
    action: str
    severity: str
    stops: str
    why: str
    when: tuple[Pattern, ...]
    stopped: tuple[str, ...]
    """Commands that it stops."""
    passed: tuple[str, ...]
    """Commands like them that it lets through."""
    instead: str = ""
    """What to do instead, for the model."""


class RuleError(ValueError):
    """A rule that can't be used."""


class _Ready:
    """A pattern, prepared for matching."""

    __slots__ = ("flags", "line", "pattern", "programs", "sets", "subcommands", "unless", "word")

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern
        program, *rest = pattern.run.split(" ") if pattern.run else ("",)
        self.programs = program.split("|") if program else []
        self.subcommands = [frozenset(each.split("|")) for each in rest]
        groups = pattern.flag if pattern.flag and isinstance(pattern.flag[0], tuple) else (pattern.flag,)
        self.flags = [frozenset(group) for group in groups if group]
        self.unless = frozenset(pattern.unless)
        self.word = re.compile(pattern.word) if pattern.word else None
        self.line = re.compile(pattern.line, re.IGNORECASE) if pattern.line else None
        self.sets = re.compile(pattern.sets) if pattern.sets else None

    def holds(self, call: Call, home: str, project: str) -> bool:
        pattern = self.pattern
        operands = call.operands
        for index, choice in enumerate(self.subcommands):
            if index >= len(operands) or not _is_one_of(operands[index], choice):
                return False
        if self.unless and _given(call, self.unless):
            return False
        if any(not _given(call, group) for group in self.flags):
            return False
        if self.word and not any(self.word.search(word) for word in operands[len(self.subcommands) :]):
            return False
        if self.line and not self.line.search(call.told):
            return False
        if self.sets and not any(self.sets.match(each) for each in call.assigned):
            return False
        if pattern.stdin and not (call.stdin.kinds | call.given).intersection(pattern.stdin):
            return False
        if pattern.via and not set(pattern.via).intersection(call.via):
            return False
        if pattern.at and not _any_at(call, operands[len(self.subcommands) :], pattern.at, home, project):
            return False
        if pattern.to and not _any_at(call, written_by(call), pattern.to, home, project):
            return False
        return not pattern.reads or _any_at(call, read_by(call), pattern.reads, home, project)


def _is_one_of(word: str, choice: frozenset[str]) -> bool:
    return word in choice or any("*" in each and fnmatch.fnmatchcase(word, each) for each in choice)


def _given(call: Call, flags: frozenset[str]) -> bool:
    """Whether one of the flags is given; a long one also by its beginning, as most programs take it."""
    if flags & call.flags:
        return True
    long = [flag for flag in call.flags if len(flag) > 4 and flag.startswith("--")]
    return any(name.startswith(flag) for flag in long for name in flags if name.startswith("--"))


def _any_at(call: Call, paths: Sequence[str], kinds: Sequence[str], home: str, project: str) -> bool:
    wanted = frozenset(kinds)
    return any(wanted & places(call.path(path), home, project) for path in paths if path)


def written_by(call: Call) -> list[str]:
    """The files that a call writes: by redirection, by their place among its operands, or behind a flag."""
    found = list(call.writes)
    program, operands = call.program, call.operands
    if program in ("tee", "touch", "truncate", "sponge"):
        found += operands
    elif program in ("cp", "mv", "install", "ln", "rsync", "scp"):
        found += [target] if (target := call.value_of("-t", "--target-directory")) else operands[-1:]
        found += [f"{operands[-1].rstrip('/')}/{each.rsplit('/', 1)[-1]}" for each in operands[:-1]]
    elif program == "dd":
        found += [word[3:] for word in call.words if word.startswith("of=")]
    elif program in ("sed", "perl") and any(flag.startswith("-i") for flag in call.words):
        found += operands[1:] or operands
    elif program in ("curl", "wget", "gcc", "cc", "sort"):
        found += [target] if (target := call.value_of("-o", "-O", "--output", "--output-document")) else []
    return found


def read_by(call: Call) -> list[str]:
    """The files that a call reads and may pass on."""
    found = list(call.reads)
    program = call.program
    if program in READING:
        found += call.operands
    if program in ("curl", "wget", "http"):
        found += [each for word in call.words[1:] for each in re.findall(r"(?:^|=|;)@([^;,\s]+)", word)]
        found += [target] if (target := call.value_of("-T", "--upload-file", "--post-file", "--body-file")) else []
    if program == "dd":
        found += [word[3:] for word in call.words if word.startswith("if=")]
    return found


class RuleSet:
    """The rules of one pack, found by the program's name."""

    def __init__(self, name: str, rules: Sequence[Rule]) -> None:
        self.name = name
        self.rules = tuple(rules)
        self._by_program: dict[str, list[tuple[_Ready, Rule]]] = {}
        self._others: list[tuple[_Ready, Rule]] = []
        for rule in rules:
            for pattern in rule.when:
                self._add(_Ready(pattern), rule)

    def _add(self, ready: _Ready, rule: Rule) -> None:
        if not ready.programs or any("*" in each for each in ready.programs):
            self._others.append((ready, rule))
            return
        for program in ready.programs:
            self._by_program.setdefault(program, []).append((ready, rule))

    def found(self, commands: Commands) -> Iterator[tuple[Rule, Call]]:
        """The rules that calls break, in the order of the calls."""
        for call in commands.calls:
            if call.flags & _HARMLESS_FLAGS:
                continue
            for ready, rule in self._by_program.get(call.program, ()):
                if ready.holds(call, commands.home, commands.project):
                    yield rule, call
            for ready, rule in self._others:
                if (not ready.programs or _is_one_of(call.program, frozenset(ready.programs))) and ready.holds(
                    call, commands.home, commands.project
                ):
                    yield rule, call


@cache
def load(pack: str) -> RuleSet:
    """The rules of a pack; RuleError for rules that can't be used."""
    text = files(__package__).joinpath("data", f"{pack}.toml").read_text("utf-8")
    return RuleSet(pack, read_rules(text))


def read_rules(text: str) -> list[Rule]:
    """Rules from TOML: each has its examples, places and actions are known, ids stand once."""
    raw: dict[str, Any] = tomllib.loads(text)
    try:
        rules = msgspec.convert(raw.get("rule", []), list[Rule])
    except msgspec.ValidationError as error:
        raise RuleError(str(error)) from error
    seen: set[str] = set()
    for rule in rules:
        if fault := _fault(rule, seen):
            raise RuleError(f"the rule {rule.id} {fault}")
        seen.add(rule.id)
    return rules


def _fault(rule: Rule, seen: set[str]) -> str | None:
    if rule.id in seen:
        return "stands there twice"
    if rule.action not in ACTIONS:
        return f"has the action {rule.action!r}; known are {', '.join(ACTIONS)}"
    if not rule.when or not rule.stopped or not rule.passed:
        return "needs a pattern, and examples both ways"
    unknown = {each for pattern in rule.when for each in (*pattern.at, *pattern.to, *pattern.reads)} - PLACES.keys()
    return f"names the places {', '.join(sorted(unknown))}, which do not exist" if unknown else None
