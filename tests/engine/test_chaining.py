from collections.abc import Mapping
from typing import Any

import pytest

from hookline.contract.outputs import DefaultHookOutput
from hookline.engine._chaining import Chain, chain_llm_request, chain_prompt, chain_tool_input


@pytest.mark.req("HOOK-024", "HOOK-105", "HOOK-106", "HOOK-211", "HOOK-216")
@pytest.mark.parametrize(
    ("chain", "told", "answer", "next_told"),
    [
        pytest.param(
            chain_tool_input,
            {"cwd": "/", "tool_input": {"a": 1, "o": {"x": 1}}},
            {"tool_input": {"b": None, "o": {"y": 2}}},
            {"cwd": "/", "tool_input": {"a": 1, "b": None, "o": {"y": 2}}},
            id="arguments",
        ),
        pytest.param(
            chain_tool_input, {"tool_input": "odd"}, {"tool_input": {"a": 1}}, {"tool_input": {"a": 1}}, id="odd-before"
        ),
        pytest.param(chain_tool_input, {"tool_input": {"a": 1}}, {"tool_input": [2]}, None, id="odd-answer"),
        pytest.param(
            chain_llm_request,
            {"llm_request": {"model": "m", "messages": [{"role": "user", "content": "hi"}]}},
            {"llm_request": {"config": {"topK": 1}}},
            {
                "llm_request": {
                    "model": "m",
                    "messages": [{"role": "user", "content": "hi"}],
                    "config": {"topK": 1},
                }
            },
            id="request",
        ),
        pytest.param(chain_llm_request, {"llm_request": {"model": "m"}}, {"llm_request": "x"}, None, id="odd-request"),
        pytest.param(
            chain_prompt,
            {"prompt": "do it"},
            {"additionalContext": "with care"},
            {"prompt": "do it\n\nwith care"},
            id="prompt",
        ),
        pytest.param(chain_prompt, {"prompt": "do it"}, {"additionalContext": ""}, None, id="empty-context"),
        pytest.param(chain_prompt, {"prompt": "do it"}, {"additionalContext": 5}, None, id="odd-context"),
        pytest.param(chain_prompt, {"prompt": "do it"}, {}, None, id="no-context"),
    ],
)
def test_the_next_hook_sees_what_this_one_changed(
    chain: Chain, told: Mapping[str, Any], answer: Mapping[str, Any], next_told: Mapping[str, Any] | None
) -> None:
    """A usable change is laid over what the next hook is told; anything else leaves it as it was."""
    after = chain(told, DefaultHookOutput({"hookSpecificOutput": answer}), told)
    assert after == (told if next_told is None else next_told)
    assert (after is told) is (next_told is None)


@pytest.mark.parametrize(("chain", "name"), [(chain_tool_input, "tool_input"), (chain_llm_request, "llm_request")])
def test_null_takes_back_what_earlier_hooks_changed(chain: Chain, name: str) -> None:
    """The next hook judges what really goes on: the original."""
    after = chain(
        {"cwd": "/", name: {"a": 2}}, DefaultHookOutput({"hookSpecificOutput": {name: None}}), {name: {"a": 1}}
    )
    assert after == {"cwd": "/", name: {"a": 1}}
