import pytest

from hookline.log.write.logger import HookLogger, Loggable, MemorySink
from hookline.protocol.records import LogLevel, SkipRecord

RECORD = SkipRecord(level=LogLevel.INFO, message="still here")


class BrokenSink:
    """A sink that fails at everything."""

    def write(self, entry: Loggable) -> None:
        """Fail."""
        raise OSError(str(entry))

    def close(self) -> None:
        """Fail."""
        raise OSError("close")


@pytest.mark.req("DELTA-HTEL-001")
def test_every_sink_gets_every_record() -> None:
    """One sink keeps nothing from the next."""
    sinks = [MemorySink(), MemorySink()]
    HookLogger(sinks).write(RECORD)
    assert [sink.records for sink in sinks] == [[RECORD], [RECORD]]


def test_a_broken_sink_breaks_nothing() -> None:
    """Neither the caller nor the next sink notices a sink that fails."""
    memory = MemorySink()
    logger = HookLogger([BrokenSink(), memory])
    logger.write(RECORD)
    logger.close()
    assert memory.records == [RECORD]


def test_records_stay_readable() -> None:
    """In the order in which they were written, also after the sink was closed."""
    sink = MemorySink()
    records = [SkipRecord(level=LogLevel.INFO, message=str(number)) for number in range(4)]
    for record in records:
        sink.write(record)
    sink.close()
    assert sink.records == records
