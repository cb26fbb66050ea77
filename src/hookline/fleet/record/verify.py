"""Checks the records of machines: that none was changed, removed or invented, as far as that can be known.

Records are followed by the chain of their hashes. Anybody can compute hashes, so the heads that a machine signed say
which chain is its own, and how far it goes.
"""

from collections.abc import Iterable, Mapping

import msgspec

from hookline.fleet.record.chains import MOST_FINDINGS, SourceCheck, SourceReport, Window
from hookline.fleet.record.message import Arrival, Foreign, Stated
from hookline.fleet.record.source import Source
from hookline.log.write.chain import Link


class AuditResult(msgspec.Struct, kw_only=True):
    """The findings about all chosen machines."""

    sources: list[SourceReport]
    findings: list[str]
    """Findings that belong to no chain: foreign messages and forged statements."""

    @property
    def is_intact(self) -> bool:
        """Whether nothing was changed, removed or invented, as far as was checked."""
        return not self.findings and not any(report.findings for report in self.sources)


class Audit:
    """Takes everything about some machines, and says what is wrong with it."""

    def __init__(self, window: Window, keys: Mapping[tuple[str, str], str]) -> None:
        """`keys` are those that are known, by machine and user; otherwise the first that is seen counts."""
        self._window = window
        self._keys = keys
        self._checks: dict[Source, SourceCheck] = {}
        self._findings: list[str] = []

    def add(self, arrived: Arrival | Stated | Foreign) -> None:
        """Takes what the stream has, in its order."""
        match arrived:
            case Arrival():
                self._check(arrived.source).add(arrived)
            case Stated():
                self.add_statement(arrived)
            case Foreign():
                self._find(f"{arrived.machine}: {arrived.why}")

    def add_statement(self, stated: Stated) -> None:
        """Takes a signed statement."""
        statement = stated.statement
        if stated.opened.is_genuine:
            expected = self._keys.get(statement.source.person)
            self._check(stated.source).add_statement(statement, stated.opened.key, expected)
        else:
            what = f"the {statement.kind} of record {statement.seq} at {statement.time}"
            self._find(f"{statement.source}: a statement is forged, its signature is wrong ({what})")

    def finish(self) -> AuditResult:
        """The findings."""
        reports = [check.finish(self._keys.get(source.person)) for source, check in sorted(self._checks.items())]
        return AuditResult(sources=reports, findings=self._findings)

    def _check(self, source: Source) -> SourceCheck:
        if source not in self._checks:
            self._checks[source] = SourceCheck(source, self._window)
        return self._checks[source]

    def _find(self, message: str) -> None:
        if len(self._findings) < MOST_FINDINGS:
            self._findings.append(message)


def arrivals_of_log(blocks: Iterable[bytes], source: Source) -> Iterable[Arrival]:
    """A log file as if it had come from the stream."""
    prev: str | None = None
    for block in blocks:
        lines = tuple(block.removesuffix(b"\n").split(b"\n"))
        links = [link for line in lines if (link := Link.read(line)) is not None]
        if prev is None:
            prev = (links[0].prev or "") if links else ""
        yield Arrival(team="", source=source, prev=prev, lines=lines, seconds=0.0)
        prev = links[-1].hash if links else prev
