"""Finds names of another agent in scripts whose hooks receive a different format.

A guard that expects `Bash` and receives `run_shell_command` lets everything through. The text is searched, not
parsed: a name counts if it is alone between quotes, in a pattern or after an operator, and if its
counterpart is not in the script. `check --run` runs the hook in both formats, which no search can replace.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from hookline.engine.matcher import match
from hookline.inspect.lint.vocabulary import OUR_TOOLS, Words, all_words
from hookline.inspect.view import Setup
from hookline.protocol.constants import OWN_DIALECT
from hookline.protocol.events import TOOL_EVENTS
from hookline.protocol.hook_entry import HookEntry
from hookline.settings.read.files import Problem, open_without_waiting
from hookline.settings.trust.fingerprint import fingerprint

_TOOL_FIELD, _EVENT_FIELD = "tool_name", "hook_event_name"
_MENTIONS_TOOLS = re.compile(r"tool_?name", re.IGNORECASE)
_MOST_NAMES = 6
_MOST_FILES = 16
_LARGEST_BYTES = 128 * 1024
_COMMENT = re.compile(r"^[ \t]*(?:#|//|/?\*).*|(?<=[ \t])#[ \t].*", re.MULTILINE)
_MESSAGE = re.compile(r"\b(?:echo|printf?|warn|puts|log\w*|console|dumps)\b")
_COMPARISON = re.compile(r"grep|jq|[=!~]=|=~|\bcase\b|\[\[? ")
_VISIBLE = re.compile(r"[^\n]")
_BEFORE = r"""(?:^[ \t]*|(?<=["'`|(\[/^*])|(?<=[=~][ \t])|(?<=\bin[ \t])|(?<=-q[ \t]))"""
_AFTER = r"""(?=\\?["'`|)\]/$*]|[ \t]*\||[ \t]*(?:[\];]|&&))"""


@dataclass(frozen=True, slots=True)
class Script:
    """A text that a hook runs, with blanks in place of comments."""

    file: Path | None
    """None for the command itself."""
    code: str

    def position(self, offset: int) -> tuple[int, int]:
        """The line and the column of a character, from 1."""
        return self.code.count("\n", 0, offset) + 1, offset - self.code.rfind("\n", 0, offset)


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
        return remedy(self.told, self.meant)

    def problem(self, setup: Setup) -> Problem:
        """The finding: at the line of the script, or at the command if that has the name."""
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


def remedy(told: Words, meant: Words) -> str:
    """The change that gives a hook another agent's format."""
    is_ours = told.name == OWN_DIALECT
    return f'{"add" if is_ours else "write"} "dialect": "{meant.name}" {"to" if is_ours else "in"} this hook'


def other_agents_words(setup: Setup) -> Iterator[Problem]:
    """Hooks whose scripts have names of another agent than the one whose format they receive."""
    return (suspicion.problem(setup) for suspicion in suspicions(setup))


def suspicions(setup: Setup) -> Iterator[Suspicion]:
    """At most one for each hook."""
    for hook in setup.active():
        if hook.command is not None and hook.dialect in all_words():
            suspicion = _Look(hook, setup).suspicion()
            if suspicion is not None:
                yield suspicion


@dataclass(frozen=True, slots=True)
class _Evidence:
    kind: str
    theirs: str
    ours: str
    script: Script
    offset: int


class _Look:
    """One hook, its command and the scripts that it names."""

    def __init__(self, hook: HookEntry, setup: Setup) -> None:
        self._hook = hook
        self._setup = setup
        self._words = all_words()
        self._told = self._words[hook.dialect]
        self._scripts = list(_scripts_of(hook, setup.project_dir))
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

    def _evidence(self, words: Words) -> list[_Evidence]:
        """The names of another agent in the script, without those whose counterpart it has as well."""
        return [*self._tools(words), *self._events(words)]

    def _tools(self, words: Words) -> Iterator[_Evidence]:
        if self._hook.event not in TOOL_EVENTS or not _MENTIONS_TOOLS.search(self._everything):
            return
        for tool in OUR_TOOLS:
            theirs, ours = words.tools[tool], self._told.tools[tool]
            is_asked = any(match(self._hook, name) for name in (tool, theirs))
            if theirs in self._named and not self._has(ours) and is_asked:
                yield _Evidence("tool", theirs, ours, *self._named[theirs])

    def _events(self, words: Words) -> Iterator[_Evidence]:
        told = (self._hook.foreign_event,) if self._hook.foreign_event else self._told.events[self._hook.event]
        if _EVENT_FIELD not in self._everything or any(map(self._has, told)):
            return
        for name in words.events[self._hook.event]:
            if name in self._named:
                yield _Evidence("event", name, told[0], *self._named[name])

    def _has(self, name: str) -> bool:
        return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self._everything) is not None

    def _fits(self, words: Words) -> tuple[int, int]:
        """How well a dialect fits beyond the words in question: all names that it has, and where it names itself."""
        names = {*words.tools.values(), *words.events[self._hook.event]}
        return len(names & self._named.keys()), len(words.own_name.findall(self._everything))

    @cached_property
    def _named(self) -> Mapping[str, tuple[Script, int]]:
        """Every agent's names of tools and of this event that the scripts have, each where it first stands."""
        names = {name for words in self._words.values() for name in words.tools.values()}
        names |= {name for words in self._words.values() for name in words.events.get(self._hook.event, ())}
        pattern = re.compile(rf"{_BEFORE}({'|'.join(sorted(map(re.escape, names), reverse=True))}){_AFTER}")
        found: dict[str, tuple[Script, int]] = {}
        for script in self._scripts:
            for line in re.finditer(r".+", script.code):
                if _MESSAGE.search(line[0]) is None or _COMPARISON.search(line[0]):
                    for place in pattern.finditer(line[0]):
                        found.setdefault(place[1], (script, line.start() + place.start(1)))
        return found


def _scripts_of(hook: HookEntry, project_dir: str) -> Iterator[Script]:
    """The command of a hook and the files that trust in it covers."""
    yield Script(None, _without_comments(hook.command or ""))
    for file in fingerprint(hook, project_dir).files[:_MOST_FILES]:
        try:
            with open_without_waiting(file) as opened:
                content = os.read(opened.fileno(), _LARGEST_BYTES)
        except OSError:
            continue
        if b"\0" not in content:
            yield Script(file, _without_comments(content.decode("utf-8", "replace")))


def _without_comments(text: str) -> str:
    return _COMMENT.sub(lambda found: _VISIBLE.sub(" ", found[0]), text)


def _show(kind: str, found: Sequence[_Evidence], meant: Words) -> str:
    """The use of a name in a script, as the beginning of a sentence."""
    theirs = list(dict.fromkeys(each.theirs for each in found))
    ours = list(dict.fromkeys(each.ours for each in found))
    field = _TOOL_FIELD if kind == "tool" else _EVENT_FIELD
    names = "name" if len(theirs) == 1 else "names"
    return f"reads {field} and has {_listed(theirs)}, {meant.agent}'s {names} for {_listed(ours)}"


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:_MOST_NAMES])
    if len(names) > _MOST_NAMES:
        shown.append(f"{len(names) - _MOST_NAMES} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
