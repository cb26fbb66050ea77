"""Ctrl-C while an event loop runs: it cancels, and never raises in the middle of something."""

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any, TypeVar

from hookline.runners.function.watchdog import WATCHDOG

T = TypeVar("T")


def run_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run the work in a new event loop. Raises KeyboardInterrupt when Ctrl-C ended it.

    Each Ctrl-C cancels the work: the first asks hooks and tools to end, the second kills them.
    """
    interrupts = 0

    def interrupt(cancel: Callable[[], object]) -> None:
        nonlocal interrupts
        interrupts += 1
        cancel()

    async def cancellable() -> T:
        task = asyncio.current_task()
        is_ours = threading.current_thread() is threading.main_thread()
        if task is not None and is_ours and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupt, task.cancel)
        return await work

    WATCHDOG.use_alarm()
    _keep_asyncio_from_handling_it()
    try:
        return asyncio.run(cancellable())
    except asyncio.CancelledError:
        if interrupts:
            raise KeyboardInterrupt from None
        raise


def _keep_asyncio_from_handling_it() -> None:
    """Set our own handler for Ctrl-C, which raises as usual, until the loop has its handler.

    With the default handler asyncio would set a third one, and Python 3.11 formats each handler that is replaced: that
    takes as long as the event.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _raise)


def _raise(number: int, frame: FrameType | None) -> None:
    signal.default_int_handler(number, frame)
