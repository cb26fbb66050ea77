"""One row per event: everything that differs between events is a column here."""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum, auto
from typing import Any

import msgspec

from hookline.engine.merge import (
    Rule,
    merge_field_replacement,
    merge_last_wins,
    merge_or_decision,
    merge_tool_selection,
)
from hookline.engine.rewrites import (
    Change,
    add_context,
    change_arguments,
    change_output,
    change_prompt,
    change_request,
    change_response,
    no_change,
)
from hookline.formats.outputs import AfterModelHookOutput, BeforeModelHookOutput, BeforeToolSelectionHookOutput
from hookline.protocol import inputs
from hookline.protocol.answers import ANY_FIELD
from hookline.protocol.events import (
    HookEventName,
    NotificationType,
    PreCompressTrigger,
    SessionEndReason,
    SessionStartSource,
)
from hookline.protocol.hook_entry import HookEntry
from hookline.protocol.results import BeforeToolHookOutput, DefaultHookOutput


class Matching(Enum):
    """How a matcher is compared with the event's subject."""

    REGEX = auto()
    EQUALITY = auto()
    NEVER_ASKED = auto()


class EventRow(msgspec.Struct, frozen=True, kw_only=True):
    """Everything in which one event differs from others."""

    input: type
    """The TypedDict of what its hooks read on stdin."""
    accepts: Callable[[object], bool]
    """The predicate of the event's own part of it."""
    output: type[DefaultHookOutput] = DefaultHookOutput
    merge: Rule
    matching: Matching = Matching.NEVER_ASKED
    subject: str | None = None
    """The input field that matchers are compared with."""
    reads: frozenset[str] = ANY_FIELD
    """The fields of `hookSpecificOutput` that are read."""
    change: Change = no_change
    """The rule for the changes that answers make."""
    chain: Change | None = None
    """The rule for the input of the next hook in a chain, if it differs from `change`."""
    triggers: tuple[str, ...] = ()
    """Everything that the subject can be, where that is known."""
    can_block: bool = False
    can_ask: bool = False
    """Whether the user can be asked before the operation."""
    is_pre: bool = False
    """True where a stop prevents the operation."""
    block_continues_turn: bool = False
    """Whether a block makes the agent continue, with its reason as the next message."""
    observe_only: bool = False
    """True where nothing that hooks answer is ever applied, and the agent does not wait for them."""

    @property
    def replaces_fields(self) -> bool:
        """True where a later hook can undo an earlier hook's block."""
        return self.merge is merge_field_replacement


EVENT_TABLE: Mapping[HookEventName, EventRow] = {
    HookEventName.BEFORE_TOOL: EventRow(
        input=inputs.BeforeToolInput,
        accepts=inputs.is_before_tool_input,
        output=BeforeToolHookOutput,
        merge=merge_or_decision,
        matching=Matching.REGEX,
        subject="tool_name",
        reads=frozenset(
            {
                *("tool_input", "updatedInput", "replacesInput", "additionalContext"),
                *("permissionDecision", "permissionDecisionReason"),
            }
        ),
        change=change_arguments,
        can_block=True,
        can_ask=True,
        is_pre=True,
    ),
    HookEventName.AFTER_TOOL: EventRow(
        input=inputs.AfterToolInput,
        accepts=inputs.is_after_tool_input,
        merge=merge_or_decision,
        matching=Matching.REGEX,
        subject="tool_name",
        reads=frozenset({"additionalContext", "tool_output", "updatedToolOutput"}),
        change=change_output,
        chain=no_change,
    ),
    HookEventName.BEFORE_MODEL: EventRow(
        input=inputs.BeforeModelInput,
        accepts=inputs.is_before_model_input,
        output=BeforeModelHookOutput,
        merge=merge_field_replacement,
        reads=frozenset({"llm_request", "llm_response"}),
        change=change_request,
        can_block=True,
        is_pre=True,
    ),
    HookEventName.AFTER_MODEL: EventRow(
        input=inputs.AfterModelInput,
        accepts=inputs.is_after_model_input,
        output=AfterModelHookOutput,
        merge=merge_field_replacement,
        reads=frozenset({"llm_response"}),
        change=change_response,
        chain=no_change,
    ),
    HookEventName.BEFORE_TOOL_SELECTION: EventRow(
        input=inputs.BeforeToolSelectionInput,
        accepts=inputs.is_before_tool_selection_input,
        output=BeforeToolSelectionHookOutput,
        merge=merge_tool_selection,
        reads=frozenset({"toolConfig"}),
        is_pre=True,
    ),
    HookEventName.BEFORE_AGENT: EventRow(
        input=inputs.BeforeAgentInput,
        accepts=inputs.is_before_agent_input,
        merge=merge_or_decision,
        reads=frozenset({"prompt", "additionalContext"}),
        change=change_prompt,
        chain=add_context,
        can_block=True,
        is_pre=True,
    ),
    HookEventName.AFTER_AGENT: EventRow(
        input=inputs.AfterAgentInput,
        accepts=inputs.is_after_agent_input,
        merge=merge_or_decision,
        reads=frozenset({"additionalContext", "clearContext"}),
        block_continues_turn=True,
    ),
    HookEventName.SESSION_START: EventRow(
        input=inputs.SessionStartInput,
        accepts=inputs.is_session_start_input,
        merge=merge_or_decision,
        matching=Matching.EQUALITY,
        subject="source",
        triggers=tuple(SessionStartSource),
        reads=frozenset({"additionalContext"}),
    ),
    HookEventName.SESSION_END: EventRow(
        input=inputs.SessionEndInput,
        accepts=inputs.is_session_end_input,
        merge=merge_last_wins,
        matching=Matching.EQUALITY,
        subject="reason",
        triggers=tuple(SessionEndReason),
        observe_only=True,
    ),
    HookEventName.PRE_COMPRESS: EventRow(
        input=inputs.PreCompressInput,
        accepts=inputs.is_pre_compress_input,
        merge=merge_last_wins,
        matching=Matching.EQUALITY,
        subject="trigger",
        triggers=tuple(PreCompressTrigger),
        reads=frozenset({"additionalContext"}),
        can_block=True,
        is_pre=True,
    ),
    HookEventName.NOTIFICATION: EventRow(
        input=inputs.NotificationInput,
        accepts=inputs.is_notification_input,
        merge=merge_last_wins,
        matching=Matching.EQUALITY,
        subject="notification_type",
        triggers=tuple(NotificationType),
        observe_only=True,
    ),
}


def can_block(hook: HookEntry) -> bool:
    """Whether a block of this hook keeps its event's operation from taking place."""
    return EVENT_TABLE[hook.event].can_block and hook.is_enforced


def hears_block(event: HookEventName) -> bool:
    """Whether a block has any effect: it ends the operation, makes the agent go on, or the model reads its reason."""
    row = EVENT_TABLE[event]
    return row.can_block or row.block_continues_turn or event is HookEventName.AFTER_TOOL


def is_awaited(event: HookEventName, hooks: Iterable[HookEntry]) -> bool:
    """Whether something that these hooks of an event answer can be applied, so that the agent has to wait for them."""
    return not EVENT_TABLE[event].observe_only and any(hook.is_enforced for hook in hooks)


def create_hook_output(event: str, data: Mapping[str, Any] | None = None) -> DefaultHookOutput:
    """An answer in the class of its event; BeforeTool's compatibility fields are read by the aggregator alone."""
    kind = EVENT_TABLE[HookEventName(event)].output if event in set(HookEventName) else DefaultHookOutput
    return (DefaultHookOutput if kind is BeforeToolHookOutput else kind)(data)
