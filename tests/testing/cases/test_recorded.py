"""Events of the log become cases, and back: nothing of an input is lost or can act on a terminal."""

import json
from typing import Any

import pytest

from hookline.protocol.events import HookEventName
from hookline.protocol.inputs import HookInput
from hookline.testing.cases.case import Outcome
from hookline.testing.cases.read import read_text
from hookline.testing.cases.recorded import NotRecordedError, Recorded, read_event
from hookline.testing.cases.write import case_file_lines

FACTS = dict.fromkeys(HookInput.__annotations__, "x")
ODD = "printf '\\x1b[2J' \\\n\t\r\x00\x1b\x7f\u202e\U000e0041\u2028\U0001f600 \"\"\" '''"


def records(fields: Any, end: dict[str, Any] | None = None, **run: Any) -> list[dict[str, Any]]:
    """A run and the end of an event, as the log has them."""
    stdin = fields if isinstance(fields, str) else json.dumps({**FACTS, **fields})
    common = {"fire": "f1", "event": "BeforeTool", "time": "2025-02-18T16:30:00.000Z"}
    return [
        {**common, "kind": "hook", "hook": "guard", "stdin": stdin, "level": "debug", **run},
        {**common, "kind": "event", "blocked": False, "stop": False, **(end or {})},
    ]


def recorded(fields: Any, event: str = "BeforeTool") -> Recorded:
    return read_event(records(fields, {"event": event}))


def tool(**arguments: Any) -> dict[str, Any]:
    return {"tool_name": "t", "tool_input": arguments}


@pytest.mark.parametrize(
    ("end", "decision", "outcome", "by"),
    [
        ({}, None, Outcome.ALLOWED, ()),
        ({"blocked": True}, "deny", Outcome.BLOCKED, ("guard",)),
        ({"stop": True, "blocked": True}, None, Outcome.STOPPED, ()),
        ({"ask": True}, "ask", Outcome.ASKED, ("guard",)),
        ({"denied": True}, "block", Outcome.DENIED, ("guard",)),
        ({"denied": True, "goOn": True}, "block", Outcome.CONTINUES, ("guard",)),
    ],
)
def test_what_was_decided_is_read(end: dict[str, Any], decision: str | None, outcome: Outcome, by: Any) -> None:
    """In the words of case files."""
    event = read_event(records(tool(), end, decision=decision))
    assert (event.outcome, event.by) == (outcome, by)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (records('{"a": 1… (5 more characters)'), "longer than what the log keeps"),
        (records("not JSON"), "its input can't be read"),
        (records("[1]"), "its input can't be read"),
        (records(tool(), dialect="claude"), "no hook in hookline's own words ran for it"),
        (records({"tool_name": "t"}), "its input is not one of BeforeTool: tool_input is missing"),
        (records(tool(), {"event": "Later"}), "its event is not an event of hookline"),
        ([], "no hook in hookline's own words ran"),
    ],
)
def test_what_can_not_be_taken_says_why(given: Any, why: str) -> None:
    """Nothing is left out in silence."""
    with pytest.raises(NotRecordedError, match=why):
        read_event(given)


@pytest.mark.parametrize(
    ("fields", "event"),
    [
        (tool(), "BeforeTool"),
        (tool(a=1, b=1.5, c=True, d=[1, "x", {"y": []}], e={"f g": {}}), "BeforeTool"),
        (tool(**{"": "", "a.b": 1, "ä": "ö", '"': "'"}), "BeforeTool"),
        (tool(command=ODD), "BeforeTool"),
        (tool(nothing=None, odd=ODD), "BeforeTool"),
        (tool(lone="\ud800"), "BeforeTool"),
        (tool(large=1e300, tiny=-5e-324, whole=2**70), "BeforeTool"),
        ({**tool(), "tool_response": {"llmContent": "x", "error": None}}, "AfterTool"),
        ({"llm_request": {"model": "m", "messages": [{"role": "user", "content": "q"}]}}, "BeforeModel"),
        ({**tool(), "more": 1}, "BeforeTool"),
        ({"prompt": "p"}, "BeforeAgent"),
        ({"source": "startup"}, "SessionStart"),
        ({"notification_type": "ToolPermission", "message": "m", "details": {}}, "Notification"),
    ],
)
def test_a_written_case_is_the_event(fields: dict[str, Any], event: str) -> None:
    """Every JSON value comes back, and the written text can't act on a terminal."""
    lines = list(case_file_lines([recorded(fields, event)]))
    assert all(line.isprintable() for line in lines)
    (case,) = read_text("\n".join(lines), "f")
    assert (case.event, case.fields) == (HookEventName(event), fields)
    assert case.expected.outcome is Outcome.ALLOWED


def test_a_hidden_secret_is_told() -> None:
    """Hooks may judge the placeholder differently."""
    assert any("hidden a secret" in line for line in case_file_lines([recorded(tool(key="[redacted]"))]))
