"""A record as readers see it, and the query that chooses records."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from hookline.protocol.constants import CANARY_AGENT, CANARY_HOOK, OWN_AGENT, REAL_SOURCES, Decider, FiredBy
from hookline.protocol.events import BLOCKING_DECISIONS
from hookline.protocol.records import LogRecord
from hookline.protocol.text.json_text import parse_json
from hookline.protocol.text.outcome_words import (
    REWRITTEN,
    EventOutcome,
    HookResult,
    RecordState,
    event_outcome,
    recorded_result,
)

# Each of them ends what a record of kind "start" with the same `fire` began.
ENDS = frozenset({"event", "cancel", "fault"})


class LogEntry(LogRecord, frozen=True, kw_only=True, gc=False):
    """A record of any kind, also of another version, without its long texts; whatever is missing is None."""

    # A line may lack even the fields that every record of hookline has.
    time: str | None = None  # type: ignore[assignment]
    level: str | None = None  # type: ignore[assignment]
    message: str | None = None  # type: ignore[assignment]
    kind: str | None = None
    machine: str | None = None
    """Where a fleet is shown: the machine and the user that the record is of."""
    user: str | None = None
    source: str | None = None
    way: str | None = None
    unasked: bool | None = None
    would: tuple[str, ...] | None = None
    outcome: str | None = None
    decider: str | None = None
    result: str | None = None
    untrusted: tuple[str, ...] | None = None
    # The outcome of an event; see EventRecord.
    stop: bool | None = None
    denied: bool | None = None
    go_on: bool | None = None
    ask: bool | None = None
    effect: tuple[str, ...] | None = None
    by: tuple[str, ...] | None = None
    model: str | None = None
    answer: str | None = None
    asked: str | None = None

    @property
    def word(self) -> str:
        """The outcome of the event, the result of the hook, or the state of the record."""
        return outcome_word(self)

    def has_word(self, word: str) -> bool:
        """True if the line of this record shows the word: see RECORD_WORDS. A failure that blocks has two words."""
        if word == REWRITTEN:
            return self.kind == "event" and bool(self.effect)
        return self.word == word or (word == HookResult.BLOCKED and self.is_block)

    @property
    def is_run(self) -> bool:
        """True for the record of a hook that was started, or could not be."""
        return self.kind == "hook"

    @property
    def is_start(self) -> bool:
        """True for hooks that were about to start."""
        return self.kind == "start"

    @property
    def is_block(self) -> bool:
        """True for a hook whose answer was block, deny or stop, and counted."""
        blocks = self.decision in BLOCKING_DECISIONS or self.result == HookResult.BLOCKED
        return self.kind == "hook" and blocks and self.mode is None

    @property
    def is_canary(self) -> bool:
        """True for what only proves that a guard denies; it is in no count, and is not replayed."""
        is_of_older_version = self.fired_by is None and self.hook == CANARY_HOOK
        return self.fired_by == FiredBy.CANARY or self.agent == CANARY_AGENT or is_of_older_version

    @property
    def asker(self) -> str | None:
        """The agent whose event this is, if that is evidence that it is guarded; `hookline` is our own.

        Programs and clients without a name are called `program`, `gateway` and so on. Events of `fire` and the like
        are no evidence. Records of older versions do not say who fired them; those of other agents can be from nothing
        but the bridge.
        """
        if self.is_canary or (self.fired_by not in REAL_SOURCES if self.fired_by is not None else self.agent is None):
            return None
        return self.agent or (OWN_AGENT if self.fired_by == FiredBy.AGENT else self.fired_by)

    @property
    def shown_asker(self) -> str | None:
        """The origin of the event, for the user: an agent, `program`, or a command such as `hookline fire`.

        None for a record of an older version that does not say it.
        """
        if self.fired_by is not None and self.fired_by not in REAL_SOURCES:
            return f"hookline {self.fired_by}"
        return self.agent or (OWN_AGENT if self.fired_by == FiredBy.AGENT else self.fired_by)

    @property
    def is_failure(self) -> bool:
        """True for a hook that could not do its work, which is written as a warning; a deny by exit code is not."""
        return self.kind == "hook" and self.level == "warn"

    @property
    def is_block_without_hook(self) -> bool:
        """True for an event that the kill switch, the policy or a fault blocked."""
        is_hooks = self.kind in ("hook", "answer") or (self.kind == "event" and self.decider in (None, Decider.HOOK))
        return not is_hooks and self.word == EventOutcome.BLOCKED

    @property
    def took_ms(self) -> float | None:
        """How long the run took; None for a hook that was never asked."""
        return None if self.unasked else self.duration or 0.0


def outcome_word(entry: LogEntry) -> str:
    """Return a record in a word: an event's outcome, a hook's result, or the state of the record."""
    if entry.kind == "event":
        return entry.outcome or event_outcome(entry, entry.would or ())
    if entry.is_run:
        is_trial = entry.mode is not None
        return entry.result or recorded_result(entry.decision, is_failure=entry.is_failure, is_trial=is_trial)
    if entry.kind == "skip":
        return HookResult.SKIPPED
    if entry.kind == "unmatched":
        return EventOutcome.ALLOWED
    if entry.kind == "answer":
        return EventOutcome.BLOCKED if entry.blocked else EventOutcome.ALLOWED
    if entry.kind in ("settings", "bridge") and entry.blocked:
        return EventOutcome.BLOCKED
    states = {"start": RecordState.UNFINISHED, "cancel": RecordState.CANCELLED, "fault": Decider.FAULT}
    return states.get(entry.kind or "", RecordState.NOTE)


# Structs rather than dataclasses: defining one takes a tenth of the time, and `hookline log` has to start quickly.
class LogQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which records are wanted; a field that is None allows all."""

    event: str | None = None
    tool: str | None = None
    hook: str | None = None
    decision: str | None = None
    """One of RECORD_WORDS."""
    session: str | None = None
    project: str | None = None
    """The resolved directory; records that name none, as those of older versions, belong to every project."""
    agent: str | None = None
    failures: bool = False
    slower_than_ms: float | None = None
    since: str | None = None
    """The earliest time, as records write it."""
    until: str | None = None
    """The first time that is too late."""
    kinds: frozenset[str] | None = None
    hides_unmatched: bool = False
    """Leaves out events that no hook ran for, and hooks that did not match or were skipped as a matter of course."""

    @property
    def wants_starts(self) -> bool:
        """Whether the start of an event may be wanted."""
        return self.kinds is None or "start" in self.kinds

    def wants(self, entry: LogEntry) -> bool:
        """Whether a record matches all fields of the query."""
        return (
            (self.session is None or entry.session == self.session)
            and (self.since is None or (entry.time or "") >= self.since)
            and (self.until is None or (entry.time or "") < self.until)
            and (self.kinds is None or entry.kind in self.kinds)
            and not (self.hides_unmatched and entry.kind in ("skip", "unmatched") and entry.level == "debug")
            and (self.event is None or entry.event == self.event)
            and (self.tool is None or entry.subject == self.tool)
            and (self.hook is None or entry.hook == self.hook)
            and (self.project is None or entry.project is None or entry.project == self.project)
            and (self.agent is None or entry.agent == self.agent)
            and (self.decision is None or entry.has_word(self.decision))
            and (not self.failures or entry.is_failure or entry.kind == "fault")
            and (self.slower_than_ms is None or (entry.is_run and (entry.duration or 0) > self.slower_than_ms))
        )


def is_canary_record(record: Mapping[str, Any]) -> bool:
    """The same as `LogEntry.is_canary` for a whole record."""
    fired_by, agent, hook = (record.get(name) for name in ("firedBy", "agent", "hook"))
    return LogEntry(fired_by=fired_by, agent=agent, hook=hook).is_canary


def decode_block(block: bytes) -> Sequence[LogEntry | None]:
    """The record of each line that is not blank; None for a line that is not a record."""
    with suppress(ValueError, RecursionError):
        entries = _DECODER.decode_lines(block)
        # It also accepts blank lines, and values that share a line or stand across several.
        if block[:1] == b"{" and block.count(b"\n{") + 1 == block.count(b"}\n") == block.count(b"\n") == len(entries):
            return entries
    return [_decode_line(line) for line in block.split(b"\n") if line.strip()]


def ended_in(entries: Iterable[LogEntry | None]) -> set[str]:
    """The events whose end is among these records."""
    return {entry.fire for entry in entries if entry is not None and entry.kind in ENDS and entry.fire is not None}


def _decode_line(line: bytes) -> LogEntry | None:
    with suppress(ValueError, RecursionError):
        return _DECODER.decode(line)
    with suppress(ValueError):
        # parse_json accepts lone surrogates and any depth, for example, and msgspec does not.
        entry = msgspec.convert(parse_json(line.decode("utf-8", "replace")), LogEntry)
        # It also reads 1e999 as infinity, which can't be the duration of a run.
        return msgspec.structs.replace(entry, duration=None) if entry.duration == float("inf") else entry
    return None


_DECODER = msgspec.json.Decoder(LogEntry)
