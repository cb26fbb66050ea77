"""Every type of part, item and tool that the installed SDKs have is known; any other is an error, and never hidden."""

import typing
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import pytest
from anthropic.types import ContentBlock, ContentBlockParam, ToolUnionParam
from anthropic.types.beta import BetaContentBlock, BetaContentBlockParam, BetaToolUnionParam
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionContentPartParam
from openai.types.chat.chat_completion_assistant_message_param import ContentArrayOfContentPart
from openai.types.conversations.message import Content as StoredContent
from openai.types.responses import ResponseInputContentParam, ResponseInputItemParam, ResponseOutputItem, ToolParam
from openai.types.responses.response_output_message import Content as OutputContent

from hookline import FormatError, GenerateContentParameters
from hookline.formats import anthropic, genai, openai


def names_in(union: Any) -> Iterator[str]:
    """The values of `type` in a union of the SDK's types."""
    if get_origin(union) is not None:
        for one in get_args(union):
            yield from names_in(one)
    elif isinstance(union, type):
        fields = getattr(union, "model_fields", None)
        kind = fields["type"].annotation if fields else typing.get_type_hints(union).get("type")
        yield from literals(kind)


def literals(kind: Any) -> Iterator[str]:
    if get_origin(kind) is Literal:
        yield from get_args(kind)
        return
    for one in get_args(kind):
        yield from literals(one)


def in_chat(part: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": "assistant", "content": [part]}]}


def in_item(part: dict[str, Any]) -> dict[str, Any]:
    return {"input": [{"role": "assistant", "content": [part]}]}


CHAT = {*names_in(ChatCompletionContentPartParam), *names_in(ContentArrayOfContentPart)}
PARTS = {*names_in(ResponseInputContentParam), *names_in(OutputContent), *names_in(StoredContent)}
ITEMS = {*names_in(ResponseInputItemParam), *names_in(ResponseOutputItem)}
BLOCKS = {
    name
    for union in (ContentBlockParam, ContentBlock, BetaContentBlockParam, BetaContentBlock)
    for name in names_in(union)
}


@pytest.mark.parametrize(
    ("names", "least", "to_hook"),
    [
        pytest.param(CHAT, 5, lambda part: openai.to_hook_llm_request(in_chat(part)), id="chat"),
        pytest.param(PARTS, 9, lambda part: openai.to_hook_llm_request(in_item(part)), id="items-parts"),
        pytest.param(ITEMS, 31, lambda item: openai.to_hook_llm_request({"input": [item]}), id="items"),
        pytest.param(
            ITEMS,
            31,
            lambda item: openai.to_hook_llm_response({"output": [{**item, "content": None}]}),
            id="items-of-a-response",
        ),
        pytest.param(
            BLOCKS,
            24,
            lambda block: anthropic.to_hook_llm_request({"messages": [{"role": "user", "content": [block]}]}),
            id="anthropic",
        ),
        pytest.param(
            BLOCKS, 24, lambda block: anthropic.to_hook_llm_response({"content": [block]}), id="anthropic-response"
        ),
    ],
)
def test_every_type_of_the_sdk_is_known(names: set[str], least: int, to_hook: Any) -> None:
    """A new version of an SDK with a new type fails here first, and not in a user's agent."""
    assert len(names) >= least
    for name in sorted(names):
        to_hook({"type": name, "text": "a", "role": "user", "content": "a"})
    with pytest.raises(FormatError, match="of the unknown type"):
        to_hook({"type": "mystery", "text": "a", "role": "user", "content": "a"})


def test_every_field_of_a_genai_part_is_known() -> None:
    """The same for google-genai, whose parts and files have fields in place of a type, in both spellings."""
    for model in (types.Part, types.File):
        for name, field in model.model_fields.items():
            for spelling in {name, str(field.alias)}:
                part = {spelling: None} if model is types.Part else {"uri": "u", spelling: None}
                genai.to_hook_llm_request(
                    GenerateContentParameters(model="m", contents=[{"role": "user", "parts": [part]}])
                )
    with pytest.raises(FormatError, match=r"contents\[0\] is .* the unknown txt"):
        genai.to_hook_llm_request(
            GenerateContentParameters(model="m", contents=[{"role": "user", "parts": [{"txt": "a"}]}])
        )
    with pytest.raises(FormatError, match=r"candidates\[0\].content is .* the unknown txt"):
        genai.to_hook_llm_response({"candidates": [{"content": {"parts": [{"txt": "a"}]}}]})


@given(st.text("abcdefgt_", min_size=1, max_size=8))
def test_no_other_type_is_read_as_nothing(name: str) -> None:
    """Any word is known, or an error that names it, its message and its place."""
    part = {"type": name, "text": "a"}
    message = {"messages": [{"role": "user", "content": [part]}]}
    cases: list[tuple[set[str], Any, Any, str]] = [
        (CHAT, openai, in_chat(part), "messages[0].content[0]"),
        (PARTS, openai, in_item(part), "input[0].content[0]"),
        (BLOCKS, anthropic, message, "messages[0].content[0]"),
    ]
    for known, api, native, where in cases:
        if name in known:
            assert api.to_hook_llm_request(native)["messages"]
            continue
        with pytest.raises(FormatError) as caught:
            api.to_hook_llm_request(native)
        assert (caught.value.where, repr(name) in caught.value.found) == (where, True)


FUNCTION = {"type": "function", "name": "read", "parameters": {}, "strict": False}
OWN_TOOLS = {"function", "custom"}


@pytest.mark.parametrize("kind", sorted({*names_in(ToolParam)} - OWN_TOOLS - {"namespace"}))
def test_tools_that_openai_runs_are_restricted_too(kind: str) -> None:
    """They never pass before_tool, so they are offered only if a hook allows them, by their type."""
    native = {"input": "hi", "tools": [FUNCTION, {"type": kind, "server_label": "git"}], "tool_choice": {"type": kind}}
    offered = openai.offer(native, {"read"}.__contains__)
    assert offered["tools"] == [FUNCTION]
    assert "tool_choice" not in offered
    assert openai.offer(native, {"read", kind}.__contains__) is native
    assert openai.offer(native, {"read", "git"}.__contains__)["tools"] == native["tools"]
    assert openai.offer(native, lambda _: False)["tool_choice"] == "none"
    alone = {"input": "hi", "tools": [{"type": kind}]}
    assert openai.offer(alone, {"read"}.__contains__)["tool_choice"] == "none"


@pytest.mark.parametrize("kind", sorted({*names_in(ToolUnionParam), *names_in(BetaToolUnionParam)} - OWN_TOOLS))
def test_tools_of_anthropic_are_restricted_too(kind: str) -> None:
    """By their name, by their type, and by their type without its date."""
    own = {"name": "read", "input_schema": {"type": "object"}}
    native = {"messages": [], "tools": [own, {"type": kind}]}
    assert anthropic.offer(native, {"read"}.__contains__)["tools"] == [own]
    bare = kind[:-9] if kind[-8:].isdigit() else kind
    for name in (kind, bare):
        assert anthropic.offer(native, {"read", name}.__contains__) is native
    named = {"messages": [], "tools": [own, {"type": kind, "name": "web_search"}]}
    assert anthropic.offer(named, {"web_search"}.__contains__)["tools"] == named["tools"][1:]


def test_servers_that_anthropic_calls() -> None:
    """The server of a toolset goes with it, and stays with it where the toolset stays declared."""
    own = {"name": "read", "input_schema": {"type": "object"}}
    server = {"type": "url", "url": "https://x", "name": "git"}
    toolset = {"type": "mcp_toolset", "mcp_server_name": "git"}
    native = {"messages": [], "tools": [own, toolset], "mcp_servers": [server]}
    offered = anthropic.offer(native, {"read"}.__contains__)
    assert (offered["tools"], "mcp_servers" in offered) == ([own], False)
    assert anthropic.offer(native, {"read", "git"}.__contains__) is native
    closed = anthropic.offer(native, lambda _: False)
    assert (closed["tools"], closed["mcp_servers"], closed["tool_choice"]) == (
        [own, toolset],
        [server],
        {"type": "none"},
    )
    without_toolset = {"messages": [], "tools": [own], "mcp_servers": [server]}
    assert "mcp_servers" not in anthropic.offer(without_toolset, {"read"}.__contains__)
    assert "mcp_servers" not in anthropic.offer(without_toolset, lambda _: False)


def test_tools_that_a_conversation_adds() -> None:
    """A restriction holds for them as well: they are filtered where they can be, and else an error."""
    added = {"type": "additional_tools", "role": "developer", "tools": [FUNCTION, {"type": "web_search"}]}
    native = {"input": [{"role": "user", "content": "hi"}, added]}
    assert openai.offer(native, {"read"}.__contains__)["input"][1]["tools"] == [FUNCTION]
    assert openai.offer(native, lambda _: False)["input"] == native["input"][:1]
    assert openai.offer(native, lambda _: True) is native
    group = {"type": "namespace", "name": "files", "tools": [FUNCTION, {**FUNCTION, "name": "write"}]}
    grouped = {"input": "hi", "tools": [group]}
    assert openai.offer(grouped, {"read"}.__contains__)["tools"] == [{**group, "tools": [FUNCTION]}]
    assert openai.offer(grouped, {"files"}.__contains__) is grouped
    definition = {"type": "tool_definition", "definition": {"name": "rm", "input_schema": {}}}
    defined = {"messages": [{"role": "user", "content": [{"type": "tool_addition", "tool": definition}]}]}
    assert anthropic.offer(defined, {"rm"}.__contains__) is defined
    with pytest.raises(FormatError, match=r"messages\[0\] is the definition of the tool 'rm', which is not permitted"):
        anthropic.offer(defined, {"read"}.__contains__)


@pytest.mark.parametrize("parameter", ["functions", "function_call"])
def test_the_parameters_before_tools_are_refused(parameter: str) -> None:
    """A restriction of tools would not reach them."""
    native = {"messages": [], parameter: [{"name": "read"}]}
    for call in (openai.to_hook_llm_request, openai.tool_names, lambda given: openai.offer(given, lambda _: True)):
        with pytest.raises(FormatError, match=f"with {parameter}, .*expected tools and tool_choice"):
            call(native)


@pytest.mark.parametrize(
    ("api", "native"),
    [
        pytest.param(openai, {"messages": [{"role": "user", "content": "secret"}]}, id="chat"),
        pytest.param(openai, {"input": "secret"}, id="items"),
        pytest.param(anthropic, {"messages": [{"role": "user", "content": "secret"}]}, id="anthropic"),
        pytest.param(genai, GenerateContentParameters(model="m", contents="secret"), id="genai"),
    ],
)
def test_a_conversation_that_hooks_dropped_is_not_sent(api: Any, native: Any) -> None:
    """The API says itself whether it takes an empty conversation; the text that hooks dropped is gone."""
    changed = api.from_hook_llm_request({"messages": []}, native)
    assert api.to_hook_llm_request(changed)["messages"] == []
    assert "secret" not in str(changed)
