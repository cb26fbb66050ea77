from hookline.log.records import LogRecord
from hookline.log.redact import Redactor


class MemorySink:
    """Keeps records in memory; the latest ones only, if there is a maximum."""

    def __init__(self, maximum: int | None = None, *, redactor: Redactor | None = None) -> None:
        self.records: list[LogRecord] = []
        self._maximum = maximum
        self._redactor = redactor

    def write(self, record: LogRecord) -> None:
        """Keep the record."""
        self.records.append(self._redactor.redact(record) if self._redactor else record)
        if self._maximum is not None:
            del self.records[: max(0, len(self.records) - self._maximum)]

    def close(self) -> None:
        """Do nothing: the records stay readable."""
