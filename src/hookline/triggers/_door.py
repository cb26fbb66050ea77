"""The door of every trigger: asks for the system, initializes it on the first event, and lets no fault out."""

import traceback
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from hookline.contract.text import tell

if TYPE_CHECKING:
    from hookline.config import Config
    from hookline.contract.events import HookEventName
    from hookline.contract.verdict import Verdict
    from hookline.system import HookSystem

Applied = TypeVar("Applied")


def system_of(config: "Config") -> "HookSystem | None":
    """The hook system; None when hooks are disabled or a fault of ours prevented it."""
    return attempt(config.get_hook_system, None)


async def fire(
    system: "HookSystem | None",
    event: "HookEventName",
    fields: Mapping[str, Any],
    mcp_context: Mapping[str, Any] | None = None,
) -> "Verdict | None":
    """What the event came to; None when hooks are disabled or a fault of ours prevented it."""
    if system is None:
        return None
    try:
        if mcp_context is not None:
            fields = {**fields, "mcp_context": mcp_context}
        if system.handler is None:
            await system.initialize()
        return await (system.handler or system.get_event_handler()).fire(event, fields)
    except Exception as error:  # noqa: BLE001 - the door: a fault of ours never stops the agent
        report(error)
        return None


async def fire_and_apply(
    config: "Config",
    event: "HookEventName",
    fields: Mapping[str, Any],
    apply: "Callable[[Verdict], Applied]",
    otherwise: Applied,
) -> Applied:
    """What `apply` makes of the verdict; `otherwise` where no hook answered or a fault of ours prevented it."""
    verdict = await fire(system_of(config), event, fields)
    if verdict is None or verdict.answer is None:
        return otherwise
    return attempt(lambda: apply(verdict), otherwise)


def attempt(make: Callable[[], Applied], otherwise: Applied, consequence: str = "hooks had no effect") -> Applied:
    """What `make` returns, or `otherwise` if it fails; the fault is reported, and no block or stop is lost."""
    try:
        return make()
    except Exception as error:  # noqa: BLE001 - the door: the SDK may be missing, or refuse what a hook wrote
        report(error, consequence)
        return otherwise


def report(error: Exception, consequence: str = "hooks had no effect") -> None:
    """Reports on stderr a fault that can't be logged."""
    where = traceback.format_exception(error)[-2].strip().splitlines()[0] if error.__traceback__ else ""
    tell(f"{consequence}, because of a fault in hookline: {error!r} {where}")
