"""Switching hooks on and off: adds a name to `hooksConfig.disabled` of one settings file, or removes it."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hookline.apps.cli.commands._consent import add_yes_option, log_consent, require_person, require_terminal
from hookline.apps.cli.options import add_common_options, make_config, read_config
from hookline.apps.cli.report.printer import print_report
from hookline.apps.cli.report.style import style
from hookline.apps.cli.report.text import one_line, show_place, unknown_hook
from hookline.errors import HooklineError, UsageError
from hookline.inspect.view import Setup, read_setup, value_at
from hookline.protocol.constants import OWN_DIALECT, ConfigSource
from hookline.protocol.records import Consent, hook_place
from hookline.settings.edit import add_to_list, edit_file, remove_from_list
from hookline.settings.read.files import Layer
from hookline.settings.read.merge import authority
from hookline.settings.trust.fingerprint import fingerprint

_LIST = ("hooksConfig", "disabled")


def configure_switch(parser: argparse.ArgumentParser) -> None:
    """Adds the options that both commands have."""
    parser.add_argument("name", metavar="NAME", help="the hook's name, or its command if it has no name")
    parser.add_argument(
        "--scope",
        choices=("user", "project"),
        default="user",
        help="which settings file is changed (default: user; a project's file can disable only its own hooks)",
    )
    add_yes_option(parser)
    add_common_options(parser, settings=False)


def disable(given: argparse.Namespace) -> int:
    """Disables the hooks of a name, and prints their state."""
    return _print_result(given, *switch_off(given))


def enable(given: argparse.Namespace) -> int:
    """Enables the hooks of a name again, and prints what still disables them."""
    return _print_result(given, *switch_on(given))


def switch_off(given: argparse.Namespace, via: str | None = None) -> tuple[Layer, bool]:
    """Disables the hooks of a name; returns the file, and whether it was changed."""
    name = given.name
    setup, target = _settings(given, Consent.DISABLED)
    layers = [setup.place(hook)[0] for hook in setup.hooks if hook.label == name]
    if not layers:
        raise UsageError(unknown_hook(name, setup.hooks))
    if all(authority(target) < authority(layer) for layer in layers):
        where = f"{name} is configured in {layers[0].origin}"
        raise UsageError(f"{where}, and {target.origin} cannot disable it; {_instead(layers[0])}")
    require_terminal(given)
    is_new = name not in _names(target)
    edit_file(Path(target.origin), lambda text: add_to_list(text, _LIST, name))
    if is_new:
        _log(Consent.DISABLED, name, setup, target, via)
    return target, is_new


def switch_on(given: argparse.Namespace, via: str | None = None) -> tuple[Layer, bool]:
    """Enables the hooks of a name again; returns the file, and whether it was changed."""
    name = given.name
    setup, target = _settings(given, Consent.ENABLED)
    if name in _names(target):
        require_terminal(given)
        edit_file(Path(target.origin), lambda text: remove_from_list(text, _LIST, name))
        _log(Consent.ENABLED, name, setup, target, via)
        return target, True
    hooks = [hook for hook in setup.hooks if hook.label == name]
    if not hooks:
        raise UsageError(unknown_hook(name, setup.hooks))
    off = next((hook.disabled_by for hook in hooks if hook.disabled_by), None)
    if off is not None:
        raise UsageError(f"{target.origin} does not disable {name}; {_still_off(setup, off)}")
    return target, False


def _log(action: Consent, name: str, setup: Setup, target: Layer, via: str | None) -> None:
    """A record of each hook with this name, or of the name alone if no hook has it."""
    decided = [
        {**hook_place(hook), "event": hook.event.value, "digest": fingerprint(hook, setup.project_dir).digest}
        for hook in setup.hooks
        if hook.label == name
    ]
    log_consent(action, setup, decided or [{"hook": name, "origin": target.origin}], via)


def _settings(given: argparse.Namespace, action: Consent) -> tuple[Setup, Layer]:
    """The settings, and the layer that is to be changed by a person."""
    require_person(action)
    setup = read_setup(make_config(given))
    ours = (layer for layer in setup.layers if layer.dialect == OWN_DIALECT)
    target = next(layer for layer in ours if layer.source is ConfigSource(given.scope))
    for problem in target.problems:
        raise HooklineError(str(problem))
    return setup, target


def _names(layer: Layer) -> Sequence[object]:
    disabled = value_at(layer, _LIST)
    return disabled if isinstance(disabled, list) else ()


def _instead(layer: Layer) -> str:
    if layer.policy is not None:
        return "only the company's policy can, by hookline fleet policy switch"
    if layer.source is ConfigSource.SYSTEM:
        return f'the administrator of this system can add it to "hooksConfig": {{"disabled": […]}} in {layer.origin}'
    return "leave --scope project out"


def _still_off(setup: Setup, disabled_by: str) -> str:
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


def _print_result(given: argparse.Namespace, target: Layer, changed: bool) -> int:  # noqa: FBT001 - as returned
    """Prints the state of the hooks, from the settings as they are now."""
    setup = read_setup(read_config(given))
    states = [
        {"event": hook.event.value, "origin": hook.origin, "enabled": hook.enabled, "disabledBy": hook.disabled_by}
        for hook in setup.hooks
        if hook.label == given.name
    ]
    report = {"hook": given.name, "file": target.origin, "changed": changed, "hooks": states}
    print_report(given, report, _lines(report, setup))
    return 0


def _lines(report: Mapping[str, Any], setup: Setup) -> Iterator[str]:
    change = "was changed" if report["changed"] else "needed no change"
    yield f"{one_line(report['hook'])}: {show_place(report['file'])} {change}"
    for hook in report["hooks"]:
        state = style.good("on") if hook["enabled"] else style.warn("off")
        off = hook["disabledBy"]
        why = f" ({_still_off(setup, off)})" if off and off != report["file"] else ""
        yield f"  {hook['event']} from {show_place(hook['origin'])}: {state}{why}"
