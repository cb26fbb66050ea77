"""Advice for the author of a hook about an answer that has no effect, or another one than intended."""

from collections.abc import Iterator, Mapping
from typing import Any

from hookline.engine.event_table import EVENT_TABLE
from hookline.formats.hook_format import NOTHING_LEFT, NOTHING_LEFT_REMEDY
from hookline.protocol.answers import HookAnswer, or_none
from hookline.protocol.constants import LIFECYCLE_REMEDY, HookMode, HookType
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.verdict import wishes

OBSERVE_ONLY = "its hooks only watch, and nothing that they answer is applied"

IS_WORKER = 'this program is a worker, and decides nothing when it is started for one event; add "worker": true'


def advise(hook: HookEntry, answer: HookAnswer) -> tuple[str, ...]:
    """Everything that the author of this answer should know, one sentence each."""
    if _is_ready_line(hook, answer):
        return (*answer.complaints, IS_WORKER)
    if not answer.is_explicit or hook.mode is not HookMode.ENFORCE:
        return answer.complaints
    return (*answer.complaints, *_on_use(hook, answer))


def _is_ready_line(hook: HookEntry, answer: HookAnswer) -> bool:
    """Whether a command that was started for one event has printed what a worker prints first, and nothing else."""
    given = answer.given or {}
    is_cold = hook.type is HookType.COMMAND and hook.worker is None
    return is_cold and given.get("ready") is True and given.keys() <= {"ready", "concurrency"}


def _on_use(hook: HookEntry, answer: HookAnswer) -> Iterator[str]:
    event, row = hook.event, EVENT_TABLE[hook.event]
    if row.observe_only:
        if answer.blocks:
            yield f"a block has no effect on {event}: {OBSERVE_ONLY}"
        elif answer.is_specific or answer.stops:
            yield OBSERVE_ONLY
        return
    if not hook.is_enforced:
        if requests := wishes(answer):
            yield f"it answers with {' and '.join(requests)}, which has no effect; {LIFECYCLE_REMEDY}"
        return
    if answer.blocks and not row.can_block and not row.block_continues_turn:
        effect = "only passes its reason on to the model" if event is HookEventName.AFTER_TOOL else "has no effect"
        yield f'a block {effect} on {event}; to end the session answer {{"continue": false}}'
    if answer.asks and not row.can_ask:
        yield "'ask' can't be asked on this event and means allow; to refuse answer deny"
    if or_none(answer.llm_response) is not None and row.is_pre and not answer.blocks:
        yield "llm_response is used only beside a decision of block or deny; without one the model is called"
    if row.is_pre and _drops_all(or_none(answer.llm_request)):
        yield f"{NOTHING_LEFT}; {NOTHING_LEFT_REMEDY}"


def _drops_all(request: Mapping[str, Any] | None) -> bool:
    return request is not None and [] in (request.get("messages"), request.get("contents"))
