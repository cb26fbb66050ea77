"""The index changes how long an answer takes, and never the answer."""

import json
import os
import random
import re
from binascii import crc32
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hookline.log.entry import LogQuery
from hookline.log.index import FileIndex, drop_index
from hookline.log.reader import LogReader, Place

STRETCH = 2000


ODD_LINES = [
    *(b"", b"  ", b'{"torn', b"[1]", b'{"message":7,"fire":"00ff00"}', b'{"x":1} {"y":2}', b"\0" * 3000),
    *(b'{"kind":"hook","fire":"0001","duration":%b}' % number for number in (b"1e999", b"NaN", b"-3", b"1e-300")),
    *(b'{"kind":"unmatched","event":"BeforeTool","count":%b}' % number for number in (b"1" + b"0" * 30, b'"7"')),
    b'{"kind":"hook","session":"s","x":' + b"[" * 2000 + b"]" * 2000 + b"}",
]
# Clocks that went wrong, and times as other programs write them.
ODD_TIMES = [None, "", "1970-01-01T00:00:00.000Z", "2199-01-01T00:00:00.000Z", "2025-01-01T04:00:00+02:00", "yesterday"]


def line(number: int, chance: random.Random) -> bytes:
    """A line of a log: a record of any kind, one of a stranger, or none at all."""
    if chance.random() < 0.04:
        return chance.choice(ODD_LINES)
    fire = f"{number // 3:06x}{'' if chance.random() < 0.05 else 'abcd'}"
    others = ["hook", "hook", "hook", "unmatched", "skip", "new"]
    # An end never stands before its start, but often in another stretch, and sometimes it is missing.
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
        "error": chance.choice([None, None, "was not asked: its worker failed 3 times", "timed out after 5ms"]),
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
    LogQuery(hook="guard", decision="deny", kinds=frozenset({"hook"})),
    LogQuery(decision="allow", agent="claude"),
    LogQuery(decision="deny"),
    LogQuery(decision="ask", kinds=frozenset({"event"})),
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
        before = Place.parse(str(page.next))


def answers(path: Path, *, uses_index: bool) -> list[Any]:
    """All that a reader can be asked, with or without an index."""
    found: list[Any] = []
    for query in QUERIES:
        with LogReader(path, uses_index=uses_index, stretch_bytes=STRETCH) as reader:
            found += [list(reader.entries(query)), reader.unreadable]
            found += [reader.newest(query, 7), reader.newest(query, 10_000), list(pages(reader, query, 13))]
            statistics = reader.statistics(query)
            found += [list(statistics.hooks.items()), sorted(statistics.fired.items())]
            found += [sorted(statistics.agents.items()), statistics.unreadable]
    with LogReader(path, uses_index=uses_index, stretch_bytes=STRETCH) as reader:
        found += [list(reader.sessions().items()), list(reader.sessions(3))]
        runs = {run: reader.whole_records(run) for run in ("0000", "00001", "000010abcd", "odd", "zz", "00ff00", "ff")}
    # Otherwise two that find nothing would be alike.
    assert [run for run, records in runs.items() if not records] == ["ff"]
    return [*found, runs]


@pytest.mark.req("WARM-041")
@pytest.mark.parametrize(("seed", "near"), [(1, 0), (2, 3000)])
def test_the_index_changes_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, near: int) -> None:
    """Whatever is asked, and whatever is in the log, a plain scan answers the same."""
    path = tmp_path / "hooks.jsonl"
    write_log(path, seed)
    monkeypatch.setattr("hookline.log.reader._NEAR_BYTES", near)
    monkeypatch.setattr("hookline.log._files._BLOCK", 1500)
    plain = answers(path, uses_index=False)
    assert not index_of(path).exists()
    for _ in range(2):
        for number, (found, wanted) in enumerate(zip(answers(path, uses_index=True), plain, strict=True)):
            assert found == wanted, number
    assert len(list(index_of(path).iterdir())) == 3


def index_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.index")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An indexed log."""
    monkeypatch.setattr("hookline.log.reader._NEAR_BYTES", 0)
    monkeypatch.setattr("hookline.log._files._BLOCK", 1500)
    path = tmp_path / "log" / "hooks.jsonl"
    write_log(path, 1)
    count(path)
    return path


def count(path: Path, **options: Any) -> int:
    """How many records of the session s3 there are."""
    with LogReader(path, stretch_bytes=STRETCH, **options) as reader:
        return sum(1 for _ in reader.entries(LogQuery(session="s3")))


def blocks_read(path: Path, query: LogQuery, monkeypatch: pytest.MonkeyPatch) -> int:
    read: list[int] = []
    real = os.pread

    def counted(descriptor: int, size: int, offset: int) -> bytes:
        read.append(size)
        return real(descriptor, size, offset)

    monkeypatch.setattr("os.pread", counted)
    with LogReader(path, stretch_bytes=STRETCH) as reader:
        reader.statistics(query)
    return sum(read)


@pytest.mark.req("WARM-041")
def test_what_cannot_be_wanted_is_not_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An old time, a session and plain statistics cost a fraction of the log."""
    size = sum(file.stat().st_size for file in path.parent.glob("hooks.jsonl*") if file.is_file())
    for query in (LogQuery(since="2025-01-01T05:50"), LogQuery(session="s3"), LogQuery(), LogQuery(hook="nobody")):
        assert blocks_read(path, query, monkeypatch) < size / 3


def test_it_is_for_the_owner_alone(path: Path) -> None:
    """It tells of sessions and commands, as the log does."""
    assert index_of(path).stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in index_of(path).iterdir()} == {0o600}


def test_it_is_small(tmp_path: Path) -> None:
    """A log in which everything differs gets no index worth mentioning, and answers all the same."""
    path = tmp_path / "hooks.jsonl"
    lines = [json.dumps({"kind": "hook", "hook": f"h{n}", "session": f"s{n % 7}", "time": "2025"}) for n in range(3000)]
    path.write_text("\n".join(lines) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hookline.log._summary._MOST_BYTES", 5000)
        with LogReader(path, stretch_bytes=60_000) as reader:
            assert sum(1 for _ in reader.entries(LogQuery(session="s3"))) == 429
            assert len(reader.statistics(LogQuery()).hooks) == 3000
    (file,) = index_of(path).iterdir()
    assert file.stat().st_size < 2000


def test_it_is_used_by_name_of_the_file_not_of_its_rotation(path: Path) -> None:
    """A rotation renames files, and their indexes stay; the index of a removed file is removed."""
    known = {file.name: file.stat().st_mtime_ns for file in index_of(path).iterdir()}
    path.with_name("hooks.jsonl.2").unlink()
    path.with_name("hooks.jsonl.1").rename(path.with_name("hooks.jsonl.2"))
    path.rename(path.with_name("hooks.jsonl.1"))
    path.write_bytes(path.with_name("hooks.jsonl.1").read_bytes())
    assert count(path) == count(path, uses_index=False)
    now = {file.name: file.stat().st_mtime_ns for file in index_of(path).iterdir()}
    assert len(now) == 3
    assert len(now.items() & known.items()) >= 1


@pytest.mark.req("WARM-041")
@pytest.mark.parametrize("change", ["flip", "cut", "empty", "other", "text", "directory", "writable", "link"])
def test_a_damaged_index_is_made_anew(path: Path, change: str, tmp_path: Path) -> None:
    """Whatever became of its file, the answer is that of the log."""
    wanted = count(path, uses_index=False)
    files = sorted(index_of(path).iterdir())
    for file in files:
        data = file.read_bytes()
        if change == "directory":
            file.unlink()
            file.mkdir()
        elif change == "writable":
            file.write_bytes(files[0].read_bytes())
            file.chmod(0o666)
        elif change == "link":
            file.unlink()
            file.symlink_to(tmp_path / "elsewhere")
        else:
            middle = len(data) // 2
            flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
            new = {"flip": flipped, "cut": data[:middle], "empty": b"", "text": b"no index at all"}
            file.write_bytes(new[change] if change in new else files[1].read_bytes())
    assert count(path) == wanted


@pytest.mark.req("WARM-041")
def test_an_index_that_was_counted_in_another_way_is_made_anew(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of another version is not used, however well it fits the log."""
    before = {file.name: file.read_bytes() for file in index_of(path).iterdir()}
    monkeypatch.setattr("hookline.log.index._VERSION", "another")
    count(path)
    after = {file.name: file.read_bytes() for file in index_of(path).iterdir()}
    assert before.keys() == after.keys()
    assert not before.items() & after.items()


@pytest.mark.req("WARM-041")
@pytest.mark.parametrize("change", ["same size", "shorter", "longer", "replaced", "emptied"])
def test_an_index_of_what_the_log_was_is_not_used(path: Path, change: str) -> None:
    """A log that was changed in another way than by appending is read anew."""
    for file in [*path.parent.glob("hooks.jsonl.?"), path]:
        data = file.read_bytes()
        if change == "same size":
            with file.open("r+b") as log:
                log.write(data.replace(b'"s3"', b'"s4"'))
            os.utime(file, ns=(1, 1))
        elif change == "shorter":
            with file.open("r+b") as log:
                log.truncate(len(data) // 2)
        elif change == "longer":
            with file.open("r+b") as log:
                log.write(data.replace(b'"s3"', b'"s333"') * 2)
        elif change == "replaced":
            file.unlink()
            file.write_bytes(data[::-1])
        else:
            file.write_bytes(b"")
    assert count(path) == count(path, uses_index=False)


@pytest.mark.req("WARM-041")
@pytest.mark.parametrize("added", [b"", b'{"kind":"hook","session":"s3"}\n'], ids=["same size", "grown"])
def test_a_record_that_was_edited_is_read(path: Path, added: bytes) -> None:
    """Also far from the beginning and from the end of what is indexed, and in a file that has grown since."""
    before = count(path)
    for file in [*path.parent.glob("hooks.jsonl.?"), path]:
        data = file.read_bytes()
        edited = data[:600] + re.sub(rb'"session":"s\d"', b'"session":"s3"', data[600:1400]) + data[1400:]
        assert edited != data
        with file.open("r+b") as log:
            log.write(edited[: edited.rindex(b"\n") + 1] + added if added else edited)
        os.utime(file, ns=(1, 1))
    assert count(path) == count(path, uses_index=False) > before


@pytest.mark.req("WARM-041")
def test_a_rotated_file_that_has_grown_is_checked_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was indexed before its last records came; after that it is not read to see that it is the same."""
    rotated = path.with_name("hooks.jsonl.1")
    with rotated.open("ab") as log:
        log.write(b'{"kind":"hook","session":"s3"}\n')
    grown = blocks_read(path, LogQuery(), monkeypatch)
    assert blocks_read(path, LogQuery(), monkeypatch) < grown - rotated.stat().st_size / 2
    assert count(path) == count(path, uses_index=False)


@pytest.mark.parametrize(("mode", "is_used"), [(0o600, True), (0o640, True), (0o620, False), (0o602, False)])
def test_an_index_that_others_can_write_is_not_used(path: Path, mode: int, is_used: bool) -> None:
    """They could hide records by it, as this one does."""
    for file in index_of(path).iterdir():
        index = msgspec.msgpack.decode(file.read_bytes()[4:], type=FileIndex)
        for summary in index.summaries:
            summary.sessions.pop("s3", None)
        data = msgspec.msgpack.encode(index)
        file.write_bytes(crc32(data).to_bytes(4, "big") + data)
        file.chmod(mode)
    assert (count(path) == count(path, uses_index=False)) is not is_used


def test_what_is_appended_is_found(path: Path) -> None:
    """A file that has grown keeps its index; the new part is read, and indexed when it is large."""
    before = count(path)
    for _ in range(12):
        with path.open("ab") as log:
            log.write(b'\n{"kind":"hook","session":"s3","message":"' + b"x" * 500 + b'"}')
        assert count(path) == count(path, uses_index=False)
    assert count(path) == before + 11


def test_an_index_that_cannot_be_kept_is_done_without(path: Path) -> None:
    """A log in a directory that can't be written is read as it is."""
    wanted = count(path)
    drop_index(path)
    assert not index_of(path).exists()
    index_of(path).write_text("somebody's file")
    assert count(path) == wanted
    assert index_of(path).read_text() == "somebody's file"


def test_nothing_is_removed_behind_a_link(path: Path, tmp_path: Path) -> None:
    """A link in place of the directory is neither followed nor written through."""
    drop_index(path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "abc").write_text("precious")
    index_of(path).symlink_to(elsewhere)
    wanted = count(path, uses_index=False)
    assert count(path) == wanted
    drop_index(path)
    assert [file.read_text() for file in elsewhere.iterdir()] == ["precious"]


def test_progress_is_reported_once(path: Path) -> None:
    """The first reader waits for the index, and is told how far it is; the next one does not."""
    drop_index(path)
    reported: list[tuple[int, int]] = []
    count(path, progress=lambda done, needed: reported.append((done, needed)))
    assert reported == sorted(reported)
    assert reported[-1][0] == reported[-1][1] > 20_000
    reported.clear()
    count(path, progress=lambda done, needed: reported.append((done, needed)))
    assert reported == []


def test_a_page_after_its_file_is_gone_is_the_end(path: Path) -> None:
    """Rotation removes the oldest records, also while somebody turns their pages."""
    with LogReader(path, stretch_bytes=STRETCH) as reader:
        assert reader.page(LogQuery(), 5, Place(1, 100)) == ([], None)
    assert Place.parse("no place") is None
