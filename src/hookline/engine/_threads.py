"""Threads for hooks that are plain functions: bounded, and never waited for when they hang.

Most functions take a few microseconds, and waking up an event loop takes longer than that. So a call is handed over by
releasing a lock that an idle thread waits for, and comes back by another one that the caller waits for, a moment at
most (`Job.ended_within`). Only a function that takes longer is followed by a callback on the loop (`Job.follow`).
"""

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any

from hookline.errors import HooklineError

MOST_THREADS = 32
_IDLE_S = 10.0
# How deep functions may ask for each other before they share threads.
_DEEPEST = 8

# What a function returned, or what it raised.
Ending = tuple[Any, BaseException | None]
# Called on the loop, in the context of the function.
OnEnd = Callable[[Any, BaseException | None], object]


class Threads:
    """At most `most` threads of the program, on all its event loops; further calls wait for one.

    They are daemons: a function that never returns must not keep the program from ending.
    """

    def __init__(self, most: int = MOST_THREADS, *, depth: int = 1) -> None:
        self.most = most
        self._depth = depth
        self._inner: Threads | None = None
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)  # the threads stay in the parent

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Job] = deque()
        self._idle: list[_Thread] = []
        self._threads = 0

    @property
    def busy(self) -> int:
        """How many threads run a function now."""
        return self._threads - len(self._idle)

    def submit(self, work: Callable[[], Any], loop: asyncio.AbstractEventLoop) -> "Job":
        """Calls a function in a thread; raises a RuntimeError if there can be none."""
        return (_INNER.get() or self)._submit(work, loop)  # noqa: SLF001 - of the same class

    def _submit(self, work: Callable[[], Any], loop: asyncio.AbstractEventLoop) -> "Job":
        job = Job(work, loop, self)
        with self._lock:
            if self._idle:
                # The last one that became idle: its memory is the most likely to be in the processor's cache.
                self._idle.pop().take(job)
            else:
                self._waiting.append(job)
                if self._threads < self.most:
                    self._start(job)
        return job

    def run(self, function: Callable[..., Any], *arguments: Any) -> "asyncio.Future[Any]":
        """Calls a function in a thread; its result is the future's. Cancelling the future gives the thread up."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        job = self.submit(partial(function, *arguments), loop)
        future.add_done_callback(lambda future: self.give_up(job) if future.cancelled() else None)
        if (ending := job.follow(partial(_settle, future))) is not None:
            _settle(future, *ending)
        return future

    def give_up(self, job: "Job") -> None:
        """Does not call the function any more; if it runs already, its thread can't be stopped."""
        job.threads._remove(job)  # noqa: SLF001 - of the same class

    def _remove(self, job: "Job") -> None:
        with self._lock, suppress(ValueError):
            self._waiting.remove(job)

    @property
    def inner(self) -> "Threads":
        """The threads for events that a function of these fires and waits for.

        They are other ones: functions that have all threads, and wait for each other, would wait until their time is
        over, and then let everything pass.
        """
        if self._inner is None:
            self._inner = Threads(self.most, depth=self._depth + 1) if self._depth < _DEEPEST else self
        return self._inner

    def _start(self, job: "Job") -> None:
        self._threads += 1
        try:
            threading.Thread(target=self._work, name="hookline callable", daemon=True).start()
        except RuntimeError:  # the system allows no more threads
            self._threads -= 1
            if not self._threads:  # nobody would ever take it
                self._waiting.remove(job)
                raise

    def _work(self) -> None:
        own = _Thread()
        self._rest(own)
        while (job := self._next(own)) is not None:
            try:
                job.context.run(_INNER.set, self.inner)
                ending: Ending = job.context.run(job.work), None
            except BaseException as raised:  # noqa: BLE001 - foreign code: a thread must not end with it, not even by sys.exit()
                ending = None, raised
            # First: the next event may come as soon as this one has ended, and needs a thread.
            self._rest(own)
            job.end(ending)
            del job, ending  # an idle thread must not keep them

    def _rest(self, own: "_Thread") -> None:
        """Takes the job that waits, or becomes idle."""
        with self._lock:
            if self._waiting:
                own.take(self._waiting.popleft())
            else:
                self._idle.append(own)

    def _next(self, own: "_Thread") -> "Job | None":
        """Waits for a job; None if there was none for long, and the thread ends."""
        if not own.has_job.acquire(timeout=_IDLE_S):
            with self._lock:
                if own in self._idle:
                    self._idle.remove(own)
                    self._threads -= 1
                    return None
            own.has_job.acquire()  # it was given one at the last moment
        job, own.job = own.job, None
        return job


class Job:
    """A call that was asked for."""

    __slots__ = ("_ending", "_is_over", "_lock", "_loop", "_on_end", "context", "threads", "work")

    def __init__(self, work: Callable[[], Any], loop: asyncio.AbstractEventLoop, threads: Threads) -> None:
        self.work = work
        self.threads = threads
        self.context = copy_context()
        """The caller's: what a program keeps in context variables is seen by its hooks."""
        self._loop = loop
        self._lock = threads._lock  # noqa: SLF001 - they share it
        self._ending: Ending | None = None
        self._is_over = threading.Lock()
        self._is_over.acquire()
        self._on_end: OnEnd | None = None

    def ended_within(self, seconds: float) -> Ending | None:
        """Waits so long at most for the function's end, and returns it."""
        return self._ending if self._is_over.acquire(timeout=seconds) else None

    def follow(self, on_end: OnEnd) -> Ending | None:
        """Has the loop call `on_end` when the function ends; if it has ended, returns that instead."""
        with self._lock:
            if self._ending is None:
                self._on_end = on_end
            return self._ending

    def end(self, ending: Ending) -> None:
        """Called by the thread, once."""
        with self._lock:
            self._ending = ending
            on_end = self._on_end
        if on_end is None:
            self._is_over.release()
            return
        with suppress(RuntimeError):  # the loop may be closed by now
            self._loop.call_soon_threadsafe(on_end, *ending, context=self.context)


class _Thread:
    """What one thread waits for."""

    __slots__ = ("has_job", "job")

    def __init__(self) -> None:
        self.job: Job | None = None
        self.has_job = threading.Lock()
        """Free while there is a job to take."""
        self.has_job.acquire()

    def take(self, job: Job) -> None:
        self.job = job
        self.has_job.release()


def _settle(future: "asyncio.Future[Any]", returned: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(returned)
    elif isinstance(error, Exception) and not isinstance(error, StopIteration):
        future.set_exception(error)
    else:  # a future can't hold the one, and a loop would end the program with the others
        future.set_exception(HooklineError(f"raised {describe(error)}"))


def describe(error: BaseException) -> str:
    """An exception of foreign code, whose text may raise another one."""
    name = type(error).__name__
    try:
        return f"{name}: {error}"
    except Exception:  # noqa: BLE001 - whatever it is, the hook failed, and its event must end
        return name


# Set in the context of each function: the threads for the events that it fires itself.
_INNER: ContextVar[Threads | None] = ContextVar("hookline_threads", default=None)
THREADS = Threads()
