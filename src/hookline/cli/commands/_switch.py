"""Switching hooks on and off: the name goes into, or out of, `hooksConfig.disabled` of one settings file."""

import argparse
import difflib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hookline.cli.lint.setup import Setup, read_setup
from hookline.cli.options import make_config, require_project
from hookline.cli.report.style import Style
from hookline.cli.report.text import one_line, show_place
from hookline.config import Config
from hookline.contract.hooks import ConfigSource, HookEntry
from hookline.errors import HooklineError, UsageError
from hookline.settings.edit import add_to_list, edit_file, remove_from_list
from hookline.settings.merge import authority
from hookline.settings.read import Layer

_LIST = ("hooksConfig", "disabled")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    name: str
    setup: Setup
    target: Layer
    hooks: tuple[HookEntry, ...]
    """The configured hooks of this name."""


def configure_switch(parser: argparse.ArgumentParser) -> None:
    """Adds the options that both commands have."""
    parser.add_argument("name", metavar="NAME", help="the hook's name, or its command where it has none")
    parser.add_argument(
        "--in",
        dest="scope",
        choices=("user", "project"),
        default="user",
        help="whose settings file is written (default: user; a project's file has a say over its own hooks only)",
    )
    parser.add_argument("--project", metavar="DIR", default=".", help="the project's directory (default: this one)")
    parser.add_argument("--json", action="store_true", help="print one JSON object for programs")
    parser.set_defaults(settings=None)


def disable(given: argparse.Namespace) -> int:
    """Switches the hooks of a name off, and says what that means."""
    case = _case(given)
    if not case.hooks:
        raise UsageError(_unknown(case))
    if not any(_has_say(case, hook) for hook in case.hooks):
        layer, _ = case.setup.place(case.hooks[0])
        raise UsageError(
            f"{case.name} is configured in {layer.origin}, over which {case.target.origin} has no say;"
            f" {_instead(layer)}"
        )
    is_new = case.name not in _names(case.target)
    edit_file(Path(case.target.origin), lambda text: add_to_list(text, _LIST, case.name))
    return _tell(given, case, changed=is_new)


def enable(given: argparse.Namespace) -> int:
    """Switches the hooks of a name on again, and says what keeps them off if something still does."""
    case = _case(given)
    if case.name not in _names(case.target):
        if not case.hooks:
            raise UsageError(_unknown(case))
        off = next((hook for hook in case.hooks if hook.disabled_by), None)
        if off is None:
            return _tell(given, case, changed=False)
        raise UsageError(f"{case.target.origin} does not disable {case.name}; {_still_off(case.setup, off)}")
    edit_file(Path(case.target.origin), lambda text: remove_from_list(text, _LIST, case.name))
    return _tell(given, case, changed=True)


def _case(given: argparse.Namespace) -> _Case:
    require_project(given)
    config = make_config(given)
    setup = read_setup(config)
    target = next(layer for layer in config.get_layers() if layer.source is ConfigSource(given.scope))
    for problem in target.problems:
        raise HooklineError(str(problem))
    hooks = tuple(hook for hook in setup.hooks if hook.label == given.name)
    return _Case(name=given.name, setup=setup, target=target, hooks=hooks)


def _has_say(case: _Case, hook: HookEntry) -> bool:
    return authority(case.target) >= authority(case.setup.place(hook)[0])


def _names(layer: Layer) -> Sequence[object]:
    options = layer.values.get("hooksConfig")
    disabled = options.get("disabled") if isinstance(options, dict) else None
    return disabled if isinstance(disabled, list) else ()


def _instead(layer: Layer) -> str:
    if layer.source is ConfigSource.SYSTEM:
        return f'whoever manages this system can add it to "hooksConfig": {{"disabled": […]}} in {layer.origin}'
    return "leave --in project out"


def _still_off(setup: Setup, hook: HookEntry) -> str:
    layer = next((layer for layer in setup.layers if layer.origin == hook.disabled_by), None)
    if layer is None:
        return f"it is switched off by {hook.disabled_by}; change that"
    if layer.source is ConfigSource.SYSTEM:
        return f"{layer.origin} does, and has the last word"
    return f"{layer.origin} does; add --in {layer.source}"


def _unknown(case: _Case) -> str:
    names = list(dict.fromkeys(hook.label for hook in case.setup.hooks))
    close = difflib.get_close_matches(case.name, names, n=1, cutoff=0.5)
    advice = f"did you mean {close[0]}?" if close else "hookline list shows them all"
    return f"there is no hook {case.name}; {advice}"


def _tell(given: argparse.Namespace, case: _Case, *, changed: bool) -> int:
    """Says what holds now, from the settings as they are after the change."""
    setup = read_setup(Config(given.project))
    hooks = [hook for hook in setup.hooks if hook.label == case.name]
    if given.json:
        states = [
            {"event": hook.event.value, "origin": hook.origin, "enabled": hook.enabled, "disabledBy": hook.disabled_by}
            for hook in hooks
        ]
        print(
            json.dumps({"hook": case.name, "file": case.target.origin, "changed": changed, "hooks": states}, indent=2)
        )
        return 0
    style = Style.for_stdout()
    place = show_place(case.target.origin)
    print(f"{one_line(case.name)}: {place} {'was changed' if changed else 'needed no change'}")
    for hook in hooks:
        state = style.good("on") if hook.enabled else style.warn("off")
        why = f" ({_still_off(setup, hook)})" if hook.disabled_by and hook.disabled_by != case.target.origin else ""
        print(f"  {hook.event} from {show_place(hook.origin)}: {state}{why}")
    return 0
