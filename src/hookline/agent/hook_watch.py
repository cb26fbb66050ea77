"""What hooks are doing, told as events of the agent."""

from hookline.agent.events import HookEnded, HooksFinished, HooksStarted, Listener, Note
from hookline.contract.events import HookEventName
from hookline.contract.hooks import HookEntry
from hookline.contract.outputs import DefaultHookOutput
from hookline.contract.results import AggregatedHookResult, HookExecutionPlan


class HookWatch:
    """The observer that passes on what hooks are doing and what they decided."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._failed: set[tuple[str, str]] = set()

    def hooks_started(self, plan: HookExecutionPlan, subject: str | None) -> None:  # noqa: ARG002 - the protocol's
        """Tells which hooks run."""
        self._listener(HooksStarted(event=plan.event.value, hooks=tuple(hook.label for hook in plan.hooks)))

    def hook_ended(self, hook: HookEntry) -> None:
        """Tells which one has ended."""
        self._listener(HookEnded(event=hook.event.value, hook=hook.label))

    def hooks_finished(self, result: AggregatedHookResult, subject: str | None) -> None:
        """Tells what they decided together, and whose decision it was."""
        from hookline.engine.event_table import EVENT_TABLE  # noqa: PLC0415 - not loaded while hooks are disabled
        from hookline.engine.interpret import process_common_hook_output_fields  # noqa: PLC0415 - the same

        event = _event_of(result)
        self._tell_failures(result)
        output = result.final_output
        should_stop = process_common_hook_output_fields(result).should_stop
        blocked = output is not None and EVENT_TABLE[event].can_block and output.is_blocking_decision()
        deciders = [
            one.hook.label
            for one in result.results
            if one.output is not None and _decides(EVENT_TABLE[event].output(one.output.to_dict()))
        ]
        decides = output is not None and (blocked or should_stop)
        self._listener(
            HooksFinished(
                event=event.value,
                subject=subject,
                blocked=blocked,
                should_stop=should_stop,
                reason=output.get_effective_reason() if output is not None and decides else None,
                decided_by=tuple(deciders) if decides else (),
                effect=result.effect,
            )
        )

    def _tell_failures(self, result: AggregatedHookResult) -> None:
        """Tells of each hook that fails, once: what it was to guard goes on without it."""
        from hookline.engine.exit_codes import show_ending  # noqa: PLC0415 - the same

        for one in result.results:
            place = (one.hook.origin, one.hook.location)
            is_block = one.output is not None and one.output.is_blocking_decision()
            if not one.success and not is_block and place not in self._failed:
                self._failed.add(place)
                said = f"The {one.event} hook {one.hook.label} {show_ending(one)}, so it had no effect."
                self._listener(Note(text=f"{said} hookline log --failures tells more.", is_error=True))


def _event_of(result: AggregatedHookResult) -> HookEventName:
    if result.plan is not None:
        return result.plan.event
    # The engine failed, and says in its error at which event.
    return next(HookEventName(error.details["event"]) for error in result.errors if error.details is not None)


def _decides(output: DefaultHookOutput) -> bool:
    return output.is_blocking_decision() or output.should_stop_execution()
