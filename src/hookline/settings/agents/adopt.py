"""Converts the hooks of another agent's file: the settings that would run them, and what is lost."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from hookline.protocol.hook_entry import CommandLine, HookEntry, HttpTarget
from hookline.settings.decode.fields import fields_of
from hookline.settings.decode.schema import HookGroupSettings, HookSettings
from hookline.settings.decode.settings import Settings, decode_settings
from hookline.settings.edit import add_to_list, set_value
from hookline.settings.read.files import Layer
from hookline.settings.read.jsonc import PathStep, show_path

Path = tuple[PathStep, ...]
_Group = tuple[str, dict[str, Any], list["tuple[ForeignHook, dict[str, Any] | None]"]]

_SCRIPT = re.compile(r"[^\s\"'$(){};&|<>=]+\.(?:sh|bash|zsh|py|js|mjs|cjs|ts|rb|pl|php|ps1)\b")
_WORD = re.compile(r"[A-Za-z][\w.-]*")
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignHook:
    """One hook of the other agent's file."""

    event: str
    """As that agent calls it."""
    label: str
    file: str
    line: int | None
    name: str | None = None
    """The name that it gets here; None for a hook that is not added."""
    why_not: str | None = None
    """Why it is not added."""
    lost: tuple[str, ...] = ()
    """The differences between hookline and the other agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """Our settings with the hooks of another agent."""

    text: str
    """The settings file as it would be."""
    hooks: tuple[ForeignHook, ...]

    @property
    def added(self) -> tuple[ForeignHook, ...]:
        """The hooks that were added to the text."""
        return tuple(hook for hook in self.hooks if hook.name is not None)


def adopt(layers: Sequence[Layer], text: str, target: Layer, *, enable: bool) -> Adoption:
    """Adds the hooks of an agent's layers to the text of a settings file, which was read as `target`.

    With `enable`, a file that does not say whether hooks are enabled does so then. Hooks that are there already are not
    added again.
    """
    present = decode_settings((target,)).hooks
    names = {hook.label for hook in present}
    known = {_identity(hook) for hook in present}
    settings = decode_settings(layers)
    groups = [found for layer in layers for found in _Adopter(layer, settings).groups(known, names)]
    hooks = tuple(candidate for _, _, candidates in groups for candidate, _ in candidates)
    if enable and any(hook.name for hook in hooks) and "enableHooks" not in target.values:
        text = set_value(text, ("enableHooks",), value=True)
    for event, group, candidates in groups:
        if raw := [hook for _, hook in candidates if hook is not None]:
            text = add_to_list(text, ("hooks", event), {**group, "hooks": raw}, in_lines=True)
    return Adoption(text=text, hooks=hooks)


class _Adopter:
    """The hooks of one layer, each with what the settings of all layers make of it."""

    def __init__(self, layer: Layer, settings: Settings) -> None:
        self._layer = layer
        self._problems = [problem for problem in settings.problems if problem.origin == layer.origin]
        self._entries = {hook.location: hook for hook in settings.hooks if hook.origin == layer.origin}
        self._bridges = {hook.location for hook in settings.bridges if hook.origin == layer.origin}

    def groups(self, known: set[object], names: set[str]) -> Iterator[_Group]:
        """Each group: its event, its own keys here, and its hooks, each with what it is here or None."""
        events = self._layer.values.get("hooks")
        for event, groups in events.items() if isinstance(events, Mapping) else ():
            for index, group in enumerate(groups if isinstance(groups, list) else ()):
                hooks = group.get("hooks") if isinstance(group, Mapping) else None
                if not isinstance(hooks, list):
                    path: Path = ("hooks", event, index)
                    yield event, {}, [(self._refused(event, "a group", path), None)]
                    continue
                own = {key: group[key] for key in fields_of(HookGroupSettings) if key in group and key != "hooks"}
                places = [("hooks", event, index, "hooks", number) for number in range(len(hooks))]
                adopted = [
                    self._adopt(event, hook, path, known, names) for hook, path in zip(hooks, places, strict=True)
                ]
                yield event, {"dialect": self._layer.dialect, **own}, adopted

    def _adopt(
        self, event: str, raw: Any, path: Path, known: set[object], names: set[str]
    ) -> tuple[ForeignHook, dict[str, Any] | None]:
        location = show_path(path)
        entry = self._entries.get(location)
        label = entry.label if entry is not None else _label(raw)
        if entry is None or entry.refusal or not isinstance(raw, Mapping):
            return self._refused(event, label, path), None
        if _identity(entry) in known:
            return self._candidate(event, label, path, why_not="it is there already"), None
        known.add(_identity(entry))
        kept = fields_of(HookSettings)
        hook = {key: value for key, value in raw.items() if key in kept}
        name = entry.name or _new_name(entry, names)
        names.add(name)
        hook = {"name": name, **hook, **({"env": dict(entry.env)} if entry.env else {})}
        lost = [problem.message for problem in self._problems if _is_below(problem.path, location)]
        lost += [f"{key} means nothing here" for key in raw if key not in kept]
        if not entry.enabled:
            hook["enabled"] = False
            lost.append(f"it is disabled by {entry.disabled_by}, and is disabled here")
        # TOML has values that JSON has not.
        plain = json.loads(json.dumps(hook, default=str))
        return self._candidate(event, label, path, name=name, lost=tuple(lost)), plain

    def _refused(self, event: str, label: str, path: Path) -> ForeignHook:
        location = show_path(path)
        if location in self._bridges:
            why = "it is hookline's own bridge, which would ask these same hooks"
        else:
            found = (problem.message for problem in self._problems if _is_below(problem.path, location))
            why = next(found, "it can't be used; hookline check shows why")
        return self._candidate(event, label, path, why_not=why)

    def _candidate(self, event: str, label: str, path: Path, **more: Any) -> ForeignHook:
        line = self._layer.problem(path, "").line
        return ForeignHook(event=event, label=label, file=self._layer.origin, line=line, **more)


def _identity(hook: HookEntry) -> object:
    """Return the values by which two hooks are the same, whatever their names."""
    env = tuple(sorted(hook.env.items()))
    run = hook.run
    place = run.shell if isinstance(run, CommandLine) else run.url if isinstance(run, HttpTarget) else None
    keys = (hook.condition, place, hook.is_async)
    return (hook.dialect, hook.event, hook.foreign_event, hook.matcher, hook.type, hook.command, hook.args, env, keys)


def _label(raw: Any) -> str:
    given = raw if isinstance(raw, Mapping) else {}
    return str(given.get("name") or given.get("command") or given.get("url") or f"{given.get('type', 'a')} hook")


def _is_below(path: str, location: str) -> bool:
    return path == location or path.startswith((f"{location}.", f"{location}["))


def _new_name(hook: HookEntry, taken: set[str]) -> str:
    """A name from the script that a command runs, or else from its first word: `guard` for `python3 x/guard.py`."""
    text = " ".join((hook.command or "", *(hook.args or ())))
    script = _SCRIPT.search(text)
    word = _WORD.search(text)
    stem = PurePosixPath(script[0]).stem if script else PurePosixPath(word[0]).name if word else ""
    stem = _NOT_IN_A_NAME.sub("-", stem).strip("-.") or "hook"
    name, number = stem, 1
    while name in taken:
        number += 1
        name = f"{stem}-{number}"
    return name
