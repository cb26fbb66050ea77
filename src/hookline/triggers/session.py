"""The six events whose answers are not applied: the hooks run and are logged, and that is all."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hookline.contract.events import HookEventName
from hookline.triggers._door import fire, system_of

if TYPE_CHECKING:
    from hookline.config import Config
    from hookline.contract.events import PreCompressTrigger, SessionEndReason, SessionStartSource


async def fire_session_start_hook(config: "Config", source: "SessionStartSource") -> None:
    """Tells the SessionStart hooks that a session began."""
    await fire(system_of(config), HookEventName.SESSION_START, {"source": source})


async def fire_session_end_hook(config: "Config", reason: "SessionEndReason") -> None:
    """Tells the SessionEnd hooks that the session ended."""
    await fire(system_of(config), HookEventName.SESSION_END, {"reason": reason})


async def fire_before_agent_hook(config: "Config", prompt: str) -> None:
    """Tells the BeforeAgent hooks what the user asked for."""
    await fire(system_of(config), HookEventName.BEFORE_AGENT, {"prompt": prompt})


async def fire_after_agent_hook(
    config: "Config", prompt: str, prompt_response: str, *, stop_hook_active: bool = False
) -> None:
    """Tells the AfterAgent hooks what the agent answered."""
    fields = {"prompt": prompt, "prompt_response": prompt_response, "stop_hook_active": stop_hook_active}
    await fire(system_of(config), HookEventName.AFTER_AGENT, fields)


async def fire_pre_compress_hook(config: "Config", trigger: "PreCompressTrigger") -> None:
    """Tells the PreCompress hooks that the history is about to be compressed."""
    await fire(system_of(config), HookEventName.PRE_COMPRESS, {"trigger": trigger})


async def fire_notification_hook(
    config: "Config", notification_type: str, message: str, details: Mapping[str, Any]
) -> None:
    """Tells the Notification hooks what the user is being told."""
    fields = {"notification_type": notification_type, "message": message, "details": details}
    await fire(system_of(config), HookEventName.NOTIFICATION, fields)
