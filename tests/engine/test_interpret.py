from typing import Any

import pytest

from hookline.contract.outputs import BeforeToolHookOutput, DefaultHookOutput
from hookline.contract.results import AggregatedHookResult, ProcessedHookResult, make_empty_success_result
from hookline.engine.interpret import process_common_hook_output_fields


def read(data: dict[str, Any], kind: type[DefaultHookOutput] = DefaultHookOutput) -> ProcessedHookResult:
    return process_common_hook_output_fields(AggregatedHookResult(success=True, final_output=kind(data)))


@pytest.mark.req("DELTA-HRUN-004")
def test_no_answer_asks_for_nothing() -> None:
    """Without an answer nothing stops, nothing is said and nothing is hidden."""
    empty = make_empty_success_result()
    assert process_common_hook_output_fields(empty) == ProcessedHookResult(
        aggregated=empty, should_stop=False, stop_reason=None, system_message=None, suppress_output=False
    )


@pytest.mark.req("DELTA-HRUN-004")
def test_the_reading_keeps_what_it_was_made_from() -> None:
    """Everything is in the reading: the merged result itself and the four fields."""
    output = DefaultHookOutput(
        {"continue": False, "stopReason": "enough", "systemMessage": "note", "suppressOutput": True}
    )
    result = AggregatedHookResult(success=False, final_output=output, total_duration=7.0)
    processed = process_common_hook_output_fields(result)
    assert processed.aggregated is result
    assert processed == ProcessedHookResult(
        aggregated=result, should_stop=True, stop_reason="enough", system_message="note", suppress_output=True
    )


@pytest.mark.req("DELTA-HRUN-002")
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"continue": False, "stopReason": " enough \n"}, "enough"),
        ({"continue": False, "reason": "why"}, "why"),
        ({"continue": False}, "No reason given"),
        ({"continue": False, "stopReason": " ", "reason": "why"}, "why"),
        ({"continue": False, "stopReason": " ", "reason": "\n"}, "No reason given"),
        ({"continue": False, "stopReason": 7}, "7"),
        ({"continue": True, "stopReason": "not stopped"}, None),
        ({"decision": "deny", "reason": "why"}, None),
    ],
)
def test_a_stop_has_one_reason(data: dict[str, Any], reason: str | None) -> None:
    """Who stops is given the stop reason, else the reason, else a default, never a blank; who goes on has none."""
    processed = read(data)
    assert (processed.should_stop, processed.stop_reason) == (reason is not None, reason)


@pytest.mark.req("DELTA-HRUN-002", "HOOK-199")
def test_the_stop_reason_goes_before_the_compatibility_reason() -> None:
    """A stop is explained by its own reason, and by the permission's where it has none."""
    specific = {"permissionDecisionReason": "not allowed"}
    stop = {"continue": False, "hookSpecificOutput": specific}
    assert read(stop, BeforeToolHookOutput).stop_reason == "not allowed"
    assert read({**stop, "stopReason": "enough"}, BeforeToolHookOutput).stop_reason == "enough"


@pytest.mark.req("DELTA-HRUN-003")
@pytest.mark.parametrize(
    ("data", "message", "suppress"),
    [
        ({"systemMessage": " note "}, " note ", False),
        ({"systemMessage": " \ufeff\n"}, None, False),
        ({"systemMessage": ""}, None, False),
        ({"systemMessage": None, "suppressOutput": True}, None, True),
        ({"suppressOutput": "true"}, None, False),
    ],
)
def test_messages_and_suppression(data: dict[str, Any], message: str | None, suppress: bool) -> None:
    """A message is passed on as it is unless it is blank, and only the boolean true suppresses."""
    processed = read(data)
    assert (processed.system_message, processed.suppress_output) == (message, suppress)
