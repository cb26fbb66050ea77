"""Model calls of Strands ↔ hook form; what agents do with them is tested in tests/adapters."""

from typing import Any

import pytest

from hookline.errors import FormatError
from hookline.formats import strands


def native(**given: Any) -> dict[str, Any]:
    """A model call."""
    told: dict[str, Any] = {"model": "m", "system": None, "messages": [], "tools": [], "tool_choice": None}
    return {**told, **given}


def ended(message: Any) -> dict[str, Any]:
    """The end of a model call."""
    return {"message": message, "stop_reason": "end_turn", "usage": {"inputTokens": 1, "outputTokens": 2}}


GUARDED = {"guardContent": {"text": {"text": "secret", "qualifiers": ["query"]}}}
CITED = {"citationsContent": {"content": [{"text": "A fact."}], "citations": [{"title": "t"}]}}


def test_every_block_with_a_text_is_told() -> None:
    """Guarded and cited texts are texts as well, and a rewrite keeps what belongs to the block."""
    history = [{"role": "user", "content": [GUARDED]}, {"role": "assistant", "content": [CITED]}]
    given = native(system=[{"text": "Help."}, {"cachePoint": {}}], messages=history)
    request = strands.to_hook_llm_request(given)
    assert [one["content"] for one in request["messages"]] == ["Help.", "secret", "A fact."]
    wanted: Any = {**request, "messages": [{**one, "content": "[x]"} for one in request["messages"]]}
    changed = strands.from_hook_llm_request(wanted, given)
    assert changed["system"] == [{"text": "[x]"}, {"cachePoint": {}}]
    assert [one["content"] for one in changed["messages"]] == [
        [{"guardContent": {"text": {"text": "[x]", "qualifiers": ["query"]}}}],
        [{"text": "[x]"}],
    ]


def test_an_unknown_message_is_an_error() -> None:
    """It is never read as an empty conversation."""
    with pytest.raises(FormatError, match=r"messages\[0\]"):
        strands.to_hook_llm_request(native(messages=[{"role": "user", "content": "hi"}]))


def test_a_response_with_another_text_keeps_its_other_blocks() -> None:
    """A tool call stays, and so do the token counts; without a text the hook's comes first."""
    call = {"toolUse": {"toolUseId": "c", "name": "f", "input": {}}}
    response = ended({"role": "assistant", "content": [{"text": "secret"}, call]})
    told = strands.to_hook_llm_response(response)
    assert (told["text"], told["usageMetadata"]) == (
        "secret",
        {"promptTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 3},
    )
    assert strands.from_hook_llm_response({"text": "[x]"}, response)["message"]["content"] == [{"text": "[x]"}, call]
    mute = ended({"role": "assistant", "content": [call]})
    assert strands.from_hook_llm_response({"text": "[x]"}, mute)["message"]["content"] == [{"text": "[x]"}, call]
    assert strands.from_hook_llm_response({"text": "hi"})["message"]["content"] == [{"text": "hi"}]


@pytest.mark.parametrize(("has_call", "offered"), [(False, []), (True, ["f"])])
def test_forbidden_tools_stay_declared_beside_their_calls(has_call: bool, offered: list[str]) -> None:
    """Strands has no choice that forbids tools, and providers refuse calls of tools that they do not know."""
    call = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c", "name": "f", "input": {}}}]}
    given = native(messages=[call] if has_call else [], tools=[{"name": "f"}], tool_choice={"any": {}})
    changed = strands.offer(given, lambda _: False)
    assert strands.tool_names(changed) == offered
    assert "tool_choice" not in changed


@pytest.mark.parametrize(
    "block",
    [
        pytest.param({"mystery": {"text": "secret"}}, id="unknown"),
        pytest.param({"text": ["secret"]}, id="no-text"),
        pytest.param({}, id="empty"),
        pytest.param("secret", id="bare"),
    ],
)
def test_an_unknown_block_is_an_error(block: Any) -> None:
    """A text that hooks would miss is never sent without a word."""
    with pytest.raises(FormatError, match=r"messages\[0\]\.content\[1\] is"):
        strands.to_hook_llm_request(native(messages=[{"role": "user", "content": [{"text": "hi"}, block]}]))
    with pytest.raises(FormatError, match=r"system\[0\] is"):
        strands.to_hook_llm_request(native(system=[block]))
    with pytest.raises(FormatError, match=r"message\.content\[0\] is"):
        strands.to_hook_llm_response(ended({"role": "assistant", "content": [block]}))


def test_a_guarded_image_is_no_text() -> None:
    """Bedrock also guards images, which hooks do not see."""
    guarded = {"guardContent": {"image": {"format": "png", "source": {"bytes": b""}}}}
    assert strands.to_hook_llm_request(native(messages=[{"role": "user", "content": [guarded]}]))["messages"] == []
