"""The words of hooks written in Python: the events that a hook gets, and the answers that it gives.

A script is a function and `main`:

    from hookline.hook import BeforeTool, Deny, main

    def guard(event: BeforeTool) -> Deny | None:
        return Deny("Ask the user first.") if event.tool_name == "deploy" else None

    main(guard)

A program registers the same function with `hooks.on("BeforeTool")`. Nothing is imported here that Python itself has not
loaded: a script starts with every event.
"""

import os
import sys

from hookline.hook.answers import (
    Allow,
    Answer,
    Ask,
    Context,
    Deny,
    Note,
    Redact,
    Respond,
    Restrict,
    Rewrite,
    Stop,
    Suppress,
    Tell,
    allow,
    answer_in,
    ask,
    deny,
    read_answer,
    stop,
)
from hookline.hook.events import (
    AfterAgent,
    AfterModel,
    AfterTool,
    BeforeAgent,
    BeforeModel,
    BeforeTool,
    BeforeToolSelection,
    Event,
    InputError,
    Notification,
    PreCompress,
    SessionEnd,
    SessionStart,
    expected_events,
    read_event,
)

TYPE_CHECKING = False  # typing.TYPE_CHECKING without typing
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any, NoReturn, TypeAlias, TypeVar

    AnyEvent = TypeVar("AnyEvent", bound="Event")
    Returned: TypeAlias = "Answer | type[Answer] | dict[str, Any] | None"
    """The values that a hook may return."""
    HookOf: TypeAlias = "Callable[[AnyEvent], Returned | Awaitable[Returned]]"
    """A function that is a hook of an event."""
    Hook: TypeAlias = "Callable[[Any], Returned | Awaitable[Returned]]"
    """A function that is a hook of some event."""
    AnyHook = TypeVar("AnyHook", bound=Hook)

__all__ = [
    "AfterAgent",
    "AfterModel",
    "AfterTool",
    "Allow",
    "Answer",
    "Ask",
    "BeforeAgent",
    "BeforeModel",
    "BeforeTool",
    "BeforeToolSelection",
    "Context",
    "Deny",
    "Event",
    "InputError",
    "Note",
    "Notification",
    "PreCompress",
    "Redact",
    "Respond",
    "Restrict",
    "Rewrite",
    "SessionEnd",
    "SessionStart",
    "Stop",
    "Suppress",
    "Tell",
    "allow",
    "ask",
    "deny",
    "main",
    "stop",
]

EXIT_ANSWERED = 0
EXIT_FAILED = 1
EXIT_DENIED = 2


def main(handler: "HookOf[AnyEvent]") -> "NoReturn":
    """Runs a script's hook: reads the event from stdin, calls the handler, prints its answer, and exits.

    Whatever else the handler prints goes to stderr. An event that can't be read, or that the handler's annotation does
    not name, is denied (exit code 2) unless it can't block; an exception in the handler is a failed hook (exit code 1).
    As a worker (`"worker": true` in the settings) it does the same for one event after another.
    """
    expected = expected_events(handler)
    if os.environ.pop("HOOKLINE_WORKER", "") == "1":
        from hookline.hook.worker import work  # noqa: PLC0415 - most hooks are started for one event

        work(lambda given: _call(handler, read_event(given), expected), _exit_code)
    answers = os.dup(1)
    os.dup2(2, 1)  # a debugging print, also of a child process, must not spoil the answer
    try:
        _write(answers, _call(handler, _parsed(sys.stdin.buffer.read()), expected))
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(_exit_code(error))
    sys.exit(EXIT_ANSWERED)


def _exit_code(error: BaseException) -> "int | None":
    """How a script ends with an exception that is meant for people; None for any other."""
    if not isinstance(error, InputError):
        return None
    return EXIT_DENIED if error.can_block else EXIT_FAILED


def _parsed(given: bytes) -> Event:
    import json  # noqa: PLC0415 - takes longer to load than this module

    try:
        value = json.loads(given.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"stdin is not the JSON of an event ({error}); this is a hook, run by hookline") from None
    return read_event(value)


def _call(handler: "Callable[[Any], Any]", event: Event, expected: "list[str]") -> "dict[str, Any] | None":
    if expected and type(event).__name__ not in expected:
        told = f"this hook is for {' and '.join(expected)}, and was given {type(event).__name__}"
        raise InputError(f"{told}; correct the event in the settings", can_block=event.can_block)
    try:
        returned = handler(event)
        if hasattr(returned, "__await__"):
            import asyncio  # noqa: PLC0415 - most scripts have no need of it

            returned = asyncio.run(_awaited(returned))
        return read_answer(returned)
    except Answer as raised:
        return raised.fields
    except BaseExceptionGroup as group:
        if (answer := answer_in(group)) is None:
            raise
        return answer.fields


async def _awaited(returned: "Awaitable[Any]") -> "Any":
    return await returned


def _write(to: int, answer: "dict[str, Any] | None") -> None:
    if answer is None:
        return
    import json  # noqa: PLC0415

    left = json.dumps(answer, default=str).encode()
    try:
        while left:
            left = left[os.write(to, left) :]
    except OSError as error:
        if answer.get("decision") not in ("deny", "block"):
            raise
        # Nobody reads stdout any more, but the exit code can still say it.
        raise InputError(str(answer.get("reason") or "Blocked by hook")) from error


def __dir__() -> "list[str]":
    return [*__all__]
