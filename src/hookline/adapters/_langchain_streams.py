"""Keeping the model's tokens out of LangChain's streams, events and callbacks."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.runnables.config import ensure_config, var_child_runnable_config
from langchain_core.tracers import BaseTracer


@contextmanager
def held_back() -> Iterator[None]:
    """Keeps callbacks that show tokens away from the model call; its message is streamed when the node ends."""
    config = ensure_config()
    token = var_child_runnable_config.set({**config, "callbacks": _without_tokens(config.get("callbacks"))})
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def quiet(request: Any) -> Any:
    """The request with a model whose own callbacks show no tokens either."""
    own = getattr(request.model, "callbacks", None)
    left = _without_tokens(own)
    return request if left is own else request.override(model=request.model.model_copy(update={"callbacks": left}))


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
