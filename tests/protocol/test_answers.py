import enum
import json
from collections import OrderedDict
from typing import Any

import pytest
from msgspec import UNSET

from hookline.protocol.answers import (
    HookAnswer,
    ToolSelection,
    deny,
    kind_of,
    or_none,
    read_object,
    read_stdout,
    read_tool_selection,
    text_of,
    warning_from_stderr,
)
from hookline.protocol.events import HookDecision
from hookline.protocol.results import DefaultHookOutput

CHOICES = "is not one of block, deny, allow, approve, ask; nothing was decided"
NOT_JSON = (
    "stdout looks like JSON but is not valid JSON; taken as text, and no decision was read from it;"
    " print the JSON alone, and messages on stderr"
)
EVERYTHING: dict[str, Any] = {
    "decision": "ask",
    "reason": "r",
    "continue": False,
    "stopReason": "s",
    "suppressOutput": True,
    "systemMessage": "m",
    "mine": [1],
    "hookSpecificOutput": {
        "permissionDecision": "deny",
        "permissionDecisionReason": "p",
        "additionalContext": "c",
        "clearContext": True,
        "tool_input": {"a": 1},
        "llm_request": {"model": "m"},
        "llm_response": {"text": "t"},
        "toolConfig": {"mode": "ANY", "allowedFunctionNames": ["ls"]},
        "hookEventName": "BeforeTool",
    },
}


def plain_text(text: str, *complaints: str, doubt: str | None = None) -> HookAnswer:
    given = {"decision": "allow", "systemMessage": text}
    return HookAnswer(
        decision="allow", note=text, is_explicit=False, given=given, complaints=tuple(complaints), doubt=doubt
    )


def unreadable(text: str) -> str:
    return f"it printed {text!r}, which can't be read as an answer"


def test_every_field_has_a_typed_place() -> None:
    """All that a hook can say is read once, into typed fields; what it printed is kept beside them."""
    assert read_object(EVERYTHING, rank=2) == HookAnswer(
        decision="ask",
        reason="r",
        proceed=False,
        stop_reason="s",
        suppress=True,
        note="m",
        permission="deny",
        permission_reason="p",
        context="c",
        clear_context=True,
        tool_input={"a": 1},
        llm_request={"model": "m"},
        llm_response={"text": "t"},
        tools=ToolSelection(mode="ANY", names=("ls",)),
        others={"mine": [1]},
        other_specific={"hookEventName": "BeforeTool"},
        rank=2,
        given=EVERYTHING,
    )


@pytest.mark.parametrize("answer", [HookAnswer(), read_object({})], ids=["made", "read"])
def test_an_empty_answer_says_nothing(answer: HookAnswer) -> None:
    """A missing field is UNSET, which is neither null nor an empty text."""
    fields = ("decision", "reason", "proceed", "stop_reason", "suppress", "note", "permission", "context", "tools")
    assert {getattr(answer, name) for name in fields} == {UNSET}
    assert (answer.blocks, answer.asks, answer.stops, answer.is_specific) == (False,) * 4
    assert (answer.why, answer.why_stopped, answer.to_dict()) == (None, None, {})
    assert (answer.is_explicit, answer.rank, answer.complaints, answer.doubt) == (True, 0, (), None)


def test_null_is_said_and_is_not_absence() -> None:
    """An explicit null is kept, so that it can replace an earlier hook's value."""
    nulls = dict.fromkeys(("decision", "reason", "continue", "stopReason", "suppressOutput", "systemMessage"))
    specific = dict.fromkeys(("permissionDecision", "additionalContext", "tool_input", "llm_response", "toolConfig"))
    answer = read_object({**nulls, "hookSpecificOutput": specific})
    assert (answer.decision, answer.proceed, answer.note, answer.tool_input, answer.tools) == (None,) * 5
    assert answer.reason is answer.stop_reason is answer.suppress is answer.permission is answer.context is None
    assert (answer.complaints, answer.doubt) == ((), None)
    assert (answer.blocks, answer.stops) == (False, False)


@pytest.mark.req("HOOK-064", "HOOK-065", "HOOK-114", "HOOK-193", "HOOK-201", "HOOK-212")
@pytest.mark.parametrize(
    ("stdout", "answer"),
    [
        pytest.param("", None, id="nothing"),
        pytest.param(" \ufeff\r\n", None, id="white-space-is-nothing"),
        pytest.param('{"decision":"deny"}\n', read_object({"decision": "deny"}), id="object"),
        pytest.param('\ufeff{"a":null}', read_object({"a": None}), id="byte-order-mark"),
        pytest.param("{}", read_object({}), id="empty-object"),
        pytest.param(" all good \n", plain_text("all good"), id="text"),
        pytest.param(json.dumps('{"decision":"deny"}'), read_object({"decision": "deny"}), id="wrapped-once"),
        pytest.param(
            json.dumps(json.dumps("{}")),
            plain_text(json.dumps(json.dumps("{}")), "stdout is JSON but a string, not an object; taken as text"),
            id="wrapped-twice",
        ),
        pytest.param('"hello"', plain_text('"hello"'), id="a-string-that-wraps-no-json"),
        pytest.param(
            "5",
            plain_text("5", "stdout is JSON but a number, not an object; taken as text", doubt=unreadable("5")),
            id="number",
        ),
        pytest.param(
            '[{"decision":"deny"}]',
            plain_text(
                '[{"decision":"deny"}]',
                "stdout is JSON but an array, not an object; taken as text",
                doubt=unreadable('[{"decision":"deny"}]'),
            ),
            id="array",
        ),
        pytest.param(
            '{"decision":"deny","score":NaN}',
            plain_text(
                '{"decision":"deny","score":NaN}', NOT_JSON, doubt=unreadable('{"decision":"deny","score":NaN}')
            ),
            id="not-a-number-is-not-json",
        ),
        pytest.param(
            'checking…\n{"hookSpecificOutput":{}}',
            plain_text(
                'checking…\n{"hookSpecificOutput":{}}',
                NOT_JSON,
                doubt=unreadable('checking…\n{"hookSpecificOutput":{}}'),
            ),
            id="text-before-json",
        ),
        pytest.param(
            r'{"decision":"deny","reason":"\ud800"}',
            read_object({"decision": "deny", "reason": "\ud800"}),
            id="lone-surrogate",
        ),
    ],
)
def test_stdout_is_json_first_and_text_else(stdout: str, answer: HookAnswer | None) -> None:
    """An object, plain or wrapped in one string, is the answer; anything else is text for the model and allows."""
    assert read_stdout(stdout) == answer


@pytest.mark.req("HOOK-063")
@pytest.mark.parametrize(
    "baggage",
    ["[" * 10_000 + "]" * 10_000, "9" * 5_000, "1e999", r'"\udfff"', '{"a":' * 500 + "1" + "}" * 500],
    ids=["nested-arrays", "endless-digits", "beyond-a-double", "lone-surrogate", "nested-objects"],
)
def test_no_baggage_costs_a_deny(baggage: str) -> None:
    """The decision is read whatever the other fields of the answer are."""
    answer = read_stdout(f'{{"baggage":{baggage},"decision":"deny","reason":"no"}}')
    assert answer is not None
    assert (answer.blocks, answer.why, answer.is_explicit) == (True, "no", True)


@pytest.mark.req("HOOK-157")
@pytest.mark.parametrize(
    ("given", "complaints", "is_doubtful"),
    [
        pytest.param(
            {"decision": "block", "continue": True, "hookSpecificOutput": {"tool_input": {}}}, (), False, id="good"
        ),
        pytest.param(dict.fromkeys(("decision", "continue", "reason")), (), False, id="null-is-no-fault"),
        pytest.param({"decision": "DENY"}, (f"decision 'DENY' {CHOICES}",), True, id="upper-case"),
        pytest.param({"decision": ""}, (f"decision '' {CHOICES}",), True, id="empty-decision"),
        pytest.param(
            {"decision": True}, ("decision is true or false (true), expected a string; ignored",), True, id="bool"
        ),
        pytest.param(
            {"continue": "false"},
            ('continue is a string ("false"), expected true or false; ignored',),
            True,
            id="quoted",
        ),
        pytest.param({"continue": 0}, ("continue is a number (0), expected true or false; ignored",), True, id="zero"),
        pytest.param(
            {"suppressOutput": "yes"},
            ("suppressOutput is a string, expected true or false; ignored",),
            False,
            id="suppression",
        ),
        pytest.param({"reason": 5}, ("reason is a number, expected a string; shown as text",), False, id="reason"),
        pytest.param(
            {"stopReason": [1]}, ("stopReason is an array, expected a string; shown as text",), False, id="stop-reason"
        ),
        pytest.param(
            {"systemMessage": {"a": 1}},
            ("systemMessage is an object, expected a string; shown as text",),
            False,
            id="message",
        ),
        pytest.param(
            {"hookSpecificOutput": []},
            ("hookSpecificOutput is an array ([]), expected an object; ignored",),
            True,
            id="specific",
        ),
        pytest.param({"hookSpecificOutput": None}, (), False, id="specific-null"),
        pytest.param(
            {"permissionDecision": "deny"},
            ('permissionDecision "deny" is at the top level; it is read only inside hookSpecificOutput',),
            True,
            id="too-high",
        ),
        pytest.param(
            {"tool_input": {}, "decision": "allow"},
            ("tool_input is at the top level; it is read only inside hookSpecificOutput",),
            False,
            id="too-high-and-decides-nothing",
        ),
        pytest.param(
            {"hookSpecificOutput": {"decision": "deny"}},
            ('hookSpecificOutput.decision "deny" is read only at the top level',),
            True,
            id="too-low",
        ),
        pytest.param(
            {"hookSpecificOutput": {"continue": False}},
            ("hookSpecificOutput.continue false is read only at the top level",),
            True,
            id="stop-too-low",
        ),
        pytest.param(
            {"hookSpecificOutput": {"reason": "r"}},
            ("hookSpecificOutput.reason is read only at the top level",),
            False,
            id="reason-too-low",
        ),
        pytest.param(
            {"hookSpecificOutput": {"permissionDecision": "denied", "tool_input": "x", "additionalContext": 1}},
            (
                f"hookSpecificOutput.permissionDecision 'denied' {CHOICES}",
                "hookSpecificOutput.tool_input is a string, expected an object; ignored",
                "hookSpecificOutput.additionalContext is a number, expected a string; ignored",
            ),
            True,
            id="inside",
        ),
        pytest.param(
            {"hookSpecificOutput": {"permissionDecisionReason": 5, "clearContext": 1, "llm_request": "x"}},
            (
                "hookSpecificOutput.permissionDecisionReason is a number, expected a string; shown as text",
                "hookSpecificOutput.clearContext is a number, expected true or false; ignored",
                "hookSpecificOutput.llm_request is a string, expected an object; ignored",
            ),
            False,
            id="inside-and-decides-nothing",
        ),
        pytest.param(
            {"hookSpecificOutput": {"llm_response": [], "toolConfig": "NONE", "updatedInput": 5}},
            (
                "hookSpecificOutput.llm_response is an array, expected an object; ignored",
                "hookSpecificOutput.toolConfig is a string, expected an object; ignored",
                "hookSpecificOutput.updatedInput is a number, expected an object; ignored",
            ),
            False,
            id="objects",
        ),
        pytest.param(
            {"note": 1, "hookSpecificOutput": {"hookEventName": "X", "other": 2}}, (), False, id="unknown-fields"
        ),
    ],
)
def test_authors_are_told_what_did_not_count(
    given: dict[str, Any], complaints: tuple[str, ...], is_doubtful: bool
) -> None:
    """A wrong field costs that field only, and is named; a wrong deciding field leaves the decision in doubt."""
    answer = read_stdout(json.dumps(given))
    assert answer is not None
    assert (answer.complaints, answer.to_dict()) == (complaints, given)
    assert answer.doubt == (complaints[0] if is_doubtful else None)


def test_the_first_doubt_is_kept() -> None:
    """One reason for doubt is enough, and the complaints have the others."""
    answer = read_object({"decision": "no", "continue": "no"})
    assert answer.doubt == f"decision 'no' {CHOICES}"
    assert len(answer.complaints) == 2


def test_a_long_text_in_doubt_is_quoted_in_part() -> None:
    """The doubt quotes the beginning; the note has the whole text."""
    answer = read_stdout("{" + "x" * 500)
    assert answer is not None
    assert answer.doubt == unreadable("{" + "x" * 199 + "…")
    assert answer.note == "{" + "x" * 500


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"decision": "DENY"}, "decision"),
        ({"decision": 1}, "decision"),
        ({"decision": ""}, "decision"),
        ({"continue": "false"}, "proceed"),
        ({"suppressOutput": "yes"}, "suppress"),
        ({"reason": " \n"}, "reason"),
        ({"reason": False}, "reason"),
        ({"stopReason": ""}, "stop_reason"),
        ({"systemMessage": " \ufeff\t"}, "note"),
        ({"hookSpecificOutput": {"additionalContext": "  "}}, "context"),
        ({"hookSpecificOutput": {"additionalContext": 5}}, "context"),
        ({"hookSpecificOutput": {"permissionDecision": ["deny"]}}, "permission"),
        ({"hookSpecificOutput": {"permissionDecisionReason": " "}}, "permission_reason"),
        ({"hookSpecificOutput": {"clearContext": "true"}}, "clear_context"),
        ({"hookSpecificOutput": {"tool_input": "x"}}, "tool_input"),
        ({"hookSpecificOutput": {"llm_request": []}}, "llm_request"),
        ({"hookSpecificOutput": {"llm_response": "x"}}, "llm_response"),
        ({"hookSpecificOutput": {"toolConfig": []}}, "tools"),
        ({"hookSpecificOutput": {"toolConfig": {"mode": "some"}}}, "tools"),
        ({"hookSpecificOutput": {"toolConfig": {}}}, "tools"),
    ],
)
def test_wrong_types_and_blank_texts_count_as_not_said(given: dict[str, Any], field: str) -> None:
    """A value of a wrong type, a blank text and an unknown mode say nothing, so they replace nothing either."""
    assert getattr(read_object(given), field) is UNSET


@pytest.mark.parametrize(
    ("given", "shown"),
    [({"reason": {"a": 1.0}}, '{"a":1}'), ({"reason": 7}, "7"), ({"reason": True}, "true"), ({"reason": []}, "[]")],
)
def test_a_reason_that_is_no_text_is_shown_as_text(given: dict[str, Any], shown: str) -> None:
    """A number or an object in a text field is shown rather than lost."""
    assert read_object(given).reason == shown


def test_fields_that_the_event_does_not_read_do_not_count() -> None:
    """A field that an event does not use is kept and reported, and has no effect."""
    reads = frozenset({"additionalContext"})
    specific = {"permissionDecision": "deny", "additionalContext": "c", "tool_output": 1, "hookEventName": "X"}
    answer = read_stdout(json.dumps({"hookSpecificOutput": specific}), reads, rank=3)
    assert answer is not None
    assert (answer.blocks, answer.context, answer.permission, answer.rank) == (False, "c", UNSET, 3)
    assert answer.other_specific == {"permissionDecision": "deny", "tool_output": 1, "hookEventName": "X"}
    *complaints, last = answer.complaints
    assert complaints == [
        f"hookSpecificOutput.{name} changes nothing; this event reads additionalContext"
        for name in ("permissionDecision", "tool_output")
    ]
    assert last == answer.doubt
    assert last.startswith('hookSpecificOutput.permissionDecision is "deny", which is not read')


@pytest.mark.req("HOOK-067a", "HOOK-067b", "HOOK-189")
@pytest.mark.parametrize(
    ("stderr", "reason"),
    [
        (" no way \n", "no way"),
        (" \n", "Blocked by hook"),
        ("Denied:\n  - a.txt\n\n  - b  c.txt\n", "Denied:\n  - a.txt\n\n  - b  c.txt"),
        (f"{'long ' * 400}end\n", f"{'long ' * 400}end"),
    ],
)
def test_exit_2_denies_for_what_stderr_says(stderr: str, reason: str) -> None:
    """The reason is stderr, trimmed, or a default: never empty."""
    given = {"decision": "deny", "reason": reason}
    answer = deny(stderr, rank=2)
    assert answer == deny(reason, rank=2) == HookAnswer(decision="deny", reason=reason, rank=2, given=given)
    assert answer.is_explicit


@pytest.mark.req("HOOK-209", "HOOK-069")
def test_a_failed_hooks_stderr_is_a_warning() -> None:
    """Stderr is passed on as text even when it is JSON, and the `allow` beside it is ours, not the hook's."""
    assert warning_from_stderr('{"decision":"deny"}\n') == plain_text('Warning: {"decision":"deny"}')
    assert warning_from_stderr(" \n") is None
    assert warning_from_stderr(" Traceback:\n  line 1\n\nError  x\n") == plain_text(
        "Warning: Traceback:\n  line 1\n\nError  x"
    )


@pytest.mark.req("HOOK-016b", "HOOK-018", "HOOK-158", "HOOK-182")
@pytest.mark.parametrize(
    ("given", "blocks", "asks"),
    [
        ({"decision": "block"}, True, False),
        ({"decision": "deny"}, True, False),
        ({"decision": "allow"}, False, False),
        ({"decision": "approve"}, False, False),
        ({"decision": "ask"}, False, True),
        ({"hookSpecificOutput": {"permissionDecision": "ask"}}, False, True),
        ({"hookSpecificOutput": {"permissionDecision": "deny"}}, True, False),
        ({"decision": "ask", "hookSpecificOutput": {"permissionDecision": "block"}}, True, False),
        ({"decision": "deny", "hookSpecificOutput": {"permissionDecision": "ask"}}, True, False),
    ],
)
def test_what_blocks_and_what_asks(given: dict[str, Any], blocks: bool, asks: bool) -> None:
    """`block` and `deny` block, in either field; `ask` asks where nothing blocks."""
    answer = read_object(given)
    assert (answer.blocks, answer.asks) == (blocks, asks)


@pytest.mark.req("HOOK-170", "HOOK-199", "DELTA-HRUN-002")
@pytest.mark.parametrize(
    ("given", "why", "why_stopped"),
    [
        ({}, None, "No reason given"),
        ({"reason": "r", "stopReason": "s"}, "s", "s"),
        ({"reason": " r\n"}, " r\n", "r"),
        ({"reason": "r", "stopReason": " "}, "r", "r"),
        ({"reason": "r", "hookSpecificOutput": {"permissionDecisionReason": "p"}}, "p", "p"),
        ({"stopReason": "s", "hookSpecificOutput": {"permissionDecisionReason": "p"}}, "p", "s"),
    ],
)
def test_why(given: dict[str, Any], why: str | None, why_stopped: str) -> None:
    """A block is explained by the compatibility reason first, a stop by the stop reason first, trimmed."""
    answer = read_object({**given, "continue": False})
    assert (answer.why, answer.why_stopped) == (why, why_stopped)
    assert read_object(given).why_stopped is None


@pytest.mark.parametrize(
    ("specific", "is_specific"),
    [
        ({}, False),
        ({"hookEventName": "X"}, False),
        ({"hookEventName": "X", "foreign": 1}, True),
        ({"additionalContext": "c"}, True),
        ({"additionalContext": " "}, True),
        ({"toolConfig": {"mode": "NONE"}}, True),
        ({"tool_input": None}, True),
    ],
)
def test_an_answer_that_asks_for_something_specific(specific: dict[str, Any], is_specific: bool) -> None:
    """Anything but the event's name in `hookSpecificOutput` asks for something."""
    assert read_object({"hookSpecificOutput": specific}).is_specific is is_specific


def test_a_merged_answer_as_json() -> None:
    """Without the printed JSON, the JSON is made from the fields that are set."""
    answer = HookAnswer(
        decision="deny",
        reason=None,
        proceed=True,
        note="m",
        context="c",
        tool_input={"a": 1},
        tools=ToolSelection(names=("ls",)),
        others={"mine": 1},
        other_specific={"hookEventName": "X"},
    )
    assert answer.to_dict() == {
        "mine": 1,
        "decision": "deny",
        "reason": None,
        "continue": True,
        "systemMessage": "m",
        "hookSpecificOutput": {
            "hookEventName": "X",
            "additionalContext": "c",
            "tool_input": {"a": 1},
            "toolConfig": {"mode": "AUTO", "allowedFunctionNames": ["ls"]},
        },
    }


@pytest.mark.req("HOOK-074")
@pytest.mark.parametrize(
    ("given", "selection", "complaints"),
    [
        pytest.param({"mode": "NONE"}, ToolSelection(mode="NONE"), [], id="mode"),
        pytest.param({"allowedFunctionNames": ["b", "a"]}, ToolSelection(names=("b", "a")), [], id="list"),
        pytest.param({"allowedFunctionNames": []}, ToolSelection(names=()), [], id="empty-list"),
        pytest.param({}, ToolSelection(), [], id="nothing"),
        pytest.param({"mode": None, "allowedFunctionNames": None}, ToolSelection(), [], id="null"),
        pytest.param(
            {"mode": " none "},
            ToolSelection(mode="NONE"),
            ["toolConfig.mode ' none ' is not one of AUTO, ANY, NONE"],
            id="small-letters",
        ),
        pytest.param(
            {"mode": "some"}, ToolSelection(), ["toolConfig.mode 'some' is not one of AUTO, ANY, NONE"], id="unknown"
        ),
        pytest.param(
            {"mode": ["ANY"]},
            ToolSelection(),
            ["toolConfig.mode ['ANY'] is not one of AUTO, ANY, NONE"],
            id="no-string",
        ),
        pytest.param(
            {"allowedFunctionNames": "ls"},
            ToolSelection(names=("ls",)),
            ["toolConfig.allowedFunctionNames is not an array of names"],
            id="lone-name",
        ),
        pytest.param(
            {"allowedFunctionNames": ["ls", 5, None]},
            ToolSelection(names=("ls",)),
            ["toolConfig.allowedFunctionNames is not an array of names"],
            id="no-name",
        ),
        pytest.param(
            {"allowedFunctionNames": 5},
            ToolSelection(),
            ["toolConfig.allowedFunctionNames is not an array of names"],
            id="no-list",
        ),
        pytest.param(
            {"allowed_function_names": ["ls"]},
            ToolSelection(),
            ["toolConfig.allowed_function_names changes nothing; mode and allowedFunctionNames are read"],
            id="other-spelling",
        ),
        pytest.param(
            {"functionCallingConfig": {"mode": "NONE"}}, ToolSelection(mode="NONE"), [], id="as-gemini-cli-nests-it"
        ),
        pytest.param(
            {"functionCallingConfig": {"mode": "ANY"}, "mode": "NONE"}, ToolSelection(mode="NONE"), [], id="both"
        ),
    ],
)
def test_a_tool_selection_is_read_generously(
    given: dict[str, Any], selection: ToolSelection, complaints: list[str]
) -> None:
    """A selection that may restrict too little is read as strictly as possible, and reported to its author."""
    assert read_tool_selection(given) == (selection, complaints)


@pytest.mark.parametrize(
    ("selection", "given"),
    [
        (ToolSelection(), {"mode": "AUTO"}),
        (ToolSelection(mode="ANY", names=()), {"mode": "ANY", "allowedFunctionNames": []}),
        (ToolSelection(mode="NONE", names=("a",)), {"mode": "NONE", "allowedFunctionNames": ["a"]}),
    ],
)
def test_a_tool_selection_as_json(selection: ToolSelection, given: dict[str, Any]) -> None:
    """No list and an empty list are different things."""
    assert selection.to_dict() == given


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        ("", None),
        (" \n", None),
        (False, None),
        ("x", "x"),
        (0, "0"),
        (True, "true"),
        ({"a": "é"}, '{"a":"é"}'),
    ],
)
def test_text_of_anything(value: object, text: str | None) -> None:
    """Nothing and a blank are None, a string is itself, and anything else is shown as JSON."""
    assert text_of(value) == text


@pytest.mark.parametrize(("given", "text"), [(UNSET, None), (None, None), ({}, {}), ("x", "x")])
def test_said(given: Any, text: Any) -> None:
    """The value of a field as it is, or None where there is none."""
    assert or_none(given) == text


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
    ("specific", "tool_input"),
    [
        pytest.param({"updatedInput": {"a": 1}}, {"a": 1}, id="claude-code"),
        pytest.param({"updatedInput": {"a": 1}, "tool_input": {"a": 2}}, {"a": 2}, id="ours-counts"),
        pytest.param({"tool_input": {"a": 2}, "updatedInput": {"a": 1}}, {"a": 2}, id="ours-counts-in-any-order"),
        pytest.param({"updatedInput": {"a": 1}, "tool_input": None}, None, id="null-takes-back"),
        pytest.param({"updatedInput": "x"}, UNSET, id="no-object"),
    ],
)
def test_what_other_systems_call_otherwise_is_read(specific: dict[str, Any], tool_input: object) -> None:
    """A script that was written for another system has the same effect here."""
    answer = read_stdout(json.dumps({"hookSpecificOutput": specific}))
    assert answer is not None
    assert answer.tool_input == tool_input


@pytest.mark.parametrize(
    ("printed", "doubt"),
    [
        ('{"Decision":"deny"}', 'Decision is "deny"'),
        ('{"decison":" Deny "}', 'decison is " Deny "'),
        ('{"action":"block"}', 'action is "block"'),
        ('{"output":{"decision":"deny"}}', 'output.decision is "deny"'),
        ('{"results":[{"decision":"deny"}]}', 'results.decision is "deny"'),
        ('{"Continue":false}', "Continue is false"),
        ('{"hook_specific_output":{"permissionDecision":"deny"}}', 'hook_specific_output.permissionDecision is "deny"'),
        ('{"hookSpecificOutput":{"permission_decision":"deny"}}', 'hookSpecificOutput.permission_decision is "deny"'),
        ('{"hookSpecificOutput":"{\\"permissionDecision\\":\\"deny\\"}"}', "hookSpecificOutput is a string"),
        ('{"decision":"deny","decision":"allow"}', 'decision is given twice ("deny" and "allow")'),
        ('{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecision":"allow"}}', "is given twice"),
        (r'{"d\u0065cision":"deny","decision":"allow"}', 'decision is given twice ("deny" and "allow")'),
        (json.dumps('{"decision":"deny","decision":"allow"}'), "decision is given twice"),
        ('{"n":' + "9" * 5000 + ',"decision":"deny","decision":"allow"}', "decision is given twice"),
        ('{"decision":"allow","hookSpecificOutput":{"tool_input":{"a":1,"a":2}}}', "a is given twice (1 and 2)"),
        ('{"decision":["deny"]}', 'decision is an array (["deny"])'),
        ('{"allow":false}', "allow is false"),
        ('{"ok":false}', "ok is false"),
        ('{"decision":"allow","isSafe":false}', "isSafe is false"),
        ('{"systemMessage":"x","approved":"no"}', 'approved is "no"'),
        ('{"systemMessage":"x","permitted":0}', "permitted is 0"),
        ('{"systemMessage":"x","checks":[{"pass":false}]}', "checks.pass is false"),
        ('{"systemMessage":"x","result":"deny"}', 'result is "deny"'),
        ('{"systemMessage":"x","verdict":"unsafe"}', 'verdict is "unsafe"'),
        ('{"systemMessage":"x","is_blocked":true}', "is_blocked is true"),
        ('{"systemMessage":"x","blocked":"yes"}', 'blocked is "yes"'),
        ('{"systemMessage":"x","notAllowed":"yes, this one"}', "notAllowed is"),
        ('{"systemMessage":"x","error":"no rules found"}', 'error is "no rules found"'),
        (
            '{"hookSpecificOutput":{"hookEventName":"BeforeTool","allowed":false}}',
            "hookSpecificOutput.allowed is false",
        ),
        ('{"message":"Unauthorized"}', "none of its fields is read (message)"),
        ('{"tool_input":{}}', "none of its fields is read (tool_input)"),
        ('{"ok":true}', "none of its fields is read (ok)"),
        ('checked 3 rules\n{"allow": false}', "it printed"),
        ("false", "it printed"),
        ("No.", "it printed"),
        ('{"decision":"deny"}'.encode("utf-16").decode("utf-8", "replace"), "it printed"),
        ('{"decision":"deny"}'.encode("utf-16-be").decode("utf-8", "replace"), "it printed"),
        ('{"decision":"deny"}'.encode("utf-32").decode("utf-8", "replace"), "it printed"),
        ('{"decision":"deny"}'.encode("cp037").decode("utf-8", "replace"), "it printed"),
        ("deny", "it printed 'deny'"),
        ('"Deny"', "it printed"),
        ("DENY: not allowed", "it printed 'DENY: not allowed'"),
        ("Blocked by policy", "it printed 'Blocked by policy'"),
        ("decision: deny", "it printed 'decision: deny'"),
        ("**Denied** for now", "it printed '**Denied** for now'"),
    ],
)
def test_a_misspelt_denial_leaves_a_doubt(printed: str, doubt: str) -> None:
    """A denial in a place or spelling that is not read is not an approval; the doubt quotes it."""
    answer = read_stdout(printed)
    assert answer is not None
    assert not answer.blocks
    assert answer.doubt is not None
    assert doubt in answer.doubt
    assert answer.complaints


@pytest.mark.parametrize(
    "printed",
    [
        "looks fine",
        "blocks: 3",
        "nothing denied",
        '{"decision":"allow","note":"deny","reasons":["deny"]}',
        '{"hookSpecificOutput":{"tool_input":{"decision":"deny","Decision":"deny"}}}',
        '{"decision":"allow","actions":3}',
        '{"decision":"allow","ok":true,"blocked":false,"errors":0}',
        '{"systemMessage":"no"}',
        '{"suppressOutput":true}',
    ],
)
def test_other_words_leave_none(printed: str) -> None:
    """A text that mentions a denial, and arguments that look like one, are not answers."""
    answer = read_stdout(printed)
    assert answer is not None
    assert answer.doubt is None


def test_a_value_of_a_subclass_counts_as_what_it_is() -> None:
    """A decision given as a member of an enumeration decides, and a dictionary of another kind is read."""

    class Word(str, enum.Enum):  # noqa: UP042 - str() of such a member is "Word.DENY"
        DENY = "deny"

    for word in (HookDecision.DENY, Word.DENY):
        answer = read_object({"decision": word, "hookSpecificOutput": {"tool_input": OrderedDict(a=1)}})
        assert answer.blocks
        assert (type(answer.decision), answer.tool_input, answer.complaints) == (str, {"a": 1}, ())
    assert DefaultHookOutput({"decision": HookDecision.DENY}).is_blocking_decision()


@pytest.mark.parametrize("text", ["{'decision': 'deny'}", "{'hookSpecificOutput': {}}", "so {'continue': False}"])
def test_a_printed_dictionary_is_told(text: str) -> None:
    """A printed Python dictionary is not JSON: no deny is read from it, and a doubt is reported."""
    assert read_stdout(text) == plain_text(text, NOT_JSON, doubt=unreadable(text))
