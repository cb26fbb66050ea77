import threading

import pytest

from hookline.log.write.logger import UnmatchedCounter
from hookline.protocol.records import LogLevel, UnmatchedRecord

NONE = "no hook matches"


def counts(records: list[UnmatchedRecord]) -> list[tuple[str | None, str | None, int | None]]:
    return [(record.event, record.subject, record.count) for record in records]


@pytest.mark.req("HOOK-146")
def test_the_first_event_of_a_kind_makes_a_record() -> None:
    """It names the event, says that no hook ran and why, and counts one."""
    record = UnmatchedCounter().count("BeforeTool", "ls", NONE)
    assert record is not None
    assert (record.level, record.message) == (LogLevel.DEBUG, "BeforeTool ls: no hook ran: no hook matches")
    assert record.to_dict() == {
        "time": record.time,
        "level": "debug",
        "message": record.message,
        "kind": "unmatched",
        "event": "BeforeTool",
        "subject": "ls",
        "duration": 0.0,
        "success": True,
        "reason": NONE,
        "count": 1,
        "hooks": 0,
    }


@pytest.mark.req("HOOK-146")
def test_further_events_are_counted() -> None:
    """The same event, subject and reason leave no second record until the counts are asked for."""
    quiet = UnmatchedCounter()
    given = [("BeforeTool", "ls"), ("BeforeTool", "cat"), ("BeforeModel", None)]
    assert all(quiet.count(event, subject, NONE) for event, subject in given)
    assert not any(quiet.count("BeforeTool", "ls", NONE) for _ in range(5))
    assert quiet.count("BeforeModel", None, NONE) is None
    flushed = quiet.flush()
    assert counts(flushed) == [("BeforeTool", "ls", 5), ("BeforeModel", None, 1)]
    assert [record.message for record in flushed] == [
        "BeforeTool ls: no hook ran, 5 more times: no hook matches",
        "BeforeModel: no hook ran, 1 more time: no hook matches",
    ]


def test_counts_are_given_once() -> None:
    """A flush starts the counting again, without a second first record."""
    quiet = UnmatchedCounter()
    for _ in range(3):
        quiet.count("BeforeTool", "ls", NONE)
    assert counts(quiet.flush()) == [("BeforeTool", "ls", 2)]
    assert quiet.flush() == []
    assert quiet.count("BeforeTool", "ls", NONE) is None
    assert counts(quiet.flush()) == [("BeforeTool", "ls", 1)]


def test_another_reason_is_another_kind() -> None:
    """An event without a run for another reason makes a separate record."""
    quiet = UnmatchedCounter()
    quiet.count("BeforeTool", "ls", NONE)
    assert quiet.count("BeforeTool", "ls", "1 untrusted") is not None


def test_memory_is_bounded() -> None:
    """Beyond so many subjects the events are counted by their name only, and none is forgotten."""
    quiet = UnmatchedCounter(most_keys=3)
    records = [record for number in range(100) if (record := quiet.count("BeforeTool", f"t{number}", NONE))]
    assert counts(records) == [("BeforeTool", f"t{number}", 1) for number in range(3)] + [("BeforeTool", None, 1)]
    assert counts(quiet.flush()) == [("BeforeTool", None, 96)]


def test_threads_count_together() -> None:
    """Loops in several threads may share the counter."""
    quiet, records = UnmatchedCounter(), list[UnmatchedRecord | None]()
    workers = [
        threading.Thread(target=lambda: records.extend(quiet.count("BeforeTool", "ls", NONE) for _ in range(2_000)))
        for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sum(record is not None for record in records) == 1
    assert counts(quiet.flush()) == [("BeforeTool", "ls", 7_999)]
