"""Functions as hooks: how one is called, where it is defined, and which ones installed packages offer."""

from collections.abc import Callable
from functools import partial
from inspect import iscoroutinefunction, unwrap
from typing import Any

from hookline.errors import HooklineError
from hookline.extensions import entry_point
from hookline.protocol.hook_entry import Callback

ENTRY_POINTS = "hookline.hooks"

_loaded: dict[str, Callback] = {}


def callback_for(function: Callable[[Any], Any], *, thread: bool | None = None) -> Callback:
    """How a function is called: by default in a thread, unless it is `async def`."""
    if not callable(function):
        raise HooklineError(f"a hook is a function, and {function!r} can't be called")
    is_async = iscoroutinefunction(function) or iscoroutinefunction(type(function).__call__)
    if is_async and thread:
        raise HooklineError(f"{place_of(function)[0]} is async, so it runs on the event loop; leave thread=True out")
    return Callback(function=function, in_thread=not is_async if thread is None else thread)


def place_of(function: Any) -> tuple[str, str]:
    """Where a function is defined: `module:qualname`, and `file:line`."""
    own = function
    while isinstance(own, partial):
        own = own.func
    own = unwrap(own)
    named = own if hasattr(own, "__qualname__") else type(own)
    code = getattr(own, "__code__", None) or getattr(type(own).__call__, "__code__", None)
    name = f"{getattr(named, '__module__', None) or 'builtins'}:{named.__qualname__}"
    return name, "built in" if code is None else f"{code.co_filename}:{code.co_firstlineno}"


def load_plugin(plugin: str) -> Callback:
    """The function that an installed package offers as `package:name`; imports the package, so not on the loop."""
    if plugin not in _loaded:
        _loaded[plugin] = _load(plugin)
    return _loaded[plugin]


def loaded_plugin(plugin: str) -> Callback | None:
    """The same if it was loaded before, without a search or an import."""
    return _loaded.get(plugin)


def plugin_fault(plugin: str) -> str | None:
    """Why a plugin can't be found among the installed packages, or None; imports nothing of it."""
    try:
        entry_point(ENTRY_POINTS, plugin)
    except HooklineError as error:
        return str(error)
    return None


def _load(plugin: str) -> Callback:
    point = entry_point(ENTRY_POINTS, plugin)
    try:
        function = point.load()
    except (Exception, SystemExit) as error:
        raise HooklineError(f"could not be loaded from the package {plugin.partition(':')[0]}: {error!r}") from error
    return callback_for(function)
