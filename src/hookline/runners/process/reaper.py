"""Kills and reaps what is left behind: processes that outlive a timeout, and children whose loop was closed."""

import atexit
import contextlib
import os
import signal
import threading
import time
from collections.abc import Sequence

import msgspec

from hookline.runners.process.orphans import OrphanSearch, tagged_processes

_POLL_S = 0.05
# Init reaps orphans: almost everywhere at once, in some containers within two seconds.
_GONE_S = 2.5
_GONE_POLL_S = 0.005
# Wait this long for killed children when there is no thread to reap them.
_DYING_S = 0.1
# Looking for strays reads all of /proc, so there are pauses, which grow.
_LONGEST_PAUSE_S = 0.5
# How long strays that start new ones are killed before we give up.
_ORPHANS_DYING_S = 2.0


class _Tracked(msgspec.Struct):
    """A hunt in progress."""

    search: OrphanSearch
    deadline: float
    next_look: float = 0.0
    pause_s: float = _POLL_S


class Reaper:
    """Kills process groups at their deadline, in one thread that exists only while there are any."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything: after a fork the processes belong to the parent."""
        # Groups whose leader is watched elsewhere; they are killed when the program ends.
        self.running: set[int] = set()
        # Reentrant, because a garbage collection while we hold it may abandon a process.
        self._lock = threading.RLock()
        self._deadlines: dict[int, float] = {}
        self._unreaped: set[int] = set()
        self._tracked: dict[bytes, _Tracked] = {}
        self._thread: threading.Thread | None = None
        self._has_program_ended = False

    def take_over(self, group: int, *, deadline: float, unreaped: bool) -> None:
        """Take over a group that has got SIGTERM; `unreaped` means that its leader has not been reaped yet."""
        if not unreaped and not group_remains(group):
            return
        with self._lock:
            self._deadlines[group] = deadline
            if unreaped:
                self._unreaped.add(group)
            if not self._has_thread():
                self._kill_all()

    def terminate(self, group: int, mark: bytes, *, deadline: float) -> None:
        """Send SIGTERM to a group and to whatever else belongs to its run; kill the latter at the deadline."""
        search = OrphanSearch(group, mark)
        signal_group(group, signal.SIGTERM)
        # A stopped process gets its SIGTERM only when it is continued.
        signal_group(group, signal.SIGCONT)
        search.terminate()
        self.track(search, deadline=deadline)

    def track(self, search: OrphanSearch, *, deadline: float) -> None:
        """Terminate whatever else belongs to a run that has got SIGTERM, and kill at the deadline what remains."""
        with self._lock:
            self._tracked[search.mark] = _Tracked(search, deadline)
            if not self._has_thread():
                self._kill_all()

    def kill_now(self, mark: bytes) -> None:
        """Kill what is being pursued at once."""
        with self._lock:
            if tracked := self._tracked.get(mark):
                tracked.deadline = tracked.next_look = min(tracked.deadline, time.monotonic())

    def settle(self, timeout_s: float) -> None:
        """Wait until every child that was handed over has been reaped, so that no zombie is left; at most so long."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            with self._lock:
                self._check()
                if not self._unreaped:
                    return
            time.sleep(_GONE_POLL_S)

    def end_with_program(self) -> None:
        """Kill every group now, and any group that comes later at once."""
        with self._lock:
            self._has_program_ended = True
            self._deadlines |= dict.fromkeys(self.running, 0.0)
            self._unreaped |= self.running
            groups = tuple(self._deadlines)
            self._kill_all()
        _wait_until_gone(groups)

    def _has_thread(self) -> bool:
        # When the program has ended, a coroutine may still be garbage-collected, but no new thread would run.
        if self._thread is None and not self._has_program_ended:
            self._thread = threading.Thread(target=self._run, name="hookline-reaper", daemon=True)
            try:
                self._thread.start()
            except RuntimeError:  # the system refuses us a thread
                self._thread = None
        return self._thread is not None

    def _kill_all(self) -> None:
        for group in self._deadlines:
            signal_group(group, signal.SIGKILL)
        self._deadlines.clear()
        deadline = time.monotonic() + _DYING_S
        searches = [tracked.search for tracked in self._tracked.values()]
        self._tracked.clear()
        while searches and time.monotonic() < deadline:
            environments = tagged_processes()
            searches = [search for search in searches if search.look(environments)]
            for search in searches:
                search.kill()
            time.sleep(_GONE_POLL_S if searches else 0)
        while self._unreaped and time.monotonic() < deadline:
            self._unreaped = {pid for pid in self._unreaped if not _reap(pid)}
            time.sleep(_GONE_POLL_S if self._unreaped else 0)

    def _run(self) -> None:
        while True:
            with self._lock:
                self._check()
                if not self._deadlines and not self._tracked:
                    self._thread = None
                    return
                now = time.monotonic()
                due = [tracked for tracked in self._tracked.values() if now >= tracked.next_look]
            # Without the lock, because it takes milliseconds.
            self._look(due, now)
            time.sleep(_POLL_S)

    def _look(self, all_tracked: Sequence[_Tracked], now: float) -> None:
        """Look for strays and signal them; a pursuit ends when there are none and none can come."""
        environments = tagged_processes() if all_tracked else []
        for tracked in all_tracked:
            search, deadline = tracked.search, tracked.deadline
            is_any_left = search.look(environments)
            if now < deadline:
                search.terminate()
                tracked.next_look = min(now + tracked.pause_s, deadline)
                tracked.pause_s = min(2 * tracked.pause_s, _LONGEST_PAUSE_S)
            else:
                search.kill()
            can_come = search.group in self.running or search.group in self._deadlines
            if not (is_any_left or can_come) or now >= deadline + _ORPHANS_DYING_S:
                with self._lock:
                    self._tracked.pop(search.mark, None)

    def _check(self) -> None:
        now = time.monotonic()
        for group, deadline in list(self._deadlines.items()):
            if now >= deadline:
                signal_group(group, signal.SIGKILL)
            if group in self._unreaped and _reap(group):
                self._unreaped.discard(group)
            # After SIGKILL we are done, even if zombies remain: init reaps those.
            if group not in self._unreaped and (now >= deadline or not group_remains(group)):
                del self._deadlines[group]


def _wait_until_gone(groups: Sequence[int]) -> None:
    """Wait a moment, so that not even zombies are left when the program has ended."""
    deadline = time.monotonic() + _GONE_S
    while any(map(group_remains, groups)) and time.monotonic() < deadline:
        time.sleep(_GONE_POLL_S)


def signal_group(group: int, number: int) -> None:
    """Send a signal to all members of a group, which may be gone already."""
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
    # A new process never gets the number of an existing group. So if a process has it, the group is gone.
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
os.register_at_fork(after_in_child=REAPER.reset)
