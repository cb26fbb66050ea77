"""Knows which scripts have parked interpreters, gives a spare to an event, and makes new ones between events."""

import asyncio
import contextlib
import os
import queue
import tempfile
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

from hookline.child.command import invocation_of
from hookline.child.job import ChildJob, Stdio
from hookline.child.limit import LIMIT
from hookline.child.parked.interpreter import Interpreter, NotParkedError, Spare, probe
from hookline.child.parked.place import Place
from hookline.child.parked.recipe import Recipe, signature
from hookline.child.parked.surroundings import facts_of, marks_in
from hookline.child.spawn import Invocation
from hookline.contract.vocabulary import DEFAULT_MAX_WARM

DEFAULT_IDLE_S = 300.0

# Scripts that are counted, whether or not they are parked.
_MOST_PLACES = 64
# A script that was used so recently keeps its interpreter, although another one could use the place.
_KEPT_S = 60.0
# How long new spares wait for the end of hooks that still run: making one takes a processor.
_PATIENCE_S = 0.1
_POLL_S = 0.002
# How long an event waits for a spare that is being made.
_SPARE_S = 0.5
# Runs of a script before it is parked; whoever asks has seen the first one.
_RUNS_BEFORE = 2
# What the first warm runs report: modules, and when those are loaded, pages of memory. One that ends without its report
# is followed by another one.
_MODULES, _PAGES = "m", "p"
_REPORTS = (_MODULES, _MODULES, _MODULES, _PAGES, _PAGES)
_RUNS_AFTER_SHORTAGE = -20
_LONGEST_REPORT = 1 << 16

_Work = Callable[[], None]


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

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes that are parked now, with their spares."""
        return self._lot.pids()

    def close(self) -> None:
        """End all of them."""
        self._finalizer.detach()
        self._lot.close()


class Claim:
    """A spare that belongs to one run."""

    def __init__(
        self, lot: "_Lot", place: "Place", spare: Spare, message: tuple[bytes, bytes, tuple[bytes, ...]]
    ) -> None:
        self.spare = spare
        self._lot = lot
        self._place = place
        self._cwd, self._marks, self._changes = message
        self._report = ""

    async def ready(self) -> bool:
        """Wait until the spare is ready; False if it does not come, and then this claim is given up."""
        try:
            if self.spare.look():
                return True
            loop = asyncio.get_running_loop()
            seen: asyncio.Future[None] = loop.create_future()
            loop.add_reader(self.spare.fileno(), _set, seen)
            try:
                await asyncio.wait_for(seen, _SPARE_S)
            finally:
                loop.remove_reader(self.spare.fileno())
            if self.spare.look():
                return True
        except (OSError, TimeoutError, NotImplementedError):
            pass
        except BaseException:
            self.release()
            raise
        self.release()
        return False

    def send(self, stdio: Stdio, mark: bytes) -> int:
        """Give the spare its event; return its process id, or 0 if it did not get it."""
        self._report = self._lot.new_report(self._place)
        fields = (self._cwd, os.fsencode(self._report), self._marks + mark, *self._changes)
        if self.spare.send(b"\0".join(fields), stdio):
            return self.spare.pid
        self.release()
        return 0

    def has_taken(self) -> bool:
        """Whether the script was about to run; known after the exit."""
        return self.spare.has_taken()

    def finish(self) -> None:
        """Called when the run is over: lets go of the spare, and has another one made."""
        self.spare.close()
        self._lot.finished(self._place, self._report)

    def release(self) -> None:
        """Give up a spare that has no event."""
        self._lot.discard(self.spare)
        self._lot.finished(self._place, self._report)


class _Lot:
    """The state behind a Parking: its thread refers to this, so that the Parking itself can be garbage-collected."""

    def __init__(self, most: int, idle_s: float, cold: set[str]) -> None:
        self._cold = cold
        self._most = most
        self._idle_s = idle_s
        self.reset()
        _LOTS.add(self)

    def reset(self) -> None:
        self._lock = threading.RLock()
        self._places: OrderedDict[tuple[bytes, tuple[str, ...], str], Place] = OrderedDict()
        self._probed: dict[tuple[Any, ...], str | None] = {}
        self._work: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._pending = 0
        self._idle = threading.Condition(self._lock)

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
        key = invocation.executable, invocation.argv, job.cwd
        with self._lock:
            place = self._places.get(key)
            if place is None:
                place = self._places[key] = Place(invocation, job.cwd)
                place.is_current(invocation)
                self._forget_oldest()
            elif not place.is_current(invocation):
                self._drop(place)
            self._places.move_to_end(key)
            place.last_used = time.monotonic()
            place.runs += 1
            if place.recipe is None:
                self._cold.add(job.command)
            if place.facts is None or place.refusal is not None:
                return None
            if place.interpreter is not None:
                return self._claim(place, invocation)
            if place.runs >= _RUNS_BEFORE and not place.is_parking:
                place.is_parking = True
                self._do(partial(self._park, place, invocation))
            return None

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
                spare.discard()
            return Claim(self, place, interpreter.fork(), message)
        except OSError:  # it has died, or there are no descriptors
            self._drop(place)
            place.runs = 1
            return None

    def new_report(self, place: Place) -> str:
        """What a run is asked to write at its end, and the file for it: the first runs of a script are asked."""
        now = signature(place.script)
        if now != place.reporting:
            place.reporting, place.reports = now, [*_REPORTS]
        if not place.reports:
            return ""
        kind = place.reports.pop(0)
        try:
            fd, path = tempfile.mkstemp(prefix="hookline-")
        except OSError:
            return ""
        os.close(fd)
        return kind + path

    def finished(self, place: Place, report: str) -> None:
        """Read the report of a run, and make a new spare."""
        # Now, although few runs have one: the program may end before the thread gets to it, and leave the file.
        self._do(partial(self._refill, place, report[:1], _read_report(report[1:])))

    # -- between events, in a thread

    def _do(self, work: _Work) -> None:
        with self._lock:
            if self._is_closed:
                return
            self._pending += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="hookline-parking", daemon=True)
                self._thread.start()
        self._work.put(work)

    def _run(self) -> None:
        while True:
            try:
                work = self._work.get(timeout=self._until_idle())
            except queue.Empty:
                with self._lock:
                    if self._end_idle() or self._pending:
                        continue
                    self._thread = None
                    return
            if work is None:
                self.close()
                return
            _wait_for_hooks()
            with contextlib.suppress(Exception):  # whatever it is, hooks run cold
                work()
            with self._lock:
                self._pending -= 1
                self._idle.notify_all()
                if self._is_closed:
                    return

    def _until_idle(self) -> float:
        with self._lock:
            used = [place.last_used for place in self._places.values() if place.interpreter is not None]
        return max(0.0, min(used) + self._idle_s - time.monotonic()) if used else 1.0

    def _end_idle(self) -> bool:
        """End interpreters that were not used for long; return whether any is left."""
        parked = [place for place in self._places.values() if place.interpreter is not None]
        for place in parked:
            if time.monotonic() - place.last_used >= self._idle_s:
                self._drop(place)
        return any(place.interpreter is not None for place in parked)

    def _park(self, place: Place, invocation: Invocation) -> None:
        try:
            if self._make_room(place):
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
        self._probe(recipe, invocation, place.cwd, facts)
        interpreter = Interpreter(invocation, place.cwd, recipe)
        with self._lock:
            if self._is_closed or place.is_forgotten or facts_of(recipe, invocation, place.cwd) != facts:
                interpreter.end()
                return
            place.take(interpreter, invocation)
            place.spares = [interpreter.fork()]

    def _probe(self, recipe: Recipe, invocation: Invocation, cwd: str, facts: tuple[Any, ...]) -> None:
        """Ask each interpreter once, in the same surroundings, whether it can be parked."""
        key = recipe.launcher, recipe.python, facts
        if key not in self._probed:
            self._probed.clear() if len(self._probed) > _MOST_PLACES else None
            try:
                probe(invocation, cwd, recipe)
                self._probed[key] = None
            except NotParkedError as error:
                self._probed[key] = str(error)
        if (refusal := self._probed[key]) is not None:
            raise NotParkedError(refusal)

    def _refill(self, place: Place, kind: str, found: list[bytes]) -> None:
        with self._lock:
            interpreter = place.interpreter
            if interpreter is None:
                return
        try:
            if found:
                self._use_report(place, interpreter, kind, found)
            with self._lock:
                while place.interpreter is interpreter and len(place.spares) < place.wanted:
                    place.spares.append(interpreter.fork())
        except (NotParkedError, OSError):
            with self._lock:
                self._drop(place)

    def _use_report(self, place: Place, interpreter: Interpreter, kind: str, found: list[bytes]) -> None:
        place.reports = [each for each in place.reports if each != kind]
        if kind == _MODULES:
            loaded = interpreter.load(found)
            with self._lock:
                place.loaded |= loaded
        else:
            interpreter.copy_ahead(found)
        # Those that were made before have nothing of it.
        with self._lock:
            old, place.spares = place.spares, []
        for spare in old:
            spare.discard()

    def _make_room(self, place: Place) -> bool:
        with self._lock:
            parked = [each for each in self._places.values() if each.interpreter is not None and each is not place]
            if len(parked) < self._most:
                return True
            oldest = min(parked, key=lambda each: each.last_used)
            if time.monotonic() - oldest.last_used < _KEPT_S:
                return False
            self._drop(oldest)
            return True

    # -- both

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
        """End a spare; one that is not ready yet has to be waited for."""
        if spare.pid or self._is_closed:
            spare.discard()
        else:
            self._do(spare.discard)

    def _forget_oldest(self) -> None:
        while len(self._places) > _MOST_PLACES + self._most:
            _, place = self._places.popitem(last=False)
            place.is_forgotten = True
            self._drop(place)

    def wait_until_idle(self, timeout_s: float) -> bool:
        with self._idle:
            self._idle.wait_for(lambda: not self._pending, timeout_s)
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

    def close_later(self) -> None:
        """The same as `close`, in the thread: a garbage collection may call this at any time, even under the lock."""
        self._work.put(None)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            for place in self._places.values():
                self._drop(place)
            self._places.clear()
            self._idle.notify_all()
        self._work.put(None)

    def forget(self) -> None:
        """After a fork the processes belong to the parent; only the copies of our sockets are closed here."""
        for place in self._places.values():
            for thing in (place.interpreter, *place.spares):
                if thing is not None:
                    thing.close()
        self.reset()


def _set(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


def _read_report(path: str) -> list[bytes]:
    if not path:
        return []
    with contextlib.suppress(OSError), open(path, "rb") as file:  # noqa: PTH123
        found = file.read(_LONGEST_REPORT).split(b"\0")
        os.unlink(path)  # noqa: PTH108
        return [each for each in found if each]
    return []


def _wait_for_hooks() -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while LIMIT.running and time.monotonic() < deadline:
        time.sleep(_POLL_S)


_LOTS: "weakref.WeakSet[_Lot]" = weakref.WeakSet()


def _after_fork() -> None:
    for lot in list(_LOTS):
        lot.forget()


os.register_at_fork(after_in_child=_after_fork)
