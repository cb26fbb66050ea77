"""Observes hooks: passes their activity on as events of the agent, and keeps a history of each hook."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookline.apps.agent.events import HookEnded, HooksFinished, HooksStarted, Listener, Notice
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
class HookHistory:
    """The runs of one hook in this session."""

    runs: int = 0
    failures: int = 0
    is_reported: bool = False
    """True after the user was notified of a failure."""
    is_unapplied_reported: bool = False
    """True after the user was notified that its answers are not applied."""
    last: str = ""
    """Its last decision; empty if its answers are not applied."""


class HookWatch(HookObserver):
    """Sends the activity and the decisions of hooks to the agent's listener."""

    shows_failures = True

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._histories: dict[tuple[str, str], HookHistory] = {}

    def hooks_started(self, plan: HookExecutionPlan, **_: object) -> None:
        """Report the hooks that run."""
        labels = tuple(hook.label for hook in plan.hooks)
        messages = {hook.label: hook.status_message for hook in plan.hooks if hook.status_message}
        awaited = event_table.is_awaited(plan.event, plan.hooks)
        self._listener(HooksStarted(event=plan.event.value, hooks=labels, is_awaited=awaited, messages=messages))

    def hook_ended(self, hook: HookEntry, **_: object) -> None:
        """Report a hook that has ended."""
        self._listener(HookEnded(event=hook.event.value, hook=hook.label))

    def hooks_finished(self, verdict: Verdict, **_: object) -> None:
        """Update the histories, and report the decision and the hooks that made it."""
        for run in verdict.runs:
            self._count(run, verdict.subject)
        for unapplied in verdict.unapplied:
            history = self.history_of(unapplied.hook)
            if not history.is_unapplied_reported:
                history.is_unapplied_reported = True
                self._listener(Notice(text=unapplied.message))
        self._listener(
            HooksFinished(
                event=verdict.event.value,
                subject=verdict.subject,
                blocked=verdict.blocked and verdict.denied,
                should_stop=verdict.stop,
                continues=verdict.go_on,
                reason=verdict.reason if verdict.blocked or verdict.stop or verdict.go_on else None,
                decided_by=verdict.deciders,
                effect=verdict.effect,
            )
        )
        if verdict.user_message:
            self._listener(Notice(text=verdict.user_message))

    def history_of(self, hook: HookEntry) -> HookHistory:
        """Return the history of a hook."""
        return self._histories.setdefault((hook.origin, hook.location), HookHistory())

    def _count(self, run: HookExecutionResult, subject: str | None) -> None:
        history = self.history_of(run.hook)
        history.runs += 1
        history.failures += run.failed
        # The subject of a lifecycle event is a trigger such as `startup`, which can't be allowed or blocked.
        history.last = _outcome(run, "it" if subject is None or run.event in LIFECYCLE_EVENTS else subject)
        if run.failed and not history.is_reported:
            history.is_reported = True
            self._listener(Notice(text=failure_notice(run), is_error=True))


def _outcome(run: HookExecutionResult, subject: str) -> str:
    row = event_table.EVENT_TABLE[run.event]
    if run.failed:
        return f"failed: it {show_ending(run)}"
    if row.observe_only or not run.hook.is_enforced:
        return ""
    if run.answer is not None and run.answer.stops:
        return "stopped the agent"
    if run.blocks and row.block_continues_turn:
        return "continued the turn"
    return f"blocked {subject}" if row.can_block and run.blocks else f"allowed {subject}"
