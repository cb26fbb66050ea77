"""An event loop in a thread of its own, which outlives the loops of the program that uses it."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any

_CLOSING_S = 5.0


class OwnLoop:
    """Starts its thread on first use. Whoever uses it has to `close` it."""

    def __init__(self, name: str = "hookline-workers") -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        # Whatever is watched from here must not keep alive what the caller's context refers to.
        self._context = Context()

    def call(self, function: Callable[..., object], *arguments: Any) -> None:
        """Calls a function there soon; raises a RuntimeError if there can be no thread."""
        (self._loop or self._started()).call_soon_threadsafe(function, *arguments, context=self._context)

    def close(self, last: Callable[[], Coroutine[Any, Any, None]], *, wait: bool = True) -> None:
        """Runs `last` there and ends the thread; another call would start it again."""
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

    def forget(self) -> None:
        """Forgets the thread; after a fork it exists in the parent only."""
        self._lock, self._loop, self._thread = threading.Lock(), None, None

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                # After a fork, the one before may be entered by a thread that exists in the parent only.
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
