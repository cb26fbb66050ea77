from typing import Any

import pytest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from hookline.engine.event_table import create_hook_output
from hookline.formats.genai.response import replace_response_text
from hookline.formats.outputs import (
    AfterModelHookOutput,
    BeforeModelHookOutput,
    BeforeToolSelectionHookOutput,
    ToolConfigTarget,
)
from hookline.protocol.events import HookEventName
from hookline.protocol.llm import GenerateContentParameters
from hookline.protocol.results import DefaultHookOutput

CALL = types.Part(function_call=types.FunctionCall(name="f", args={}))
TARGET = GenerateContentParameters(
    model="m",
    contents=[
        types.Content(role="user", parts=[types.Part(text="q")]),
        types.Content(role="model", parts=[types.Part(text="a"), CALL]),
    ],
    config=types.GenerateContentConfig(temperature=0.5),
)


SPEAKERS: dict[HookEventName, type[DefaultHookOutput]] = {
    HookEventName.BEFORE_MODEL: BeforeModelHookOutput,
    HookEventName.AFTER_MODEL: AfterModelHookOutput,
    HookEventName.BEFORE_TOOL_SELECTION: BeforeToolSelectionHookOutput,
}


@pytest.mark.req("HOOK-200")
@pytest.mark.parametrize(
    ("event", "expected"),
    [pytest.param(event, SPEAKERS.get(event, DefaultHookOutput), id=event.value) for event in HookEventName],
)
def test_each_event_has_its_class(event: HookEventName, expected: type[DefaultHookOutput]) -> None:
    """Model events speak the SDK's types; every other answer is the plain one, BeforeTool's too."""
    assert type(create_hook_output(event, {})) is expected
    assert type(create_hook_output(event.value, {})) is expected


@pytest.mark.req("HOOK-200")
def test_the_factory_does_not_read_the_compatibility_field() -> None:
    """A permission decision alone does not block here; the aggregator's class reads it."""
    assert not create_hook_output(
        "BeforeTool", {"hookSpecificOutput": {"permissionDecision": "block"}}
    ).is_blocking_decision()


@pytest.mark.req("HOOK-194")
@pytest.mark.parametrize(
    "data",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"continue": False, "stopReason": "halt"}, id="stop"),
        pytest.param({"decision": "block"}, id="block"),
        pytest.param({"hookSpecificOutput": {"llm_response": None}}, id="null"),
        pytest.param({"hookSpecificOutput": {"llm_response": "text"}}, id="string"),
        pytest.param({"hookSpecificOutput": {"llm_response": {"candidates": [5]}}}, id="nonsense"),
        pytest.param({"hookSpecificOutput": 5}, id="no-object"),
    ],
)
def test_only_a_response_stands_in_for_the_model(data: dict[str, Any]) -> None:
    """Without a usable `llm_response` the output has no synthetic response, not even for a stop."""
    assert BeforeModelHookOutput(data).get_synthetic_response() is None


@pytest.mark.req("HOOK-036")
def test_a_text_alone_can_stand_in_for_the_model() -> None:
    """The shortest way to answer for the model is its text."""
    response = BeforeModelHookOutput(
        {"decision": "block", "hookSpecificOutput": {"llm_response": {"text": "cached"}}}
    ).get_synthetic_response()
    assert response is not None
    assert response.text == "cached"


@pytest.mark.req("HOOK-038", "HOOK-039", "HOOK-139")
def test_a_changed_request_is_the_target_with_the_hooks_changes() -> None:
    """Messages, model and parameters change; the rest is the target's."""
    said = {"model": "n", "messages": [{"role": "user", "content": "Q"}, {"role": "user", "content": "brief!"}]}
    changed = BeforeModelHookOutput({"hookSpecificOutput": {"llm_request": said}}).apply_llm_request_modifications(
        TARGET
    )
    assert changed == GenerateContentParameters(
        model="n",
        contents=[
            types.Content(role="user", parts=[types.Part(text="Q")]),
            types.Content(role="model", parts=[CALL]),
            types.Content(role="user", parts=[types.Part(text="brief!")]),
        ],
        config=TARGET.config,
    )


@pytest.mark.req("HOOK-038")
@pytest.mark.parametrize(
    "said", [None, 5, "x", [], {}, {"model": "m"}, {"messages": 5}, {"config": {"temperature": "hot"}}]
)
def test_without_changes_the_target_itself_comes_back(said: Any) -> None:
    """Callers can see by identity that nothing changed."""
    output = BeforeModelHookOutput({"hookSpecificOutput": {"llm_request": said}})
    assert output.apply_llm_request_modifications(TARGET) is TARGET


@pytest.mark.req("HOOK-048", "HOOK-194")
@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param({"continue": False, "stopReason": "enough", "reason": "r"}, "enough", id="stop-reason"),
        pytest.param({"continue": False, "reason": "r"}, "r", id="reason"),
        pytest.param(
            {
                "continue": False,
                "hookSpecificOutput": {"llm_response": {"candidates": [{"content": {"parts": ["x"]}}]}},
            },
            "x",
            id="the-hooks-own-response-first",
        ),
    ],
)
def test_a_stop_after_the_model_makes_a_response_that_says_why(data: dict[str, Any], text: str) -> None:
    """Unless the hook gave a response itself."""
    response = AfterModelHookOutput(data).get_modified_response()
    assert response is not None
    assert response.text == text


@pytest.mark.req("HOOK-046")
@pytest.mark.parametrize(
    "said", [None, 5, "x", {}, {"text": 5}, {"candidates": []}, {"candidates": [{}, {"content": None}]}]
)
def test_a_response_without_content_is_no_modification(said: Any) -> None:
    """The model's response stands."""
    output = AfterModelHookOutput({"hookSpecificOutput": {"llm_response": said}})
    assert output.get_modified_response() is None


@pytest.mark.req("HOOK-167", "HOOK-168")
def test_tools_are_restricted_by_configuration_and_never_removed() -> None:
    """The mode and the names change, the tool definitions do not."""
    tools = [types.Tool(function_declarations=[types.FunctionDeclaration(name=name) for name in ("f", "g")])]
    said = {"toolConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}}
    target = BeforeToolSelectionHookOutput({"hookSpecificOutput": said}).apply_tool_config_modifications(
        ToolConfigTarget(tools=tools)
    )
    calling = types.FunctionCallingConfig(mode=types.FunctionCallingConfigMode.ANY, allowed_function_names=["f"])
    assert target == ToolConfigTarget(tool_config=types.ToolConfig(function_calling_config=calling), tools=tools)
    assert target.tools is tools


@pytest.mark.req("HOOK-060", "HOOK-167")
@pytest.mark.parametrize("said", [None, 5, [], {}, {"mode": "SOMETIMES"}, {"allowedFunctionNames": 5}])
def test_a_hook_that_says_nothing_about_tools_leaves_the_target(said: Any) -> None:
    """The same target comes back."""
    target = ToolConfigTarget(tool_config=types.ToolConfig(), tools=[])
    output = BeforeToolSelectionHookOutput({"hookSpecificOutput": {"toolConfig": said}})
    assert output.apply_tool_config_modifications(target) is target


KEYS = st.sampled_from(
    [
        "model",
        "messages",
        "config",
        "toolConfig",
        "role",
        "content",
        "parts",
        "text",
        "candidates",
        "finishReason",
        "index",
        "safetyRatings",
        "category",
        "probability",
        "usageMetadata",
        "promptTokenCount",
        "temperature",
        "maxOutputTokens",
        "topK",
        "stopSequences",
        "mode",
        "contents",
        "allowedFunctionNames",
        "generationConfig",
        "systemInstruction",
    ]
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=5)
    | st.sampled_from(["user", "model", "system", "ANY", "NONE", "STOP", "q", "a"])
)
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6), max_leaves=20
)
OBJECTS = st.dictionaries(KEYS, JSON, max_size=6)
REQUESTS = OBJECTS | st.fixed_dictionaries(
    {"messages": st.lists(OBJECTS | JSON, max_size=4), "config": OBJECTS, "toolConfig": OBJECTS}
)
RESPONSES = OBJECTS | st.fixed_dictionaries(
    {"candidates": st.lists(st.fixed_dictionaries({"content": OBJECTS | JSON}) | JSON, max_size=3)}
)


def function_calls(contents: list[Any]) -> list[Any]:
    return [part.function_call for content in contents for part in content.parts or [] if part.function_call]


@given(st.fixed_dictionaries({"llm_request": REQUESTS | JSON, "llm_response": RESPONSES | JSON}))
def test_no_answer_to_before_model_raises(specific: dict[str, Any]) -> None:
    """Any JSON in any place gives a request that keeps its calls and a response that can be serialised."""
    output = BeforeModelHookOutput({"hookSpecificOutput": specific})
    changed = output.apply_llm_request_modifications(TARGET)
    assert function_calls(changed.contents) == [CALL.function_call]
    assert types.GenerateContentConfig.model_validate_json(changed.config.model_dump_json()) == changed.config
    response = output.get_synthetic_response()
    assert response is None or response.model_dump_json()


@given(RESPONSES | JSON, JSON)
def test_no_answer_to_after_model_raises(said: Any, proceed: Any) -> None:
    """Any JSON in any place gives a response that keeps the model's calls, or none."""
    output = AfterModelHookOutput({"continue": proceed, "hookSpecificOutput": {"llm_response": said}})
    modified = output.get_modified_response()
    if modified is not None:
        spoken = types.Candidate(content=TARGET.contents[1])
        replaced = replace_response_text(types.GenerateContentResponse(candidates=[spoken]), modified)
        assert replaced.function_calls == [CALL.function_call]


@given(OBJECTS | JSON)
def test_no_answer_to_before_tool_selection_raises(said: Any) -> None:
    """Any JSON in place of a tool configuration gives one that the SDK accepts."""
    output = BeforeToolSelectionHookOutput({"hookSpecificOutput": {"toolConfig": said}})
    changed = output.apply_tool_config_modifications(ToolConfigTarget(tool_config=types.ToolConfig())).tool_config
    assert types.ToolConfig.model_validate(changed.model_dump()) == changed
