"""An event loop in a separate thread, which outlives the loops of the program that uses it."""

import asyncio
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextvars import Context
from typing import Any, TypeVar

Result = TypeVar("Result")

_CLOSING_S = 5.0


class LoopThread:
    """Starts its thread on first use; its owner has to `close` it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.forget()
        _LOOP_THREADS.add(self)

    def forget(self) -> None:
        """Forget the thread; after a fork it exists in the parent only."""
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        # File descriptors watched by the loop must not keep alive what the caller's context refers to.
        self._context = Context()

    @property
    def is_current(self) -> bool:
        """True in the thread itself, which must not wait for its own loop."""
        return self._thread is threading.current_thread()

    def call(self, function: Callable[..., object], *arguments: Any) -> None:
        """Call a function on the loop soon. Raises RuntimeError if no thread can be started."""
        (self._loop or self._started()).call_soon_threadsafe(function, *arguments, context=self._context)

    def submit(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        """Run a coroutine on the loop, in the caller's context. Raises RuntimeError if no thread can be started."""
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop or self._started())
        except BaseException:
            work.close()
            raise

    def close(self, last: Callable[[], Coroutine[Any, Any, None]], *, wait: bool = True) -> None:
        """Run `last` on the loop and end the thread; a later call would start another one."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return

        async def stop() -> None:
            try:
                await last()
            finally:
                loop.stop()

        work = stop()
        try:
            asyncio.run_coroutine_threadsafe(work, loop)
        except RuntimeError:  # it was closed with the program
            work.close()
        if wait and thread is not threading.current_thread():
            thread.join(_CLOSING_S)

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                # A thread of the parent process may have entered the earlier context while it forked.
                self._context = Context()
                loop = self._context.run(asyncio.new_event_loop)
                thread = threading.Thread(target=_serve, args=(loop,), name=self._name, daemon=True)
                try:
                    thread.start()
                except BaseException:
                    loop.close()
                    raise
                self._loop, self._thread = loop, thread
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.close()


_LOOP_THREADS: "weakref.WeakSet[LoopThread]" = weakref.WeakSet()


def _after_fork() -> None:
    for each in list(_LOOP_THREADS):
        each.forget()


os.register_at_fork(after_in_child=_after_fork)
