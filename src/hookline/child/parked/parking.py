"""Knows which scripts have parked interpreters, gives a spare to an event, and makes new ones between events."""

import contextlib
import os
import threading
import time
import weakref
from collections import OrderedDict, deque
from collections.abc import Sequence
from functools import partial

from hookline.child.command import invocation_of
from hookline.child.job import ChildJob
from hookline.child.limit import RESERVES
from hookline.child.parked.attendant import Attendant
from hookline.child.parked.claim import Claim
from hookline.child.parked.interpreter import Interpreter, NotParkedError, stop_waiting
from hookline.child.parked.place import Place
from hookline.child.parked.recipe import may_come
from hookline.child.parked.reports import MODULES, Report
from hookline.child.parked.spare import Spare
from hookline.child.parked.surroundings import facts_of, marks_in, read_at_start
from hookline.child.parked.trial import try_start
from hookline.child.spawn import Invocation
from hookline.contract.vocabulary import DEFAULT_MAX_WARM

DEFAULT_IDLE_S = 300.0

# Scripts that are counted, whether or not they are parked.
_MOST_PLACES = 64
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


class Parking:
    """The parked interpreters of one engine. They end when this object is closed, or nobody refers to it any more."""

    def __init__(
        self, most: int = DEFAULT_MAX_WARM, idle_s: float = DEFAULT_IDLE_S, cold: set[str] | None = None
    ) -> None:
        """Park at most so many; commands that can never be parked are added to `cold`."""
        self._lot = _Lot(most, idle_s, set() if cold is None else cold)
        self._finalizer = weakref.finalize(self, self._lot.close_later)
        self._finalizer.atexit = False  # the reaper ends them with the program

    def claim(self, job: ChildJob) -> "Claim | None":
        """A spare for this job, if its script is parked and everything is as it was then; counts the run."""
        return self._lot.claim(job)

    def wait_until_idle(self, timeout_s: float = 30.0) -> bool:
        """Wait until everything that was wanted is parked; return whether it is."""
        return self._lot.wait_until_idle(timeout_s)

    def why_not_parked(self, invocation: Invocation, cwd: str) -> str | None:
        """Why no interpreter waits for this program, or None: Python ignores us, or there is no room."""
        return self._lot.why_not_parked(invocation, cwd)

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes that are parked now, with their spares."""
        return self._lot.pids()

    def close(self) -> None:
        """End all of them, and wait a moment until they are gone."""
        self._finalizer.detach()
        self._lot.close()
        self._lot.settle(_ENDING_S)


class _Lot:
    """The state behind a Parking: its thread refers to this, so that the Parking itself can be garbage-collected."""

    def __init__(self, most: int, idle_s: float, cold: set[str]) -> None:
        self._cold = cold
        self._most = most
        self._idle_s = idle_s
        self._is_closed = False
        self.reset()
        _LOTS.add(self)

    def reset(self) -> None:
        self._lock = threading.RLock()
        self.attendant = Attendant(self, self._lock)
        self._places: OrderedDict[_Key, Place] = OrderedDict()
        # Spares whose runs have ended; their keepers are still to be killed.
        self._over: deque[Spare] = deque()
        # Spares told to exit that have not answered.
        self._late: list[Spare] = []

    # -- at an event, on the thread of its loop

    def claim(self, job: ChildJob) -> Claim | None:
        try:
            invocation = invocation_of(job)
        except (OSError, ValueError):
            return None  # starting it will report that
        if invocation is None:
            self._cold.add(job.command)
        if invocation is None or self._is_closed:
            return None
        with self._lock:
            place = self._place_of(invocation, job.cwd)
            place.runs += 1
            if place.recipe is None and not may_come(invocation, job.cwd):
                self._cold.add(job.command)
            if place.facts is None or place.refusal is not None:
                return None
            if place.interpreter is not None:
                return self._claim(place, invocation)
            if place.runs >= _RUNS_BEFORE and not place.is_parking:
                place.is_parking = self.attendant.do(partial(self._park, place, invocation))
            return None

    def _place_of(self, invocation: Invocation, cwd: str) -> Place:
        key = _key_of(invocation, cwd)
        place = self._places.get(key)
        if place is None:
            place = Place(invocation, cwd)
            # The first run had other variables. Where they change with each run, nothing is worth parking.
            if any(known[:3] == key[:3] for known in self._places):
                place.runs = 0
            self._places[key] = place
            place.is_current(invocation)
            self._forget_oldest()
        else:
            if place.spares:
                place.spares[0].announce()
            if not place.is_current(invocation):
                self._drop(place)
        self._places.move_to_end(key)
        place.last_used = time.monotonic()
        return place

    def _claim(self, place: Place, invocation: Invocation) -> Claim | None:
        changes = place.changes(invocation) if place.is_untouched() else None
        interpreter = place.interpreter
        size = sum(map(len, invocation.env)) + len(invocation.env)
        if changes is None or interpreter is None or size > interpreter.room:
            self._drop(place)
            place.runs = 1
            return None
        message = os.fsencode(place.cwd), marks_in(invocation.env), changes
        try:
            while place.spares:
                spare = place.spares.pop(0)
                with contextlib.suppress(OSError):
                    spare.look()
                    return Claim(self, place, spare, message)
                self.discard(spare)
            return Claim(self, place, interpreter.fork(), message)
        except OSError:  # it has died, or there are no descriptors
            self._drop(place)
            place.runs = 1
            return None

    def finished(self, place: Place, report: Report | None, spare: Spare) -> None:
        """Read the report of a run, make a new spare, and free the memory of the old one."""
        self._over.append(spare)
        work = (
            partial(self._refill, place) if report is None else partial(self._refill, place, report.kind, report.read())
        )
        if not self.attendant.do(work):
            self._free()

    def drop(self, place: Place) -> None:
        with self._lock:
            self._drop(place)

    # -- between events, in a thread

    def until_idle(self) -> float:
        """How many seconds later the first of them has not been used for long."""
        with self._lock:
            used = [place.last_used for place in self._places.values() if place.interpreter is not None]
        if self._late or not used:
            return 0.0 if self._is_closed and not self._late else 1.0
        return max(0.0, min(used) + self._idle_s - time.monotonic())

    def end_idle(self) -> bool:
        """End interpreters that were not used for long; return whether any is left."""
        self._discard_late()
        parked = [place for place in self._places.values() if place.interpreter is not None]
        for place in parked:
            if time.monotonic() - place.last_used >= self._idle_s:
                self._drop(place)
        return bool(self._late) or any(place.interpreter is not None for place in parked)

    def _park(self, place: Place, invocation: Invocation) -> None:
        try:
            if not self._is_closed and self._make_room(place):
                self._start(place, invocation)
        except NotParkedError as error:
            place.refusal = str(error)
        except OSError:  # no descriptors, no processes
            place.runs = _RUNS_AFTER_SHORTAGE
        finally:
            place.is_parking = False

    def _start(self, place: Place, invocation: Invocation) -> None:
        recipe, facts = place.recipe, place.facts
        if recipe is None or facts is None or facts_of(recipe, invocation, place.cwd) != facts:
            return  # it has changed since, or this thread has other signals blocked
        trial = try_start(invocation, place.cwd, recipe)
        interpreter = Interpreter(invocation, place.cwd, recipe)
        with self._lock:
            try:
                is_same = trial.is_current() and facts_of(recipe, invocation, place.cwd) == facts
                if is_same and not self._is_closed and not place.is_forgotten:
                    place.take(interpreter, invocation, trial)
                    place.spares = [interpreter.fork()]
            finally:
                if place.interpreter is not interpreter:
                    interpreter.end()

    def _refill(self, place: Place, kind: str = "", found: Sequence[bytes] = ()) -> None:
        self._free()
        self._discard_late()
        with self._lock:
            interpreter = place.interpreter
            if interpreter is None:
                return
        try:
            if found:
                self._use_report(place, interpreter, kind, found)
            with self._lock:
                if place.interpreter is interpreter and not place.spares:
                    place.spares.append(interpreter.fork())
        except (NotParkedError, OSError):
            with self._lock:
                self._drop(place)

    def _free(self) -> None:
        with contextlib.suppress(IndexError):  # two threads may be here
            while self._over:
                self._over.popleft().free()

    def _use_report(self, place: Place, interpreter: Interpreter, kind: str, found: Sequence[bytes]) -> None:
        place.reports = [each for each in place.reports if each != kind]
        if kind == MODULES:
            loaded = interpreter.load(found)
            with self._lock:
                place.has_loaded(loaded, found)
        else:
            interpreter.copy_ahead(found)
        # Those that were made before have nothing of it.
        with self._lock:
            old, place.spares = place.spares, []
        for spare in old:
            self._discard(spare)

    def _make_room(self, place: Place) -> bool:
        with self._lock:
            parked = self._parked_beside(place)
            if len(parked) < self._most:
                return True
            oldest = min(parked, key=lambda each: each.last_used)
            if time.monotonic() - oldest.last_used < _KEPT_S:
                return False
            self._drop(oldest)
            return True

    # -- both

    def _parked_beside(self, place: Place) -> list[Place]:
        return [each for each in self._places.values() if each.interpreter is not None and each is not place]

    def why_not_parked(self, invocation: Invocation, cwd: str) -> str | None:
        with self._lock:
            place = self._places.get(_key_of(invocation, cwd))
            if place is None or place.interpreter is not None:
                return None
            if place.refusal is not None:
                return f"its interpreter could not be started before the event: {place.refusal}"
            waiting = len(self._parked_beside(place))
        if waiting < self._most:
            return None
        scripts = "1 script waits" if waiting == 1 else f"{waiting} scripts wait"
        return f"{scripts} already; a larger hooksConfig.warm.max allows more"

    def _drop(self, place: Place) -> None:
        """End what is parked for a place, and count its runs anew; the lock is held."""
        interpreter, place.interpreter = place.interpreter, None
        spares, place.spares = place.spares, []
        place.runs = 0
        if interpreter is not None:
            interpreter.end()
        for spare in spares:
            self.discard(spare)

    def discard(self, spare: Spare) -> None:
        """End a spare; if it has yet to answer something, that has to be waited for."""
        if spare.is_quick or not self.attendant.do(partial(self._discard, spare)):
            self._discard(spare)

    def _discard(self, spare: Spare) -> None:
        if not spare.discard():
            self._late.append(spare)

    def _discard_late(self) -> None:
        """Have another look at those that did not answer; the machine may be busy."""
        late, self._late = self._late, []
        self._late += [spare for spare in late if not spare.discard(0)]

    def _forget_oldest(self) -> None:
        while len(self._places) > _MOST_PLACES + self._most:
            _, place = self._places.popitem(last=False)
            place.is_forgotten = True
            self._drop(place)

    def wait_until_idle(self, timeout_s: float) -> bool:
        with self._lock:
            if not self.attendant.wait_until_idle(timeout_s):
                return False
            ready = [spare for place in self._places.values() for spare in place.spares]
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), self._lock:
                if all(spare.look() for spare in ready):
                    return True
            time.sleep(_POLL_S)
        return False

    def pids(self) -> tuple[int, ...]:
        with self._lock:
            places = [place for place in self._places.values() if place.interpreter is not None]
            return tuple(
                pid
                for place in places
                for pid in (place.interpreter.pid if place.interpreter else 0, *(spare.pid for spare in place.spares))
                if pid
            )

    def close(self) -> None:
        """End all of them; the thread waits for those that have yet to answer."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            for place in self._places.values():
                self._drop(place)
            self._places.clear()
            self.attendant.close_later()
        self._free()

    def settle(self, timeout_s: float) -> None:
        """Wait until the thread has nothing to do any more; a start that is under way is cut short."""
        deadline = time.monotonic() + timeout_s
        is_idle = False
        while not is_idle and time.monotonic() < deadline:
            stop_waiting(self.attendant.thread)
            with self._lock:
                is_idle = self.attendant.wait_until_idle(_POLL_S)

    def close_later(self) -> None:
        """The same, in the thread that there is now: after a fork it is another one."""
        self.attendant.close_later()

    def give_up(self) -> None:
        """End all of them, and park nothing for a while: a hook can't be started without what they use."""
        with self._lock:
            for place in self._places.values():
                if place.interpreter is not None:
                    self._drop(place)
                    place.runs = _RUNS_AFTER_SHORTAGE

    def forget(self) -> None:
        """After a fork the processes belong to the parent; only the copies of our sockets are closed here."""
        for place in self._places.values():
            if place.interpreter is not None:
                place.interpreter.close()
        parked = [spare for place in self._places.values() for spare in place.spares]
        for spare in (*parked, *self._late, *self._over):
            spare.forget()
        self.reset()


def _key_of(invocation: Invocation, cwd: str) -> _Key:
    """What makes two runs use the same interpreter."""
    return invocation.executable, invocation.argv, cwd, read_at_start(invocation.env)


_LOTS: "weakref.WeakSet[_Lot]" = weakref.WeakSet()


def _after_fork() -> None:
    for lot in list(_LOTS):
        lot.forget()


def _give_up() -> None:
    for lot in list(_LOTS):
        lot.give_up()


os.register_at_fork(after_in_child=_after_fork)
RESERVES.append(_give_up)
