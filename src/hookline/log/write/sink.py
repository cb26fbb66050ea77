"""The log file: records are encoded and appended in a separate thread, starts before the call returns."""

import atexit
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue

from hookline.log.redact.redactor import Redactor
from hookline.log.write.appender import Appender
from hookline.log.write.encode import Encoder, fault_line
from hookline.log.write.logger import DurableSink, Loggable
from hookline.protocol.text.secret_names import SECRET_NAMES

MAX_BYTES = 10 * 1024 * 1024
BACKUPS = 5

_FIELD_LIMIT = 64 * 1024
_MAX_WAITING = 10_000
# From here on the caller waits a moment for the thread, rather than lose a record.
_CROWDED = 6_000
_CROWDED_WAIT_S = 0.001
_MOST_WAITS = 1_000
_BATCH = 256
_CLOSE_WAIT_S = 3.0
# Waking up for every entry would take time from the hooks; a moment later there are several.
_GATHER_S = 0.02
# A thread that waits for the interpreter's lock while another computes gets it after 5 ms. So the log's thread pauses
# after each slice, unless many wait: a single event must not wait for the records of others.
_SLICE_S = 0.00025
_PAUSE_S = 0.0005


class FileSink(DurableSink):
    """Appends records to a file as JSON Lines, from a thread that starts with the first entry.

    The file is rotated to `<name>.1` and so on; several processes may share it. If it can't be written, one line on
    stderr reports that, and the records are dropped.
    """

    def __init__(
        self, path: Path, *, max_bytes: int = MAX_BYTES, backups: int = BACKUPS, redactor: Redactor | None = None
    ) -> None:
        encoder = Encoder(_FIELD_LIMIT, redactor or Redactor(SECRET_NAMES, os.environ))
        self._make: Callable[[], _Writer] = lambda: _Writer(Appender(path, max_bytes, backups), encoder)
        self._writer = self._make()

    def write(self, entry: Loggable) -> None:
        """Pass the entry to the writer's thread; after `close()` it is dropped."""
        self._own_writer().put(entry)

    def write_now(self, *entries: Loggable) -> bool:
        """Append the entries before this returns, ahead of those that wait; False if that is impossible."""
        return self._own_writer().append(entries)

    def close(self) -> None:
        """Wait, a few seconds at most, until everything is in the file."""
        writer = self._own_writer()
        writer.stop()
        writer.join(_CLOSE_WAIT_S)

    def _own_writer(self) -> "_Writer":
        if self._writer.pid != os.getpid():
            # A forked child does not have the thread, and must not write what waits in its parent.
            self._writer = self._make()
        return self._writer

    def __del__(self) -> None:
        # This may run during garbage collection, where of all queues only SimpleQueue is safe.
        self._writer.stop()


class _Writer:
    """The queue and the thread of one sink in one process."""

    def __init__(self, appender: Appender, encoder: Encoder) -> None:
        self.pid = os.getpid()
        self._appender = appender
        self._encoder = encoder
        self._queue: SimpleQueue[Loggable | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._stopping: SimpleQueue[None] = SimpleQueue()
        self._encoded = self._waited_at = 0
        self._waits_left = _MOST_WAITS
        self._lost = 0

    def put(self, entry: Loggable) -> None:
        if self._stopped:
            return
        waiting = self._queue.qsize()
        if waiting >= _MAX_WAITING:
            with self._lock:
                self._lost += 1
            return
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

    def append(self, entries: Iterable[Loggable]) -> bool:
        if self._stopped:
            return False
        return self._appender.append(line for entry in entries for line in self._encoder.lines(entry))

    def stop(self) -> None:
        if self.pid == os.getpid():
            self._stopped = True
            self._stopping.put(None)
            self._queue.put(None)

    def join(self, timeout_s: float) -> None:
        thread = self._thread
        if thread is None:
            self._appender.close()
        elif self.pid == os.getpid() and thread is not threading.current_thread():
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
        # No thread can be started (the interpreter is ending, or there are too many), so the caller writes.
        while not self._queue.empty():
            self._append_batch(self._queue.get())

    def _run(self) -> None:
        is_open = True
        while is_open:
            first = self._queue.get()
            if not self._stopped and self._queue.qsize() < _BATCH:
                with suppress(Empty):
                    self._stopping.get(timeout=_GATHER_S)
            is_open = self._append_batch(first)
        self._appender.close()
        _running.discard(self)

    def _append_batch(self, entry: Loggable | None) -> bool:
        """Write this entry and those that wait behind it; False when the last one was reached."""
        batch: list[Loggable] = []
        with suppress(Empty):
            while entry is not None:
                batch.append(entry)
                if len(batch) >= _BATCH:
                    break
                entry = self._queue.get_nowait()
        self._appender.append(self._lines(batch))
        return entry is not None

    def _lines(self, batch: Iterable[Loggable]) -> Iterator[bytes]:
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
