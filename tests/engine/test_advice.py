from typing import Any

import pytest

from hookline.contract.outputs import DefaultHookOutput
from hookline.engine._advice import on_response_text, on_tool_config


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
