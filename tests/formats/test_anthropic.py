from typing import Any

import pytest
from anthropic.types import Message

from hookline import FormatError
from hookline.formats import anthropic

MARKED = {"type": "text", "text": "Read it.", "cache_control": {"type": "ephemeral"}}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "signed"}
CALL = {"type": "tool_use", "id": "c1", "name": "read", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "hunter2"}
REQUEST: dict[str, Any] = {
    "model": "claude",
    "max_tokens": 9,
    "system": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {"role": "user", "content": [MARKED, {"type": "image", "source": {"type": "url", "url": "u"}}]},
        {"role": "assistant", "content": [THINKING, {"type": "text", "text": "I will."}, CALL]},
        {"role": "user", "content": [RESULT, {"type": "text", "text": "And now?"}]},
    ],
    "top_k": 5,
    "stop_sequences": ["END"],
    "tool_choice": {"type": "auto"},
    "tools": [{"name": "read", "input_schema": {}}, {"name": "write", "input_schema": {}}],
}
MESSAGES: list[Any] = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Read it."},
    {"role": "model", "content": "I will."},
    {"role": "user", "content": "And now?"},
]


def test_what_hooks_see() -> None:
    """The system prompt first, then the texts of the messages; parameters and the choice of tools."""
    assert anthropic.to_hook_llm_request(REQUEST) == {
        "model": "claude",
        "messages": MESSAGES,
        "config": {"maxOutputTokens": 9, "topK": 5.0, "stopSequences": ["END"]},
        "toolConfig": {"mode": "AUTO"},
    }


def test_cache_marks_calls_and_signatures_stay() -> None:
    """A changed text stays in its block; blocks of other kinds are the very same."""
    messages = [
        MESSAGES[0],
        {"role": "user", "content": "Write it."},
        {"role": "model", "content": "Sure."},
        MESSAGES[3],
    ]
    changed = anthropic.from_hook_llm_request({"messages": messages}, REQUEST)
    assert changed["messages"][0]["content"][0] == {**MARKED, "text": "Write it."}
    assert changed["messages"][1]["content"] == [THINKING, {"type": "text", "text": "Sure."}, CALL]
    assert changed["messages"][1]["content"][0] is THINKING
    assert changed["messages"][2] is REQUEST["messages"][2]
    assert changed["system"] is REQUEST["system"]


@pytest.mark.parametrize(
    ("system", "said", "sent"),
    [
        pytest.param("Be kind.", ["Be brief."], "Be brief.", id="text"),
        pytest.param("Be kind.", ["Be kind.", "And brief."], "Be kind.\n\nAnd brief.", id="added"),
        pytest.param(None, ["Be brief."], "Be brief.", id="new"),
        pytest.param(
            REQUEST["system"],
            ["Be kind.", "And brief."],
            [*REQUEST["system"], {"type": "text", "text": "And brief."}],
            id="blocks",
        ),
    ],
)
def test_system_messages_become_the_system_prompt(system: Any, said: list[str], sent: Any) -> None:
    """Texts of hooks in the role system never become messages; blocks keep their cache marks."""
    base = {name: value for name, value in {**REQUEST, "system": system}.items() if value is not None}
    messages = [*({"role": "system", "content": text} for text in said), *MESSAGES[1:]]
    changed = anthropic.from_hook_llm_request({"messages": messages}, base)
    assert changed["system"] == sent
    assert changed["messages"] == REQUEST["messages"]


def test_a_dropped_system_prompt_is_gone() -> None:
    """A hook that leaves it out drops it."""
    assert "system" not in anthropic.from_hook_llm_request({"messages": MESSAGES[1:]}, REQUEST)


def test_a_note_and_a_restriction() -> None:
    """A note is the last message; tools that are not permitted are not offered."""
    assert anthropic.with_note(REQUEST, "Hm.")["messages"][-1] == {"role": "user", "content": "[System] Hm."}
    assert [tool["name"] for tool in anthropic.offer(REQUEST, {"read"}.__contains__)["tools"]] == ["read"]
    assert anthropic.offer(REQUEST, {"read"}.__contains__, "ANY")["tool_choice"] == {"type": "any"}
    closed = anthropic.offer(REQUEST, lambda _: False)
    assert (closed["tool_choice"], closed["tools"]) == ({"type": "none"}, REQUEST["tools"])
    forced = {**REQUEST, "tool_choice": {"type": "tool", "name": "read"}}
    assert anthropic.to_hook_llm_request(forced)["toolConfig"] == {"mode": "ANY", "allowedFunctionNames": ["read"]}
    assert "tool_choice" not in anthropic.offer(forced, {"write"}.__contains__)


@pytest.mark.parametrize(
    ("native", "message"),
    [
        pytest.param({}, "messages is missing", id="nothing"),
        pytest.param({"messages": [{"role": "tool", "content": "a"}]}, "of the role 'tool'", id="openai"),
        pytest.param({"messages": [{"role": "user"}]}, "an object with role", id="no-content"),
        pytest.param({"messages": [{"role": "user", "content": ["hi"]}]}, r"content\[0\] is a text", id="bare-text"),
        pytest.param({"messages": [{"role": "user", "content": [{"text": "hi"}]}]}, r"content\[0\]", id="genai-part"),
        pytest.param({"messages": [], "system": {"text": "a"}}, "system is an object", id="system"),
        pytest.param(
            {"messages": [{"role": "user", "content": [{"type": "txt", "text": "hi"}]}]},
            r"messages\[0\].content\[0\] is of the unknown type 'txt'.*expected a type such as 'text'",
            id="block",
        ),
        pytest.param(
            {"messages": [], "system": [{"type": "hm"}]}, r"system\[0\] is of the unknown type", id="system-type"
        ),
        pytest.param({"messages": [{"role": [], "content": "a"}]}, r"messages\[0\]", id="no-role"),
        pytest.param({"messages": [], "system": iter([{"type": "text"}])}, "system is of the type", id="any-system"),
        pytest.param({"messages": [], "system": [{"text": "a"}]}, r"system\[0\]", id="system-block"),
    ],
)
def test_unknown_requests_are_refused(native: Any, message: str) -> None:
    """A shape in which a text could be missed is an error that says where it is."""
    with pytest.raises(FormatError, match=message):
        anthropic.to_hook_llm_request(native)


RESPONSE: dict[str, Any] = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "claude",
    "stop_reason": "max_tokens",
    "usage": {"input_tokens": 3, "output_tokens": 4},
    "content": [
        THINKING,
        {
            "type": "text",
            "text": "secret",
            "citations": [
                {
                    "type": "char_location",
                    "cited_text": "secret",
                    "document_index": 0,
                    "document_title": "t",
                    "start_char_index": 0,
                    "end_char_index": 6,
                    "file_id": None,
                }
            ],
        },
        CALL,
    ],
}


@pytest.mark.parametrize("response", [Message.model_validate(RESPONSE), RESPONSE], ids=["object", "json"])
def test_a_response(response: Any) -> None:
    """Hooks see its text; a redaction keeps thinking and calls, and leaves no trace of the old text."""
    seen = anthropic.to_hook_llm_response(response)
    assert seen == {
        "text": "secret",
        "candidates": [{"content": {"role": "model", "parts": ["secret"]}, "finishReason": "MAX_TOKENS", "index": 0}],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4, "totalTokenCount": 7},
    }
    changed = Message.model_validate(
        anthropic.from_hook_llm_response({"text": "[gone]"}, response), from_attributes=True
    )
    assert [block.type for block in changed.content] == ["thinking", "text", "tool_use"]
    assert "secret" not in changed.model_dump_json()
    assert "signed" in changed.model_dump_json()
    assert anthropic.from_hook_llm_response(seen, response) is response


def test_responses_without_text() -> None:
    """A hook may put a text where the model only called a tool, and take one away."""
    quiet = {**RESPONSE, "content": [CALL]}
    assert anthropic.to_hook_llm_response(quiet)["candidates"][0]["content"]["parts"] == []
    said = anthropic.from_hook_llm_response({"text": "Hm."}, quiet)
    assert said["content"] == [{"type": "text", "text": "Hm."}, CALL]
    assert anthropic.from_hook_llm_response({"text": ""}, RESPONSE)["content"] == [THINKING, CALL]
    made = Message.model_validate(anthropic.from_hook_llm_response({"text": "Later."}))
    assert [block.type for block in made.content] == ["text"]


@pytest.mark.parametrize("response", [{}, "hi", {"choices": []}, {"content": "hi"}, {"content": [{"text": "a"}]}])
def test_unknown_responses_are_refused(response: Any) -> None:
    """The same for responses."""
    with pytest.raises(FormatError):
        anthropic.to_hook_llm_response(response)
