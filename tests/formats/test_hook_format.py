from typing import Any

import pytest

from hookline.formats.hook_format import (
    GENERATION,
    merge_llm_requests,
    overlay_llm_request,
    read_messages,
    settle_llm_response,
)
from hookline.protocol.llm import LLMConfig

SHOWN = {
    "model": "m",
    "messages": [{"role": "user", "content": "q"}],
    "config": {"temperature": 0.5, "maxOutputTokens": 100},
}


def system(text: str) -> dict[str, str]:
    return {"role": "system", "content": text}


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def test_every_parameter_that_hooks_see_can_be_read() -> None:
    """The readers and the type of a request's parameters have the same names."""
    assert GENERATION.keys() == LLMConfig.__annotations__.keys()


@pytest.mark.req("HOOK-105")
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, SHOWN, id="nothing"),
        pytest.param({"model": "n"}, {**SHOWN, "model": "n"}, id="model"),
        pytest.param(
            {"config": {"topK": 1}},
            {**SHOWN, "config": {"temperature": 0.5, "maxOutputTokens": 100, "topK": 1}},
            id="config-by-key",
        ),
        pytest.param(
            {"config": {"temperature": None}},
            {**SHOWN, "config": {"maxOutputTokens": 100}},
            id="null-unsets-a-parameter",
        ),
        pytest.param({"config": None, "model": None, "messages": None, "toolConfig": None}, SHOWN, id="nulls"),
        pytest.param(
            {"config": {"temperature": "hot", "seed": 1}, "model": 5, "messages": "odd", "systemInstruction": 5},
            SHOWN,
            id="wrong-types-change-nothing",
        ),
        pytest.param({"custom": 1}, SHOWN, id="unknown-keys-are-not-sent"),
        pytest.param(
            {"contents": [{"role": "model", "parts": ["a", {"text": "b"}]}], "generationConfig": {"temperature": 1}},
            {
                "model": "m",
                "messages": [{"role": "model", "content": "ab"}],
                "config": {"temperature": 1, "maxOutputTokens": 100},
            },
            id="api-reference-form",
        ),
        pytest.param(
            {"contents": "a", "messages": [], "generationConfig": {"topP": 1}, "config": {}},
            {**SHOWN, "messages": []},
            id="the-hook-format-wins",
        ),
        pytest.param({"contents": 5, "generationConfig": "x"}, SHOWN, id="nonsense"),
        pytest.param({"messages": []}, {**SHOWN, "messages": []}, id="an-empty-list-drops-every-text"),
        pytest.param({"contents": []}, {**SHOWN, "messages": []}, id="in-either-form"),
        pytest.param({"messages": [user("")]}, {**SHOWN, "messages": []}, id="so-does-one-without-text"),
        pytest.param({"messages": [{"role": "user"}]}, {**SHOWN, "messages": []}, id="or-with-a-content-removed"),
        pytest.param({"contents": [{"role": "user", "parts": []}]}, {**SHOWN, "messages": []}, id="or-without-parts"),
        pytest.param({"messages": [], "systemInstruction": "S"}, {**SHOWN, "messages": []}, id="with-an-instruction"),
        pytest.param({"messages": [5]}, SHOWN, id="a-list-of-wrong-types-changes-nothing"),
        pytest.param(
            {"systemInstruction": {"role": "system", "parts": [{"text": "S"}]}},
            {**SHOWN, "messages": [system("S"), user("q")]},
            id="system-instruction",
        ),
        pytest.param(
            {"systemInstruction": "S", "messages": [system("S"), user("x")]},
            {**SHOWN, "messages": [system("S"), user("x")]},
            id="system-instruction-only-once",
        ),
        pytest.param(
            {"messages": [system("S")]}, {**SHOWN, "messages": [system("S"), user("q")]}, id="system-messages-alone"
        ),
        pytest.param(
            {"toolConfig": {"mode": "any", "allowedFunctionNames": ["f", 5]}},
            {**SHOWN, "toolConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
            id="tool-config",
        ),
        pytest.param({"toolConfig": {"mode": "SOMETIMES"}}, SHOWN, id="unreadable-tool-config"),
    ],
)
def test_a_hooks_changes_are_laid_over_the_request(changes: dict[str, Any], expected: dict[str, Any]) -> None:
    """The result is the request as it would be sent; whatever the hook left out stays."""
    assert overlay_llm_request(SHOWN, changes) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"mode": "AUTO"}, {"mode": "AUTO", "allowedFunctionNames": ["f"]}, id="names-stay"),
        pytest.param({"allowedFunctionNames": ["g"]}, {"mode": "ANY", "allowedFunctionNames": ["g"]}, id="mode-stays"),
        pytest.param({"allowedFunctionNames": None}, {"mode": "ANY"}, id="null-unsets"),
        pytest.param({"mode": None, "allowedFunctionNames": None}, None, id="null-unsets-all"),
        pytest.param({"allowedFunctionNames": []}, {"mode": "NONE", "allowedFunctionNames": []}, id="empty-is-none"),
        pytest.param({"mode": "NONE"}, {"mode": "NONE"}, id="none-needs-no-names"),
    ],
)
def test_a_tool_configuration_is_laid_over_by_key(changes: dict[str, Any], expected: dict[str, Any] | None) -> None:
    """Mode and names are two keys, and null unsets one."""
    request = {**SHOWN, "toolConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}}
    assert overlay_llm_request(request, {"toolConfig": changes}).get("toolConfig") == expected


def test_a_system_message_that_was_sent_makes_a_list_the_whole_conversation() -> None:
    """A hook that keeps the messages it likes has dropped the others, also if only the system prompt is left."""
    request = {"model": "m", "messages": [system("S"), user("secret")]}
    assert overlay_llm_request(request, {"messages": [system("S")]})["messages"] == [system("S")]
    added = overlay_llm_request(request, {"messages": [system("N")]})["messages"]
    assert added == [system("N"), user("secret")]


def test_an_instruction_in_place_of_an_earlier_note_drops_no_text() -> None:
    """Nothing is left of the earlier hook's messages then, which is not the same as an empty list of them."""
    merged = merge_llm_requests({"messages": [system("note")]}, {"systemInstruction": "new"}, is_told=True)
    assert merged == {"systemInstruction": "new"}
    request = {"model": "m", "messages": [user("q")]}
    assert overlay_llm_request(request, merged)["messages"] == [system("new"), user("q")]


def test_a_system_instruction_replaces_the_requests_system_messages() -> None:
    """A request in hook form has its instruction among the messages."""
    request = {"model": "m", "messages": [system("old"), user("q")]}
    assert overlay_llm_request(request, {"systemInstruction": "new"})["messages"] == [system("new"), user("q")]


@pytest.mark.req("HOOK-098", "HOOK-105")
@pytest.mark.parametrize(
    ("earlier", "later", "merged"),
    [
        pytest.param(
            {"config": {"temperature": 1, "topP": 0.5}},
            {"config": {"temperature": 0}},
            {"config": {"temperature": 0, "topP": 0.5}},
            id="config-by-key",
        ),
        pytest.param(
            {"config": {"topP": 0.5}}, {"config": {"topP": None}}, {"config": {"topP": None}}, id="null-still-unsets"
        ),
        pytest.param({"config": {"topP": 0.5}}, {"config": None}, {"config": None}, id="null-takes-all-back"),
        pytest.param(
            {"config": {"topP": 0.5}}, {"config": {"topP": "high"}}, {"config": {"topP": 0.5}}, id="wrong-parameter"
        ),
        pytest.param(
            {"model": "a", "messages": [user("x")], "config": {"topP": 0.5}, "toolConfig": {"mode": "NONE"}},
            {"model": 5, "messages": "odd", "config": "odd", "toolConfig": ["odd"]},
            {"model": "a", "messages": [user("x")], "config": {"topP": 0.5}, "toolConfig": {"mode": "NONE"}},
            id="wrong-types-replace-nothing",
        ),
        pytest.param(
            {"messages": [user("x")]}, {"messages": []}, {"messages": []}, id="an-empty-list-drops-every-text"
        ),
        pytest.param({"messages": []}, {"messages": [system("S")]}, {"messages": []}, id="which-no-instruction-undoes"),
        pytest.param({"messages": []}, {"model": "m"}, {"messages": [], "model": "m"}, id="nor-another-change"),
        pytest.param({"messages": []}, {"messages": [user("y")]}, {"messages": [user("y")]}, id="but-new-messages-do"),
        pytest.param(
            {"toolConfig": {"mode": "ANY"}},
            {"toolConfig": {"allowedFunctionNames": ["f"], "mode": "odd"}},
            {"toolConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
            id="tool-config-by-key",
        ),
        pytest.param(
            {"messages": [system("A"), user("q")]},
            {"messages": [system("B"), user("Q")]},
            {"messages": [system("A"), system("B"), user("Q")]},
            id="system-messages-add-up",
        ),
        pytest.param(
            {"systemInstruction": "S"},
            {"messages": [user("Q")]},
            {"systemInstruction": "S", "messages": [user("Q")]},
            id="an-instruction-beside-messages",
        ),
        pytest.param({"custom": 1}, {"model": "m"}, {"custom": 1, "model": "m"}, id="unknown-keys-pass"),
    ],
)
def test_the_changes_of_two_hooks_become_one(
    earlier: dict[str, Any], later: dict[str, Any], merged: dict[str, Any]
) -> None:
    """A later hook's values win, key by key, and one hook's change never costs another's."""
    assert merge_llm_requests(earlier, later) == merged


def candidates(*texts: str) -> list[dict[str, Any]]:
    return [{"content": {"role": "model", "parts": list(texts)}, "finishReason": "STOP"}]


TOLD = {"text": "key", "candidates": candidates("hmm", "key")}


@pytest.mark.req("HOOK-046", "HOOK-047")
@pytest.mark.parametrize(
    ("given", "parts"),
    [
        pytest.param({"text": "X"}, ["X"], id="text-alone"),
        pytest.param({"text": "", "candidates": []}, [""], id="empty-text-alone"),
        pytest.param({**TOLD, "text": "X"}, ["X"], id="text-beside-unchanged-candidates"),
        pytest.param(
            {"text": "X", "candidates": [{"content": {"parts": [{"text": "hmm"}, {"text": "key"}]}}]},
            ["X"],
            id="unchanged-in-another-form",
        ),
        pytest.param({"text": "X", "candidates": candidates("hmm", "Y")}, ["hmm", "Y"], id="both-changed"),
        pytest.param({"text": "key", "candidates": candidates("Y")}, ["Y"], id="candidates-changed"),
        pytest.param({"candidates": candidates("Y")}, ["Y"], id="candidates-alone"),
        pytest.param(TOLD, ["hmm", "key"], id="unchanged"),
        pytest.param({"text": 5, "candidates": candidates("Y")}, ["Y"], id="text-of-another-type"),
    ],
)
def test_the_texts_that_count_are_the_candidates(given: dict[str, Any], parts: list[str]) -> None:
    """Whichever way a hook changes the response, the candidates have the changed text afterwards."""
    settled = settle_llm_response(given, TOLD)
    assert settled is not None
    assert [candidate["content"]["parts"] for candidate in settled["candidates"]] in (
        [parts],
        [[{"text": p} for p in parts]],
    )
    if "key" not in parts:
        assert settled["text"] != "key"


@pytest.mark.parametrize(
    "given", [None, 5, "x", {}, {"text": 5}, {"text": None, "candidates": [{}, 5, {"content": None}]}]
)
def test_a_response_without_any_text_says_nothing(given: Any) -> None:
    """The model's response stands."""
    assert settle_llm_response(given, TOLD) is None


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
    """Readable values are kept, others are left out, and nonsense alone is no answer."""
    read = read_messages(messages)
    assert (None if read is None else [(message["role"], message["content"]) for message in read]) == expected
