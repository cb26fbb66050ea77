"""Finds names of another agent in scripts whose hooks receive a different format.

A guard that expects `Bash` and receives `run_shell_command` lets everything through.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hookline.engine.matcher import match
from hookline.inspect.lint.script_scan import compared, reads_field
from hookline.inspect.lint.scripts import Script, scripts_of
from hookline.inspect.lint.vocabulary import OUR_TOOLS, Words, all_words
from hookline.inspect.view import Setup
from hookline.protocol.constants import OWN_DIALECT
from hookline.protocol.events import TOOL_EVENTS
from hookline.protocol.hook_entry import HookEntry
from hookline.settings.read.files import Problem

_TOOL_FIELD, _EVENT_FIELD = "tool_name", "hook_event_name"
_MENTIONS_TOOLS = re.compile(r"tool_?name", re.IGNORECASE)
_MOST_NAMES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """A hook that receives one agent's format while its script expects that of another."""

    hook: HookEntry
    told: Words
    meant: Words
    what: str
    """The use of the other agent's names in the script."""
    script: Script
    offset: int

    @property
    def remedy(self) -> str:
        """The change to make in the settings."""
        is_ours = self.told.name == OWN_DIALECT
        return f'{"add" if is_ours else "write"} "dialect": "{self.meant.name}" {"to" if is_ours else "in"} this hook'

    def problem(self, setup: Setup) -> Problem:
        """The finding: at the line of the script, or at the command if that is what compares."""
        told = f"is told {self.told.agent}'s words; {self.remedy}"
        if self.script.file is None:
            return setup.at(self.hook, f"{self.what}, but the hook {told}", "command")
        line, column = self.script.position(self.offset)
        return Problem(
            origin=str(self.script.file),
            path="",
            message=f"{self.what}, but the hook {self.hook.location} in {self.hook.origin} {told}",
            line=line,
            column=column,
        )


def other_agents_words(setup: Setup) -> Iterator[Problem]:
    """Hooks whose scripts compare with names of another agent than the one whose format they receive."""
    return (suspicion.problem(setup) for suspicion in suspicions(setup))


def suspicions(setup: Setup) -> Iterator[Suspicion]:
    """At most one for each hook."""
    for hook in setup.active():
        if hook.command is not None and hook.dialect in all_words():
            suspicion = _Look(hook, setup).suspicion()
            if suspicion is not None:
                yield suspicion


class _Look:
    """One hook and everything that it runs."""

    def __init__(self, hook: HookEntry, setup: Setup) -> None:
        self._hook = hook
        self._setup = setup
        self._words = all_words()
        self._told = self._words[hook.dialect]
        self._scripts = scripts_of(hook, setup.project_dir)
        self._everything = "\n".join(script.code for script in self._scripts)

    def suspicion(self) -> Suspicion | None:
        others = [
            words for words in self._words.values() if words is not self._told and self._hook.event in words.events
        ]
        found = [(words, evidence) for words in others if (evidence := self._evidence(words))]
        if not found:
            return None
        meant, evidence = max(found, key=lambda each: (len(each[1]), self._fits(each[0])))
        first = evidence[0]
        same = [each for each in evidence if each.kind == first.kind]
        return Suspicion(
            hook=self._hook,
            told=self._told,
            meant=meant,
            what=_show(first.kind, same, meant),
            script=first.script,
            offset=first.offset,
        )

    def _evidence(self, words: Words) -> list["_Evidence"]:
        """The words of another agent that the script waits for, without those whose counterpart it knows as well."""
        return [*self._tools(words), *self._events(words), *self._fields(words), *self._variables(words)]

    def _tools(self, words: Words) -> Iterator["_Evidence"]:
        if self._hook.event not in TOOL_EVENTS or not _MENTIONS_TOOLS.search(self._everything):
            return
        for tool in OUR_TOOLS:
            theirs, ours = words.tools[tool], self._told.tools[tool]
            if theirs in self._compared and ours not in self._compared and self._is_for(tool, theirs):
                yield _Evidence("tool", theirs, ours, *self._compared[theirs])

    def _events(self, words: Words) -> Iterator["_Evidence"]:
        told = (self._hook.their_event,) if self._hook.their_event else self._told.events[self._hook.event]
        if _EVENT_FIELD not in self._everything or any(name in self._compared for name in told):
            return
        for name in words.events[self._hook.event]:
            if name in self._compared:
                yield _Evidence("event", name, told[0], *self._compared[name])

    def _fields(self, words: Words) -> Iterator["_Evidence"]:
        told = self._told.fields[self._hook.event]
        known = {told[name] for name in told if name.rpartition(".")[2] in self._everything}
        for name, ours in words.fields[self._hook.event].items():
            if name not in told and ours not in known:
                yield from self._read("field", name)

    def _variables(self, words: Words) -> Iterator["_Evidence"]:
        known = {*self._told.variables.get(self._hook.event, ()), *self._setup.environ, *self._hook.env}
        # A script that also has names of the format that it receives handles both.
        if not self._told.own_name.search(self._everything):
            for name in sorted(words.variables.get(self._hook.event, frozenset()) - known):
                yield from self._read("variable", name)

    def _read(self, kind: str, name: str) -> Iterator["_Evidence"]:
        for script in self._scripts:
            if (offset := reads_field(script, name)) is not None:
                yield _Evidence(kind, name, "", script, offset)
                break

    def _fits(self, words: Words) -> tuple[int, int]:
        """How well a dialect fits beyond the words in question: all names that it has, and where it names itself."""
        names = {*words.tools.values(), *words.events[self._hook.event]}
        return len(names & self._compared.keys()), len(words.own_name.findall(self._everything))

    def _is_for(self, tool: str, theirs: str) -> bool:
        return any(match(self._hook, name) for name in (tool, theirs))

    @property
    def _compared(self) -> Mapping[str, tuple[Script, int]]:
        if self._found is None:
            self._found = {}
            names = {name for words in self._words.values() for name in words.tools.values()}
            names |= {name for words in self._words.values() for name in words.events.get(self._hook.event, ())}
            for script in self._scripts:
                for name, offset in compared(script, names).items():
                    self._found.setdefault(name, (script, offset))
        return self._found

    _found: dict[str, tuple[Script, int]] | None = None


@dataclass(frozen=True, slots=True)
class _Evidence:
    kind: str
    theirs: str
    ours: str
    script: Script
    offset: int


def _show(kind: str, found: Sequence[_Evidence], meant: Words) -> str:
    """The use of a name in a script, as the beginning of a sentence."""
    theirs = list(dict.fromkeys(each.theirs for each in found))
    ours = list(dict.fromkeys(each.ours for each in found))
    match kind:
        case "tool":
            names = "name" if len(theirs) == 1 else "names"
            return f"compares {_TOOL_FIELD} with {_listed(theirs)}, {meant.agent}'s {names} for {_listed(ours)}"
        case "event":
            return f"compares {_EVENT_FIELD} with {_listed(theirs)}, {meant.agent}'s name for {_listed(ours)}"
        case "field":
            return f"reads {_listed(theirs)}, which only {meant.agent} sends"
        case _:
            return f"uses {_listed(theirs)}, which only {meant.agent} sets"


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:_MOST_NAMES])
    if len(names) > _MOST_NAMES:
        shown.append(f"{len(names) - _MOST_NAMES} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
