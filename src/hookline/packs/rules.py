"""Rules about commands: data with an id, what a rule stops and why, and examples that are checked.

A rule has one or more patterns. A pattern holds for a call if all of its keys do:

    run      the program, and the words behind it: "git reset"; "|" for a choice, "*" in names
    other    it is none of these programs
    flag     one of these flags is given (two lists: one of each)
    unless   none of these flags is given
    source   an operand but the last is, for programs that copy or move
    at       an operand is one of these kinds of places (see places.py)
    to       a file that is written is
    reads    a file that is read is
    mounts   a directory of this machine that a container gets is
    changes  a file that is written, replaced or deleted is
    word     an operand matches this regular expression
    line     the whole call, or a text that is piped into it, does
    stdin    what is piped in is of one of these kinds
    given    substitutions put one of these kinds into its words, or its output is shown
    via      it is run by one of these programs
    sets     a variable that is set for it matches this regular expression
    sends    a client of the web sends a secret, as data, in its address or in a header that is not made for it
    seeks    it searches whole directories for secrets, files without an ending included
"""

import fnmatch
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import msgspec

from hookline.packs.places import PLACES, places
from hookline.packs.reading.calls import LONGEST_LINE, Call
from hookline.packs.reading.commands import Commands
from hookline.packs.reading.searches import seeks_secrets
from hookline.packs.reading.sent import sent_by
from hookline.packs.reading.transfers import changed_by, mounted_by, read_by, sources_of, written_by
from hookline.packs.reading.words import SECRET

ACTIONS = ("deny", "ask")
# A program that is asked about itself does nothing else: `rm --help`, `terraform destroy --help`.
_QUESTION = re.compile(r"\S+(?: [a-z][\w-]*){0,3} (?:--help|--version|-h|help)")


_ELSEWHERE = frozenset(("ssh", "docker", "podman", "kubectl", "oc"))
_SHORTEST_BEGINNING = len("--for")


class Pattern(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a call must be like."""

    run: str = ""
    other: str = ""
    flag: tuple[str | tuple[str, ...], ...] = ()
    unless: tuple[str, ...] = ()
    at: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    to: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()
    word: str = ""
    line: str = ""
    stdin: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    via: tuple[str, ...] = ()
    sets: str = ""
    sends: bool = False
    seeks: bool = False


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
    """The remedy, for the model: what to do instead."""


class OtherRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule about something else than commands, which the pack itself knows how to find."""

    id: str
    action: str
    severity: str
    stops: str
    why: str
    stopped: tuple[str, ...]
    passed: tuple[str, ...]
    instead: str = ""


class RuleError(ValueError):
    """A rule that can't be used."""


class _Where(NamedTuple):
    home: str
    project: str


_Check = Callable[[Call, _Where], bool]


class _Ready:
    """A pattern, prepared for matching."""

    __slots__ = ("_checks", "programs")

    def __init__(self, pattern: Pattern) -> None:
        program, *rest = pattern.run.split(" ") if pattern.run else ("",)
        self.programs = frozenset(program.split("|")) if program else frozenset()
        self._checks = list(_checks(pattern, [frozenset(each.split("|")) for each in rest]))

    def holds(self, call: Call, where: _Where) -> bool:
        """Whether a call of one of the programs is what the pattern means."""
        for check in self._checks:  # noqa: SIM110 - `all` takes half as long again
            if not check(call, where):
                return False
        return True


def _checks(pattern: Pattern, subcommands: list[frozenset[str]]) -> Iterator[_Check]:
    """What has to hold, cheapest first."""
    skipped = len(subcommands)
    if other := frozenset(pattern.other.split("|")) if pattern.other else None:
        yield lambda call, _: call.program not in other
    if subcommands:
        yield lambda call, _: _begins(call.operands, subcommands)
    if unless := frozenset(pattern.unless):
        yield lambda call, _: not _given(call, unless)
    for group in _flag_groups(pattern):
        yield lambda call, _, group=group: _given(call, group)  # type: ignore[misc]
    if pattern.word:
        word = re.compile(pattern.word)
        yield lambda call, _: any(word.search(each[:LONGEST_LINE]) for each in call.operands[skipped:])
    if pattern.line:
        line = re.compile(pattern.line, re.IGNORECASE)
        yield lambda call, _: any(map(line.search, call.pieces))
    yield from _surroundings(pattern)
    for kinds, paths in _paths_of(pattern):
        if kinds:
            yield lambda call, where, kinds=frozenset(kinds), paths=paths: _any_at(call, paths(call), kinds, where)  # type: ignore[misc]
    if at := frozenset(pattern.at):
        yield lambda call, where: _any_at(call, call.operands[skipped:], at, where)


def _paths_of(pattern: Pattern) -> tuple[tuple[tuple[str, ...], Callable[[Call], Sequence[str]]], ...]:
    return (
        (pattern.to, written_by),
        (pattern.reads, read_by),
        (pattern.changes, changed_by),
        (pattern.mounts, mounted_by),
        (pattern.source, sources_of),
    )


def _surroundings(pattern: Pattern) -> Iterator[_Check]:
    if pattern.sets:
        sets = re.compile(pattern.sets)
        yield lambda call, _: any(sets.match(each) for each in call.assigned)
    if pattern.sends:
        yield lambda call, _: any(SECRET in text for text in sent_by(call))
    if pattern.seeks:
        yield lambda call, where: seeks_secrets(call, where.home, where.project)
    if stdin := frozenset(pattern.stdin):
        yield lambda call, _: bool(stdin & (call.stdin.kinds | call.given))
    if given := frozenset(pattern.given):
        yield lambda call, _: not given.isdisjoint(call.given)
    if via := frozenset(pattern.via):
        yield lambda call, _: not via.isdisjoint(call.via)


def _flag_groups(pattern: Pattern) -> list[frozenset[str]]:
    single = frozenset(each for each in pattern.flag if isinstance(each, str))
    return [frozenset(each) for each in pattern.flag if not isinstance(each, str)] + ([single] if single else [])


def _begins(operands: tuple[str, ...], subcommands: list[frozenset[str]]) -> bool:
    return len(operands) >= len(subcommands) and all(map(_is_one_of, operands, subcommands))


def _is_one_of(word: str, choice: frozenset[str]) -> bool:
    return word in choice or any("*" in each and fnmatch.fnmatchcase(word, each) for each in choice)


def _given(call: Call, flags: frozenset[str]) -> bool:
    """Whether one of the flags is given; a long one also by its beginning, as most programs take it."""
    if flags & call.flags:
        return True
    long = [flag for flag in call.flags if len(flag) >= _SHORTEST_BEGINNING and flag.startswith("--")]
    return any(name.startswith(flag) for flag in long for name in flags if name.startswith("--"))


def _any_at(call: Call, paths: Sequence[str], kinds: frozenset[str], where: _Where) -> bool:
    if not paths:
        return False
    # On another machine, or in a container, nothing belongs to this project.
    wanted = kinds if not call.via or _ELSEWHERE.isdisjoint(call.via) else kinds - {"outside"}
    return any(not wanted.isdisjoint(places(call.path(path), where.home, where.project)) for path in paths if path)


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
        where = _Where(commands.home, commands.project)
        for call in commands.calls:
            if _QUESTION.fullmatch(call.line):
                continue
            for ready, rule in (*self._by_program.get(call.program, ()), *self._others):
                is_meant = not ready.programs or _is_one_of(call.program, ready.programs)
                if is_meant and ready.holds(call, where):
                    yield rule, call


@cache
def load(pack: str) -> RuleSet:
    """The rules of a pack, with those that it takes from others; RuleError for rules that can't be used."""
    raw = tomllib.loads(files(__package__).joinpath("data", f"{pack}.toml").read_text("utf-8"))
    taken = [each.partition(":") for each in raw.get("include", [])]
    included = [rule for other, _, name in taken for rule in load(other).rules if rule.id == name]
    if len(included) != len(taken):
        raise RuleError(f"the pack {pack} includes a rule that does not exist")
    return RuleSet(pack, [*included, *read_rules(raw)])


def listed(pack: str) -> list[dict[str, Any]]:
    """Every rule of a pack as JSON: those about commands, and those about files, texts and hosts."""
    raw = tomllib.loads(files(__package__).joinpath("data", f"{pack}.toml").read_text("utf-8"))
    others = msgspec.convert(raw.get("other", []), list[OtherRule])
    return [msgspec.to_builtins(rule) for rule in (*load(pack).rules, *others)]


def read_rules(raw: Mapping[str, Any]) -> list[Rule]:
    """Rules as a TOML file has them: each has its examples, places and actions are known, ids stand once."""
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
    unknown = {
        each
        for pattern in rule.when
        for each in (*pattern.at, *(kind for kinds, _ in _paths_of(pattern) for kind in kinds))
    } - PLACES.keys()
    return f"names the places {', '.join(sorted(unknown))}, which do not exist" if unknown else None
