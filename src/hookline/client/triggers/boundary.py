"""The door of every trigger: asks for the system, initializes it on the first event, and lets no fault out."""

import traceback
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from hookline.extensions import lazy_module
from hookline.protocol.events import LIFECYCLE_EVENTS
from hookline.stderr import warn_user

if TYPE_CHECKING:
    from hookline.client.config import Config
    from hookline.engine import event_table
    from hookline.engine.selection import ToolLimits
    from hookline.engine.system import HookSystem
    from hookline.protocol import results
    from hookline.protocol.arguments import ToolArguments
    from hookline.protocol.events import HookEventName, SessionFacts
    from hookline.protocol.verdict import Verdict
else:  # nothing of the engine is loaded while hooks are disabled
    event_table = lazy_module("hookline.engine.event_table")
    results = lazy_module("hookline.protocol.results")

Made = TypeVar("Made")


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
        block = fault_verdict(event, error) if system.blocks_on_fault else None
        report(error, "hooks had no effect" if block is None else "the event is blocked")
        return block


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


def attempt(make: Callable[[], Made], otherwise: Made, consequence: str = "hooks had no effect") -> Made:
    """Return the result of `make`, or `otherwise` if it fails, which is reported."""
    try:
        return make()
    except Exception as error:  # noqa: BLE001 - the door: a fault in hookline never stops the agent
        report(error, consequence)
        return otherwise


def report(error: Exception, consequence: str = "hooks had no effect") -> None:
    """Reports on stderr a fault that can't be logged."""
    where = traceback.format_exception(error)[-2].strip().splitlines()[0] if error.__traceback__ else ""
    warn_user(f"{consequence}, because of a fault in hookline: {error!r} {where}")
