"""Decisions about hooks that only a user may make, at a terminal and not through a hook; the log records each."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hookline.errors import HooklineError
from hookline.extensions import lazy_module
from hookline.inspect.view import Setup
from hookline.log.consent import consent_record
from hookline.log.redact.redactor import Redactor
from hookline.protocol.constants import ConfigSource
from hookline.protocol.records import Consent
from hookline.runners.process.own_process import started_by_hookline

if TYPE_CHECKING:
    from hookline.engine import system
else:
    system = lazy_module("hookline.engine.system")

_COMMANDS = {
    Consent.TRUSTED: "hookline trust",
    Consent.UNTRUSTED: "hookline trust --revoke",
    Consent.ENABLED: "hookline enable",
    Consent.DISABLED: "hookline disable",
    Consent.IMPORTED: "hookline init --from",
}


def require_person(action: Consent) -> None:
    """Raise HooklineError if a hook or the agent runs this command: they can't decide which hooks run."""
    if sign := started_by_hookline():
        raise HooklineError(
            f"nothing was changed: hookline itself started this command ({sign}), and only you decide which hooks run; "
            f"run {_COMMANDS[action]} in your own shell"
        )


def log_consent(action: Consent, setup: Setup, decided: Sequence[Mapping[str, Any]], via: str | None = None) -> None:
    """Write a record for each hook that was decided about, given by the fields of its record.

    `via` is the command that was used, where it is not the usual one.
    """
    redactor = Redactor(setup.options.redact, setup.environ)
    # A hook without a name is named by its command, which may contain a secret from its `env`.
    for hook in setup.hooks:
        redactor.learn(hook.env)
    for sink in system.file_sinks(setup.options, redactor):
        for about in decided:
            project = None if _is_shared(setup, about) else os.path.realpath(setup.project_dir)
            sink.write(consent_record(action, via=via or _COMMANDS[action], project=project, **about))
        sink.close()


def _is_shared(setup: Setup, about: Mapping[str, Any]) -> bool:
    """Whether the hook is one of every project, so that the log of each has to show what was decided about it."""
    sources = {layer.origin: layer.source for layer in setup.layers}
    return (about.get("source") or sources.get(about.get("origin", ""))) in (ConfigSource.USER, ConfigSource.SYSTEM)
