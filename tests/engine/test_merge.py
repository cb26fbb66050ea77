from collections.abc import Callable, Mapping
from typing import Any

import pytest

from hookline.contract.outputs import BeforeToolHookOutput, DefaultHookOutput
from hookline.engine._merge import (
    merge_field_replacement,
    merge_last_wins,
    merge_or_decision,
    merge_tool_selection,
)

Answer = Mapping[str, Any]
Merge = Callable[[list[DefaultHookOutput]], dict[str, Any]]

ALLOWED = {"continue": True, "suppressOutput": False, "decision": "allow"}


def specific(**fields: Any) -> Answer:
    return {"hookSpecificOutput": fields}


def merge_tool_answers(*answers: Answer) -> dict[str, Any]:
    return merge_or_decision([BeforeToolHookOutput(answer) for answer in answers])


def implicit(message: str) -> DefaultHookOutput:
    """What the engine makes of plain text or of a failed hook's stderr."""
    return DefaultHookOutput({"decision": "allow", "systemMessage": message}, is_explicit=False)


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
def test_any_block_wins(block: Answer, decision: str, other: Answer, position: int) -> None:
    """One blocking hook blocks, wherever it stands and whatever the others say, and for its own reason."""
    answers = [other, other]
    answers.insert(position, block)
    merged = BeforeToolHookOutput(merge_tool_answers(*answers))
    assert merged.is_blocking_decision()
    assert merged.decision == decision
    assert merged.get_effective_reason() == "no"


@pytest.mark.req("HOOK-171", "HOOK-199")
def test_all_compatibility_denials_are_kept() -> None:
    """The first denial's word and the reasons of all who block come out; an approving hook's reason does not."""
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
def test_tool_answers_add_up(answers: list[Answer], merged: Answer) -> None:
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
        pytest.param([{}], {"hookSpecificOutput": {}}, id="nothing"),
        pytest.param(
            [{"decision": "deny", "reason": "a"}, {"decision": "allow"}],
            {"decision": "allow", "reason": "a", "hookSpecificOutput": {}},
            id="later-explicit-allow",
        ),
        pytest.param(
            [{"decision": "deny"}, {"systemMessage": "m"}],
            {"decision": "deny", "systemMessage": "m", "hookSpecificOutput": {}},
            id="absent-replaces-nothing",
        ),
        pytest.param(
            [{"continue": False, "stopReason": "s"}, {"continue": True, "stopReason": None}],
            {"continue": True, "stopReason": None, "hookSpecificOutput": {}},
            id="null-replaces",
        ),
        pytest.param(
            [specific(llm_request={"messages": ["redacted"]}), specific(llm_request={"config": {"topK": 1}})],
            specific(llm_request={"messages": ["redacted"], "config": {"topK": 1}}),
            id="requests-add-up",
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
def test_later_model_answers_replace_earlier_ones(answers: list[Answer], merged: Answer) -> None:
    """On model events a later explicit value wins, field by field."""
    assert merge_field_replacement([DefaultHookOutput(answer) for answer in answers]) == merged


@pytest.mark.req("HOOK-098", "HOOK-110")
def test_a_failed_hook_does_not_undo_a_block() -> None:
    """The `allow` that the engine writes for a crashed hook or for plain text is no hook's explicit value."""
    deny = DefaultHookOutput({"decision": "deny", "reason": "no"})
    assert merge_field_replacement([deny, implicit("Warning: x")]) == {
        "decision": "deny",
        "reason": "no",
        "systemMessage": "Warning: x",
        "hookSpecificOutput": {},
    }
    assert merge_field_replacement([implicit("note"), deny])["decision"] == "deny"
    assert merge_field_replacement([implicit("note")])["decision"] == "allow"


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
        pytest.param([{"mode": "some"}, {"mode": ["ANY"]}], ("AUTO", None), id="unknown-mode"),
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
    assert merge_tool_selection([DefaultHookOutput(specific(toolConfig=given)) for given in configs]) == expected


@pytest.mark.req("HOOK-058")
def test_a_stop_survives_the_union() -> None:
    """A stop, its reason and messages come through the merge of tool selections; a block does not."""
    answers: list[Answer] = [
        {"continue": False, "stopReason": "enough", "systemMessage": "a"},
        {"continue": True, "systemMessage": "b", "decision": "deny"},
    ]
    assert merge_tool_selection([DefaultHookOutput(answer) for answer in answers]) == {
        "continue": False,
        "stopReason": "enough",
        "systemMessage": "a\nb",
    }


@pytest.mark.req("HOOK-190")
def test_later_fields_win_where_nothing_is_applied() -> None:
    """On the remaining events later fields replace earlier ones, values as they are."""
    answers: list[Answer] = [{"decision": "deny", "a": {"x": 1}}, {"a": {"y": 2}, "decision": None}]
    assert merge_last_wins([DefaultHookOutput(answer) for answer in answers]) == {"decision": None, "a": {"y": 2}}


@pytest.mark.parametrize("merge", [merge_or_decision, merge_field_replacement, merge_tool_selection, merge_last_wins])
def test_merging_changes_no_answer(merge: Merge) -> None:
    """The answers that were merged can still be shown as they were given."""
    first = specific(tool_input={"a": 1}, llm_request={"a": 1}, toolConfig={"allowedFunctionNames": ["b", "a"]})
    outputs = [BeforeToolHookOutput(first), BeforeToolHookOutput(specific(tool_input={"b": 2}, llm_request={"b": 2}))]
    merge(list(outputs))
    assert first == specific(tool_input={"a": 1}, llm_request={"a": 1}, toolConfig={"allowedFunctionNames": ["b", "a"]})


@pytest.mark.parametrize("odd", ["DENY", 5, True, [], "", " deny"])
def test_what_decides_nothing_undoes_no_block(odd: object) -> None:
    """A value that the author is told counts for nothing does not count against another hook, either."""
    merged = merge_field_replacement([DefaultHookOutput({"decision": "deny"}), DefaultHookOutput({"decision": odd})])
    assert merged["decision"] == "deny"
    merged = merge_field_replacement([DefaultHookOutput({"continue": False}), DefaultHookOutput({"continue": "false"})])
    assert merged["continue"] is False


def test_what_is_no_response_replaces_none() -> None:
    """An earlier hook's redaction survives a later hook's nonsense, but not its null."""
    redacted = {"candidates": [{"content": {"parts": ["xxx"]}}]}
    first = DefaultHookOutput({"hookSpecificOutput": {"llm_response": redacted}})
    for later, stays in (("oops", redacted), ([1], redacted), (None, None)):
        merged = merge_field_replacement([first, DefaultHookOutput({"hookSpecificOutput": {"llm_response": later}})])
        assert merged["hookSpecificOutput"]["llm_response"] == stays
