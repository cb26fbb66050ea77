"""The six events whose answers are not applied: the hooks run and are logged, and that is all."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hookline.triggers._fire import fire

if TYPE_CHECKING:
    from hookline.config import Config
    from hookline.contract.events import PreCompressTrigger, SessionEndReason, SessionStartSource


async def fire_session_start_hook(config: "Config", source: "SessionStartSource") -> None:
    """Tells the SessionStart hooks that a session began."""
    await fire(config, lambda handler: handler.fire_session_start_event(source))


async def fire_session_end_hook(config: "Config", reason: "SessionEndReason") -> None:
    """Tells the SessionEnd hooks that the session ended."""
    await fire(config, lambda handler: handler.fire_session_end_event(reason))


async def fire_before_agent_hook(config: "Config", prompt: str) -> None:
    """Tells the BeforeAgent hooks what the user asked for."""
    await fire(config, lambda handler: handler.fire_before_agent_event(prompt))


async def fire_after_agent_hook(
    config: "Config", prompt: str, prompt_response: str, *, stop_hook_active: bool = False
) -> None:
    """Tells the AfterAgent hooks what the agent answered."""
    await fire(
        config,
        lambda handler: handler.fire_after_agent_event(prompt, prompt_response, stop_hook_active=stop_hook_active),
    )


async def fire_pre_compress_hook(config: "Config", trigger: "PreCompressTrigger") -> None:
    """Tells the PreCompress hooks that the history is about to be compressed."""
    await fire(config, lambda handler: handler.fire_pre_compress_event(trigger))


async def fire_notification_hook(
    config: "Config", notification_type: str, message: str, details: Mapping[str, Any]
) -> None:
    """Tells the Notification hooks what the user is being told."""
    await fire(config, lambda handler: handler.fire_notification_event(notification_type, message, details))
