"""Functions as hooks: how one is called, where it is defined, and which ones installed packages offer."""

from collections.abc import Callable
from functools import partial
from inspect import iscoroutinefunction, unwrap
from typing import TYPE_CHECKING, Any

from hookline.contract.events import HookEventName, suggest_event
from hookline.contract.hooks import Callback, HookEntry
from hookline.contract.matchers import pattern_fault
from hookline.contract.vocabulary import DEFAULT_TIMEOUT_MS, ConfigSource, HookType, OnError
from hookline.engine.event_table import EVENT_TABLE, Matching, hears_block
from hookline.errors import HooklineError
from hookline.hook.events import Event, expected_events
from hookline.settings.merge import PROGRAM_RANK

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINTS = "hookline.hooks"

_loaded: dict[str, Callback] = {}


def callable_hook(
    event: str | type[Event],
    function: Callable[[Any], Any],
    *,
    matcher: str | None = None,
    name: str | None = None,
    description: str | None = None,
    timeout: float = DEFAULT_TIMEOUT_MS / 1000,
    on_error: str = OnError.ALLOW,
    final: bool = False,
    sequential: bool = False,
    thread: bool | None = None,
) -> HookEntry:
    """The hook that calls a function of this program; HooklineError for options that make no sense."""
    event = event if isinstance(event, str) else event.__name__
    if event not in set(HookEventName):
        raise HooklineError(f"{event!r} is not an event; {suggest_event(event)}")
    if (expected := expected_events(function)) and event not in expected:
        raise HooklineError(f"{place_of(function)[0]} is for {' and '.join(expected)}, and not for {event}")
    row = EVENT_TABLE[HookEventName(event)]
    if matcher is not None and row.matching is Matching.NEVER_ASKED:
        raise HooklineError(f"{event} has nothing to match; leave the matcher out")
    if matcher is not None and (fault := pattern_fault(matcher)) is not None:
        raise HooklineError(f"the matcher {matcher!r} {fault}")
    if final and event != HookEventName.BEFORE_TOOL:
        raise HooklineError(f"only a BeforeTool hook can be final, not one of {event}")
    if not timeout >= 0:
        raise HooklineError(f"a timeout is a number of seconds, and not {timeout!r}")
    if on_error not in set(OnError):
        raise HooklineError(f"on_error is allow or block, and not {on_error!r}")
    if on_error == OnError.BLOCK and not hears_block(HookEventName(event)):
        raise HooklineError(f"{event} can't block, so on_error has no effect there; leave it out")
    origin, location = place_of(function)
    return HookEntry(
        event=HookEventName(event),
        source=ConfigSource.PROGRAM,
        origin=origin,
        location=location,
        type=HookType.CALLABLE,
        call=callback_for(function, thread=thread),
        timeout_ms=timeout * 1000,
        name=name,
        description=description,
        matcher=matcher,
        sequential=sequential,
        on_error=OnError(on_error),
        rank=PROGRAM_RANK,
        final=final,
    )


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
        _entry_point(plugin)
    except HooklineError as error:
        return str(error)
    return None


def _load(plugin: str) -> Callback:
    point = _entry_point(plugin)
    try:
        function = point.load()
    except (Exception, SystemExit) as error:
        raise HooklineError(f"could not be loaded from the package {plugin.partition(':')[0]}: {error!r}") from error
    return callback_for(function)


def _entry_point(plugin: str) -> "EntryPoint":
    # Loaded on use: most programs have no plugins.
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415

    package, _, name = plugin.partition(":")
    try:
        offered = {point.name: point for point in distribution(package).entry_points.select(group=ENTRY_POINTS)}
    except PackageNotFoundError:
        raise HooklineError(f"could not be loaded: the package {package} is not installed here") from None
    if name not in offered:
        others = f"it has {', '.join(sorted(offered))}" if offered else f"it has no entry points of {ENTRY_POINTS}"
        raise HooklineError(f"could not be loaded: the package {package} has no hook {name}; {others}")
    return offered[name]
