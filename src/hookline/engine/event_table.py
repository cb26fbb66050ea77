"""One row per event: everything that differs between events is a column here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from hookline.contract import inputs
from hookline.contract.events import HookEventName
from hookline.contract.outputs import BeforeToolHookOutput, DefaultHookOutput
from hookline.engine._advice import (
    Advice,
    no_advice,
    of_unread,
    on_asking,
    on_response_text,
    on_synthetic_response,
    on_tool_config,
)
from hookline.engine._chaining import Chain, chain_llm_request, chain_prompt, chain_tool_input
from hookline.engine._effects import (
    Effect,
    llm_request_effect,
    llm_response_effect,
    no_effect,
    tool_config_effect,
    tool_input_effect,
)
from hookline.engine._merge import (
    Outputs,
    merge_field_replacement,
    merge_last_wins,
    merge_or_decision,
    merge_tool_selection,
)
from hookline.formats.outputs import AfterModelHookOutput, BeforeModelHookOutput, BeforeToolSelectionHookOutput

ONLY_WATCHES = "its hooks only watch, and nothing that they answer is applied"


class Matching(Enum):
    """How a matcher is compared with the event's subject."""

    REGEX = auto()
    EQUALITY = auto()
    NEVER_ASKED = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """What is particular to one event."""

    input: type
    """The TypedDict of all that its hooks are told."""
    output: type[DefaultHookOutput] = DefaultHookOutput
    merge: Callable[[Outputs], dict[str, Any]]
    matching: Matching = Matching.NEVER_ASKED
    subject: str | None = None
    """The input field that matchers are compared with."""
    chain: Chain | None = None
    """How one hook's answer changes what the next one of a sequence is told."""
    reads: frozenset[str] = frozenset()
    """What counts in the `hookSpecificOutput` of an answer."""
    effect: Effect = no_effect
    """What the caller goes on with when the answer changes it."""
    advice: Advice = no_advice
    """What the author of an answer should be told about what is read."""
    can_block: bool = False
    only_watches: bool = False
    """True where nothing that hooks answer is applied."""
    replaces_fields: bool = False
    """True where a later hook can undo an earlier hook's block."""

    def advise(self, output: DefaultHookOutput) -> list[str]:
        """All that the author of this answer should be told about it, but for a block where none is possible."""
        if not output.is_explicit:
            return []
        if self.only_watches:
            has_more = bool(output.hook_specific_output.keys() - {"hookEventName"})
            return [ONLY_WATCHES] if has_more or output.should_stop_execution() else []
        asking = on_asking(output)
        said = [asking] if asking else []
        if output.hook_specific_output:  # as few answers have
            particular = self.advice(output)
            said += [*of_unread(output, self.reads), *([particular] if particular else [])]
        return said


EVENT_TABLE: Mapping[HookEventName, EventRow] = {
    HookEventName.BEFORE_TOOL: EventRow(
        input=inputs.BeforeToolInput,
        output=BeforeToolHookOutput,
        merge=merge_or_decision,
        matching=Matching.REGEX,
        subject="tool_name",
        chain=chain_tool_input,
        reads=frozenset({"tool_input", "updatedInput", "permissionDecision", "permissionDecisionReason"}),
        effect=tool_input_effect,
        can_block=True,
    ),
    HookEventName.AFTER_TOOL: EventRow(
        input=inputs.AfterToolInput,
        merge=merge_or_decision,
        matching=Matching.REGEX,
        subject="tool_name",
        reads=frozenset({"additionalContext"}),
    ),
    HookEventName.BEFORE_MODEL: EventRow(
        input=inputs.BeforeModelInput,
        output=BeforeModelHookOutput,
        merge=merge_field_replacement,
        chain=chain_llm_request,
        reads=frozenset({"llm_request", "llm_response"}),
        effect=llm_request_effect,
        advice=on_synthetic_response,
        can_block=True,
        replaces_fields=True,
    ),
    HookEventName.AFTER_MODEL: EventRow(
        input=inputs.AfterModelInput,
        output=AfterModelHookOutput,
        merge=merge_field_replacement,
        reads=frozenset({"llm_response"}),
        effect=llm_response_effect,
        advice=on_response_text,
        replaces_fields=True,
    ),
    HookEventName.BEFORE_TOOL_SELECTION: EventRow(
        input=inputs.BeforeToolSelectionInput,
        output=BeforeToolSelectionHookOutput,
        merge=merge_tool_selection,
        reads=frozenset({"toolConfig"}),
        effect=tool_config_effect,
        advice=on_tool_config,
    ),
    HookEventName.BEFORE_AGENT: EventRow(
        input=inputs.BeforeAgentInput,
        merge=merge_or_decision,
        chain=chain_prompt,
        only_watches=True,
    ),
    HookEventName.AFTER_AGENT: EventRow(
        input=inputs.AfterAgentInput,
        merge=merge_or_decision,
        only_watches=True,
    ),
    HookEventName.SESSION_START: EventRow(
        input=inputs.SessionStartInput,
        merge=merge_or_decision,
        matching=Matching.EQUALITY,
        subject="source",
        only_watches=True,
    ),
    HookEventName.SESSION_END: EventRow(
        input=inputs.SessionEndInput,
        merge=merge_last_wins,
        matching=Matching.EQUALITY,
        subject="reason",
        only_watches=True,
    ),
    HookEventName.PRE_COMPRESS: EventRow(
        input=inputs.PreCompressInput,
        merge=merge_last_wins,
        matching=Matching.EQUALITY,
        subject="trigger",
        only_watches=True,
    ),
    HookEventName.NOTIFICATION: EventRow(
        input=inputs.NotificationInput,
        merge=merge_last_wins,
        matching=Matching.EQUALITY,
        subject="notification_type",
        only_watches=True,
    ),
}
