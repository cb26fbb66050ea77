"""What every hook did in a session: for `/hooks`, and for the line that a session begins with."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hookline.agent.events import Listener
from hookline.agent.hook_watch import HookWatch
from hookline.config import Config
from hookline.contract.hooks import HookEntry
from hookline.contract.verdict import HookExecutionResult, Verdict
from hookline.settings.trust import TrustState, TrustStore, default_trust_path

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

    def hooks_finished(self, verdict: Verdict) -> None:
        """Counts what each hook did, and passes on what they decided together."""
        for run in verdict.runs:
            record = self._records.setdefault(_key(run.hook), HookRecord())
            record.runs += 1
            record.failures += run.failed
            record.last = _outcome(run, verdict.subject)
        super().hooks_finished(verdict)

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


def _outcome(run: HookExecutionResult, subject: str | None) -> str:
    from hookline.engine.event_table import EVENT_TABLE  # noqa: PLC0415 - not loaded while hooks are disabled

    row = EVENT_TABLE[run.event]
    about = subject or "it"
    if run.failed:
        ending = f"ended by signal {run.signal}" if run.signal else f"exit code {run.exit_code}"
        return f"failed: {'took too long' if run.timed_out else run.error or ending}"
    if row.only_watches:
        return ""
    if run.answer is not None and run.answer.stops:
        return "stopped the agent"
    return f"blocked {about}" if row.can_block and run.blocks else f"let {about} pass"
