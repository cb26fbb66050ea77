"""The six events whose answers are not applied: the hooks run and are logged, and that is all."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hookline.contract.events import HookEventName
from hookline.triggers.door import fire, system_of

if TYPE_CHECKING:
    from hookline.config import Config
    from hookline.contract.events import PreCompressTrigger, SessionEndReason, SessionStartSource


async def fire_session_start_hook(config: "Config", source: "SessionStartSource") -> None:
    """Runs the SessionStart hooks."""
    await fire(system_of(config), HookEventName.SESSION_START, {"source": source})


async def fire_session_end_hook(config: "Config", reason: "SessionEndReason") -> None:
    """Runs the SessionEnd hooks."""
    await fire(system_of(config), HookEventName.SESSION_END, {"reason": reason})


async def fire_before_agent_hook(config: "Config", prompt: str) -> None:
    """Runs the BeforeAgent hooks on the user's prompt."""
    await fire(system_of(config), HookEventName.BEFORE_AGENT, {"prompt": prompt})


async def fire_after_agent_hook(
    config: "Config", prompt: str, prompt_response: str, *, stop_hook_active: bool = False
) -> None:
    """Runs the AfterAgent hooks on the agent's answer."""
    fields = {"prompt": prompt, "prompt_response": prompt_response, "stop_hook_active": stop_hook_active}
    await fire(system_of(config), HookEventName.AFTER_AGENT, fields)


async def fire_pre_compress_hook(config: "Config", trigger: "PreCompressTrigger") -> None:
    """Runs the PreCompress hooks, before the history is compressed."""
    await fire(system_of(config), HookEventName.PRE_COMPRESS, {"trigger": trigger})


async def fire_notification_hook(
    config: "Config", notification_type: str, message: str, details: Mapping[str, Any]
) -> None:
    """Runs the Notification hooks on a message that the user is shown."""
    fields = {"notification_type": notification_type, "message": message, "details": details}
    await fire(system_of(config), HookEventName.NOTIFICATION, fields)
