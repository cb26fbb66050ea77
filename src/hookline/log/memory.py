from hookline.contract.records import LogRecord
from hookline.log.logger import Loggable


class MemorySink:
    """Keeps the records in memory."""

    def __init__(self) -> None:
        self.records = list[LogRecord]()

    def write(self, entry: Loggable) -> None:
        """Keep the entry's records."""
        self.records += entry.records()

    def close(self) -> None:
        """Do nothing: the records stay readable."""
