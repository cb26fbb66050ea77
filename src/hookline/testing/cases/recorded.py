"""Records of the log → events that really happened, and what was decided about them."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hookline.engine.event_table import EVENT_TABLE
from hookline.errors import HooklineError
from hookline.protocol.answers import or_none
from hookline.protocol.events import BLOCKING_DECISIONS, HookDecision, HookEventName
from hookline.protocol.inputs import HookInput, input_problems
from hookline.protocol.text.json_text import parse_json
from hookline.protocol.verdict import Verdict
from hookline.testing.cases.case import Case, CasePlace, Expectation, Outcome, outcomes_of
from hookline.testing.cases.judge import Difference, why_failed

HIDDEN = "[redacted]"
_CUT = re.compile(r"… \(\d+ more characters\)$")


class NotRecordedError(HooklineError):
    """An event can't be taken from the log, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One event of the log."""

    fire: str
    time: str
    cwd: str
    project: str
    """The resolved directory of the project; in records of older versions the session's."""
    event: HookEventName
    fields: Mapping[str, Any]
    outcome: Outcome
    reason: str | None
    by: tuple[str, ...]
    """The hooks whose decision was the outcome."""
    failed: tuple[str, ...]
    effect: tuple[str, ...]
    """The name on the wire of a part that was rewritten."""
    has_hidden: bool
    """True when the log has replaced a secret in the input, which hooks may judge differently now."""

    @property
    def name(self) -> str:
        """A name for a case."""
        subject = EVENT_TABLE[self.event].subject
        about = f" {self.fields.get(subject)}" if subject else ""
        return f"{self.event}{about}, {self.time} ({self.fire})"

    def to_case(self) -> Case:
        """The event as a case that expects what was decided then."""
        expected = Expectation(outcome=self.outcome, by=self.by)
        place = CasePlace(f"log {self.fire}")
        return Case(name=self.name, place=place, event=self.event, fields=self.fields, expected=expected)


def read_event(records: Sequence[Mapping[str, Any]]) -> Recorded:
    """The event of these records, its runs and its end; NotRecordedError if its input is not in them."""
    runs = [record for record in records if record.get("kind") == "hook"]
    end = next((record for record in records if record.get("kind") == "event"), {})
    told = _input_of(runs)
    try:
        event = HookEventName(str(end.get("event")))
    except ValueError:
        raise NotRecordedError("its event is not an event of hookline") from None
    row = EVENT_TABLE[event]
    fields = {name: value for name, value in told.items() if name not in HookInput.__annotations__}
    if problems := input_problems(row.input, fields):
        raise NotRecordedError(f"its input is not one of {event}: {problems[0]}")
    outcome = _outcome(end)
    return Recorded(
        fire=str(end.get("fire")),
        time=str(end.get("time")),
        cwd=str(told.get("cwd", "")),
        project=str(end.get("project") or os.path.realpath(str(told.get("cwd", "")))),
        event=event,
        fields=fields,
        outcome=outcome,
        reason=_text(end.get("stopReason")) or next((_text(run.get("stderr")) for run in runs if _denies(run)), None),
        by=tuple(str(run.get("hook")) for run in runs if _is_behind(outcome, run)),
        failed=tuple(str(run.get("hook")) for run in runs if run.get("level") == "warn"),
        effect=tuple(map(str, effect)) if isinstance(effect := end.get("effect"), list) else (),
        has_hidden=HIDDEN in str(fields),
    )


def changes_since(recorded: Recorded, verdict: Verdict) -> tuple[Difference, ...]:
    """The decisions that would differ now."""
    found: list[Difference] = []
    now = outcomes_of(verdict)
    if recorded.outcome not in now:
        why = verdict.reason or verdict.stop_reason
        before = f"{recorded.outcome}{f': {recorded.reason}' if recorded.reason else ''}"
        found.append(Difference("outcome", before, f"{now[0]}{f': {why}' if why else ''}"))
    effect = tuple(verdict.effect or ())
    if {*effect} != {*recorded.effect}:
        found.append(Difference("changed", _listed(recorded.effect), _listed(effect)))
    failed = [run for run in verdict.runs if run.failed and run.hook.label not in recorded.failed]
    found += (Difference("failures", "none", f"{run.hook.label} {why_failed(run)}") for run in failed)
    return tuple(found)


def _input_of(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The input of the first hook: later hooks of a chain may have received another one."""
    own = [run for run in runs if not run.get("dialect")]
    if not own:
        raise NotRecordedError("no hook in hookline's own words ran for it, so its input is not in the log")
    text = own[0].get("stdin")
    if own[0] is not runs[0]:
        raise NotRecordedError("its first hook received another agent's format")
    if isinstance(text, str) and _CUT.search(text):
        raise NotRecordedError("its input is longer than what the log keeps of a text (64 KiB)")
    try:
        told = parse_json(text) if isinstance(text, str) else None
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise NotRecordedError("its input can't be read")
    return told


def _outcome(end: Mapping[str, Any]) -> Outcome:
    if end.get("stop") is True:
        return Outcome.STOPPED
    if end.get("goOn") is True:
        return Outcome.CONTINUES
    if end.get("blocked") is True:
        return Outcome.BLOCKED
    if end.get("ask") is True:
        return Outcome.ASKED
    return Outcome.DENIED if end.get("denied") is True else Outcome.ALLOWED


def _is_behind(outcome: Outcome, run: Mapping[str, Any]) -> bool:
    if outcome is Outcome.ASKED:
        return run.get("decision") == HookDecision.ASK
    return outcome in (Outcome.BLOCKED, Outcome.DENIED, Outcome.CONTINUES) and _denies(run)


def _denies(run: Mapping[str, Any]) -> bool:
    return run.get("decision") in BLOCKING_DECISIONS


def _text(value: Any) -> str | None:
    text = or_none(value) if isinstance(value, str) else None
    return text.strip() or None if isinstance(text, str) else None


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"
