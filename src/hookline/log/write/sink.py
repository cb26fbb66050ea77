import atexit
import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from queue import Empty, SimpleQueue

from hookline.log.redact.redactor import Redactor
from hookline.log.write.appender import Appender
from hookline.log.write.encode import Encoder, fault_line
from hookline.log.write.logger import DurableSink, Loggable
from hookline.protocol.records import LogRecord, Start
from hookline.protocol.text.secret_names import SECRET_NAMES

MAX_BYTES = 10 * 1024 * 1024
BACKUPS = 5

_FIELD_LIMIT = 64 * 1024
_MAX_WAITING = 10_000
# With so many waiting, the thread hurries; and with so many, the caller waits a moment, rather than lose one.
_BEHIND = 4_000
_CROWDED = 6_000
_CROWDED_WAIT_S = 0.001
_MOST_WAITS = 1_000
_BATCH = 256
_CLOSE_WAIT_S = 3.0
_GATHER_S = 0.02
# If there are many, events come one upon the other. Taking turns with them would slow them down, so their end is waited
# for, this long at most.
_BURST = 100
_BURST_S = 0.08
# A thread that waits for the interpreter's lock while another computes gets it after 5 ms. So the log's thread pauses
# after each slice, unless many wait: a single event must not wait for the records of others.
_SLICE_S = 0.00025
_PAUSE_S = 0.0005


class _Own:
    """The process that this is: asking the kernel twice in every event would take measurable time."""

    def __init__(self) -> None:
        self.look()
        os.register_at_fork(after_in_child=self.look)

    def look(self) -> None:
        self.pid = os.getpid()


_own = _Own()


class FileSink(DurableSink):
    """Appends records to a file as JSON Lines, from a thread of its own that starts with the first entry.

    The file is rotated to `<name>.1` and so on; several processes may share it. If it can't be written, stderr says so
    once, and the records are dropped.
    """

    def __init__(
        self, path: Path, *, max_bytes: int = MAX_BYTES, backups: int = BACKUPS, redactor: Redactor | None = None
    ) -> None:
        encoder = Encoder(_FIELD_LIMIT, redactor or Redactor(SECRET_NAMES, os.environ))
        self._writers = _Writers(lambda: _Writer(Appender(path, max_bytes, backups), encoder))

    def write(self, entry: Loggable) -> None:
        """Pass the entry to the writer's thread; after `close()` it is dropped."""
        self._writers[_own.pid].put(entry)

    def write_start(self, start: Start) -> None:
        """Append a start to the file before this returns; after `close()` it is dropped."""
        self._writers[_own.pid].append_start(start)

    def write_now(self, records: Iterable[LogRecord]) -> bool:
        """Write records to the file before this returns, ahead of those that wait; False if that is impossible."""
        return self._writers[_own.pid].append(records)

    def close(self) -> None:
        """Wait, a few seconds at most, until everything is in the file."""
        writer = self._writers[_own.pid]
        writer.stop()
        writer.join(_CLOSE_WAIT_S)

    def __del__(self) -> None:
        # This may run during garbage collection, where of all queues only SimpleQueue is safe.
        for writer in self._writers.values():
            writer.stop()


class _Writers(dict[int, "_Writer"]):
    """By process: a forked child does not have the thread, and must not write what waits in its parent."""

    def __init__(self, make: Callable[[], "_Writer"]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, pid: int) -> "_Writer":
        return self.setdefault(pid, self._make())


class _Writer:
    """The queue and the thread of one sink in one process."""

    def __init__(self, appender: Appender, encoder: Encoder) -> None:
        self._pid = os.getpid()
        self._appender = appender
        self._encoder = encoder
        self._queue: SimpleQueue[Loggable | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopped = False
        # How many of the entries that were gathered are not written yet.
        self._due = 0
        self._encoded = self._waited_at = 0
        self._waits_left = _MOST_WAITS
        self._hurry = threading.Event()
        self._lost = 0

    def put(self, entry: Loggable) -> None:
        if self._stopped:
            return
        waiting = self._queue.qsize()
        if waiting >= _MAX_WAITING:
            with self._lock:
                self._lost += 1
            return
        if waiting >= _BEHIND:
            self._hurry.set()
        self._queue.put(entry)
        if self._thread is None:
            self._start()
        elif waiting >= _CROWDED:
            self._wait_for_room()

    def _wait_for_room(self) -> None:
        """Give the thread a moment, unless it makes no progress: a file that can't be written delays no event."""
        if self._waited_at != self._encoded:
            self._waited_at, self._waits_left = self._encoded, _MOST_WAITS
        if self._waits_left > 0:
            self._waits_left -= 1
            time.sleep(_CROWDED_WAIT_S)

    def append_start(self, start: Start) -> None:
        if not self._stopped:
            self._appender.append(self._encoder.start_lines(start))

    def append(self, records: Iterable[Loggable]) -> bool:
        return self._appender.append(line for record in records for line in self._encoder.lines(record))

    def stop(self) -> None:
        self._stopped = True
        if self._pid == os.getpid():
            self._queue.put(None)
            self._hurry.set()

    def join(self, timeout_s: float) -> None:
        thread = self._thread
        if self._pid == os.getpid() and thread is not None and thread is not threading.current_thread():
            thread.join(timeout_s)
        elif thread is None:
            self._appender.close()

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
        # No thread can be started (the interpreter is ending, or there are too many), so the caller writes.
        while not self._queue.empty():
            self._append_batch(self._queue.get())

    def _run(self) -> None:
        while self._write_next():
            pass
        self._appender.close()
        _running.discard(self)

    def _write_next(self) -> bool:
        """Wait for entries and write them; False when the last one was reached."""
        first = self._queue.get()
        # Waking up for every entry would take time from the hooks; a moment later there are several.
        if self._due <= 0:
            self._gather()
            self._due = self._queue.qsize() + 1
        return self._append_batch(first)

    def _gather(self) -> None:
        is_hurried = self._stopped or self._hurry.wait(_GATHER_S)
        if not is_hurried and self._queue.qsize() >= _BURST:
            is_hurried = self._hurry.wait(_BURST_S)
        if is_hurried:
            self._hurry.clear()

    def _append_batch(self, first: Loggable | None) -> bool:
        """Write the entry and those that wait behind it; False when the last one was reached."""
        batch: list[Loggable] = []
        entry = first
        while True:
            if entry is None:
                break
            batch.append(entry)
            if len(batch) >= _BATCH:
                break
            try:
                entry = self._queue.get_nowait()
            except Empty:
                break
        self._due -= len(batch)
        self._appender.append(self._lines(batch))
        return entry is not None

    def _lines(self, batch: Iterable[Loggable]) -> Iterable[bytes]:
        pause_at = time.perf_counter() + _SLICE_S
        for entry in batch:
            yield from self._encoder.lines(entry)
            self._encoded += 1
            if time.perf_counter() > pause_at and not self._stopped and self._queue.qsize() < _BATCH:
                time.sleep(_PAUSE_S)
                pause_at = time.perf_counter() + _SLICE_S
        with self._lock:
            lost, self._lost = self._lost, 0
        if lost:
            yield fault_line("log records were lost: they came faster than they could be written", lost=lost)


_running: set[_Writer] = set()


@atexit.register
def _drain_at_exit() -> None:
    deadline = time.monotonic() + _CLOSE_WAIT_S
    writers = list(_running)
    for writer in writers:
        writer.stop()
    for writer in writers:
        writer.join(max(0.0, deadline - time.monotonic()))
