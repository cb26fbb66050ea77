from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from hookline.log import HookLogger, LogLevel, LogRecord, MemorySink


class Broken:
    """An object that nothing can be done with."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class BrokenMapping(Mapping[str, Any]):
    """A mapping that fails while it is read."""

    def __getitem__(self, key: str) -> Any:
        raise RuntimeError(key)

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("no keys")

    def __len__(self) -> int:
        return 1


class BrokenSink:
    """A sink that fails at everything."""

    def write(self, record: LogRecord) -> None:
        """Fail."""
        raise OSError(record.message)

    def close(self) -> None:
        """Fail."""
        raise OSError("close")


def test_a_record_as_json() -> None:
    """Time, level and message come first, then the fields as plain values."""
    record = LogRecord(
        1739896200.0, LogLevel.WARN, "slow", {"hook": "a", "ms": 3.0, "tags": ("x",), "stdin": b"\xff{}"}
    )
    assert list(record.to_dict().items()) == [
        ("time", "2025-02-18T16:30:00.000Z"),
        ("level", "warn"),
        ("message", "slow"),
        ("hook", "a"),
        ("ms", 3),
        ("tags", ["x"]),
        ("stdin", "\ufffd{}"),
    ]


def test_fields_do_not_hide_the_record_s_own() -> None:
    """A field that is named like a part of the record is shown under another name."""
    record = LogRecord(0, LogLevel.INFO, "own", {"message": "theirs", "time": 1, "level": "x"})
    assert record.to_dict() == {
        "time": "1970-01-01T00:00:00.000Z",
        "level": "info",
        "message": "own",
        "message_": "theirs",
        "time_": 1,
        "level_": "x",
    }


def test_anything_can_be_a_field() -> None:
    """A value that cannot be read costs itself, not the record."""
    endless: list[Any] = []
    endless.append(endless)
    record = LogRecord(
        float("nan"), LogLevel.ERROR, "odd", {"a": Broken(), "b": BrokenMapping(), "c": endless, "d": {1: b"x"}, "e": 1}
    )
    shown = record.to_dict()
    assert "Broken" in shown.pop("a")
    assert shown.pop("c")
    assert shown == {
        "time": None,
        "level": "error",
        "message": "odd",
        "b": "(a BrokenMapping that could not be read: RuntimeError)",
        "d": {"1": "x"},
        "e": 1,
    }


@pytest.mark.req("DELTA-HTEL-001")
def test_each_level_has_its_method() -> None:
    """A logger stamps what it is told with the time and the level and gives it to every sink."""
    sinks = [MemorySink(), MemorySink()]
    logger = HookLogger(sinks, clock=lambda: 5.0)
    logger.debug("a", n=1)
    logger.info("b", self="s")
    logger.warn("c", message="m")
    logger.error("d")
    expected = [
        LogRecord(5.0, LogLevel.DEBUG, "a", {"n": 1}),
        LogRecord(5.0, LogLevel.INFO, "b", {"self": "s"}),
        LogRecord(5.0, LogLevel.WARN, "c", {"message": "m"}),
        LogRecord(5.0, LogLevel.ERROR, "d", {}),
    ]
    assert [sink.records for sink in sinks] == [expected, expected]


def test_a_broken_sink_breaks_nothing() -> None:
    """Neither the caller nor the next sink notices a sink that fails."""
    memory = MemorySink()
    logger = HookLogger([BrokenSink(), memory], clock=lambda: 0)
    logger.info("still here")
    logger.close()
    assert memory.records == [LogRecord(0, LogLevel.INFO, "still here", {})]


def test_a_logger_without_sinks_does_not_look_at_the_clock() -> None:
    """With nobody listening, logging is nothing."""
    asked: list[float] = []

    def clock() -> float:
        asked.append(0)
        return 0

    HookLogger(clock=clock).info("unheard")
    assert asked == []


def test_what_is_told_later_is_of_the_moment_that_it_is_about() -> None:
    """A sink without a thread gets it at once; a broken one keeps nothing from the next."""
    memory = MemorySink()
    log = HookLogger([BrokenSink(), memory], clock=iter((1.0, 2.0)).__next__)

    def tell(telling: HookLogger) -> None:
        telling.debug("first", a=1)
        telling.warn("second")

    log.later(tell, 2)
    log.info("third")
    assert [(record.time, record.level, record.message, dict(record.fields)) for record in memory.records] == [
        (1.0, LogLevel.DEBUG, "first", {"a": 1}),
        (1.0, LogLevel.WARN, "second", {}),
        (2.0, LogLevel.INFO, "third", {}),
    ]


def test_a_fault_in_the_telling_is_told() -> None:
    """What was said before it stays, and nothing is raised."""
    memory = MemorySink()

    def tell(log: HookLogger) -> None:
        log.debug("before")
        raise RuntimeError("speechless")

    HookLogger([memory]).later(tell, 2)
    before, fault = memory.records
    assert before.message == "before"
    assert fault.message.startswith("hookline failed while logging (RuntimeError), so the log lacks")
    assert fault.fields == {"kind": "fault", "stage": "logging"}
