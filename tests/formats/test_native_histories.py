"""For every model API: a rewrite loses nothing that hooks can't see, and touches nothing that they left alone."""

from collections import Counter
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import pytest
from anthropic.types import Message as AnthropicMessage
from anthropic.types import TextBlock, ThinkingBlock, ToolUseBlock
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessage
from openai.types.responses import ResponseOutputMessage, ResponseReasoningItem

from hookline.formats import anthropic, openai

# A hundred random histories each: on a busy machine that takes more than the usual limit of a test.
pytestmark = pytest.mark.timeout(120)

words = st.text("ab c", min_size=1, max_size=6).filter(lambda text: bool(text.strip()))
marks = st.fixed_dictionaries({}, optional={"cache_control": st.just({"type": "ephemeral"})})
Say = tuple[str, str]


def _text_part(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(lambda text, mark: {"type": kind, "text": text, **mark}, words, marks)


def _ids() -> st.SearchStrategy[str]:
    return st.uuids().map(str)


# --- chat completions

_image = st.builds(lambda name: {"type": "image_url", "image_url": {"url": name}}, _ids())
_chat_content = words | st.lists(_text_part("text") | _image, min_size=1, max_size=3)
_chat_plain = st.builds(
    lambda role, content, name: {"role": role, "content": content, **name},
    st.sampled_from(["user", "system", "developer"]),
    _chat_content,
    st.fixed_dictionaries({}, optional={"name": words}),
)
_chat_said = st.builds(lambda text: ChatCompletionMessage(role="assistant", content=text), words) | st.builds(
    lambda text, refusal: {"role": "assistant", "content": text, "refusal": refusal}, st.none() | words, words
)


def _chat_round(ids: list[str], text: str | None) -> list[Any]:
    calls = [{"id": one, "type": "function", "function": {"name": "f", "arguments": "{}"}} for one in ids]
    called: Any = {"role": "assistant", "content": text, "tool_calls": calls}
    return [called, *({"role": "tool", "tool_call_id": one, "content": f"result {one}"} for one in ids)]


_chat_rounds = st.builds(_chat_round, st.lists(_ids(), min_size=1, max_size=2, unique=True), st.none() | words)
chat_histories = st.lists(st.lists(_chat_plain | _chat_said, min_size=1, max_size=2) | _chat_rounds, max_size=5).map(
    lambda rounds: {"model": "m", "messages": [one for some in rounds for one in some]}
)

# --- the Responses API

_item_plain = st.builds(
    lambda role, content: {"role": role, "content": content},
    st.sampled_from(["user", "system", "developer"]),
    words | st.lists(_text_part("input_text"), min_size=1, max_size=2),
)


def _output_message(one: str, text: str) -> ResponseOutputMessage:
    part = {"type": "output_text", "text": text, "annotations": []}
    message = {"id": one, "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    return ResponseOutputMessage.model_validate(message)


def _item_round(ids: list[str], thought: str) -> list[Any]:
    reasoning = ResponseReasoningItem.model_validate({"id": thought, "type": "reasoning", "summary": []})
    calls = [{"type": "function_call", "call_id": one, "name": "f", "arguments": "{}"} for one in ids]
    return [reasoning, *calls, *({"type": "function_call_output", "call_id": one, "output": one} for one in ids)]


_item_rounds = st.builds(_item_round, st.lists(_ids(), min_size=1, max_size=2, unique=True), _ids())
_item_said = st.builds(_output_message, _ids(), words)
item_histories = st.builds(
    lambda rounds, instructions: {"model": "m", "input": [one for some in rounds for one in some], **instructions},
    st.lists(st.lists(_item_plain | _item_said, min_size=1, max_size=2) | _item_rounds, max_size=5),
    st.fixed_dictionaries({}, optional={"instructions": words}),
)

# --- Anthropic

_block = _text_part("text") | st.builds(lambda one: {"type": "image", "source": {"type": "url", "url": one}}, _ids())
_anthropic_user = st.builds(
    lambda content: {"role": "user", "content": content}, words | st.lists(_block, min_size=1, max_size=3)
)
_anthropic_said = st.builds(lambda text: {"role": "assistant", "content": text}, words)


def _anthropic_round(ids: list[str], text: str | None, thought: str, said: str | None) -> list[Any]:
    calls = [ToolUseBlock(id=one, type="tool_use", name="f", input={}) for one in ids]
    spoken = [] if text is None else [TextBlock(type="text", text=text)]
    thinking = ThinkingBlock(type="thinking", thinking=thought, signature=f"signed {thought}")
    results: list[Any] = [{"type": "tool_result", "tool_use_id": one, "content": "a result"} for one in ids]
    more = [] if said is None else [{"type": "text", "text": said}]
    return [
        {"role": "assistant", "content": [thinking, *spoken, *calls]},
        {"role": "user", "content": [*results, *more]},
    ]


_anthropic_rounds = st.builds(
    _anthropic_round,
    st.lists(_ids(), min_size=1, max_size=2, unique=True),
    st.none() | words,
    _ids(),
    st.none() | words,
)
anthropic_histories = st.builds(
    lambda rounds, system: {
        "model": "m",
        "max_tokens": 9,
        "messages": [one for some in rounds for one in some],
        **system,
    },
    st.lists(st.lists(_anthropic_user | _anthropic_said, min_size=1, max_size=2) | _anthropic_rounds, max_size=5),
    st.fixed_dictionaries({}, optional={"system": words | st.lists(_text_part("text"), min_size=1, max_size=2)}),
)

APIS: dict[str, tuple[ModuleType, st.SearchStrategy[Any]]] = {
    "chat": (openai, chat_histories),
    "items": (openai, item_histories),
    "anthropic": (anthropic, anthropic_histories),
}
answers = st.lists(st.tuples(st.sampled_from(["user", "model", "system"]), words), max_size=3)


@st.composite
def conversations(draw: st.DrawFn) -> tuple[ModuleType, Any, list[Say]]:
    """A request of any API, and what a hook makes of its messages: some of them, in any order, and others."""
    api, histories = draw(st.sampled_from(list(APIS.values())))
    native = draw(histories)
    own = [(message["role"], message["content"]) for message in api.to_hook_llm_request(native)["messages"]]
    kept = draw(st.lists(st.sampled_from(own), max_size=8)) if own else []
    return api, native, draw(st.permutations(kept + draw(answers)) | st.just([*own, *draw(answers)]))


def rewritten(api: ModuleType, native: Any, said: list[Say]) -> Any:
    messages = [{"role": role, "content": content} for role, content in said]
    return api.from_hook_llm_request({"messages": messages}, native)


def plain(value: Any) -> Any:
    """The value as JSON, whatever its kind."""
    if hasattr(value, "model_dump"):
        return plain(value.model_dump(exclude_none=True))
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    return [*map(plain, value)] if isinstance(value, list | tuple) else value


def contents_of(native: Any) -> list[Any]:
    found = native.get("messages", native.get("input"))
    return [found] if isinstance(found, str) else plain(found)


def hidden(native: Any) -> list[str]:
    """Everything that hooks don't see, in order: calls, results, thoughts; images in the order of their messages."""
    found: list[str] = []
    for one in contents_of(native):
        if not isinstance(one, dict):
            continue
        if one.get("role") == "tool" or one.get("type", "message") != "message":
            found.append(str(one))
            continue
        found += [str(call) for call in one.get("tool_calls") or ()]
        if one.get("refusal"):
            found.append(f"refusal {one['refusal']}")
        content = one.get("content")
        parts = content if isinstance(content, list) else []
        found += [str(part) for part in parts if part["type"] not in ("text", "input_text", "output_text")]
    return found


def ordered(native: Any) -> list[str]:
    """The ids of calls and results, in order."""
    marks = ("'tool_use'", "tool_result", "'function'", "'role': 'tool'", "function_call", "reasoning", "signature")
    return [one for one in hidden(native) if any(mark in one for mark in marks)]


@given(conversations())
def test_no_answer_loses_what_hooks_do_not_see(conversation: tuple[ModuleType, Any, list[Say]]) -> None:
    """For any history and any answer, everything hidden is still there, and calls, results and thoughts in order."""
    api, native, said = conversation
    changed = rewritten(api, native, said)
    assert Counter(hidden(changed)) == Counter(hidden(native))
    assert ordered(changed) == ordered(native)


@given(conversations())
def test_results_follow_their_calls(conversation: tuple[ModuleType, Any, list[Say]]) -> None:
    """Nothing comes between a message with calls and what the tools returned."""
    api, native, said = conversation
    contents = contents_of(rewritten(api, native, said))
    for number, one in enumerate(contents):
        if isinstance(one, dict) and one.get("role") == "tool":
            assert contents[number - 1].get("tool_calls") or contents[number - 1]["role"] == "tool"
        if isinstance(one, dict) and "tool_result" in str(one.get("content")):
            assert "'tool_use'" in str(contents[number - 1]["content"])


@given(conversations())
def test_the_rewritten_request_says_what_the_hook_said(conversation: tuple[ModuleType, Any, list[Say]]) -> None:
    """Hooks that look at the rewritten request see the messages that were asked for."""
    api, native, said = conversation
    changed = rewritten(api, native, said)
    if changed is native:
        return
    shown = [(one["role"], one["content"]) for one in api.to_hook_llm_request(changed)["messages"]]
    own = [(one["role"], one["content"]) for one in api.to_hook_llm_request(native)["messages"]]
    if all(role == "system" and (role, text) not in own for role, text in said):
        # New system messages alone are not a conversation: the others stay.
        said = [*said, *(one for one in own if one[0] != "system")] if said else said
    texts = [Counter(text for role, text in some if role != "system") for some in (shown, said)]
    assert texts[0] == texts[1]
    assert sorted("".join(text for role, text in shown if role == "system").replace("\n", "")) == sorted(
        "".join(text for role, text in said if role == "system").replace("\n", "")
    )


@given(conversations())
def test_messages_that_were_left_alone_are_the_same_objects(conversation: tuple[ModuleType, Any, list[Say]]) -> None:
    """A message added at the end leaves every other object as it is."""
    api, native, _ = conversation
    own = [(one["role"], one["content"]) for one in api.to_hook_llm_request(native)["messages"]]
    changed = rewritten(api, native, [*own, ("user", "and this")])
    key = "messages" if "messages" in native else "input"
    assert all(new is old for new, old in zip(changed[key], native[key], strict=False))
    assert len(changed[key]) == len(native[key]) + 1


@given(conversations())
def test_an_unchanged_answer_gives_the_same_request(conversation: tuple[ModuleType, Any, list[Say]]) -> None:
    """A hook that returns the request as it got it changes nothing at all."""
    api, native, _ = conversation
    assert api.from_hook_llm_request(api.to_hook_llm_request(native), native) is native


@given(conversations(), words)
def test_a_changed_text_keeps_the_rest_of_its_message(
    conversation: tuple[ModuleType, Any, list[Say]], new: str
) -> None:
    """Names, cache marks, images, calls and signatures of a message survive a change of its text."""
    api, native, _ = conversation
    own = [(one["role"], one["content"]) for one in api.to_hook_llm_request(native)["messages"]]
    for number, (role, _) in enumerate(own):
        changed = rewritten(api, native, [*own[:number], (role, new), *own[number + 1 :]])
        assert Counter(hidden(changed)) == Counter(hidden(native))
        both = native, changed
        names = [Counter(one.get("name") for one in contents_of(some) if isinstance(one, dict)) for some in both]
        # A text that another message has already may take its place.
        assert names[0] == names[1]


@pytest.mark.parametrize("kind", ["user", "assistant"])
def test_an_anthropic_response_can_be_history(kind: str) -> None:
    """The SDK's own response, whose content programs append to the conversation, is read like any other message."""
    message = AnthropicMessage.model_validate(
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 1, "output_tokens": 1},
            "content": [{"type": "text", "text": "hello"}],
        }
    )
    native = {"model": "m", "messages": [{"role": kind, "content": message.content}]}
    assert anthropic.to_hook_llm_request(native)["messages"][0]["content"] == "hello"
