"""Fire one event, for `hookline fire` and `hookline doctor`."""

from collections.abc import Mapping
from typing import Any

from hookline.client.config import Config
from hookline.protocol.events import HookEventName
from hookline.protocol.verdict import Verdict
from hookline.runners.background import BACKGROUND


async def fire_once(config: Config, event: HookEventName, fields: Mapping[str, Any]) -> Verdict:
    """Fire one event with a hook system that is disposed of afterwards; an empty verdict while hooks are disabled."""
    system = config.get_hook_system()
    if system is None:
        return Verdict(event=event)
    await system.initialize()
    try:
        return await system.get_event_handler().fire(event, fields)
    finally:
        BACKGROUND.join()
        system.dispose()
