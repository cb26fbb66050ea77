from typing import Any

import pytest
from google.genai import types

from hookline.errors import FormatError
from hookline.formats.genai.response import (
    empty_response,
    from_hook_llm_response,
    is_sdk_response,
    replace_response_text,
    stop_response,
    to_hook_llm_response,
)

CALL = types.Part(function_call=types.FunctionCall(name="f", args={}), thought_signature=b"call")
IMAGE = types.Part(inline_data=types.Blob(data=b"png", mime_type="image/png"))


def text(value: str, **fields: Any) -> types.Part:
    return types.Part(text=value, **fields)


def candidate(*parts: types.Part | str, **fields: Any) -> types.Candidate:
    told = [text(part) if isinstance(part, str) else part for part in parts]
    return types.Candidate(content=types.Content(role="model", parts=told), **fields)


def response(*candidates: types.Candidate, **fields: Any) -> types.GenerateContentResponse:
    return types.GenerateContentResponse(candidates=list(candidates), **fields)


@pytest.mark.req("HOOK-045", "HOOK-073", "HOOK-077")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(
            response(
                candidate(
                    text("hmm", thought=True),
                    "a",
                    CALL,
                    "b",
                    finish_reason=types.FinishReason.MAX_TOKENS,
                    index=0,
                    safety_ratings=[
                        types.SafetyRating(
                            category=types.HarmCategory.HARM_CATEGORY_HARASSMENT,
                            probability=types.HarmProbability.LOW,
                            blocked=True,
                        )
                    ],
                ),
                usage_metadata=types.GenerateContentResponseUsageMetadata(
                    prompt_token_count=1, candidates_token_count=2, total_token_count=3, cached_content_token_count=4
                ),
            ),
            {
                "text": "ab",
                "candidates": [
                    {
                        "content": {"role": "model", "parts": ["hmm", "a", "b"]},
                        "finishReason": "MAX_TOKENS",
                        "index": 0,
                        "safetyRatings": [{"category": "HARM_CATEGORY_HARASSMENT", "probability": "LOW"}],
                    }
                ],
                "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 3},
            },
            id="objects",
        ),
        pytest.param(
            {"candidates": [{"content": {"parts": [{"text": "a"}]}, "finish_reason": "STOP"}], "usageMetadata": {}},
            {"text": "a", "candidates": [{"content": {"role": "model", "parts": ["a"]}, "finishReason": "STOP"}]},
            id="json",
        ),
        pytest.param(
            response(candidate(CALL), types.Candidate()),
            {
                "candidates": [
                    {"content": {"role": "model", "parts": []}},
                    {"content": {"role": "model", "parts": []}},
                ]
            },
            id="no-text",
        ),
        pytest.param(types.GenerateContentResponse(), {"candidates": []}, id="nothing"),
    ],
)
def test_hooks_see_texts_reasons_ratings_and_counts(given: Any, expected: dict[str, Any]) -> None:
    """Only text parts are shown, thoughts among them, and ratings without their blocked flag."""
    assert to_hook_llm_response(given) == expected


HOOK_CONTENT = {"role": "model", "parts": ["x"]}


@pytest.mark.req("HOOK-045")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({"candidates": [{"content": {"role": "model", "parts": [{"text": "x"}]}}]}, True, id="objects"),
        pytest.param(
            {"candidates": [{"content": {"role": "model", "parts": [{"functionCall": {}}]}}]}, True, id="call"
        ),
        pytest.param(
            {"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}]}, True, id="no-parts"
        ),
        pytest.param({"candidates": [{"finishReason": "SAFETY"}]}, True, id="no-content"),
        pytest.param({"candidates": [], "usageMetadata": {"thoughtsTokenCount": 1}}, True, id="usage"),
        pytest.param({"candidates": [], "usage_metadata": {"total_token_count": 1}}, True, id="snake-case"),
        pytest.param({"promptFeedback": {"blockReason": "SAFETY"}}, True, id="no-candidates"),
        pytest.param(
            {"candidates": [{"content": HOOK_CONTENT, "finish_reason": "STOP"}]}, True, id="snake-case-inside"
        ),
        pytest.param({"text": "x", "candidates": [{"content": {"parts": [{"text": "x"}]}}]}, True, id="with-text"),
        pytest.param(types.GenerateContentResponse(), True, id="object"),
        pytest.param({"candidates": [5, {"content": 5}]}, False, id="nonsense"),
        pytest.param({"candidates": [{"content": HOOK_CONTENT}]}, False, id="strings"),
        pytest.param(
            {
                "text": "x",
                "candidates": [
                    {"content": {"role": "model", "parts": ["hmm", "x"]}, "finishReason": "STOP", "index": 0}
                ],
                "usageMetadata": {"totalTokenCount": 3},
            },
            False,
            id="hook-form",
        ),
        pytest.param({"text": "x"}, False, id="text-alone"),
        pytest.param({"candidates": []}, False, id="none"),
        pytest.param({}, False, id="empty"),
        pytest.param(5, False, id="number"),
    ],
)
def test_the_sdks_form_of_a_response_is_recognised(value: Any, expected: bool) -> None:
    """A response is the SDK's when it has anything that the hook format lacks; what remains is in hook form."""
    assert is_sdk_response(value) is expected
    if expected:
        assert not is_sdk_response(to_hook_llm_response(value))


@pytest.mark.parametrize("value", [{"choices": []}, {"content": [{"type": "text", "text": "x"}]}, 5, None, "x"])
def test_a_response_of_an_unknown_shape_is_an_error(value: Any) -> None:
    """Hooks never get it as an empty response."""
    with pytest.raises(FormatError, match=r"^the response is .*; expected a GenerateContentResponse"):
        to_hook_llm_response(value)


@pytest.mark.parametrize("candidate", ["x", 5, None])
def test_a_candidate_of_an_unknown_shape_is_an_error(candidate: Any) -> None:
    """Hooks never get it as an answer without a text."""
    with pytest.raises(FormatError, match=r"^candidates\[0\] is .*; expected a GenerateContentResponse"):
        to_hook_llm_response({"candidates": [candidate]})


@pytest.mark.req("HOOK-079")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(
            {
                "text": "ignored",
                "candidates": [
                    {
                        "content": {"role": "model", "parts": ["a", {"text": "b"}]},
                        "finishReason": "stop",
                        "index": 1,
                        "safetyRatings": [{"category": "HARM_CATEGORY_HARASSMENT", "probability": "LOW"}],
                    }
                ],
                "usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 3},
            },
            response(
                candidate(
                    "a",
                    "b",
                    finish_reason=types.FinishReason.STOP,
                    index=1,
                    safety_ratings=[
                        types.SafetyRating(
                            category=types.HarmCategory.HARM_CATEGORY_HARASSMENT, probability=types.HarmProbability.LOW
                        )
                    ],
                ),
                usage_metadata=types.GenerateContentResponseUsageMetadata(prompt_token_count=1, total_token_count=3),
            ),
            id="whole",
        ),
        pytest.param({"text": "a"}, response(candidate("a")), id="text-alone"),
        pytest.param({"text": "a", "candidates": []}, response(candidate("a")), id="text-without-candidates"),
        pytest.param({"candidates": [{"content": "a"}]}, response(candidate("a")), id="content-as-string"),
        pytest.param({"candidates": [{"content": ["a"]}]}, response(candidate("a")), id="content-as-parts"),
        pytest.param({"candidates": [{"content": {"parts": "a"}}]}, response(candidate("a")), id="parts-as-string"),
        pytest.param({"candidates": [{"content": {}}]}, response(candidate()), id="empty-content"),
        pytest.param({"text": "\ud800"}, response(candidate("\ufffd")), id="lone-surrogate"),
        pytest.param(
            {
                "candidates": [
                    None,
                    5,
                    {},
                    {"content": None},
                    {
                        "content": {"role": 5, "parts": ["a", 5, None, {"text": 5}, {"functionCall": {"name": "f"}}]},
                        "finishReason": "BORED",
                        "index": "x",
                        "safetyRatings": [5, {"category": "RUDE", "probability": 7}],
                    },
                ],
                "usageMetadata": {"promptTokenCount": "many", "totalTokenCount": -1, "candidatesTokenCount": True},
            },
            response(
                candidate("a", safety_ratings=[types.SafetyRating()]),
                usage_metadata=types.GenerateContentResponseUsageMetadata(),
            ),
            id="only-what-can-be-read",
        ),
        pytest.param({"candidates": "x", "text": 5, "usageMetadata": 5}, response(), id="nonsense"),
        pytest.param({}, response(), id="nothing"),
    ],
)
def test_a_hooks_response_becomes_text_parts(given: dict[str, Any], expected: types.GenerateContentResponse) -> None:
    """Text is taken in every form that hooks write; what cannot be read is left out, without a warning."""
    assert from_hook_llm_response(given) == expected


@pytest.mark.req("HOOK-046", "HOOK-047")
@pytest.mark.parametrize(
    ("original", "modified", "expected"),
    [
        pytest.param([candidate("a")], [candidate("b")], [candidate("b")], id="text"),
        pytest.param([candidate("a", CALL)], [candidate("b")], [candidate("b", CALL)], id="call-kept"),
        pytest.param(
            [candidate("a", CALL, "b", IMAGE)],
            [candidate("A", "B")],
            [candidate("A", CALL, "B", IMAGE)],
            id="one-by-one",
        ),
        pytest.param([candidate("a", CALL, "b")], [candidate("X")], [candidate("X", CALL)], id="fewer-texts"),
        pytest.param([candidate("a", CALL)], [candidate("x", "y")], [candidate("xy", CALL)], id="more-texts"),
        pytest.param([candidate(CALL)], [candidate("x")], [candidate("x", CALL)], id="text-before-a-call"),
        pytest.param([candidate("a", CALL)], [candidate()], [candidate(CALL)], id="text-removed"),
        pytest.param(
            [candidate(text("hmm", thought=True, thought_signature=b"s"), "a")],
            [candidate("X")],
            [candidate(text("", thought=True, thought_signature=b"s"), "X")],
            id="thought-removed-but-not-its-signature",
        ),
        pytest.param(
            [candidate(text("hmm", thought=True), text("a", thought_signature=b"s"))],
            [candidate("hm", "A")],
            [candidate(text("hm", thought=True), text("A", thought_signature=b"s"))],
            id="thought-edited",
        ),
        pytest.param(
            [candidate("a"), candidate("b", CALL)], [candidate("A")], [candidate("A"), candidate(CALL)], id="gone"
        ),
        pytest.param([candidate("a"), candidate("b")], [candidate("A")], [candidate("A")], id="gone-altogether"),
        pytest.param([candidate("a")], [candidate("A"), candidate("B")], [candidate("A"), candidate("B")], id="added"),
        pytest.param([types.Candidate()], [candidate("A")], [candidate("A")], id="no-content-before"),
        pytest.param(
            [candidate("a", index=0, finish_reason=types.FinishReason.MAX_TOKENS, avg_logprobs=0.5)],
            [candidate("b", finish_reason=types.FinishReason.STOP)],
            [candidate("b", index=0, finish_reason=types.FinishReason.STOP, avg_logprobs=0.5)],
            id="finish-reason",
        ),
        pytest.param(
            [candidate("a", logprobs_result=types.LogprobsResult())],
            [candidate("b")],
            [candidate("b")],
            id="token-probabilities-go",
        ),
    ],
)
def test_a_modified_text_replaces_the_text_alone(
    original: list[types.Candidate], modified: list[types.Candidate], expected: list[types.Candidate]
) -> None:
    """Calls, images and signatures stay where they are; nothing of the old text does."""
    usage = types.GenerateContentResponseUsageMetadata(total_token_count=3)
    before = response(*original, usage_metadata=usage, model_version="v")
    assert replace_response_text(before, response(*modified)) == response(
        *expected, usage_metadata=usage, model_version="v"
    )


def test_what_was_parsed_from_the_old_text_goes_with_it() -> None:
    """A structured answer must not carry on what the hook took out."""
    before = response(candidate('{"key": "secret"}'), parsed={"key": "secret"})
    assert replace_response_text(before, response(candidate("{}"))).parsed is None


def test_an_unchanged_text_gives_the_same_response() -> None:
    """A hook that returns the response as it got it changes nothing at all."""
    before = response(
        candidate(text("hmm", thought=True), "a", "", CALL, finish_reason=types.FinishReason.STOP), parsed={"a": 1}
    )
    assert replace_response_text(before, from_hook_llm_response(to_hook_llm_response(before))) is before


def test_a_replacement_leaves_the_original_as_it_was() -> None:
    """The model's own response is never changed in place."""
    before = response(candidate("a", CALL))
    replace_response_text(before, response(candidate("b")))
    assert before == response(candidate("a", CALL))


@pytest.mark.req("HOOK-202")
def test_an_empty_response_has_one_candidate_that_says_nothing() -> None:
    """A caller can see that no model answered."""
    empty = empty_response()
    assert empty == response(candidate(finish_reason=types.FinishReason.STOP, index=0))
    assert empty.text is None


@pytest.mark.req("HOOK-048")
def test_a_stop_response_says_why() -> None:
    """It reads as if the model had given the reason and ended."""
    stopped = stop_response("enough\ud800")
    assert stopped == response(candidate("enough\ufffd", finish_reason=types.FinishReason.STOP, index=0))
