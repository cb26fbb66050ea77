"""What hooks are doing, as events of the agent, and what each of them did so far."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookline.apps.agent.events import HookEnded, HooksFinished, HooksStarted, Listener, Note
from hookline.extensions import lazy_module
from hookline.protocol.events import LIFECYCLE_EVENTS
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.observer import HookObserver
from hookline.protocol.text.exit_text import failure_notice, show_ending
from hookline.protocol.verdict import HookExecutionPlan, HookExecutionResult, Verdict

if TYPE_CHECKING:
    from hookline.engine import event_table
else:
    event_table = lazy_module("hookline.engine.event_table")


@dataclass(slots=True)
class HookRecord:
    """What one hook did so far."""

    runs: int = 0
    failures: int = 0
    is_reported: bool = False
    """True when the user was told that it fails."""
    is_unapplied_reported: bool = False
    """True when the user was told that its answers are not applied."""
    last: str = ""
    """What it decided last; empty where its answers are not applied."""


class HookWatch(HookObserver):
    """The observer that passes on what hooks are doing and what they decided."""

    shows_failures = True

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._records: dict[tuple[str, str], HookRecord] = {}

    def hooks_started(self, plan: HookExecutionPlan, **_: object) -> None:
        """Passes on which hooks run."""
        labels = tuple(hook.label for hook in plan.hooks)
        messages = {hook.label: hook.status_message for hook in plan.hooks if hook.status_message}
        awaited = event_table.is_awaited(plan.event, plan.hooks)
        self._listener(HooksStarted(event=plan.event.value, hooks=labels, is_awaited=awaited, messages=messages))

    def hook_ended(self, hook: HookEntry, **_: object) -> None:
        """Passes on which one has ended."""
        self._listener(HookEnded(event=hook.event.value, hook=hook.label))

    def hooks_finished(self, verdict: Verdict, **_: object) -> None:
        """Counts what each hook did, and passes on what they decided together and which of them decided it."""
        for run in verdict.runs:
            self._count(run, verdict.subject)
        for unapplied in verdict.unapplied:
            record = self.record_of(unapplied.hook)
            if not record.is_unapplied_reported:
                record.is_unapplied_reported = True
                self._listener(Note(text=unapplied.message))
        self._listener(
            HooksFinished(
                event=verdict.event.value,
                subject=verdict.subject,
                blocked=verdict.blocked and verdict.denied,
                should_stop=verdict.stop,
                goes_on=verdict.go_on,
                reason=verdict.reason if verdict.blocked or verdict.stop or verdict.go_on else None,
                decided_by=verdict.deciders,
                effect=verdict.effect,
            )
        )
        if verdict.user_message:
            self._listener(Note(text=verdict.user_message))

    def record_of(self, hook: HookEntry) -> HookRecord:
        """What a hook did so far."""
        return self._records.setdefault((hook.origin, hook.location), HookRecord())

    def _count(self, run: HookExecutionResult, subject: str | None) -> None:
        record = self.record_of(run.hook)
        record.runs += 1
        record.failures += run.failed
        # A trigger, such as `startup`, is nothing that is let pass.
        record.last = _outcome(run, "it" if subject is None or run.event in LIFECYCLE_EVENTS else subject)
        if run.failed and not record.is_reported:
            # What the hook was to guard goes on without it, or nothing does until it is mended.
            record.is_reported = True
            self._listener(Note(text=failure_notice(run), is_error=True))


def _outcome(run: HookExecutionResult, subject: str) -> str:
    row = event_table.EVENT_TABLE[run.event]
    if run.failed:
        return f"failed: it {show_ending(run)}"
    if row.observe_only or not run.hook.is_enforced:
        return ""
    if run.answer is not None and run.answer.stops:
        return "stopped the agent"
    if run.blocks and row.block_continues_turn:
        return "made the agent go on"
    return f"blocked {subject}" if row.can_block and run.blocks else f"let {subject} pass"
