"""Runs hooks as child processes, many at once, from any event loop."""

import asyncio
import contextlib
import errno
import os
import resource
import time
from collections.abc import Callable, Sequence

from hookline.child.feeding import SharedInputs
from hookline.child.job import ChildJob, ChildLimits, ChildOutcome
from hookline.child.running import RunningChild
from hookline.child.slots import SLOTS
from hookline.child.watch import watcher_for

__all__ = ["ChildJob", "ChildLimits", "ChildOutcome", "run_children"]

_DEFAULT_LIMITS = ChildLimits()
_NEVER = float("inf")
_ALREADY = -_NEVER
_LONGEST_ALARM_S = 86400.0

# Shortages that pass when other children end.
_SHORTAGES = frozenset((errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM))
_FIRST_PAUSE_S = 0.01
_LONGEST_PAUSE_S = 0.2
_PAUSES_ALONE = 5

# How long children are started in a row: a turn of the loop costs about a fifth of what we do for a start.
_TURN_S = 0.003

# What comes so soon after a cancellation is the same one, repeated.
_SAME_CANCELLATION_S = 0.02

# How long a new child is only waited for.
_QUIET_S = 0.005
_QUIET_S_PER_CHILD = 0.001
_LONGEST_QUIET_S = 0.05

# So many children find room in any program, so that it need not be asked how many may run.
_SURELY_AFFORDABLE = 16
_DESCRIPTORS_PER_CHILD = 4
_DESCRIPTORS_FOR_OTHERS = 64


async def run_children(
    jobs: Sequence[ChildJob],
    *,
    limits: ChildLimits = _DEFAULT_LIMITS,
    on_end: Callable[[int], None] | None = None,
) -> list[ChildOutcome]:
    """The outcomes of all jobs, in the order given; they are started at once, within the limit of the whole program.

    `on_end` is told the index of each job that ends, as soon as it does; it must not raise.
    Raises nothing but CancelledError; every started child is then terminated with its group before it propagates.
    """
    if not jobs:
        return []
    batch = _Batch(jobs, limits, on_end)
    try:
        turn_ends = time.monotonic() + _TURN_S
        for index, job in enumerate(jobs):
            if index and time.monotonic() >= turn_ends:
                # Others on this loop get their turn between two spawns.
                await asyncio.sleep(0)
                turn_ends = time.monotonic() + _TURN_S
            if job.timeout_ms <= 0:
                batch.outcomes[index] = _without_output(timed_out=True)
            elif not batch.try_start(index, job):
                await batch.start(index, job)
        await batch.all_ended()
    except asyncio.CancelledError:
        await batch.stop()
        raise
    finally:
        batch.close()
    return batch.outcomes


class _Batch:
    """The children of one call: one watcher, one alarm, one future.

    It lives as long as the call, so that loops share nothing and a loop that is closed too early leaves nothing behind.
    """

    inputs: SharedInputs | None = None
    quiet_s = _QUIET_S
    _idle: asyncio.Future[None] | None = None
    _alarm: asyncio.TimerHandle | None = None
    _alarm_at = _NEVER

    def __init__(self, jobs: Sequence[ChildJob], limits: ChildLimits, on_end: Callable[[int], None] | None) -> None:
        self.limits = limits
        self._on_end = on_end
        count = len(jobs)
        if count > 1:
            self.inputs = SharedInputs(job.stdin for job in jobs)
            self.quiet_s = min(max(_QUIET_S, _QUIET_S_PER_CHILD * count), _LONGEST_QUIET_S)
        if count > _SURELY_AFFORDABLE:
            self._most = _most_at_once(limits.max_concurrent)
        else:
            self._most = min(_SURELY_AFFORDABLE, limits.max_concurrent)
        self._loop = asyncio.get_running_loop()
        self.watcher = watcher_for(self._loop)
        self.outcomes = [_NEVER_STARTED] * count
        self._running: set[RunningChild] = set()

    async def start(self, index: int, job: ChildJob) -> None:
        """Starts a job when there is room for it; one that the system refuses for good gets its outcome at once."""
        pauses = 0
        while True:
            await SLOTS.take((id(self), index), _most_at_once(self.limits.max_concurrent))
            if self.try_start(index, job, has_slot=True, is_last=pauses >= _PAUSES_ALONE):
                return
            await asyncio.sleep(min(_FIRST_PAUSE_S * 2**pauses, _LONGEST_PAUSE_S))
            # While others run, the shortage may end with them.
            pauses = 0 if SLOTS.taken else pauses + 1

    def try_start(self, index: int, job: ChildJob, *, has_slot: bool = False, is_last: bool = False) -> bool:
        """Tries to start a job, in the slot it has or takes; False, without a slot, if it is worth trying again."""
        slot = id(self), index
        child: RunningChild | None = None
        try:
            if not has_slot and not SLOTS.try_take(slot, self._most):
                return False
            child = RunningChild(self, index, job)
            self._running.add(child)
            child.start()
        except BaseException as error:
            if child and child.is_started:
                raise  # an interruption: what runs is ended when the batch is closed
            if child:
                self._running.discard(child)
            SLOTS.give_back(slot)
            if not isinstance(error, Exception):
                raise
            if not is_last and isinstance(error, OSError) and error.errno in _SHORTAGES:
                return False
            self.outcomes[index] = _without_output(error=_refusal(error, job))
        return True

    def all_ended(self) -> asyncio.Future[None]:
        """Is done when the last child has ended."""
        self._idle = self._loop.create_future()
        if not self._running:
            self._idle.set_result(None)
        return self._idle

    async def stop(self) -> None:
        """Terminates what runs and returns when it has ended; being cancelled once more, later, kills at once."""
        for child in tuple(self._running):
            child.terminate()
        cancelled = time.monotonic()
        while self._running:
            try:
                await self.all_ended()
            except asyncio.CancelledError:
                # Some frameworks (anyio) repeat themselves in every turn of the loop until they are obeyed.
                if time.monotonic() - cancelled > _SAME_CANCELLATION_S:
                    for child in tuple(self._running):
                        child.kill()
                cancelled = time.monotonic()

    def close(self) -> None:
        """Lets go of the loop; what still runs, because the loop was closed or interrupted, goes to the reaper."""
        idle, self._idle = self._idle, None
        if self._alarm:
            self._alarm.cancel()
        try:
            if self._running:
                self._abandon_all()
        finally:
            if self.inputs:
                self.inputs.close()
            if idle is None or not idle.done():
                # An interruption may have come between the taking of a slot and the start.
                for index in range(len(self.outcomes)):
                    SLOTS.give_back((id(self), index))

    def wake_at(self, when: float) -> None:
        """Sees to it that what is due at that monotonic time is done then, if the batch still exists."""
        if when < self._alarm_at:
            if self._alarm:
                self._alarm.cancel()
            self._alarm_at = when
            delay = min(when - time.monotonic(), _LONGEST_ALARM_S)
            self._alarm = self._loop.call_at(self._loop.time() + delay, self._ring)

    def ended(self, child: RunningChild) -> None:
        """Keeps the outcome of a child and its slot for the next."""
        child.due = _NEVER
        try:
            self.outcomes[child.index] = child.outcome()
        except Exception as error:  # noqa: BLE001 - of a lack of memory, say: nobody must wait for it forever
            reason = f"what became of the hook is not known: {error!r}"
            self.outcomes[child.index] = _without_output(error=reason)
        finally:
            # First, because after an interruption what is left in the set is ended once more.
            SLOTS.give_back((id(self), child.index))
            self._running.remove(child)
            if not self._running and self._idle and not self._idle.done():
                self._idle.set_result(None)
        if self._on_end is not None:
            self._on_end(child.index)

    def _abandon_all(self) -> None:
        # What goes wrong with one of them, even an interruption, costs no other.
        with contextlib.ExitStack() as each:
            for child in self._running:
                each.enter_context(contextlib.suppress(Exception))
                each.callback(child.abandon)

    def _ring(self) -> None:
        now = time.monotonic()
        # While it rings, no child sets the alarm: that is done for all of them at the end, whatever happens.
        self._alarm_at = _ALREADY
        try:
            for child in tuple(self._running):
                while child.due <= now:
                    child.do_due()
        finally:
            self._alarm_at = _NEVER
            self.wake_at(min((child.due for child in self._running), default=_NEVER))


def _most_at_once(wanted: int) -> int:
    """How many children may run, leaving descriptors to the rest of the program."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY:
        wanted = min(wanted, (soft - _DESCRIPTORS_FOR_OTHERS) // _DESCRIPTORS_PER_CHILD)
    return max(1, wanted)


def _without_output(*, timed_out: bool = False, error: str | None = None) -> ChildOutcome:
    return ChildOutcome(
        exit_code=None,
        signal=None,
        timed_out=timed_out,
        stdout=b"",
        stderr=b"",
        stdout_truncated=False,
        stderr_truncated=False,
        duration_ms=0.0,
        error=error,
    )


_NEVER_STARTED = _without_output(error="the hook was not started")


def _refusal(error: Exception, job: ChildJob) -> str:
    if not isinstance(error, OSError):
        return f"the hook could not be started: {error}"
    reason = os.strerror(error.errno) if error.errno else str(error)
    if error.filename == job.cwd:
        return f"the hook could not be started: its working directory {job.cwd} can't be used: {reason}"
    return f"the hook could not be started: {reason}"
