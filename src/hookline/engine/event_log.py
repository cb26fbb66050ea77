"""Logs events: a record per run and per event, and one for every hook that did not run."""

import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from hookline.engine.event_table import can_block
from hookline.engine.notices.failed_hooks import FailureNotice
from hookline.errors import FormatError
from hookline.log.write.logger import HookLogger, UnmatchedCounter
from hookline.protocol.answers import or_none
from hookline.protocol.constants import CANARY_AGENT, FiredBy, HookMode
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.records import (
    AdviceRecord,
    CancelRecord,
    EventRecord,
    FaultRecord,
    HookRecord,
    LogLevel,
    LogRecord,
    OverrideRecord,
    SkipRecord,
    StartRecord,
    WorkerRecord,
    about,
    hook_place,
)
from hookline.protocol.text.call_summary import call_of
from hookline.protocol.text.exit_text import show_ending, telling_line
from hookline.protocol.text.json_text import utc_timestamp
from hookline.protocol.text.near_misses import MENTIONS_A_DENIAL
from hookline.protocol.text.outcome_words import (
    EventOutcome,
    HookResult,
    count_results,
    decider_of,
    outcome_of,
    run_result,
    show_outcome,
    would_of,
)
from hookline.protocol.text.strings import shortened
from hookline.protocol.verdict import HookExecutionPlan, HookExecutionResult, Skip, SkipKind, Verdict, would_have
from hookline.runners.context import current_session
from hookline.stderr import warn_user

# With a thousand hooks, most do not match most tools, and that is worth one record.
_LISTED_ONE_BY_ONE = 20

_CANARY_SESSION = f"{CANARY_AGENT}-"

DigestOf = Callable[[HookEntry], str | None]


class EventLog:
    """Writes the records of fired events."""

    def __init__(
        self,
        log: HookLogger,
        session: str,
        agent: str | None = None,
        fired_by: FiredBy = FiredBy.PROGRAM,
    ) -> None:
        self._log = log
        self._agent = agent
        self._fired_by = fired_by
        self._session = session
        self._unmatched = UnmatchedCounter()
        self._policy: int | None = None
        self._digest_of: DigestOf | None = None
        self._reported: set[str] = set()
        self.failures = FailureNotice(agent)
        """Shows the user which hooks failed."""

    def use(self, policy: int | None, digest_of: DigestOf | None) -> None:
        """Set the version of the company's policy, and what makes the fingerprint of a hook that has run.

        `digest_of` is called in the log's thread.
        """
        self._policy, self._digest_of = policy, digest_of

    def planned(self, plan: HookExecutionPlan) -> None:
        """Logs why each skipped hook is not going to run."""
        common: dict[str, Any] = {
            "session": self._session_now(),
            **self._asked_by(),
            "event": plan.event.value,
            "subject": plan.subject,
        }
        is_short = len(plan.unmatched) <= _LISTED_ONE_BY_ONE
        for skip in plan.skipped if is_short else plan.skips:
            level = LogLevel.WARN if skip.kind is SkipKind.UNTRUSTED else LogLevel.DEBUG
            self._log.write(_skip(level, skip, **common))
        if not is_short:
            self._log.write(
                SkipRecord(
                    level=LogLevel.DEBUG,
                    message=f"{plan.event}: {len(plan.unmatched)} hooks do not match {plan.subject!r}",
                    reason=f"{SkipKind.UNMATCHED}: does not match {plan.subject!r}",
                    hooks=[hook.label for hook in plan.unmatched],
                    **common,
                )
            )

    def nothing_ran(self, event: HookEventName, subject: str | None, reason: str) -> None:
        """Count an event for which no hook had to run; the first of its kind is logged at once."""
        record = self._unmatched.count(event.value, subject, reason)
        if record is not None:
            self._log.write(msgspec.structs.replace(record, session=self._session_now(), **self._asked_by()))

    def started(self, plan: HookExecutionPlan, hook_input: Mapping[str, Any], fire_id: str) -> None:
        """Logs which hooks are about to start with this input; that outlives this program when this returns."""
        event, session = hook_input["hook_event_name"], hook_input["session_id"]
        self._log.write_now(
            StartRecord(
                level=LogLevel.DEBUG,
                message=f"{about(event, plan.subject)}: {', '.join(plan.labels)} started",
                time=hook_input["timestamp"],
                fire=fire_id,
                session=session,
                project=self._log.project,
                event=event,
                subject=plan.subject,
                hooks=plan.labels,
                **self._asked_by(session),
            )
        )

    def fired(
        self, verdict: Verdict, fire_id: str, session: str, model: str | None = None, arguments: Any = None
    ) -> None:
        """Logs what every hook did, what the event came to, and what the authors of the hooks should know.

        `arguments` are those that the tool was called with, on events about a tool.
        """
        for run in verdict.runs:
            if run.answer is not None and run.answer.doubt is not None:
                self._report_unheard(run, run.answer.doubt)
        asked_by = {**self._asked_by(session), **({} if self._policy is None else {"policy": self._policy})}
        if any(run.hook.is_canary and run.blocks for run in verdict.runs):
            asked_by["fired_by"] = FiredBy.CANARY.value
        if verdict.arguments is not None:
            arguments = verdict.arguments
        facts = (verdict, time.time(), fire_id, session, self._log.project, asked_by, model)
        self._log.write(_Fired(*facts, self._digest_of, call_of(arguments)))

    def late(self, run: HookExecutionResult) -> None:
        """Logs what a hook in the background did; called in another thread."""
        facts: dict[str, Any] = {"session": self._session_now(), **self._asked_by(), "event": run.event.value}
        self._log.write(_run(run, {**facts, **hook_place(run.hook)}))
        self.failures.report_late(run, facts["session"])

    def worker(self, hook: HookEntry, text: str, stderr: bytes) -> None:
        """Logs what became of a hook's worker, or what it wrote to stderr; called in another thread."""
        shown = stderr.decode("utf-8", "replace")
        level = LogLevel.WARN if text else LogLevel.DEBUG
        line = telling_line(shown)
        message = f"{hook.label}: {text or 'its worker wrote to stderr'}{f' ({line})' if line else ''}"
        self._log.write(WorkerRecord(level=level, message=message, stderr=shown or None, **hook_place(hook)))

    def _report_unheard(self, run: HookExecutionResult, doubt: str) -> None:
        """Report on stderr, once per hook, an answer that seems to deny and does not."""
        place = f"unheard {run.hook.origin} {run.hook.location}"
        is_unheard = can_block(run.hook) and not run.blocks and MENTIONS_A_DENIAL.search(run.stdout.replace("\0", ""))
        if is_unheard and place not in self._reported:
            self._reported.add(place)
            label = shortened(run.hook.label)
            warn_user(f"{run.event} hook {label} seems to deny, but that was not understood: {doubt}")

    def cancelled(self, plan: HookExecutionPlan, fire_id: str) -> None:
        """Logs that the caller did not wait for the event's hooks, which were ended."""
        self._log.write(
            CancelRecord(
                level=LogLevel.INFO,
                message=f"{about(plan.event, plan.subject)}: cancelled while its hooks ran, so they were ended",
                fire=fire_id,
                session=self._session_now(),
                **self._asked_by(),
                event=plan.event.value,
                subject=plan.subject,
                hooks=plan.labels,
            )
        )

    def decided(self, verdict: Verdict, fire_id: str, arguments: Any, untrusted: Sequence[str] = ()) -> None:
        """Logs an event that was decided without running a hook: blocked, or allowed for want of a trusted hook."""
        facts = {
            "session": self._session_now(),
            **self._asked_by(),
            **({} if self._policy is None else {"policy": self._policy}),
        }
        self._log.write(decided_record(verdict, fire_id, arguments, untrusted, **facts))

    def failed(self, event: HookEventName, stage: str, error: Exception, consequence: str, fire_id: str = "") -> None:
        """Logs that the engine itself failed, which never stops the agent."""
        common = {"fire": fire_id or None, "session": self._session_now(), **self._asked_by()}
        if isinstance(error, FormatError):
            # Not a fault of hookline: the program passes a value that hooks can't read.
            message = f"{event}: {error}, {consequence}"
            self._log.write(AdviceRecord(level=LogLevel.WARN, message=message, event=event.value, **common))
            if message not in self._reported:
                self._reported.add(message)
                warn_user(message)
            return
        self._log.write(_fault(stage, error, consequence, event=event.value, **common))

    def flush(self) -> None:
        """Logs how often nothing had to run; to be called before the log is closed."""
        for record in self._unmatched.flush():
            self._log.write(msgspec.structs.replace(record, agent=self._agent, fired_by=self._fired_by.value))

    def _asked_by(self, session_id: str | None = None) -> dict[str, Any]:
        """The fields that say who fired the event, and in which words if that is another agent."""
        session = current_session.get()
        is_canary = (session_id or self._session_now()).startswith(_CANARY_SESSION)
        source = {"fired_by": (FiredBy.CANARY if is_canary else self._fired_by).value}
        agent, event = (None, None) if session is None else (session.agent, session.agent_event)
        agent = agent or self._agent
        return source if agent is None else {**source, "agent": agent, "agent_event": event}

    def _session_now(self) -> str:
        session = current_session.get()
        return self._session if session is None else session.session_id


class _Fired(msgspec.Struct, frozen=True, gc=False):
    """An event that is over. Its records are made when the log asks for them, in the log's own thread."""

    verdict: Verdict
    seconds: float
    fire_id: str
    session: str
    project: str | None = None
    asked_by: dict[str, Any] = {}
    model: str | None = None
    digest_of: DigestOf | None = None
    call: str | None = None

    def records(self) -> list[LogRecord]:
        """One per run, one for the event, and one for each piece of advice, skipped hook and overridden answer."""
        common: dict[str, Any] = {
            "time": utc_timestamp(self.seconds),
            "fire": self.fire_id,
            "session": self.session,
            "project": self.project,
            **self.asked_by,
            "event": self.verdict.event.value,
            "subject": self.verdict.subject,
            "call": self.call,
        }
        try:
            return list(self._records(common))
        except Exception as error:  # noqa: BLE001 - a fault in hookline is logged like every other
            return [_fault("logging", error, "so the log lacks what its hooks did", **common)]

    def _records(self, common: dict[str, Any]) -> Iterator[LogRecord]:
        verdict = self.verdict
        for index, run in enumerate(verdict.runs):
            facts = {**common, "id": f"{self.fire_id}-{index}", **hook_place(run.hook)}
            digest = {} if self.digest_of is None else {"digest": self.digest_of(run.hook)}
            yield _run(run, {**facts, **digest})
            for advice in run.advice:
                message = f"{verdict.event}: {run.hook.label}: {advice}"
                yield AdviceRecord(level=LogLevel.WARN, message=message, **facts)
        for skip in verdict.skipped:
            yield _skip(LogLevel.INFO, skip, **common)
        yield _event(verdict, common, self.model)
        if verdict.invalid is not None:
            hooks = ", ".join(verdict.deciders)
            message = f"{verdict.event}: {verdict.reason}"
            yield AdviceRecord(level=LogLevel.WARN, message=message, **common, hook=hooks, blocked=True)
        for undone in verdict.overridden:
            message = f"{verdict.event}: {undone.by} overrode the {undone.field} of {undone.of}"
            yield OverrideRecord(level=LogLevel.WARN, message=f"{message}: on this event the later hook wins", **common)


def decided_record(
    verdict: Verdict, fire_id: str, arguments: Any, untrusted: Sequence[str] = (), **facts: Any
) -> EventRecord:
    """The record of an event that was decided without running a hook."""
    subject = {"event": verdict.event.value, "subject": verdict.subject, "call": call_of(arguments)}
    return _event(verdict, {"fire": fire_id, **subject, **facts}, untrusted=untrusted)


def _event(
    verdict: Verdict, common: dict[str, Any], model: str | None = None, untrusted: Sequence[str] = ()
) -> EventRecord:
    answer, decider, outcome = verdict.answer, decider_of(verdict), outcome_of(verdict)
    succeeded = sum(run.success for run in verdict.runs)
    return EventRecord(
        level=LogLevel.WARN if verdict.decider is not None or untrusted else LogLevel.DEBUG,
        message=f"{about(verdict.event, verdict.subject)}: {_what_happened(verdict, outcome, untrusted)}",
        **common,
        outcome=outcome.value,
        decider=None if decider is None else decider.value,
        untrusted=tuple(untrusted),
        would=would_of(verdict),
        hooks=len(verdict.runs),
        succeeded=succeeded,
        failed=len(verdict.runs) - succeeded,
        duration=round(verdict.duration_ms, 3),
        success=verdict.success,
        blocked=verdict.blocked,
        reason=None if verdict.decider is None else verdict.reason,
        stop=verdict.stop,
        # Also where nothing is applied: this is what the hooks answered.
        stop_reason=None if answer is None else answer.why_stopped,
        system_message=None if answer is None else or_none(answer.note),
        suppress_output=answer is not None and answer.suppress is True,
        denied=verdict.denied,
        go_on=verdict.go_on,
        ask=verdict.ask,
        effect=tuple(verdict.effect or ()),
        by=verdict.deciders,
        provenance=verdict.decided_by,
        model=model,
    )


def _what_happened(verdict: Verdict, outcome: EventOutcome, untrusted: Sequence[str]) -> str:
    """The outcome with its reason, and how the hooks answered."""
    reason = verdict.stop_reason if verdict.stop else verdict.reason
    if verdict.invalid is not None and verdict.deciders:
        reason = f"{', '.join(verdict.deciders)} rewrote its arguments, and they can't be used"
    if outcome is EventOutcome.WOULD_BLOCK:
        reason = next((trial.reason for trial in verdict.trials if trial.keeps_back), None)
    shown = show_outcome(outcome, is_rewritten=bool(verdict.effect))
    if outcome is not EventOutcome.ALLOWED and reason:
        shown = f"{shown}: {reason}"
    elif untrusted:
        shown = f"{shown}: {', '.join(untrusted)} did not run: untrusted"
    hooks = [count_results(verdict.runs), f"{verdict.duration_ms:.1f} ms"] if verdict.runs else []
    return f"{shown} ({', '.join(hooks)})" if hooks else shown


def _run(run: HookExecutionResult, facts: dict[str, Any]) -> HookRecord:
    hook, result = run.hook, run_result(run)
    level, more = LogLevel.DEBUG if run.success else LogLevel.INFO, f": {result}"
    if result is HookResult.FAILED:
        meaning = hook.fail_closed_reason if run.blocks else "the operation proceeds without it"
        level, more = LogLevel.WARN, f" ({hook.origin}: {hook.location}); {meaning}"
    if hook.mode is not HookMode.ENFORCE:
        more = f"{more} (mode {hook.mode}: it does not count)"
    return HookRecord(
        level=level,
        message=f"{hook.event}: {hook.label} {show_ending(run)}{more}",
        **facts,
        result=result.value,
        duration=round(run.duration_ms, 3),
        success=run.success,
        exit_code=run.exit_code,
        signal=run.signal,
        timed_out=run.timed_out,
        truncated=run.truncated,
        unasked=run.is_unasked or None,
        way=run.way.value,
        worker=run.worker,
        decision=run.decision,
        **_tried(run),
        env=dict(hook.env),
        stdin=run.stdin.decode("utf-8", "replace"),
        stdout=run.stdout,
        stderr=run.stderr,
        error=run.error,
    )


def _tried(run: HookExecutionResult) -> dict[str, Any]:
    """The fields of the record of a hook whose decision is not applied."""
    if run.hook.mode is HookMode.ENFORCE:
        return {}
    would = tuple(word.partition(" ")[0] for word, _ in would_have(run))
    return {"mode": run.hook.mode.value, "would": would}


def _fault(stage: str, error: Exception, consequence: str, *, event: str, **common: Any) -> FaultRecord:
    message = f"{event}: hookline failed while {stage} ({error!r}), {consequence}; please report this"
    trace = "".join(traceback.format_exception(error))
    return FaultRecord(level=LogLevel.WARN, message=message, stage=stage, traceback=trace, event=event, **common)


def _skip(level: LogLevel, skip: Skip, **common: Any) -> SkipRecord:
    message = f"{skip.hook.event}: {skip.hook.label} is not run: {skip.reason}"
    return SkipRecord(level=level, message=message, reason=skip.reason, **common, **hook_place(skip.hook))
