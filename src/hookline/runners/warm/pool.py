"""The pool of warm interpreters: leases a standby to an event and starts new ones between events."""

import contextlib
import os
import threading
import time
import weakref
from collections import OrderedDict, deque
from collections.abc import Sequence
from functools import partial

from hookline.protocol.constants import DEFAULT_MAX_WARM
from hookline.runners.process.command import Invocation, invocation_of
from hookline.runners.process.job import ChildJob
from hookline.runners.process.limit import ON_SHORTAGE
from hookline.runners.warm.interpreter import Interpreter, NotWarmError, stop_waiting
from hookline.runners.warm.launch_spec import may_come
from hookline.runners.warm.lease import Lease, ReportPipe
from hookline.runners.warm.pool_thread import PoolThread
from hookline.runners.warm.probe import probe
from hookline.runners.warm.process_state import facts_of, marks_in, read_at_start
from hookline.runners.warm.slot import ScriptSlot
from hookline.runners.warm.standby import Standby

DEFAULT_IDLE_S = 300.0

# Scripts that are counted, whether or not they are parked.
_MOST_SLOTS = 64
# A script that was used so recently keeps its interpreter, although another one could use the place.
_KEPT_S = 60.0
_POLL_S = 0.002
# How long closing waits for what is being started or has yet to answer.
_ENDING_S = 2.0
# Runs of a script before it is parked; the caller has already counted the first run.
_RUNS_BEFORE = 2
_RUNS_AFTER_SHORTAGE = -20

_Key = tuple[bytes, tuple[str, ...], str, tuple[bytes, ...] | None]
"""The program, its arguments, its directory, and the variables that it reads when it starts."""


class WarmPool:
    """The warm interpreters of one engine. They end when this object is closed or garbage-collected."""

    def __init__(
        self, most: int = DEFAULT_MAX_WARM, idle_s: float = DEFAULT_IDLE_S, cold: set[str] | None = None
    ) -> None:
        """Park at most so many; commands that can never be parked are added to `cold`."""
        self._pool = _Pool(most, idle_s, set() if cold is None else cold)
        self._finalizer = weakref.finalize(self, self._pool.close_later)
        self._finalizer.atexit = False  # the reaper ends them with the program

    def lease(self, job: ChildJob) -> "Lease | None":
        """A standby for this job, if its script is parked and everything is as it was then; counts the run."""
        return self._pool.lease(job)

    def wait_until_idle(self, timeout_s: float = 30.0) -> bool:
        """Wait until everything that was wanted is parked; return whether it is."""
        return self._pool.wait_until_idle(timeout_s)

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes that are parked now, with their standbys."""
        return self._pool.pids()

    def close(self) -> None:
        """End all of them, and wait a moment until they are gone."""
        self._finalizer.detach()
        self._pool.close()
        self._pool.settle(_ENDING_S)


class _Pool:
    """The state behind a WarmPool: its thread refers to this, so that the WarmPool can be garbage-collected."""

    def __init__(self, most: int, idle_s: float, cold: set[str]) -> None:
        self._cold = cold
        self._most = most
        self._idle_s = idle_s
        self._is_closed = False
        self.reset()
        _POOLS.add(self)

    def reset(self) -> None:
        self._lock = threading.RLock()
        self.pool_thread = PoolThread(self, self._lock)
        self._slots: OrderedDict[_Key, ScriptSlot] = OrderedDict()
        # Standbys whose runs have ended; their exit helpers are still to be killed.
        self._over: deque[Standby] = deque()
        # Standbys that must exit and have not answered.
        self._late: list[Standby] = []

    # -- at an event, on the thread of its loop

    def lease(self, job: ChildJob) -> Lease | None:
        try:
            invocation = invocation_of(job)
        except (OSError, ValueError):
            return None  # starting it will report that
        if invocation is None:
            self._cold.add(job.command)
        if invocation is None or self._is_closed:
            return None
        with self._lock:
            slot = self._slot_of(invocation, job.cwd)
            slot.runs += 1
            if slot.spec is None and not may_come(invocation, job.cwd):
                self._cold.add(job.command)
            if slot.facts is None or slot.is_refused:
                return None
            if slot.interpreter is not None:
                return self._lease(slot, invocation)
            if slot.runs >= _RUNS_BEFORE and not slot.is_starting:
                slot.is_starting = self.pool_thread.do(partial(self._start_standby, slot, invocation))
            return None

    def _slot_of(self, invocation: Invocation, cwd: str) -> ScriptSlot:
        key = _key_of(invocation, cwd)
        slot = self._slots.get(key)
        if slot is None:
            slot = ScriptSlot(invocation, cwd)
            # The first run had other variables. Where they change with each run, no interpreter is worth keeping.
            if any(known[:3] == key[:3] for known in self._slots):
                slot.runs = 0
            self._slots[key] = slot
            slot.is_current(invocation)
            self._forget_oldest()
        else:
            if slot.standbys:
                slot.standbys[0].announce()
            if not slot.is_current(invocation):
                self._drop(slot)
        self._slots.move_to_end(key)
        slot.last_used = time.monotonic()
        return slot

    def _lease(self, slot: ScriptSlot, invocation: Invocation) -> Lease | None:
        changes = slot.changes(invocation) if slot.is_untouched() else None
        interpreter = slot.interpreter
        size = sum(map(len, invocation.env)) + len(invocation.env)
        if changes is None or interpreter is None or size > interpreter.room:
            self._drop(slot)
            slot.runs = 1
            return None
        message = os.fsencode(slot.cwd), marks_in(invocation.env), changes
        try:
            while slot.standbys:
                standby = slot.standbys.pop(0)
                with contextlib.suppress(OSError):
                    standby.look()
                    return Lease(self, slot, standby, message)
                self.discard(standby)
            return Lease(self, slot, interpreter.fork(), message)
        except OSError:  # it has died, or the file descriptors are exhausted
            self._drop(slot)
            slot.runs = 1
            return None

    def finished(self, slot: ScriptSlot, report: ReportPipe | None, standby: Standby) -> None:
        """Read the report of a run, make a new standby, and free the memory of the old one."""
        self._over.append(standby)
        found = () if report is None else report.read()
        if not self.pool_thread.do(partial(self._refill, slot, found)):
            self._free()

    def drop(self, slot: ScriptSlot) -> None:
        with self._lock:
            self._drop(slot)

    # -- between events, in a thread

    def until_idle(self) -> float:
        """How many seconds later the first of them has not been used for long."""
        with self._lock:
            used = [slot.last_used for slot in self._slots.values() if slot.interpreter is not None]
        if self._late or not used:
            return 0.0 if self._is_closed and not self._late else 1.0
        return max(0.0, min(used) + self._idle_s - time.monotonic())

    def end_idle(self) -> bool:
        """End interpreters that were not used for long; return whether any is left."""
        self._discard_late()
        parked = [slot for slot in self._slots.values() if slot.interpreter is not None]
        for slot in parked:
            if time.monotonic() - slot.last_used >= self._idle_s:
                self._drop(slot)
        return bool(self._late) or any(slot.interpreter is not None for slot in parked)

    def _start_standby(self, slot: ScriptSlot, invocation: Invocation) -> None:
        try:
            if not self._is_closed and self._make_room(slot):
                self._start(slot, invocation)
        except NotWarmError:
            slot.is_refused = True
        except OSError:  # no descriptors, no processes
            slot.runs = _RUNS_AFTER_SHORTAGE
        finally:
            slot.is_starting = False

    def _start(self, slot: ScriptSlot, invocation: Invocation) -> None:
        spec, facts = slot.spec, slot.facts
        if spec is None or facts is None or facts_of(spec, invocation, slot.cwd) != facts:
            return  # it has changed since, or this thread has other signals blocked
        probe_result = probe(invocation, slot.cwd, spec)
        interpreter = Interpreter(invocation, slot.cwd, spec)
        with self._lock:
            try:
                is_same = probe_result.is_current() and facts_of(spec, invocation, slot.cwd) == facts
                if is_same and not self._is_closed and not slot.is_forgotten:
                    slot.take(interpreter, invocation, probe_result)
                    slot.standbys = [interpreter.fork()]
            finally:
                if slot.interpreter is not interpreter:
                    interpreter.end()

    def _refill(self, slot: ScriptSlot, found: Sequence[bytes]) -> None:
        self._free()
        self._discard_late()
        with self._lock:
            interpreter = slot.interpreter
            if interpreter is None:
                return
        try:
            if found:
                self._load(slot, interpreter, found)
            with self._lock:
                if slot.interpreter is interpreter and not slot.standbys:
                    slot.standbys.append(interpreter.fork())
        except (NotWarmError, OSError):
            with self._lock:
                self._drop(slot)

    def _free(self) -> None:
        with contextlib.suppress(IndexError):  # two threads may be here
            while self._over:
                self._over.popleft().free()

    def _load(self, slot: ScriptSlot, interpreter: Interpreter, found: Sequence[bytes]) -> None:
        slot.reports_left = 0
        loaded = interpreter.load(found)
        # Standbys that were made before have nothing of it.
        with self._lock:
            slot.has_loaded(loaded, found)
            old, slot.standbys = slot.standbys, []
        for standby in old:
            self._discard(standby)

    def _make_room(self, slot: ScriptSlot) -> bool:
        with self._lock:
            parked = self._other_warm_slots(slot)
            if len(parked) < self._most:
                return True
            oldest = min(parked, key=lambda each: each.last_used)
            if time.monotonic() - oldest.last_used < _KEPT_S:
                return False
            self._drop(oldest)
            return True

    # -- both

    def _other_warm_slots(self, slot: ScriptSlot) -> list[ScriptSlot]:
        return [each for each in self._slots.values() if each.interpreter is not None and each is not slot]

    def _drop(self, slot: ScriptSlot) -> None:
        """End the processes of a slot and reset its count of runs. The caller holds the lock."""
        interpreter, slot.interpreter = slot.interpreter, None
        standbys, slot.standbys = slot.standbys, []
        slot.runs = 0
        if interpreter is not None:
            interpreter.end()
        for standby in standbys:
            self.discard(standby)

    def discard(self, standby: Standby) -> None:
        """End a standby. If it owes an answer, the pool thread waits for the answer."""
        if standby.is_quick or not self.pool_thread.do(partial(self._discard, standby)):
            self._discard(standby)

    def _discard(self, standby: Standby) -> None:
        if not standby.discard():
            self._late.append(standby)

    def _discard_late(self) -> None:
        """Have another look at those that did not answer; the machine may be busy."""
        late, self._late = self._late, []
        self._late += [standby for standby in late if not standby.discard(0)]

    def _forget_oldest(self) -> None:
        while len(self._slots) > _MOST_SLOTS + self._most:
            _, slot = self._slots.popitem(last=False)
            slot.is_forgotten = True
            self._drop(slot)

    def wait_until_idle(self, timeout_s: float) -> bool:
        with self._lock:
            if not self.pool_thread.wait_until_idle(timeout_s):
                return False
            ready = [standby for slot in self._slots.values() for standby in slot.standbys]
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), self._lock:
                if all(standby.look() for standby in ready):
                    return True
            time.sleep(_POLL_S)
        return False

    def pids(self) -> tuple[int, ...]:
        with self._lock:
            slots = [slot for slot in self._slots.values() if slot.interpreter is not None]
            return tuple(
                pid
                for slot in slots
                for pid in (
                    slot.interpreter.pid if slot.interpreter else 0,
                    *(standby.pid for standby in slot.standbys),
                )
                if pid
            )

    def close(self) -> None:
        """End all of them; the thread waits for those that have yet to answer."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            for slot in self._slots.values():
                self._drop(slot)
            self._slots.clear()
            self.pool_thread.close_later()
        self._free()

    def settle(self, timeout_s: float) -> None:
        """Wait until the thread has nothing to do any more; a start that is under way is cut short."""
        deadline = time.monotonic() + timeout_s
        is_idle = False
        while not is_idle and time.monotonic() < deadline:
            stop_waiting(self.pool_thread.thread)
            with self._lock:
                is_idle = self.pool_thread.wait_until_idle(_POLL_S)

    def close_later(self) -> None:
        """The same, in the thread that there is now: after a fork it is another one."""
        self.pool_thread.close_later()

    def give_up(self) -> None:
        """End all of them, and park nothing for a while: a hook can't be started without what they use."""
        with self._lock:
            for slot in self._slots.values():
                if slot.interpreter is not None:
                    self._drop(slot)
                    slot.runs = _RUNS_AFTER_SHORTAGE

    def forget(self) -> None:
        """After a fork the processes belong to the parent; only the copies of our sockets are closed here."""
        for slot in self._slots.values():
            if slot.interpreter is not None:
                slot.interpreter.close()
        parked = [standby for slot in self._slots.values() for standby in slot.standbys]
        for standby in (*parked, *self._late, *self._over):
            standby.forget()
        self.reset()


def _key_of(invocation: Invocation, cwd: str) -> _Key:
    """Return the key that runs with the same interpreter share."""
    return invocation.executable, invocation.argv, cwd, read_at_start(invocation.env)


_POOLS: "weakref.WeakSet[_Pool]" = weakref.WeakSet()


def _after_fork() -> None:
    for pool in list(_POOLS):
        pool.forget()


def _give_up() -> None:
    for pool in list(_POOLS):
        pool.give_up()


os.register_at_fork(after_in_child=_after_fork)
ON_SHORTAGE.append(_give_up)
