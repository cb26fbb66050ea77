from hookline.contract.records import LogLevel, SkipRecord
from hookline.log.memory import MemorySink


def test_records_stay_readable() -> None:
    """In the order in which they were written, also after the sink was closed."""
    sink = MemorySink()
    records = [SkipRecord(level=LogLevel.INFO, message=str(number)) for number in range(4)]
    for record in records:
        sink.write(record)
    sink.close()
    assert sink.records == records
