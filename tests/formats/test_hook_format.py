from typing import Any

import pytest

from hookline.formats.hook_format import is_sdk_request, is_sdk_response, overlay_llm_request, read_messages

SHOWN = {
    "model": "m",
    "messages": [{"role": "user", "content": "q"}],
    "config": {"temperature": 0.5, "maxOutputTokens": 100},
}


@pytest.mark.req("HOOK-105")
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, SHOWN, id="nothing"),
        pytest.param({"model": "n"}, {**SHOWN, "model": "n"}, id="model"),
        pytest.param({"config": {"topK": 1}}, {**SHOWN, "config": {"topK": 1}}, id="config-replaced-whole"),
        pytest.param({"config": None}, {**SHOWN, "config": None}, id="an-explicit-null-replaces"),
        pytest.param({"custom": 1}, {**SHOWN, "custom": 1}, id="unknown-keys-pass"),
        pytest.param(
            {"contents": [{"role": "model", "parts": ["a", {"text": "b"}]}], "generationConfig": {"topP": 1}},
            {"model": "m", "messages": [{"role": "model", "content": "ab"}], "config": {"topP": 1}},
            id="api-reference-form",
        ),
        pytest.param(
            {"contents": "a", "messages": [], "generationConfig": {"topP": 1}, "config": {}},
            {**SHOWN, "config": {}},
            id="the-hook-format-wins",
        ),
        pytest.param({"contents": 5, "generationConfig": "x"}, SHOWN, id="nonsense-says-nothing"),
        pytest.param({"contents": []}, SHOWN, id="an-empty-conversation-is-not-sent"),
        pytest.param({"messages": [{"role": "user", "content": ""}]}, SHOWN, id="nor-one-without-text"),
        pytest.param({"messages": "odd"}, SHOWN, id="nor-nonsense"),
        pytest.param(
            {"systemInstruction": {"role": "system", "parts": [{"text": "S"}]}},
            {**SHOWN, "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "q"}]},
            id="system-instruction",
        ),
        pytest.param(
            {"systemInstruction": "S", "messages": [{"role": "system", "content": "S"}]},
            {**SHOWN, "messages": [{"role": "system", "content": "S"}]},
            id="system-instruction-only-once",
        ),
    ],
)
def test_a_partial_answer_is_laid_over_the_request(changes: dict[str, Any], expected: dict[str, Any]) -> None:
    """Later keys win, whole; the older spelling is read as the one that hooks are sent."""
    assert overlay_llm_request(SHOWN, changes) == expected


def test_a_system_instruction_alone_does_not_pretend_to_be_the_conversation() -> None:
    """Where there are no messages to join, it stays a key of its own."""
    assert overlay_llm_request({"model": "a"}, {"systemInstruction": "S"}) == {"model": "a", "systemInstruction": "S"}


def test_an_overlay_leaves_both_sides_as_they_were() -> None:
    """Neither the request nor the answer is changed in place."""
    base, changes = {"messages": [{"role": "user", "content": "q"}]}, {"systemInstruction": "S", "contents": "x"}
    overlay_llm_request(base, changes)
    assert (base, changes) == (
        {"messages": [{"role": "user", "content": "q"}]},
        {"systemInstruction": "S", "contents": "x"},
    )


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param([{"role": "user", "content": "x"}], [("user", "x")], id="plain"),
        pytest.param(
            [{"role": "user", "content": [{"type": "text", "text": "x"}, "y"]}], [("user", "xy")], id="pieces"
        ),
        pytest.param([{"role": "user", "content": {"text": "x"}}], [("user", "x")], id="object"),
        pytest.param([{"role": "user", "parts": [{"text": "x"}]}], [("user", "x")], id="parts"),
        pytest.param([{"role": "assistant", "content": "x"}], [("model", "x")], id="assistant"),
        pytest.param([{"role": "bot", "content": "x"}], [("user", "x")], id="unknown-role"),
        pytest.param([{"role": 5, "content": "x"}], [("user", "x")], id="role-of-another-type"),
        pytest.param([{"content": "x"}], [("user", "x")], id="no-role"),
        pytest.param(["x"], [("user", "x")], id="bare-string"),
        pytest.param([{"role": "user", "content": "\ud800x"}], [("user", "\ufffdx")], id="lone-surrogate"),
        pytest.param([{"role": "user", "content": "\ud83d\ude00"}], [("user", "\U0001f600")], id="split-surrogates"),
        pytest.param(
            [{"role": "user", "content": 5}, {"role": "user"}, None, 7, [], {"role": "user", "content": "x"}],
            [("user", "x")],
            id="bad-ones-are-left-out",
        ),
        pytest.param([], [], id="none-left"),
        pytest.param([1, {"content": None}], None, id="nothing-but-nonsense"),
        pytest.param("x", None, id="not-a-list"),
        pytest.param(None, None, id="null"),
    ],
)
def test_messages_are_read_tolerantly(messages: Any, expected: list[tuple[str, str]] | None) -> None:
    """What can be read is kept, what cannot is left out, and nonsense alone says nothing."""
    read = read_messages({"messages": messages})
    assert (None if read is None else [(message["role"], message["content"]) for message in read]) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({"model": "m", "contents": "x"}, True, id="contents"),
        pytest.param({"model": "m", "messages": []}, False, id="messages"),
        pytest.param(None, False, id="null"),
        pytest.param("contents", False, id="string"),
    ],
)
def test_a_request_with_contents_is_the_sdks(value: Any, expected: bool) -> None:
    """`contents` tells the SDK's form from the hook format."""
    assert is_sdk_request(value) is expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({"candidates": [{"content": {"parts": [{"text": "x"}]}}]}, True, id="objects"),
        pytest.param({"candidates": [{"content": {"parts": [{"functionCall": {}}]}}]}, True, id="call"),
        pytest.param({"candidates": [{"content": {"parts": ["x"]}}]}, False, id="strings"),
        pytest.param({"candidates": []}, False, id="none"),
        pytest.param({"candidates": [5, {"content": 5}]}, False, id="nonsense"),
        pytest.param(5, False, id="number"),
    ],
)
def test_a_response_with_objects_for_parts_is_the_sdks(value: Any, expected: bool) -> None:
    """Parts that are objects tell the SDK's form from the hook format."""
    assert is_sdk_response(value) is expected
