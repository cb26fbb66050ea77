"""The hooks of one layer: one bad entry never disables another."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from hookline.contract.answers import kind_of
from hookline.contract.events import EVENT_DESCRIPTIONS, LIFECYCLE_EVENTS, HookEventName, suggest_event
from hookline.contract.hooks import DEFAULT_TIMEOUT_MS, ConfigSource, HookEntry, HookType, OnError
from hookline.contract.matchers import pattern_fault
from hookline.settings._fields import LayerProblems, Path, decode_fields
from hookline.settings._limits import read_limits
from hookline.settings.jsonc import show_path
from hookline.settings.merge import authority
from hookline.settings.schema import HookGroupSettings, HookSettings

_EVENTS = {event.value: event for event in EVENT_DESCRIPTIONS}
# What other systems keep beside the events.
_MISPLACED_OPTIONS = {
    "disabled": "is not an event; write it inside hooksConfig",
    "enabled": 'is not an event; to switch hooks on, write "enableHooks": true at the top level',
    "notifications": "is neither an event nor an option here; remove it",
}
_MOST_GUEST_HOOKS = 1000


class _TooManyHooksError(Exception):
    pass


class HookReader:
    """Reads the hooks of one layer, and reports those that can't be used."""

    def __init__(self, problems: LayerProblems, disabled: Mapping[str, str], *, applies_lifecycle: bool) -> None:
        self._layer = problems.layer
        self._applies_lifecycle = applies_lifecycle
        self._problems = problems
        self._disabled = disabled
        self._left = _MOST_GUEST_HOOKS if self._layer.is_guest else math.inf

    def entries(self) -> Iterator[HookEntry]:
        """The hooks of the layer itself, and then those of its extensions."""
        values = self._layer.values
        try:
            yield from self._event_map(values.get("hooks"), ("hooks",), self._layer.source, self._layer.origin)
            yield from self._extensions(values.get("extensions"))
        except _TooManyHooksError:
            limit = f"{_MOST_GUEST_HOOKS:,}"
            message = f"has more than {limit} entries; only the first {limit} of a project's file are used; remove some"
            # First, because not all problems of a file are shown.
            self._problems.found.insert(0, self._layer.problem(("hooks",), message, is_error=True))

    def _look(self) -> None:
        """Counts the entries of a project's file, which may have endless ones."""
        self._left -= 1
        if self._left < 0:
            raise _TooManyHooksError

    def _extensions(self, raw: Any) -> Iterator[HookEntry]:
        for index, extension in self._items(raw, ("extensions",)):
            path: Path = ("extensions", index)
            if not isinstance(extension, Mapping):
                self._drop(path, f"is {kind_of(extension)}, expected an object with name and hooks")
                continue
            name = extension.get("name")
            origin = f"extension {name if isinstance(name, str) else index} ({self._layer.origin})"
            active = extension.get("isActive", True)
            if active is False or not extension.get("hooks"):
                self._look()
            if active is False:
                continue
            if active is not True:
                message = f"is {kind_of(active)}, expected true or false; its hooks run"
                self._problems.warn((*path, "isActive"), message)
            yield from self._event_map(extension.get("hooks"), (*path, "hooks"), ConfigSource.EXTENSIONS, origin)

    def _event_map(self, raw: Any, path: Path, source: ConfigSource, origin: str) -> Iterator[HookEntry]:
        if raw is None:
            return
        if not isinstance(raw, Mapping):
            self._drop(path, f"is {kind_of(raw)}, expected an object that maps event names to groups of hooks")
            return
        for name, groups in raw.items():
            event = _EVENTS.get(name)
            if event is None:
                self._unknown_event((*path, str(name)), str(name), groups)
                continue
            for index, group in self._items(groups, (*path, name)):
                yield from self._group(group, event, (*path, name, index), source, origin)

    def _unknown_event(self, path: Path, name: str, groups: Any) -> None:
        self._look()
        if name in _MISPLACED_OPTIONS:
            self._problems.warn(path, _MISPLACED_OPTIONS[name])
            return
        advice = suggest_event(name) if self._problems.may_guess() else "write the name of an event"
        report = self._problems.error if groups else self._problems.warn
        report(path, f"is not an event, so its hooks do not run; {advice}")

    def _group(
        self, raw: Any, event: HookEventName, path: Path, source: ConfigSource, origin: str
    ) -> Iterator[HookEntry]:
        if not isinstance(raw, Mapping):
            self._drop(path, f'is {kind_of(raw)}, expected a group such as {{"matcher": "…", "hooks": […]}}')
            return
        hooks = raw.get("hooks")
        if not isinstance(hooks, list | tuple):
            fault = "has no hooks" if hooks is None else f"has hooks that are {kind_of(hooks)}"
            self._drop(path, f"{fault}; give it an array of hooks")
            return
        if not hooks:
            self._look()
        matcher = self._matcher(raw.get("matcher"), (*path, "matcher"))
        group = decode_fields({**raw, "hooks": [], "matcher": matcher}, HookGroupSettings, path, self._problems)
        for index, hook in enumerate(hooks):
            entry = self._hook(hook, event, group, (*path, "hooks", index), source, origin)
            if entry is not None:
                yield entry

    def _matcher(self, raw: Any, path: Path) -> str | None:
        """The matcher; None for one that can't be used: a guard too many is safer than one too few."""
        if not isinstance(raw, str | None):
            message = f"is {kind_of(raw)}, expected a string, so these hooks run for every tool; write a pattern"
            self._problems.warn(path, message)
        elif raw is None or (fault := pattern_fault(raw)) is None:
            return raw
        else:
            self._problems.error(path, f"{fault}, so these hooks run for every tool; simplify it")
        return None

    def _hook(
        self, raw: Any, event: HookEventName, group: HookGroupSettings, path: Path, source: ConfigSource, origin: str
    ) -> HookEntry | None:
        fault = _hook_fault(raw)
        if fault:
            self._drop(path, fault)
            return None
        self._look()
        options = {key: value for key, value in raw.items() if key != "limits"} if "limits" in raw else raw
        hook = decode_fields(options, HookSettings, path, self._problems)
        if hook.final and event is not HookEventName.BEFORE_TOOL:
            self._problems.warn((*path, "final"), f"has no effect on {event}; only a BeforeTool hook can be final")
        label = hook.name or hook.command or hook.type
        location = show_path(path)
        limits = read_limits(raw.get("limits"), hook, (*path, "limits"), self._problems)
        return HookEntry(
            event=event,
            source=source,
            origin=origin,
            location=location,
            type=HookType(hook.type),
            # A plugin's command is never run, so it must not be taken for a duplicate of a hook that runs.
            command=hook.command if hook.type == "command" else None,
            timeout_ms=DEFAULT_TIMEOUT_MS if hook.timeout is None else hook.timeout,
            name=hook.name,
            description=hook.description,
            matcher=group.matcher,
            sequential=bool(group.sequential),
            disabled_by=self._disabled.get(label) or (None if hook.enabled else f"{origin}: {location}.enabled"),
            env=hook.env or {},
            # A typo in a limit must not let through what the guard would have judged.
            on_error=OnError.BLOCK if limits is not None and limits.fault else OnError(hook.on_error),
            budget_ms=hook.budget,
            rank=authority(self._layer),
            final=hook.final and event is HookEventName.BEFORE_TOOL,
            limits=limits,
            needs_trust=self._layer.is_guest,
            is_applied=self._applies_lifecycle or event not in LIFECYCLE_EVENTS,
        )

    def _items(self, raw: Any, path: Path) -> Iterator[tuple[int, Any]]:
        if isinstance(raw, list | tuple):
            yield from enumerate(raw)
        elif raw is not None:
            self._drop(path, f"is {kind_of(raw)}, expected an array")

    def _drop(self, path: Path, fault: str) -> None:
        self._look()
        self._problems.error(path, f"{fault}; it does not run")


def _hook_fault(raw: Any) -> str | None:
    """Why a hook can't be used at all, or None."""
    if not isinstance(raw, Mapping):
        return f'is {kind_of(raw)}, expected a hook such as {{"type": "command", "command": "…"}}'
    command, is_command = raw.get("command"), raw.get("type") == "command"
    fault = None
    if "type" not in raw:
        fault = 'has no type; add "type": "command"'
    elif raw["type"] not in ("command", "plugin"):
        fault = 'has a type that is neither "command" nor "plugin" (they are case-sensitive); write "type": "command"'
    elif is_command and command is None:
        fault = "has no command; give a command or remove the entry"
    elif not isinstance(command, str | None):
        fault = "has a command that is not a string; write the whole command line as one string"
    elif is_command and not (command or "").strip():
        fault = "has an empty command; give a command or remove the entry"
    elif is_command and raw.get("args"):
        # Claude Code's other form. Without its args `bash` alone would run, and read the event as its script.
        fault = "has args, which are not passed to commands here; write the whole command line as one string"
    return fault
