"""What of these hooks gets lost in an agent: its own answers are asked, so that there is no second table of it."""

from collections.abc import Iterable
from dataclasses import dataclass

from hookline.bridge.host import NO_PROMPT, Heard, Host, Outcome
from hookline.contract.events import HookEventName
from hookline.contract.hooks import HookEntry

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
class Loss:
    """What gets lost of one hook."""

    hook: str
    event: str
    asked_at: tuple[str, ...]
    """The agent's events at which the hook is asked; none means that it never runs there."""
    lost: tuple[str, ...]


def losses_of(host: Host, hooks: Iterable[HookEntry]) -> list[Loss]:
    """One for each hook, in order."""
    return [
        Loss(
            hook=hook.label,
            event=hook.event.value,
            asked_at=tuple(theirs for theirs, ours in host.events.items() if ours is hook.event),
            lost=tuple(dict.fromkeys(_lost(host, hook.event))),
        )
        for hook in hooks
    ]


def _lost(host: Host, event: HookEventName) -> Iterable[str]:
    for theirs, ours in host.events.items():
        if ours is event:
            heard = host.hear({**_SAMPLE, "hook_event_name": theirs}, theirs)
            for outcome in _outcomes(heard):
                yield from host.say(heard, outcome).lost


def _outcomes(heard: Heard) -> Iterable[Outcome]:
    is_result = heard.event is HookEventName.AFTER_TOOL
    yield Outcome(context="x", message="x", suppress=is_result)
    if is_result:
        yield Outcome(result="x")
    if heard.event is HookEventName.BEFORE_TOOL:
        yield Outcome(ask=True, reason="x")
        yield Outcome(arguments={})
    if heard.event is HookEventName.BEFORE_AGENT:
        yield Outcome(lost=(NO_PROMPT,))
    if heard.event is HookEventName.PRE_COMPRESS:
        yield Outcome(blocked=True, reason="x")
    if heard.event in _CAN_STOP:
        yield Outcome(stop=True, stop_reason="x")
