"""Threads for hooks that are plain functions.

`ThreadPoolExecutor` does not fit: Python waits for its threads at exit, and a hook that never returns would keep the
program from ending. Python does not wait for the daemon threads here.
"""

import os
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextvars import ContextVar, copy_context
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

MOST_THREADS = 32
# Functions may fire events whose functions also need threads. Below this depth they share the threads.
_MOST_POOLS = 8


class DaemonThreads(Executor):
    """At most `most` daemon threads for all event loops of the program; further calls wait for one of them."""

    def __init__(self, most: int = MOST_THREADS, *, depth: int = 1) -> None:
        self.most = most
        self._depth = depth
        self._reset()
        os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        """Start over; after a fork the threads exist in the parent only."""
        self._lock = Lock()
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._threads = 0
        self._unfinished = 0
        self._nested: DaemonThreads | None = None

    @property
    def busy(self) -> int:
        """The number of threads that run a function now."""
        return min(self._unfinished, self._threads)

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function in a thread, with the caller's context variables; raises RuntimeError without a thread.

        A function called by these threads gets other ones for the events that it fires. Functions that hold all
        threads while they wait for each other would otherwise wait until their timeouts.
        """
        return (_NESTED.get() or self)._submit(function, args, kwargs)  # noqa: SLF001 - of the same class

    def _submit(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Future[Any]:
        future: Future[Any] = Future()
        context = copy_context()
        context.run(_NESTED.set, self._nested_threads())
        with self._lock:
            if self._unfinished >= self._threads < self.most:
                self._start()
            self._unfinished += 1
            self._calls.put((future, lambda: context.run(function, *args, **kwargs)))
        return future

    def _nested_threads(self) -> "DaemonThreads":
        if self._nested is None:
            self._nested = DaemonThreads(self.most, depth=self._depth + 1) if self._depth < _MOST_POOLS else self
        return self._nested

    def _start(self) -> None:
        try:
            Thread(target=self._work, args=(self._calls,), name="hookline function", daemon=True).start()
        except RuntimeError:  # the system allows no more threads
            if not self._threads:  # no thread would ever take the call
                raise
        else:
            self._threads += 1

    def _work(self, calls: "SimpleQueue[tuple[Future[Any], Callable[[], Any]]]") -> None:
        while True:
            future, function = calls.get()
            self._run(future, function)
            del future, function  # an idle thread must not keep them alive

    def _run(self, future: Future[Any], function: Callable[[], Any]) -> None:
        returned, error = None, None
        is_wanted = future.set_running_or_notify_cancel()
        if is_wanted:
            try:
                returned = function()
            except BaseException as raised:  # noqa: BLE001 - hook code: a thread must not end with it, not even by sys.exit()
                error = raised
        # The next event may come as soon as the future is done, and needs a thread.
        with self._lock:
            self._unfinished -= 1
        if is_wanted and error is None:
            future.set_result(returned)
        elif is_wanted:
            future.set_exception(error)


# The threads for the events that a hook function fires itself.
_NESTED: ContextVar[DaemonThreads | None] = ContextVar("hookline_threads", default=None)
THREADS = DaemonThreads()
