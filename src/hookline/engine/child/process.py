"""Runs hooks as child processes, from spawn to reap."""

import asyncio
import errno
import heapq
import os
import resource
import signal
import time
from collections.abc import Callable, Sequence

from hookline.engine.child.command import shell_invocation
from hookline.engine.child.job import ChildJob, ChildLimits, ChildOutcome
from hookline.engine.child.reaper import REAPER, signal_group
from hookline.engine.child.slots import SLOTS
from hookline.engine.child.spawn import spawn
from hookline.engine.child.watch import EpollWatcher, Watcher

__all__ = ["ChildJob", "ChildLimits", "ChildOutcome", "run_children"]

_READ_BYTES = 1 << 18
_DEFAULT_LIMITS = ChildLimits()
_RETRIED = {errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM}
_RETRIES_ALONE = 6
_FAR_S = 86400.0
_UNKILLABLE_S = 2.0


async def run_children(jobs: Sequence[ChildJob], *, limits: ChildLimits = _DEFAULT_LIMITS) -> list[ChildOutcome]:
    """The outcomes of all jobs in the order given; they are started at once, within the limit of the whole program.

    Raises nothing but CancelledError; every started child is then terminated with its group before it propagates.
    """
    if not jobs:
        return []
    batch = _Batch(len(jobs), limits)
    try:
        for index, job in enumerate(jobs):
            if index:
                # Others on this loop get their turn between two spawns.
                await asyncio.sleep(0)
            await batch.start(index, job)
        await batch.wait()
    except asyncio.CancelledError:
        await batch.stop()
        raise
    finally:
        batch.close()
    return batch.outcomes()


class _Batch:
    """The children of one call: one watcher, one heap of timers, one future."""

    def __init__(self, size: int, limits: ChildLimits) -> None:
        self.limits = limits
        self.loop = asyncio.get_running_loop()
        self.watcher: Watcher = EpollWatcher(self.loop)
        self._outcomes: list[ChildOutcome | None] = [None] * size
        self._left = size
        self._done: asyncio.Future[None] = self.loop.create_future()
        self._running: dict[int, _Child] = {}
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._timer_count = 0
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = float("inf")

    async def start(self, index: int, job: ChildJob) -> None:
        if job.timeout_ms <= 0:
            self._keep(index, _never_started(timed_out=True))
            return
        delay = 0.01
        for attempt in range(_RETRIES_ALONE):
            await SLOTS.take(self._most())
            try:
                self._running[index] = _Child(self, index, job)
            except (OSError, ValueError) as error:
                SLOTS.give_back()
                if getattr(error, "errno", None) not in _RETRIED or attempt == _RETRIES_ALONE - 1:
                    self._keep(index, _never_started(error=_refusal(error, job)))
                    return
                await asyncio.sleep(delay)
                delay *= 2
            else:
                return

    def _most(self) -> int:
        # Each child takes up to four of our descriptors; some are left for the rest of the program.
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        affordable = self.limits.max_concurrent if soft == resource.RLIM_INFINITY else (soft - 64) // 4
        return max(1, min(self.limits.max_concurrent, affordable))

    async def wait(self) -> None:
        if self._left:
            await self._done

    async def stop(self) -> None:
        """Terminates what runs and returns when it has ended; a second cancellation kills at once."""
        for child in tuple(self._running.values()):
            child.terminate()
        while self._running:
            self._left = len(self._running)
            self._done = self.loop.create_future()
            try:
                await self._done
            except asyncio.CancelledError:
                for child in tuple(self._running.values()):
                    child.kill()

    def close(self) -> None:
        """Lets go of the loop, handing what still runs to the reaper."""
        for child in tuple(self._running.values()):
            child.abandon()
        if self._alarm:
            self._alarm.cancel()
        self.watcher.close()

    def outcomes(self) -> list[ChildOutcome]:
        return [outcome for outcome in self._outcomes if outcome is not None]

    def ended(self, index: int, outcome: ChildOutcome) -> None:
        del self._running[index]
        SLOTS.give_back()
        self._keep(index, outcome)

    def _keep(self, index: int, outcome: ChildOutcome) -> None:
        self._outcomes[index] = outcome
        self._left -= 1
        if not self._left and not self._done.done():
            self._done.set_result(None)

    def call_at(self, when: float, action: Callable[[], None]) -> None:
        self._timer_count += 1
        heapq.heappush(self._timers, (when, self._timer_count, action))
        self._set_alarm()

    def _set_alarm(self) -> None:
        when = self._timers[0][0] if self._timers else float("inf")
        if when >= self._alarm_at and self._alarm:
            return
        if self._alarm:
            self._alarm.cancel()
        self._alarm, self._alarm_at = None, when
        if self._timers:
            delay = min(max(0.0, when - time.monotonic()), _FAR_S)
            self._alarm = self.loop.call_later(delay, self._ring)

    def _ring(self) -> None:
        self._alarm, self._alarm_at = None, float("inf")
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            heapq.heappop(self._timers)[2]()
        if not self._alarm and self._timers:
            self._set_alarm()


class _Child:
    """One running hook."""

    def __init__(self, batch: _Batch, index: int, job: ChildJob) -> None:
        self._batch = batch
        self._index = index
        self._watcher = batch.watcher
        self._limit = batch.limits.output_bytes
        self._output = (bytearray(), bytearray())
        self._cut = [False, False]
        self._reading: dict[int, int] = {}
        self._writing: int | None = None
        self._rest = memoryview(job.stdin)
        self._status: int | None = None
        self._has_ended = False
        self._status_lost = False
        self._timed_out = False
        self._killed_at: float | None = None
        self._terminated_at: float | None = None
        self._started = time.monotonic()
        self._pid = self._spawn(job)
        deadline = self._started + job.timeout_ms / 1000
        if deadline != float("inf"):
            batch.call_at(deadline, self._time_out)

    def _spawn(self, job: ChildJob) -> int:
        invocation = shell_invocation(job.command, job.env)
        opened: list[int] = []
        try:
            for _ in range(3):
                opened += os.pipe()
            stdin, feed, out, stdout, err, stderr = opened
            os.set_blocking(feed, False)
            self._feed(feed)
            pid = spawn(invocation.executable, invocation.argv, job.cwd, job.env, (stdin, stdout, stderr))
        except BaseException:
            for fd in opened:
                os.close(fd)
            raise
        for fd in (stdin, stdout, stderr):
            os.close(fd)
        self._reading = {out: 0, err: 1}
        if self._rest:
            self._writing = feed
            self._watcher.writes(feed, self._feed_more)
        else:
            os.close(feed)
        self._watcher.reads(out, lambda: self._read(out))
        self._watcher.reads(err, lambda: self._read(err))
        self._watcher.ends(pid, self._process_ended)
        return pid

    def _feed(self, fd: int) -> None:
        try:
            while self._rest:
                self._rest = self._rest[os.write(fd, self._rest) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self._rest = memoryview(b"")  # a hook need not read its input

    def _feed_more(self) -> None:
        assert self._writing is not None
        self._feed(self._writing)
        if not self._rest:
            self._stop_feeding()

    def _stop_feeding(self) -> None:
        if self._writing is not None:
            self._watcher.forget(self._writing)
            os.close(self._writing)
            self._writing = None

    def _read(self, fd: int) -> None:
        stream = self._reading[fd]
        data = os.read(fd, _READ_BYTES)
        if not data:
            self._stop_reading(fd)
            self._maybe_finish()
            return
        kept = self._output[stream]
        room = self._limit - len(kept)
        if len(data) > room:
            self._cut[stream] = True
            data = data[: max(0, room)]
        kept += data

    def _stop_reading(self, fd: int) -> None:
        self._watcher.forget(fd)
        os.close(fd)
        del self._reading[fd]

    def _process_ended(self) -> None:
        try:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
        except ChildProcessError:
            self._status_lost = True
        else:
            if pid:
                self._status = status
            else:
                self._status_lost = True
        self._has_ended = True
        self._stop_feeding()
        if self._terminated_at is not None:
            REAPER.adopt(self._pid, kill_at=self._terminated_at + self._batch.limits.grace_s, unreaped=False)
        if self._reading:
            self._batch.call_at(time.monotonic() + self._batch.limits.pipe_grace_s, self._stop_waiting_for_pipes)
        self._maybe_finish()

    def _stop_waiting_for_pipes(self) -> None:
        for fd in tuple(self._reading):
            self._stop_reading(fd)
        self._maybe_finish()

    def _maybe_finish(self) -> None:
        if self._has_ended and not self._reading and self._index in self._batch._running:
            self._batch.ended(self._index, self._outcome())

    def _outcome(self) -> ChildOutcome:
        code = None if self._status is None else os.waitstatus_to_exitcode(self._status)
        return ChildOutcome(
            exit_code=code if code is not None and code >= 0 else None,
            signal=-code if code is not None and code < 0 else None,
            timed_out=self._timed_out,
            stdout=bytes(self._output[0]),
            stderr=bytes(self._output[1]),
            stdout_truncated=self._cut[0],
            stderr_truncated=self._cut[1],
            duration_ms=(time.monotonic() - self._started) * 1000,
            error=_LOST if self._status_lost else None,
        )

    def _time_out(self) -> None:
        if not self._has_ended and self._terminated_at is None:
            self._timed_out = True
            self.terminate()

    def terminate(self) -> None:
        if not self._has_ended and self._terminated_at is None:
            self._terminated_at = time.monotonic()
            signal_group(self._pid, signal.SIGTERM)
            # A stopped process takes its TERM only when it goes on.
            signal_group(self._pid, signal.SIGCONT)
            self._batch.call_at(self._terminated_at + self._batch.limits.grace_s, self.kill)

    def kill(self) -> None:
        if not self._has_ended and self._killed_at is None:
            self._killed_at = time.monotonic()
            signal_group(self._pid, signal.SIGKILL)
            self._batch.call_at(self._killed_at + _UNKILLABLE_S, self._give_up)

    def _give_up(self) -> None:
        if not self._has_ended:
            self._status_lost = True
            self._let_go()
            self._batch.ended(self._index, self._outcome())

    def abandon(self) -> None:
        self._let_go()
        self._batch.ended(self._index, self._outcome())

    def _let_go(self) -> None:
        if not self._has_ended:
            now = time.monotonic()
            if self._terminated_at is None:
                self._terminated_at = now
                signal_group(self._pid, signal.SIGTERM)
                signal_group(self._pid, signal.SIGCONT)
            REAPER.adopt(self._pid, kill_at=self._terminated_at + self._batch.limits.grace_s, unreaped=True)
        self._has_ended = True
        self._stop_feeding()
        for fd in tuple(self._reading):
            self._stop_reading(fd)


_LOST = (
    "the exit status was lost: the program around the hooks ignores SIGCHLD or waits for all children, "
    "so whether the hook succeeded is not known"
)


def _never_started(*, timed_out: bool = False, error: str | None = None) -> ChildOutcome:
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


def _refusal(error: Exception, job: ChildJob) -> str:
    if isinstance(error, OSError) and error.errno is not None:
        return f"the hook could not be started in {job.cwd}: {os.strerror(error.errno)}"
    return f"the hook could not be started: {error}"
