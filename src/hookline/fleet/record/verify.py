"""Checks the records of machines: that none was changed, removed or invented, as far as that can be known.

Records are followed by the chain of their hashes. Anybody can compute hashes, so the heads that a machine signed show
which chain is its own, and how far it goes.
"""

import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from hookline.fleet.keys import Person
from hookline.fleet.record.message import Arrival, Foreign, Stated
from hookline.fleet.record.statement import Source, Statement, StatementKind
from hookline.log.read.verify import ChainCheck, is_record
from hookline.log.write.chain import Head, Link

MOST_FINDINGS = 1000
_UNSIGNED_S = 600.0
"""A machine signs what it has sent every minute."""


class Window(NamedTuple):
    """A time that is asked about, as records write it."""

    since: str | None = None
    until: str | None = None

    def has(self, time: str) -> bool:
        """True if the time is in it."""
        return (self.since is None or time >= self.since) and (self.until is None or time < self.until)


class Gap(msgspec.Struct, frozen=True):
    """Records that a machine had to drop, as it declared."""

    first: int
    last: int


class SourceReport(msgspec.Struct, kw_only=True, rename="camel"):
    """The findings about one chain."""

    source: Source
    records: int = 0
    in_window: int = 0
    first: int | None = None
    last: Head | None = None
    first_time: str | None = None
    last_time: str | None = None
    again: int = 0
    """How many records came more than once, unchanged: sent at least once means that."""
    incomplete: int = 0
    gaps: list[Gap] = []
    anchors: int = 0
    """How many signed heads match."""
    older_anchors: int = 0
    proven: Head | None = None
    """The last record that the machine signed and that is here."""
    proven_time: str | None = None
    key: str | None = None
    knows_key: bool = False
    """True if that key was known before anything was read."""
    findings: list[str] = []

    def find(self, message: str) -> None:
        """Add a finding, within a bound."""
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(message)


class _Strand:
    """One version of a chain."""

    def __init__(self, before: Head) -> None:
        self.hashes: dict[int, bytes] = {before.seq: bytes.fromhex(before.hash)} if before.hash else {}
        self.last = before
        self.first: int | None = None
        self.check = ChainCheck(before)

    def has(self, head: Head) -> bool:
        return self.hashes.get(head.seq) == bytes.fromhex(head.hash)

    def hash_of(self, seq: int) -> str | None:
        found = self.hashes.get(seq)
        return "" if seq == 0 else None if found is None else found.hex()

    def extend(self, link: Link) -> str | None:
        """Add one more record, and return its fault."""
        message = self.check.check(link)
        self.hashes[link.seq] = bytes.fromhex(link.hash)
        self.first = link.seq if self.first is None else self.first
        if link.seq > self.last.seq:
            self.last = Head(link.seq, link.hash)
        return message


class SourceCheck:
    """Follows one machine's chain through the stream, and compares the heads that the machine signed."""

    def __init__(self, source: Source, window: Window) -> None:
        self.report = SourceReport(source=source)
        self._window = window
        self._strands: list[_Strand] = []
        self._declared: list[Gap] = []
        self._is_new_chain = False
        self._heads: list[Statement] = []
        self._other_keys: set[str] = set()
        self._stored: float | None = None
        """When the server stored the first of these records."""

    def add_statement(self, statement: Statement, key: str, expected: str | None) -> None:
        """Add a statement of the machine; heads are compared at the end."""
        self.report.key = self.report.key or expected or key
        self.report.knows_key |= expected is not None
        if key != self.report.key:
            self._find_key(key, statement)
        elif statement.kind is StatementKind.DROPPED:
            self._declared.append(Gap(statement.first, statement.seq))
        elif statement.kind is StatementKind.NEW_CHAIN:
            self._is_new_chain = True
        else:
            self._heads.append(statement)

    def add(self, arrival: Arrival) -> None:
        """Add records, in the order of the stream."""
        self._stored = arrival.seconds if self._stored is None else self._stored
        strand, is_again = None, False
        for line in arrival.lines:
            link = Link.read(line)
            if link is not None:
                strand = strand or self._strand_of(link, arrival.prev)
                is_again = self._add_linked(strand, line, link)
            elif line and not is_again:
                self._add_unlinked(line)

    def _strand_of(self, link: Link, prev: str) -> _Strand:
        before, head = Head(link.seq - 1, prev), Head(link.seq, link.hash)
        for strand in self._strands:
            if strand.has(head) or (strand.last == before and before.hash):
                return strand
        if self._strands and link.seq > self._strands[-1].last.seq:
            # The same chain behind a gap, which the machine may have declared.
            strand = self._strands[-1]
            gap = Gap(strand.last.seq + 1, link.seq - 1)
            if gap in self._declared:
                self.report.gaps.append(gap)
                strand.check = ChainCheck(before)
            return strand
        if self._strands:
            self._find_second_chain(link)
        self._strands.append(_Strand(before))
        return self._strands[-1]

    def _find_second_chain(self, link: Link) -> None:
        why = "they were invented, another machine has the same name, or this one was set up again without its old log"
        if self._is_new_chain:
            self._is_new_chain = False
            why = "the log on the machine was removed or replaced; records that it had not sent before are lost"
        last = self._strands[-1].last.seq
        self.report.find(f"a second chain begins with record {link.seq}, beside the one up to record {last}: {why}")

    def _add_linked(self, strand: _Strand, line: bytes, link: Link) -> bool:
        """Add one record, and return whether it was there before."""
        expected = strand.hash_of(link.seq) if strand.first is not None and link.seq >= strand.first else None
        if expected == link.hash:
            self.report.again += 1
            prev = strand.hash_of(link.seq - 1)
            if prev is not None and not link.follows(prev):
                self.report.find(f"a copy of record {link.seq} was changed")
            return True
        if expected is not None:
            self.report.find(f"there are two different records with the number {link.seq}: one was changed or invented")
        else:
            if message := strand.extend(link):
                self.report.find(message)
            self._count(line, link)
        return False

    def _count(self, line: bytes, link: Link) -> None:
        report, time = self.report, _time_of(line)
        report.records += 1
        report.first = link.seq if report.first is None else report.first
        report.last = Head(link.seq, link.hash)
        report.first_time = report.first_time or time
        report.last_time = time or report.last_time
        report.in_window += self._window.has(time or "")

    def _add_unlinked(self, line: bytes) -> None:
        if is_record(line):
            self.report.find("a record has no sequence number and hash: invented, or written while the log was locked")
        else:
            self.report.incomplete += 1

    def _find_key(self, key: str, statement: Statement) -> None:
        if key in self._other_keys or len(self._other_keys) >= MOST_FINDINGS:
            return
        self._other_keys.add(key)
        self.report.find(
            f"the {statement.kind} of record {statement.seq} at {statement.time} is signed with the key {key[:16]}…,"
            f" and the machine's is {str(self.report.key)[:16]}…: it is forged, another machine has the same name,"
            " or this machine has a new key"
        )

    def finish(self, expected: str | None) -> SourceReport:
        """Compare the signed heads, and return the report; `expected` is the machine's key, if that is known."""
        for statement in self._heads:
            self._compare(statement)
        is_old = self._stored is not None and time.time() - self._stored > _UNSIGNED_S
        if expected is not None and is_old and not self._heads:
            self.report.find(
                "the machine's key is known, and it signed no head of these records: the heads were removed, the"
                " records were invented, or its service ended before it could sign"
            )
        return self.report

    def _compare(self, statement: Statement) -> None:
        head, report = statement.head, self.report
        if any(strand.has(head) for strand in self._strands):
            report.anchors += 1
            if report.proven is None or head.seq > report.proven.seq:
                report.proven, report.proven_time = head, statement.time
            return
        firsts = [strand.first for strand in self._strands if strand.first is not None]
        if firsts and head.seq < min(firsts):
            report.older_anchors += 1
        elif not any(gap.first <= head.seq <= gap.last for gap in report.gaps):
            last = max((strand.last.seq for strand in self._strands), default=0)
            if head.seq > last:
                ends = f"and the records end with {last}: the end was cut off" if last else "and no record is there"
                report.find(f"the machine signed record {head.seq} at {statement.time}, {ends}")
            else:
                report.find(
                    f"record {head.seq} is not the one that the machine signed at {statement.time}: it or one before it"
                    " was changed or removed, and the hashes were computed again"
                )


class AuditResult(msgspec.Struct, kw_only=True):
    """The findings about all chosen machines."""

    sources: list[SourceReport]
    findings: list[str]
    """Findings that belong to no chain: foreign messages and forged statements."""

    @property
    def is_intact(self) -> bool:
        """True if nothing was changed, removed or invented, as far as was checked."""
        return not self.findings and not any(report.findings for report in self.sources)


class Audit:
    """Checks everything that the stream has about some machines."""

    def __init__(self, window: Window, keys: Mapping[Person, str]) -> None:
        """`keys` are those that are known, by machine and user; otherwise the first that is seen counts."""
        self._window = window
        self._keys = keys
        self._checks: dict[Source, SourceCheck] = {}
        self._findings: list[str] = []

    def add(self, arrived: Arrival | Stated | Foreign) -> None:
        """Add one message, in the order of the stream."""
        match arrived:
            case Arrival():
                self._check(arrived.source).add(arrived)
            case Stated():
                self.add_statement(arrived)
            case Foreign():
                self._find(f"{arrived.machine}: {arrived.why}")

    def add_statement(self, stated: Stated) -> None:
        """Add a signed statement."""
        statement = stated.statement
        if stated.opened.is_genuine:
            expected = self._keys.get(statement.source.person)
            self._check(stated.source).add_statement(statement, stated.opened.key, expected)
        else:
            what = f"the {statement.kind} of record {statement.seq} at {statement.time}"
            self._find(f"{statement.source}: a statement is forged, its signature is wrong ({what})")

    def finish(self) -> AuditResult:
        """Return the findings."""
        reports = [check.finish(self._keys.get(source.person)) for source, check in sorted(self._checks.items())]
        return AuditResult(sources=reports, findings=self._findings)

    def _check(self, source: Source) -> SourceCheck:
        return self._checks.setdefault(source, SourceCheck(source, self._window))

    def _find(self, message: str) -> None:
        if len(self._findings) < MOST_FINDINGS:
            self._findings.append(message)


def arrivals_of_log(blocks: Iterable[bytes], source: Source) -> Iterable[Arrival]:
    """Yield the lines of a log file as if they had come from the stream."""
    prev: str | None = None
    for block in blocks:
        lines = tuple(block.removesuffix(b"\n").split(b"\n"))
        links = [link for line in lines if (link := Link.read(line)) is not None]
        if prev is None:
            prev = (links[0].prev or "") if links else ""
        yield Arrival(team="", source=source, prev=prev, lines=lines, seconds=0.0)
        prev = links[-1].hash if links else prev


class _Timed(msgspec.Struct):
    time: str | None = None


_TIMED = msgspec.json.Decoder(_Timed)


def _time_of(line: bytes) -> str | None:
    try:
        return _TIMED.decode(line).time
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
