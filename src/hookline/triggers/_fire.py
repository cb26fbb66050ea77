"""What every trigger does: ask for the system, initialize it on the first event, and let no fault out."""

import traceback
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from hookline.contract.text import tell

if TYPE_CHECKING:
    from hookline.config import Config
    from hookline.contract.results import AggregatedHookResult
    from hookline.engine.handler import HookEventHandler


async def fire(
    config: "Config", event: "Callable[[HookEventHandler], Awaitable[AggregatedHookResult]]"
) -> "AggregatedHookResult | None":
    """The merged answer of the event's hooks; None when hooks are disabled or a fault of ours prevented it."""
    try:
        system = config.get_hook_system()
        if system is None:
            return None
        await system.initialize()
        return await event(system.get_event_handler())
    except Exception as error:  # noqa: BLE001 - the door: a fault of ours never stops the agent
        report(error)
        return None


def report(error: Exception, consequence: str = "hooks had no effect") -> None:
    """Tells of a fault that has no log to go to."""
    where = traceback.format_exception(error)[-2].strip().splitlines()[0] if error.__traceback__ else ""
    tell(f"{consequence}, because of a fault in hookline: {error!r} {where}")
