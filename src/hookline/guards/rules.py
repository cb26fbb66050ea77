"""Rules about commands: data with an id, what a rule stops and why, and examples that are checked.

A rule has one or more patterns. A pattern holds for a call if all of its keys do:

    run      the program, and the words behind it: "git reset"; "|" for a choice, "*" in names
    other    it is none of these programs
    flag     one of these flags is given (two lists: one of each)
    unless   none of these flags is given
    source   an operand but the last is, for programs that copy or move
    at       an operand is one of these kinds of places (see path_kinds.py)
    to       a file that is written is
    reads    a file that is read is
    mounts   a directory of this machine that a container gets is
    changes  a file that is written, replaced or deleted is
    spares   paths of these kinds do not count for `at`, `to` and `changes`
    word     an operand matches this regular expression
    part     the whole call, or a text that is piped into it, has this in it, in small letters; cheap, before `line`
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

from hookline.guards.path_kinds import PLACES, SPARED, is_spared, kinds_of
from hookline.guards.shell_eval.calls import LONGEST_LINE, Call
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
_SHORTEST_BEGINNING = len("--for")


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
_Paths = Callable[[Call], Sequence[str]]


class _Ready:
    """A pattern, prepared for matching."""

    __slots__ = ("_checks", "features", "programs", "subcommands")

    def __init__(self, pattern: Pattern) -> None:
        program, *rest = pattern.run.split(" ") if pattern.run else ("",)
        self.programs = frozenset(program.split("|")) if program else frozenset()
        self.subcommands = frozenset(rest[0].split("|")) if rest and "*" not in rest[0] else frozenset(("",))
        """The first operand must be one of these; any may be, if it is empty."""
        self.features = tuple(_features_of_pattern(pattern))
        """A call of any program must have one of these, see `_features`."""
        self._checks = list(_checks(pattern, [frozenset(each.split("|")) for each in rest]))

    def holds(self, call: Call, where: _Where) -> bool:
        """Whether a call of one of the programs is what the pattern means."""
        for check in self._checks:  # noqa: SIM110 - `all` takes half as long again
            if not check(call, where):
                return False
        return True


def _checks(pattern: Pattern, subcommands: list[frozenset[str]]) -> Iterator[_Check]:
    """The conditions of a pattern, cheapest first."""
    skipped = len(subcommands)
    if other := frozenset(pattern.other.split("|")) if pattern.other else None:
        yield lambda call, _: call.program not in other
    if subcommands:
        yield lambda call, _: _begins(call.operands, subcommands)
    if unless := frozenset(pattern.unless):
        yield lambda call, _: not _given(call, unless)
    for group in _flag_groups(pattern):
        yield lambda call, _, group=group: _given(call, group)  # type: ignore[misc]
    yield from _texts(pattern, skipped)
    yield from _surroundings(pattern)
    for kinds, paths in (*_paths_of(pattern), (pattern.at, _operands_behind(skipped))):
        if kinds and pattern.spares:
            yield lambda call, where, kinds=frozenset(kinds), paths=paths: _any_left(  # type: ignore[misc]
                call, paths, kinds, where, pattern.spares
            )
        elif kinds:
            yield lambda call, where, kinds=frozenset(kinds), paths=paths: _any_at(call, paths, kinds, where)  # type: ignore[misc]


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


def _paths_of(pattern: Pattern) -> tuple[tuple[tuple[str, ...], _Paths], ...]:
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
    long = [flag for flag in call.long_flags if len(flag) >= _SHORTEST_BEGINNING]
    return any(name.startswith(flag) for flag in long for name in flags if name.startswith("--"))


def _any_at(call: Call, paths: _Paths, kinds: frozenset[str], where: _Where) -> bool:
    # On another machine, or in a container, nothing belongs to this project.
    if call.via and "outside" in kinds and not _ELSEWHERE.isdisjoint(call.via):
        kinds = kinds - {"outside"}
        if any(_TOP_LEVEL.fullmatch(call.path(path)) for path in paths(call)):
            return True
    return not kinds.isdisjoint(_kinds(call, paths, where))


# What is right below the root is a volume, or all that there is of an application.
_TOP_LEVEL = re.compile(r"/[^/]+")


def _any_left(call: Call, paths: _Paths, kinds: frozenset[str], where: _Where, spares: tuple[str, ...]) -> bool:
    """Whether one of these paths is of one of these kinds, apart from those that do not count."""
    found = [call.path(path) for path in paths(call) if path]
    if "any" in kinds and call.program == "git" and "--" in call.words:
        found = [call.path(path) for path in call.words[call.words.index("--") + 1 :]]
    counted = [path for path in found if not is_spared(path, spares)]
    return any("any" in kinds or not kinds.isdisjoint(kinds_of(path, where.home, where.project)) for path in counted)


def _kinds(call: Call, paths: _Paths, where: _Where) -> frozenset[str]:
    """The kinds of places that these paths of a call are."""
    if (found := call.kinds.get(paths)) is None:
        each = [kinds_of(call.path(path), where.home, where.project) for path in paths(call) if path]
        found = call.kinds[paths] = frozenset().union(*each) if each else _NO_KINDS
    return found


_NO_KINDS: frozenset[str] = frozenset()
_FEATURES: tuple[tuple[str, _Paths], ...] = (("to", written_by), ("reads", read_by), ("changes", changed_by))


def _features_of_pattern(pattern: Pattern) -> Iterator[str]:
    """The features of which a call must have one, as far as the pattern says."""
    wanted = next(((name, kinds) for name, _ in _FEATURES if (kinds := getattr(pattern, name))), None)
    if wanted is not None:
        yield from (f"{wanted[0]}:{kind}" for kind in wanted[1])
    else:
        yield "sets" if pattern.sets else "sends" if pattern.sends else "seeks" if pattern.seeks else ""


def _features(call: Call, where: _Where) -> frozenset[str]:
    """All that patterns without a program ask for: found once for a call, and then looked up by every pack."""
    if (found := call.kinds.get(_features)) is None:
        every = {"", *(("sets",) if call.assigned else ())}
        every.update(name for name, programs in (("seeks", SEEKING), ("sends", SENDING)) if call.program in programs)
        every.update(f"{name}:{kind}" for name, paths in _FEATURES for kind in _kinds(call, paths, where))
        found = call.kinds[_features] = frozenset(every)
    return found


class RuleSet:
    """The rules of one pack, found by the program's name, or else by what a call has."""

    def __init__(self, name: str, rules: Sequence[Rule]) -> None:
        self.name = name
        self.rules = tuple(rules)
        self._by_program: dict[str, dict[str, list[tuple[_Ready, Rule]]]] = {}
        self._by_feature: dict[str, list[tuple[_Ready, Rule]]] = {}
        self._by_glob: list[tuple[str, _Ready, Rule]] = []
        for rule in rules:
            for pattern in rule.when:
                self._add(_Ready(pattern), rule)
        globs = [fnmatch.translate(glob) for glob, _, _ in self._by_glob]
        self._globs = re.compile("|".join(globs) or r"(?!)")

    def _add(self, ready: _Ready, rule: Rule) -> None:
        for program in ready.programs:
            if "*" in program:
                self._by_glob.append((program, ready, rule))
            else:
                for subcommand in ready.subcommands:
                    self._by_program.setdefault(program, {}).setdefault(subcommand, []).append((ready, rule))
        for feature in ready.features if not ready.programs else ():
            self._by_feature.setdefault(feature, []).append((ready, rule))

    def found(self, commands: Commands) -> Iterator[tuple[Rule, Call]]:
        """The rules that calls break, in the order of the calls."""
        where = _Where(commands.home, commands.project)
        seen: set[object] = set()
        for call in commands.calls:
            if call.is_question or call.identity in seen:
                continue
            seen.add(call.identity)
            for ready, rule in self._meant(call, where):
                if ready.holds(call, where):
                    yield rule, call

    def _meant(self, call: Call, where: _Where) -> list[tuple[_Ready, Rule]]:
        """The patterns that may hold for a call."""
        found: list[tuple[_Ready, Rule]] = []
        if (by_subcommand := self._by_program.get(call.program)) is not None:
            found += by_subcommand.get("", ())
            if call.operands and call.operands[0]:
                found += by_subcommand.get(call.operands[0], ())
        if self._by_glob and self._globs.match(call.program):
            found += ((ready, rule) for glob, ready, rule in self._by_glob if fnmatch.fnmatchcase(call.program, glob))
        for feature in _features(call, where):
            if feature in self._by_feature:
                found += self._by_feature[feature]
        return found


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
    unknown |= {each for pattern in rule.when for each in pattern.spares} - SPARED.keys()
    return f"names the places {', '.join(sorted(unknown))}, which do not exist" if unknown else None
