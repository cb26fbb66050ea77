"""Switch hooks off and on: add a name to `hooksConfig.disabled` of one settings file, or remove it."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from hookline.errors import HooklineError, UsageError
from hookline.inspect.consent import log_consent, require_person
from hookline.inspect.view import Setup, value_at
from hookline.protocol.constants import OWN_DIALECT, ConfigSource
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.records import Consent, hook_place
from hookline.protocol.text.strings import did_you_mean
from hookline.settings.edit import add_to_list, edit_file, remove_from_list
from hookline.settings.read.files import Layer
from hookline.settings.read.merge import authority
from hookline.settings.trust.fingerprint import fingerprint

_LIST = ("hooksConfig", "disabled")

Confirm = Callable[[], None]
"""Raise HooklineError if the change is not confirmed."""


def switch_off(
    setup: Setup, name: str, scope: ConfigSource, confirm: Confirm, via: str | None = None
) -> tuple[Layer, bool]:
    """Disable the hooks of a name; return the settings file, and whether it was changed."""
    target = _target(setup, scope, Consent.DISABLED)
    layers = [setup.place(hook)[0] for hook in _named(setup, name)]
    if not layers:
        raise UsageError(unknown_hook(name, setup.hooks))
    if all(authority(target) < authority(layer) for layer in layers):
        where = f"{name} is configured in {layers[0].origin}"
        raise UsageError(f"{where}, and {target.origin} cannot disable it; {_instead(layers[0])}")
    confirm()
    is_new = name not in _names(target)
    edit_file(Path(target.origin), lambda text: add_to_list(text, _LIST, name))
    if is_new:
        _log(Consent.DISABLED, name, setup, target, via)
    return target, is_new


def switch_on(
    setup: Setup, name: str, scope: ConfigSource, confirm: Confirm, via: str | None = None
) -> tuple[Layer, bool]:
    """Enable the hooks of a name again; return the settings file, and whether it was changed."""
    target = _target(setup, scope, Consent.ENABLED)
    if name in _names(target):
        confirm()
        edit_file(Path(target.origin), lambda text: remove_from_list(text, _LIST, name))
        _log(Consent.ENABLED, name, setup, target, via)
        return target, True
    hooks = _named(setup, name)
    if not hooks:
        raise UsageError(unknown_hook(name, setup.hooks))
    off = next((hook.disabled_by for hook in hooks if hook.disabled_by), None)
    if off is not None:
        raise UsageError(f"{target.origin} does not disable {name}; {still_off(setup, off)}")
    return target, False


def unknown_hook(name: str, hooks: Iterable[HookEntry]) -> str:
    """Say that none of the hooks has this name, and suggest the nearest."""
    labels = {hook.label: None for hook in hooks}
    return f"there is no hook {name}; {did_you_mean(name, labels, 'hookline list shows all hooks', cutoff=0.5)}"


def still_off(setup: Setup, disabled_by: str) -> str:
    """Say which file still disables a hook, and where to change that."""
    layer = next((layer for layer in setup.layers if layer.origin == disabled_by), None)
    if layer is None:
        return f"it is disabled by {disabled_by}; change that"
    if layer.policy is not None:
        return "the company's policy does, and overrides all files"
    if layer.dialect != OWN_DIALECT:
        return f"{layer.origin} does; change it there"
    if layer.source is ConfigSource.SYSTEM:
        return f"{layer.origin} does, and overrides the other files"
    return f"{layer.origin} does; add --scope {layer.source}"


def _named(setup: Setup, name: str) -> list[HookEntry]:
    return [hook for hook in setup.hooks if hook.label == name]


def _log(action: Consent, name: str, setup: Setup, target: Layer, via: str | None) -> None:
    """Write a record for each hook with this name, or for the name alone if no hook has it."""
    decided = [
        {**hook_place(hook), "event": hook.event.value, "digest": fingerprint(hook, setup.project_dir).digest}
        for hook in _named(setup, name)
    ]
    log_consent(action, setup, decided or [{"hook": name, "origin": target.origin}], via)


def _target(setup: Setup, scope: ConfigSource, action: Consent) -> Layer:
    """Return the layer to change; HooklineError if no user runs this, or if the file is broken."""
    require_person(action)
    target = next(layer for layer in setup.layers if layer.dialect == OWN_DIALECT and layer.source is scope)
    for problem in target.problems:
        raise HooklineError(str(problem))
    return target


def _names(layer: Layer) -> Sequence[object]:
    disabled = value_at(layer, _LIST)
    return disabled if isinstance(disabled, list) else ()


def _instead(layer: Layer) -> str:
    if layer.policy is not None:
        return "only the company's policy can, by hookline fleet policy switch"
    if layer.source is ConfigSource.SYSTEM:
        return f'the administrator of this system can add it to "hooksConfig": {{"disabled": […]}} in {layer.origin}'
    return "leave --scope project out"
