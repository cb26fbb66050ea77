"""Run every check of `hookline doctor`."""

from collections.abc import Callable, Coroutine, Iterator, Mapping
from pathlib import Path
from typing import Any

from hookline.client.config import Config
from hookline.errors import HooklineError
from hookline.inspect.doctor.diagnostic import Diagnostic, ok
from hookline.inspect.doctor.fleet_checks import fleet_checks
from hookline.inspect.doctor.settings_checks import hook_checks, settings_checks
from hookline.inspect.doctor.system_checks import bridge_checks, canary_check, framework_checks, system_checks
from hookline.inspect.hooks import evidence_of, key_of, read_statistics, recorded_in
from hookline.inspect.proof.coverage import agent_words, show_evidence_words
from hookline.inspect.view import Setup, read_setup
from hookline.log.read.entry import LogQuery
from hookline.log.read.statistics import RUNS, HookStatistics


def diagnose(config: Config, run_loop: Callable[[Coroutine[Any, Any, Any]], Any]) -> list[Diagnostic]:
    """Check everything that decides whether hooks run here, and fire a test hook; `run_loop` runs what is async."""
    setup = read_setup(config)
    return [
        *settings_checks(config, setup),
        *system_checks(setup),
        *hook_checks(setup),
        *run_loop(fleet_checks(setup)),
        *bridge_checks(setup),
        *_evidence(config, setup),
        *framework_checks(),
        run_loop(canary_check(config)),
    ]


def _evidence(config: Config, setup: Setup) -> Iterator[Diagnostic]:
    """For each agent and each hook: configured, observed, enforced, with the date of the last evidence."""
    try:
        statistics = read_statistics(recorded_in(config), LogQuery(kinds=RUNS))
    except HooklineError as error:
        # The check of the log reports the problem.
        yield ok("evidence", f"none, because the log can't be read: {error}")
        return
    for row in agent_words(Path(setup.project_dir), statistics, hooks_enabled=setup.is_enabled):
        yield ok("evidence", f"{row['name']}: {show_evidence_words(row)}", _three(row))
    for hook in (hook for hook in setup.hooks if hook.enabled):
        seen = evidence_of(statistics.hooks.get(key_of(hook)) or HookStatistics())
        words = {"configured": setup.is_enabled and setup.why_untrusted(hook) is None, **seen}
        # It is in the settings, so "not configured" would mislead.
        shown = show_evidence_words(words, "does not run now")
        yield ok("evidence", f"{hook.label} ({hook.event}): {shown}", words)


def _three(row: Mapping[str, Any]) -> dict[str, Any]:
    return {word: row[word] for word in ("configured", "observed", "enforced")}
