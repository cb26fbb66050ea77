"""Rules about commands: data with an id, what a rule stops and why, and examples that are checked.

The keys of a pattern are described in data/shell.toml.
"""

import fnmatch
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import msgspec

from hookline.guards.facts import data
from hookline.guards.path_kinds import PLACES, SPARED, is_spared, kinds_of
from hookline.guards.shell_eval.calls import LONGEST_LINE, SHORTEST_BEGINNING, ProgramCall
from hookline.guards.shell_eval.commands import Commands
from hookline.guards.shell_eval.transfers import (
    SEEKING,
    SENDING,
    changed_by,
    mounted_by,
    read_by,
    seeks_secrets,
    sent_by,
    sources_of,
    written_by,
)
from hookline.guards.shell_eval.words import SECRET

ACTIONS = ("deny", "ask")

_ELSEWHERE = frozenset(("ssh", "docker", "podman", "kubectl", "oc"))


class Pattern(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The conditions that a call must meet."""

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
    spares: tuple[str, ...] = ()
    word: str = ""
    part: str = ""
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
    stopped: tuple[str, ...]
    """Commands that it stops."""
    passed: tuple[str, ...]
    """Commands like them that it lets through."""
    when: tuple[Pattern, ...] = ()
    """Empty for a rule about something else than commands, which the pack itself knows how to find."""
    instead: str = ""
    """The remedy, for the model: what to do instead."""


class RuleError(ValueError):
    """A rule that can't be used."""


class _Where(NamedTuple):
    home: str
    project: str


_Check = Callable[[ProgramCall, _Where], bool]
_Paths = Callable[[ProgramCall], Sequence[str]]
_PATHS: Mapping[str, _Paths] = {
    "to": written_by,
    "reads": read_by,
    "changes": changed_by,
    "mounts": mounted_by,
    "source": sources_of,
}


def _checks(pattern: Pattern) -> Iterator[_Check]:
    """The conditions of a pattern beside its program, cheapest first."""
    subcommands = [frozenset(each.split("|")) for each in pattern.run.split(" ")[1:]]
    skipped = len(subcommands)
    if other := frozenset(pattern.other.split("|")) if pattern.other else None:
        yield lambda call, _: call.program not in other
    if subcommands:
        yield lambda call, _: len(call.operands) >= skipped and all(map(_is_one_of, call.operands, subcommands))
    if unless := frozenset(pattern.unless):
        yield lambda call, _: not _given(call, unless)
    single = frozenset(each for each in pattern.flag if isinstance(each, str))
    for group in (*(frozenset(each) for each in pattern.flag if not isinstance(each, str)), single):
        if group:
            yield lambda call, _, group=group: _given(call, group)  # type: ignore[misc]
    yield from _texts(pattern, skipped)
    yield from _surroundings(pattern)
    for name, paths in (*_PATHS.items(), ("at", _operands_behind(skipped))):
        if kinds := frozenset(getattr(pattern, name)):
            yield partial(_any_left, paths, kinds, pattern.spares) if pattern.spares else partial(_any_at, paths, kinds)


def _texts(pattern: Pattern, skipped: int) -> Iterator[_Check]:
    if part := pattern.part:
        yield lambda call, _: part in call.lowered
    if pattern.word:
        word = re.compile(pattern.word)
        yield lambda call, _: any(word.search(each[:LONGEST_LINE]) for each in call.operands[skipped:])
    if pattern.line:
        line = re.compile(pattern.line, re.IGNORECASE)
        yield lambda call, _: any(map(line.search, call.pieces))


@cache
def _operands_behind(skipped: int) -> _Paths:
    """The same function for the same number, so that what is found with it is found once."""
    return lambda call: call.operands[skipped:]


def _surroundings(pattern: Pattern) -> Iterator[_Check]:
    if pattern.sets:
        sets = re.compile(pattern.sets)
        yield lambda call, _: any(sets.match(each) for each in call.assigned)
    if pattern.sends:
        yield lambda call, _: call.program in SENDING and any(SECRET in text for text in sent_by(call))
    if pattern.seeks:
        yield lambda call, where: call.program in SEEKING and seeks_secrets(call, where.home, where.project)
    if stdin := frozenset(pattern.stdin):
        yield lambda call, _: bool(stdin & (call.stdin.kinds | call.given))
    if given := frozenset(pattern.given):
        yield lambda call, _: not given.isdisjoint(call.given)
    if via := frozenset(pattern.via):
        yield lambda call, _: not via.isdisjoint(call.via)


def _is_one_of(word: str, choice: frozenset[str]) -> bool:
    return word in choice or any("*" in each and fnmatch.fnmatchcase(word, each) for each in choice)


def _given(call: ProgramCall, flags: frozenset[str]) -> bool:
    """Whether one of the flags is given; a long one also by its beginning, as most programs take it."""
    if flags & call.flags:
        return True
    long = [flag for flag in call.long_flags if len(flag) >= SHORTEST_BEGINNING]
    return any(name.startswith(flag) for flag in long for name in flags if name.startswith("--"))


def _any_at(paths: _Paths, kinds: frozenset[str], call: ProgramCall, where: _Where) -> bool:
    # On another machine, or in a container, nothing belongs to this project.
    if call.via and "outside" in kinds and not _ELSEWHERE.isdisjoint(call.via):
        kinds = kinds - {"outside"}
        if any(_TOP_LEVEL.fullmatch(call.path(path)) for path in paths(call)):
            return True
    return not kinds.isdisjoint(_kinds(call, paths, where))


# A directory directly below the root is a volume, or a whole application.
_TOP_LEVEL = re.compile(r"/[^/]+")


def _any_left(paths: _Paths, kinds: frozenset[str], spares: tuple[str, ...], call: ProgramCall, where: _Where) -> bool:
    """Whether one of these paths is of one of these kinds, apart from those that do not count."""
    found = [call.path(path) for path in paths(call) if path]
    if "any" in kinds and call.program == "git" and "--" in call.words:
        found = [call.path(path) for path in call.words[call.words.index("--") + 1 :]]
    counted = [path for path in found if not is_spared(path, spares)]
    return any("any" in kinds or not kinds.isdisjoint(kinds_of(path, where.home, where.project)) for path in counted)


def _kinds(call: ProgramCall, paths: _Paths, where: _Where) -> frozenset[str]:
    """The kinds of places that these paths of a call are."""
    if (found := call.kinds.get(paths)) is None:
        each = [kinds_of(call.path(path), where.home, where.project) for path in paths(call) if path]
        found = call.kinds[paths] = frozenset[str]().union(*each)
    return found


class RuleSet:
    """The rules of one pack, found by the program's name, or tried on every call."""

    def __init__(self, name: str, rules: Sequence[Rule]) -> None:
        self.name = name
        self.rules = tuple(rules)
        self._by_program: dict[str, list[tuple[list[_Check], Rule]]] = {}
        for rule in rules:
            for pattern in rule.when:
                for program in pattern.run.split(" ")[0].split("|"):
                    self._by_program.setdefault(program, []).append(([*_checks(pattern)], rule))
        self._globs = [program for program in self._by_program if "*" in program]

    def found(self, commands: Commands) -> Iterator[tuple[Rule, ProgramCall]]:
        """The rules that calls break, in the order of the calls."""
        where = _Where(commands.home, commands.project)
        seen: set[object] = set()
        for call in commands.calls:
            if call.is_question or call.identity in seen:
                continue
            seen.add(call.identity)
            for checks, rule in self._meant(call.program):
                for check in checks:
                    if not check(call, where):
                        break
                else:
                    yield rule, call

    def _meant(self, program: str) -> Iterator[tuple[list[_Check], Rule]]:
        """The patterns that may hold for a program."""
        yield from self._by_program.get(program, ()) if program else ()
        for glob in self._globs:
            if fnmatch.fnmatchcase(program, glob):
                yield from self._by_program[glob]
        yield from self._by_program.get("", ())


@cache
def load(pack: str) -> RuleSet:
    """The rules of a pack, with those that it takes from others; RuleError for rules that can't be used."""
    raw = data(pack)
    taken = [each.partition(":") for each in raw.get("include", [])]
    included = [rule for other, _, name in taken for rule in load(other).rules if rule.id == name]
    if len(included) != len(taken):
        raise RuleError(f"the pack {pack} includes a rule that does not exist")
    return RuleSet(pack, [*included, *read_rules(raw)])


def listed(pack: str) -> list[dict[str, Any]]:
    """Every rule of a pack as JSON: those about commands, and those about files, texts and hosts."""
    raw = data(pack)
    others = msgspec.convert(raw.get("other", []), list[Rule])
    every = [msgspec.to_builtins(rule) for rule in (*load(pack).rules, *others)]
    return [{key: value for key, value in rule.items() if key != "when" or value} for rule in every]


def read_rules(raw: Mapping[str, Any]) -> list[Rule]:
    """Rules from a TOML file. Each has examples, its kinds of paths and its action exist, and its id is unique."""
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
        return "is defined twice"
    if rule.action not in ACTIONS:
        return f"has the action {rule.action!r}; known are {', '.join(ACTIONS)}"
    if not rule.when or not rule.stopped or not rule.passed:
        return "needs a pattern, and examples both ways"
    unknown = {
        each for pattern in rule.when for name in ("at", *_PATHS) for each in getattr(pattern, name)
    } - PLACES.keys()
    unknown |= {each for pattern in rule.when for each in pattern.spares} - SPARED.keys()
    return f"names the places {', '.join(sorted(unknown))}, which do not exist" if unknown else None
