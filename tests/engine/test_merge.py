from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.engine.merge import (
    Merged,
    Rule,
    merge_field_replacement,
    merge_last_wins,
    merge_or_decision,
    merge_tool_selection,
)
from hookline.protocol.answers import HookAnswer, ToolSelection, read_object, warning_from_stderr
from hookline.protocol.results import BeforeToolHookOutput

Given = Mapping[str, Any]

ALLOWED = {"continue": True, "suppressOutput": False, "decision": "allow"}
PROJECT, USER, SYSTEM = 1, 2, 3


def specific(**fields: Any) -> Given:
    return {"hookSpecificOutput": fields}


def merge(rule: Rule, *answers: Given | HookAnswer | tuple[int, Given]) -> Merged:
    """Merges answers; a pair gives the rank of the hook's layer."""
    read: list[HookAnswer] = []
    for answer in answers:
        match answer:
            case HookAnswer():
                read.append(answer)
            case (int() as rank, given):
                read.append(read_object(given, rank=rank))
            case _:
                read.append(read_object(answer))
    return rule(read)


def merge_tool_answers(*answers: Given) -> dict[str, Any]:
    return merge(merge_or_decision, *answers).answer.to_dict()


def made(stderr: str) -> HookAnswer:
    """The answer that the engine makes of a failed hook's stderr."""
    answer = warning_from_stderr(stderr)
    assert answer is not None
    return answer


@pytest.mark.req("HOOK-092", "HOOK-171")
@pytest.mark.parametrize("position", [0, 1, 2], ids=["first", "middle", "last"])
@pytest.mark.parametrize(
    ("block", "decision"),
    [
        pytest.param({"decision": "deny", "reason": "no"}, "deny", id="deny"),
        pytest.param({"decision": "block", "reason": "no"}, "block", id="block"),
        pytest.param(
            specific(permissionDecision="deny", permissionDecisionReason="no"), "deny", id="compatibility-field"
        ),
        pytest.param(
            {"decision": "allow", **specific(permissionDecision="block", permissionDecisionReason="no")},
            "deny",
            id="compatibility-field-beside-an-allow",
        ),
    ],
)
@pytest.mark.parametrize(
    "other",
    [
        {"decision": "allow", "reason": ""},
        {"decision": None, "hookSpecificOutput": None},
        {"decision": "approve", **specific(permissionDecision="allow", permissionDecisionReason="fine by me")},
        specific(permissionDecision=None, permissionDecisionReason=None),
        {"decision": ["allow"], **specific(permissionDecision={"a": 1}, permissionDecisionReason=5)},
    ],
    ids=["allow", "null", "permission-allow", "permission-null", "wrong-types"],
)
def test_any_block_wins(block: Given, decision: str, other: Given, position: int) -> None:
    """One blocking hook blocks, wherever it stands and whatever the others say, and for its own reason."""
    answers = [other, other]
    answers.insert(position, block)
    merged = BeforeToolHookOutput(merge_tool_answers(*answers))
    assert merged.is_blocking_decision()
    assert merged.decision == decision
    assert merged.get_effective_reason() == "no"


@pytest.mark.req("HOOK-171", "HOOK-199")
def test_all_compatibility_denials_are_kept() -> None:
    """The first denial's word and the reasons of all hooks that block come out; an approving hook's reason does not."""
    merged = merge_tool_answers(
        specific(permissionDecision="block", permissionDecisionReason="a"),
        specific(permissionDecision="allow", permissionDecisionReason="fine"),
        {"decision": "deny", **specific(permissionDecision="deny", permissionDecisionReason="b")},
    )
    assert merged == {
        "continue": True,
        "suppressOutput": False,
        "decision": "deny",
        "hookSpecificOutput": {"permissionDecision": "block", "permissionDecisionReason": "a\nb"},
    }


@pytest.mark.req("HOOK-093", "HOOK-094", "HOOK-095", "HOOK-096", "HOOK-097", "HOOK-208")
@pytest.mark.parametrize(
    ("answers", "merged"),
    [
        pytest.param([{}], ALLOWED, id="nothing-said"),
        pytest.param([{"decision": "ask"}], ALLOWED, id="ask"),
        pytest.param([{"reason": "a"}, {"reason": ""}, {"reason": "b"}], {**ALLOWED, "reason": "a\nb"}, id="reasons"),
        pytest.param(
            [{"systemMessage": "a"}, {"systemMessage": None}, {"systemMessage": "b"}],
            {**ALLOWED, "systemMessage": "a\nb"},
            id="messages",
        ),
        pytest.param(
            [{"systemMessage": "a"}, {"systemMessage": "b"}, {"systemMessage": "a"}],
            {**ALLOWED, "systemMessage": "a\nb\na"},
            id="equal-messages",
        ),
        pytest.param(
            [specific(additionalContext="a"), specific(additionalContext="a")],
            {**ALLOWED, **specific(additionalContext="a\na")},
            id="equal-contexts",
        ),
        pytest.param(
            [specific(additionalContext="a"), specific(additionalContext=5), specific(additionalContext="b")],
            {**ALLOWED, **specific(additionalContext="a\nb")},
            id="contexts",
        ),
        pytest.param(
            [{"suppressOutput": True}, {"suppressOutput": False}], {**ALLOWED, "suppressOutput": True}, id="suppression"
        ),
        pytest.param(
            [{"continue": False, "stopReason": "a"}, {"continue": True, "stopReason": "x"}, {"continue": False}],
            {"continue": False, "stopReason": "a", "suppressOutput": False},
            id="stop",
        ),
        pytest.param(
            [{"continue": False}, {"decision": "block", "reason": "no"}],
            {"continue": False, "suppressOutput": False, "decision": "block", "reason": "no"},
            id="stop-and-block",
        ),
        pytest.param(
            [specific(clearContext=True), specific(clearContext=False)],
            {**ALLOWED, **specific(clearContext=True)},
            id="clear-context",
        ),
        pytest.param(
            [specific(a=1, b=1, hookEventName="X"), specific(b=None)],
            {**ALLOWED, **specific(a=1, b=None, hookEventName="X")},
            id="other-fields-by-key",
        ),
        pytest.param(
            [
                {"systemMessage": "m", "suppressOutput": True, **specific(additionalContext="c")},
                {"systemMessage": "n", **specific(additionalContext="d")},
            ],
            {
                "continue": True,
                "decision": "allow",
                "suppressOutput": True,
                "systemMessage": "m\nn",
                "hookSpecificOutput": {"additionalContext": "c\nd"},
            },
            id="all-together",
        ),
    ],
)
def test_tool_answers_add_up(answers: list[Given], merged: Given) -> None:
    """Texts are joined line by line in plan order, one flag is enough, and other fields are replaced by key."""
    assert merge_tool_answers(*answers) == merged


@pytest.mark.req("HOOK-216")
@pytest.mark.parametrize(
    ("inputs", "merged"),
    [
        pytest.param([{"a": 1}, {"b": 2}], {"a": 1, "b": 2}, id="add-up"),
        pytest.param([{"a": 1}, {"a": 2}], {"a": 2}, id="later-wins"),
        pytest.param([{"a": 1}, {"a": None}], {"a": None}, id="null-replaces"),
        pytest.param([{"o": {"x": 1, "y": 1}}, {"o": {"z": 2}}], {"o": {"z": 2}}, id="nested-whole"),
        pytest.param([{"a": 1}, "junk"], {"a": 1}, id="junk-costs-nothing"),
        pytest.param(["junk", {"a": 1}], {"a": 1}, id="junk-first"),
        pytest.param([{"a": 1}, None], None, id="explicit-null"),
        pytest.param([None, {"a": 1}], {"a": 1}, id="null-first"),
    ],
)
def test_changed_arguments_add_up(inputs: list[Any], merged: Any) -> None:
    """Several `tool_input` objects are laid over each other key by key."""
    answers = [specific(tool_input=given) for given in inputs]
    assert merge_tool_answers(*answers)["hookSpecificOutput"] == {"tool_input": merged}


@pytest.mark.req("HOOK-098")
@pytest.mark.parametrize(
    ("answers", "merged"),
    [
        pytest.param([{}], {}, id="nothing"),
        pytest.param(
            [{"decision": "deny", "reason": "a"}, {"decision": "allow"}],
            {"decision": "allow", "reason": "a"},
            id="later-explicit-allow",
        ),
        pytest.param(
            [{"decision": "deny"}, {"systemMessage": "m"}],
            {"decision": "deny", "systemMessage": "m"},
            id="absent-replaces-nothing",
        ),
        pytest.param(
            [{"continue": False, "stopReason": "s"}, {"continue": True, "stopReason": None}],
            {"continue": True, "stopReason": None},
            id="null-replaces",
        ),
        pytest.param(
            [specific(llm_request={"messages": ["redacted"]}), specific(llm_request={"config": {"topK": 1}})],
            specific(llm_request={"messages": ["redacted"], "config": {"topK": 1}}),
            id="requests-add-up",
        ),
        pytest.param(
            [
                specific(llm_request={"config": {"topK": 1, "topP": 1}}),
                specific(llm_request={"config": {"topK": 2, "temperature": 0}}),
            ],
            specific(llm_request={"config": {"topK": 2, "topP": 1, "temperature": 0}}),
            id="configs-add-up-by-key",
        ),
        pytest.param(
            [
                specific(llm_request={"generationConfig": {"topK": 1}}),
                specific(llm_request={"contents": [{"role": "user", "parts": [{"text": "redacted"}]}]}),
            ],
            specific(
                llm_request={"config": {"topK": 1}, "messages": [{"role": "user", "content": "redacted"}]},
            ),
            id="request-in-the-other-form",
        ),
        pytest.param(
            [specific(llm_response={"text": "a", "x": 1}), specific(llm_response={"text": "b"})],
            specific(llm_response={"text": "b"}),
            id="responses-are-replaced",
        ),
        pytest.param(
            [specific(llm_request={"model": "m"}), {"hookSpecificOutput": "junk"}],
            specific(llm_request={"model": "m"}),
            id="junk-costs-nothing",
        ),
    ],
)
def test_later_model_answers_replace_earlier_ones(answers: list[Given], merged: Given) -> None:
    """On model events a later explicit value wins, field by field."""
    assert merge(merge_field_replacement, *answers).answer.to_dict() == merged


@pytest.mark.req("HOOK-098", "HOOK-110")
def test_a_failed_hook_does_not_undo_a_block() -> None:
    """The `allow` that the engine writes for a crashed hook or for plain text is not an explicit value."""
    deny = {"decision": "deny", "reason": "no"}
    assert merge(merge_field_replacement, deny, made("x")).answer.to_dict() == {**deny, "systemMessage": "Warning: x"}
    assert merge(merge_field_replacement, made("x"), deny).answer.decision == "deny"
    assert merge(merge_field_replacement, made("x")).answer.decision == "allow"


@pytest.mark.req("HOOK-098", "HOOK-110")
@pytest.mark.parametrize(
    ("answers", "note"),
    [
        pytest.param([{"systemMessage": "a"}, made("x")], "a\nWarning: x", id="after"),
        pytest.param([made("x"), {"systemMessage": "a"}], "Warning: x\na", id="before"),
        pytest.param([made("x"), made("y")], "Warning: x\nWarning: y", id="nothing-else"),
        pytest.param(
            [{"systemMessage": "a"}, made("x"), {"systemMessage": "b"}], "Warning: x\nb", id="between-replaced-ones"
        ),
        pytest.param([{"systemMessage": "a"}, made("x"), {"systemMessage": None}], "Warning: x", id="beside-a-null"),
    ],
)
def test_the_engines_own_message_is_added(answers: list[Given | HookAnswer], note: str) -> None:
    """The engine's answer for plain text or for a failure is added in plan order, and replaces nothing."""
    assert merge(merge_field_replacement, *answers).answer.note == note


@pytest.mark.req("HOOK-057", "HOOK-099", "HOOK-100", "HOOK-101", "HOOK-102", "HOOK-210")
@pytest.mark.parametrize(
    ("configs", "merged"),
    [
        pytest.param([{"mode": "ANY", "allowedFunctionNames": ["b", "a"]}], ("ANY", ["a", "b"]), id="sorted"),
        pytest.param(
            [{"allowedFunctionNames": ["b"]}, {"allowedFunctionNames": ["a", "b"]}], ("AUTO", ["a", "b"]), id="union"
        ),
        pytest.param([{"mode": "AUTO"}, {"mode": "ANY"}], ("ANY", None), id="any-over-auto"),
        pytest.param([{"mode": "ANY"}, {"allowedFunctionNames": ["a"]}], ("ANY", ["a"]), id="mode-and-list"),
        pytest.param([{"mode": "NONE"}, {"mode": "ANY", "allowedFunctionNames": ["a"]}], ("NONE", []), id="none-first"),
        pytest.param([{"mode": "ANY", "allowedFunctionNames": ["a"]}, {"mode": "NONE"}], ("NONE", []), id="none-last"),
        pytest.param([{"allowedFunctionNames": []}], ("AUTO", []), id="empty-list-allows-nothing"),
        pytest.param(
            [{"allowedFunctionNames": []}, {"allowedFunctionNames": ["a"]}], ("AUTO", ["a"]), id="another-adds"
        ),
        pytest.param([{"mode": "some"}, {"mode": ["ANY"]}], None, id="unknown-mode-says-nothing"),
        pytest.param(
            [{"mode": "some", "allowedFunctionNames": ["a"]}], ("AUTO", ["a"]), id="unknown-mode-beside-a-list"
        ),
        pytest.param([{"allowedFunctionNames": ["a", 5, None, ["b"]]}], ("AUTO", ["a"]), id="odd-names"),
        pytest.param([{"allowedFunctionNames": 5}, {"mode": None}, "junk", None], None, id="junk-says-nothing"),
        pytest.param([{"mode": "none"}], ("NONE", []), id="small-letters"),
        pytest.param([{"allowedFunctionNames": "a"}], ("AUTO", ["a"]), id="lone-name"),
        pytest.param([{}], None, id="empty"),
    ],
)
def test_tool_selections_are_united(configs: list[Any], merged: tuple[str, list[str] | None] | None) -> None:
    """The most restrictive mode, the union of the lists in alphabetical order, and nothing under NONE."""
    expected: dict[str, Any] = {"continue": True}
    if merged is not None:
        mode, names = merged
        config = {"mode": mode} if names is None else {"mode": mode, "allowedFunctionNames": names}
        expected["hookSpecificOutput"] = {"hookEventName": "BeforeToolSelection", "toolConfig": config}
    answers = [specific(toolConfig=given) for given in configs]
    assert merge(merge_tool_selection, *answers).answer.to_dict() == expected


@pytest.mark.req("HOOK-058")
def test_a_stop_survives_the_union() -> None:
    """A stop, its reason and messages come through the merge of tool selections; a block does not."""
    answers: list[Given] = [
        {"continue": False, "stopReason": "enough", "systemMessage": "a"},
        {"continue": True, "systemMessage": "b", "decision": "deny"},
    ]
    assert merge(merge_tool_selection, *answers).answer.to_dict() == {
        "continue": False,
        "stopReason": "enough",
        "systemMessage": "a\nb",
    }


@pytest.mark.req("HOOK-058", "DELTA-HRUN-002")
def test_the_reason_of_a_stop_survives_the_union() -> None:
    """A hook that stops and gives only a `reason` is heard; the reasons of hooks that do not stop are not."""
    merged = merge(
        merge_tool_selection,
        {"reason": "other"},
        {"continue": False, "reason": "a"},
        {"continue": False, "reason": "b"},
    )
    assert merged.answer.to_dict() == {"continue": False, "reason": "a\nb"}
    assert merged.answer.why_stopped == "a\nb"
    assert merge(merge_tool_selection, {"reason": "other"}).answer.to_dict() == {"continue": True}


@pytest.mark.req("HOOK-190")
def test_later_fields_win_where_nothing_is_applied() -> None:
    """On the remaining events later fields replace earlier ones, values as they are."""
    answers: list[Given] = [{"decision": "deny", "a": {"x": 1}}, {"a": {"y": 2}, "decision": None}]
    assert merge(merge_last_wins, *answers).answer.to_dict() == {"decision": None, "a": {"y": 2}}


@pytest.mark.parametrize("rule", [merge_or_decision, merge_field_replacement, merge_tool_selection, merge_last_wins])
def test_merging_changes_no_answer(rule: Rule) -> None:
    """The answers that were merged can still be shown as they were given."""

    def given() -> list[Given]:
        config = {"allowedFunctionNames": ["b", "a"]}
        return [
            specific(tool_input={"a": 1}, llm_request={"a": 1}, toolConfig=config, other={"x": 1}),
            specific(tool_input={"b": 2}, llm_request={"b": 2}),
            specific(tool_input=None, llm_request=None),
        ]

    answers = given()
    read = [read_object(answer) for answer in answers]
    rule(read)
    assert answers == given()
    assert read == [read_object(answer) for answer in given()]


@pytest.mark.parametrize("odd", ["DENY", 5, True, [], "", " deny"])
def test_what_decides_nothing_undoes_no_block(odd: object) -> None:
    """A value that is ignored, and reported to the author, doesn't count against another hook either."""
    assert merge(merge_field_replacement, {"decision": "deny"}, {"decision": odd}).answer.decision == "deny"


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ({"continue": False}, {"continue": "false"}),
        ({"suppressOutput": True}, {"suppressOutput": "yes"}),
        ({"reason": "r"}, {"reason": "  "}),
        ({"reason": "r"}, {"reason": False}),
        ({"stopReason": "s"}, {"stopReason": ""}),
        ({"systemMessage": "m"}, {"systemMessage": "\n"}),
        (specific(additionalContext="c"), specific(additionalContext=5)),
        (specific(llm_response={"text": "xxx"}), specific(llm_response="oops")),
        (specific(llm_response={"text": "xxx"}), specific(llm_response=[1])),
        (specific(llm_request={"model": "m"}), specific(llm_request="oops")),
        (specific(tool_input={"a": 1}), specific(tool_input=[1])),
        (specific(toolConfig={"mode": "NONE"}), specific(toolConfig="AUTO")),
    ],
)
@pytest.mark.parametrize("rule", [merge_or_decision, merge_field_replacement, merge_tool_selection])
def test_wrong_types_and_blanks_replace_nothing(rule: Rule, first: Given, later: Given) -> None:
    """In every field, a value that is ignored leaves an earlier hook's value as it is."""

    def said(merged: Merged) -> HookAnswer:
        return msgspec.structs.replace(merged.answer, others={}, other_specific={})

    alone = merge(rule, first)
    both = merge(rule, first, later)
    assert said(both) == said(alone)
    assert both.holders == alone.holders


def test_a_null_takes_an_earlier_response_back() -> None:
    """An earlier hook's redaction survives a later hook's nonsense, but not its explicit null."""
    merged = merge(merge_field_replacement, specific(llm_response={"text": "xxx"}), specific(llm_response=None))
    assert merged.answer.llm_response is None


@pytest.mark.req("HOOK-171", "HOOK-199")
@pytest.mark.parametrize(
    ("answers", "why"),
    [
        pytest.param(
            [
                {"decision": "deny", "reason": "a"},
                specific(permissionDecision="deny", permissionDecisionReason="b"),
            ],
            "a\nb",
            id="decision-then-permission",
        ),
        pytest.param(
            [
                specific(permissionDecision="deny", permissionDecisionReason="b"),
                {"decision": "deny", "reason": "a"},
            ],
            "b\na",
            id="permission-then-decision",
        ),
        pytest.param(
            [{"decision": "deny", "stopReason": "s"}, {"decision": "block", "reason": "r"}], "s\nr", id="stop"
        ),
        pytest.param(
            [{"decision": "deny", "reason": "a"}, {"decision": "deny"}, {"decision": "allow", "reason": "fine"}],
            "a\nfine",
            id="all-reasons-are-joined",
        ),
    ],
)
def test_the_reasons_of_all_hooks_that_block_are_kept(answers: list[Given], why: str) -> None:
    """Whichever field a hook used for its reason, the model and the user hear it."""
    assert merge(merge_or_decision, *answers).answer.why == why


@pytest.mark.parametrize(
    ("answers", "field", "value"),
    [
        pytest.param(
            [(PROJECT, {"decision": "deny"}), (SYSTEM, {"decision": "allow"})], "decision", "deny", id="or-block"
        ),
        pytest.param(
            [(SYSTEM, {"decision": "deny"}), (PROJECT, {"decision": "allow"})], "decision", "deny", id="or-allow"
        ),
        pytest.param([(SYSTEM, {"continue": True}), (PROJECT, {"continue": False})], "proceed", False, id="or-stop"),
        pytest.param(
            [(SYSTEM, specific(tool_input={"a": 1})), (PROJECT, specific(tool_input={"a": 2, "b": 2}))],
            "tool_input",
            {"a": 1, "b": 2},
            id="or-less-trusted-arguments-add",
        ),
        pytest.param(
            [(PROJECT, specific(tool_input={"a": 1, "b": 1})), (SYSTEM, specific(tool_input={"a": 2}))],
            "tool_input",
            {"a": 2, "b": 1},
            id="or-more-trusted-arguments-replace",
        ),
        pytest.param(
            [(SYSTEM, specific(tool_input={"a": 1})), (PROJECT, specific(tool_input=None))],
            "tool_input",
            {"a": 1},
            id="or-less-trusted-null-takes-nothing-back",
        ),
        pytest.param(
            [
                (SYSTEM, specific(tool_input={"a": 1})),
                (PROJECT, specific(tool_input={"b": 1})),
                (PROJECT, specific(tool_input=None)),
            ],
            "tool_input",
            {"a": 1},
            id="or-null-takes-its-own-layers-keys-back",
        ),
        pytest.param(
            [(SYSTEM, specific(additionalContext="a")), (PROJECT, specific(additionalContext="b"))],
            "context",
            "a\nb",
            id="or-contexts-are-joined",
        ),
        pytest.param(
            [(SYSTEM, specific(permissionDecision="ask")), (PROJECT, specific(permissionDecision="allow"))],
            "permission",
            "ask",
            id="or-an-ask-stays",
        ),
    ],
)
def test_ranks_on_tool_events(answers: list[tuple[int, Given]], field: str, value: object) -> None:
    """A less trusted layer can add a block, a stop and keys, and replaces nothing of a more trusted layer."""
    assert getattr(merge(merge_or_decision, *answers).answer, field) == value


@pytest.mark.req("HOOK-098")
@pytest.mark.parametrize(
    ("answers", "field", "value"),
    [
        pytest.param(
            [(USER, {"decision": "deny"}), (PROJECT, {"decision": "allow"})], "decision", "deny", id="block-stays"
        ),
        pytest.param(
            [(USER, {"decision": "deny"}), (PROJECT, {"decision": None})], "decision", "deny", id="null-undoes-nothing"
        ),
        pytest.param(
            [(USER, {"decision": "allow"}), (PROJECT, {"decision": "deny"})], "decision", "deny", id="block-is-added"
        ),
        pytest.param(
            [(USER, {"decision": "deny"}), (SYSTEM, {"decision": "allow"})], "decision", "allow", id="higher-undoes"
        ),
        pytest.param(
            [(USER, {"decision": "deny"}), (USER, {"decision": "allow"})], "decision", "allow", id="same-rank-undoes"
        ),
        pytest.param(
            [(SYSTEM, {"decision": "deny"}), (PROJECT, {"decision": "block"}), (USER, {"decision": "allow"})],
            "decision",
            "block",
            id="a-weaker-block-beside-does-not-open-the-door",
        ),
        pytest.param([(USER, {"continue": False}), (PROJECT, {"continue": True})], "proceed", False, id="stop-stays"),
        pytest.param([(USER, {"continue": True}), (PROJECT, {"continue": False})], "proceed", False, id="stop-added"),
        pytest.param(
            [(USER, {"suppressOutput": True}), (PROJECT, {"suppressOutput": False})], "suppress", True, id="hidden"
        ),
        pytest.param(
            [(USER, {"suppressOutput": False}), (PROJECT, {"suppressOutput": True})], "suppress", True, id="hides"
        ),
        pytest.param([(USER, {"systemMessage": "a"}), (PROJECT, {"systemMessage": "b"})], "note", "a", id="message"),
        pytest.param(
            [(USER, specific(llm_response={"text": "a"})), (PROJECT, specific(llm_response={"text": "b"}))],
            "llm_response",
            {"text": "a"},
            id="response",
        ),
        pytest.param(
            [(USER, specific(llm_response={"text": "a"})), (PROJECT, specific(llm_response=None))],
            "llm_response",
            {"text": "a"},
            id="response-null",
        ),
        pytest.param(
            [
                (USER, specific(llm_request={"messages": ["redacted"]})),
                (PROJECT, specific(llm_request={"messages": ["all of it"], "model": "m"})),
            ],
            "llm_request",
            {"messages": ["redacted"], "model": "m"},
            id="request",
        ),
        pytest.param(
            [(USER, specific(llm_request={"messages": ["redacted"]})), (PROJECT, specific(llm_request=None))],
            "llm_request",
            {"messages": ["redacted"]},
            id="request-null",
        ),
    ],
)
def test_ranks_on_model_events(answers: list[tuple[int, Given]], field: str, value: object) -> None:
    """A later hook replaces what its own and less trusted layers said; a less trusted one can only be stricter."""
    assert getattr(merge(merge_field_replacement, *answers).answer, field) == value


@pytest.mark.req("HOOK-099")
@pytest.mark.parametrize(
    ("configs", "mode", "names"),
    [
        pytest.param([(USER, ["a"]), (USER, ["b"])], None, ("a", "b"), id="united-within-a-layer"),
        pytest.param([(USER, ["a", "b"]), (PROJECT, ["b", "c"])], None, ("b",), id="a-project-adds-no-name"),
        pytest.param([(PROJECT, ["b", "c"]), (USER, ["a", "b"])], None, ("b",), id="in-any-order"),
        pytest.param([(USER, ["a"]), (PROJECT, [])], None, (), id="a-project-takes-away"),
        pytest.param([(USER, []), (PROJECT, ["a"])], None, (), id="a-project-opens-nothing"),
        pytest.param([(USER, "NONE"), (PROJECT, "AUTO")], "NONE", (), id="none-stays"),
        pytest.param([(USER, "AUTO"), (PROJECT, "NONE")], "NONE", (), id="none-is-added"),
    ],
)
def test_ranks_of_tool_selections(
    configs: list[tuple[int, Any]], mode: str | None, names: tuple[str, ...] | None
) -> None:
    """A less trusted layer can restrict the tools further, and gives back none that a more trusted layer took."""
    answers = [
        (rank, specific(toolConfig={"mode": given} if isinstance(given, str) else {"allowedFunctionNames": given}))
        for rank, given in configs
    ]
    assert merge(merge_tool_selection, *answers).answer.tools == ToolSelection(mode=mode, names=names)


@pytest.mark.req("HOOK-190")
def test_ranks_do_not_count_where_nothing_is_applied() -> None:
    """There later fields replace earlier ones, of any hook."""
    merged = merge(merge_last_wins, (SYSTEM, {"reason": "a"}), (PROJECT, {"reason": "b"}))
    assert (merged.answer.reason, merged.holders) == ("b", {"reason": (1,)})


@pytest.mark.parametrize(
    ("rule", "answers", "holders"),
    [
        pytest.param(merge_or_decision, [{}], {}, id="or-nothing"),
        pytest.param(
            merge_or_decision,
            [{"decision": "allow"}, {"decision": "deny", "reason": "a"}, {"decision": "block"}, {"reason": "b"}],
            {"decision": (1, 2), "reason": (1, 3)},
            id="or-blocks",
        ),
        pytest.param(
            merge_or_decision,
            [{"decision": "allow"}, {}, {"continue": True, "suppressOutput": True, "systemMessage": "m"}],
            {"decision": (0,), "continue": (2,), "suppressOutput": (2,), "systemMessage": (2,)},
            id="or-allows",
        ),
        pytest.param(
            merge_or_decision,
            [{"continue": True}, {"continue": False, "stopReason": "s"}, {"continue": False}],
            {"continue": (1, 2), "stopReason": (1,)},
            id="or-stops",
        ),
        pytest.param(
            merge_or_decision,
            [
                specific(tool_input={"a": 1, "b": 1}, additionalContext="c", clearContext=True),
                specific(tool_input={"b": 2}, additionalContext="d", clearContext=False),
            ],
            {
                "hookSpecificOutput.tool_input": (0, 1),
                "hookSpecificOutput.tool_input.a": (0,),
                "hookSpecificOutput.tool_input.b": (1,),
                "hookSpecificOutput.additionalContext": (0, 1),
                "hookSpecificOutput.clearContext": (0,),
            },
            id="or-arguments-by-key",
        ),
        pytest.param(
            merge_or_decision,
            [specific(tool_input={"a": 1}), specific(tool_input=None)],
            {"hookSpecificOutput.tool_input": (1,)},
            id="or-arguments-taken-back",
        ),
        pytest.param(
            merge_or_decision,
            [
                specific(permissionDecision="deny", permissionDecisionReason="a"),
                specific(permissionDecision="allow", permissionDecisionReason="fine"),
            ],
            {
                "decision": (0,),
                "hookSpecificOutput.permissionDecision": (0,),
                "hookSpecificOutput.permissionDecisionReason": (0,),
            },
            id="or-permissions",
        ),
        pytest.param(
            merge_field_replacement,
            [
                {"decision": "deny", "reason": "a"},
                {"decision": "allow"},
                specific(llm_request={"model": "m"}),
                specific(llm_request={"config": {"topK": 1}}, llm_response={"text": "t"}),
            ],
            {
                "decision": (1,),
                "reason": (0,),
                "hookSpecificOutput.llm_request": (2, 3),
                "hookSpecificOutput.llm_request.model": (2,),
                "hookSpecificOutput.llm_request.config": (3,),
                "hookSpecificOutput.llm_response": (3,),
            },
            id="replacement",
        ),
        pytest.param(
            merge_field_replacement,
            [{"systemMessage": "a"}, made("x"), {"decision": "deny"}],
            {"systemMessage": (0, 1), "decision": (2,)},
            id="replacement-with-a-failure",
        ),
        pytest.param(
            merge_tool_selection,
            [
                specific(toolConfig={"mode": "ANY"}),
                {"systemMessage": "m"},
                specific(toolConfig={"allowedFunctionNames": ["a"]}),
            ],
            {"systemMessage": (1,), "hookSpecificOutput.toolConfig": (0, 2)},
            id="union",
        ),
        pytest.param(
            merge_last_wins,
            [{"decision": "deny", "mine": 1}, {"decision": None}],
            {"decision": (1,), "mine": (0,)},
            id="last",
        ),
    ],
)
def test_whose_value_stands_where(
    rule: Rule, answers: list[Given | HookAnswer], holders: dict[str, tuple[int, ...]]
) -> None:
    """Of every field that a hook set, the merge knows which hooks; a default is no hook's."""
    assert merge(rule, *answers).holders == holders


@pytest.mark.req("HOOK-098")
@pytest.mark.parametrize(
    ("answers", "overridden"),
    [
        pytest.param([{"decision": "deny"}, {"decision": "allow"}], (("decision", 1, 0),), id="allow"),
        pytest.param([{"decision": "deny"}, {"decision": None}], (("decision", 1, 0),), id="null"),
        pytest.param([{"decision": "deny"}, {}], (), id="silence"),
        pytest.param([{"decision": "deny"}, {"decision": "DENY"}], (), id="nonsense"),
        pytest.param([{"decision": "deny"}, made("x")], (), id="a-failed-hook"),
        pytest.param([{"decision": "allow"}, {"decision": "deny"}], (), id="stricter"),
        pytest.param([(USER, {"decision": "deny"}), (PROJECT, {"decision": "allow"})], (), id="less-trusted"),
        pytest.param(
            [{"decision": "deny"}, {"decision": "block"}, {"decision": "allow"}], (("decision", 2, 1),), id="the-last"
        ),
        pytest.param([{"continue": False}, {"continue": True}], (("continue", 1, 0),), id="stop"),
        pytest.param(
            [{"suppressOutput": True}, {"suppressOutput": False}], (("suppressOutput", 1, 0),), id="suppression"
        ),
        pytest.param(
            [{"decision": "deny"}, {"decision": "allow"}, {"decision": "allow"}], (("decision", 1, 0),), id="once"
        ),
    ],
)
def test_what_was_overridden(
    answers: list[Given | HookAnswer | tuple[int, Given]], overridden: tuple[tuple[str, int, int], ...]
) -> None:
    """On model events a block or a stop that a later hook undid is noted with both."""
    assert merge(merge_field_replacement, *answers).overridden == overridden


@pytest.mark.req("HOOK-171")
@pytest.mark.parametrize("rule", [merge_or_decision, merge_tool_selection, merge_last_wins])
@pytest.mark.parametrize(
    ("first", "later"),
    [
        ({"decision": "deny"}, {"decision": "allow"}),
        ({"continue": False}, {"continue": True}),
        (specific(permissionDecision="deny"), specific(permissionDecision="allow")),
    ],
    ids=["decision", "stop", "permission"],
)
def test_elsewhere_nothing_is_overridden(rule: Rule, first: Given, later: Given) -> None:
    """Where the strictest answer wins, or nothing is applied, no hook undoes anything."""
    assert merge(rule, first, later).overridden == ()


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "decision": st.sampled_from(["allow", "deny", "block", "ask", None, "odd"]),
            "reason": st.sampled_from(["", "r", None, 5]),
            "continue": st.sampled_from([True, False, None, "no"]),
            "stopReason": st.sampled_from(["", "s", None]),
            "suppressOutput": st.sampled_from([True, False, None, 1]),
            "systemMessage": st.sampled_from(["", "m", None, {"a": 1}]),
            "mine": st.integers(),
        },
    )
)
def test_one_answer_is_merged_by_the_same_rule(answer: dict[str, Any]) -> None:
    """The short cut for a single answer gives what the whole rule gives for it beside a hook that says nothing."""
    alone, beside = merge_or_decision([read_object(answer)]), merge_or_decision([read_object(answer), read_object({})])
    assert (alone.answer, alone.holders) == (beside.answer, beside.holders)
