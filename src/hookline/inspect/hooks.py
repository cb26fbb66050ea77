"""The configured hooks and what is known about them: their place, state and order, and their runs in the log."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from hookline.client.config import Config
from hookline.errors import HooklineError
from hookline.extensions import lazy_module
from hookline.inspect.lint.programs import run_fault
from hookline.inspect.view import Setup, read_setup
from hookline.log.paths import log_path
from hookline.log.read.entry import LogQuery
from hookline.log.read.reader import LogReader
from hookline.log.read.statistics import RUNS, HookKey, HookStatistics, Statistics
from hookline.protocol.constants import ConfigSource
from hookline.protocol.hook_entry import HookEntry

if TYPE_CHECKING:
    from hookline.inspect.lint import matchers
else:
    matchers = lazy_module("hookline.inspect.lint.matchers")

_STATES = {"trusted": "on", "new": "untrusted", "changed": "changed", "refused": "refused"}


class KnownHooks(NamedTuple):
    """The facts about hooks, as JSON."""

    hooks: list[dict[str, Any]]
    functions: list[dict[str, Any]]
    statistics: Statistics
    """The numbers of the log, from which the others are."""
    problems: tuple[str, ...]
    """Messages about a trust store or a log that can't be read."""


def known_hooks(config: Config) -> KnownHooks:
    """Return every configured hook as JSON, by event, whether or not hooks are enabled; and the functions of programs.

    Functions are not in a settings file, so only those in the log are known.

    The state is on, off because hooks are not enabled at all, disabled, untrusted, changed, refused by strict trust, or
    duplicate when another hook with the same command always runs instead. The order is sequential, parallel, or either
    when that depends on the tool.
    """
    setup = read_setup(config)
    trust = trust_states(setup)
    states = dict(_states(setup, trust))
    needs_trust = any(hook.needs_trust for hook in setup.hooks)
    problems = [setup.trust.problem_in(setup.project_dir) if needs_trust else None]
    statistics = Statistics()
    try:
        statistics = read_statistics(recorded_in(config), LogQuery(kinds=RUNS))
    except HooklineError as error:  # the hooks can be listed all the same
        problems.append(str(error))
    summary: Mapping[HookKey, HookStatistics] = statistics.hooks
    functions = [
        {"event": event, "hook": label, "function": origin, **_numbers(numbers)}
        for (event, label, origin), numbers in summary.items()
        if numbers.source == ConfigSource.PROGRAM
    ]
    hooks = [
        _known(setup, hook, trust[id(hook)], summary.get(key_of(hook)) or HookStatistics(), states[id(hook)])
        for hook in setup.hooks
    ]
    return KnownHooks(hooks, functions, statistics, tuple(filter(None, problems)))


def trust_states(setup: Setup) -> dict[int, str]:
    """The trust of each hook, by `id(hook)`: trusted (or not in need of trust), new or changed.

    A hook that is trusted and that strict trust does not run is refused.
    """
    return {id(hook): _trust_state(setup, hook) for hook in setup.hooks}


def trusted_only(setup: Setup, trust: Mapping[int, str] | None = None) -> Setup:
    """The setup without the hooks that are not trusted, whose matchers and scripts are not even looked at."""
    states = trust_states(setup) if trust is None else trust
    return replace(setup, hooks=tuple(hook for hook in setup.hooks if states[id(hook)] == "trusted"))


def _trust_state(setup: Setup, hook: HookEntry) -> str:
    if not hook.needs_trust:
        return "trusted"
    state = setup.trust.state_of(hook, setup.project_dir).value
    return "refused" if state == "trusted" and setup.why_refused(hook) else state


def key_of(hook: HookEntry) -> HookKey:
    """How the log identifies a hook."""
    return (hook.event.value, hook.label, hook.origin)


def recorded_in(config: Config) -> Path:
    """The log file that the settings name."""
    return log_path(config.get_settings().options.log.path)


def read_statistics(log: Path, query: LogQuery) -> Statistics:
    """The numbers of a log."""
    with LogReader(log) as reader:
        return reader.statistics(query)


def _known(
    setup: Setup, hook: HookEntry, trust: str, statistics: HookStatistics, state: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "event": hook.event.value,
        **setup.describe(hook),
        "description": hook.description,
        "enabled": hook.enabled,
        "disabledBy": hook.disabled_by,
        "needsTrust": hook.needs_trust,
        "trust": trust,
        "trusted": trust == "trusted",
        "uncovered": setup.uncovered(hook) if trust in ("trusted", "refused") else (),
        "problem": run_fault(hook, setup) if hook.enabled else None,
        "onError": hook.on_error.value,
        "budget": hook.budget_ms,
        **_numbers(statistics),
        **state,
        "words": {"configured": state["state"] == "on", **evidence_of(statistics)},
    }


def _numbers(statistics: HookStatistics) -> dict[str, Any]:
    return {
        "lastRun": statistics.last_run,
        "runs": statistics.runs,
        "ways": statistics.ways,
        "failures": statistics.failures,
        "median": statistics.durations.quantile(0.5),
        "p95": statistics.durations.quantile(0.95),
    }


def evidence_of(statistics: HookStatistics) -> dict[str, Any]:
    """When a hook last ran for an agent, when it last denied it something, and which agent that was.

    Events of `hookline fire` and similar commands are not evidence. All evidence comes from here.
    """
    return {
        "observed": statistics.observed,
        "observedBy": statistics.observed_by,
        "enforced": statistics.enforced,
        "enforcedBy": statistics.enforced_by,
    }


def _states(setup: Setup, trust: Mapping[int, str]) -> Iterator[tuple[int, dict[str, str]]]:
    """The state and the order of each hook, from the plans for everything that its event may be about."""
    trusted = trusted_only(setup, trust)
    for event, hooks in groupby(setup.hooks, key=lambda hook: hook.event):
        plans = matchers.plans_of(event, trusted)
        never_run = {matchers.place_of(skip.hook) for skip in matchers.duplicates(plans)}
        orders: defaultdict[tuple[str, str], set[bool]] = defaultdict(set)
        for plan in plans:
            for planned in plan.hooks:
                orders[matchers.place_of(planned)].add(plan.sequential)
        for hook in hooks:
            # A hook that is in no plan has the order that all plans have in common.
            found = orders.get(matchers.place_of(hook)) or {all(plan.sequential for plan in plans)}
            order = "sequential" if hook.sequential or found == {True} else "either" if True in found else "parallel"
            is_duplicate = matchers.place_of(hook) in never_run
            state = "disabled" if not hook.enabled else "duplicate" if is_duplicate else _STATES[trust[id(hook)]]
            if state == "on" and not setup.is_enabled:
                state = "off"
            yield id(hook), {"state": state, "order": order}
