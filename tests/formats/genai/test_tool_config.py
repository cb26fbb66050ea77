from typing import Any

import pytest
from google.genai import types

from hookline.formats.genai.tool_config import from_hook_tool_config, overlay_tool_config, to_hook_tool_config


def tool_config(mode: str | None = None, names: list[str] | None = None, **fields: Any) -> types.ToolConfig:
    calling = types.FunctionCallingConfig(
        mode=types.FunctionCallingConfigMode(mode) if mode else None, allowed_function_names=names
    )
    return types.ToolConfig(function_calling_config=calling, **fields)


@pytest.mark.req("HOOK-074")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(tool_config("ANY", ["a"]), {"mode": "ANY", "allowedFunctionNames": ["a"]}, id="object"),
        pytest.param(tool_config("VALIDATED"), {"mode": "AUTO"}, id="a-mode-hooks-do-not-know"),
        pytest.param(tool_config(None, []), {"allowedFunctionNames": []}, id="empty-list"),
        pytest.param(tool_config(), {}, id="nothing-set"),
        pytest.param({"functionCallingConfig": {"mode": "none"}}, {"mode": "NONE"}, id="json"),
        pytest.param(
            {"function_calling_config": {"allowed_function_names": ["a"]}}, {"allowedFunctionNames": ["a"]}, id="snake"
        ),
        pytest.param(None, {}, id="none"),
    ],
)
def test_hooks_see_mode_and_names(given: Any, expected: dict[str, Any]) -> None:
    """A value that is not set is absent."""
    assert to_hook_tool_config(given) == expected


@pytest.mark.req("HOOK-074")
@pytest.mark.parametrize(
    ("said", "expected"),
    [
        pytest.param({"mode": "ANY", "allowedFunctionNames": ["a"]}, tool_config("ANY", ["a"]), id="both"),
        pytest.param({"mode": "auto"}, tool_config("AUTO"), id="lower-case"),
        pytest.param({"mode": "sometimes", "allowedFunctionNames": 5}, tool_config(), id="unreadable"),
        pytest.param({"allowedFunctionNames": "a"}, tool_config(None, ["a"]), id="a-lone-name"),
        pytest.param({"functionCallingConfig": {"mode": "none"}}, tool_config("NONE"), id="nested-as-in-gemini-cli"),
        pytest.param({"mode": 5, "allowedFunctionNames": ["a", 5, None]}, tool_config(None, ["a"]), id="part-readable"),
        pytest.param({"allowedFunctionNames": ["\ud800"]}, tool_config(None, ["\ufffd"]), id="lone-surrogate"),
    ],
)
def test_a_hooks_words_become_sdk_types(said: dict[str, Any], expected: types.ToolConfig) -> None:
    """A known mode and names that are strings are taken, the rest is left out."""
    assert from_hook_tool_config(said) == expected


@pytest.mark.req("HOOK-055", "HOOK-056", "HOOK-057")
@pytest.mark.parametrize(
    ("given", "said", "expected"),
    [
        pytest.param(tool_config("AUTO"), {"mode": "ANY"}, tool_config("ANY"), id="mode"),
        pytest.param(
            tool_config("ANY", ["a", "b"]), {"allowedFunctionNames": ["a"]}, tool_config("ANY", ["a"]), id="names"
        ),
        pytest.param(tool_config("ANY", ["a"]), {"mode": "AUTO"}, tool_config("AUTO", ["a"]), id="names-stay"),
        pytest.param(tool_config("ANY", ["a"]), {"mode": "NONE"}, tool_config("NONE"), id="none-needs-no-names"),
        pytest.param(
            tool_config("ANY", ["a"]), {"allowedFunctionNames": []}, tool_config("NONE", []), id="no-name-is-no-tool"
        ),
        pytest.param(
            tool_config("AUTO"),
            {"mode": "AUTO", "allowedFunctionNames": []},
            tool_config("NONE", []),
            id="no-name-is-no-tool-in-any-mode",
        ),
        pytest.param(
            tool_config("VALIDATED", ["a", "b"]),
            {"mode": "AUTO", "allowedFunctionNames": ["a"]},
            tool_config("VALIDATED", ["a"]),
            id="a-mode-the-hook-did-not-change",
        ),
        pytest.param(
            tool_config("AUTO", retrieval_config=types.RetrievalConfig(language_code="en")),
            {"mode": "ANY"},
            tool_config("ANY", retrieval_config=types.RetrievalConfig(language_code="en")),
            id="other-fields-stay",
        ),
        pytest.param(None, {"mode": "ANY"}, tool_config("ANY"), id="none-before"),
        pytest.param(types.ToolConfig(), {"mode": "ANY"}, tool_config("ANY"), id="no-calling-config-before"),
        pytest.param(
            {"functionCallingConfig": {"mode": "AUTO", "allowedFunctionNames": ["a"]}},
            {"mode": "ANY", "allowedFunctionNames": ["b"]},
            {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["b"]}},
            id="json",
        ),
    ],
)
def test_a_hooks_words_are_laid_over_the_requests(given: Any, said: Any, expected: Any) -> None:
    """Where the hook said nothing, the request's own configuration stands."""
    assert overlay_tool_config(given, said) == expected


@pytest.mark.req("HOOK-060")
@pytest.mark.parametrize(
    "said",
    [None, {}, 5, [], {"mode": "ANY"}, {"mode": "x"}, {"allowedFunctionNames": ["a"]}, {"allowedFunctionNames": 1}],
)
def test_nothing_new_changes_nothing(said: Any) -> None:
    """The same object comes back when the hook says nothing, nonsense, or what was already so."""
    given = tool_config("ANY", ["a"])
    assert overlay_tool_config(given, said) is given
