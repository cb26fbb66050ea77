from typing import Any

import pytest

from hookline.protocol.answers import HookAnswer, deny, read_object
from hookline.protocol.constants import ConfigSource, Decider
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import CommandLine, HookEntry
from hookline.protocol.results import (
    AggregatedHookResult,
    BeforeToolHookOutput,
    BlockingError,
    DefaultHookOutput,
    ProcessedHookResult,
    build_failure_envelope,
    failure_verdict,
    make_empty_success_result,
    process_common_hook_output_fields,
)
from hookline.protocol.verdict import HookError, HookExecutionPlan, HookExecutionResult, Verdict

GUARD = HookEntry(
    event=HookEventName.BEFORE_TOOL, source=ConfigSource.USER, origin="o", location="l", run=CommandLine("guard")
)


def read(data: dict[str, Any], kind: type[DefaultHookOutput] = DefaultHookOutput) -> ProcessedHookResult:
    return process_common_hook_output_fields(AggregatedHookResult(success=True, final_output=kind(data)))


@pytest.mark.req("HOOK-016b", "HOOK-018", "HOOK-158", "HOOK-182")
@pytest.mark.parametrize(
    ("decision", "blocks"),
    [
        ("block", True),
        ("deny", True),
        ("allow", False),
        ("approve", False),
        ("ask", False),
        (None, False),
        ("", False),
        ("Deny", False),
        (["deny"], False),
        ({"deny": True}, False),
        (True, False),
    ],
)
def test_two_words_block(decision: object, blocks: bool) -> None:
    """Nothing but `block` and `deny` blocks, and no odd value raises."""
    output = DefaultHookOutput({"decision": decision, "reason": "r"})
    assert output.is_blocking_decision() is blocks
    assert output.get_blocking_error() == (BlockingError(True, "r") if blocks else BlockingError(False, ""))


@pytest.mark.req("HOOK-157")
@pytest.mark.parametrize(
    ("value", "stops"), [(False, True), (None, False), ("false", False), (0, False), ([], False), (True, False)]
)
def test_only_false_stops(value: object, stops: bool) -> None:
    """`continue` stops the agent when it is the boolean false."""
    assert DefaultHookOutput({"continue": value}).should_stop_execution() is stops


def test_an_answer_with_nothing_in_it() -> None:
    """Every method returns a value for an empty answer."""
    output = DefaultHookOutput()
    assert (output.decision, output.reason, output.stop_reason, output.system_message) == (None, None, None, None)
    assert (output.suppress_output, output.hook_specific_output, output.get_additional_context()) == (False, {}, None)
    assert not output.is_blocking_decision()
    assert not output.should_stop_execution()
    assert output.get_effective_reason() == "No reason given"
    assert output.to_dict() == {}


def test_wrong_types_read_as_absent() -> None:
    """A field of the wrong type is absent, and a reason that is not a string is shown."""
    output = DefaultHookOutput(
        {"decision": 1, "reason": {"a": 1.0}, "stopReason": 7, "systemMessage": False, "suppressOutput": 1}
    )
    assert (output.decision, output.reason, output.stop_reason) == (None, '{"a":1}', "7")
    assert (output.system_message, output.suppress_output) == (None, False)


@pytest.mark.req("HOOK-170", "HOOK-199")
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"reason": "r", "stopReason": "s"}, "s"),
        ({"reason": "r", "stopReason": ""}, "r"),
        ({"reason": "", "stopReason": ""}, "No reason given"),
        ({"reason": "r", "hookSpecificOutput": {"permissionDecisionReason": "p"}}, "p"),
        ({"reason": "  ", "stopReason": "\n"}, "No reason given"),
        ({"stopReason": "s", "hookSpecificOutput": {"permissionDecisionReason": ""}}, "s"),
        ({"reason": "r", "hookSpecificOutput": {"permissionDecisionReason": None}}, "r"),
    ],
)
def test_the_effective_reason(data: dict[str, Any], reason: str) -> None:
    """The compatibility reason goes first, then the stop reason, then the reason; blank ones are skipped."""
    assert BeforeToolHookOutput(data).get_effective_reason() == reason


@pytest.mark.req("HOOK-169", "HOOK-199")
@pytest.mark.parametrize(
    ("permission", "blocks"),
    [("deny", True), ("block", True), ("allow", False), ("ask", False), (None, False), (["deny"], False), (1, False)],
)
def test_the_compatibility_field_blocks_before_tools_only(permission: object, blocks: bool) -> None:
    """`permissionDecision` blocks in the BeforeTool class, and an `allow` beside it does not undo that."""
    data = {"decision": "allow", "hookSpecificOutput": {"permissionDecision": permission}}
    assert BeforeToolHookOutput(data).is_blocking_decision() is blocks
    assert not DefaultHookOutput(data).is_blocking_decision()


@pytest.mark.req("HOOK-019")
@pytest.mark.parametrize(("given", "read"), [({"a": None}, {"a": None}), ({}, {}), (None, None), ([], None)])
def test_the_changed_arguments(given: object, read: object) -> None:
    """`tool_input` counts when it is an object."""
    output = BeforeToolHookOutput({"hookSpecificOutput": {"tool_input": given}})
    assert output.get_modified_tool_input() == read


def test_a_face_shows_an_answer_that_was_read_already() -> None:
    """The class only asks: the answer behind it, and its JSON, are the same."""
    answer = read_object({"decision": "deny", "systemMessage": "m", "hookSpecificOutput": {"additionalContext": "c"}})
    output = DefaultHookOutput.of(answer)
    assert output.answer is answer
    assert (output.decision, output.system_message, output.get_additional_context()) == ("deny", "m", "c")
    assert output == DefaultHookOutput(answer.to_dict())
    merged = DefaultHookOutput.of(HookAnswer(decision="allow", context="c"))
    assert merged.to_dict() == {"decision": "allow", "hookSpecificOutput": {"additionalContext": "c"}}
    assert merged.hook_specific_output == {"additionalContext": "c"}


def test_answers_are_values() -> None:
    """Answers of one class with equal content are equal; what `to_dict` gives away is a copy."""
    output = DefaultHookOutput({"a": [1]})
    output.to_dict()["a"] = 2
    assert output == DefaultHookOutput({"a": [1]})
    assert hash(output) == hash(DefaultHookOutput({"a": [1]}))
    assert len({DefaultHookOutput({"a": 1, "b": True}), DefaultHookOutput({"b": 1, "a": 1.0})}) == 1
    assert output != BeforeToolHookOutput({"a": [1]})
    assert output != {"a": [1]}
    assert repr(output) == "DefaultHookOutput({'a': [1]})"


@pytest.mark.req("HOOK-145", "DELTA-HFAIL-004")
def test_each_empty_success_is_a_fresh_one() -> None:
    """Nothing ran, nothing failed, no answer; and no two callers share the object."""
    result = make_empty_success_result()
    assert result == AggregatedHookResult(
        success=True, final_output=None, all_outputs=(), errors=(), total_duration=0.0, verdict=None
    )
    assert (result.results, result.verdict, result.effect) == ((), None, None)
    assert result is not make_empty_success_result()
    assert result.to_dict() == {
        "success": True,
        "finalOutput": None,
        "allOutputs": [],
        "errors": [],
        "totalDuration": 0.0,
    }


def test_a_result_is_the_face_of_a_verdict() -> None:
    """All that callers ask a result for is the verdict's, with answers in the event's own class."""
    answer = deny("no")
    plan = HookExecutionPlan(event=GUARD.event, hooks=(GUARD,), sequential=False)
    runs = (
        HookExecutionResult(hook=GUARD, event=GUARD.event, success=False, exit_code=2, answer=answer),
        HookExecutionResult(hook=GUARD, event=GUARD.event, success=True, exit_code=0),
    )
    verdict = Verdict(
        event=GUARD.event,
        answer=answer,
        arguments={"a": 1},
        success=False,
        errors=(HookError("e"),),
        duration_ms=2.34567,
        plan=plan,
        runs=runs,
    )
    result = AggregatedHookResult.of(verdict, BeforeToolHookOutput)
    face = BeforeToolHookOutput({"decision": "deny", "reason": "no"})
    assert (result.success, result.final_output, result.all_outputs) == (False, face, (face,))
    assert (result.errors, result.verdict, result.effect) == ((HookError("e"),), verdict, {"tool_input": {"a": 1}})
    assert result.results is runs
    assert result.to_dict() == {
        "success": False,
        "finalOutput": {"decision": "deny", "reason": "no"},
        "allOutputs": [{"decision": "deny", "reason": "no"}],
        "errors": [{"message": "e"}],
        "totalDuration": 2.346,
    }
    silent = AggregatedHookResult.of(Verdict(event=GUARD.event), DefaultHookOutput)
    assert (silent.success, silent.final_output, silent.all_outputs) == (True, None, ())


@pytest.mark.req("DELTA-HFAIL-001")
def test_a_fault_of_ours_decides_nothing() -> None:
    """The envelope and the verdict say the same: what failed, where, and that no hook had an effect."""
    error = HookError(
        "planning failed: ValueError('x')",
        stage="planning",
        details={"error": "ValueError", "event": "BeforeTool"},
    )
    envelope = build_failure_envelope(ValueError("x"), "planning", {"event": "BeforeTool"})
    assert envelope == AggregatedHookResult(success=False, errors=(error,))
    verdict = failure_verdict(HookEventName.BEFORE_TOOL, "ls", ValueError("x"), "planning")
    assert verdict == Verdict(
        event=HookEventName.BEFORE_TOOL, subject="ls", success=False, errors=(error,), decider=Decider.FAULT
    )
    assert verdict.fault == error


def test_a_processed_result_as_json() -> None:
    """The reading of the common fields, in wire spelling."""
    processed = read({"continue": False, "stopReason": "s"})
    assert processed.to_dict() == {
        "shouldStop": True,
        "stopReason": "s",
        "systemMessage": None,
        "suppressOutput": False,
    }


@pytest.mark.req("DELTA-HRUN-004")
def test_no_answer_asks_for_nothing() -> None:
    """Without an answer nothing is stopped, reported or hidden."""
    empty = make_empty_success_result()
    assert process_common_hook_output_fields(empty) == ProcessedHookResult(
        aggregated=empty, should_stop=False, stop_reason=None, system_message=None, suppress_output=False
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
    """A stop is given the stop reason, else the reason, else a default, never a blank; without a stop there is none."""
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
    assert processed.aggregated.final_output is not None
    assert processed.aggregated.final_output.answer == read_object(data)


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
