import pytest

from hookline.log import LogLevel, LogRecord, MemorySink, Redactor


@pytest.mark.parametrize(("maximum", "kept"), [(None, [0, 1, 2, 3]), (2, [2, 3]), (0, [])])
def test_the_latest_records_are_kept(maximum: int | None, kept: list[int]) -> None:
    """Memory is bounded by the maximum, if there is one."""
    sink = MemorySink(maximum)
    for number in range(4):
        sink.write(LogRecord(number, LogLevel.INFO, "n"))
    sink.close()
    assert [record.time for record in sink.records] == kept


def test_secrets_can_be_replaced() -> None:
    """With a redactor, secrets are not even kept in memory."""
    sink = MemorySink(redactor=Redactor(["password"], {}))
    sink.write(LogRecord(0, LogLevel.INFO, "in", {"password": "abc"}))
    assert sink.records == [LogRecord(0, LogLevel.INFO, "in", {"password": "[redacted]"})]
