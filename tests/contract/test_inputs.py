import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard, get_args, get_origin, get_type_hints

import pytest

from hookline.contract import inputs
from hookline.contract.events import HookEventName, SessionStartSource
from hookline.contract.inputs import HookInput, input_problems
from hookline.contract.llm import GenerateContentParameters

Check = Callable[[object], bool]


class SdkResponse:
    """All that is asked of a response of the SDK."""

    candidates = ()


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
CHECKS: Mapping[HookEventName, Check] = {
    event: getattr(inputs, f"is_{event.name.lower()}_input") for event in HookEventName
}


@pytest.mark.req("DELTA-HPAY-001")
@pytest.mark.parametrize("event", HookEventName)
def test_each_field_of_an_input_is_needed(event: HookEventName) -> None:
    """An input with its event's fields is good, also with more in it; without one of them it is not."""
    good = GOOD[event]
    assert CHECKS[event]({**good, "more": 1})
    for name in good:
        less = {key: value for key, value in good.items() if key != name}
        assert not CHECKS[event](less)
        assert [said.partition(",")[0] for said in input_problems(event, less)] == [f"{name} is missing"]
        wrong = {**good, name: None}
        assert not CHECKS[event](wrong)
        assert [said.partition(",")[0] for said in input_problems(event, wrong)] == [f"{name} is null"]


@pytest.mark.req("DELTA-HPAY-001")
@pytest.mark.parametrize(
    ("event", "fields", "problems"),
    [
        (
            HookEventName.BEFORE_TOOL,
            {"tool_name": "", "tool_input": []},
            ("tool_name is a string, expected a non-empty string", "tool_input is an array, expected an object"),
        ),
        (
            HookEventName.AFTER_AGENT,
            {"prompt": 1, "prompt_response": "", "stop_hook_active": 0},
            ("prompt is a number, expected a string", "stop_hook_active is a number, expected true or false"),
        ),
        (
            HookEventName.SESSION_START,
            {"source": ["startup"]},
            ("source is an array, expected one of startup, resume, clear, compress",),
        ),
        (
            HookEventName.AFTER_MODEL,
            {"llm_request": "x", "llm_response": "y"},
            (
                "llm_request is a string, expected an object (a request in hook or SDK form)",
                "llm_response is a string, expected an object (a response in hook or SDK form)",
            ),
        ),
        (HookEventName.PRE_COMPRESS, None, ("input is null, expected an object with trigger",)),
        (HookEventName.BEFORE_TOOL, [], ("input is an array, expected an object with tool_name, tool_input",)),
    ],
)
def test_problems_name_the_field_and_the_remedy(
    event: HookEventName, fields: object, problems: tuple[str, ...]
) -> None:
    """Every wrong field is told in one sentence, with what was expected."""
    assert input_problems(event, fields) == problems


@pytest.mark.req("DELTA-HPAY-001", "DELTA-HPAY-006")
def test_values_in_the_languages_own_types_are_good() -> None:
    """Enumeration members, SDK parameters and SDK responses pass as they are."""
    request = GenerateContentParameters(model="m", contents="hi")
    assert inputs.is_session_start_input({"source": SessionStartSource.RESUME})
    assert inputs.is_after_model_input({"llm_request": request, "llm_response": SdkResponse()})


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
    """What hooks of an event are told is the five facts and the event's own fields."""
    told = getattr(inputs, f"{event.value}Input")
    assert told.__required_keys__ == HookInput.__required_keys__ | GOOD[event].keys()
    assert HookInput.__required_keys__ == {"session_id", "cwd", "timestamp", "hook_event_name", "transcript_path"}
