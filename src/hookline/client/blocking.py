"""Runs coroutines for callers that do not await."""

import asyncio
import threading
import weakref
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

from hookline.errors import HooklineError
from hookline.runners.loop_thread import LoopThread

Result = TypeVar("Result")

# Cancelling a hook sends SIGTERM to its process group; cancelling it again kills the group.
_TERM_S = 0.5
_CANCELLATIONS = 3
# A signal that arrives just before a thread blocks does not wake it, so the wait is interrupted this often.
_POLL_S = 0.5


class BlockingLoop:
    """A loop thread that ends with this object, or with the program."""

    def __init__(self) -> None:
        self._loop = LoopThread("hookline")
        self._closed = 0
        # The finalizer refers to the loop only, so that it does not keep this object alive.
        self._finalizer = weakref.finalize(self, self._loop.close, _cancel_all)

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Return the result of a coroutine; an interrupt in the waiting thread cancels it."""
        closed = self._closed
        future = self._submit(work)
        try:
            return _result(future)
        except BaseException as error:
            future.cancel()
            if isinstance(error, CancelledError):
                if self._closed != closed:
                    raise HooklineError("the hooks were closed while they ran, so nothing is decided") from None
                if not self._finalizer.alive and threading.current_thread().daemon:
                    # The program is ending, and Python ends its daemon threads silently; an error would be printed.
                    threading.Event().wait()
            raise

    def close(self) -> None:
        """End the thread and the hooks that still run, within bounded time; a later call would start it again."""
        self._closed += 1
        self._loop.close(_cancel_all)

    def _submit(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        if (why := self._why_not()) is not None:
            work.close()
            raise HooklineError(why)
        return self._loop.submit(work)

    def _why_not(self) -> str | None:
        """Return the reason for which nothing can run on the loop, or None."""
        if self._loop.is_current:
            return (
                "session.sync was used inside a hook or an observer of the same hooks, which would wait for itself;"
                " await the methods of the session instead"
            )
        if not self._finalizer.alive:
            return "the program is ending, and its hooks have been closed; nothing is decided"
        return None


def _result(future: Future[Result]) -> Result:
    while True:
        try:
            return future.result(_POLL_S)
        except TimeoutError:
            if future.done():  # the coroutine itself has raised a TimeoutError
                return future.result()


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for _ in range(_CANCELLATIONS):
        for task in tasks:
            task.cancel()
        if tasks:
            _, tasks = await asyncio.wait(tasks, timeout=_TERM_S)
    await asyncio.get_running_loop().shutdown_asyncgens()
