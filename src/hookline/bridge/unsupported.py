"""Effects of hooks that an agent doesn't support, found by rendering sample answers for it."""

from collections.abc import Iterable
from dataclasses import dataclass

from hookline.bridge.host import NO_PROMPT, AgentRequest, HostAgent, MergedOutcome
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import HookEntry

_SAMPLE = {
    "tool_name": "run_shell_command",
    "toolName": "bash",
    "tool_input": {"command": "x"},
    "toolArgs": {"command": "x"},
    "file_path": "x",
    "prompt": "x",
    "command": "x",
    "tool_response": {"stdout": "x"},
}
_CAN_STOP = (HookEventName.BEFORE_TOOL, HookEventName.AFTER_TOOL, HookEventName.SESSION_START)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsupportedEffects:
    """The unsupported effects of one hook."""

    hook: str
    event: str
    asked_at: tuple[str, ...]
    """The agent's events at which the hook is asked; none means that it never runs there."""
    unsupported: tuple[str, ...]


def unsupported_effects(host: HostAgent, hooks: Iterable[HookEntry]) -> list[UnsupportedEffects]:
    """One for each hook, in order."""
    return [
        UnsupportedEffects(
            hook=hook.label,
            event=hook.event.value,
            asked_at=tuple(native_event for native_event, ours in host.events.items() if ours is hook.event),
            unsupported=tuple(dict.fromkeys(_unsupported(host, hook.event))),
        )
        for hook in hooks
    ]


def _unsupported(host: HostAgent, event: HookEventName) -> Iterable[str]:
    for native_event, ours in host.events.items():
        if ours is event:
            request = host.parse_request({**_SAMPLE, "hook_event_name": native_event}, native_event)
            for outcome in _outcomes(request):
                yield from host.render_response(request, outcome).unsupported


def _outcomes(request: AgentRequest) -> Iterable[MergedOutcome]:
    is_result = request.event is HookEventName.AFTER_TOOL
    yield MergedOutcome(context="x", message="x", suppress=is_result)
    if is_result:
        yield MergedOutcome(result="x")
    if request.event is HookEventName.BEFORE_TOOL:
        yield MergedOutcome(ask=True, reason="x")
        yield MergedOutcome(arguments={})
    if request.event is HookEventName.BEFORE_AGENT:
        yield MergedOutcome(unsupported=(NO_PROMPT,))
    if request.event is HookEventName.PRE_COMPRESS:
        yield MergedOutcome(blocked=True, reason="x")
    if request.event in _CAN_STOP:
        yield MergedOutcome(stop=True, stop_reason="x")
