from typing import Any

import pytest

from hookline.protocol.answers import HookAnswer, read_object
from hookline.protocol.results import BeforeToolHookOutput, BlockingError, DefaultHookOutput


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
