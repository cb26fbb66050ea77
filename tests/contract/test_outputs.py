import json
from typing import Any

import pytest

from hookline.contract.outputs import (
    BeforeToolHookOutput,
    BlockingError,
    DecodedOutput,
    DefaultHookOutput,
    decode_stdout,
    deny_from_stderr,
    kind_of,
    text_of,
    warning_from_stderr,
)

CHOICES = "is not one of block, deny, allow, approve, ask; nothing was decided"


def plain_text(text: str, *complaints: str) -> DecodedOutput:
    return DecodedOutput(DefaultHookOutput({"decision": "allow", "systemMessage": text}), complaints)


@pytest.mark.req("HOOK-064", "HOOK-065", "HOOK-114", "HOOK-193", "HOOK-201", "HOOK-212")
@pytest.mark.parametrize(
    ("stdout", "decoded"),
    [
        pytest.param("", DecodedOutput(None), id="nothing"),
        pytest.param(" \ufeff\r\n", DecodedOutput(None), id="white-space-is-nothing"),
        pytest.param('{"decision":"deny"}\n', DecodedOutput(DefaultHookOutput({"decision": "deny"})), id="object"),
        pytest.param('\ufeff{"a":null}', DecodedOutput(DefaultHookOutput({"a": None})), id="byte-order-mark"),
        pytest.param("{}", DecodedOutput(DefaultHookOutput({})), id="empty-object"),
        pytest.param(" all good \n", plain_text("all good"), id="text"),
        pytest.param(
            json.dumps('{"decision":"deny"}'), DecodedOutput(DefaultHookOutput({"decision": "deny"})), id="wrapped-once"
        ),
        pytest.param(
            json.dumps(json.dumps("{}")),
            plain_text(json.dumps(json.dumps("{}")), "stdout is JSON but a string, not an object; taken as text"),
            id="wrapped-twice",
        ),
        pytest.param('"hello"', plain_text('"hello"'), id="a-string-that-wraps-no-json"),
        pytest.param("5", plain_text("5", "stdout is JSON but a number, not an object; taken as text"), id="number"),
        pytest.param(
            '[{"decision":"deny"}]',
            plain_text('[{"decision":"deny"}]', "stdout is JSON but an array, not an object; taken as text"),
            id="array",
        ),
        pytest.param(
            '{"decision":"deny","score":NaN}',
            plain_text(
                '{"decision":"deny","score":NaN}',
                "stdout looks like JSON but is not valid JSON; taken as text, and no decision was read from it",
            ),
            id="not-a-number-is-not-json",
        ),
        pytest.param(
            'checking…\n{"hookSpecificOutput":{}}',
            plain_text(
                'checking…\n{"hookSpecificOutput":{}}',
                "stdout looks like JSON but is not valid JSON; taken as text, and no decision was read from it",
            ),
            id="text-before-json",
        ),
        pytest.param(
            r'{"decision":"deny","reason":"\ud800"}',
            DecodedOutput(DefaultHookOutput({"decision": "deny", "reason": "\ud800"})),
            id="lone-surrogate",
        ),
    ],
)
def test_stdout_is_json_first_and_text_else(stdout: str, decoded: DecodedOutput) -> None:
    """An object, plain or wrapped in one string, is the answer; anything else is text for the model and allows."""
    assert decode_stdout(stdout) == decoded


@pytest.mark.req("HOOK-063")
@pytest.mark.parametrize(
    "baggage",
    ["[" * 10_000 + "]" * 10_000, "9" * 5_000, "1e999", r'"\udfff"', '{"a":' * 500 + "1" + "}" * 500],
    ids=["nested-arrays", "endless-digits", "beyond-a-double", "lone-surrogate", "nested-objects"],
)
def test_no_baggage_costs_a_deny(baggage: str) -> None:
    """Whatever else stands in an answer, its decision is read."""
    output = decode_stdout(f'{{"baggage":{baggage},"decision":"deny","reason":"no"}}').output
    assert output is not None
    assert output.get_blocking_error() == BlockingError(blocked=True, reason="no")


@pytest.mark.req("HOOK-157")
@pytest.mark.parametrize(
    ("answer", "complaints"),
    [
        pytest.param({"decision": "block", "continue": True, "hookSpecificOutput": {"tool_input": {}}}, (), id="good"),
        pytest.param(dict.fromkeys(("decision", "continue", "reason")), (), id="null-is-absent"),
        pytest.param({"decision": "DENY"}, (f"decision 'DENY' {CHOICES}",), id="upper-case"),
        pytest.param({"decision": True}, ("decision is true or false, expected a string; ignored",), id="bool"),
        pytest.param({"continue": "false"}, ("continue is a string, expected true or false; ignored",), id="quoted"),
        pytest.param({"reason": 5}, ("reason is a number, expected a string; shown as text",), id="reason"),
        pytest.param(
            {"hookSpecificOutput": []}, ("hookSpecificOutput is an array, expected an object; ignored",), id="specific"
        ),
        pytest.param(
            {"permissionDecision": "deny"},
            ("permissionDecision stands at the top level; it counts only inside hookSpecificOutput",),
            id="too-high",
        ),
        pytest.param(
            {"hookSpecificOutput": {"decision": "deny"}},
            ("hookSpecificOutput.decision counts only at the top level",),
            id="too-low",
        ),
        pytest.param(
            {"hookSpecificOutput": {"permissionDecision": "denied", "tool_input": "x", "additionalContext": 1}},
            (
                f"hookSpecificOutput.permissionDecision 'denied' {CHOICES}",
                "hookSpecificOutput.tool_input is a string, expected an object; ignored",
                "hookSpecificOutput.additionalContext is a number, expected a string; ignored",
            ),
            id="inside",
        ),
        pytest.param({"note": 1, "hookSpecificOutput": {"hookEventName": "X", "other": 2}}, (), id="unknown-fields"),
    ],
)
def test_authors_are_told_what_did_not_count(answer: dict[str, Any], complaints: tuple[str, ...]) -> None:
    """A wrong field costs that field only: the answer is kept as it is, and the field is named."""
    assert decode_stdout(json.dumps(answer)) == DecodedOutput(DefaultHookOutput(answer), complaints)


@pytest.mark.req("HOOK-067a", "HOOK-067b", "HOOK-189")
@pytest.mark.parametrize(("stderr", "reason"), [(" no way \n", "no way"), (" \n", "Blocked by hook")])
def test_exit_2_denies_for_what_stderr_says(stderr: str, reason: str) -> None:
    """The reason is stderr, trimmed, or a default: never empty."""
    output = deny_from_stderr(stderr)
    assert output == DefaultHookOutput({"decision": "deny", "reason": reason})
    assert output.is_explicit


@pytest.mark.req("HOOK-209", "HOOK-069")
def test_a_failed_hooks_stderr_is_a_warning() -> None:
    """Stderr is passed on as text even when it is JSON, and the `allow` beside it is ours, not the hook's."""
    output = warning_from_stderr('{"decision":"deny"}\n')
    assert output == DefaultHookOutput({"decision": "allow", "systemMessage": 'Warning: {"decision":"deny"}'})
    assert not output.is_explicit
    assert warning_from_stderr(" \n") is None


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
    """Every question has an answer when nothing was said."""
    output = DefaultHookOutput()
    assert (output.decision, output.reason, output.stop_reason, output.system_message) == (None, None, None, None)
    assert (output.suppress_output, output.hook_specific_output, output.get_additional_context()) == (False, {}, None)
    assert not output.is_blocking_decision()
    assert not output.should_stop_execution()
    assert output.get_effective_reason() == "No reason given"
    assert output.to_dict() == {}


def test_wrong_types_read_as_absent() -> None:
    """A field of the wrong type is absent, and a text that is no string is shown."""
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
        ({"stopReason": "s", "hookSpecificOutput": {"permissionDecisionReason": ""}}, "s"),
        ({"reason": "r", "hookSpecificOutput": {"permissionDecisionReason": None}}, "r"),
    ],
)
def test_the_effective_reason(data: dict[str, Any], reason: str) -> None:
    """The compatibility reason goes first, then the stop reason, then the reason; empty ones are skipped."""
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


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, None), ("", None), (False, None), ("x", "x"), (0, "0"), (True, "true"), ({"a": "é"}, '{"a":"é"}')],
)
def test_text_of_anything(value: object, text: str | None) -> None:
    """Nothing is None, a string is itself, and anything else is shown as JSON."""
    assert text_of(value) == text


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, "null"),
        (True, "true or false"),
        ("", "a string"),
        (1, "a number"),
        (1.5, "a number"),
        ([], "an array"),
        ((), "an array"),
        ({}, "an object"),
        (b"", "bytes"),
    ],
)
def test_kinds_are_called_by_their_json_names(value: object, kind: str) -> None:
    """Messages speak of JSON, and of a foreign object by its type."""
    assert kind_of(value) == kind


@pytest.mark.parametrize(
    ("specific", "read"),
    [
        pytest.param({"updatedInput": {"a": 1}}, {"tool_input": {"a": 1}}, id="claude-code"),
        pytest.param({"updatedInput": {"a": 1}, "tool_input": {"a": 2}}, {"tool_input": {"a": 2}}, id="ours-counts"),
        pytest.param({"updatedInput": {"a": 1}, "tool_input": None}, {"tool_input": None}, id="null-takes-back"),
        pytest.param({"updatedInput": "x"}, {}, id="no-object"),
        pytest.param(
            {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}},
            {"toolConfig": {"mode": "NONE"}},
            id="gemini-cli",
        ),
        pytest.param(
            {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}, "mode": "NONE"}},
            {"toolConfig": {"mode": "NONE"}},
            id="both",
        ),
    ],
)
def test_what_other_systems_call_otherwise_is_read(specific: dict[str, Any], read: dict[str, Any]) -> None:
    """A script that was written for another system has the same effect here."""
    output = decode_stdout(json.dumps({"hookSpecificOutput": specific})).output
    assert output is not None
    assert {name: output.hook_specific_output.get(name) for name in read} == read
    assert ("tool_input" in output.hook_specific_output) is ("tool_input" in read)


@pytest.mark.parametrize("text", ["{'decision': 'deny'}", "{'hookSpecificOutput': {}}", "deny {'continue': False}"])
def test_a_printed_dictionary_is_told(text: str) -> None:
    """What Python prints of a dictionary is not JSON, and no deny is read from it."""
    assert "looks like JSON" in decode_stdout(text).complaints[0]
