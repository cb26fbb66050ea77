from typing import Any

import pytest

from hookline.contract.events import HookEventName
from hookline.contract.outputs import DefaultHookOutput
from hookline.engine._advice import on_response_text, on_tool_config
from hookline.engine.event_table import EVENT_TABLE


def candidate(text: str) -> dict[str, Any]:
    return {"content": {"role": "model", "parts": [text]}}


@pytest.mark.req("HOOK-046")
@pytest.mark.parametrize(
    ("response", "is_advised"),
    [
        pytest.param({"text": "[redacted]"}, True, id="text-alone"),
        pytest.param({"text": "[redacted]", "candidates": [candidate("the secret")]}, True, id="old-candidates"),
        pytest.param({"text": "new", "candidates": [candidate("new")]}, False, id="both-changed"),
        pytest.param({"text": "it's\n", "candidates": [candidate("it's\n")]}, False, id="quotes-and-newlines"),
        pytest.param({"candidates": [candidate("new")]}, False, id="candidates-alone"),
        pytest.param({"text": ""}, False, id="no-text"),
        pytest.param("junk", False, id="junk"),
    ],
)
def test_a_changed_text_that_changes_nothing_is_told(response: Any, is_advised: bool) -> None:
    """A hook that redacts only the convenience field would let the secret through, so its author is told."""
    output = DefaultHookOutput({"hookSpecificOutput": {"llm_response": response}})
    assert (on_response_text(output) is not None) == is_advised


@pytest.mark.req("HOOK-074")
@pytest.mark.parametrize(
    ("config", "is_advised"),
    [
        pytest.param({"mode": "NONE"}, False, id="mode"),
        pytest.param({"mode": "none"}, True, id="small-letters"),
        pytest.param({"mode": ["ANY"]}, True, id="no-string"),
        pytest.param({"allowedFunctionNames": ["ls"]}, False, id="list"),
        pytest.param({"allowedFunctionNames": "ls"}, True, id="lone-name"),
        pytest.param({"allowedFunctionNames": ["ls", 5]}, True, id="no-name"),
        pytest.param("junk", False, id="junk"),
    ],
)
def test_a_tool_configuration_that_may_restrict_too_little_is_told(config: Any, is_advised: bool) -> None:
    """An author hears when a restriction is not written as it should be."""
    output = DefaultHookOutput({"hookSpecificOutput": {"toolConfig": config}})
    assert (on_tool_config(output) is not None) == is_advised


@pytest.mark.parametrize(
    ("event", "answer", "said"),
    [
        pytest.param(
            "AfterTool",
            {"hookSpecificOutput": {"hookEventName": "AfterTool", "tool_output": "x", "additionalContext": "c"}},
            ["hookSpecificOutput.tool_output changes nothing; this event reads additionalContext"],
            id="unread",
        ),
        pytest.param("BeforeTool", {"hookSpecificOutput": {"tool_input": {}, "updatedInput": {}}}, [], id="read"),
        pytest.param(
            "BeforeTool",
            {"hookSpecificOutput": {"permissionDecision": "ask"}},
            ["'ask' asks nobody and counts as allow; to refuse answer deny"],
            id="ask",
        ),
        pytest.param("BeforeTool", {"hookSpecificOutput": {"decision": "deny"}}, [], id="misplaced-is-told-elsewhere"),
        pytest.param(
            "BeforeModel",
            {"hookSpecificOutput": {"llm_response": {}}},
            ["llm_response counts only beside a decision of block or deny; without one the model is asked as ever"],
            id="response-without-a-block",
        ),
        pytest.param(
            "BeforeModel", {"decision": "block", "hookSpecificOutput": {"llm_response": {}}}, [], id="response"
        ),
        pytest.param(
            "BeforeToolSelection",
            {"hookSpecificOutput": {"toolConfig": {"allowed_function_names": ["ls"]}}},
            ["toolConfig.allowed_function_names changes nothing; mode and allowedFunctionNames are read"],
            id="other-spelling",
        ),
        pytest.param(
            "SessionStart",
            {"hookSpecificOutput": {"additionalContext": "c"}},
            ["its hooks only watch, and nothing that they answer is applied"],
            id="context-where-hooks-watch",
        ),
        pytest.param(
            "BeforeAgent",
            {"continue": False},
            ["its hooks only watch, and nothing that they answer is applied"],
            id="stop-where-hooks-watch",
        ),
        pytest.param("SessionStart", {"decision": "allow", "systemMessage": "hi"}, [], id="nothing-asked-for"),
    ],
)
def test_what_an_event_does_not_use_is_told(event: str, answer: dict[str, Any], said: list[str]) -> None:
    """An author whose answer does nothing learns it from the log, and not from a leak."""
    assert EVENT_TABLE[HookEventName(event)].advise(DefaultHookOutput(answer)) == said


@pytest.mark.parametrize("event", HookEventName)
def test_plain_text_needs_no_advice(event: HookEventName) -> None:
    """What the engine made of plain text, or of a crash, is not what somebody answered."""
    assert EVENT_TABLE[event].advise(DefaultHookOutput({"decision": "ask", "continue": False}, is_explicit=False)) == []
