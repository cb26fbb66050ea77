import typing
from typing import Any

import pytest
from openai import omit
from openai.types.chat import ChatCompletion
from openai.types.responses import Response
from openai.types.responses.response_input_item import ResponseInputItem

from hookline import FormatError, LLMRequest
from hookline.formats import openai
from hookline.formats.openai.items import _check

CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
TOOLS = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in ("read", "write")]
CHAT: dict[str, Any] = {
    "model": "gpt",
    "messages": [
        {"role": "developer", "content": "Be kind."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "Read it."}, {"type": "image_url", "image_url": {"url": "u"}}],
        },
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "hunter2"},
        {"role": "assistant", "content": "Done.", "name": "bot"},
    ],
    "max_tokens": 9,
    "stop": "END",
    "n": 2,
    "tool_choice": "auto",
    "tools": TOOLS,
    "metadata": {"a": "b"},
}
ITEMS: dict[str, Any] = {
    "model": "gpt",
    "instructions": "Be kind.",
    "input": [
        {
            "role": "user",
            "content": [{"type": "input_text", "text": "Read it."}, {"type": "input_image", "file_id": "f"}],
        },
        {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "xyz"},
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "hunter2"},
    ],
    "max_output_tokens": 9,
    "tools": [{"type": "function", "name": "read"}, {"type": "function", "name": "write"}, {"type": "web_search"}],
}


def test_what_hooks_see_of_a_chat_request() -> None:
    """Texts, parameters and the choice of tools; what tools returned is not for these hooks."""
    assert openai.to_hook_llm_request(CHAT) == {
        "model": "gpt",
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Read it."},
            {"role": "model", "content": "Done."},
        ],
        "config": {"maxOutputTokens": 9, "stopSequences": ["END"], "candidateCount": 2},
        "toolConfig": {"mode": "AUTO"},
    }


def test_what_hooks_see_of_items() -> None:
    """Instructions come first, as a system message."""
    assert openai.to_hook_llm_request(ITEMS) == {
        "model": "gpt",
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Read it."}],
        "config": {"maxOutputTokens": 9},
    }
    assert openai.to_hook_llm_request({"model": "gpt", "input": "Hello."})["messages"] == [
        {"role": "user", "content": "Hello."}
    ]


def test_a_chat_request_is_changed() -> None:
    """The changes of hooks are written under the names that the request uses; everything else stays."""
    wanted: LLMRequest = {
        "model": "other",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Read it."},
            {"role": "model", "content": "Done."},
        ],
        "config": {"maxOutputTokens": 5, "temperature": 0.5, "candidateCount": 2},
    }
    changed = openai.from_hook_llm_request(wanted, CHAT)
    assert changed["messages"][0] == {"role": "developer", "content": "Be brief."}
    assert all(new is old for new, old in zip(changed["messages"][1:], CHAT["messages"][1:], strict=True))
    assert {name: changed[name] for name in ("model", "max_tokens", "temperature", "n", "metadata")} == {
        "model": "other",
        "max_tokens": 5,
        "temperature": 0.5,
        "n": 2,
        "metadata": {"a": "b"},
    }
    assert CHAT["max_tokens"] == 9


def test_a_parameter_that_a_hook_unsets_is_gone() -> None:
    """Null unsets, and what an API does not have is reported once and not sent."""
    changed = openai.from_hook_llm_request({"config": {"maxOutputTokens": None}}, CHAT)
    assert "max_tokens" not in changed


def test_a_parameter_that_the_api_does_not_have(capsys: pytest.CaptureFixture[str]) -> None:
    """It is not sent, and the user gets one message."""
    for _ in range(2):
        assert openai.from_hook_llm_request({"config": {"topK": 7.0}}, ITEMS) is ITEMS
    assert capsys.readouterr().err.count("set topK, which OpenAI's Responses API does not have") <= 1


def test_instructions_are_changed_and_dropped() -> None:
    """The system prompt stays a parameter; a second system message is an item."""
    system = [{"role": "system", "content": "Be kind!"}, {"role": "system", "content": "42"}]
    changed = openai.from_hook_llm_request({"messages": [*system, {"role": "user", "content": "Read it."}]}, ITEMS)
    assert changed["instructions"] == "Be kind!"
    assert changed["input"][0] == {"role": "system", "content": "42"}
    assert changed["input"][1:] == ITEMS["input"]
    dropped = openai.from_hook_llm_request({"messages": [{"role": "user", "content": "Read it."}]}, ITEMS)
    assert (dropped["instructions"], dropped["input"]) == (None, ITEMS["input"])


def test_a_bare_input_stays_a_text_if_it_can() -> None:
    """One text is one text; with a note it becomes a list of messages."""
    native = {"model": "gpt", "input": "Hello."}
    assert openai.from_hook_llm_request({"messages": [{"role": "user", "content": "Bye."}]}, native)["input"] == "Bye."
    assert openai.with_note(native, "Be brief.")["input"] == [
        {"role": "user", "content": "Hello."},
        {"role": "user", "content": "[System] Be brief."},
    ]


@pytest.mark.parametrize("native", [CHAT, ITEMS], ids=["chat", "items"])
def test_tools_are_restricted(native: dict[str, Any]) -> None:
    """Only what is permitted is offered; with nothing permitted the tools stay declared and may not be called."""
    offered = openai.offer(native, {"read"}.__contains__)
    names = [openai._api_of(native).tool_name(tool) for tool in offered["tools"]]
    assert [name for name in names if name] == ["read"]
    assert openai.offer(native, lambda _: True) is native
    assert openai.offer(native, {"read"}.__contains__, "ANY")["tool_choice"] == "required"
    closed = openai.offer(native, lambda _: False)
    assert (closed["tool_choice"], closed["tools"]) == ("none", native["tools"])
    assert openai.from_hook_llm_request({"toolConfig": {"mode": "NONE"}}, native)["tool_choice"] == "none"


@pytest.mark.parametrize(
    ("choice", "seen"),
    [
        pytest.param("required", {"mode": "ANY"}, id="required"),
        pytest.param("none", {"mode": "NONE"}, id="none"),
        pytest.param(
            {"type": "function", "function": {"name": "read"}},
            {"mode": "ANY", "allowedFunctionNames": ["read"]},
            id="function",
        ),
        pytest.param(
            {"type": "function", "name": "read"}, {"mode": "ANY", "allowedFunctionNames": ["read"]}, id="item"
        ),
        pytest.param(
            {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": TOOLS[:1]}},
            {"mode": "AUTO", "allowedFunctionNames": ["read"]},
            id="allowed",
        ),
    ],
)
def test_how_the_choice_of_tools_is_read(choice: Any, seen: Any) -> None:
    """Hooks see which tools the program allows itself; a forced tool that is not offered any more is not forced."""
    native = {**CHAT, "tool_choice": choice}
    assert openai.to_hook_llm_request(native)["toolConfig"] == seen
    if "allowedFunctionNames" in seen:
        assert "tool_choice" not in openai.offer(native, {"write"}.__contains__)


BAD: list[Any] = [
    pytest.param({"model": "m"}, "messages is missing", id="nothing"),
    pytest.param({"messages": "hi"}, "messages is of the type str", id="text"),
    pytest.param({"messages": ["hi"]}, r"messages\[0\] is of the type str", id="list-of-texts"),
    pytest.param(
        {"messages": [{"role": "user", "parts": [{"text": "hi"}]}]}, r"messages\[0\] is without content", id="genai"
    ),
    pytest.param({"messages": [{"role": "model", "content": "hi"}]}, "of the role 'model'", id="role"),
    pytest.param(
        {"messages": [{"role": "user", "content": {"text": "hi"}}]}, "an object with role, content", id="object"
    ),
    pytest.param(
        {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}, r"messages\[0\].content\[0\]", id="part"
    ),
    pytest.param(
        {"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "whose text is missing", id="no-text"
    ),
    pytest.param(
        {"input": [{"type": "mystery", "body": "hi"}]}, r"input\[0\] is of the unknown type 'mystery'", id="item"
    ),
    pytest.param(
        {"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": [{"type": "txt", "text": "hi"}]}]},
        r"messages\[1\].content\[0\] is of the unknown type 'txt'.*expected a type such as 'text'",
        id="part",
    ),
    pytest.param(
        {"input": [{"role": "user", "content": [{"type": "input_txt", "text": "hi"}]}]},
        r"input\[0\].content\[0\] is of the unknown type 'input_txt'.*expected a type such as 'input_text'",
        id="part-of-an-item",
    ),
    pytest.param({"input": [{"content": "hi"}]}, r"input\[0\] is an object with content", id="no-role"),
    pytest.param({"input": {"role": "user"}}, "input is an object with role", id="no-list"),
    pytest.param({"input": "hi", "instructions": ["a"]}, "instructions is of the type list", id="instructions"),
    pytest.param({"input": "hi", "instructions": iter("ab")}, "instructions is of the type", id="any-instructions"),
    pytest.param({"input": [{"role": [], "content": "hi"}]}, r"input\[0\]", id="no-role-at-all"),
    pytest.param({"prompt": "hi"}, "prompt is of the type str", id="text-completion"),
    pytest.param({"prompt": ["hi"]}, "prompt is of the type list", id="text-completions"),
    pytest.param(
        {"prompt": {"id": "p", "variables": {"name": "hi"}}}, "prompt.variables is an object with name", id="variables"
    ),
    pytest.param({"messages": None}, "messages is missing", id="no-messages"),
    pytest.param({"input": None}, "input is missing; expected a text or a list of items", id="no-input"),
    pytest.param({"input": omit, "prompt": omit}, "input is missing", id="input-that-is-not-given"),
    pytest.param({"messages": [{"role": "assistant", "text": "hi"}]}, r"messages\[0\] is without content", id="text"),
    pytest.param({"messages": [], "input": "hi"}, "both messages and input", id="two-conversations"),
    pytest.param("hi", "the request is of the type str", id="no-request"),
]


@pytest.mark.parametrize(("native", "message"), BAD)
def test_unknown_requests_are_refused(native: Any, message: str) -> None:
    """A shape in which a text could be missed is an error that says where it is; never an empty conversation."""
    with pytest.raises(FormatError, match=message):
        openai.to_hook_llm_request(native)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_of_equal_messages_only_the_changed_one_changes(number: int) -> None:
    """The others are the same objects, with the names and marks that hooks do not see."""
    base = {"model": "m", "messages": [{"role": "user", "content": "a", "name": name} for name in "xyz"]}
    wanted: Any = openai.to_hook_llm_request(base)
    wanted["messages"][number]["content"] = "changed"
    changed = openai.from_hook_llm_request(wanted, base)["messages"]
    assert [one["name"] for one in changed] == ["x", "y", "z"]
    assert [new is old for new, old in zip(changed, base["messages"], strict=True)].count(False) == 1


def test_what_the_sdk_leaves_out_is_no_text() -> None:
    """The SDK's marks for parameters that are not given, and a stored prompt without texts of this request."""
    given = {"input": "hi", "instructions": omit, "prompt": {"id": "p", "version": "1"}, "tools": omit}
    assert openai.to_hook_llm_request(given)["messages"] == [{"role": "user", "content": "hi"}]
    assert openai.offer(given, lambda _: False) is given


@pytest.mark.parametrize("stored", ["prompt", "previous_response_id", "conversation"])
def test_what_openai_keeps_needs_no_input(stored: str) -> None:
    """Hooks see that this request itself has no messages."""
    kept = {"id": "p"} if stored == "prompt" else "resp_1"
    assert openai.to_hook_llm_request({"model": "m", "input": None, stored: kept})["messages"] == []


def test_tools_that_can_be_read_once_are_refused() -> None:
    """They could not be counted and sent; passing them on would offer what is not permitted."""
    with pytest.raises(FormatError, match="tools is of the type"):
        openai.offer({"messages": [], "tools": iter([{"type": "function"}])}, lambda _: False)


def test_every_item_of_the_sdk_is_known() -> None:
    """Every type of item that the installed SDK has can be sent."""
    union = typing.get_args(ResponseInputItem)[0]
    for kind in typing.get_args(union):
        named = kind.model_fields.get("type")
        names = [name for one in typing.get_args(named.annotation) for name in (typing.get_args(one) or (one,))]
        for name in names:
            if isinstance(name, str):
                _check({"type": name, "role": "user", "content": "a"}, "here")


COMPLETION = ChatCompletion.model_validate(
    {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "gpt",
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "logprobs": {"content": [{"token": "secret", "logprob": 0, "top_logprobs": []}]},
                "message": {"role": "assistant", "content": "secret", "tool_calls": [CALL]},
            }
        ],
    }
)


@pytest.mark.parametrize("response", [COMPLETION, COMPLETION.model_dump()], ids=["object", "json"])
def test_a_chat_response(response: Any) -> None:
    """Hooks see its text; a redaction keeps the calls, and leaves no trace of the old text."""
    assert openai.to_hook_llm_response(response) == {
        "text": "secret",
        "candidates": [{"content": {"role": "model", "parts": ["secret"]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4, "totalTokenCount": 7},
    }
    changed = ChatCompletion.model_validate(
        openai.from_hook_llm_response({"text": "[gone]"}, response), from_attributes=True
    )
    (choice,) = changed.choices
    assert choice.message.content == "[gone]"
    assert choice.message.tool_calls == COMPLETION.choices[0].message.tool_calls
    assert "secret" not in changed.model_dump_json()
    assert openai.from_hook_llm_response(openai.to_hook_llm_response(response), response) is response


def test_a_response_without_text() -> None:
    """A model that only calls tools gives no text, which is not an error."""
    quiet = {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [CALL]}}]}
    assert openai.to_hook_llm_response(quiet) == {
        "candidates": [{"content": {"role": "model", "parts": []}, "index": 0}]
    }
    changed = openai.from_hook_llm_response({"text": "Hm."}, quiet)
    assert changed["choices"][0]["message"] == {"role": "assistant", "content": "Hm.", "tool_calls": [CALL]}


RESPONSE: dict[str, Any] = {
    "id": "x",
    "object": "response",
    "created_at": 0,
    "model": "gpt",
    "status": "incomplete",
    "tools": [],
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "incomplete_details": {"reason": "max_output_tokens"},
    "output": [
        {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "xyz"},
        {
            "type": "message",
            "id": "m1",
            "role": "assistant",
            "status": "completed",
            "content": [
                {"type": "output_text", "text": "the ", "annotations": []},
                {"type": "output_text", "text": "secret", "annotations": []},
                {"type": "refusal", "refusal": "no"},
            ],
        },
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"},
    ],
}


@pytest.mark.parametrize("response", [Response.model_validate(RESPONSE), RESPONSE], ids=["object", "json"])
def test_a_response_of_items(response: Any) -> None:
    """All texts of a response are one candidate; every other item and part survives a redaction."""
    seen = openai.to_hook_llm_response(response)
    assert seen["text"] == "the secret"
    assert seen["candidates"][0]["finishReason"] == "MAX_TOKENS"
    changed = openai.from_hook_llm_response({"text": "the [gone]"}, response)
    checked = Response.model_validate(changed, from_attributes=True).model_dump(exclude_none=True)
    assert [item["type"] for item in checked["output"]] == ["reasoning", "message", "function_call"]
    assert [part.get("text", "-") for part in checked["output"][1]["content"]] == ["the ", "[gone]", "-"]
    assert openai.from_hook_llm_response(seen, response) is response


def test_synthetic_responses_are_what_the_sdk_reads() -> None:
    """A hook's response in the model's place, as JSON that the SDK's types accept."""
    chat = ChatCompletion.model_validate(openai.from_hook_llm_response({"text": "Later."}))
    assert chat.choices[0].message.content == "Later."
    items = Response.model_validate(openai.from_hook_llm_response({"text": "Later."}, is_items=True))
    assert items.output_text == "Later."


@pytest.mark.parametrize(
    "response",
    [
        {},
        "hi",
        {"content": []},
        {"choices": [{"delta": {}}]},
        {"choices": [{"message": "hi"}]},
        {"choices": [{"message": {"role": "assistant", "text": "hi"}}]},
        {"choices": [{"message": {"content": 5}}]},
        {"choices": [{"message": {"content": {"text": "hi"}}}]},
        {"choices": [{"message": {"content": [{"text": "hi"}]}}]},
        {"output": [{}]},
        {"output": 1},
        {"output": [{"type": "message", "content": {"text": "hi"}}]},
        {"output": [{"type": "message", "content": [{"body": "hi"}]}]},
    ],
)
def test_unknown_responses_are_refused(response: Any) -> None:
    """The same for responses, chunks of a stream among them."""
    with pytest.raises(FormatError):
        openai.to_hook_llm_response(response)
