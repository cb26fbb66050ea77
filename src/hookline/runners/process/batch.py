"""Runs hooks as child processes, many at once, on any event loop."""

import asyncio
import contextlib
import resource
import time
from collections.abc import Callable, Sequence
from functools import lru_cache

from hookline.runners.process.command import BEING_WRITTEN, RESOURCE_ERRNOS
from hookline.runners.process.job import ChildJob, ChildLimits, ChildOutcome
from hookline.runners.process.limit import ON_SHORTAGE, SCOPE
from hookline.runners.process.process import Process, why_not_started

__all__ = ["ChildJob", "ChildLimits", "ChildOutcome", "run_children"]

_DEFAULT_LIMITS = ChildLimits()
_NOT_STARTED = ChildOutcome(error="the hook was not started")
_FIRST_PAUSE_S = 0.01
_LONGEST_PAUSE_S = 0.2
_PAUSES_ALONE = 5

# How long processes are started in a row: yielding to the loop costs about a fifth of a start.
_TURN_S = 0.003

# Some frameworks (anyio) repeat a cancellation in every turn of the loop. This soon after the first it is the same one.
_SAME_CANCELLATION_S = 0.1

_DESCRIPTORS_PER_PROCESS = 5
_DESCRIPTORS_FOR_OTHERS = 64


async def run_children(
    jobs: Sequence[ChildJob],
    *,
    limits: ChildLimits = _DEFAULT_LIMITS,
    on_end: Callable[[int], None] | None = None,
) -> list[ChildOutcome]:
    """Run all jobs at the same time, within the limit of the whole program, and return their outcomes in order.

    `on_end` is called with the index of each job as soon as it ends; it must not raise.
    Raises only CancelledError, after every process group has been terminated.
    """
    if not jobs:
        return []
    batch = _Batch(jobs, limits, on_end)
    try:
        await batch.run(jobs)
    except asyncio.CancelledError:
        await batch.stop()
        raise
    finally:
        batch.close()
    return batch.outcomes


class _Batch:
    """The processes of one call.

    It exists as long as the call, so loops share nothing, and a loop that is closed too early leaves nothing behind.
    """

    _all_finished: asyncio.Future[None] | None = None

    def __init__(self, jobs: Sequence[ChildJob], limits: ChildLimits, on_end: Callable[[int], None] | None) -> None:
        self.limits = limits
        self.slots = SCOPE.get()
        self._on_end = on_end
        self._most = _most_at_once(limits.max_concurrent)
        self.outcomes = [_NOT_STARTED] * len(jobs)
        # Shared by all scripts that are being written: the other hooks wait for each pause.
        self._pauses_left = _PAUSES_ALONE
        self._running: set[Process] = set()
        self.loop = asyncio.get_running_loop()

    async def run(self, jobs: Sequence[ChildJob]) -> None:
        """Start all jobs, each as soon as the limit allows, and wait until all have finished."""
        turn_end = time.monotonic() + _TURN_S
        for index, job in enumerate(jobs):
            if index and time.monotonic() >= turn_end:
                await asyncio.sleep(0)
                turn_end = time.monotonic() + _TURN_S
            if job.timeout_ms <= 0:
                self._not_started(index, ChildOutcome(timed_out=True))
                continue
            await self._start(index, job)
        if self._running:
            self._all_finished = self.loop.create_future()
            await self._all_finished

    async def stop(self) -> None:
        """Terminate all processes and wait for their exits; a second, later cancellation kills them."""
        for process in tuple(self._running):
            process.terminate()
        cancelled_at = time.monotonic()
        while self._running:
            self._all_finished = self.loop.create_future()
            try:
                await self._all_finished
            except asyncio.CancelledError:
                if time.monotonic() - cancelled_at > _SAME_CANCELLATION_S:
                    for process in tuple(self._running):
                        process.kill()
                cancelled_at = time.monotonic()

    def close(self) -> None:
        """Let go of the loop; the reaper gets processes that still run because the loop was closed or interrupted."""
        self._all_finished = None
        for process in tuple(self._running):
            with contextlib.suppress(Exception):  # the other processes must also be abandoned
                process.abandon()

    def finished(self, process: Process, outcome: ChildOutcome) -> None:
        """Keep the outcome of a process; a second call does nothing."""
        if process not in self._running:
            return
        self._running.remove(process)
        self.outcomes[process.index] = outcome
        if not self._running and self._all_finished and not self._all_finished.done():
            self._all_finished.set_result(None)
        if self._on_end is not None:
            self._on_end(process.index)

    def _not_started(self, index: int, outcome: ChildOutcome) -> None:
        self.outcomes[index] = outcome
        if self._on_end is not None:
            self._on_end(index)

    async def _start(self, index: int, job: ChildJob) -> None:
        """Start a process as soon as there is a slot. Retry if the cause of a failure may soon be over."""
        slot, pauses, first_refused_at = object(), 0, 0.0
        while True:
            if not self.slots.try_acquire(slot, self._most):  # without a turn of the loop
                await self.slots.acquire(slot, self._most)
            process = Process(self, index, job, slot)
            self._running.add(process)
            try:
                return process.start()
            except Exception as error:  # noqa: BLE001 - whatever it is, this hook was not started and the others go on
                self._running.discard(process)
                self.slots.release(slot)
                number = getattr(error, "errno", None)
                is_shortage = number in RESOURCE_ERRNOS
                first_refused_at = first_refused_at or time.monotonic()
                waited_ms = (time.monotonic() - first_refused_at) * 1000
                if number == BEING_WRITTEN and self._pauses_left > 0 and waited_ms < job.timeout_ms:
                    pauses = _PAUSES_ALONE - self._pauses_left
                    self._pauses_left -= 1
                elif pauses == _PAUSES_ALONE or not is_shortage:
                    why = why_not_started(error, job)
                    outcome = ChildOutcome(error=why, is_shortage=is_shortage, duration_ms=waited_ms)
                    return self._not_started(index, outcome)
            for free_resources in ON_SHORTAGE if is_shortage else ():
                free_resources()
            await asyncio.sleep(min(_FIRST_PAUSE_S * 2**pauses, _LONGEST_PAUSE_S))
            # While other hooks run, the shortage may end with them.
            pauses = 0 if is_shortage and self.slots.running else pauses + 1


@lru_cache(maxsize=8)
def _most_at_once(wanted: int) -> int:
    """Leave some file descriptors to the rest of the program."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY:
        wanted = min(wanted, (soft - _DESCRIPTORS_FOR_OTHERS) // _DESCRIPTORS_PER_PROCESS)
    return max(1, wanted)
