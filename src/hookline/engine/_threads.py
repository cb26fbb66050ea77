"""Threads for hooks that are plain functions: bounded, and never waited for when they hang."""

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import Any

from hookline.errors import HooklineError

MOST_THREADS = 32
_IDLE_S = 10.0


class Threads:
    """At most `most` threads of the program, on all its event loops; further calls wait for one.

    They are daemons: a function that never returns must not keep the program from ending.
    """

    def __init__(self, most: int = MOST_THREADS) -> None:
        self.most = most
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)  # the threads stay in the parent

    def _reset(self) -> None:
        self._waiting: deque[_Job] = deque()
        self._has_work = threading.Condition()
        self._threads = 0
        self._idle = 0

    @property
    def busy(self) -> int:
        """How many threads run a function now."""
        return self._threads - self._idle

    def run(self, function: Callable[..., Any], *arguments: Any) -> "asyncio.Future[Any]":
        """Calls a function in a thread; its result is the future's. Cancelling the future gives the thread up."""
        loop = asyncio.get_running_loop()
        job = _Job(function, arguments, copy_context(), loop, loop.create_future())
        job.future.add_done_callback(lambda future: self._give_up(job) if future.cancelled() else None)
        with self._has_work:
            self._waiting.append(job)
            if self._idle >= len(self._waiting):
                self._has_work.notify()
            elif self._threads < self.most:
                self._threads += 1
                self._start(job)
        return job.future

    def _start(self, job: "_Job") -> None:
        try:
            threading.Thread(target=self._work, name="hookline callable", daemon=True).start()
        except RuntimeError:  # the system allows no more threads
            self._threads -= 1
            if not self._threads:  # nobody would ever take it
                self._waiting.remove(job)
                raise

    def _give_up(self, job: "_Job") -> None:
        with self._has_work, suppress(ValueError):  # it may run already; then its thread can't be stopped
            self._waiting.remove(job)

    def _work(self) -> None:
        while (job := self._next()) is not None:
            try:
                returned, error = job.context.run(job.function, *job.arguments), None
            except BaseException as raised:  # noqa: BLE001 - foreign code: a thread must not end with it, not even by sys.exit()
                returned, error = None, raised
            with suppress(RuntimeError):  # the loop may be closed by now
                job.loop.call_soon_threadsafe(job.finish, returned, error)
            del job, returned, error  # an idle thread must not keep them

    def _next(self) -> "_Job | None":
        with self._has_work:
            while not self._waiting:
                self._idle += 1
                was_called = self._has_work.wait(_IDLE_S)
                self._idle -= 1
                if not was_called and not self._waiting:
                    self._threads -= 1
                    return None
            return self._waiting.popleft()


@dataclass(slots=True, eq=False)
class _Job:
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    context: Context
    """The caller's: what a program keeps in context variables is seen by its hooks."""
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"

    def finish(self, returned: Any, error: BaseException | None) -> None:
        if self.future.done():
            return
        if error is None:
            self.future.set_result(returned)
        elif isinstance(error, Exception) and not isinstance(error, StopIteration):
            self.future.set_exception(error)
        else:  # a future can't hold the one, and a loop would end the program with the others
            self.future.set_exception(HooklineError(f"raised {describe(error)}"))


def describe(error: BaseException) -> str:
    """An exception of foreign code, whose text may raise another one."""
    name = type(error).__name__
    try:
        return f"{name}: {error}"
    except Exception:  # noqa: BLE001 - whatever it is, the hook failed, and its event must end
        return name


THREADS = Threads()
