"""Judges what happened with one or two versions of the hooks. The same input is judged once; only hooks run."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from hookline.errors import HooklineError
from hookline.testing.backtest.past import Past
from hookline.testing.backtest.scratch import moved
from hookline.testing.cases.case import Case, CasePlace, Expectation, Outcome, outcomes_of
from hookline.testing.cases.judge import deciders_of
from hookline.testing.cases.run import Bench, MakeConfig

_KEPT = (Outcome.BLOCKED, Outcome.STOPPED, Outcome.DENIED)
_MOST_KEPT = 2_000


class DecisionChange(StrEnum):
    """How a decision would be another one."""

    BLOCKS = "blocks"
    ALLOWS = "frees"
    ASKS = "asks"


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of one version of the hooks about an input."""

    outcome: Outcome | None
    """None where it could not be judged, such as with a hook that is not trusted."""
    reason: str
    by: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """An event that would be decided in another way."""

    kind: DecisionChange
    past: Past
    before: Outcome
    now: Decision

    def cleaned(self, clean: Callable[[Any], Any]) -> "Change":
        """The same with secrets replaced; secrets of the input are also replaced in the reason."""
        past = self.past
        shown = clean(
            {"fields": dict(past.fields), "origin": past.origin, "reason": self.now.reason, "by": self.now.by}
        )
        now = replace(self.now, reason=shown["reason"], by=tuple(shown["by"]))
        return replace(self, past=replace(past, fields=shown["fields"], origin=shown["origin"]), now=now)


@dataclass(slots=True)
class Tally:
    """The numbers of a backtest, and the changes as far as they are kept."""

    events: int = 0
    made: int = 0
    """Tool calls that were made."""
    refused_now: int = 0
    """The calls that would be refused now."""
    untried: int = 0
    why_untried: str = ""
    judged: int = 0
    """Different inputs."""
    counts: dict[DecisionChange, int] = field(default_factory=lambda: dict.fromkeys(DecisionChange, 0))
    changes: list[Change] = field(default_factory=list)

    def add(self, past: Past, before: Outcome | None, now: Decision) -> None:
        """Counts one event."""
        self.events += 1
        self.made += past.ran
        if now.outcome is None:
            self.untried += 1
            self.why_untried = self.why_untried or now.reason
            return
        self.refused_now += past.ran and now.outcome in _KEPT
        kind = None if before is None else _kind(before, now.outcome)
        if kind is not None and before is not None:
            self.counts[kind] += 1
            if len(self.changes) < _MOST_KEPT:
                self.changes.append(Change(kind=kind, past=past, before=before, now=now))

    def cleaned(self, clean: Callable[[Any], Any]) -> "Tally":
        """The same for people: without the secrets that are in other agents' transcripts, and in what hooks say."""
        changes = [change.cleaned(clean) for change in self.changes]
        return replace(self, changes=changes, why_untried=clean(self.why_untried))


class Judge:
    """One version of the hooks, with what it has decided so far."""

    def __init__(self, make_config: MakeConfig, *, project: str = "", copy: str = "") -> None:
        """`copy` is where the hooks find the project, if that is a copy."""
        self._places = (project, copy)
        self._bench = Bench(make_config, lambda _case, _verdict: ())
        self._known: dict[bytes, asyncio.Future[Decision] | Decision] = {}
        self._alike: dict[Decision, Decision] = {}
        self.judged = 0

    async def decide(self, past: Past) -> Decision:
        """The decision of the hooks about an event; each input is fired once."""
        key = _key(past)
        known = self._known.get(key)
        if known is not None:
            return known if isinstance(known, Decision) else await asyncio.shield(known)
        waiting = self._known[key] = asyncio.get_running_loop().create_future()
        try:
            decision = await self._fire(past)
            # Most decisions are the same, and a long past has many.
            decision = self._alike.setdefault(decision, decision)
        except BaseException as error:
            waiting.set_exception(error)
            waiting.exception()  # perhaps no other task waits for it
            raise
        waiting.set_result(decision)
        self._known[key] = decision
        self.judged += 1
        return decision

    def close(self) -> None:
        """Ends the hook systems."""
        self._bench.close()

    async def _fire(self, past: Past) -> Decision:
        case = Case(
            name=past.origin,
            place=CasePlace(past.origin),
            event=past.event,
            fields=self._there(past.fields),
            expected=Expectation(),
        )
        result = await self._bench.run(case)
        if result.problem is not None or result.verdict is None:
            return Decision(None, result.problem or "", ())
        verdict = result.verdict
        project, copy = self._places
        reason = verdict.reason or verdict.stop_reason or ""
        reason = reason.replace(copy, project) if copy else reason
        return Decision(outcomes_of(verdict)[0], reason, deciders_of(verdict))

    def _there(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """The input as it would be in the copy: paths in the project lead there."""
        project, copy = self._places
        return {name: moved(value, project, copy) for name, value in fields.items()} if copy else fields


async def backtest(
    happened: Iterator[Past],
    now: Judge,
    against: Judge | None,
    *,
    jobs: int,
    on_event: Callable[[], None] = lambda: None,
) -> Tally:
    """Judges every event, so many at a time; without `against`, the decisions are compared with what happened."""
    tally = Tally()

    async def work() -> None:
        for past in happened:
            decision = await now.decide(past)
            before = past.before if against is None else (await against.decide(past)).outcome
            tally.add(past, before, decision)
            on_event()
            await asyncio.sleep(0)  # packs never wait, and an interrupt has to be heard

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(jobs):
                group.create_task(work())
    except* HooklineError as errors:
        raise errors.exceptions[0] from None
    finally:
        for judge in (now, against):
            if judge is not None:
                judge.close()
    tally.judged = now.judged
    tally.changes.sort(key=lambda change: (change.kind != DecisionChange.BLOCKS, change.past.time))
    return tally


def _kind(before: Outcome, now: Outcome) -> DecisionChange | None:
    if (before in _KEPT) != (now in _KEPT):
        return DecisionChange.BLOCKS if now in _KEPT else DecisionChange.ALLOWS
    return DecisionChange.ASKS if now is Outcome.ASKED and before is not Outcome.ASKED else None


def _key(past: Past) -> bytes:
    text = json.dumps([past.event.value, past.fields], sort_keys=True, default=str)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
