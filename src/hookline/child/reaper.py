"""Sees to what hooks leave behind: group members that outlive a timeout, and children whose loop is gone."""

import atexit
import contextlib
import os
import signal
import threading
import time
from collections.abc import Sequence

_POLL_S = 0.05
# Orphans are reaped by init, in its own time: at once almost everywhere, within two seconds in some containers.
_GONE_S = 2.5
_GONE_POLL_S = 0.005
# How long a killed child takes to be gone; the program waits for it only where it gets no thread.
_DYING_S = 0.1


class Reaper:
    """Kills process groups when their time is up, in one thread that lives only while there are any."""

    running: set[int]
    """The groups of children that are waited for elsewhere; they are killed when the program ends."""
    _lock: threading.RLock
    _kill_at: dict[int, float]
    _unreaped: set[int]
    _thread: threading.Thread | None
    _is_over: bool

    def __init__(self) -> None:
        self.start_over()

    def adopt(self, group: int, *, kill_at: float, unreaped: bool) -> None:
        """Takes over a group that has had its TERM; `unreaped` says that its leader was not waited for yet."""
        if not unreaped and not group_remains(group):
            return
        with self._lock:
            self._kill_at[group] = kill_at
            if unreaped:
                self._unreaped.add(group)
            if self._is_over:
                self._kill_all()
            elif self._thread is None:
                self._thread = threading.Thread(target=self._work, name="hookline-reaper", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError:  # the system gives us no thread
                    self._thread = None
                    self._end_adopted_now()

    def end_with_program(self) -> None:
        """Kills every group that is still waited for, and from now on at once whatever comes."""
        with self._lock:
            # Coroutines that are thrown away even later must not start a thread: it would never run.
            self._is_over = True
            groups = (*self._kill_at, *self.running)
            self._kill_all()
        _wait_until_gone(groups)

    def start_over(self) -> None:
        """Forgets everything: after a fork it is the parent's business."""
        # May be taken again by its own thread, when collecting garbage ends a forgotten child.
        self._lock = threading.RLock()
        self.running = set()
        self._kill_at = {}
        self._unreaped = set()
        self._thread = None
        self._is_over = False

    def _end_adopted_now(self) -> None:
        for group in self._kill_at:
            signal_group(group, signal.SIGKILL)
        self._kill_at.clear()
        until = time.monotonic() + _DYING_S
        while self._unreaped and time.monotonic() < until:
            self._unreaped = {pid for pid in self._unreaped if not _reap(pid)}
            time.sleep(_GONE_POLL_S if self._unreaped else 0)

    def _kill_all(self) -> None:
        for group in (*self._kill_at, *self.running):
            signal_group(group, signal.SIGKILL)
        for group in (*self._unreaped, *self.running):
            with contextlib.suppress(ChildProcessError):
                os.waitpid(group, os.WNOHANG)
        self._kill_at.clear()
        self._unreaped.clear()

    def _work(self) -> None:
        while True:
            with self._lock:
                self._look()
                if not self._kill_at:
                    self._thread = None
                    return
            time.sleep(_POLL_S)

    def _look(self) -> None:
        now = time.monotonic()
        for group, kill_at in list(self._kill_at.items()):
            is_due = now >= kill_at
            if is_due:
                signal_group(group, signal.SIGKILL)
            if group in self._unreaped and _reap(group):
                self._unreaped.discard(group)
            # Killed is done, even if their zombies stay: reaping those is the business of init.
            if group not in self._unreaped and (is_due or not group_remains(group)):
                del self._kill_at[group]


def _wait_until_gone(groups: Sequence[int]) -> None:
    """Waits a moment, so that whoever looks after the program's end finds nothing left, not even zombies."""
    until = time.monotonic() + _GONE_S
    while any(map(group_remains, groups)) and time.monotonic() < until:
        time.sleep(_GONE_POLL_S)


def signal_group(group: int, number: int) -> None:
    """Sends a signal to all members of a group that may be gone already."""
    # 0 would be our own group.
    if group <= 0:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def group_remains(group: int) -> bool:
    """Whether a group whose leader has been reaped still has members."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    # The number of a living group is never given to a process: one that has it is a stranger.
    try:
        os.getsid(group)
    except ProcessLookupError:
        return True
    return False


def _reap(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


REAPER = Reaper()
atexit.register(REAPER.end_with_program)
os.register_at_fork(after_in_child=REAPER.start_over)
