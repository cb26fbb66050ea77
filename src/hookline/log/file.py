import atexit
import os
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from hookline.contract.text import printable, tell
from hookline.contract.wire import stringify_json
from hookline.log._appender import Appender
from hookline.log.records import DeferringSink, LogLevel, LogRecord, Tell, records_of
from hookline.log.redact import Redactor

MAX_BYTES = 10 * 1024 * 1024
BACKUPS = 5
FIELD_LIMIT = 64 * 1024

_MAX_WAITING = 10_000
_BATCH = 256
_CLOSE_WAIT_S = 3.0
_GATHER_S = 0.02


class FileSink(DeferringSink):
    """Appends records to a file as JSON Lines, from a thread of its own that starts with the first record.

    The file is rotated to `<name>.1` and onwards; several processes may share it. What cannot be written is said once
    on stderr and then dropped.
    """

    def __init__(
        self,
        path: Path,
        *,
        max_bytes: int = MAX_BYTES,
        backups: int = BACKUPS,
        field_limit: int = FIELD_LIMIT,
        redactor: Redactor | None = None,
    ) -> None:
        self._appender_options = (path, max_bytes, backups)
        self._encoder = _Encoder(field_limit, redactor)
        # By process: a forked child has neither the thread nor any business writing what its parent still holds.
        self._writers: dict[int, _Writer] = {}

    def write(self, record: LogRecord) -> None:
        """Hand the record to the writer's thread; after `close()` it is dropped."""
        self._writer().put(record, 1)

    @property
    def defers(self) -> bool:
        """False for who overrides `write`, and so wants to see every record."""
        return type(self).write is FileSink.write

    def write_later(self, tell: Tell, seconds: float, count: int) -> None:
        """Hand what there is to tell to the writer's thread; after `close()` it is dropped."""
        self._writer().put((tell, seconds, count), count)

    def close(self) -> None:
        """Wait, a few seconds at most, until every record is in the file."""
        writer = self._writer()
        writer.stop()
        writer.join(_CLOSE_WAIT_S)

    def _writer(self) -> "_Writer":
        pid = os.getpid()
        writer = self._writers.get(pid)
        if writer is None:
            writer = self._writers.setdefault(pid, _Writer(Appender(*self._appender_options), self._encoder))
        return writer

    def __del__(self) -> None:
        # Put on a SimpleQueue, which alone among queues may be used while garbage is collected.
        for writer in self._writers.values():
            writer.stop()


def log_path(given: str | None) -> Path:
    """The file that the settings name, or the usual one where they name none, or nothing that can be a file."""
    if not given:
        return default_log_path()
    try:
        path = Path(given).expanduser()
        if b"\0" not in os.fsencode(path):
            return path
    except (RuntimeError, UnicodeError):  # "~nobody/…" for somebody who does not exist, or half a character
        pass
    tell(f"hooksConfig.log.path {printable(given)} can't name a file; the usual log is used")
    return default_log_path()


def default_log_path() -> Path:
    """The file that hook runs are recorded in: below HOOKLINE_STATE_DIR, or else the user's state directory."""
    if directory := os.environ.get("HOOKLINE_STATE_DIR"):
        return Path(directory) / "hooks.jsonl"
    from platformdirs import user_state_path  # noqa: PLC0415 - half of the cost of importing this module

    return user_state_path("hookline") / "hooks.jsonl"


class _Encoder:
    """Turns records into lines."""

    def __init__(self, field_limit: int, redactor: Redactor | None) -> None:
        self._field_limit = field_limit
        self._redactor = redactor

    def line(self, record: LogRecord) -> bytes:
        try:
            # Before cutting: JSON text that was cut can no longer be searched by key.
            shown = self._redactor.redact(record) if self._redactor else record
            return stringify_json(self._shorten(shown.to_dict())) + b"\n"
        except Exception as error:  # noqa: BLE001 - a record that cannot be written must not cost the ones after it
            return _note(record.time, "a record could not be written", error=type(error).__name__)

    def _shorten(self, value: Any) -> Any:
        if isinstance(value, str):
            more = len(value) - self._field_limit
            return f"{value[: self._field_limit]}… ({more} more characters)" if more > 0 else value
        if isinstance(value, dict):
            return {key: self._shorten(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._shorten(item) for item in value]
        return value


# A record; or what makes records, of which moment (seconds since 1970), and how many of them.
_Item = LogRecord | tuple[Tell, float, int]


class _Writer:
    """The queue and the thread of one sink in one process."""

    def __init__(self, appender: Appender, encoder: _Encoder) -> None:
        self._pid = os.getpid()
        self._appender = appender
        self._encoder = encoder
        self._queue: SimpleQueue[_Item | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._hurry = threading.Event()
        self._waiting = 0
        self._lost = 0

    def put(self, item: _Item, count: int) -> None:
        if self._stopped:
            return
        with self._lock:
            if self._waiting >= _MAX_WAITING:
                self._lost += count
                return
            self._waiting += count
            if self._waiting >= _BATCH:
                self._hurry.set()
        self._queue.put(item)
        if self._thread is None:
            self._start()

    def stop(self) -> None:
        self._stopped = True
        if self._pid == os.getpid():
            self._queue.put(None)
            self._hurry.set()

    def join(self, timeout_s: float) -> None:
        thread = self._thread
        if self._pid == os.getpid() and thread is not None and thread is not threading.current_thread():
            thread.join(timeout_s)

    def _start(self) -> None:
        with self._lock:
            if self._thread is not None:
                return
            thread = threading.Thread(target=self._run, name="hookline-log", daemon=True)
            _running.add(self)
            try:
                thread.start()
            except RuntimeError:
                _running.discard(self)
            else:
                self._thread = thread
                return
        # No threads any more (the interpreter is ending, or the system is out of them), so the caller has to wait.
        while not self._queue.empty():
            self._append_batch(self._queue.get())

    def _run(self) -> None:
        while True:
            first = self._queue.get()
            # Being woken for every record would take time from the hooks; a moment later there are several.
            if not self._stopped and self._hurry.wait(_GATHER_S):
                self._hurry.clear()
            if not self._append_batch(first):
                break
        self._appender.close()
        _running.discard(self)

    def _append_batch(self, first: _Item | None) -> bool:
        """Write the item and those that wait behind it; False when the last one was reached."""
        batch: list[_Item] = []
        item = first
        while item is not None:
            batch.append(item)
            if len(batch) == _BATCH:
                break
            try:
                item = self._queue.get_nowait()
            except Empty:
                break
        self._appender.append(self._lines(batch))
        return item is not None

    def _lines(self, batch: Iterable[_Item]) -> Iterable[bytes]:
        for item in batch:
            if isinstance(item, tuple):
                tell, seconds, count = item
                yield from map(self._encoder.line, records_of(tell, seconds))
            else:
                count = 1
                yield self._encoder.line(item)
            with self._lock:
                self._waiting -= count
        with self._lock:
            lost, self._lost = self._lost, 0
        if lost:
            yield _note(time.time(), "log records were lost: they came faster than they could be written", lost=lost)


def _note(seconds: float, message: str, **fields: Any) -> bytes:
    return stringify_json(LogRecord(seconds, LogLevel.WARN, message, fields).to_dict()) + b"\n"


_running: set[_Writer] = set()


@atexit.register
def _drain_at_exit() -> None:
    deadline = time.monotonic() + _CLOSE_WAIT_S
    writers = list(_running)
    for writer in writers:
        writer.stop()
    for writer in writers:
        writer.join(max(0.0, deadline - time.monotonic()))
