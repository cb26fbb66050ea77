from typing import Any

import pytest

from hookline.contract.outputs import DefaultHookOutput
from hookline.engine._advice import on_response_text


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
