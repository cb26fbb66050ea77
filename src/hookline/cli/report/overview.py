"""The configured hooks with all that is known of them: their place, whether they are trusted, what the log says."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hookline.cli.lint.setup import Setup, read_setup
from hookline.cli.report.plans import Plans
from hookline.config import Config
from hookline.contract.hooks import HookEntry
from hookline.contract.verdict import describe_hook
from hookline.errors import HooklineError
from hookline.log.paths import log_path
from hookline.log.reader import LogQuery, LogReader
from hookline.log.statistics import RUNS, HookKey, HookStatistics, summarize
from hookline.settings.jsonc import position_of
from hookline.settings.trust import TrustState, TrustStore, default_trust_path


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownHook:
    """One configured hook, and what is known of it."""

    hook: HookEntry
    file: str
    line: int | None
    trust: TrustState
    is_duplicate: bool
    """True when another hook with the same command always runs in its place."""
    order: str
    """How it runs together with others: sequential, parallel, or either when that depends on the tool."""
    statistics: HookStatistics

    @property
    def state(self) -> str:
        """Whether it runs, in a word: on, disabled, untrusted, changed, duplicate."""
        if not self.hook.enabled:
            return "disabled"
        if self.is_duplicate:
            return "duplicate"
        return {TrustState.TRUSTED: "on", TrustState.NEW: "untrusted", TrustState.CHANGED: "changed"}[self.trust]

    def to_dict(self) -> dict[str, Any]:
        """The hook as JSON."""
        durations = self.statistics.durations
        return {
            "event": self.hook.event.value,
            "hook": self.hook.label,
            **describe_hook(self.hook),
            "description": self.hook.description,
            "file": self.file,
            "line": self.line,
            "state": self.state,
            "order": self.order,
            "enabled": self.hook.enabled,
            "disabledBy": self.hook.disabled_by,
            "needsTrust": self.hook.needs_trust,
            "trust": self.trust.value,
            "trusted": self.trust is TrustState.TRUSTED,
            "onError": self.hook.on_error.value,
            "budget": self.hook.budget_ms,
            "lastRun": self.statistics.last_run,
            "runs": self.statistics.runs,
            "failures": self.statistics.failures,
            "median": durations.quantile(0.5),
            "p95": durations.quantile(0.95),
        }


def known_hooks(config: Config) -> tuple[KnownHook, ...]:
    """Every configured hook, by event, whether or not hooks are enabled."""
    setup = read_setup(config)
    store = TrustStore(default_trust_path())
    # Once for each, because scripts are read for it.
    trust = {id(hook): trust_of(hook, setup.project_dir, store) for hook in setup.hooks}
    plans = Plans(setup, lambda hook: trust[id(hook)] is TrustState.TRUSTED)
    summary: Mapping[HookKey, HookStatistics] = {}
    try:
        summary = read_summary(config, LogQuery(kinds=RUNS))
    except HooklineError as error:  # which is no reason not to name the hooks
        print(f"hookline: {error}", file=sys.stderr)
    return tuple(_known(hook, setup, trust[id(hook)], plans, summary) for hook in setup.hooks)


def place_of(setup: Setup, hook: HookEntry) -> tuple[str, int | None]:
    """The file that configures a hook, and the line where it stands there."""
    layer, path = setup.place(hook)
    position = position_of(layer.text, path) if layer.text is not None else None
    return layer.origin, position and position[0]


def trust_of(hook: HookEntry, project_dir: str, store: TrustStore) -> TrustState:
    """What was said about a hook; one that needs no trust counts as trusted."""
    return store.state_of(hook, project_dir) if hook.needs_trust else TrustState.TRUSTED


def key_of(hook: HookEntry) -> HookKey:
    """How the log calls a hook."""
    return (hook.event.value, hook.label, hook.origin)


def recorded_in(config: Config) -> Path:
    """The file that the settings have hook runs recorded in."""
    return log_path(config.get_settings().options.log.path)


def read_summary(config: Config, query: LogQuery) -> Mapping[HookKey, HookStatistics]:
    """What the log says of every hook."""
    with LogReader(recorded_in(config)) as reader:
        return summarize(reader.entries(query))


def _known(
    hook: HookEntry, setup: Setup, trust: TrustState, plans: Plans, summary: Mapping[HookKey, HookStatistics]
) -> KnownHook:
    file, line = place_of(setup, hook)
    return KnownHook(
        hook=hook,
        file=file,
        line=line,
        trust=trust,
        is_duplicate=plans.is_duplicate(hook),
        order=plans.order_of(hook),
        statistics=summary.get(key_of(hook)) or HookStatistics(),
    )
