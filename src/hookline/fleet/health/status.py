"""Heartbeats → which machines are silent, out of date, or without working guards."""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

import msgspec

from hookline.fleet.health.heartbeat import CLOCK_S, Heartbeat
from hookline.fleet.keys import Opened, Person, open_signed
from hookline.fleet.nats.bucket import Latest

_MISSED_BEATS = 5
_LEAST_SILENCE_S = 60.0
# A machine says itself how often it speaks, and must not be able to ask for days.
_RAREST_BEAT_S = 600.0
_CANARY_S = 2 * 86_400.0
_LONGEST = 256 * 1024


class MachineStatus(msgspec.Struct, kw_only=True, rename="camel"):
    """One user of one machine."""

    team: str
    machine: str
    user: str
    is_silent: bool = False
    is_outdated: bool = False
    is_unguarded: bool = False
    """Whether guards do not run."""
    problems: list[str] = []
    last_seen: float | None = None
    """Seconds since the epoch, by the server's clock; None for a machine that was never seen."""
    key: str | None = None
    beat: Heartbeat | None = None


def judge(
    values: Iterable[Latest],
    *,
    keys: Mapping[Person, str],
    expected: Sequence[str] = (),
    listed: Collection[Person] = (),
    newest: Mapping[str, int] | None = None,
    now: float | None = None,
) -> list[MachineStatus]:
    """Every machine that has shown life, and those that were expected to.

    `newest` is the version of the policy that each team should have; for a team without one it is the newest that one
    of its machines has. `listed` are those whose heartbeats must be there, because the company lists their keys.
    """
    moment = time.time() if now is None else now
    read = [(value, _open(value)) for value in values]
    published = newest or {}
    wanted = dict(published)
    for _, opened in read:
        if opened is not None and opened.is_genuine and opened.statement.team not in published:
            beat = opened.statement
            wanted[beat.team] = max(wanted.get(beat.team, 0), beat.facts.policy or 0)
    found = [_status(value, opened, keys, wanted, moment) for value, opened in read]
    seen = {status.machine for status in found}
    present = {(status.machine, status.user) for status in found}
    found += [_missing(machine, "", "was never seen") for machine in expected if machine not in seen]
    found += [_missing(*person, "its key is listed, and no heartbeat is there") for person in set(listed) - present]
    return sorted(found, key=lambda status: (status.machine, status.user, status.team))


def _missing(machine: str, user: str, problem: str) -> MachineStatus:
    return MachineStatus(team="", machine=machine, user=user, is_silent=True, problems=[problem])


def teams_of(values: Iterable[Latest]) -> set[str]:
    """The teams of the machines that have shown life."""
    return {opened.statement.team for value in values if (opened := _open(value)) is not None}


def _open(value: Latest) -> Opened[Heartbeat] | None:
    opened = open_signed(value.data, Heartbeat) if len(value.data) <= _LONGEST else None
    return opened if opened is not None and opened.statement.key == value.key else None


def _status(
    value: Latest, opened: Opened[Heartbeat] | None, keys: Mapping[Person, str], newest: Mapping[str, int], now: float
) -> MachineStatus:
    if opened is None:
        team, machine, user = (*value.key.split("."), "", "", "")[:3]
        problems = ["its heartbeat can't be read, or is another machine's"]
        return MachineStatus(
            team=team, machine=machine, user=user, is_unguarded=True, last_seen=value.seconds, problems=problems
        )
    beat = opened.statement
    status = MachineStatus(
        team=beat.team, machine=beat.machine, user=beat.user, last_seen=value.seconds, key=opened.key, beat=beat
    )
    expected = keys.get((beat.machine, beat.user))
    if not opened.is_genuine:
        status.is_unguarded = True
        status.problems.append("its heartbeat is forged: the signature is wrong")
    elif expected is not None and expected != opened.key:
        status.is_unguarded = True
        status.problems.append("its key is another than before: forged, another machine, or set up again")
    _look_at_silence(status, beat, value.seconds, now)
    _look_at_policy(status, beat, newest.get(beat.team, 0))
    unguarded = list(_unguarded(beat))
    status.is_unguarded |= bool(unguarded)
    status.problems += unguarded
    if beat.dropped:
        status.problems.append(f"{beat.dropped} of its records were dropped before they could be sent")
    return status


def _look_at_silence(status: MachineStatus, beat: Heartbeat, seen: float, now: float) -> None:
    allowed = max(_LEAST_SILENCE_S, _MISSED_BEATS * min(max(beat.every_s, 0.0), _RAREST_BEAT_S))
    silence = now - seen
    if silence > allowed or beat.is_leaving:
        status.is_silent = True
        how = "its service was ended" if beat.is_leaving else "its service did not say why"
        status.problems.append(f"silent for {_duration(silence)}; {how}")
    _look_at_clock(status, beat, seen)


def _look_at_clock(status: MachineStatus, beat: Heartbeat, seen: float) -> None:
    """A heartbeat that was signed long before it came proves nothing; and expiry and records go by that clock."""
    try:
        signed = datetime.fromisoformat(beat.time).timestamp()
    except (ValueError, OverflowError):
        signed = 0.0
    behind = seen - signed
    if behind > CLOCK_S:
        status.is_silent = True
        words = f"its clock is {_duration(behind)} behind the server's, or an old heartbeat was sent again"
        status.problems.append(words)
    elif behind < -CLOCK_S:
        status.problems.append(f"its clock is {_duration(-behind)} ahead of the server's")


def _look_at_policy(status: MachineStatus, beat: Heartbeat, newest: int) -> None:
    facts = beat.facts
    if (facts.policy or 0) < newest:
        status.is_outdated = True
        has = f"version {facts.policy}" if facts.policy else "no version"
        status.problems.append(f"out of date: it has {has} of the policy, and {newest} is in force")
    if facts.policy_problem:
        status.is_outdated = True
        status.problems.append(f"policy: {facts.policy_problem}")


def _unguarded(beat: Heartbeat) -> Iterator[str]:
    facts = beat.facts
    if not facts.enabled:
        yield "hooks are disabled"
    if not facts.logged:
        yield "its log is disabled, so nothing is recorded"
    for hook in facts.hooks:
        if hook.is_missing:
            yield f"{hook.event} {hook.name} does not run: {hook.problem or hook.state}"
    for bridge in facts.bridges:
        if bridge.problem is not None:
            yield f"the bridge of {bridge.agent}: {bridge.problem}"
    yield from facts.problems
    yield from _canary(beat)


def _canary(beat: Heartbeat) -> Iterator[str]:
    if beat.canary is None:
        yield "canary: none was tried yet"
        return
    yield from (f"canary: {missed}" for missed in beat.canary.missed)
    if beat.canary.age_s > _CANARY_S:
        yield "canary: the last one is older than two days, or a clock was wrong"


def _duration(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"
