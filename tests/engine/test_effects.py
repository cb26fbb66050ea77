from typing import Any

import pytest

from hookline.contract.outputs import BeforeToolHookOutput
from hookline.engine._effects import (
    Effect,
    llm_request_effect,
    llm_response_effect,
    no_effect,
    tool_config_effect,
    tool_input_effect,
)

TOOL = {"tool_input": {"path": "/a", "mode": "w"}}
MODEL = {"llm_request": {"model": "m"}}
CHANGED_TOOL = {"tool_input": {"path": "/b"}}
RESPONSE = {"llm_response": {"text": "hi"}}
REPLACED = {"llm_response": {"candidates": [{"content": {"parts": ["hi"]}}]}}
STOP: dict[str, Any] = {"continue": False}
DENY: dict[str, Any] = {"decision": "deny"}


@pytest.mark.req("HOOK-019", "HOOK-055", "HOOK-156", "HOOK-177", "HOOK-179", "HOOK-216")
@pytest.mark.parametrize(
    ("effect", "told", "common", "specific", "expected"),
    [
        pytest.param(
            tool_input_effect, TOOL, {}, CHANGED_TOOL, {"tool_input": {"path": "/b", "mode": "w"}}, id="arguments"
        ),
        pytest.param(tool_input_effect, TOOL, {}, {"tool_input": {"path": "/a"}}, None, id="the-same-arguments"),
        pytest.param(tool_input_effect, TOOL, {}, {"tool_input": 5}, None, id="odd-arguments"),
        pytest.param(tool_input_effect, TOOL, DENY, CHANGED_TOOL, None, id="blocked"),
        pytest.param(tool_input_effect, TOOL, STOP, CHANGED_TOOL, None, id="stopped"),
        pytest.param(
            tool_input_effect, TOOL, {}, {**CHANGED_TOOL, "permissionDecision": "deny"}, None, id="blocked-otherwise"
        ),
        pytest.param(
            llm_request_effect,
            MODEL,
            {},
            {"llm_request": {"config": {"topK": 1}}, **RESPONSE},
            {"llm_request": {"model": "m", "config": {"topK": 1}}},
            id="request",
        ),
        pytest.param(llm_request_effect, MODEL, {}, {"llm_request": {"model": "m"}}, None, id="the-same-request"),
        pytest.param(llm_request_effect, MODEL, {}, RESPONSE, None, id="a-response-without-a-block"),
        pytest.param(
            llm_request_effect,
            MODEL,
            DENY,
            {"llm_request": {"model": "x"}, **RESPONSE},
            RESPONSE,
            id="answered-instead",
        ),
        pytest.param(
            llm_request_effect, MODEL, STOP, {"llm_request": {"model": "x"}}, None, id="stopped-without-response"
        ),
        pytest.param(llm_response_effect, MODEL, {}, REPLACED, REPLACED, id="response"),
        pytest.param(llm_response_effect, MODEL, {}, RESPONSE, None, id="text-alone-replaces-nothing"),
        pytest.param(llm_response_effect, MODEL, {}, {"llm_response": "hi"}, None, id="odd-response"),
        pytest.param(
            tool_config_effect,
            MODEL,
            {},
            {"toolConfig": {"mode": "NONE"}},
            {"toolConfig": {"mode": "NONE"}},
            id="tools",
        ),
        pytest.param(tool_config_effect, MODEL, {}, {}, None, id="no-tools"),
        pytest.param(no_effect, TOOL, {}, CHANGED_TOOL, None, id="none"),
    ],
)
def test_what_the_caller_goes_on_with(
    effect: Effect, told: Any, common: dict[str, Any], specific: dict[str, Any], expected: dict[str, Any] | None
) -> None:
    """The changed value, whole, or nothing where nothing changed or nothing goes on."""
    assert effect(told, BeforeToolHookOutput({**common, "hookSpecificOutput": specific})) == expected
