"""What one stretch of the log has in it: enough to skip it, or to count it without reading it again."""

import re
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import msgspec

from hookline.contract.words import Outcome
from hookline.log.entry import Judged, LogEntry, LogQuery, ended_in, outcome_word
from hookline.log.statistics import EVENTS, Durations, Statistics, call_key, later, time_key

# A stretch with so much variety has no summary and is read each time, so that no log makes its index large.
_MOST_BYTES = 512 * 1024

# The first characters of an event's id, three bytes of hexadecimal digits; a stretch has a few thousand of them.
_FIRE_BYTES = 3
_HEX = re.compile(r"[0-9a-f]*")
_OURS = re.compile(rf"[0-9a-f]{{{2 * _FIRE_BYTES}}}")


class SessionSummary(msgspec.Struct, array_like=True):
    """What the log knows about one session."""

    agent: str | None
    """Who fired its events, as `Judged.shown_asker` has it."""
    project: str | None
    first: str
    """The time of its first record."""
    last: str
    records: int
    runs: int
    blocks: int
    failures: int
    call: str | None = None
    """The latest tool call: its tool, and its command or file."""

    def merge(self, other: "SessionSummary") -> None:
        """Adds what a later part of the log has of the same session."""
        self.agent = self.agent or other.agent
        self.project = self.project or other.project
        self.first = min(self.first, other.first)
        self.last = max(self.last, other.last)
        self.records += other.records
        self.runs += other.runs
        self.blocks += other.blocks
        self.failures += other.failures
        self.call = other.call or self.call


class Group(Judged, msgspec.Struct, array_like=True):
    """Records that are alike in everything that queries and statistics ask for, but the session and the times."""

    kind: str | None
    level: str | None
    event: str | None
    subject: str | None
    hook: str | None
    origin: str | None
    project: str | None
    agent: str | None
    fired_by: str | None
    decision: str | None
    mode: str | None
    timed_out: bool
    way: str | None = None
    word: str = ""
    """Of events: what they came to."""
    ruling: str | None = None
    source: str | None = None
    """As the last of them has it."""
    last_number: int = 0
    """The position of the last of them in the stretch, counted in records."""
    records: int = 0
    fired: int = 0
    duration: float | None = None
    """The longest."""
    last_time: str = ""
    durations: Durations = msgspec.field(default_factory=Durations)
    times: dict[str, int] = {}
    """Of events: how many there were in each ten minutes."""
    calls: dict[tuple[str, str], int] = {}
    """Of events: which calls were blocked, and how often."""


class Summary(msgspec.Struct, array_like=True):
    """One stretch of whole lines in a file of the log."""

    start: int
    end: int
    unreadable: int
    """How many of its lines are no records."""
    first: str
    """The earliest and the latest time of a record."""
    last: str
    open_starts: list[str]
    """Events that were started here, and did not end here."""
    late_ends: list[str]
    """Events that ended here, and were not started here."""
    sessions: dict[str, SessionSummary]
    fires: bytes
    has_other_fires: bool
    """Whether the id of an event does not begin as those of ours do."""
    # Not decoded before it is needed: it is the largest part.
    encoded_groups: msgspec.Raw

    def groups(self) -> list[Group]:
        """The groups, in the order of their first records."""
        return _GROUPS.decode(self.encoded_groups)

    def may_have(self, query: LogQuery) -> bool:
        """False if no record of this stretch is wanted."""
        if (query.since is not None and self.last < query.since) or (
            query.until is not None and self.first >= query.until
        ):
            return False
        if query.session is not None and query.session not in self.sessions:
            return False
        return not _is_choosy(query) or any(map(query.wants_kind_of, self.groups()))

    def may_have_event(self, identifier: str) -> bool:
        """False if no event of this stretch has an id that begins like this."""
        if self.unreadable or self.has_other_fires:
            return True
        known = _beginning_of(identifier)
        return known is not None and _has(self.fires, known)

    def can_count(self, query: LogQuery) -> bool:
        """Whether the groups alone are enough to count the records that are wanted."""
        return (
            query.session is None
            and query.slower_than_ms is None
            and (query.since is None or self.first >= query.since)
            and (query.until is None or self.last < query.until)
        )

    def count(self, query: LogQuery, statistics: Statistics) -> None:
        """Count the records that are wanted."""
        latest: dict[int, int] = {}
        for group in filter(query.wants_kind_of, self.groups()):
            if group.is_canary:
                continue
            if group.is_run:
                numbers = statistics.hook(group.event, group.hook, group.origin)
                numbers.runs += group.records
                numbers.blocks += group.records * group.is_block
                numbers.failures += group.records * group.is_failure
                numbers.timeouts += group.records * group.timed_out
                numbers.last_run = later(numbers.last_run, group.last_time)
                numbers.add_evidence(group.asker, group.last_time, is_block=group.is_block)
                statistics.add_asker(group.asker, group.last_time, is_block=group.is_block)
                numbers.add_way(group.way, group.records)
                numbers.durations.merge(group.durations)
                if group.last_number >= latest.get(id(numbers), 0):
                    latest[id(numbers)] = group.last_number
                    numbers.source = group.source
            elif group.kind in EVENTS:
                statistics.add_fired(group.event, group.fired)
                statistics.add_events(group.word, group.times, group.calls)


class SummaryMaker:
    """Makes the summary of one stretch from its records.

    Millions of records come through here when an index is made, so they are sorted into groups one by one, and all the
    rest is done for a group at a time.
    """

    def __init__(self, start: int) -> None:
        self._start = start
        self._unreadable = 0
        self._entries: list[LogEntry] = []

    def add(self, entries: Sequence[LogEntry | None]) -> None:
        """Take the records of a block."""
        readable = [entry for entry in entries if entry is not None]
        self._unreadable += len(entries) - len(readable)
        self._entries += readable

    def sessions(self) -> dict[str, SessionSummary]:
        """The sessions that were seen so far."""
        by_session: dict[str | None, list[LogEntry]] = {}
        for entry in self._entries:
            by_session.setdefault(entry.session, []).append(entry)
        by_session.pop(None, None)
        return {session: _session(entries) for session, entries in by_session.items() if session is not None}

    def finish(self, end: int) -> Summary | None:
        """The summary of everything that was added, up to here; None for a stretch that has too much in it."""
        entries = self._entries
        times = [entry.time or "" for entry in entries] or [""]
        fires = {entry.fire for entry in entries if entry.fire is not None}
        starts = {entry.fire or "" for entry in entries if entry.kind == "start"}
        ends = ended_in(entries)
        ours = {fire for fire in fires if _is_ours(fire)}
        try:
            summary = Summary(
                start=self._start,
                end=end,
                unreadable=self._unreadable,
                first=min(times),
                last=max(times),
                open_starts=sorted(starts - ends),
                late_ends=sorted(ends - starts),
                sessions=self.sessions(),
                fires=b"".join({bytes.fromhex(fire[: 2 * _FIRE_BYTES]) for fire in ours}),
                has_other_fires=len(ours) != len(fires),
                encoded_groups=msgspec.Raw(msgspec.msgpack.encode(_groups(entries))),
            )
            return summary if len(msgspec.msgpack.encode(summary)) <= _MOST_BYTES else None
        except (UnicodeEncodeError, OverflowError):  # a lone surrogate, or a number of more than 64 bits
            return None


def _session(entries: Sequence[LogEntry]) -> SessionSummary:
    times = [entry.time or "" for entry in entries]
    runs = [entry for entry in entries if entry.kind == "hook"]
    return SessionSummary(
        agent=next(filter(None, (entry.shown_asker for entry in entries)), None),
        project=next((entry.project for entry in entries if entry.project), None),
        first=min(times),
        last=max(times),
        records=len(entries),
        runs=len(runs),
        blocks=sum(entry.is_block or entry.ruling == Outcome.BLOCKED for entry in entries),
        failures=sum(entry.is_failure for entry in runs),
        call=next((f"{entry.subject} {entry.call}" for entry in reversed(entries) if entry.call), None),
    )


def _groups(entries: Sequence[LogEntry]) -> list[Group]:
    numbers: dict[tuple[Any, ...], list[int]] = {}
    for number, key in enumerate((*_KEY(entry), _word_of(entry), entry.ruling) for entry in entries):
        if (found := numbers.get(key)) is None:
            numbers[key] = [number]
        else:
            found.append(number)
    return [_group(key, found, [entries[number] for number in found]) for key, found in numbers.items()]


def _group(key: tuple[Any, ...], numbers: Sequence[int], entries: Sequence[LogEntry]) -> Group:
    group = Group(*key)
    group.timed_out = bool(group.timed_out)
    group.last_number, group.records = numbers[-1], len(numbers)
    if group.kind == "hook":
        group.source = entries[-1].source
        group.last_time = max(entry.time or "" for entry in entries)
        for entry in entries:
            group.durations.add(entry.took_ms)
        # Also of those that were never asked: they may have waited long, and a query can ask for that.
        group.duration = max((0.0, *(entry.duration or 0.0 for entry in entries)))
    elif group.kind in EVENTS:
        group.fired = sum(entry.count or 1 for entry in entries)
        for entry in entries:
            time, call = time_key(entry), call_key(entry)
            group.times[time] = group.times.get(time, 0) + (entry.count or 1)
            if call is not None:
                group.calls[call] = group.calls.get(call, 0) + 1
    return group


def _word_of(entry: LogEntry) -> str:
    return outcome_word(entry) if entry.kind in EVENTS else ""


def _is_choosy(query: LogQuery) -> bool:
    """Whether the query asks for more than a session and times."""
    return (
        query.failures
        or query.hides_unmatched
        or any(
            wish is not None
            for wish in (
                query.kinds,
                query.event,
                query.tool,
                query.hook,
                query.project,
                query.agent,
                query.decision,
                query.slower_than_ms,
            )
        )
    )


def _is_ours(fire: str) -> bool:
    return _OURS.match(fire) is not None


def _beginning_of(identifier: str) -> bytes | None:
    """The first bytes of an id, at most three; None if it does not begin with so many hexadecimal digits."""
    digits = identifier[: 2 * _FIRE_BYTES]
    if _HEX.fullmatch(digits) is None:
        return None
    return bytes.fromhex(digits[: len(digits) // 2 * 2])


def _has(fires: bytes, beginning: bytes) -> bool:
    at = fires.find(beginning)
    while at >= 0:
        if at % _FIRE_BYTES == 0:
            return True
        at = fires.find(beginning, at + 1)
    return False


_GROUPS = msgspec.msgpack.Decoder(list[Group])
_KEY = attrgetter(
    *("kind", "level", "event", "subject", "hook", "origin", "project", "agent", "fired_by"),
    *("decision", "mode", "timed_out", "way"),
)
