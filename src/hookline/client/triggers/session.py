"""The events around prompts and sessions: `fire_*` only runs their hooks, `apply_*` returns what they decided."""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from hookline.client.triggers.boundary import fire, system_of
from hookline.client.triggers.results import (
    AfterAgentHookResult,
    BeforeAgentHookResult,
    LifecycleHookResult,
    PreCompressHookResult,
    SessionStartHookResult,
)
from hookline.protocol.events import HookEventName

if TYPE_CHECKING:
    from hookline.client.config import Config
    from hookline.protocol.events import PreCompressTrigger, SessionEndReason, SessionStartSource
    from hookline.protocol.verdict import Verdict

Result = TypeVar("Result", bound=LifecycleHookResult)


async def fire_session_start_hook(config: "Config", source: "SessionStartSource") -> None:
    """Runs the SessionStart hooks; nothing that they answer is applied."""
    await watch(config, HookEventName.SESSION_START, {"source": source})


async def fire_session_end_hook(config: "Config", reason: "SessionEndReason") -> None:
    """Runs the SessionEnd hooks, which only watch."""
    await watch(config, HookEventName.SESSION_END, {"reason": reason})


async def fire_before_agent_hook(config: "Config", prompt: str) -> None:
    """Runs the BeforeAgent hooks on the user's prompt; nothing that they answer is applied."""
    await watch(config, HookEventName.BEFORE_AGENT, {"prompt": prompt})


async def fire_after_agent_hook(
    config: "Config", prompt: str, prompt_response: str, *, stop_hook_active: bool = False
) -> None:
    """Runs the AfterAgent hooks on the agent's answer; nothing that they answer is applied."""
    fields = after_agent_fields(prompt, prompt_response, stop_hook_active=stop_hook_active)
    await watch(config, HookEventName.AFTER_AGENT, fields)


async def fire_pre_compress_hook(config: "Config", trigger: "PreCompressTrigger") -> None:
    """Runs the PreCompress hooks, before the history is compressed; nothing that they answer is applied."""
    await watch(config, HookEventName.PRE_COMPRESS, {"trigger": trigger})


async def fire_notification_hook(
    config: "Config", notification_type: str, message: str, details: Mapping[str, Any]
) -> None:
    """Runs the Notification hooks on a message that the user is shown; they only watch."""
    fields = {"notification_type": notification_type, "message": message, "details": details}
    await watch(config, HookEventName.NOTIFICATION, fields)


async def watch(config: "Config", event: HookEventName, fields: Mapping[str, Any]) -> None:
    """Runs the hooks of an event; nothing that they answer is applied."""
    await fire(system_of(config), event, fields)


async def is_applied(config: "Config", event: HookEventName, subject: str | None = None) -> bool:
    """Return True if a hook would run whose answer is applied; otherwise the agent need not wait for the event.

    `subject` is the source of SessionStart or the trigger of PreCompress.
    """
    system = system_of(config)
    if system is None:
        return False
    try:
        if system.handler is None:
            await system.initialize()
        return system.awaits(event, subject)
    except Exception:  # noqa: BLE001 - the door: firing the event meets the same fault, and reports it or blocks
        return True


async def apply_before_agent_hook(config: "Config", prompt: str) -> BeforeAgentHookResult:
    """Return the decision of the BeforeAgent hooks about a prompt."""
    return await apply(BeforeAgentHookResult, config, HookEventName.BEFORE_AGENT, {"prompt": prompt})


async def apply_after_agent_hook(
    config: "Config", prompt: str, prompt_response: str, *, stop_hook_active: bool = False
) -> AfterAgentHookResult:
    """Return the decision of the AfterAgent hooks about an agent that has answered.

    `stop_hook_active` is true when a hook has made the agent go on since the prompt. The caller limits how often that
    happens; `config.get_settings().options.max_stop_blocks` is what the user wants.
    """
    fields = after_agent_fields(prompt, prompt_response, stop_hook_active=stop_hook_active)
    return await apply(AfterAgentHookResult, config, HookEventName.AFTER_AGENT, fields)


async def apply_session_start_hook(config: "Config", source: "SessionStartSource") -> SessionStartHookResult:
    """Return the context that the SessionStart hooks add."""
    return await apply(SessionStartHookResult, config, HookEventName.SESSION_START, {"source": source})


async def apply_pre_compress_hook(config: "Config", trigger: "PreCompressTrigger") -> PreCompressHookResult:
    """Return the decision of the PreCompress hooks about compressing the history."""
    return await apply(PreCompressHookResult, config, HookEventName.PRE_COMPRESS, {"trigger": trigger})


async def apply(kind: type[Result], config: "Config", event: HookEventName, fields: Mapping[str, Any]) -> Result:
    """Return the decision of an event's hooks as this kind of result."""
    return result_of(kind, await fire(system_of(config), event, fields))


def after_agent_fields(prompt: str, prompt_response: str, *, stop_hook_active: bool) -> dict[str, Any]:
    """The event's own fields."""
    return {"prompt": prompt, "prompt_response": prompt_response, "stop_hook_active": stop_hook_active}


def result_of(kind: type[Result], verdict: "Verdict | None") -> Result:
    """The verdict on an event as this kind of result; an empty one without a verdict."""
    if verdict is None:
        return kind()
    decides = verdict.blocked or verdict.stop or verdict.go_on
    own = {
        "blocked": verdict.blocked,
        "prompt": verdict.prompt,
        "should_go_on": verdict.go_on,
        "clear_context": verdict.clear_context,
    }
    return kind(
        reason=verdict.reason if decides else None,
        context=verdict.context,
        system_message=verdict.note,
        should_stop=verdict.stop,
        stop_reason=verdict.stop_reason,
        decided_by=verdict.deciders,
        **{field.name: own[field.name] for field in dataclasses.fields(kind) if field.name in own},
    )
