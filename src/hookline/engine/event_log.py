"""What the log says about events: one record per hook, one per event, and one for every hook that did not run."""

import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from hookline.contract.hooks import HookEntry
from hookline.contract.results import (
    AggregatedHookResult,
    HookExecutionPlan,
    HookExecutionResult,
    ProcessedHookResult,
    SkippedHook,
)
from hookline.engine.aggregator import overridden
from hookline.engine.event_table import EVENT_TABLE, ONLY_WATCHES
from hookline.engine.exit_codes import EXIT_CODE_BLOCKING_ERROR, show_ending
from hookline.engine.interpret import process_common_hook_output_fields
from hookline.log import HookLogger

# A thousand hooks that do not match are the ordinary course of things, and worth one record.
_TOLD_ONE_BY_ONE = 20


class EventLog:
    """Writes the records of fired events."""

    def __init__(self, log: HookLogger, session: Callable[[], str]) -> None:
        self._log = log
        self._session = session

    def planned(self, plan: HookExecutionPlan) -> None:
        """Says of each hook that is not going to run why, and which ones run for want of certainty."""
        few = len(plan.unmatched) <= _TOLD_ONE_BY_ONE
        for skip in plan.skipped if few else plan.held_back:
            say = self._log.warn if skip.reason.startswith("untrusted") else self._log.debug
            say(f"{plan.event}: {skip.hook.label} is not run: {skip.reason}", kind="skip", **self._about(skip))
        if not few:
            self._log.debug(
                f"{plan.event}: {len(plan.unmatched)} hooks do not match {plan.subject!r}",
                kind="skip",
                session=self._session(),
                event=plan.event.value,
                subject=plan.subject,
                reason=f"matcher: does not match {plan.subject!r}",
                hooks=[hook.label for hook in plan.unmatched],
            )
        for hook in plan.undecided:
            self._log.warn(
                f"{plan.event}: {hook.label} runs, though it can't be told in time whether its matcher {hook.matcher!r}"
                f" matches {plan.subject!r}; in {hook.origin}: {hook.location} write a pattern that does not repeat"
                " what is repeated already",
                kind="settings",
                session=self._session(),
                event=plan.event.value,
                subject=plan.subject,
                **_who(hook),
            )

    def fired(self, result: AggregatedHookResult, fire_id: str, subject: str | None) -> None:
        """Says what every hook did, what came of all of them together, and what their authors should know."""
        if result.plan is not None:
            advise = EVENT_TABLE[result.plan.event].advise
            fired = _Fired(
                plan=result.plan,
                result=result,
                # What the caller may go on to change is read now.
                changed=tuple(result.effect) if result.effect else (),
                advice=[advise(one.output) if one.output else [] for one in result.results],
                fire_id=fire_id,
                session=self._session(),
                subject=subject,
            )
            self._log.later(fired, len(result.results) + 1)

    def cancelled(self, plan: HookExecutionPlan | None, subject: str | None) -> None:
        """Says that whoever fired the event did not wait for its hooks, which were ended."""
        if plan is None:
            return
        self._log.info(
            f"{plan.event}{f' {subject}' if subject else ''}: cancelled while its hooks ran, so they were ended",
            kind="cancel",
            session=self._session_if_known(),
            event=plan.event.value,
            subject=subject,
            hooks=[hook.label for hook in plan.hooks],
        )

    def failed(self, message: str, **fields: Any) -> None:
        """Says that the engine itself failed, which never stops the agent."""
        self._log.warn(message, kind="fault", session=self._session_if_known(), **fields)

    def _session_if_known(self) -> str | None:
        # What failed may be the session itself.
        with suppress(Exception):
            return self._session()
        return None

    def _about(self, skip: SkippedHook) -> dict[str, Any]:
        return {
            "session": self._session(),
            "event": skip.hook.event.value,
            "reason": skip.reason,
            **_who(skip.hook),
        }


class _Fired(msgspec.Struct, frozen=True, kw_only=True):
    """An event that is over, and what the log has to say of it."""

    plan: HookExecutionPlan
    result: AggregatedHookResult
    changed: tuple[str, ...]
    """The names of what the caller goes on with in another form."""
    advice: list[list[str]]
    """For each hook."""
    fire_id: str
    session: str
    subject: str | None

    def __call__(self, log: HookLogger) -> None:
        event = self.plan.event
        common = {"fire": self.fire_id, "session": self.session, "event": event.value, "subject": self.subject}
        try:
            self._tell(log, common)
        except Exception as error:  # noqa: BLE001 - a fault of ours is told like every other, and costs no other record
            log.warn(
                f"{event}: hookline failed while logging ({type(error).__name__}), so the log lacks what its hooks did;"
                " please report this",
                kind="fault",
                stage="logging",
                traceback="".join(traceback.format_exception(error)),
                **common,
            )

    def _tell(self, log: HookLogger, common: Mapping[str, Any]) -> None:
        event, results = self.plan.event, self.result.results
        for index, result in enumerate(results):
            _tell_hook(log, result, self.advice[index], {"id": f"{self.fire_id}-{index}", **common})
        for hook in self.plan.hooks[len(results) :]:
            reason = f"chain stopped: {results[-1].hook.label} blocked"
            text = f"{event}: {hook.label} is not run: {reason}"
            log.info(text, kind="skip", reason=reason, **common, **_who(hook))
        self._tell_event(log, common)
        if EVENT_TABLE[event].replaces_fields:
            for said in overridden(results):
                log.warn(f"{event}: {said}: on this event the later hook wins", kind="override", **common)
        if not EVENT_TABLE[event].can_block:
            for result in results:
                _advise_of_useless_block(log, result, common)

    def _tell_event(self, log: HookLogger, common: Mapping[str, Any]) -> None:
        result, processed = self.result, process_common_hook_output_fields(self.result)
        count = len(result.results)
        good = sum(hook_result.success for hook_result in result.results)
        log.debug(
            f"{self.plan.event}{f' {self.subject}' if self.subject else ''}: {self._verdict(processed)}"
            f" ({_health(result)}, {result.total_duration:.1f} ms)",
            kind="event",
            **common,
            hooks=count,
            succeeded=good,
            failed=count - good,
            duration=round(result.total_duration, 3),
            success=result.success,
            blocked=_blocks(result),
            stop=processed.should_stop,
            stopReason=processed.stop_reason,
            systemMessage=processed.system_message,
            suppressOutput=processed.suppress_output,
        )

    def _verdict(self, processed: ProcessedHookResult) -> str:
        """What comes of the event, in a few words."""
        if EVENT_TABLE[self.plan.event].only_watches:
            return "goes on"
        if processed.should_stop:
            return f"stops the agent: {processed.stop_reason}"
        if _blocks(self.result) and self.result.final_output is not None:
            return f"blocked: {self.result.final_output.get_effective_reason()}"
        return f"goes on with another {', '.join(self.changed)}" if self.changed else "goes on"


def _tell_hook(log: HookLogger, result: HookExecutionResult, advice: list[str], common: Mapping[str, Any]) -> None:
    fields = {
        **common,
        **_who(result.hook),
        "duration": round(result.duration_ms, 3),
        "success": result.success,
        "exitCode": result.exit_code,
        "signal": result.signal,
        "timedOut": result.timed_out,
        "truncated": result.truncated,
        "decision": _decision(result),
        # What every hook gets added is in its stdin as well; this is its own.
        **({"env": dict(result.hook.env)} if result.hook.env else {}),
        "stdin": result.stdin,
        "stdout": result.stdout,
        "stderr": result.stderr,
        "error": result.error,
    }
    text = f"{result.event}: {result.hook.label} {show_ending(result)}"
    if result.success:
        log.debug(text, kind="hook", **fields)
    elif _denies(result):
        log.info(f"{text}: deny", kind="hook", **fields)
    else:
        place = f"({result.hook.origin}: {result.hook.location})"
        denies = result.output is not None and result.output.is_blocking_decision()
        meaning = "its onError is block" if denies else "the operation goes on without it"
        log.warn(f"{text} {place}; {meaning}", kind="hook", **fields)
    for complaint in (*result.complaints, *advice):
        log.warn(f"{result.event}: {result.hook.label}: {complaint}", kind="advice", **common, **_who(result.hook))


def _advise_of_useless_block(log: HookLogger, result: HookExecutionResult, common: Mapping[str, Any]) -> None:
    if result.output is not None and result.output.is_blocking_decision():
        instead = 'to end the session answer {"continue": false}'
        if EVENT_TABLE[result.event].only_watches:
            instead = ONLY_WATCHES
        log.warn(
            f"{result.event}: {result.hook.label} blocks, but {result.event} cannot block anything; {instead}",
            kind="advice",
            **common,
            **_who(result.hook),
        )


def _health(result: AggregatedHookResult) -> str:
    """How many hooks there were, and how they ended."""
    denied = sum(_denies(hook_result) for hook_result in result.results)
    good = sum(hook_result.success for hook_result in result.results)
    failed = len(result.results) - good - denied
    counts = {"succeeded": good, "denied": denied, "failed": failed}
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count)


def _denies(result: HookExecutionResult) -> bool:
    return result.exit_code == EXIT_CODE_BLOCKING_ERROR and result.error is None


def _decision(result: HookExecutionResult) -> str | None:
    """What the hook decided, also where it said so in the event's own field."""
    output = result.output
    if output is None:
        return None
    is_block = output.read_as(EVENT_TABLE[result.event].output).is_blocking_decision()
    return "deny" if is_block and not output.is_blocking_decision() else output.decision


def _blocks(result: AggregatedHookResult) -> bool:
    can_block = result.plan is not None and EVENT_TABLE[result.plan.event].can_block
    return can_block and result.final_output is not None and result.final_output.is_blocking_decision()


def _who(hook: HookEntry) -> dict[str, Any]:
    return {
        "hook": hook.label,
        "type": hook.type.value,
        "command": hook.command,
        "source": hook.source.value,
        "origin": hook.origin,
        "location": hook.location,
    }
