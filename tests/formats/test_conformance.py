"""The conformance cases that need no process: the translator's, the output classes', and what model events answer."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from google.genai import types
from msgspec.structs import asdict

from hookline.engine.event_table import create_hook_output
from hookline.formats.genai.request import default_hook_translator
from hookline.formats.outputs import (
    AfterModelHookOutput,
    BeforeModelHookOutput,
    BeforeToolSelectionHookOutput,
    ToolConfigTarget,
)
from hookline.protocol.llm import GenerateContentParameters
from hookline.protocol.results import BeforeToolHookOutput, DefaultHookOutput

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "golden" / "conformance.json").read_text())

CLASSES: Mapping[str, type[DefaultHookOutput]] = {
    "DefaultHookOutput": DefaultHookOutput,
    "BeforeToolHookOutput": BeforeToolHookOutput,
    "BeforeModelHookOutput": BeforeModelHookOutput,
    "AfterModelHookOutput": AfterModelHookOutput,
    "BeforeToolSelectionHookOutput": BeforeToolSelectionHookOutput,
}
MODEL_EVENTS = ("BeforeModel", "AfterModel", "BeforeToolSelection")


def marked(case: dict[str, Any]) -> Any:
    """The case as a table row that carries its id and its requirements."""
    ids = [requirement for requirement in case["requirement_ids"] if requirement.startswith("HOOK-")]
    return pytest.param(case, id=case["id"], marks=[pytest.mark.req(*ids)] if ids else [])


def parameters(request: Mapping[str, Any]) -> GenerateContentParameters:
    return GenerateContentParameters(model=request["model"], contents=request["contents"], config=request.get("config"))


def tool_config_target(target: Mapping[str, Any]) -> ToolConfigTarget:
    tool_config = target.get("toolConfig")
    return ToolConfigTarget(
        tool_config=tool_config and types.ToolConfig.model_validate(tool_config), tools=target.get("tools")
    )


def as_json(value: Any) -> Any:
    """Any value of hookline or of the SDK as the JSON that the cases are written in."""
    if isinstance(value, GenerateContentParameters):
        return pruned({"model": value.model, "contents": as_json(value.contents), "config": as_json(value.config)})
    if isinstance(value, ToolConfigTarget):
        return pruned({"toolConfig": as_json(value.tool_config), "tools": as_json(value.tools)})
    if isinstance(value, list | tuple):
        return [as_json(entry) for entry in value]
    if not hasattr(value, "model_dump"):
        return value
    dumped = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {"text": value.text, **dumped} if getattr(value, "text", None) and "candidates" in dumped else dumped


def pruned(value: dict[str, Any]) -> dict[str, Any]:
    return {key: entry for key, entry in value.items() if entry is not None}


def assert_covers(actual: Any, expected: Any, unpinned: list[str], path: str) -> None:
    """Everything that is expected is there; what is not mentioned is free."""
    if path in unpinned:
        return
    if isinstance(expected, dict) and "$containsText" in expected:
        assert expected["$containsText"] in json.dumps(actual), path
    elif isinstance(expected, dict):
        assert isinstance(actual, dict), path
        for key, value in expected.items():
            assert_covers(actual.get(key), value, unpinned, f"{path}/{key}")
    elif isinstance(expected, list):
        assert isinstance(actual, list), path
        assert len(actual) == len(expected), path
        for number, value in enumerate(expected):
            assert_covers(actual[number], value, unpinned, f"{path}/{number}")
    else:
        assert actual == expected, path


OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "toHookLLMRequest": default_hook_translator.to_hook_llm_request,
    "fromHookLLMRequest": lambda request, base=None: default_hook_translator.from_hook_llm_request(
        request, parameters(base) if base else None
    ),
    "toHookLLMResponse": default_hook_translator.to_hook_llm_response,
    "fromHookLLMResponse": default_hook_translator.from_hook_llm_response,
    "toHookToolConfig": default_hook_translator.to_hook_tool_config,
    "fromHookToolConfig": default_hook_translator.from_hook_tool_config,
}


@pytest.mark.parametrize("case", [marked(case) for case in CASES if case["level"] == "translator"])
def test_the_translator_gives_what_the_case_expects(case: dict[str, Any]) -> None:
    """Each translation of a case gives the value that the case lists."""
    value = as_json(OPERATIONS[case["op"]](*case["args"]))
    assert_covers(value, case["expected"].get("value", {}), case.get("unpinned", []), "value")


COMMON_METHODS: Mapping[str, Callable[[Any], Any]] = {
    "isBlockingDecision": lambda output: output.is_blocking_decision(),
    "shouldStopExecution": lambda output: output.should_stop_execution(),
    "getEffectiveReason": lambda output: output.get_effective_reason(),
    "getAdditionalContext": lambda output: output.get_additional_context(),
    "getBlockingError": lambda output: asdict(output.get_blocking_error()),
    "getModifiedToolInput": lambda output: output.get_modified_tool_input(),
}


def answer(output: DefaultHookOutput, method: str, given: Mapping[str, Any]) -> Any:
    """The answer of an output class's method, under the name that the cases use for it."""
    return COMMON_METHODS[method](output) if method in COMMON_METHODS else sdk_answer(output, method, given)


def sdk_answer(output: DefaultHookOutput, method: str, given: Mapping[str, Any]) -> Any:
    match output, method:
        case BeforeModelHookOutput(), "getSyntheticResponse":
            return output.get_synthetic_response()
        case BeforeModelHookOutput(), "applyLLMRequestModifications":
            return output.apply_llm_request_modifications(parameters(given["llm_request_target"]))
        case AfterModelHookOutput(), "getModifiedResponse":
            return output.get_modified_response()
        case BeforeToolSelectionHookOutput(), "applyToolConfigModifications":
            return output.apply_tool_config_modifications(tool_config_target(given["tool_config_target"]))
        case _:
            raise AssertionError(f"{type(output).__name__} has no {method}")


@pytest.mark.parametrize("case", [marked(case) for case in CASES if case["level"] == "output"])
def test_the_output_classes_answer_what_the_case_expects(case: dict[str, Any]) -> None:
    """Each method of an output class answers what the case lists."""
    output = CLASSES[case["class"]](case["data"])
    for method, expected in case["expected"]["methods"].items():
        assert_covers(as_json(answer(output, method, case.get("input", {}))), expected, [], method)


@pytest.mark.parametrize(
    "case",
    [
        marked(case)
        for case in CASES
        if case.get("event") in MODEL_EVENTS and case["level"] == "event" and (case["expected"].get("methods"))
    ],
)
def test_the_final_output_of_a_model_event_answers_what_the_case_expects(case: dict[str, Any]) -> None:
    """Each method of the class that the event's final output has answers what the case lists."""
    output = create_hook_output(case["event"], case["expected"].get("finalOutput"))
    unpinned = [path.removeprefix("methods/") for path in case.get("unpinned", [])]
    for method, expected in case["expected"]["methods"].items():
        assert_covers(as_json(answer(output, method, case["input"])), expected, unpinned, method)
