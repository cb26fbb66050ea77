from typing import Any

import pytest

from hookline.apps.agent.conversation.contents import to_json
from hookline.apps.agent.models.collect import collect
from hookline.formats.genai.sdk import response_from_json
from hookline.testing import says


def collected(*chunks: dict[str, Any]) -> dict[str, Any]:
    """The chunks put together, as JSON."""
    return to_json(collect([response_from_json(chunk) for chunk in chunks]))


def parts(*given: dict[str, Any]) -> dict[str, Any]:
    """A chunk with these parts."""
    return {"candidates": [{"content": {"role": "model", "parts": list(given)}}]}


@pytest.mark.req("HOOK-172")
def test_texts_become_one_part() -> None:
    """The text of many chunks is one part of one response, with the last chunk's reason and cost."""
    usage = {"promptTokenCount": 3, "totalTokenCount": 9}
    first = {**says("Hel", finish=None), "usageMetadata": {"promptTokenCount": 3, "totalTokenCount": 4}}
    assert collected(first, {**says("lo"), "usageMetadata": usage}) == {**says("Hello"), "usageMetadata": usage}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param(
            [{"text": "a", "thought": True}, {"text": "b", "thought": True}, {"text": "c"}],
            [{"text": "ab", "thought": True}, {"text": "c"}],
            id="thoughts-apart-from-speech",
        ),
        pytest.param(
            [{"text": "a"}, {"text": "b", "thoughtSignature": "AQID"}, {"text": "c"}],
            [{"text": "a"}, {"text": "b", "thoughtSignature": "AQID"}, {"text": "c"}],
            id="signed-text-as-it-came",
        ),
        pytest.param(
            [{"text": "a"}, {"text": "", "thoughtSignature": "AQID"}],
            [{"text": "a"}, {"text": "", "thoughtSignature": "AQID"}],
            id="empty-but-signed",
        ),
        pytest.param([{"text": "a"}, {"text": ""}], [{"text": "a"}], id="empty-text"),
        pytest.param(
            [{"text": "a"}, {"functionCall": {"name": "f", "args": {}}}, {"functionCall": {"name": "g", "args": {}}}],
            [{"text": "a"}, {"functionCall": {"name": "f", "args": {}}}, {"functionCall": {"name": "g", "args": {}}}],
            id="calls-in-order",
        ),
        pytest.param(
            [{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "AQID"}],
            [{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "AQID"}],
            id="signed-call",
        ),
    ],
)
def test_parts_stay_what_they_are(given: list[dict[str, Any]], kept: list[dict[str, Any]]) -> None:
    """Only neighbouring bare texts are joined, whether they come in one chunk or in several."""
    assert collected(parts(*given)) == parts(*kept)
    assert collected(*[parts(one) for one in given]) == parts(*kept)


def test_candidates_are_collected_apart() -> None:
    """Chunks of several candidates are joined by index."""
    both = {
        "candidates": [
            {"content": {"role": "model", "parts": [{"text": "a"}]}, "index": 0},
            {"content": {"role": "model", "parts": [{"text": "b"}]}, "index": 1},
        ]
    }
    whole = collected(both, both)
    assert [candidate["content"]["parts"] for candidate in whole["candidates"]] == [[{"text": "aa"}], [{"text": "bb"}]]
