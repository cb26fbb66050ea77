from types import SimpleNamespace
from typing import Any

import pytest
from google.genai import types

from hookline.errors import FormatError
from hookline.formats.genai.request import (
    from_hook_llm_request,
    is_sdk_request,
    to_hook_llm_request,
    with_note,
)
from hookline.protocol.llm import GenerateContentParameters

CONFIG = types.GenerateContentConfig(
    temperature=0.5,
    max_output_tokens=100,
    stop_sequences=["END"],
    system_instruction="be kind",
    tools=[types.Tool(function_declarations=[types.FunctionDeclaration(name="f")])],
    response_mime_type="text/plain",
    thinking_config=types.ThinkingConfig(include_thoughts=True),
)
BASE = GenerateContentParameters(
    model="m", contents=[types.Content(role="user", parts=[types.Part(text="q")])], config=CONFIG
)


def S(text: str) -> dict[str, str]:  # noqa: N802 - short in tables
    return {"role": "system", "content": text}


def U(text: str) -> dict[str, str]:  # noqa: N802 - short in tables
    return {"role": "user", "content": text}


def user(*parts: Any) -> types.Content:
    return types.Content(role="user", parts=list(parts))


def config_of(params: GenerateContentParameters) -> types.GenerateContentConfig:
    assert isinstance(params.config, types.GenerateContentConfig)
    return params.config


@pytest.mark.req("HOOK-035", "HOOK-072", "HOOK-205")
@pytest.mark.parametrize(
    ("params", "expected"),
    [
        pytest.param(
            GenerateContentParameters(
                model="m",
                contents="q",
                config=types.GenerateContentConfig(
                    temperature=0.5,
                    max_output_tokens=9,
                    top_p=0.25,
                    top_k=3,
                    stop_sequences=["END"],
                    candidate_count=1,
                    presence_penalty=0.5,
                    frequency_penalty=0.75,
                    seed=7,
                    tool_config=types.ToolConfig(
                        function_calling_config=types.FunctionCallingConfig(
                            mode=types.FunctionCallingConfigMode.ANY, allowed_function_names=["f"]
                        )
                    ),
                ),
            ),
            {
                "model": "m",
                "messages": [{"role": "user", "content": "q"}],
                "config": {
                    "temperature": 0.5,
                    "maxOutputTokens": 9,
                    "topP": 0.25,
                    "topK": 3,
                    "stopSequences": ["END"],
                    "candidateCount": 1,
                    "presencePenalty": 0.5,
                    "frequencyPenalty": 0.75,
                },
                "toolConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]},
            },
            id="objects",
        ),
        pytest.param(
            {
                "model": "m",
                "contents": [{"role": "model", "parts": [{"text": "a"}, {"functionCall": {"name": "f"}}]}],
                "config": {"maxOutputTokens": 9, "top_p": 0.5, "systemInstruction": "S"},
            },
            {
                "model": "m",
                "messages": [{"role": "model", "content": "a"}],
                "config": {"maxOutputTokens": 9, "topP": 0.5},
            },
            id="json-in-either-spelling",
        ),
        pytest.param(
            {"contents": {"parts": [{"text": "a"}]}, "generationConfig": {"topK": 1}},
            {"model": "", "messages": [{"role": "user", "content": "a"}], "config": {"topK": 1}},
            id="json-of-the-api",
        ),
        pytest.param({"contents": []}, {"model": "", "messages": [], "config": {}}, id="empty"),
        pytest.param(
            {
                "contents": [
                    {"role": "user"},
                    {"parts": [{}, {"inlineData": {}}]},
                    {"fileData": {}},
                    types.File(name="f"),
                ]
            },
            {"model": "", "messages": [], "config": {}},
            id="no-text",
        ),
    ],
)
def test_hooks_see_texts_parameters_and_tool_configuration(params: Any, expected: dict[str, Any]) -> None:
    """Everything that the hook format has is there, and nothing else."""
    assert to_hook_llm_request(params) == expected


@pytest.mark.req("HOOK-038", "HOOK-078")
@pytest.mark.parametrize(
    ("said", "changes"),
    [
        pytest.param({"temperature": 1}, {"temperature": 1.0}, id="number"),
        pytest.param({"maxOutputTokens": 50.0}, {"max_output_tokens": 50}, id="whole-number"),
        pytest.param({"stopSequences": ["A", 5]}, {"stop_sequences": ["A"]}, id="strings"),
        pytest.param(
            {"topP": 0.5, "topK": 2, "candidateCount": 2}, {"top_p": 0.5, "top_k": 2.0, "candidate_count": 2}, id="new"
        ),
        pytest.param(
            {"presencePenalty": 1, "frequencyPenalty": -1},
            {"presence_penalty": 1.0, "frequency_penalty": -1.0},
            id="penalties",
        ),
        pytest.param({"temperature": None}, {"temperature": None}, id="null-unsets"),
        pytest.param({"temperature": "hot", "topK": 1}, {"top_k": 1.0}, id="one-bad-value-costs-one-value"),
    ],
)
def test_a_hooks_config_changes_the_parameters_it_names(said: dict[str, Any], changes: dict[str, Any]) -> None:
    """Every other field of the configuration survives, whether hooks can see it or not."""
    request = from_hook_llm_request({"config": said}, BASE)
    assert request.config == CONFIG.model_copy(update=changes)
    assert request.contents is BASE.contents


@pytest.mark.parametrize(
    "said",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"model": "m", "messages": [{"role": "user", "content": "q"}]}, id="the-same"),
        pytest.param(
            {"config": {"temperature": 0.5, "maxOutputTokens": 100, "stopSequences": ["END"]}}, id="same-config"
        ),
        pytest.param(
            {"model": 5, "messages": "x", "config": [], "toolConfig": "x", "systemInstruction": 5}, id="types"
        ),
        pytest.param({"model": "", "messages": None, "config": None, "toolConfig": None}, id="nulls"),
        pytest.param(
            {
                "config": {
                    "temperature": float("nan"),
                    "maxOutputTokens": 1.5,
                    "topP": float("inf"),
                    "topK": True,
                    "candidateCount": 10**400,
                    "stopSequences": "END",
                    "presencePenalty": {},
                    "seed": 7,
                }
            },
            id="values",
        ),
        pytest.param({"tools": [], "contents": 7, "generationConfig": 7}, id="unknown"),
    ],
)
def test_what_changes_nothing_gives_the_base_itself(said: dict[str, Any]) -> None:
    """An answer that says nothing, the same, or nonsense leaves the very same request."""
    assert from_hook_llm_request(said, BASE) is BASE


@pytest.mark.req("HOOK-038")
def test_the_older_spelling_is_understood() -> None:
    """`contents`, `generationConfig` and `systemInstruction` mean the same as messages, config and instruction."""
    said = {
        "contents": [{"role": "user", "parts": ["a", {"text": "b"}]}],
        "generationConfig": {"temperature": 1},
        "systemInstruction": {"role": "system", "parts": [{"text": "be brief"}]},
    }
    assert from_hook_llm_request(said, BASE) == GenerateContentParameters(
        model="m",
        contents=[user(types.Part(text="ab"))],
        config=CONFIG.model_copy(update={"temperature": 1.0, "system_instruction": "be brief"}),
    )


@pytest.mark.parametrize(
    "content",
    [
        pytest.param({"role": "user", "content": "hi"}, id="openai"),
        pytest.param({"role": "user", "content": [{"type": "text", "text": "hi"}]}, id="anthropic"),
        pytest.param({"type": "message", "content": "hi"}, id="no-role"),
        pytest.param({"messages": [{"role": "user", "content": "hi"}]}, id="a-request"),
        pytest.param({"parts": [{"type": "input_text", "content": "hi"}]}, id="part"),
        pytest.param({"parts": [{"text": 5}]}, id="text-that-is-none"),
        pytest.param({"role": "user", "parts": [{"txt": "hi"}]}, id="unknown-part"),
        pytest.param({"role": "user", "parts": [{"text": "a", "txt": "hi"}]}, id="unknown-field-beside-a-text"),
        pytest.param({"role": "user", "parts": [], "content": "hi"}, id="content-beside-parts"),
        pytest.param({"parts": 5}, id="parts-that-are-none"),
        pytest.param(SimpleNamespace(role="user", content="hi"), id="object"),
        pytest.param({}, id="no-keys"),
        pytest.param(5, id="number"),
        pytest.param(None, id="nothing"),
    ],
)
def test_contents_of_an_unknown_shape_are_an_error(content: Any) -> None:
    """Hooks never get them as an empty conversation."""
    params = GenerateContentParameters(model="m", contents=["first", content])
    with pytest.raises(FormatError, match=r"^contents\[1\] is .*; expected a string, a Content, a Part"):
        to_hook_llm_request(params)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({"model": "m", "contents": "x"}, True, id="contents"),
        pytest.param({"model": "m", "contents": []}, True, id="no-contents"),
        pytest.param({"model": "m", "generationConfig": {}}, True, id="json-of-the-api"),
        pytest.param(BASE, True, id="object"),
        pytest.param({"model": "m", "messages": []}, False, id="messages"),
        pytest.param({"messages": [], "custom": 1}, False, id="messages-and-more"),
        pytest.param({"model": "m"}, False, id="part-of-a-request"),
        pytest.param(None, False, id="null"),
        pytest.param("contents", False, id="string"),
    ],
)
def test_the_sdks_form_of_a_request_is_recognised(value: Any, expected: bool) -> None:
    """`contents`, or any field that a request in hook form does not have, distinguishes them."""
    assert is_sdk_request(value) is expected


@pytest.mark.parametrize(
    "params",
    [
        pytest.param(GenerateContentParameters(model="m", contents=None), id="none"),
        pytest.param({"model": "m", "contents": None}, id="json"),
        pytest.param({"model": "m"}, id="no-contents"),
        pytest.param({}, id="no-keys"),
        pytest.param(None, id="no-request"),
        pytest.param("hi", id="text"),
        pytest.param({"model": "m", "messages": [{"role": "user", "content": "hi"}]}, id="openai"),
    ],
)
def test_a_request_without_contents_is_an_error(params: Any) -> None:
    """Hooks never get it as an empty conversation."""
    with pytest.raises(FormatError, match=r"^contents is missing; expected a string, a Content, a Part"):
        to_hook_llm_request(params)


KIND = types.Content(parts=[types.Part(text="be kind")])


@pytest.mark.req("HOOK-038", "HOOK-078")
@pytest.mark.parametrize(
    ("instruction", "said", "expected"),
    [
        pytest.param("be kind", {"messages": [S("be brief"), U("q")]}, "be kind\n\nbe brief", id="system-message"),
        pytest.param(None, {"messages": [S("a"), U("q"), S("b")]}, "a\n\nb", id="two-and-none-before"),
        pytest.param("be kind", {"systemInstruction": "be brief", "messages": [U("q")]}, "be brief", id="instruction"),
        pytest.param("be kind", {"systemInstruction": "a", "messages": [S("b"), U("q")]}, "a\n\nb", id="both"),
        pytest.param(
            KIND,
            {"messages": [S("be brief"), U("q")]},
            types.Content(parts=[types.Part(text="be kind"), types.Part(text="\n\nbe brief")]),
            id="added-to-a-content",
        ),
        pytest.param(["be kind"], {"messages": [S("b"), U("q")]}, ["be kind", "\n\nb"], id="added-to-a-list"),
        pytest.param(
            types.Part(text="k"), {"messages": [S("b")]}, [types.Part(text="k"), "\n\nb"], id="added-to-a-part"
        ),
        pytest.param(
            {"parts": [{"text": "k"}]}, {"messages": [S("b")]}, {"parts": [{"text": "k"}, {"text": "\n\nb"}]}, id="json"
        ),
        pytest.param(KIND, {"systemInstruction": "be kind"}, KIND, id="unchanged-keeps-its-form"),
        pytest.param(KIND, {"messages": [U("Q")]}, KIND, id="untouched"),
    ],
)
def test_system_texts_become_the_system_instruction(instruction: Any, said: dict[str, Any], expected: Any) -> None:
    """The API refuses a content with the role `system`, so a hook's system text never becomes one."""
    base = GenerateContentParameters(model="m", contents="q", config={"systemInstruction": instruction})
    request = from_hook_llm_request(said, base)
    assert request.config["systemInstruction"] == expected
    assert "system" not in [getattr(content, "role", None) for content in request.contents]
    if expected is KIND:
        assert request.config["systemInstruction"] is KIND


def test_a_system_instruction_is_not_also_a_message() -> None:
    """An instruction of one hook that the next one returned among the messages is sent once."""
    said = {
        "systemInstruction": "be brief",
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "q"}],
    }
    assert from_hook_llm_request(said, BASE) == GenerateContentParameters(
        model="m", contents=BASE.contents, config=CONFIG.model_copy(update={"system_instruction": "be brief"})
    )


@pytest.mark.req("HOOK-055", "HOOK-078")
def test_a_tool_configuration_is_laid_over_the_bases() -> None:
    """A request's `toolConfig` goes where the SDK has it."""
    request = from_hook_llm_request({"toolConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}}, BASE)
    calling = types.FunctionCallingConfig(mode=types.FunctionCallingConfigMode.ANY, allowed_function_names=["f"])
    assert request.config == CONFIG.model_copy(
        update={"tool_config": types.ToolConfig(function_calling_config=calling)}
    )


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param(None, types.GenerateContentConfig(temperature=1, max_output_tokens=5), id="none"),
        pytest.param(
            {"maxOutputTokens": 9, "seed": 3}, {"maxOutputTokens": 5, "seed": 3, "temperature": 1.0}, id="dictionary"
        ),
    ],
)
def test_a_config_is_changed_in_its_own_form(config: Any, expected: Any) -> None:
    """A dictionary stays a dictionary, in its spelling; without a configuration one is made."""
    base = GenerateContentParameters(model="m", contents="q", config=config)
    assert from_hook_llm_request({"config": {"temperature": 1, "maxOutputTokens": 5}}, base).config == expected


def test_a_changed_request_can_be_sent() -> None:
    """A changed request passes the SDK's validation and serialises without a warning."""
    said = {
        "model": "n",
        "messages": [{"role": "user", "content": "\ud800"}, {"role": "model", "content": "x"}],
        "config": {"temperature": 1, "topK": 3, "stopSequences": ["\udfff"]},
        "toolConfig": {"mode": "NONE"},
    }
    request = from_hook_llm_request(said, BASE)
    assert types.GenerateContentConfig.model_validate_json(request.config.model_dump_json()) == request.config
    assert [content.model_dump(exclude_none=True) for content in request.contents] == [
        {"role": "user", "parts": [{"text": "\ufffd"}]},
        {"role": "model", "parts": [{"text": "x"}]},
    ]


CALL = types.Part(function_call=types.FunctionCall(name="f", args={}))
RESPONSE = types.Part(function_response=types.FunctionResponse(name="f", response={}))
NOTE = types.Part(text="[System] n")


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        pytest.param([user(types.Part(text="q"))], [user(types.Part(text="q"), NOTE)], id="user"),
        pytest.param([user(RESPONSE)], [user(RESPONSE, NOTE)], id="response"),
        pytest.param(
            [types.Content(role="model", parts=[CALL])],
            [types.Content(role="model", parts=[CALL]), user(NOTE)],
            id="model",
        ),
        pytest.param([{"parts": [{"text": "q"}]}], [{"parts": [{"text": "q"}, {"text": "[System] n"}]}], id="json"),
        pytest.param(user(), [user(NOTE)], id="one-content"),
        pytest.param("q", ["q", "[System] n"], id="string"),
        pytest.param([CALL], [CALL, user(NOTE)], id="bare-call"),
        pytest.param([["q", RESPONSE]], [["q", RESPONSE, "[System] n"]], id="list-of-parts"),
        pytest.param([], [["[System] n"]], id="nothing"),
        pytest.param(
            [types.Content(role="function", parts=[RESPONSE])],
            [types.Content(role="function", parts=[RESPONSE]), user(NOTE)],
            id="older-role",
        ),
    ],
)
def test_a_system_note_is_the_last_text_of_the_request(contents: Any, expected: list[Any]) -> None:
    """It joins the user's last content, or makes a new one after the model's."""
    params = GenerateContentParameters(model="m", contents=contents, config=CONFIG)
    assert with_note(params, "n") == GenerateContentParameters(model="m", contents=expected, config=CONFIG)


def test_a_system_note_leaves_the_callers_objects_alone() -> None:
    """The note is in the request of this call only."""
    content = user(types.Part(text="q"))
    contents = [content]
    with_note(GenerateContentParameters(model="m", contents=contents), "n")
    assert contents == [user(types.Part(text="q"))]
    assert contents[0] is content


@pytest.mark.parametrize(
    ("wanted", "own", "functions"),
    [
        pytest.param({"allowedFunctionNames": ["f"]}, [], 2, id="names"),
        pytest.param({"mode": "ANY", "allowedFunctionNames": ["f", "google_search"]}, ["google_search"], 2, id="named"),
        pytest.param({"mode": "NONE"}, [], 2, id="NONE"),
        pytest.param({"mode": "ANY"}, ["google_search", "code_execution"], 2, id="mode-alone"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_tools_that_the_api_runs_go_with_a_restriction(
    wanted: dict[str, Any], own: list[str], functions: int, as_json: bool
) -> None:
    """`tool_config` is for functions alone: without this a search that no hook allowed would stay offered."""
    declared = [types.FunctionDeclaration(name=name) for name in ("f", "g")]
    search = types.Tool(google_search=types.GoogleSearch(), code_execution=types.ToolCodeExecution())
    tools: list[Any] = [types.Tool(function_declarations=declared), search]
    given: Any = [tool.model_dump(exclude_none=True) for tool in tools] if as_json else tools
    config: Any = {"tools": given} if as_json else types.GenerateContentConfig(tools=given)
    base = GenerateContentParameters(model="m", contents="hi", config=config)
    made: Any = from_hook_llm_request({"toolConfig": wanted}, base).config
    left: list[Any] = types.GenerateContentConfig.model_validate(made).tools or []
    names = {name for tool in left for name in ("google_search", "code_execution") if getattr(tool, name) is not None}
    assert names == set(own)
    assert sum(len(tool.function_declarations or ()) for tool in left) == functions
    untouched = from_hook_llm_request({"config": {"temperature": 1.0}}, base).config
    assert (untouched["tools"] if as_json else untouched.tools) == given
