"""What hooks are doing, as events of the agent."""

from hookline.agent.events import HookEnded, HooksFinished, HooksStarted, Listener, Note
from hookline.contract.hooks import HookEntry
from hookline.contract.verdict import HookExecutionPlan, Verdict


class HookWatch:
    """The observer that passes on what hooks are doing and what they decided."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._failed: set[tuple[str, str]] = set()

    def hooks_started(self, plan: HookExecutionPlan) -> None:
        """Passes on which hooks run."""
        self._listener(HooksStarted(event=plan.event.value, hooks=tuple(hook.label for hook in plan.hooks)))

    def hook_ended(self, hook: HookEntry) -> None:
        """Passes on which one has ended."""
        self._listener(HookEnded(event=hook.event.value, hook=hook.label))

    def hooks_finished(self, verdict: Verdict) -> None:
        """Passes on what they decided together, and which of them decided it."""
        self._report_failures(verdict)
        decides = verdict.blocked or verdict.stop
        self._listener(
            HooksFinished(
                event=verdict.event.value,
                subject=verdict.subject,
                blocked=verdict.blocked and verdict.denied,
                should_stop=verdict.stop,
                reason=verdict.reason if decides else None,
                decided_by=verdict.deciders,
                effect=verdict.effect,
            )
        )

    def _report_failures(self, verdict: Verdict) -> None:
        """Reports each hook that fails, once: what it was to guard goes on without it."""
        from hookline.contract.endings import show_ending  # noqa: PLC0415 - not loaded while hooks are disabled

        for run in verdict.runs:
            place = (run.hook.origin, run.hook.location)
            if run.failed and not run.blocks and place not in self._failed:
                self._failed.add(place)
                text = f"The {run.event} hook {run.hook.label} {show_ending(run)}, so it had no effect."
                self._listener(Note(text=f"{text} hookline log --failures tells more.", is_error=True))
