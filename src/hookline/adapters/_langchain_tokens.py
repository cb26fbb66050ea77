"""The tokens of LangChain's models, which callbacks show before a hook has seen the answer."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.runnables.config import ensure_config, var_child_runnable_config
from langchain_core.tracers import BaseTracer


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
