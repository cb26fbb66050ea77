"""One event loop in a thread of its own, for callers that do not await."""

import asyncio
import os
import threading
import weakref
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

from hookline.errors import HooklineError

T = TypeVar("T")

# Cancelling a hook sends SIGTERM to its group; cancelling it again kills the group at once.
_TERM_S = 0.5
_END_S = 5.0
# A signal that comes just before a thread blocks does not wake it: Python looks for signals this often.
_LOOK_S = 0.5


class LoopThread:
    """Runs coroutines for other threads; the thread starts with the first of them and is ended with this object."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stop: weakref.finalize[..., Any] | None = None
        _KNOWN.add(self)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What the coroutine returns or raises; an interrupt in the waiting thread cancels it."""
        try:
            loop = self._started()
        except BaseException:
            work.close()
            raise
        future = asyncio.run_coroutine_threadsafe(work, loop)
        try:
            return _result(future)
        except BaseException as error:
            future.cancel()
            if isinstance(error, CancelledError):
                if self._loop is not loop:
                    raise HooklineError("the hooks were closed while they ran, so nothing is decided") from None
                if self._ends_with_program():
                    # Only daemons run at this point, and Python ends them without a word. An error would be printed.
                    threading.Event().wait()
            raise

    def _ends_with_program(self) -> bool:
        return self._stop is not None and not self._stop.alive and threading.current_thread().daemon

    def close(self) -> None:
        """Ends the thread within bounded time, and the hooks that still run; another call would start it again."""
        with self._lock:
            stop, self._stop, self._loop = self._stop, None, None
        if stop is not None:
            stop()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = loop = asyncio.new_event_loop()
                self._thread = thread = threading.Thread(target=_serve, args=(loop,), name="hookline", daemon=True)
                thread.start()
                # Neither holds this object: it is ended when nobody uses it any more, and before the program ends.
                self._stop = weakref.finalize(self, _stop, loop, thread)
            elif self._thread is threading.current_thread():
                raise HooklineError(
                    "session.sync was used inside a hook or an observer of the same hooks, which would wait for itself;"
                    " await the methods of the session instead"
                )
            elif self._loop.is_closed():
                raise HooklineError("the program is ending, and its hooks have been closed; nothing is decided")
            return self._loop

    def forget(self) -> None:
        """Forgets the thread; after a fork it exists in the parent only."""
        if self._stop is not None:
            self._stop.detach()
        self._lock, self._loop, self._thread, self._stop = threading.Lock(), None, None, None


def _result(future: "Future[T]") -> T:
    while True:
        try:
            return future.result(_LOOK_S)
        except TimeoutError:
            if future.done():  # the work itself has raised one
                return future.result()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        loop.run_until_complete(_cancel_all())
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    rounds = 3
    while tasks and rounds:
        rounds -= 1
        for task in tasks:
            task.cancel()
        _, tasks = await asyncio.wait(tasks, timeout=_TERM_S)


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    if loop.is_closed():
        return
    loop.call_soon_threadsafe(loop.stop)
    if thread is not threading.current_thread():
        thread.join(_END_S)


_KNOWN: "weakref.WeakSet[LoopThread]" = weakref.WeakSet()


def _after_fork() -> None:
    for known in list(_KNOWN):
        known.forget()


os.register_at_fork(after_in_child=_after_fork)
