import json
import os
import tracemalloc
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hookline.errors import HooklineError
from hookline.log import files as _files
from hookline.log.read.entry import LogEntry, LogQuery
from hookline.log.read.reader import LogReader
from hookline.log.write.sink import FileSink
from hookline.protocol.records import FaultRecord, HookRecord, LogLevel
from hookline.protocol.text.json_text import stringify_json, utc_timestamp

Write = Callable[..., None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log" / "hooks.jsonl"


@pytest.fixture
def write(path: Path) -> Write:
    """Appends one record, as the engine writes it, and returns when it is in the file."""
    numbers = count()

    def append(kind: str = "hook", level: str = "debug", **fields: Any) -> None:
        number = next(numbers)
        head = {"kind": kind, "level": level, "message": f"record {number}", "id": f"f{number}-0", "fire": f"f{number}"}
        own = {"event": "BeforeTool", "subject": "ls", "hook": "guard", "success": True, "exitCode": 0}
        texts = {"truncated": False, "stdin": "", "stdout": "", "stderr": ""}
        given = {**head, **own, **texts, "time": utc_timestamp(1_700_000_000.0 + number), **fields}
        sink = FileSink(path)
        sink.write(msgspec.convert(given, HookRecord | FaultRecord))
        sink.close()

    return append


def messages(path: Path, query: LogQuery) -> list[str | None]:
    with LogReader(path) as reader:
        return [entry.message for entry in reader.entries(query)]


def test_a_log_that_is_not_there_is_empty(path: Path) -> None:
    """Before the first event there is nothing to read, and nothing wrong."""
    with LogReader(path) as reader:
        assert (list(reader.entries(LogQuery())), reader.newest(LogQuery(), 5), reader.unreadable) == ([], [], 0)


def test_rotated_files_are_read_oldest_first(path: Path) -> None:
    """A log is one story, in however many files."""
    sink = FileSink(path, max_bytes=1500, backups=12)
    for number in range(100):
        sink.write(FaultRecord(level=LogLevel.DEBUG, message=f"record {number}", traceback="x" * 50))
    sink.close()
    files = sorted(path.parent.glob("hooks.jsonl.*"))
    assert len([file for file in files if file.suffix != ".lock"]) > 9
    told = messages(path, LogQuery())
    assert told == [f"record {number}" for number in range(100 - len(told), 100)]
    with LogReader(path) as reader:
        assert [entry.message for entry in reader.newest(LogQuery(), 60)] == told[-60:]
        assert [entry.message for entry in reader.newest(LogQuery(), 1000)] == told


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        pytest.param(LogQuery(), [0, 1, 2, 3, 4, 5, 6, 7], id="everything"),
        pytest.param(LogQuery(event="AfterTool"), [1], id="event"),
        pytest.param(LogQuery(tool="write_file"), [2], id="tool"),
        pytest.param(LogQuery(hook="audit"), [3], id="hook"),
        pytest.param(LogQuery(hook='say "ä"'), [6], id="hook-escaped"),
        pytest.param(LogQuery(decision="blocked"), [4, 7], id="decision"),
        pytest.param(LogQuery(decision="allowed"), [2], id="allowed"),
        pytest.param(LogQuery(session="s1"), [1, 2], id="session"),
        pytest.param(LogQuery(failures=True), [3, 5], id="failures"),
        pytest.param(LogQuery(slower_than_ms=10), [0], id="slower"),
        pytest.param(LogQuery(since="2023-11-14T22:13:26.000Z"), [6, 7], id="since"),
        pytest.param(LogQuery(kinds=frozenset({"fault"})), [5], id="kind"),
        pytest.param(LogQuery(session="s1", tool="write_file"), [2], id="both"),
        pytest.param(LogQuery(hook="guar"), [], id="whole-names"),
    ],
)
def test_records_are_filtered(query: LogQuery, wanted: list[int], path: Path, write: Write) -> None:
    """Every filter narrows, together they narrow further, and from either end the answer is the same."""
    write(duration=12.5)
    write(event="AfterTool", session="s1", duration=10)
    write(subject="write_file", session="s1", decision="allow")
    write(hook="audit", success=False, exitCode=3, level="warn")
    write(success=False, exitCode=2, decision="deny", level="info")
    write(kind="fault", level="warn")
    write(hook='say "ä"', stdin='{"hook":"audit","session":"s1"}')
    write(decision="block")
    expected = [f"record {number}" for number in wanted]
    assert messages(path, query) == expected
    with LogReader(path) as reader:
        assert [entry.message for entry in reader.newest(query, 100)] == expected
        assert [entry.message for entry in reader.newest(query, 1)] == expected[-1:]


@pytest.mark.parametrize(
    ("entry", "fails", "blocks"),
    [
        pytest.param(LogEntry(kind="hook", success=True, exit_code=0), False, False, id="fine"),
        pytest.param(
            LogEntry(kind="hook", level="info", success=False, exit_code=2, decision="deny"), False, True, id="deny"
        ),
        pytest.param(LogEntry(kind="hook", level="warn", success=False, exit_code=3), True, False, id="exit-3"),
        pytest.param(
            LogEntry(kind="hook", level="warn", success=False, exit_code=0, signal=9), True, False, id="killed"
        ),
        pytest.param(
            LogEntry(kind="hook", level="warn", success=False, exit_code=1, decision="deny"),
            True,
            True,
            id="failure-that-blocks",
        ),
        pytest.param(LogEntry(kind="hook", success=True, exit_code=0, result="blocked"), False, True, id="stop"),
        pytest.param(LogEntry(kind="hook", level="warn", success=False, error="timed out"), True, False, id="timeout"),
        pytest.param(
            LogEntry(kind="event", level="warn", success=False, decision="deny"), False, False, id="not-a-run"
        ),
    ],
)
def test_failing_and_denying_are_different(entry: LogEntry, fails: bool, blocks: bool) -> None:
    """A hook that denies has done its work."""
    assert (entry.is_failure, entry.is_block) == (fails, blocks)


def test_kinds_and_fields_of_other_versions_are_read(path: Path, write: Write) -> None:
    """A log may have been written by an older or a newer hookline."""
    write()
    with path.open("ab") as file:
        file.write(b'{"message":"no kind"}\n{"kind":"new","event":"X","count":3,"more":{"deep":[1]}}\n')
    with LogReader(path) as reader:
        _, old, new = reader.entries(LogQuery())
        assert (old, new) == (LogEntry(message="no kind"), LogEntry(kind="new", event="X", count=3))
        assert reader.unreadable == 0


def test_lines_that_are_not_records_are_counted(path: Path, write: Write) -> None:
    """A torn line, or one of another program, costs that line."""
    write()
    with path.open("ab") as file:
        file.write(b'{"time": "2023\n\n[1]\n{"message": 7}\n{"message":"from \\ud800 JavaScript"}\n{"mess')
    with LogReader(path) as reader:
        assert [entry.message for entry in reader.entries(LogQuery())] == ["record 0", "from \ud800 JavaScript"]
        assert reader.unreadable == 3


@pytest.mark.parametrize("query", [LogQuery(session="s"), LogQuery(failures=True), LogQuery(decision="blocked")])
def test_no_filter_hides_lines_that_are_not_records(path: Path, query: LogQuery) -> None:
    """A torn line may have been a wanted record, so it is counted whatever is asked for."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b'{"time": "2023\n')
    with LogReader(path) as reader:
        assert list(reader.entries(query)) == []
        assert reader.unreadable == 1


def test_a_record_with_odd_values_is_a_record(path: Path, write: Write) -> None:
    """Records that msgspec can't read: a value that is nested too deep, or an infinite time."""
    write()
    with path.open("ab") as file:
        file.write(b'{"message":"deep","x":' + b"[" * 5000 + b"]" * 5000 + b"}\n")
        file.write(b'{"message":"long","kind":"hook","hook":"slow","duration":1e999}\n')
    with LogReader(path) as reader:
        assert [entry.message for entry in reader.entries(LogQuery())] == ["record 0", "deep", "long"]
        (numbers,) = reader.statistics(LogQuery(hook="slow")).hooks.values()
        assert (numbers.runs, numbers.durations.maximum, reader.unreadable) == (1, 0.0, 0)


def test_no_name_of_a_log_hides_its_rotated_files(tmp_path: Path) -> None:
    """Brackets and stars in a name are letters like others."""
    for name in ("log[1].jsonl", "[!a].jsonl", "a*?.jsonl"):
        path = tmp_path / name
        path.with_name(f"{name}.1").write_text('{"message":"older"}\n')
        path.write_text('{"message":"newer"}\n')
        assert messages(path, LogQuery()) == ["older", "newer"]


def test_lines_longer_than_a_block_are_whole(path: Path, write: Write) -> None:
    """A record of several megabytes is a record, read from either end."""
    write()
    big = {"message": "big", "kind": "hook", "stdout": "x" * 3_000_000}
    with path.open("a") as file:
        file.write(json.dumps(big) + "\n")
    write()
    assert messages(path, LogQuery()) == ["record 0", "big", "record 1"]
    with LogReader(path) as reader:
        assert [entry.message for entry in reader.newest(LogQuery(), 3)] == ["record 0", "big", "record 1"]


def test_a_run_is_found_by_its_id(path: Path, write: Write) -> None:
    """By the run's id, the beginning of it, or the event's, with all that was written about it."""
    for _ in range(12):
        write(stdin="in", stdout="out")
    with LogReader(path) as reader:
        (record,) = reader.whole_records("f7-0")
        assert (record["message"], record["stdin"], record["stdout"]) == ("record 7", "in", "out")
        assert [found["message"] for found in reader.whole_records("f1")] == ["record 1", "record 10", "record 11"]
        assert reader.whole_records("f99-0") == []


def test_no_file_is_missed_while_the_log_is_rotated(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that gets its new name after the names were listed is found all the same, each file once."""
    rotated = path.with_name(f"{path.name}.1")
    older = path.with_name(f"{path.name}.2")
    path.parent.mkdir(parents=True, exist_ok=True)
    rotated.write_bytes(b"first\n")
    path.write_bytes(b"second\n")
    list_names = _files._rotated

    def list_and_rotate(log: Path) -> list[Path]:
        names = list_names(log)
        if not older.exists():
            rotated.rename(older)
            path.rename(rotated)
            path.write_bytes(b"third\n")
        return names

    monkeypatch.setattr(_files, "_rotated", list_and_rotate)
    found = _files.open_all(path)
    assert [b"".join(file.blocks()) for file in found] == [b"first\n", b"second\n", b"third\n"]
    for file in found:
        file.close()


def test_new_records_are_followed_through_a_rotation(path: Path, write: Write) -> None:
    """Records written after the log was opened arrive in order, also from the file that was rotated away."""
    write()

    def rotate() -> None:
        write()
        path.rename(path.with_name("hooks.jsonl.1"))
        write()

    steps: list[Write] = [write, lambda: write(hook="other"), rotate, write]

    def step() -> None:
        steps.pop()()

    with LogReader(path) as reader:
        assert len(reader.newest(LogQuery(), 9)) == 1
        following = reader.follow(LogQuery(hook="guard"), wait=step)
        assert [next(following).message for _ in range(4)] == ["record 1", "record 2", "record 3", "record 5"]


def test_a_log_can_be_followed_before_it_exists(path: Path, write: Write) -> None:
    """Following starts with nothing and waits."""
    with LogReader(path) as reader:
        assert next(reader.follow(LogQuery(), wait=write)).message == "record 0"


@pytest.mark.parametrize("length", [0, 5_000, 3_000_000])
def test_half_a_line_is_waited_for(path: Path, length: int) -> None:
    """A line that is still being written is read when it is whole, however long it is."""
    path.parent.mkdir()
    path.write_bytes(b'{"message":"zero"}\n{"stdin":"' + b"x" * length + b'","message":"on')
    parts = iter([b'e"}', b'\n{"message":"two"}\n'])

    def add() -> None:
        with path.open("ab") as file:
            file.write(next(parts))

    with LogReader(path) as reader:
        assert [entry.message for entry in reader.entries(LogQuery())] == ["zero"]
        following = reader.follow(LogQuery(), wait=add)
        assert [next(following).message for _ in range(2)] == ["one", "two"]


def test_memory_does_not_grow_with_the_log(path: Path) -> None:
    """Forty megabytes of records are filtered and counted in the room of a few blocks."""
    path.parent.mkdir()
    line = stringify_json({"kind": "hook", "hook": "guard", "duration": 1.5, "stdin": "x" * 1900}) + b"\n"
    with path.open("wb") as file:
        for _ in range(20):
            file.write(line * 1000)
    tracemalloc.start()
    try:
        with LogReader(path) as reader:
            assert sum(1 for _ in reader.entries(LogQuery(slower_than_ms=1))) == 20_000
            assert sum(1 for _ in reader.entries(LogQuery(hook="guard"))) == 20_000
        assert tracemalloc.get_traced_memory()[1] < 8 * 1024 * 1024
    finally:
        tracemalloc.stop()


def test_files_are_closed(path: Path, write: Write) -> None:
    """Reading leaves no open descriptor behind."""
    write()
    free = os.open(path, os.O_RDONLY)
    os.close(free)
    messages(path, LogQuery())
    assert os.open(path, os.O_RDONLY) == free
    os.close(free)


def test_what_is_no_log_is_told_and_not_waited_for(tmp_path: Path) -> None:
    """A directory, or a pipe without a writer, is an error with its name."""
    os.mkfifo(tmp_path / "pipe")
    for path, kind in ((tmp_path, "directory"), (tmp_path / "pipe", "FIFO"), (Path("/dev/zero"), "device")):
        with pytest.raises(HooklineError, match=rf"the log {path} cannot be read: it is a {kind}, not a regular file"):
            LogReader(path)
