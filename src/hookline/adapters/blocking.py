"""For frameworks that also run without an event loop: the same code, for both ways."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from hookline.client import Session


class Blocking:
    """The methods of a session for a thread without a loop: they block, so that awaiting them suspends nothing."""

    def __init__(self, session: Session) -> None:
        self._session = session.sync

    def __getattr__(self, name: str) -> Any:
        return asynchronous(getattr(self._session, name))


def asynchronous(function: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    """The function as a coroutine function that never suspends."""

    async def call(*given: Any, **named: Any) -> Any:
        return function(*given, **named)

    return call


def finished(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Return the result of a coroutine that never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    finally:
        coroutine.close()
    raise RuntimeError("a call without a loop had to wait")
