"""Finds problems of the settings, and hooks that do not run in a session."""

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from hookline.apps.cli.options import read_config
from hookline.client.config import Config
from hookline.errors import HooklineError
from hookline.extensions import lazy_module
from hookline.protocol.hook_entry import HookEntry, Plugin, Unsupported
from hookline.protocol.text.readable import plural
from hookline.protocol.text.strings import printable
from hookline.settings.trust.store import TrustStore, default_trust_path

if TYPE_CHECKING:
    from hookline.runners.function import plugins
else:
    plugins = lazy_module("hookline.runners.function.plugins")

HookStates = Sequence[tuple[HookEntry, str | None]]
"""The configured hooks, each with the reason why it does not run."""


def states_of(hooks: Sequence[HookEntry], config: Config) -> HookStates:
    """Return the hooks, each with the reason why it does not run."""
    store, project, level = (
        TrustStore(default_trust_path()),
        config.get_working_dir(),
        config.get_settings().options.trust,
    )

    def why_idle(hook: HookEntry) -> str | None:
        if not hook.enabled:
            return f"disabled by {hook.disabled_by}"
        if hook.refusal:
            return hook.refusal
        if isinstance(hook.run, Plugin):
            return plugins.plugin_fault(hook.run.reference)
        if isinstance(hook.run, Unsupported):
            return f'hooks of type "{hook.type}" can\'t be run'
        return store.why_untrusted(hook, project, level)

    return [(hook, why_idle(hook)) for hook in hooks]


def problems_of(config: Config) -> list[str]:
    """Return problems of the settings, and hooks that do not run, for programs."""
    return list(_problems(config))


def require_hooks(given: argparse.Namespace) -> None:
    """Implement `--require-hooks`: raise HooklineError if a settings file is broken or no hook is active."""
    config = read_config(given)
    settings = config.get_settings()
    broken = next((problem for problem in (*config.get_problems(), *settings.problems) if problem.is_error), None)
    if broken is not None:
        raise HooklineError(printable(f"--require-hooks: {broken}; hookline check shows all problems"))
    if not config.get_enable_hooks():
        raise HooklineError('--require-hooks: hooks are disabled; put "enableHooks": true into your settings')
    idle = [why for _, why in states_of(settings.hooks, config)]
    if not idle:
        raise HooklineError("--require-hooks: no hook is configured; hookline init writes a first one")
    if None not in idle:
        raise HooklineError(printable(f"--require-hooks: none of {plural(len(idle), 'hook')} is active: {idle[0]}"))


def _problems(config: Config) -> Iterator[str]:
    settings = config.get_settings()
    yield from dict.fromkeys(map(str, (*config.get_problems(), *settings.problems)))
    if not config.get_enable_hooks():  # which is among the problems
        return
    for hook, why in states_of(settings.hooks, config):
        if why is not None:
            yield f"the {hook.event} hook {hook.label} does not run: {why}"
