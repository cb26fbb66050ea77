"""The seam to a company's policy: who provides its layer of settings, and whether its scripts are as they were signed.

The settings know a provider by name only, so that everything a company adds can be missing. A policy that is configured
and can't be loaded blocks: it is never read as empty.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, cast

from hookline.errors import MissingPartError
from hookline.extensions import lazy_module, load_part
from hookline.protocol.constants import ConfigSource
from hookline.settings.read.files import Layer
from hookline.settings.read.policy_state import PolicyState
from hookline.settings.read.source import FileWatch

if TYPE_CHECKING:
    from msgspec import structs

    from hookline.protocol.hook_entry import HookEntry, PolicyMark
    from hookline.settings.decode.schema import FleetSettings, RolloutSettings

else:
    structs = lazy_module("msgspec.structs")  # not while hooks are disabled

# The hooks of one event are checked one after another.
_CHECK_AGAIN_S = 0.002


class LayerProvider(Protocol):
    """Provides a company's layer of settings, and judges its hooks."""

    def layers(self, system: Layer, watch: FileWatch) -> tuple[Layer, ...]:
        """Return the layer that the system's settings name; nothing if they name none."""

    def scripts_fault(self, mark: "PolicyMark") -> str | None:
        """Return why the scripts of a policy are not those that were signed, or None."""

    def left_out(self, rollout: "RolloutSettings", label: str, teams: Sequence[str]) -> str | None:
        """Return why a rollout does not reach this machine and user, or None if it does."""

    def remote_fault(self, hook: "HookEntry", fleet: "FleetSettings | None") -> str | None:
        """Return why a hook can't be asked on the server of these settings, with the remedy, or None."""


def layer_provider() -> LayerProvider:
    """Return the provider; raises MissingPartError where this installation has none."""
    return cast("LayerProvider", load_part("hookline.layers", "policy")())


def policy_layers(system: Layer, watch: FileWatch) -> tuple[Layer, ...]:
    """Return the layer of the policy that the system's settings name; nothing if they name none."""
    options = system.values.get("hooksConfig")
    if not isinstance(options, Mapping) or options.get("policy") is None:
        return ()
    try:
        provider = layer_provider()
    except MissingPartError as error:
        state = PolicyState(fault=f"hooksConfig.policy in {system.origin}: {error}", is_unloadable=True)
        return (Layer(source=ConfigSource.POLICY, origin=system.origin, policy=state),)
    return provider.layers(system, watch)


class ScriptChecks:
    """Checks whether the scripts of policies are as they were signed; hooks of one event share an answer."""

    def __init__(self) -> None:
        self._provider = layer_provider()
        self._answers: dict[str, tuple[float, Mapping[str, str], str | None]] = {}

    def fault(self, hook: "HookEntry") -> str | None:
        """Return why a hook of a policy can't run; None for one that can, and for every other hook."""
        mark = hook.policy
        if mark is None or not mark.files or hook.command is None:
            return None
        now = time.monotonic()
        answer = self._answers.get(mark.directory)
        if answer is None or now - answer[0] > _CHECK_AGAIN_S or answer[1] is not mark.files:
            fault = self._provider.scripts_fault(mark)
            if fault is not None:
                fault = f"{fault}; run: hookline fleet policy pull"
            answer = self._answers[mark.directory] = (now, mark.files, fault)
        return answer[2]


def as_they_would_run(hooks: "Iterable[HookEntry]") -> "tuple[HookEntry, ...]":
    """Return the hooks as they would run now: those of a policy whose scripts were changed fail."""
    hooks = tuple(hooks)
    if all(hook.policy is None for hook in hooks):
        return hooks
    checks = ScriptChecks()
    return tuple(hook if (why := checks.fault(hook)) is None else structs.replace(hook, refusal=why) for hook in hooks)


def missing_provider() -> str | None:
    """Return why this installation can't do what a company's options want, with the remedy, or None."""
    try:
        layer_provider()
    except MissingPartError as error:
        return str(error)
    return None
