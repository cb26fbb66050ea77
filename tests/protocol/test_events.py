from enum import StrEnum

import pytest

from hookline.protocol.events import (
    BLOCKING_DECISIONS,
    EVENT_DESCRIPTIONS,
    HookDecision,
    HookEventName,
    NotificationType,
    PreCompressTrigger,
    SessionEndReason,
    SessionStartSource,
)


@pytest.mark.req("HOOK-081", "HOOK-182")
@pytest.mark.parametrize(
    ("vocabulary", "words"),
    [
        (
            HookEventName,
            (
                "BeforeTool AfterTool BeforeModel AfterModel BeforeToolSelection BeforeAgent AfterAgent"
                " SessionStart SessionEnd PreCompress Notification"
            ),
        ),
        (SessionStartSource, "startup resume clear compress"),
        (SessionEndReason, "exit clear logout prompt_input_exit other"),
        (PreCompressTrigger, "manual auto"),
        (NotificationType, "ToolPermission"),
        (HookDecision, "ask block deny approve allow"),
    ],
)
def test_the_words_on_the_wire(vocabulary: type[StrEnum], words: str) -> None:
    """Scripts and settings depend on these spellings, and on no other word being there."""
    assert [word.value for word in vocabulary] == words.split()


@pytest.mark.req("HOOK-081")
def test_every_event_is_described() -> None:
    """The settings accept the events of this table, so each has to be in it."""
    assert list(EVENT_DESCRIPTIONS) == list(HookEventName)


@pytest.mark.req("HOOK-182")
def test_only_block_and_deny_block() -> None:
    """`ask` is known and blocks nothing."""
    assert {"block", "deny"} == BLOCKING_DECISIONS
