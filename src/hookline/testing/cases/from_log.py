"""Load whole events from the log as recorded cases."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace as changed
from pathlib import Path

from msgspec.structs import replace

from hookline.log.read.entry import LogEntry, LogQuery
from hookline.log.read.reader import LogReader, Records, whole_events
from hookline.log.redact.redactor import Redactor
from hookline.protocol.text.readable import plural
from hookline.stderr import warn_user
from hookline.testing.cases.recorded import NotRecordedError, Recorded, read_event

_MOST_EVENTS = 10_000
_RECORDS_OF_AN_EVENT = 4
_FEW = 50


class EventLoader:
    """Loads the events of a log that a query selects."""

    def __init__(self, path: Path, query: LogQuery, redactor: Redactor) -> None:
        self._path = path
        self._query = query
        self._redactor = redactor
        self._left_out: Counter[str] = Counter()
        self._others = 0

    def newest(self, count: int) -> list[Recorded]:
        """Return the latest events, oldest first; 0 means all."""
        most = min(count or _MOST_EVENTS, _MOST_EVENTS)
        with LogReader(self._path) as reader:
            # Usually the newest records are enough. Some may be of another project, or without an input.
            latest = reader.newest(self._query, most * _RECORDS_OF_AN_EVENT)
            found = self._read(reader, _fires(latest))
            if len(found) < most and len(latest) == most * _RECORDS_OF_AN_EVENT:
                found = self._read(reader, _fires(reader.entries(self._query)))
            if not found:
                every = replace(self._query, project=None)
                self._others = len(set(_fires(reader.entries(every)))) - self._left_out.total()
        return found[-most:]

    def follow(self) -> Iterator[Recorded]:
        """Yield the events that are recorded from now on."""
        with LogReader(self._path) as reader:
            seen: set[str] = set()
            for entry in reader.follow(self._query):
                if entry.fire and entry.fire not in seen and not entry.is_canary:
                    seen.add(entry.fire)
                    with LogReader(self._path) as grown:
                        yield from self._read(grown, [entry.fire])

    def report(self, count: int) -> None:
        """Tell the user which events were left out, and why."""
        for why, times in self._left_out.items():
            warn_user(f"{plural(times, 'event')} left out: {why}")
        if not count:
            more = f", and {plural(self._others, 'event')} of other projects (--all-projects)" if self._others else ""
            warn_user(f"no such event is in {self._path}{more}; it has the events for which a hook ran")

    def _read(self, reader: LogReader, fires: list[str]) -> list[Recorded]:
        found: list[Recorded] = []
        self._left_out.clear()
        self._others = 0
        for records in self._records(reader, fires):
            try:
                recorded = read_event(records)
            except NotRecordedError as error:
                self._left_out[str(error)] += 1
                continue
            if self._query.project not in (None, recorded.project):
                self._others += 1
                continue
            # The patterns may have changed since the log was written.
            found.append(changed(recorded, fields=self._redactor.clean(recorded.fields)))
        return found

    def _records(self, reader: LogReader, fires: list[str]) -> Iterator[Records]:
        # The index of a large log leads to single events; many are read in one pass.
        if len(fires) <= _FEW:
            yield from (reader.whole_records(fire) for fire in fires)
        else:
            yield from whole_events(self._path, fires)


def _fires(entries: Iterable[LogEntry]) -> list[str]:
    """The events of these records, but no canaries: their guard is there for a moment only."""
    read = list(entries)
    canaries = {entry.fire for entry in read if entry.is_canary}
    return list(dict.fromkeys(entry.fire for entry in read if entry.fire and entry.fire not in canaries))
