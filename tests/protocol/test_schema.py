from typing import Any

import msgspec
import pytest

from hookline.protocol import inputs
from hookline.protocol.answers import read_object
from hookline.protocol.events import HookEventName
from hookline.protocol.text.json_schema import HookOutput, HookSpecificAnswer, input_schema, output_schema

WHOLE: dict[str, Any] = {
    "decision": "deny",
    "reason": "r",
    "continue": False,
    "stopReason": "s",
    "suppressOutput": True,
    "systemMessage": "m",
    "userMessage": "u",
    "hookSpecificOutput": {
        "hookEventName": "BeforeTool",
        "tool_input": {},
        "updatedInput": {},
        "replacesInput": True,
        "tool_output": "o",
        "updatedToolOutput": "o",
        "additionalContext": "c",
        "llm_request": {"messages": [{"role": "user", "content": "hi"}]},
        "llm_response": {"text": "hi"},
        "toolConfig": {"mode": "NONE"},
        "permissionDecision": "ask",
        "permissionDecisionReason": "p",
        "clearContext": False,
        "prompt": "p",
    },
}

# Any JSON can be the result of a tool.
OF_ANY_TYPE = {"tool_output", "updatedToolOutput"}


def described(schema: dict[str, Any], name: str) -> dict[str, Any]:
    properties: dict[str, Any] = schema["$defs"][name]["properties"]
    assert all(field.get("description") for field in properties.values())
    return properties


@pytest.mark.parametrize("event", HookEventName)
def test_inputs_are_described(event: HookEventName) -> None:
    """The schema of an input has a sentence for each field, knows which are always there, and its event."""
    told = getattr(inputs, f"{event}Input")
    schema = input_schema(event, told)
    assert schema["title"] == f"{event} hook input"
    assert described(schema, told.__name__).keys() == told.__annotations__.keys()
    assert set(schema["$defs"][told.__name__]["required"]) == told.__required_keys__
    assert schema["$defs"][told.__name__]["properties"]["hook_event_name"]["const"] == event.value


@pytest.mark.req("HOOK-157")
def test_the_answer_is_described_with_all_that_is_read() -> None:
    """The schema of an answer has every field that is read, in both places, and nothing that is complained of."""
    schema = output_schema()
    assert described(schema, "HookOutput").keys() == WHOLE.keys()
    assert described(schema, "HookSpecificAnswer").keys() == WHOLE["hookSpecificOutput"].keys()
    assert read_object(WHOLE).complaints == ()
    msgspec.convert(WHOLE, HookOutput)


@pytest.mark.req("HOOK-157")
@pytest.mark.parametrize("place", [None, "hookSpecificOutput"])
def test_what_the_type_refuses_is_complained_of(place: str | None) -> None:
    """The decoder's complaints and the schema agree about every field's type; null is fine in both."""
    fields = WHOLE[place] if place else WHOLE
    for name in fields.keys() - {"hookEventName"}:
        for value, good in (([], name in OF_ANY_TYPE), (None, True)):
            answer: dict[str, Any] = {place: {name: value}} if place else {name: value}
            assert (read_object(answer).complaints == ()) is good, name
            try:
                msgspec.convert(answer, HookOutput)
            except msgspec.ValidationError:
                assert not good, name
            else:
                assert good, name


def test_the_specific_answer_has_no_required_field() -> None:
    """Every field of an answer can be left out."""
    assert HookSpecificAnswer.__required_keys__ == frozenset()
    assert msgspec.convert({}, HookOutput) == HookOutput()
