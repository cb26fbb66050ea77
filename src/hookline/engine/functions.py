"""Functions of this program as hooks."""

from collections.abc import Callable
from typing import Any

from hookline.engine.event_table import EVENT_TABLE, Matching, hears_block
from hookline.errors import HooklineError
from hookline.hook.events import Event, expected_events
from hookline.protocol.constants import DEFAULT_TIMEOUT_MS, ConfigSource, OnError
from hookline.protocol.events import HookEventName, suggest_event
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.text.matchers import pattern_fault
from hookline.runners.function.plugins import callback_for, place_of
from hookline.settings.read.merge import PROGRAM_RANK


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
        run=callback_for(function, thread=thread),
        timeout_ms=timeout * 1000,
        name=name,
        description=description,
        matcher=matcher,
        sequential=sequential,
        on_error=OnError(on_error),
        rank=PROGRAM_RANK,
        final=final,
    )
