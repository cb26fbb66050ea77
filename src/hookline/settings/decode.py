"""Raw layers → typed values, tolerantly: one bad entry costs one entry, one bad option costs that option."""

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from hookline.contract.answers import kind_of
from hookline.contract.events import HookEventName, suggest_event
from hookline.contract.hooks import DEFAULT_TIMEOUT_MS, ConfigSource, HookEntry, HookType, OnError
from hookline.settings.jsonc import PathStep, show_path
from hookline.settings.load import Layer, Problem
from hookline.settings.merge import authority, by_authority
from hookline.settings.schema import HookGroupSettings, HooksConfigSettings, HookSettings

Path = tuple[PathStep, ...]
_Struct = TypeVar("_Struct", bound=msgspec.Struct)

_EVENTS = {event.value: event for event in HookEventName}
# What other systems keep beside the events.
_MISPLACED_OPTIONS = {
    "disabled": "is not an event; write it inside hooksConfig",
    "enabled": 'is not an event; to switch hooks on, write "enableHooks": true at the top level',
    "notifications": "is neither an event nor an option here; remove it",
}
_LONGEST_FAULT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedHooks:
    """The hooks of all layers, and what was wrong with those that were left out or mended."""

    entries: tuple[HookEntry, ...]
    problems: tuple[Problem, ...]


def decode_hooks(layers: Sequence[Layer]) -> DecodedHooks:
    """Every usable hook of the layers, in the order of the layers, with all problems found on the way."""
    problems: list[Problem] = [problem for layer in layers for problem in layer.problems]
    options = {id(layer): _layer_options(layer, problems) for layer in layers}
    entries: list[HookEntry] = []
    for layer in layers:
        disabled = {
            name: other.origin
            for other in by_authority(layers)
            if authority(other) >= authority(layer)
            for name in options[id(other)].disabled
        }
        try:
            # One by one: what was read before a fault still runs.
            for entry in _LayerDecoder(layer, disabled, problems).entries():
                entries.append(entry)  # noqa: PERF402 - as said above
        except Exception as error:  # noqa: BLE001 - the door to strangers' files: one must not cost another's guards
            said = f"could not be read to the end ({_fault(error)}), so hooks of this file may be missing"
            problems.append(_unforeseen(layer, "hooks", said))
    return DecodedHooks(entries=tuple(entries), problems=tuple(problems))


def decode_options(layers: Sequence[Layer]) -> HooksConfigSettings:
    """The options in force: for each one, the layer with the last word that gives it."""
    given: dict[str, Any] = {}
    for layer in by_authority(layers):
        if not layer.is_guest:
            # What nobody foresaw costs this layer's options; decode_hooks stumbles over the same, and tells it.
            with suppress(Exception):
                given = {**_given_options(layer), **given}
    return HooksConfigSettings(**given)


def _given_options(layer: Layer) -> dict[str, Any]:
    raw = layer.values.get("hooksConfig")
    if not isinstance(raw, Mapping):
        return {}
    decoded = _read_options(layer, [])
    fields = msgspec.structs.fields(HooksConfigSettings)
    return {field.name: getattr(decoded, field.name) for field in fields if field.encode_name in raw}


def _layer_options(layer: Layer, problems: list[Problem]) -> HooksConfigSettings:
    try:
        return _read_options(layer, problems)
    except Exception as error:  # noqa: BLE001 - the door to strangers' files: one must not cost another's guards
        said = f"could not be read ({_fault(error)}), so its options do not count"
        problems.append(_unforeseen(layer, "hooksConfig", said))
        return HooksConfigSettings()


def _fault(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:_LONGEST_FAULT]


def _unforeseen(layer: Layer, path: str, said: str) -> Problem:
    # Without its line: to look for that could fail in the same way.
    return Problem(origin=layer.origin, path=path, message=f"{said}; remove what is unusual in it", is_error=True)


def _read_options(layer: Layer, problems: list[Problem]) -> HooksConfigSettings:
    raw = layer.values.get("hooksConfig")
    if raw is None:
        return HooksConfigSettings()
    if not isinstance(raw, Mapping):
        said = f"is {kind_of(raw)}, expected an object; its options do not count"
        problems.append(layer.problem(("hooksConfig",), said, is_error=True))
        return HooksConfigSettings()
    if layer.is_guest:
        known = {field.encode_name for field in msgspec.structs.fields(HooksConfigSettings)}
        problems += [
            layer.problem(("hooksConfig", key), "counts only in the user's or the system's settings; move it there")
            for key in raw
            if key in known and key != "disabled"
        ]
    return _decode_fields(raw, HooksConfigSettings, layer, ("hooksConfig",), problems)


def _decode_fields(
    raw: Mapping[str, Any], struct: type[_Struct], layer: Layer, path: Path, problems: list[Problem]
) -> _Struct:
    """The struct from whatever fields are well typed; the others keep their defaults and are reported."""
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(struct):
        if field.encode_name not in raw:
            continue
        value, place = raw[field.encode_name], (*path, field.encode_name)
        if isinstance(field.default, msgspec.Struct) and isinstance(value, Mapping):
            values[field.name] = _decode_fields(value, type(field.default), layer, place, problems)
            continue
        try:
            values[field.name] = msgspec.convert(value, field.type)
        except ValueError:  # a UnicodeError, too: half a character is a wrong value like any other
            from hookline.settings._wrong_types import ignored  # noqa: PLC0415 - only where something is wrong

            problems.append(layer.problem(place, ignored(field)))
    problems += _misspelt(raw, struct, layer, path)
    return struct(**values)


def _misspelt(raw: Mapping[str, Any], struct: type[msgspec.Struct], layer: Layer, path: Path) -> Iterator[Problem]:
    known = [field.encode_name for field in msgspec.structs.fields(struct)]
    for key in (str(key) for key in raw if key not in known):
        meant = difflib.get_close_matches(key, known, n=1, cutoff=0.75)
        if meant:
            yield layer.problem((*path, key), f"is not an option and is ignored; did you mean {meant[0]}?")


class _LayerDecoder:
    """Walks the hooks of one layer."""

    def __init__(self, layer: Layer, disabled: Mapping[str, str], problems: list[Problem]) -> None:
        self._layer = layer
        self._disabled = disabled
        self._problems = problems

    def entries(self) -> Iterator[HookEntry]:
        """The hooks of the layer itself, and then those of its extensions."""
        yield from self._event_map(self._layer.values.get("hooks"), ("hooks",), self._layer.source, self._layer.origin)
        yield from self._extensions(self._layer.values.get("extensions"))

    def _extensions(self, raw: Any) -> Iterator[HookEntry]:
        for index, extension in self._items(raw, ("extensions",)):
            path: Path = ("extensions", index)
            if not isinstance(extension, Mapping):
                self._drop(path, f"is {kind_of(extension)}, expected an object with name and hooks")
                continue
            name = extension.get("name")
            origin = f"extension {name if isinstance(name, str) else index} ({self._layer.origin})"
            active = extension.get("isActive", True)
            if active is False:
                continue
            if active is not True:
                self._say((*path, "isActive"), f"is {kind_of(active)}, expected true or false; its hooks run")
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
        if name in _MISPLACED_OPTIONS:
            self._say(path, _MISPLACED_OPTIONS[name])
            return
        said = f"is not an event, so its hooks do not run; {suggest_event(name)}"
        self._problems.append(self._layer.problem(path, said, is_error=bool(groups)))

    def _group(
        self, raw: Any, event: HookEventName, path: Path, source: ConfigSource, origin: str
    ) -> Iterator[HookEntry]:
        if not isinstance(raw, Mapping):
            self._drop(path, f'is {kind_of(raw)}, expected a group such as {{"matcher": "…", "hooks": […]}}')
            return
        hooks = raw.get("hooks")
        if not isinstance(hooks, list | tuple):
            said = "has no hooks" if hooks is None else f"has hooks that are {kind_of(hooks)}"
            self._drop(path, f"{said}; give it an array of hooks")
            return
        matcher = raw.get("matcher")
        if matcher is not None and not isinstance(matcher, str):
            said = f"is {kind_of(matcher)}, expected a string, so these hooks run for every tool; write a pattern"
            self._say((*path, "matcher"), said)
            raw = {**raw, "matcher": None}
        options = _decode_fields({**raw, "hooks": []}, HookGroupSettings, self._layer, path, self._problems)
        for index, hook in enumerate(hooks):
            entry = self._hook(hook, event, options, (*path, "hooks", index), source, origin)
            if entry is not None:
                yield entry

    def _hook(
        self, raw: Any, event: HookEventName, group: HookGroupSettings, path: Path, source: ConfigSource, origin: str
    ) -> HookEntry | None:
        fault = _hook_fault(raw)
        if fault:
            self._drop(path, fault)
            return None
        hook = _decode_fields(raw, HookSettings, self._layer, path, self._problems)
        label = hook.name or hook.command or hook.type
        disabled_by = self._disabled.get(label) or (None if hook.enabled else f"{origin}: {show_path(path)}.enabled")
        return HookEntry(
            event=event,
            source=source,
            origin=origin,
            location=show_path(path),
            type=HookType(hook.type),
            # A plugin's command is never run, and must not count as the same command as a hook that is.
            command=hook.command if hook.type == "command" else None,
            timeout_ms=DEFAULT_TIMEOUT_MS if hook.timeout is None else hook.timeout,
            name=hook.name,
            description=hook.description,
            matcher=group.matcher,
            sequential=bool(group.sequential),
            disabled_by=disabled_by,
            env=hook.env or {},
            on_error=OnError(hook.on_error),
            budget_ms=hook.budget,
            needs_trust=self._layer.is_guest,
        )

    def _items(self, raw: Any, path: Path) -> Iterator[tuple[int, Any]]:
        if isinstance(raw, list | tuple):
            yield from enumerate(raw)
        elif raw is not None:
            self._drop(path, f"is {kind_of(raw)}, expected an array")

    def _say(self, path: Path, message: str) -> None:
        self._problems.append(self._layer.problem(path, message))

    def _drop(self, path: Path, fault: str) -> None:
        self._problems.append(self._layer.problem(path, f"{fault}; it does not run", is_error=True))


_HOOK_FAULTS: tuple[tuple[Callable[[Mapping[str, Any]], bool], str], ...] = (
    (lambda raw: "type" not in raw, 'has no type; add "type": "command"'),
    (
        lambda raw: raw["type"] not in ("command", "plugin"),
        'has a type that is neither "command" nor "plugin" (they are case-sensitive); write "type": "command"',
    ),
    (
        lambda raw: raw["type"] == "command" and raw.get("command") is None,
        "has no command; give a command or remove the entry",
    ),
    (
        lambda raw: raw.get("command") is not None and not isinstance(raw["command"], str),
        "has a command that is not a string; write the whole command line as one string",
    ),
    (
        lambda raw: raw["type"] == "command" and not raw["command"].strip(),
        "has an empty command; give a command or remove the entry",
    ),
    (
        # Claude Code's other form. Without them `bash` alone would run, and take the event for its script.
        lambda raw: raw["type"] == "command" and bool(raw.get("args")),
        "has args, which no command is given here; write the whole command line as one string",
    ),
)


def _hook_fault(raw: Any) -> str | None:
    """Why a hook cannot be used at all, or None."""
    if not isinstance(raw, Mapping):
        return f'is {kind_of(raw)}, expected a hook such as {{"type": "command", "command": "…"}}'
    return next((message for holds, message in _HOOK_FAULTS if holds(raw)), None)
