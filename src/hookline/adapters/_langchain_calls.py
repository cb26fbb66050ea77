"""LangChain's calls for hooks: as dictionaries, without a loop, and with the model's tokens held back."""

from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.runnables.config import ensure_config, var_child_runnable_config
from langchain_core.tracers import BaseTracer

from hookline.hooks import Selection, Session

_OWN = ("model", "system", "messages", "tools", "tool_choice")


def to_native(request: Any) -> dict[str, Any]:
    """A `ModelRequest` as one dictionary, its model settings included."""
    model = request.model
    name = getattr(model, "model_name", None) or getattr(model, "model", None) or getattr(model, "_llm_type", "")
    own = {
        "model": name if isinstance(name, str) else "",
        "system": request.system_message,
        "messages": list(request.messages),
        "tools": list(request.tools),
        "tool_choice": request.tool_choice,
    }
    return {**request.model_settings, **own}


def changed(request: Any, native: Mapping[str, Any]) -> Any:
    """The `ModelRequest` with what hooks changed."""
    return request.override(
        messages=native["messages"],
        system_message=native.get("system"),
        tools=native.get("tools", []),
        tool_choice=native.get("tool_choice"),
        model_settings={name: value for name, value in native.items() if name not in _OWN},
    )


class Blocking:
    """A session for a thread without a loop: its methods block, so that awaiting them suspends nothing."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def selection(self) -> Selection | None:
        """That of the session."""
        return self._session.selection

    def write(self, record: Any) -> None:
        """Logs a record under the session."""
        self._session.write(record)

    def __getattr__(self, name: str) -> Any:
        return asynchronous(getattr(self._session.sync, name))


def asynchronous(function: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    """The function as a coroutine function that never suspends."""

    async def call(*given: Any, **named: Any) -> Any:
        return function(*given, **named)

    return call


def finished(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine that never suspends returns."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    finally:
        coroutine.close()
    raise RuntimeError("a call without a loop had to wait")


@contextmanager
def held_back(request: Any, *, is_held: bool) -> Iterator[Any]:
    """The request whose tokens no callback shows, if they are held; its message is streamed when the node ends."""
    if not is_held:
        yield request
        return
    config, own = ensure_config(), getattr(request.model, "callbacks", None)
    token = var_child_runnable_config.set({**config, "callbacks": _without_tokens(config.get("callbacks"))})
    try:
        left = _without_tokens(own)
        yield request if left is own else request.override(model=request.model.model_copy(update={"callbacks": left}))
    finally:
        var_child_runnable_config.reset(token)


def _without_tokens(callbacks: Any) -> Any:
    """The callbacks, a list or a manager, that show no tokens; the same object if all of them are such."""
    handlers = callbacks if isinstance(callbacks, list) else getattr(callbacks, "handlers", ())
    shown = [one for one in handlers if _shows_tokens(one)]
    if not shown:
        return callbacks
    if isinstance(callbacks, list):
        return [one for one in callbacks if one not in shown]
    left = callbacks.copy()
    for handler in shown:
        left.remove_handler(handler)
    return left


def _shows_tokens(handler: Any) -> bool:
    if hasattr(handler, "tap_output_iter"):  # LangChain's own streams and events
        return True
    silent = (BaseCallbackHandler.on_llm_new_token, AsyncCallbackHandler.on_llm_new_token)
    return not isinstance(handler, BaseTracer) and type(handler).on_llm_new_token not in silent
