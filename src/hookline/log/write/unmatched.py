import threading
from collections.abc import Callable

from hookline.protocol.records import LogLevel, UnmatchedRecord, about

_MOST_KEYS = 1_000

# Event, subject, reason.
_Key = tuple[str, str | None, str]


class QuietEvents:
    """Counts the events that no hook ran for: the first of a kind makes a record, the others are counted.

    Adding up the `count` of all records gives the number of events.
    """

    def __init__(self, most_keys: int = _MOST_KEYS) -> None:
        self._most_keys = most_keys
        self._counts: dict[_Key, int] = {}
        self._lock = threading.Lock()

    def note(self, event: str, subject: str | None, reason: str, write: Callable[[UnmatchedRecord], None]) -> None:
        """Count an event; if it is the first of this event, subject and reason, `write` gets its record."""
        key = (event, subject, reason)
        with self._lock:
            if key not in self._counts and len(self._counts) >= self._most_keys:
                # A program with endless subjects or sessions must not fill the memory: one key per event counts on.
                key = (event, None, "various reasons; there are too many subjects to list them")
            count = self._counts.get(key)
            self._counts[key] = 0 if count is None else count + 1
        if count is None:
            write(_record(key, 1))

    def flush(self) -> list[UnmatchedRecord]:
        """The records of what was counted since the last call; to be written before the log is closed."""
        with self._lock:
            counted = [(key, count) for key, count in self._counts.items() if count]
            self._counts |= dict.fromkeys((key for key, _ in counted), 0)
        return [_record(key, count, f", {count} more time{'s' * (count > 1)}") for key, count in counted]


def _record(key: _Key, count: int, more: str = "") -> UnmatchedRecord:
    event, subject, reason = key
    return UnmatchedRecord(
        level=LogLevel.DEBUG,
        message=f"{about(event, subject)}: no hook ran{more}: {reason}",
        event=event,
        subject=subject,
        reason=reason,
        hooks=0,
        duration=0.0,
        success=True,
        count=count,
    )
