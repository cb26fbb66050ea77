"""Logs with records of any kind, odd lines and odd times give the same answers, however they are read."""

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hookline.log.read.entry import LogQuery
from hookline.log.read.reader import LogReader, RecordPosition
from hookline.log.read.statistics import Statistics

ODD_LINES = [
    *(b"", b"  ", b'{"torn', b"[1]", b'{"message":7,"fire":"00ff00"}', b'{"x":1} {"y":2}', b"\0" * 3000),
    *(b'{"kind":"hook","fire":"0001","duration":%b}' % number for number in (b"1e999", b"NaN", b"-3", b"1e-300")),
    *(b'{"kind":"unmatched","event":"BeforeTool","count":%b}' % number for number in (b"1" + b"0" * 30, b'"7"')),
    b'{"kind":"hook","session":"s","x":' + b"[" * 2000 + b"]" * 2000 + b"}",
]
# Clocks that went wrong, and times as other programs write them.
ODD_TIMES = [None, "", "1970-01-01T00:00:00.000Z", "2199-01-01T00:00:00.000Z", "2025-01-01T04:00:00+02:00", "yesterday"]


def line(number: int, chance: random.Random) -> bytes:
    """A line of a log: a record of any kind, one of another program, or none."""
    if chance.random() < 0.04:
        return chance.choice(ODD_LINES)
    fire = f"{number // 3:06x}{'' if chance.random() < 0.05 else 'abcd'}"
    others = ["hook", "hook", "hook", "unmatched", "skip", "new"]
    # An end never comes before its start, but often in another block, and sometimes it is missing.
    kind = chance.choice([["start"], others, ["event", "event", "fault", "cancel", "hook"]][number % 3])
    record: dict[str, Any] = {
        "kind": kind,
        "time": f"2025-01-01T{number // 100:02}:{chance.randrange(60):02}:00.000Z"
        if chance.random() < 0.98
        else chance.choice(ODD_TIMES),
        "level": chance.choice(["debug", "debug", "info", "warn"]),
        "message": f"record {number} \ud800" if chance.random() < 0.01 else f"record {number}",
        "fire": fire if chance.random() < 0.95 else chance.choice([None, f"odd-{number // 3}", f"zz{number // 3}"]),
        "session": chance.choice(["s", f"s{number // 40}", f"s{number // 40}", None]),
        "agent": chance.choice([None, None, None, "claude"]),
        "project": chance.choice([None, "/a", "/a", "/b"]),
        "event": chance.choice(["BeforeTool", "AfterTool"]),
        "subject": chance.choice(["ls", "write_file", None]),
        "hook": chance.choice(["guard", "audit"]) if number % 500 else "rare \udfff",
        "origin": chance.choice(["a.json", "b.json"]),
        "source": chance.choice(["user", "project"]),
        "decision": chance.choice([None, None, "allow", "deny", "block"]),
        "duration": chance.choice([None, 0.5, 12, 12.346, chance.random() * 1000]),
        "error": chance.choice([None, None, "timed out after 5ms"]),
        "unasked": chance.choice([None, None, True]),
        "timedOut": chance.choice([None, False, False, True]),
        "count": chance.choice([None, 4]) if kind == "unmatched" else None,
        "outcome": (None, "blocked", "asked")[number % 3] if kind == "event" else None,
        "decider": (None, "hook", "switch", "fault")[number % 4] if kind == "event" else None,
        "stdin": '{"session":"s","fire":"000001abcd"}',
    }
    given = {key: value for key, value in record.items() if value is not None}
    return json.dumps(given, separators=(",", ":")).encode()


def write_log(path: Path, seed: int, records: int = 450, files: int = 3) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secret
    order = sorted(range(records), key=lambda number: number + (number % 3) * chance.randrange(60))
    lines = [line(number, chance) for number in order]
    path.parent.mkdir(exist_ok=True)
    for number in range(files):
        part = lines[number * records // files : (number + 1) * records // files]
        name = path if number == files - 1 else path.with_name(f"{path.name}.{files - 1 - number}")
        name.write_bytes(b"".join(one + b"\n" for one in part))
    with path.open("ab") as live:
        live.write(b'{"message":"still being wri')


QUERIES = [
    LogQuery(),
    LogQuery(session="s"),
    LogQuery(session="s3"),
    LogQuery(session="nobody"),
    LogQuery(event="AfterTool", tool="write_file"),
    LogQuery(hook="rare \udfff"),
    LogQuery(hook="guard", decision="blocked", kinds=frozenset({"hook"})),
    LogQuery(decision="allowed", agent="claude"),
    LogQuery(decision="blocked"),
    LogQuery(decision="rewritten"),
    LogQuery(decision="asked", kinds=frozenset({"event"})),
    LogQuery(project="/a"),
    LogQuery(project="/nowhere", kinds=frozenset({"hook"})),
    LogQuery(failures=True),
    LogQuery(slower_than_ms=990),
    LogQuery(since="2025-01-01T04:30:00.000Z"),
    LogQuery(until="2025-01-01T01:10:00.000Z"),
    LogQuery(since="2025-01-01T02:00:00.000Z", until="2025-01-01T02:30:00.000Z", kinds=frozenset({"hook", "event"})),
    LogQuery(kinds=frozenset({"start"})),
    LogQuery(kinds=frozenset({"hook"})),
]


def pages(reader: LogReader, query: LogQuery, size: int) -> Iterator[Any]:
    before = None
    while True:
        page = reader.page(query, size, before)
        yield from page.entries
        if page.next is None:
            return
        before = RecordPosition.parse(str(page.next))


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("seed", [1, 2])
def test_every_direction_gives_the_same_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, query: LogQuery
) -> None:
    """Forwards, backwards and page by page, across files and blocks; and the statistics are those of the records."""
    path = tmp_path / "hooks.jsonl"
    write_log(path, seed)
    monkeypatch.setattr("hookline.log.files._BLOCK", 1500)
    with LogReader(path) as reader:
        entries = list(reader.entries(query))
        assert reader.newest(query, 10_000) == entries
        assert reader.newest(query, 7) == entries[-7:]
        assert list(pages(reader, query, 13)) == entries[::-1]
        counted = Statistics()
        for entry in entries:
            counted.add(entry)
        found = reader.statistics(query)
    assert (found.hooks, found.fired, found.agents) == (counted.hooks, counted.fired, counted.agents)
    assert found.unreadable >= 3


def test_sessions_are_those_of_the_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session in several blocks and files is one session, and the one with the latest record is first."""
    path = tmp_path / "hooks.jsonl"
    write_log(path, 3)
    monkeypatch.setattr("hookline.log.files._BLOCK", 1500)
    with LogReader(path) as reader:
        found = reader.sessions()
        assert list(found) == sorted(found, key=lambda name: found[name].last, reverse=True)
        assert list(reader.sessions(3)) == list(found)[:3]
        entries = [entry for entry, _ in reader.lines(LogQuery()) if entry.session is not None]
    assert {name: one.records for name, one in found.items()} == Counter(entry.session for entry in entries)
    own = [entry for entry in entries if entry.session == "s"]
    times = [entry.time or "" for entry in own]
    assert (found["s"].first, found["s"].last) == (min(times), max(times))
    assert found["s"].runs == sum(entry.is_run for entry in own)
    assert found["s"].failures == sum(entry.is_failure for entry in own)


def test_an_event_is_found_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    """With any form of the id; the start is among the records only if the end is missing."""
    path = tmp_path / "hooks.jsonl"
    write_log(path, 4)
    with LogReader(path) as reader:
        runs = {run: reader.whole_records(run) for run in ("0000", "00001", "000010abcd", "odd", "zz", "ff")}
    assert [run for run, records in runs.items() if not records] == ["ff"]
    assert all(str(record["fire"]).startswith(run) for run, records in runs.items() for record in records)
