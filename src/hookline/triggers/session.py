"""The events around prompts and sessions: `fire_*` only runs their hooks, `apply_*` returns what they decided."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from hookline.contract.events import HookEventName
from hookline.triggers.door import fire, fire_and_apply, system_of
from hookline.triggers.results import (
    AfterAgentHookResult,
    BeforeAgentHookResult,
    LifecycleHookResult,
    PreCompressHookResult,
    SessionStartHookResult,
)

if TYPE_CHECKING:
    from hookline.config import Config
    from hookline.contract.events import PreCompressTrigger, SessionEndReason, SessionStartSource
    from hookline.contract.verdict import Verdict

Result = TypeVar("Result", bound=LifecycleHookResult)


async def fire_session_start_hook(config: "Config", source: "SessionStartSource") -> None:
    """Runs the SessionStart hooks; nothing that they answer is applied."""
    await fire(system_of(config), HookEventName.SESSION_START, {"source": source})


async def fire_session_end_hook(config: "Config", reason: "SessionEndReason") -> None:
    """Runs the SessionEnd hooks, which only watch."""
    await fire(system_of(config), HookEventName.SESSION_END, {"reason": reason})


async def fire_before_agent_hook(config: "Config", prompt: str) -> None:
    """Runs the BeforeAgent hooks on the user's prompt; nothing that they answer is applied."""
    await fire(system_of(config), HookEventName.BEFORE_AGENT, {"prompt": prompt})


async def fire_after_agent_hook(
    config: "Config", prompt: str, prompt_response: str, *, stop_hook_active: bool = False
) -> None:
    """Runs the AfterAgent hooks on the agent's answer; nothing that they answer is applied."""
    fields = after_agent_fields(prompt, prompt_response, stop_hook_active=stop_hook_active)
    await fire(system_of(config), HookEventName.AFTER_AGENT, fields)


async def fire_pre_compress_hook(config: "Config", trigger: "PreCompressTrigger") -> None:
    """Runs the PreCompress hooks, before the history is compressed; nothing that they answer is applied."""
    await fire(system_of(config), HookEventName.PRE_COMPRESS, {"trigger": trigger})


async def fire_notification_hook(
    config: "Config", notification_type: str, message: str, details: Mapping[str, Any]
) -> None:
    """Runs the Notification hooks on a message that the user is shown; they only watch."""
    fields = {"notification_type": notification_type, "message": message, "details": details}
    await fire(system_of(config), HookEventName.NOTIFICATION, fields)


async def is_applied(config: "Config", event: HookEventName, subject: str | None = None) -> bool:
    """Whether a hook would run now whose answer is applied; where none would, nobody has to wait for the event.

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
    """What the BeforeAgent hooks decided about a prompt."""
    return await fire_and_apply(
        config,
        HookEventName.BEFORE_AGENT,
        {"prompt": prompt},
        lambda verdict, _: before_agent_result(verdict),
        BeforeAgentHookResult(),
    )


async def apply_after_agent_hook(
    config: "Config", prompt: str, prompt_response: str, *, stop_hook_active: bool = False
) -> AfterAgentHookResult:
    """What the AfterAgent hooks decided about an agent that has answered.

    `stop_hook_active` is true when a hook has made the agent go on since the prompt. The caller limits how often that
    happens; `config.get_settings().options.max_stop_blocks` is what the user wants.
    """
    return await fire_and_apply(
        config,
        HookEventName.AFTER_AGENT,
        after_agent_fields(prompt, prompt_response, stop_hook_active=stop_hook_active),
        lambda verdict, _: after_agent_result(verdict),
        AfterAgentHookResult(),
    )


async def apply_session_start_hook(config: "Config", source: "SessionStartSource") -> SessionStartHookResult:
    """What the SessionStart hooks add to the session."""
    return await fire_and_apply(
        config,
        HookEventName.SESSION_START,
        {"source": source},
        lambda verdict, _: session_start_result(verdict),
        SessionStartHookResult(),
    )


async def apply_pre_compress_hook(config: "Config", trigger: "PreCompressTrigger") -> PreCompressHookResult:
    """What the PreCompress hooks decided about compressing the history."""
    return await fire_and_apply(
        config,
        HookEventName.PRE_COMPRESS,
        {"trigger": trigger},
        lambda verdict, _: pre_compress_result(verdict),
        PreCompressHookResult(),
    )


def before_agent_result(verdict: "Verdict") -> BeforeAgentHookResult:
    """The verdict on the event, as a result."""
    return _result(BeforeAgentHookResult, verdict, blocked=verdict.blocked, prompt=verdict.prompt)


def after_agent_result(verdict: "Verdict") -> AfterAgentHookResult:
    """The verdict on the event, as a result."""
    return _result(AfterAgentHookResult, verdict, should_go_on=verdict.go_on)


def session_start_result(verdict: "Verdict") -> SessionStartHookResult:
    """The verdict on the event, as a result."""
    return _result(SessionStartHookResult, verdict)


def pre_compress_result(verdict: "Verdict") -> PreCompressHookResult:
    """The verdict on the event, as a result."""
    return _result(PreCompressHookResult, verdict, blocked=verdict.blocked)


def after_agent_fields(prompt: str, prompt_response: str, *, stop_hook_active: bool) -> dict[str, Any]:
    """The event's own fields."""
    return {"prompt": prompt, "prompt_response": prompt_response, "stop_hook_active": stop_hook_active}


def _result(kind: type[Result], verdict: "Verdict", **fields: Any) -> Result:
    decides = verdict.blocked or verdict.stop or verdict.go_on
    return kind(
        reason=verdict.reason if decides else None,
        context=verdict.context,
        system_message=verdict.note,
        should_stop=verdict.stop,
        stop_reason=verdict.stop_reason,
        decided_by=verdict.deciders,
        **fields,
    )
