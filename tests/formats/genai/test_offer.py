from typing import Any

from google.genai import types

from hookline import GenerateContentParameters
from hookline.formats import anthropic, genai, openai

TOOL = types.Tool(function_declarations=[types.FunctionDeclaration(name=name) for name in ("read", "write")])
SEARCH = types.Tool(google_search=types.GoogleSearch())


def lookup(word: str) -> str:
    """A Python function as a tool."""
    return word


REQUEST = GenerateContentParameters(
    model="gemini", contents="hi", config=types.GenerateContentConfig(tools=[TOOL, SEARCH, lookup])
)


def test_all_formats_have_the_same_names() -> None:
    """A program changes its API by changing one import."""
    for name in genai.__all__:
        assert callable(getattr(openai, name))
        assert callable(getattr(anthropic, name))


def test_all_formats_know_the_names_of_the_tools() -> None:
    """The names are those of tools that the program runs: the API's tools have no names there."""
    chat = {"messages": [], "tools": [{"type": "function", "function": {"name": "read"}}, {"type": "web_search"}]}
    items = {"input": "hi", "tools": [{"type": "function", "name": "read"}, {"type": "web_search"}]}
    assert genai.tool_names(REQUEST) == ["read", "write", "lookup"]
    assert genai.tool_names(GenerateContentParameters(model="gemini", contents="hi")) == []
    assert openai.tool_names(chat) == openai.tool_names(items) == ["read"]
    assert anthropic.tool_names({"messages": [], "tools": [{"name": "read", "input_schema": {}}]}) == ["read"]


def test_functions_are_offered_as_they_are_permitted() -> None:
    """Tools that are not permitted go, also those that the API runs itself; if all are permitted, nothing changes."""
    config: Any = genai.offer(REQUEST, {"read"}.__contains__).config
    assert [[one.name for one in tool.function_declarations or []] for tool in config.tools] == [["read"]]
    searching: Any = genai.offer(REQUEST, {"read", "google_search"}.__contains__).config
    assert searching.tools[1] is SEARCH
    both = types.Tool(google_search=types.GoogleSearch(), function_declarations=TOOL.function_declarations)
    mixed: Any = genai.offer(
        GenerateContentParameters(model="m", contents="hi", config=types.GenerateContentConfig(tools=[both])),
        {"read"}.__contains__,
    ).config
    assert mixed.tools[0].google_search is None
    assert [one.name for one in mixed.tools[0].function_declarations] == ["read"]
    as_json = GenerateContentParameters(
        model="m", contents="hi", config={"tools": [{"googleSearch": {}, "functionDeclarations": [{"name": "read"}]}]}
    )
    plain: Any = genai.offer(as_json, {"read"}.__contains__).config
    assert plain["tools"] == [{"googleSearch": None, "functionDeclarations": [{"name": "read"}]}]
    assert genai.offer(REQUEST, lambda _: True) is REQUEST
    assert TOOL.function_declarations is not None
    assert len(TOOL.function_declarations) == 2
    none: Any = genai.offer(REQUEST, lambda _: False, "NONE").config
    assert none.tools is None
    assert none.tool_config.function_calling_config.mode == types.FunctionCallingConfigMode.NONE
    assert genai.offer(GenerateContentParameters(model="m", contents="hi"), lambda _: False).config is None


def test_a_response_with_another_text() -> None:
    """The text changes, and calls stay; without a response to change it is a new one."""
    call = types.Part(function_call=types.FunctionCall(name="read", args={}))
    content = types.Content(role="model", parts=[types.Part(text="secret"), call])
    response = types.GenerateContentResponse(candidates=[types.Candidate(content=content)])
    changed: Any = genai.from_hook_llm_response({"text": "[gone]"}, response)
    assert [part.text for part in changed.candidates[0].content.parts] == ["[gone]", None]
    assert genai.from_hook_llm_response(genai.to_hook_llm_response(response), response) is response
    assert genai.from_hook_llm_response({"text": "Later."}).text == "Later."
