"""The words for the outcomes of events and for the answers of hooks. Every surface uses these.

The log writes them into its records (`outcome`, `result`, `decider`), and everything that reads the log takes them from
there. Imports nothing heavy, because `hookline log` also imports it.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from hookline.protocol.constants import Decider, HookMode
from hookline.protocol.events import BLOCKING_DECISIONS, HookDecision

if TYPE_CHECKING:
    from hookline.protocol.verdict import HookExecutionResult, Verdict


class EventOutcome(StrEnum):
    """The outcome of an event."""

    ALLOWED = "allowed"
    BLOCKED = "blocked"
    """The operation does not take place; for AfterAgent, the turn does not end."""
    ASKED = "asked"
    """The user has to agree first."""
    STOPPED = "stopped"
    """The agent stops."""
    WOULD_BLOCK = "would block"
    """Allowed, and a hook in the mode shadow would have blocked it."""


REWRITTEN = "rewritten"
"""Shown beside an outcome if the operation takes place in another form."""


class HookResult(StrEnum):
    """The answer of one hook, whether or not it was applied."""

    ALLOWED = "allowed"
    BLOCKED = "blocked"
    ASKED = "asked"
    NO_OPINION = "no opinion"
    FAILED = "failed"
    SKIPPED = "skipped"
    """It did not run."""
    WOULD_BLOCK = "would block"
    """It blocked, in the mode shadow."""
    WOULD_ASK = "would ask"


RECORD_WORDS: tuple[str, ...] = tuple(dict.fromkeys((*map(str, EventOutcome), REWRITTEN, *map(str, HookResult))))
"""The words that choose records of the log: all outcomes and results."""


class UserAnswer(StrEnum):
    """The answer to a question whether a tool may run."""

    YES = "yes"
    NO = "no"
    ALWAYS = "always"
    """Yes, and to all such calls in the rest of the session."""


class RecordState(StrEnum):
    """The message of a log record that is neither an outcome nor a hook's result."""

    UNFINISHED = "unfinished"
    CANCELLED = "cancelled"
    NOTE = "note"


class _EventFacts(Protocol):
    """The fields that a Verdict and the record of an event share; None counts as False."""

    @property
    def blocked(self) -> bool | None: ...
    @property
    def stop(self) -> bool | None: ...
    @property
    def go_on(self) -> bool | None: ...
    @property
    def ask(self) -> bool | None: ...


def event_outcome(facts: _EventFacts, would: Sequence[str]) -> EventOutcome:
    """Return the outcome of an event; `would` has the decisions of hooks in the mode shadow."""
    if facts.stop:
        return EventOutcome.STOPPED
    if facts.blocked or facts.go_on:
        return EventOutcome.BLOCKED
    if facts.ask:
        return EventOutcome.ASKED
    return EventOutcome.WOULD_BLOCK if {"block", "stop"} & {*would} else EventOutcome.ALLOWED


def outcome_of(verdict: "Verdict") -> EventOutcome:
    """The outcome of an event."""
    return event_outcome(verdict, would_of(verdict))


def would_of(verdict: "Verdict") -> tuple[str, ...]:
    """Return the decisions of hooks in the mode shadow, of `block`, `stop`, `ask` and `change`."""
    return tuple(dict.fromkeys(trial.would.partition(" ")[0] for trial in verdict.trials))


def show_outcome(outcome: EventOutcome, *, is_rewritten: bool) -> str:
    """The outcome for people: `allowed, rewritten`."""
    return f"{outcome}, {REWRITTEN}" if is_rewritten else outcome.value


def run_result(run: "HookExecutionResult") -> HookResult:
    """Return the answer of one hook in a word."""
    answer, is_trial = run.answer, run.hook.mode is not HookMode.ENFORCE
    if run.failed:
        return HookResult.FAILED
    if answer is None:
        return HookResult.NO_OPINION
    if answer.blocks or answer.stops:
        return HookResult.WOULD_BLOCK if is_trial else HookResult.BLOCKED
    if answer.asks:
        return HookResult.WOULD_ASK if is_trial else HookResult.ASKED
    is_allowed = answer.decision in _ALLOWING or answer.permission in _ALLOWING
    return HookResult.ALLOWED if is_allowed else HookResult.NO_OPINION


def recorded_result(decision: str | None, *, is_failure: bool, is_trial: bool) -> HookResult:
    """The same for a record of an older version, which has no result."""
    if is_failure:
        return HookResult.FAILED
    if decision in BLOCKING_DECISIONS:
        return HookResult.WOULD_BLOCK if is_trial else HookResult.BLOCKED
    if decision == HookDecision.ASK:
        return HookResult.WOULD_ASK if is_trial else HookResult.ASKED
    return HookResult.ALLOWED if decision in _ALLOWING else HookResult.NO_OPINION


def count_results(runs: Sequence["HookExecutionResult"]) -> str:
    """How often hooks answered what, for people: `1 blocked, 2 no opinion`."""
    results = [run_result(run) for run in runs]
    return ", ".join(f"{results.count(word)} {word}" for word in HookResult if word in results)


def decider_of(verdict: "Verdict") -> Decider | None:
    """Return the part that decided; None if nothing objected."""
    return verdict.decider or (Decider.HOOK if verdict.deciders else None)


_ALLOWING = (HookDecision.ALLOW, HookDecision.APPROVE)
