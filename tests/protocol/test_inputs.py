import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard, get_args, get_origin, get_type_hints

import pytest

from hookline.protocol import inputs
from hookline.protocol.events import HookEventName, SessionStartSource
from hookline.protocol.inputs import HookInput, input_problems
from hookline.protocol.llm import GenerateContentParameters

Check = Callable[[object], bool]


GOOD: Mapping[HookEventName, Mapping[str, Any]] = {
    HookEventName.BEFORE_TOOL: {"tool_name": "t", "tool_input": {}},
    HookEventName.AFTER_TOOL: {"tool_name": "t", "tool_input": {}, "tool_response": {}},
    HookEventName.BEFORE_MODEL: {"llm_request": {}},
    HookEventName.AFTER_MODEL: {"llm_request": {}, "llm_response": {}},
    HookEventName.BEFORE_TOOL_SELECTION: {"llm_request": {}},
    HookEventName.BEFORE_AGENT: {"prompt": ""},
    HookEventName.AFTER_AGENT: {"prompt": "", "prompt_response": "", "stop_hook_active": False},
    HookEventName.SESSION_START: {"source": "startup"},
    HookEventName.SESSION_END: {"reason": "logout"},
    HookEventName.PRE_COMPRESS: {"trigger": "auto"},
    HookEventName.NOTIFICATION: {"notification_type": "ToolPermission", "message": "m", "details": {}},
}
# BeforeToolSelection has the same field as BeforeModel.
FIELDS_OF = {HookEventName.BEFORE_TOOL_SELECTION: "BeforeModelFields"}
CHECKS: Mapping[HookEventName, Check] = {
    event: getattr(inputs, f"is_{event.name.lower()}_input") for event in HookEventName
}


def problems(event: HookEventName, value: object) -> tuple[str, ...]:
    return input_problems(getattr(inputs, FIELDS_OF.get(event, f"{event.value}Fields")), value)


@pytest.mark.req("DELTA-HPAY-001")
@pytest.mark.parametrize("event", HookEventName)
def test_each_field_of_an_input_is_needed(event: HookEventName) -> None:
    """An input with its event's fields is good, also with more in it; without one of them it is not."""
    good = GOOD[event]
    assert CHECKS[event]({**good, "more": 1})
    for name in good:
        less = {key: value for key, value in good.items() if key != name}
        assert not CHECKS[event](less)
        assert problems(event, less) == (f"{name} is missing",)
        wrong = {**good, name: None}
        assert not CHECKS[event](wrong)
        (problem,) = problems(event, wrong)
        assert problem.startswith(f"{name}: expected `")
        assert problem.endswith("got `null`")


@pytest.mark.req("DELTA-HPAY-001")
@pytest.mark.parametrize(
    ("event", "fields", "found"),
    [
        (
            HookEventName.BEFORE_TOOL,
            {"tool_name": "", "tool_input": []},
            ("tool_name: expected `str` of length >= 1", "tool_input: expected `object`, got `array`"),
        ),
        (HookEventName.BEFORE_TOOL, {"tool_name": "t", "tool_input": {}, "mcp_context": {"server_name": "s"}}, ()),
        (
            HookEventName.BEFORE_TOOL,
            {"tool_name": "t", "tool_input": {}, "mcp_context": "s"},
            ("mcp_context: expected `object`, got `str`",),
        ),
        (
            HookEventName.AFTER_AGENT,
            {"prompt": 1, "prompt_response": "", "stop_hook_active": 0},
            ("prompt: expected `str`, got `int`", "stop_hook_active: expected `bool`, got `int`"),
        ),
        (HookEventName.SESSION_START, {"source": "tomorrow"}, ("source: invalid enum value 'tomorrow'",)),
        (
            HookEventName.AFTER_MODEL,
            {"llm_request": "x", "llm_response": "y"},
            ("llm_request: expected `object`, got `str`", "llm_response: expected `object`, got `str`"),
        ),
        (
            HookEventName.AFTER_MODEL,
            {"llm_request": {"messages": [{"role": "user"}]}, "llm_response": {"text": 5}},
            (
                "llm_request.messages[0]: object missing required field `content`",
                "llm_response.text: expected `str`, got `int`",
            ),
        ),
        (HookEventName.PRE_COMPRESS, None, ("input is null, expected an object with trigger",)),
        (HookEventName.BEFORE_TOOL, [], ("input is an array, expected an object with tool_name, tool_input",)),
    ],
)
def test_problems_name_the_field_and_what_was_expected(
    event: HookEventName, fields: object, found: tuple[str, ...]
) -> None:
    """Every wrong field is named with its place, what was expected and what was given."""
    assert problems(event, fields) == found
    assert CHECKS[event](fields) is (not found)


@pytest.mark.req("DELTA-HPAY-001", "DELTA-HPAY-005", "DELTA-HPAY-006")
def test_the_checks_are_true() -> None:
    """Enumeration members are good; what is not in hook form, such as SDK parameters, is translated before."""
    request = GenerateContentParameters(model="m", contents="hi")
    assert inputs.is_session_start_input({"source": SessionStartSource.RESUME})
    assert not inputs.is_before_model_input({"llm_request": request})
    assert not inputs.is_before_model_input({"llm_request": {"model": 5}})
    assert not inputs.is_before_tool_selection_input({"llm_request": {"toolConfig": {"mode": "some"}}})
    assert not inputs.is_after_model_input({"llm_request": {}, "llm_response": {"candidates": [{"content": "x"}]}})


@pytest.mark.req("DELTA-HPAY-005")
@pytest.mark.parametrize("event", HookEventName)
def test_each_check_is_a_type_predicate(event: HookEventName) -> None:
    """A type checker knows after the check that the value has exactly the fields that the check looked at."""
    returned = get_type_hints(CHECKS[event])["return"]
    (narrowed,) = get_args(returned)
    assert get_origin(returned) is TypeGuard
    assert typing.is_typeddict(narrowed)
    assert narrowed.__required_keys__ == GOOD[event].keys()


@pytest.mark.req("HOOK-062")
@pytest.mark.parametrize("event", HookEventName)
def test_each_input_type_has_the_common_and_the_own_fields(event: HookEventName) -> None:
    """The input of an event's hooks is the five facts and the event's own fields."""
    told = getattr(inputs, f"{event.value}Input")
    assert told.__required_keys__ == HookInput.__required_keys__ | GOOD[event].keys()
    assert HookInput.__required_keys__ == {"session_id", "cwd", "timestamp", "hook_event_name", "transcript_path"}
