from typing import Any

import pytest

from hookline.apps.agent.conversation.contents import (
    answer_calls,
    content_from_json,
    function_calls,
    has_responses,
    model_content,
    spoken_text,
    to_json,
    why_empty,
)
from hookline.apps.agent.tool import AgentCall, CallStatus
from hookline.client.triggers.results import ToolResult
from hookline.formats.genai.sdk import response_from_json
from hookline.testing import calls, says

IMAGE = {"inlineData": {"mimeType": "image/png", "data": "AQID"}}


def ended(status: CallStatus, llm_content: Any) -> AgentCall:
    """A call that has ended with this content for the model."""
    return AgentCall(id="c", name="f", status=status, result=ToolResult(llm_content=llm_content))


@pytest.mark.parametrize(
    ("call", "response", "media"),
    [
        pytest.param(ended(CallStatus.SUCCESS, "ok"), {"output": "ok"}, [], id="success"),
        pytest.param(ended(CallStatus.ERROR, "bad"), {"error": "bad"}, [], id="error"),
        pytest.param(ended(CallStatus.IDLE, "no"), {"error": "no"}, [], id="blocked"),
        pytest.param(AgentCall(id="c", name="f"), {"error": "It was not run."}, [], id="never-came-to-it"),
        pytest.param(ended(CallStatus.SUCCESS, ["a", {"text": "b"}, IMAGE]), {"output": "ab"}, [IMAGE], id="parts"),
        pytest.param(ended(CallStatus.SUCCESS, IMAGE), {"output": ""}, [IMAGE], id="one-part"),
    ],
)
def test_a_call_is_answered_by_its_result(call: AgentCall, response: dict[str, str], media: list[Any]) -> None:
    """The model is told what the tool gave, as output if it ran well and as an error otherwise."""
    content = content_from_json({"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]})
    expected = [{"functionResponse": {"name": "f", "response": response}}, *media]
    assert to_json(answer_calls(content, [call])) == {"role": "user", "parts": expected}


def test_answers_stand_in_the_order_of_the_calls() -> None:
    """Each answer names its call as the model did, images follow their answer, and notes come last."""
    parts = [{"functionCall": {"name": "f", "args": {}, "id": "own"}}, {"functionCall": {"name": "g", "args": {}}}]
    content = content_from_json({"role": "model", "parts": [{"text": "So:"}, *parts]})
    finished = [ended(CallStatus.SUCCESS, ["a", IMAGE]), ended(CallStatus.ERROR, "b")]
    answered = answer_calls(content, finished, ["[System] note"])
    assert to_json(answered) == {
        "role": "user",
        "parts": [
            {"functionResponse": {"id": "own", "name": "f", "response": {"output": "a"}}},
            IMAGE,
            {"functionResponse": {"name": "g", "response": {"error": "b"}}},
            {"text": "[System] note"},
        ],
    }
    assert has_responses(answered)
    assert not has_responses(content)


@pytest.mark.parametrize(
    ("given", "ids"),
    [
        pytest.param(["a", "b"], ["a", "b"], id="its-own"),
        pytest.param([None, "b"], ["new-1", "b"], id="missing"),
        pytest.param(["a", "a"], ["a", "new-2"], id="twice-the-same"),
    ],
)
def test_every_call_has_an_identifier_of_its_own(given: list[str | None], ids: list[str]) -> None:
    """Calls are told apart even where the model does not."""
    parts = [{"functionCall": {"name": "f", "args": {"n": 1}, **({"id": one} if one else {})}} for one in given]
    content = content_from_json({"role": "model", "parts": parts})
    assert function_calls(content, "new") == [AgentCall(id=one, name="f", arguments={"n": 1}) for one in ids]


@pytest.mark.parametrize(
    ("response", "text"),
    [
        pytest.param(says("Hello"), "Hello", id="text"),
        pytest.param(calls(("f", {})), "", id="call"),
        pytest.param({"candidates": []}, "", id="no-candidate"),
        pytest.param({"candidates": [{"finishReason": "STOP"}]}, "", id="no-content"),
        pytest.param(
            {"candidates": [{"content": {"parts": [{"text": "hm", "thought": True}, {"text": "Hello"}]}}]},
            "Hello",
            id="thought",
        ),
    ],
)
def test_spoken_is_what_a_person_may_read(response: dict[str, Any], text: str) -> None:
    """Thoughts and calls are not spoken."""
    assert spoken_text(response_from_json(response)) == text


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        pytest.param({"candidates": []}, None, id="no-candidate"),
        pytest.param({"candidates": [{"finishReason": "STOP"}]}, None, id="ordinary-end"),
        pytest.param({"candidates": [{"finishReason": "SAFETY"}]}, "SAFETY", id="finish-reason"),
        pytest.param({"promptFeedback": {"blockReason": "OTHER"}}, "OTHER", id="blocked-prompt"),
    ],
)
def test_an_empty_answer_may_have_a_reason(response: dict[str, Any], reason: str | None) -> None:
    """What kept the model from answering is found wherever it says so."""
    given = response_from_json(response)
    assert model_content(given) is None
    assert why_empty(given) == reason
