"""What every hook did in a session: for `/hooks`, and for the line that a session begins with."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hookline.agent.events import Listener
from hookline.agent.hook_watch import HookWatch
from hookline.cli.terminal.activity import AWAITED_EVENTS
from hookline.config import Config
from hookline.contract.hooks import HookEntry
from hookline.contract.results import AggregatedHookResult, HookExecutionResult
from hookline.settings.trust import TrustState, TrustStore, default_trust_path

_EXIT_DENY = 2
_DISTRUST: Mapping[TrustState, str] = {
    TrustState.TRUSTED: "",
    TrustState.NEW: "not trusted yet; look at it and run: hookline trust",
    TrustState.CHANGED: "changed since it was trusted; look at it and run: hookline trust",
}


@dataclass(slots=True)
class HookRecord:
    """What one hook did so far."""

    runs: int = 0
    failures: int = 0
    last: str = ""
    """What it decided last; empty where its answers are not applied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookLine:
    """One hook as a person is shown it."""

    name: str
    event: str
    matcher: str | None
    source: str
    state: str
    """Why it does not run, or an empty string."""
    awaits_trust: bool
    record: HookRecord = field(default_factory=HookRecord)


class HookTally(HookWatch):
    """An observer that also keeps count."""

    def __init__(self, listener: Listener) -> None:
        super().__init__(listener)
        self._records: dict[tuple[str, str], HookRecord] = {}

    def hooks_finished(self, result: AggregatedHookResult, subject: str | None) -> None:
        """Counts what each hook did, and tells what they decided together."""
        for one in result.results:
            record = self._records.setdefault(_key(one.hook), HookRecord())
            record.runs += 1
            record.failures += _has_failed(one)
            record.last = _outcome(one, subject)
        super().hooks_finished(result, subject)

    def record_of(self, hook: HookEntry) -> HookRecord:
        """What a hook did so far."""
        return self._records.get(_key(hook), HookRecord())


async def hook_lines(config: Config, tally: HookTally) -> list[HookLine] | None:
    """Every configured hook, disabled ones included; None while hooks are disabled altogether."""
    system = config.get_hook_system()
    if system is None:
        return None
    await system.initialize()
    return list(_lines(system.get_all_hooks(), config.get_working_dir(), tally))


def _lines(hooks: tuple[HookEntry, ...], project: str, tally: HookTally) -> Iterator[HookLine]:
    store = TrustStore(default_trust_path())
    for hook in hooks:
        trust = store.state_of(hook, project) if hook.needs_trust else TrustState.TRUSTED
        yield HookLine(
            name=hook.label,
            event=hook.event.value,
            matcher=hook.matcher,
            source=hook.source.value,
            state=_DISTRUST[trust] if hook.enabled else f"disabled by {hook.disabled_by}",
            awaits_trust=hook.enabled and trust is not TrustState.TRUSTED,
            record=tally.record_of(hook),
        )


def _key(hook: HookEntry) -> tuple[str, str]:
    return hook.origin, hook.location


def _has_failed(one: HookExecutionResult) -> bool:
    return not one.success and one.exit_code != _EXIT_DENY


def _outcome(one: HookExecutionResult, subject: str | None) -> str:
    from hookline.engine.event_table import EVENT_TABLE  # noqa: PLC0415 - not loaded while hooks are disabled

    about = f" {subject}" if subject else ""
    if _has_failed(one):
        ending = f"ended by signal {one.signal}" if one.signal else f"exit code {one.exit_code}"
        return f"failed: {'took too long' if one.timed_out else one.error or ending}"
    if one.event not in AWAITED_EVENTS:
        return ""
    row = EVENT_TABLE[one.event]
    output = row.output(one.output.to_dict()) if one.output is not None else None
    if output is not None and output.should_stop_execution():
        return "stopped the agent"
    if output is not None and row.can_block and output.is_blocking_decision():
        return f"blocked{about or ' it'}"
    return f"let{about or ' it'} pass"
