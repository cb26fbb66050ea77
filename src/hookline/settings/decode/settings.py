"""Layers → one Settings value. Nothing in a file raises an exception, and a bad file never disables another."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.dialects.registry import FOREIGN_DIALECTS
from hookline.protocol.answers import kind_of
from hookline.protocol.constants import OWN_DIALECT, SOURCE_PRIORITY, ConfigSource, Lifecycle
from hookline.protocol.hook_entry import HookEntry
from hookline.settings.decode.fields import LayerProblems, decode_fields, fields_of
from hookline.settings.decode.hooks import HookReader, UnusedHook
from hookline.settings.decode.packs import PackReader
from hookline.settings.decode.schema import FleetSettings, HooksConfigSettings
from hookline.settings.read.files import Layer, Problem, first_problems
from hookline.settings.read.merge import (
    PROGRAM_RANK,
    authority,
    by_authority,
    hooks_enabled,
    local_hooks_enabled,
    may_name_dialects,
    policy_problems,
)
from hookline.settings.read.provider import missing_provider

if TYPE_CHECKING:
    from hookline.settings.read.policy_state import PolicyState

__all__ = ["Settings", "UnusedHook", "decode_settings"]

_LONGEST_FAULT = 200
# These count for the hooks of the same file.
_OPTIONS_OF_GUESTS = ("disabled", "lifecycle")
# With these a user could make a policy's hooks see or do less. Beside a policy, only it and the system give them.
_NOT_BESIDE_POLICY = (
    "output_limit",
    "max_concurrent",
    "stream_during_after_model",
    "max_stop_blocks",
    "environment",
    "teams",
)

_COMPANYS = (ConfigSource.POLICY, ConfigSource.SYSTEM)
_RECORDED = "is not used, because the system's settings send the log to the company's record (hooksConfig.fleet)"

# The options that each layer gives, by field.
_GivenByLayer = list[tuple[LayerProblems, Mapping[str, Any]]]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the layers say about hooks."""

    enabled: bool
    options: HooksConfigSettings
    hooks: tuple[HookEntry, ...]
    """Every usable hook, disabled ones included: the project's first, then the user's, the system's, extensions'."""
    problems: tuple[Problem, ...]
    """The problems of the files, their options and their hooks, each once."""
    disabled: Mapping[str, str] = {}
    """The names that are disabled even for hooks of the program itself, and by which file."""
    unused: tuple[UnusedHook, ...] = ()
    """Hooks of other agents that never run, because their event has no counterpart here."""
    bridges: tuple[HookEntry, ...] = ()
    """Entries that run hookline's own bridge, which would ask these same hooks; they are left out of `hooks`."""
    policy: "PolicyState | None" = None
    """The company's policy, where the system's settings name one."""
    managed_only: bool = False
    """Whether the policy lets no other hooks run."""


def decode_settings(layers: Sequence[Layer], *, applies_lifecycle: bool = False) -> Settings:
    """The settings of all layers together; `applies_lifecycle` counts whatever `hooksConfig.lifecycle` says."""
    enabled, enabling_problems = hooks_enabled(layers)
    given = [(problems, _given_options(problems)) for problems in map(LayerProblems, layers)]
    ranked = sorted(given, key=lambda pair: authority(pair[0].layer), reverse=True)
    policy = next((layer for layer in layers if layer.policy is not None), None)
    state = None if policy is None else policy.policy
    options = _options_in_force(ranked, has_policy=state is not None and state.version is not None)
    managed_only = any(own.get("managed_only") for _, own in ranked)
    off = {} if state is None else state.hooks_off
    outsiders = _why_outsiders_are_off(layers, policy, managed_only=managed_only)
    readers = [
        HookReader(
            problems,
            {**_disabled_for(authority(problems.layer), problems.layer.dialect, ranked), **off},
            applies_lifecycle=applies_lifecycle or _lifecycle_in(problems.layer, ranked) is Lifecycle.APPLY,
            silenced_by=_silenced_by(problems.layer, layers) or _unless_exempt(problems.layer, outsiders),
            # The system's file names the team whose policy this machine follows; rollouts of that policy use it.
            teams=options.teams if state is None else (*options.teams, state.team),
            fleet=_fleet_for(problems.layer, options, ranked),
        )
        for problems, _ in given
    ]
    hooks = [hook for (problems, _), reader in zip(given, readers, strict=True) for hook in _hooks(problems, reader)]
    found = [problem for layer in layers for problem in layer.problems]
    found += policy_problems(layers)
    found += enabling_problems
    found += [problem for problems, _ in given for problem in problems.found]
    return Settings(
        enabled=enabled,
        options=options,
        hooks=tuple(sorted(hooks, key=lambda hook: SOURCE_PRIORITY[hook.source])),
        problems=tuple(first_problems(found)),
        unused=tuple(hook for reader in readers for hook in reader.unused),
        bridges=tuple(hook for reader in readers for hook in reader.bridges),
        disabled={**_disabled_for(PROGRAM_RANK, OWN_DIALECT, ranked), **off},
        policy=state,
        managed_only=managed_only,
    )


def _options_in_force(ranked: _GivenByLayer, *, has_policy: bool) -> HooksConfigSettings:
    """For each option the value of the most trusted layer that gives it; a project's file sets none."""
    options: dict[str, Any] = {}
    for problems, given in ranked:
        own = given
        if problems.layer.is_guest:
            continue
        if has_policy and problems.layer.source not in _COMPANYS:
            for name in (name for name in _NOT_BESIDE_POLICY if name in own):
                key = next(key for key, field in fields_of(HooksConfigSettings).items() if field.name == name)
                message = "is not used, because beside the company's policy only that and the system's settings give it"
                problems.warn(("hooksConfig", key), message)
            own = {name: value for name, value in given.items() if name not in _NOT_BESIDE_POLICY}
        if _switches_the_record_off(own, options, problems.layer):
            problems.warn(("hooksConfig", "log", "enabled"), _RECORDED)
            own = {**own, "log": msgspec.structs.replace(own["log"], enabled=True)}
        options = {**own, **options}
    return HooksConfigSettings(**options)


def _fleet_for(layer: Layer, options: HooksConfigSettings, ranked: _GivenByLayer) -> FleetSettings | None:
    """The server that remote hooks of a layer ask: a user must not send the company's questions to their own."""
    if layer.source not in _COMPANYS:
        return options.fleet
    named = next((problems.layer for problems, own in ranked if "fleet" in own and not problems.layer.is_guest), None)
    return options.fleet if named is not None and named.source in _COMPANYS else None


def _switches_the_record_off(own: Mapping[str, Any], options: Mapping[str, Any], layer: Layer) -> bool:
    """Whether a user's file disables the log that the company's or the system's settings send to the record."""
    is_less_trusted = layer.source not in _COMPANYS
    fleet = options.get("fleet")
    return is_less_trusted and "log" in own and not own["log"].enabled and fleet is not None and fleet.sends_records


def _why_outsiders_are_off(layers: Sequence[Layer], policy: Layer | None, *, managed_only: bool) -> str | None:
    """Why hooks that are not the policy's do not run, or None."""
    if policy is None:
        return None
    if managed_only:
        return f"the company's policy, which lets only its own hooks run (managedOnly in {policy.origin})"
    if not local_hooks_enabled(layers):
        return "enableHooks, which no settings file of yours sets to true; the hooks of the policy run"
    return None


def _unless_exempt(layer: Layer, why: str | None) -> str | None:
    return None if layer.policy is not None or layer.is_canary else why


def _disabled_for(rank: int, dialect: str, ranked: _GivenByLayer) -> dict[str, str]:
    """The names that are disabled for hooks of a rank, by a layer that is no less trusted, and by which file."""
    return {
        name: problems.layer.origin
        for problems, own in ranked
        if authority(problems.layer) >= rank and problems.layer.dialect in (OWN_DIALECT, dialect)
        for name in own.get("disabled", ())
    }


def _lifecycle_in(layer: Layer, ranked: _GivenByLayer) -> Lifecycle:
    """Return whether a layer's lifecycle hooks are applied; a project's file decides for its own hooks only."""
    given = (own for problems, own in ranked if not problems.layer.is_guest or problems.layer is layer)
    return next((own["lifecycle"] for own in given if "lifecycle" in own), Lifecycle.WATCH)


def _silenced_by(layer: Layer, layers: Sequence[Layer]) -> str | None:
    """The most trusted file of the same agent that disables all hooks of a layer, or None."""
    silencing = (other for other in by_authority(layers) if other.dialect == layer.dialect)
    return next((other.origin for other in silencing if authority(layer) < other.silences_below), None)


def _given_options(problems: LayerProblems) -> Mapping[str, Any]:
    given: dict[str, Any] = {}
    with _reporting(problems, "hooksConfig", "its options are not used"):
        given.update(_read_options(problems))
    return given


def _read_options(problems: LayerProblems) -> Mapping[str, Any]:
    raw = problems.layer.values.get("hooksConfig")
    if raw is None:
        return {}
    if not isinstance(raw, Mapping):
        problems.error(("hooksConfig",), f"is {kind_of(raw)}, expected an object; its options are not used")
        return {}
    fields = fields_of(HooksConfigSettings)
    places = {key: _place_of(key, field.name, problems.layer) for key, field in fields.items() if key in raw}
    for key in raw:
        if (place := places.get(key)) is not None:
            problems.warn(("hooksConfig", key), f"is only used in {place}")
    used = {key: value for key, value in raw.items() if places.get(key) is None}
    decoded = decode_fields(used, HooksConfigSettings, ("hooksConfig",), problems)
    if decoded.fleet is not None and decoded.fleet.servers and (missing := missing_provider()) is not None:
        problems.error(("hooksConfig", "fleet"), f"has no effect: {missing}")
    for name in set(decoded.dialects).difference(FOREIGN_DIALECTS):
        advice = f"the agents are {', '.join(FOREIGN_DIALECTS)}"
        problems.error(("hooksConfig", "dialects"), f"names {name!r}, whose files hookline can't read; {advice}")
    return {field.name: getattr(decoded, field.name) for key, field in fields.items() if key in used}


def _place_of(key: str, name: str, layer: Layer) -> str | None:
    """Where an option would be used that a layer can't give, or None if it can."""
    if key == "policy" and layer.source is not ConfigSource.SYSTEM:
        return "the system's settings; move it there"
    if key == "managedOnly" and layer.policy is None:
        return "a signed policy"
    is_for_others = key == "dialects" and not may_name_dialects(layer)
    if is_for_others or (layer.is_guest and name not in _OPTIONS_OF_GUESTS):
        return "the user's or the system's settings; move it there"
    return None


def _hooks(problems: LayerProblems, reader: HookReader) -> Iterator[HookEntry]:
    with _reporting(problems, "hooks", "some of its hooks may be missing"):
        yield from PackReader(problems, reader.disabled, reader.silenced_by).entries()
        yield from reader.entries()


@contextmanager
def _reporting(problems: LayerProblems, path: str, consequence: str) -> Iterator[None]:
    """Turn an exception into a problem of the layer."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - a project's file must not disable another file's guards
        shown = f"{type(error).__name__}: {error}"[:_LONGEST_FAULT]
        message = f"can't be read ({shown}), so {consequence}; remove what is unusual in it"
        # Without its line: finding that could fail in the same way.
        problems.found.append(Problem(origin=problems.layer.origin, path=path, message=message, is_error=True))
