import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from hookline.log.read.verify import verify_log
from hookline.log.write.sink import FileSink
from hookline.protocol.records import LogLevel, StartRecord

TOKEN = "ghp_" + "abcdefghijklmnop0123456789ABCDEFGHIJ"


@pytest.fixture(name="log")
def log_fixture(tmp_path: Path) -> Path:
    return tmp_path / "hooks.jsonl"


def start(number: int = 0, **fields: Any) -> StartRecord:
    facts = {"time": f"t{number}", "session": "s1", "event": "BeforeTool", "subject": "ls", "hooks": ("guard",)}
    given: dict[str, Any] = {**facts, **fields}
    message = f"{given['subject']}: {', '.join(given['hooks'])} started"
    return StartRecord(level=LogLevel.DEBUG, message=message, fire=f"{number:010x}", **given)


def lines_in(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_bytes().splitlines()]


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param({}, id="plain"),
        pytest.param({"hooks": ("x" * 5000,)}, id="long"),
        pytest.param({"subject": "\ud800"}, id="lone-surrogate"),
        pytest.param({"hooks": (f"curl -H 'Authorization: Bearer {TOKEN}'",)}, id="secret"),
    ],
)
def test_a_start_is_in_the_log_at_once(log: Path, odd: dict[str, Any]) -> None:
    """Each has its own time and id, also when the same hooks start again, and no secret is in the file."""
    sink = FileSink(log)
    for number in range(3):
        sink.write_now(start(number, **odd))
        lines = lines_in(log)
        assert [(line["time"], line["fire"]) for line in lines] == [(f"t{n}", f"{n:010x}") for n in range(number + 1)]
    assert {line["kind"] for line in lines} == {"start"}
    assert len({line["message"] for line in lines}) == 1
    assert TOKEN.encode() not in log.read_bytes()
    assert verify_log(log).findings == []
    sink.close()


def test_a_closed_sink_writes_no_start(log: Path) -> None:
    """Nothing is written, and no file appears."""
    sink = FileSink(log)
    sink.close()
    sink.write_now(start())
    assert not log.exists()


def test_a_forked_child_writes_its_own_starts(log: Path) -> None:
    """Both processes write to the same chain."""
    sink = FileSink(log)
    sink.write_now(start(1))
    if (child := os.fork()) == 0:
        sink.write_now(start(2))
        os._exit(0)
    os.waitpid(child, 0)
    sink.write_now(start(3))
    assert [line["fire"] for line in lines_in(log)] == [f"{number:010x}" for number in (1, 2, 3)]
    assert verify_log(log).findings == []
    sink.close()


def test_a_start_stands_before_the_entries_of_its_event(log: Path) -> None:
    """The log's thread writes later than the event's own."""
    sink = FileSink(log)
    for number in range(20):
        sink.write_now(start(number))
        sink.write(start(1000 + number))
        time.sleep(0.002)
    sink.close()
    order = [line["fire"] for line in lines_in(log)]
    assert all(order.index(f"{number:010x}") < order.index(f"{1000 + number:010x}") for number in range(20))
