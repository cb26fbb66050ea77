"""Starts a coroutine at once: one that never waits costs no turn of the event loop.

A turn is dear where other threads work, such as the log's: each time, the loop gives up the interpreter's lock.
"""

import asyncio
import sys
from collections.abc import Coroutine
from contextvars import Context, copy_context
from typing import Any

# Making a name for each takes a tenth of the time of this.
_NAME = "hookline hook"


def begin(
    coroutine: Coroutine[Any, Any, Any], loop: asyncio.AbstractEventLoop, context: Context | None = None
) -> "asyncio.Future[Any]":
    """A future that is done already if the coroutine did not wait for anything, or else a task of its own.

    It runs in the context, or in a copy of the caller's if none is given.
    """
    if sys.version_info >= (3, 12):
        return asyncio.Task(coroutine, loop=loop, eager_start=True, context=context)
    return _begin(coroutine, loop, context)


def _begin(
    coroutine: Coroutine[Any, Any, Any], loop: asyncio.AbstractEventLoop, context: Context | None = None
) -> "asyncio.Future[Any]":
    """The same for Pythons whose tasks can't do that, by the functions that asyncio has for other kinds of tasks."""
    rest = _Rest(coroutine)
    if context is None:
        context = copy_context()
    # It exists before the first step, because what is called there may ask for the current task, and cancel it later.
    task = asyncio.Task(rest, loop=loop, context=context, name=_NAME)
    outer = asyncio.current_task(loop)
    if outer is not None:
        asyncio._leave_task(loop, outer)  # noqa: SLF001 - documented for this
    asyncio._enter_task(loop, task)  # noqa: SLF001
    try:
        rest.waits_for = context.run(coroutine.send, None)
    except StopIteration as returned:
        rest.has_ended = True
        future = loop.create_future()
        future.set_result(returned.value)
        return future
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as raised:  # noqa: BLE001 - the future has it
        rest.has_ended = True
        return _failed(raised, loop)
    else:
        return task
    finally:
        asyncio._leave_task(loop, task)  # noqa: SLF001
        if outer is not None:
            asyncio._enter_task(loop, outer)  # noqa: SLF001


def _failed(raised: BaseException, loop: asyncio.AbstractEventLoop) -> "asyncio.Future[Any]":
    future: asyncio.Future[Any] = loop.create_future()
    if isinstance(raised, asyncio.CancelledError):
        future.cancel()
    else:
        future.set_exception(raised)
    return future


class _Rest(Coroutine[Any, Any, Any]):
    """A coroutine after its first step, as a task goes on with it."""

    _is_first = True
    has_ended = False
    waits_for: Any = None

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._coroutine = coroutine

    def send(self, value: Any) -> Any:
        if self.has_ended:
            raise StopIteration
        if self._is_first:
            self._is_first = False
            return self.waits_for
        return self._coroutine.send(value)

    def throw(self, *raised: Any) -> Any:
        self._is_first = False
        if self.has_ended:
            raise StopIteration
        return self._coroutine.throw(*raised)

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Any:
        raise NotImplementedError  # only tasks use it
