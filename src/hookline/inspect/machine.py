"""The facts in this machine's heartbeat, from the code of `hookline list` and `hookline doctor --prove`."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from hookline.client.config import Config
from hookline.dialects.transcripts.find import OWN
from hookline.engine.system import policy_version
from hookline.fleet.health.heartbeat import (
    MOST_HOOKS,
    BridgeStatus,
    CanaryResult,
    Facts,
    HookStatus,
    short,
    try_canaries,
)
from hookline.fleet.service import DedupedNotifier, Service
from hookline.inspect.hooks import known_hooks
from hookline.inspect.proof.coverage import agent_words
from hookline.log.paths import log_path

_MOST_PROBLEMS = 10
_CHANGED = "settings: hooksConfig.fleet or the log was changed after the service was started; restart it"


def machine_service(tell: Callable[[str], None]) -> Service | None:
    """The service of this user's log, if the settings name a server."""
    config = _config()
    options = config.get_settings().options
    if options.fleet is None or not options.fleet.servers:
        return None
    fleet, said = options.fleet, DedupedNotifier(tell)

    def canary() -> CanaryResult:
        return try_canaries(Path(config.get_working_dir()), fleet.canaries)

    def facts() -> Facts:
        found, now = read_facts(), _config().get_settings().options
        if (now.fleet, now.log) == (fleet, options.log):
            return found
        said(_CHANGED)
        return msgspec.structs.replace(found, problems=(_CHANGED, *found.problems))

    return Service(log_path(options.log.path), fleet, facts=facts, canary=canary, notify=tell)


def read_facts() -> Facts:
    """Read the facts from the settings and the log."""
    config = _config()
    settings = config.get_settings()
    found, _, statistics, problems = known_hooks(config)
    of_files = (problem for problem in config.get_problems() if problem.is_error)
    errors = (*of_files, *config.get_hook_errors())
    words = agent_words(Path(config.get_working_dir()), statistics, hooks_enabled=config.get_enable_hooks())
    return Facts(
        enabled=config.get_enable_hooks(),
        logged=settings.options.log.enabled,
        policy=policy_version(settings),
        policy_problem=None if settings.policy is None else short("; ".join(settings.policy.warnings)) or None,
        hooks=tuple(sorted(map(_hook, found), key=lambda hook: not hook.is_missing)[:MOST_HOOKS]),
        more_hooks=max(0, len(found) - MOST_HOOKS),
        bridges=tuple(_bridge(row) for row in words if row["agent"] != OWN),
        problems=(
            *(short(problem) or "" for problem in problems),
            *(short(f"settings: {problem}") or "" for problem in errors[:_MOST_PROBLEMS]),
        ),
    )


def _config() -> Config:
    """The settings of this user and of the system; a service has no project."""
    return Config(os.path.expanduser("~"), quiet=True, log_file=False)


def _hook(hook: Mapping[str, Any]) -> HookStatus:
    return HookStatus(
        event=hook["event"],
        name=short(hook["hook"]) or "",
        source=hook["source"],
        state=hook["state"],
        problem=short(hook["problem"]),
        last_run=hook["words"]["observed"],
        last_block=hook["words"]["enforced"],
        required=bool(hook.get("required")),
    )


def _bridge(row: Mapping[str, Any]) -> BridgeStatus:
    return BridgeStatus(
        agent=row["agent"],
        configured=row["configured"],
        observed=row["observed"],
        enforced=row["enforced"],
        problem=short(row["problem"]),
    )
