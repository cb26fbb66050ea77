from collections.abc import Callable, Mapping
from typing import Any

import pytest

from hookline.engine.merge import Rule, merge_field_replacement, merge_or_decision
from hookline.engine.rewrites import (
    Change,
    add_context,
    change_arguments,
    change_prompt,
    change_request,
    change_response,
    no_change,
)
from hookline.protocol.answers import HookAnswer, read_object

RULES: Mapping[Callable[..., Any], Rule] = {
    change_arguments: merge_or_decision,
    change_request: merge_field_replacement,
    change_response: merge_field_replacement,
    add_context: merge_or_decision,
    change_prompt: merge_or_decision,
    no_change: merge_or_decision,
}
TOOL = {"cwd": "/", "tool_input": {"path": "/a", "mode": "w", "o": {"x": 1}}}
MODEL = {"llm_request": {"model": "m", "messages": [{"role": "user", "content": "hi"}], "config": {"topP": 1}}}


def response(text: str) -> dict[str, Any]:
    return {"text": text, "candidates": [{"content": {"role": "model", "parts": [text]}}]}


def changed(change: Change, told: Mapping[str, Any], *specifics: Mapping[str, Any]) -> dict[str, Any]:
    answers = [read_object({"hookSpecificOutput": specific}) for specific in specifics]
    return change(told, RULES[change](answers).answer, answers)


@pytest.mark.req("HOOK-019", "HOOK-024", "HOOK-055", "HOOK-105", "HOOK-106", "HOOK-156", "HOOK-177", "HOOK-179")
@pytest.mark.req("HOOK-046", "HOOK-211", "HOOK-216")
@pytest.mark.parametrize(
    ("change", "told", "specifics", "fields"),
    [
        pytest.param(
            change_arguments,
            TOOL,
            [{"tool_input": {"path": "/b", "more": None, "o": {"y": 2}}}],
            {"tool_input": {"path": "/b", "mode": "w", "more": None, "o": {"y": 2}}},
            id="arguments",
        ),
        pytest.param(
            change_arguments,
            TOOL,
            [{"tool_input": {"path": "/b"}}, {"tool_input": {"mode": "r"}}],
            {"tool_input": {"path": "/b", "mode": "r", "o": {"x": 1}}},
            id="arguments-of-two-hooks",
        ),
        pytest.param(change_arguments, TOOL, [{"tool_input": {"path": "/a"}}], {}, id="the-same-arguments"),
        pytest.param(change_arguments, TOOL, [{"tool_input": 5}], {}, id="odd-arguments"),
        pytest.param(change_arguments, TOOL, [{"tool_input": {"path": "/b"}}, {"tool_input": None}], {}, id="null"),
        pytest.param(
            change_arguments, {"tool_input": "odd"}, [{"tool_input": {"a": 1}}], {"tool_input": {"a": 1}}, id="odd-told"
        ),
        pytest.param(
            change_request,
            MODEL,
            [{"llm_request": {"config": {"topK": 1}}, "llm_response": {"text": "hi"}}],
            {"llm_request": {**MODEL["llm_request"], "config": {"topP": 1, "topK": 1}}},
            id="request-with-its-config-by-key",
        ),
        pytest.param(
            change_request,
            MODEL,
            [{"llm_request": {"model": "other"}}],
            {"llm_request": {**MODEL["llm_request"], "model": "other"}},
            id="request",
        ),
        pytest.param(change_request, MODEL, [{"llm_request": {"model": "m"}}], {}, id="the-same-request"),
        pytest.param(change_request, MODEL, [{"llm_request": "x"}], {}, id="odd-request"),
        pytest.param(change_request, MODEL, [{"llm_request": {"model": "x"}}, {"llm_request": None}], {}, id="no-more"),
        pytest.param(change_request, MODEL, [{"llm_response": {"text": "hi"}}], {}, id="a-response-is-no-request"),
        pytest.param(
            change_response,
            {"llm_response": response("secret")},
            [{"llm_response": {"text": "xxx"}}],
            {"llm_response": response("xxx")},
            id="text-alone-replaces",
        ),
        pytest.param(
            change_response,
            {"llm_response": response("secret")},
            [{"llm_response": {**response("secret"), "text": "xxx"}}],
            {"llm_response": response("xxx")},
            id="text-beside-unchanged-candidates-replaces",
        ),
        pytest.param(
            change_response,
            {"llm_response": response("secret")},
            [{"llm_response": {"candidates": response("xxx")["candidates"]}}],
            {"llm_response": response("xxx")},
            id="candidates-replace",
        ),
        pytest.param(
            change_response,
            {"llm_response": response("a")},
            [{"llm_response": response("a")}],
            {},
            id="the-same-response",
        ),
        pytest.param(change_response, {"llm_response": {}}, [{"llm_response": "hi"}], {}, id="odd-response"),
        pytest.param(
            add_context,
            {"prompt": "do it"},
            [{"additionalContext": "with care"}, {}, {"additionalContext": "soon"}],
            {"prompt": "do it\n\nwith care\n\nsoon"},
            id="context",
        ),
        pytest.param(
            add_context,
            {"prompt": "do it"},
            [{"additionalContext": "with care"}, {"prompt": "leave it"}],
            {"prompt": "leave it\n\nwith care"},
            id="context-and-prompt",
        ),
        pytest.param(add_context, {"prompt": "do it"}, [{"prompt": "leave it"}], {"prompt": "leave it"}, id="for-next"),
        pytest.param(add_context, {"prompt": "do it"}, [{"additionalContext": " "}], {}, id="blank-context"),
        pytest.param(add_context, {"prompt": "do it"}, [{"additionalContext": 5}], {}, id="odd-context"),
        pytest.param(add_context, {"prompt": "do it"}, [{}], {}, id="no-context"),
        pytest.param(change_prompt, {"prompt": "a"}, [{"prompt": "b"}, {"prompt": "c"}], {"prompt": "c"}, id="prompt"),
        pytest.param(change_prompt, {"prompt": "a"}, [{"prompt": "b"}, {"prompt": None}], {}, id="prompt-taken-back"),
        pytest.param(change_prompt, {"prompt": "a"}, [{"prompt": "a"}], {}, id="the-same-prompt"),
        pytest.param(change_prompt, {"prompt": "a"}, [{"prompt": " "}], {}, id="blank-prompt"),
        pytest.param(change_prompt, {"prompt": "a"}, [{"prompt": 5}], {}, id="odd-prompt"),
        pytest.param(change_prompt, {"prompt": "a"}, [{"additionalContext": "c"}], {}, id="context-is-no-prompt"),
        pytest.param(no_change, TOOL, [{"tool_input": {"path": "/b"}}], {}, id="none"),
    ],
)
def test_what_answers_change(
    change: Change, told: Mapping[str, Any], specifics: list[Mapping[str, Any]], fields: dict[str, Any]
) -> None:
    """The changed value, whole, or nothing where nothing changed; the same rule serves the next hook and the caller."""
    assert changed(change, told, *specifics) == fields


def test_what_was_told_stays_as_it_is() -> None:
    """A change makes a new value, and modifies neither the input nor the answers of hooks."""
    told = {"tool_input": {"a": 1}}
    answer = read_object({"hookSpecificOutput": {"tool_input": {"b": 2}}})
    assert change_arguments(told, answer, [answer]) == {"tool_input": {"a": 1, "b": 2}}
    assert told == {"tool_input": {"a": 1}}
    assert answer.tool_input == {"b": 2}


class _Odd:
    def __eq__(self, other: object) -> bool:
        raise TypeError("can't be compared")

    __hash__ = None  # type: ignore[assignment]


def test_arguments_that_cannot_be_compared_are_changed() -> None:
    """An argument with a custom equality does not cost a hook's answer."""
    odd = _Odd()
    changes = change_arguments({"tool_input": {"a": odd, "b": 1}}, HookAnswer(tool_input={"a": 5, "b": 2}), [])
    assert changes == {"tool_input": {"a": 5, "b": 2}}
