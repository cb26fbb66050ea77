"""The hooks of one layer: one bad entry never disables another."""

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from hookline.dialects.registry import DIALECTS
from hookline.errors import MissingPartError
from hookline.protocol.answers import kind_of
from hookline.protocol.constants import OWN_DIALECT, ConfigSource, HookMode, OnError
from hookline.protocol.events import LIFECYCLE_EVENTS, HookEventName
from hookline.protocol.hook_entry import HookEntry, Plugin, RemoteSubject
from hookline.protocol.text.matchers import pattern_fault
from hookline.protocol.text.patterns import lazy_pattern
from hookline.settings.decode.dialect import (
    OWN_EVENTS,
    DialectKeys,
    event_of,
    table_of,
    why_no_event,
    why_unknown,
)
from hookline.settings.decode.fields import LayerProblems, Path, decode_fields, warn_of_typos
from hookline.settings.decode.invalid_hooks import hook_fault, named, read_broken, would_block
from hookline.settings.decode.resources import read_limits, read_worker
from hookline.settings.decode.schema import FleetSettings, HookGroupSettings, HookSettings, RolloutSettings
from hookline.settings.read.files import Layer
from hookline.settings.read.jsonc import show_path
from hookline.settings.read.merge import authority
from hookline.settings.read.provider import layer_provider
from hookline.shell.bridge import BridgeUse, bridge_use

# Options that other agents keep beside the events.
_MISPLACED_OPTIONS = {
    "disabled": "is not an event; write it inside hooksConfig",
    "enabled": 'is not an event; to switch hooks on, write "enableHooks": true at the top level',
    "notifications": "is neither an event nor an option here; remove it",
}
_MOST_GUEST_HOOKS = 1000
# If one of these is invalid the hook fails; a default is not used.
_READ_APART = ("limits", "dialect", "worker")
_READ_BEFORE: Mapping[str, Any] = {"hooks": [], "dialect": None}
_NO_GROUP = HookGroupSettings(hooks=[])

_PLUGIN = lazy_pattern(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?:\S(?:.*\S)?")


class _TooManyHooksError(Exception):
    """A project's file has more entries than are read."""


class UnusedHook(msgspec.Struct, frozen=True, kw_only=True):
    """A hook of another agent for an event that never happens here."""

    event: str
    label: str
    origin: str
    location: str
    reason: str


class _Context(msgspec.Struct, frozen=True, kw_only=True):
    """The options that a hook inherits from its file, event and group."""

    source: ConfigSource
    origin: str
    dialect: str
    event: str = ""
    """The event's name as the settings have it."""


class HookReader:
    """Reads the hooks of one layer, and reports those that can't be used."""

    def __init__(
        self,
        problems: LayerProblems,
        disabled: Mapping[str, str],
        *,
        applies_lifecycle: bool,
        silenced_by: str | None = None,
        teams: Sequence[str] = (),
        fleet: FleetSettings | None = None,
    ) -> None:
        self._layer = problems.layer
        self._applies_lifecycle = applies_lifecycle
        self._problems = problems
        self.disabled = disabled
        self.silenced_by = silenced_by
        self._teams = teams
        self._fleet = fleet
        self._left = _MOST_GUEST_HOOKS if self._layer.is_guest else math.inf
        self.unused: list[UnusedHook] = []
        """Hooks that never run, because their event has no counterpart; complete when `entries` is."""
        self.bridges: list[HookEntry] = []
        """Entries that run our own bridge."""

    def entries(self) -> Iterator[HookEntry]:
        """The hooks of the layer itself, and then those of its extensions."""
        values = self._layer.values
        dialect = self._dialect(values, (), self._layer.dialect)
        context = _Context(source=self._layer.source, origin=self._layer.origin, dialect=dialect)
        try:
            yield from self._event_map(values.get("hooks"), ("hooks",), context)
            yield from self._extensions(values.get("extensions"), context)
        except _TooManyHooksError:
            limit = f"{_MOST_GUEST_HOOKS:,}"
            message = f"has more than {limit} entries; only the first {limit} of a project's file are used; remove some"
            # First, because not all problems of a file are shown.
            self._problems.found.insert(0, self._layer.problem(("hooks",), message, is_error=True))

    def _dialect(self, values: Mapping[str, Any], path: Path, inherited: str) -> str:
        """The dialect that is given here, or else the one of the place around it; one that is unknown is reported."""
        given = values.get("dialect")
        if given is None:
            return inherited
        if given not in DIALECTS:
            message = f"{why_unknown(given)}; its hooks fail, and block where they can, until you fix it"
            self._problems.error((*path, "dialect"), message)
        return str(given)

    def _count_entry(self) -> None:
        """Count the entries of a project's file, which may have millions."""
        self._left -= 1
        if self._left < 0:
            raise _TooManyHooksError

    def _extensions(self, raw: Any, context: _Context) -> Iterator[HookEntry]:
        if raw is not None and not isinstance(raw, list | tuple):
            self._drop(("extensions",), f"is {kind_of(raw)}, expected an array")
            return
        for index, extension in enumerate(raw or ()):
            path: Path = ("extensions", index)
            if not isinstance(extension, Mapping):
                self._drop(path, f"is {kind_of(extension)}, expected an object with name and hooks")
                continue
            name = extension.get("name")
            origin = f"extension {name if isinstance(name, str) else index} ({self._layer.origin})"
            active = extension.get("isActive", True)
            if active is False or not extension.get("hooks"):
                self._count_entry()
            if active is False:
                continue
            if active is not True:
                message = f"is {kind_of(active)}, expected true or false; its hooks run"
                self._problems.warn((*path, "isActive"), message)
            dialect = self._dialect(extension, path, context.dialect)
            inner = _Context(source=ConfigSource.EXTENSIONS, origin=origin, dialect=dialect)
            yield from self._event_map(extension.get("hooks"), (*path, "hooks"), inner)

    def _event_map(self, raw: Any, path: Path, context: _Context) -> Iterator[HookEntry]:
        if raw is None:
            return
        if not isinstance(raw, Mapping):
            self._drop(path, f"is {kind_of(raw)}, expected an object that maps event names to groups of hooks")
            return
        for name, groups in raw.items():
            if not isinstance(name, str) or not _may_be_event(name, groups, context.dialect):
                self._unknown_event((*path, str(name)), str(name), groups)
                continue
            own = replace(context, event=name)
            if groups is None or isinstance(groups, list | tuple):
                for index, group in enumerate(groups or ()):
                    yield from self._group(group, (*path, name, index), own)
            else:
                fault = f"is {kind_of(groups)}, expected an array; write [ … ] around it"
                yield from self._drop_hook((*path, name), fault, own, groups, _matcher_of(groups))

    def _unknown_event(self, path: Path, name: str, groups: Any) -> None:
        self._count_entry()
        if name in _MISPLACED_OPTIONS:
            self._problems.warn(path, _MISPLACED_OPTIONS[name])
            return
        report = self._problems.error if groups else self._problems.warn
        report(path, why_no_event(name, OWN_DIALECT, may_guess=self._problems.may_guess()))

    def _group(self, raw: Any, path: Path, context: _Context) -> Iterator[HookEntry]:
        hooks = raw.get("hooks") if isinstance(raw, Mapping) else None
        if not isinstance(raw, Mapping) or not isinstance(hooks, list | tuple):
            if isinstance(raw, Mapping) and hooks is None:
                warn_of_typos(raw, HookGroupSettings, path, self._problems)
            yield from self._drop_hook(path, _group_fault(raw), context, raw, _matcher_of(raw))
            return
        if not hooks:
            self._count_entry()
        context = replace(context, dialect=self._dialect(raw, path, context.dialect))
        matcher = self._matcher(raw.get("matcher"), (*path, "matcher"))
        group = decode_fields({**raw, **_READ_BEFORE, "matcher": matcher}, HookGroupSettings, path, self._problems)
        for index, hook in enumerate(hooks):
            place: Path = (*path, "hooks", index)
            inner = context
            if isinstance(hook, Mapping):
                inner = replace(context, dialect=self._dialect(hook, place, context.dialect))
            if fault := hook_fault(hook, inner.dialect):
                if isinstance(hook, Mapping):
                    warn_of_typos(hook, HookSettings, place, self._problems)
                yield from self._drop_hook(place, fault, inner, hook, matcher, group)
            elif (entry := self._hook(hook, group, place, inner)) is not None:
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
        self, raw: Mapping[str, Any], group: HookGroupSettings, path: Path, context: _Context
    ) -> HookEntry | None:
        self._count_entry()
        options = {key: value for key, value in raw.items() if key not in _READ_APART}
        hook = decode_fields(options, HookSettings, path, self._problems)
        event = event_of(context.event, context.dialect)
        if event is None:
            self._never_runs(hook, path, context)
            return None
        entry = self._entry(raw, hook, group, path, context, event)
        if context.dialect not in DIALECTS:
            # Its answers could be misread, so it fails for every tool, and blocks.
            refusal = f"its dialect {why_unknown(context.dialect)}"
            return replace(entry, matcher=None, refusal=refusal, on_error=OnError.BLOCK, is_misconfigured=True)
        if isinstance(entry.run, Plugin):
            return self._refused(entry, self._plugin_fault(entry, entry.run.reference), (*path, "plugin"))
        if isinstance(entry.run, RemoteSubject):
            return self._remote(entry, path)
        return self._unless_bridge(entry, path)

    def _refused(self, entry: HookEntry, refusal: str | None, path: Path, remedy: str = "") -> HookEntry:
        if refusal is None:
            return entry
        self._problems.error(path, f"can't be run and fails at each event: {refusal}{remedy}")
        return replace(entry, refusal=refusal)

    def _plugin_fault(self, entry: HookEntry, plugin: str) -> str | None:
        """Return why a plugin can't run, or None: it runs inside the agent, so a project must not name one."""
        if self._layer.is_guest:
            return "only the user's or the system's settings may name a plugin; move it there"
        if not _PLUGIN.fullmatch(plugin):
            return f"its plugin {plugin!r} is not of the form package:name"
        if entry.dialect != OWN_DIALECT:
            return f'a plugin does not know the words of {entry.dialect}; add "dialect": "{OWN_DIALECT}" to its group'
        if entry.limits is not None:
            return "a plugin runs inside the agent, where limits and network have no effect; use a command"
        return None

    def _remote(self, entry: HookEntry, path: Path) -> HookEntry:
        """Read a hook that runs on another machine, via the NATS server from the user's or system's settings."""
        try:
            refusal = layer_provider().remote_fault(entry, self._fleet)
        except MissingPartError as error:
            refusal = str(error)
        for key, is_given in (("limits", entry.limits is not None), ("env", entry.env != self._layer.env)):
            if is_given:
                self._problems.warn((*path, key), "has no effect: a worker runs the hook, as its own settings say")
        return self._refused(entry, refusal, path)

    def _unless_bridge(self, entry: HookEntry, path: Path) -> HookEntry | None:
        """The hook; None for our own bridge, which other agents' files have and which would ask these same hooks."""
        match bridge_use(shlex.join((entry.command or "", *entry.args)) if entry.args else entry.command or ""):
            case BridgeUse.NO:
                return entry
            case BridgeUse.ALONE:
                if self._layer.dialect == OWN_DIALECT:
                    self._problems.error(path, "runs hookline's own bridge, which asks these hooks; it does not run")
                self.bridges.append(entry)
                return None
            case BridgeUse.AMONG_OTHERS:
                refusal = "beside other commands it runs hookline's own bridge, which would run this hook again"
                return self._refused(entry, refusal, path, "; take the bridge out of it")

    def _left_out(self, rollout: RolloutSettings | None, label: str, path: Path) -> str | None:
        if rollout is None:
            return None
        try:
            return layer_provider().left_out(rollout, label, self._teams)
        except MissingPartError as error:
            self._problems.error((*path, "rollout"), f"has no effect, so the hook runs on every machine: {error}")
            return None

    def _entry(
        self,
        raw: Mapping[str, Any],
        hook: HookSettings,
        group: HookGroupSettings,
        path: Path,
        context: _Context,
        event: HookEventName,
    ) -> HookEntry:
        if hook.final and event is not HookEventName.BEFORE_TOOL:
            self._problems.warn((*path, "final"), f"has no effect on {event}; only a BeforeTool hook can be final")
        mode = hook.mode or group.mode or HookMode.ENFORCE
        if hook.required and mode is not HookMode.ENFORCE:
            self._problems.warn((*path, "required"), f"has no effect while mode is {mode}: the hook blocks nothing")
        location = show_path(path)
        keys = DialectKeys(raw, hook, event, context.dialect, path, self._problems)
        limits, why_limits = read_limits(raw.get("limits"), hook, (*path, "limits"), self._problems)
        env = {**self._layer.env, **(hook.env or {})}
        run, why_worker = read_worker(raw.get("worker"), keys.run(), context.dialect, (*path, "worker"), self._problems)
        invalid = why_limits or why_worker
        is_strict = hook.on_failure == "block" or hook.on_error is OnError.BLOCK or hook.required
        return self._place(
            event,
            path,
            context,
            run=run,
            timeout_ms=keys.timeout_ms(),
            name=hook.name,
            description=hook.description,
            matcher=group.matcher,
            sequential=bool(group.sequential),
            disabled_by=self.silenced_by
            or self.disabled.get(hook.label)
            or self._left_out(hook.rollout or group.rollout, hook.label, path)
            or (None if hook.enabled else f"{context.origin}: {location}.enabled"),
            env=env,
            # A typo in such an option must not allow what the guard would have blocked.
            on_error=OnError.BLOCK if is_strict or invalid else OnError.ALLOW,
            is_misconfigured=bool(invalid) and not is_strict,
            budget_ms=hook.budget,
            final=hook.final and event is HookEventName.BEFORE_TOOL,
            mode=mode,
            limits=limits,
            required=hook.required,
            **{"refusal": invalid, **keys.fields(env)},
        )

    def _place(self, event: HookEventName, path: Path, context: _Context, **options: Any) -> HookEntry:
        """Return an entry with these options, and with what follows from its file, its place there and its dialect."""
        table = table_of(context.dialect)
        return replace(
            layer_entry(self._layer, event, path),
            source=context.source,
            origin=context.origin,
            project=self._layer.project,
            is_canary=self._layer.is_canary,
            # Other agents apply what their hooks answer there.
            is_applied=self._applies_lifecycle or table is not None or event not in LIFECYCLE_EVENTS,
            # An unknown dialect has no format to answer in.
            dialect=OWN_DIALECT if table is None else context.dialect,
            foreign_event=context.event if table is not None and context.event in table.events else None,
            at_permission_request=table is not None and context.event in table.at_permission_request,
            **options,
        )

    def _never_runs(self, hook: HookSettings, path: Path, context: _Context) -> None:
        reason = why_no_event(context.event, context.dialect, may_guess=self._problems.may_guess())
        table = table_of(context.dialect)
        is_known = table is not None and context.event in table.without_counterpart
        report = self._problems.warn if is_known else self._problems.error
        report(path, reason)
        self.unused.append(
            UnusedHook(
                event=context.event, label=hook.label, origin=context.origin, location=show_path(path), reason=reason
            )
        )

    def _drop_hook(
        self, path: Path, fault: str, context: _Context, raw: Any, matcher: Any, group: HookGroupSettings = _NO_GROUP
    ) -> Iterator[HookEntry]:
        """Report a hook that can't be used. If its failure would block, it blocks until it is fixed.

        So does any guard in another agent's file: Claude Code drops the whole file for it, Gemini CLI the entry, and a
        typo would cost the guard.
        """
        event, table = event_of(context.event, context.dialect), table_of(context.dialect)
        is_guard = self._layer.dialect != OWN_DIALECT and table is not None and event is HookEventName.BEFORE_TOOL
        hook, location = read_broken(raw, path, self._problems), show_path(path)
        name = hook.name or f"broken entry {location}"
        is_left_out = self._left_out(hook.rollout or group.rollout, name, path)
        if event is None or is_left_out or not would_block(hook, group, is_guard=is_guard):
            self._drop(path, named(hook, fault))
            return
        self._count_entry()
        what = f"fails at every {event} event, and blocks where it can,"
        if event is HookEventName.BEFORE_TOOL:
            what = "blocks every tool that its matcher matches"
        self._problems.error(path, f"{named(hook, fault)}; it {what} until you fix or remove it")
        yield self._place(
            event,
            path,
            context,
            name=name,
            matcher=self._matcher(matcher, (*path, "matcher")),
            disabled_by=self.silenced_by or self.disabled.get(name),
            on_error=OnError.BLOCK,
            is_misconfigured=not would_block(hook, group, is_guard=False),
            required=hook.required,
            refusal=f"it {fault}",
        )

    def _drop(self, path: Path, fault: str) -> None:
        self._count_entry()
        self._problems.error(path, f"{fault}; it does not run")


def _matcher_of(raw: Any) -> Any:
    return raw.get("matcher") if isinstance(raw, Mapping) else None


def _group_fault(raw: Any) -> str:
    if not isinstance(raw, Mapping):
        return f'is {kind_of(raw)}, expected a group such as {{"matcher": "…", "hooks": […]}}'
    hooks = raw.get("hooks")
    if hooks is None and ("command" in raw or "type" in raw):
        return 'is a hook where a group of hooks is expected; write {"hooks": [ … ]} around it'
    fault = "has no hooks" if hooks is None else f"has hooks that are {kind_of(hooks)}"
    return f"{fault}; give it an array of hooks"


def layer_entry(layer: Layer, event: HookEventName, path: Path) -> HookEntry:
    """Return an entry of a layer with nothing but its event and its place."""
    return HookEntry(
        event=event,
        source=layer.source,
        origin=layer.origin,
        location=show_path(path),
        rank=authority(layer),
        needs_trust=layer.is_guest,
        policy=layer.policy and layer.policy.mark,
    )


def _may_be_event(name: str, groups: Any, dialect: str) -> bool:
    """Return whether hooks under this name may run: it is an event here, or a dialect is given that may have it."""
    if name in OWN_EVENTS or (dialect != OWN_DIALECT and name not in _MISPLACED_OPTIONS):
        return True
    for group in groups if isinstance(groups, list | tuple) else ():
        if isinstance(group, Mapping):
            hooks = group.get("hooks")
            places = (group, *(hooks if isinstance(hooks, list | tuple) else ()))
            if any(isinstance(place, Mapping) and place.get("dialect") is not None for place in places):
                return True
    return False
