"""The thread that starts interpreters, makes standbys and frees memory while no hook runs."""

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from typing import Protocol

from hookline.runners.process.limit import LIMIT

# Wait this long for running hooks to finish: background work competes with them for CPU.
_PATIENCE_S = 0.1
_POLL_S = 0.002
# After a failure, which may come again at once.
_PAUSE_S = 0.1

_Work = Callable[[], None]


class PoolOwner(Protocol):
    """The callbacks of the thread between pieces of work."""

    def until_idle(self) -> float:
        """How many seconds later `end_idle` has something to do, unless there is work before."""

    def end_idle(self) -> bool:
        """End what was not used for long; return whether anything is left. The lock is held."""

    def close(self) -> None:
        """Called after `close_later`, maybe more than once."""


class PoolThread:
    """Runs work in order, in a thread that exists only while there is something to do or to wait for."""

    def __init__(self, owner: PoolOwner, lock: threading.RLock) -> None:
        self._owner = owner
        self._lock = lock
        self._work: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._pending = 0
        self._idle = threading.Condition(lock)

    def do(self, work: _Work) -> bool:
        """Have it done later; False if the system refuses us a thread."""
        with self._lock:
            if not self._has_thread():
                return False
            self._pending += 1
            self._work.put(work)
        return True

    def _has_thread(self) -> bool:
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="hookline-warm", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                return False
            self._thread = thread
        return True

    def wait_until_idle(self, timeout_s: float) -> bool:
        """Wait until everything has been done, and return whether it has; the lock is held."""
        return self._idle.wait_for(lambda: not self._pending, timeout_s)

    @property
    def thread(self) -> int | None:
        """The identifier of the thread, if there is one."""
        thread = self._thread
        return None if thread is None else thread.ident

    def close_later(self) -> None:
        """Have the thread close the employer, and end when its work is done.

        A garbage collection may call this at any time, even under the lock.
        """
        self._work.put(None)

    def _run(self) -> None:
        is_needed = True
        while is_needed:
            try:
                is_needed = self._step()
            except Exception:  # noqa: BLE001 - later work must not wait for a thread that has ended
                time.sleep(_PAUSE_S)

    def _step(self) -> bool:
        """Do the next piece of work, or end what is idle; return False when the thread is not needed any more."""
        try:
            work = self._work.get(timeout=self._owner.until_idle())
        except queue.Empty:
            with self._lock:
                if self._owner.end_idle() or self._pending:
                    return True
                self._thread = None
                return False
        if work is None:
            self._owner.close()
            return True
        _wait_for_hooks()
        with contextlib.suppress(Exception):  # whatever it is, hooks run cold
            work()
        with self._lock:
            self._pending -= 1
            self._idle.notify_all()
        return True


def _wait_for_hooks() -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while LIMIT.running and time.monotonic() < deadline:
        time.sleep(_POLL_S)
