"""The door of every trigger: asks for the system, initializes it on the first event, and lets no fault out."""

import traceback
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar

from hookline.errors import MissingExtraError
from hookline.extensions import lazy_module
from hookline.protocol.events import LIFECYCLE_EVENTS
from hookline.stderr import warn_user

if TYPE_CHECKING:
    from hookline.client.config import Config
    from hookline.engine import event_table
    from hookline.engine.selection import ToolLimits
    from hookline.engine.system import HookSystem
    from hookline.protocol import records, results
    from hookline.protocol.arguments import ToolArguments
    from hookline.protocol.events import HookEventName, SessionFacts
    from hookline.protocol.verdict import Verdict
else:  # nothing of the engine is loaded while hooks are disabled
    event_table = lazy_module("hookline.engine.event_table")
    records = lazy_module("hookline.protocol.records")
    results = lazy_module("hookline.protocol.results")

Applied = TypeVar("Applied")


def system_of(config: "Config") -> "HookSystem | None":
    """The hook system; None if hooks are disabled, or if it can't be created and faults don't block."""
    try:
        return config.get_hook_system()
    except Exception as error:  # noqa: BLE001 - the door: a fault in hookline never stops the agent
        if config.blocks_on_fault():
            return _NoSystem(error)  # type: ignore[return-value]
        report(error)
        return None


def fault_verdict(event: "HookEventName", error: Exception) -> "Verdict | None":
    """Return a block with the error as its reason; None for an event that can't block."""
    if not event_table.EVENT_TABLE[event].can_block:
        return None
    why = f"hookline failed while starting ({type(error).__name__})"
    return results.as_block(results.failure_verdict(event, None, error, "starting"), why)


async def fire(
    system: "HookSystem | None",
    event: "HookEventName",
    fields: Mapping[str, Any],
    mcp_context: Mapping[str, Any] | None = None,
    session: "SessionFacts | None" = None,
    arguments: "ToolArguments | None" = None,
    *,
    limits: "ToolLimits | None" = None,
    at_permission_request: bool = False,
) -> "Verdict | None":
    """Return the event's verdict; None if hooks are disabled, or if hookline failed and faults don't block."""
    if system is None:
        return None
    try:
        if mcp_context is not None:
            fields = {**fields, "mcp_context": mcp_context}
        if system.handler is None:
            await system.initialize()
        handler = system.handler or system.get_event_handler()
        verdict = await handler.fire(
            event, fields, session, arguments, limits, at_permission_request=at_permission_request
        )
        return verdict if event not in LIFECYCLE_EVENTS else _reported(system, verdict)
    except Exception as error:  # noqa: BLE001 - the door: a fault in hookline never stops the agent
        report(error)
        return fault_verdict(event, error) if system.blocks_on_fault else None


def passes(
    system: "HookSystem | None",
    event: "HookEventName",
    subject: str,
    session: "SessionFacts | None" = None,
    limits: "ToolLimits | None" = None,
) -> bool:
    """Whether no hook has to run for an event, so that it need not be fired; False if that is not known at once."""
    if system is None:
        return True
    try:
        return system.handler is not None and system.handler.passes(event, subject, session, limits)
    except Exception:  # noqa: BLE001 - the door: firing the event reports it
        return False


def _reported(system: "HookSystem", verdict: "Verdict | None") -> "Verdict | None":
    if verdict is not None:
        system.report_unapplied(verdict)
    return verdict


class _NoSystem:
    """Stands in for a hook system that could not be created: every use raises the reason, so that `fire` blocks."""

    blocks_on_fault = True

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, _name: str) -> NoReturn:
        raise self._error


async def fire_and_apply(
    config: "Config",
    event: "HookEventName",
    fields: Mapping[str, Any],
    apply: "Callable[[Verdict, Attempt], Applied]",
    otherwise: Applied,
) -> Applied:
    """Return the result of `apply`; `otherwise` if no hook answered, or if hookline failed."""
    system = system_of(config)
    verdict = await fire(system, event, fields)
    if system is None or verdict is None or verdict.answer is None:
        return otherwise
    attempt_here = _logged_attempt(system, event)
    try:
        return apply(verdict, attempt_here)
    except Exception as error:  # noqa: BLE001 - the door: the SDK may be missing
        report(error)
        if not verdict.blocked and system.blocks_on_fault:
            verdict = fault_verdict(event, error) or verdict
        return _undone(otherwise, verdict)


def _undone(otherwise: Applied, verdict: "Verdict") -> Applied:
    """Return the block and the stop of a verdict that could not be applied."""
    stands: dict[str, Any] = {
        "blocked": verdict.blocked,
        "reason": verdict.reason if verdict.blocked else None,
        "should_stop": verdict.stop,
        "stop_reason": verdict.stop_reason,
    }
    names = {field.name for field in fields(otherwise)}  # type: ignore[arg-type]  # every result is a dataclass
    changes = {name: value for name, value in stands.items() if name in names}
    undone: Applied = replace(otherwise, **changes)  # type: ignore[type-var]
    return undone


class Attempt(Protocol):
    """Returns the result of a function, or `otherwise` if it fails, which is reported."""

    def __call__(self, make: Callable[[], Applied], otherwise: Applied, consequence: str) -> Applied:
        """Return the result of `make`, or `otherwise`."""


def attempt(
    make: Callable[[], Applied],
    otherwise: Applied,
    consequence: str = "hooks had no effect",
    log: Callable[[str], None] = lambda _: None,
) -> Applied:
    """Return the result of `make`, or `otherwise` if it fails. The fault is reported; a block or stop is kept."""
    try:
        return make()
    except MissingExtraError as error:  # not a fault in hookline: installing a package fixes it
        message = f"{consequence}: {error}"
        log(message)
        warn_user(message)
        return otherwise
    except Exception as error:  # noqa: BLE001 - the door: the SDK may be missing, or refuse what a hook wrote
        report(error, consequence)
        return otherwise


def _logged_attempt(system: "HookSystem", event: "HookEventName") -> Attempt:
    """`attempt` that logs, too, what can't be applied for lack of a package."""

    def log(message: str) -> None:
        text = f"{event}: {message}"
        record = records.AdviceRecord(level=records.LogLevel.WARN, message=text, event=event.value)
        system.get_log().write(record)

    def try_it(make: Callable[[], Applied], otherwise: Applied, consequence: str) -> Applied:
        if system.blocks_on_fault and event_table.EVENT_TABLE[event].can_block:
            return make()  # `fire_and_apply` makes a block of the fault
        return attempt(make, otherwise, consequence, log)

    return try_it


def report(error: Exception, consequence: str = "hooks had no effect") -> None:
    """Reports on stderr a fault that can't be logged."""
    where = traceback.format_exception(error)[-2].strip().splitlines()[0] if error.__traceback__ else ""
    warn_user(f"{consequence}, because of a fault in hookline: {error!r} {where}")
