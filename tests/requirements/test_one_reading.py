"""Stop, reason, system message and suppression mean the same to every caller that receives an event's result."""

import asyncio
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from google.genai import types

from hookline import (
    Config,
    GenerateContentParameters,
    ToolResult,
    execute_tool_with_hooks,
    fire_after_model_hook,
    fire_before_model_hook,
    fire_before_tool_selection_hook,
)
from hookline.apps.cli.main import main

REQUEST = GenerateContentParameters(model="m", contents=[types.Content(role="user", parts=[types.Part(text="hi")])])
RESPONSE = types.GenerateContentResponse(
    candidates=[types.Candidate(content=types.Content(role="model", parts=[types.Part(text="ho")]))]
)
HOOK_REQUEST = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "config": {}}
HOOK_RESPONSE = {"text": "ho", "candidates": [{"content": {"role": "model", "parts": ["ho"]}}]}
INPUTS: dict[str, dict[str, Any]] = {
    "BeforeTool": {"tool_name": "ls", "tool_input": {}},
    "AfterTool": {"tool_name": "ls", "tool_input": {}, "tool_response": {}},
    "BeforeModel": {"llm_request": HOOK_REQUEST},
    "AfterModel": {"llm_request": HOOK_REQUEST, "llm_response": HOOK_RESPONSE},
    "BeforeToolSelection": {"llm_request": HOOK_REQUEST},
}


class Reading(NamedTuple):
    """The meaning of an answer."""

    stop_reason: str | None = None
    message: str | None = None
    suppress: bool = False


ANSWERS: list[Any] = [
    pytest.param({}, Reading(), id="nothing"),
    pytest.param({"continue": False, "stopReason": "enough"}, Reading("enough"), id="stop"),
    pytest.param({"continue": False, "stopReason": "enough", "reason": "why"}, Reading("enough"), id="both reasons"),
    pytest.param({"continue": False, "reason": "why"}, Reading("why"), id="reason"),
    pytest.param({"continue": False, "stopReason": " \n", "reason": "why"}, Reading("why"), id="blank stop reason"),
    pytest.param({"continue": False}, Reading("No reason given"), id="no reason"),
    pytest.param({"continue": True, "stopReason": "not stopped"}, Reading(), id="true"),
    pytest.param({"continue": None, "stopReason": "not stopped"}, Reading(), id="null"),
    pytest.param({"continue": 0, "stopReason": "not stopped"}, Reading(), id="zero"),
    pytest.param({"continue": "false"}, Reading(), id="text"),
    pytest.param({"systemMessage": "note"}, Reading(message="note"), id="message"),
    pytest.param({"systemMessage": " \t"}, Reading(), id="blank message"),
    pytest.param({"suppressOutput": True}, Reading(suppress=True), id="suppress"),
    pytest.param({"suppressOutput": "true"}, Reading(), id="suppress as text"),
    pytest.param({"suppressOutput": 1}, Reading(), id="suppress as a number"),
    pytest.param(
        {"continue": False, "stopReason": "enough", "systemMessage": "note", "suppressOutput": True},
        Reading("enough", "note", suppress=True),
        id="all",
    ),
]


def _texts(contents: Any) -> str:
    return "\n".join(part.text or "" for content in contents for part in content.parts)


def _note_in(text: str) -> str | None:
    _, mark, note = text.rpartition("[System] ")
    return note if mark else None


async def told_to_the_caller(config: Config, event: str) -> tuple[bool, str | None, str | None, bool]:
    """Return what the caller of the event's trigger receives: stop, stop reason, note for the model, suppression."""
    if event in ("BeforeTool", "AfterTool"):

        async def tool(_: dict[str, Any]) -> ToolResult:
            return ToolResult(llm_content="done")

        done = await execute_tool_with_hooks(config, "ls", {}, tool)
        return done.should_stop, done.stop_reason, _note_in(str(done.llm_content)), done.suppress_display
    if event == "BeforeModel":
        before = await fire_before_model_hook(config, REQUEST)
        sent = before.modified_request or REQUEST
        return before.should_stop, before.stop_reason, _note_in(_texts(sent.contents)), before.suppress_output
    if event == "AfterModel":
        after = await fire_after_model_hook(config, REQUEST, RESPONSE)
        return after.should_stop, after.stop_reason, after.system_message, after.suppress_output
    chosen = await fire_before_tool_selection_hook(config, REQUEST)
    return chosen.should_stop, chosen.stop_reason, chosen.system_message, chosen.suppress_output


def expected_of(event: str, answer: Reading) -> tuple[bool, str | None, str | None, bool]:
    # A stop before a model call leaves no request that the note could be added to.
    message = None if event == "BeforeModel" and answer.stop_reason else answer.message
    # A tool's result is hidden by AfterTool only; the union merge has no suppression.
    suppress = answer.suppress and event not in ("BeforeTool", "BeforeToolSelection")
    return answer.stop_reason is not None, answer.stop_reason, message, suppress


@pytest.mark.req("DELTA-HAPP-001", "DELTA-HAPP-002", "DELTA-HRUN-001", "DELTA-HRUN-002", "DELTA-HRUN-003")
@pytest.mark.parametrize(
    "event",
    [
        "BeforeTool",
        "AfterTool",
        pytest.param("BeforeModel", marks=pytest.mark.req("HOOK-135")),
        pytest.param("AfterModel", marks=pytest.mark.req("HOOK-136")),
        pytest.param("BeforeToolSelection", marks=pytest.mark.req("HOOK-137")),
    ],
)
@pytest.mark.parametrize(("answer", "reading"), ANSWERS)
def test_callers_and_the_log_are_told_the_same(
    scene: Any, says: Any, event: str, answer: dict[str, Any], reading: Reading
) -> None:
    """On every event an answer means the same to the caller and in the log."""
    told = asyncio.run(told_to_the_caller(scene.config({event: [says(answer)]}), event))
    assert told == expected_of(event, reading)
    (record,) = scene.records("event")
    suppress = reading.suppress and event != "BeforeToolSelection"
    logged = (record["stop"], record["stopReason"], record["systemMessage"], record["suppressOutput"])
    assert logged == (reading.stop_reason is not None, reading.stop_reason, reading.message, suppress)


@pytest.mark.req("DELTA-HAPP-001", "DELTA-HRUN-001", "DELTA-HRUN-002", "DELTA-HRUN-003", "DELTA-HRUN-004")
@pytest.mark.parametrize("event", INPUTS)
@pytest.mark.parametrize(("answer", "reading"), ANSWERS)
def test_fire_shows_the_same(
    project: Path,
    says: Any,
    event: str,
    answer: dict[str, Any],
    reading: Reading,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    """`hookline fire --json` shows the reading that the caller of the event is given."""
    settings = project / "hooks.json"
    hooks = {event: [{"hooks": [{"type": "command", "command": says(answer)}]}]}
    settings.write_text(json.dumps({"enableHooks": True, "hooks": hooks}))
    words = ["fire", event, "--settings", str(settings), "--project", str(project), "--json"]
    main([*words, "--input", json.dumps(INPUTS[event])])
    processed = json.loads(capsysbinary.readouterr().out)["processed"]
    assert processed == {
        "shouldStop": reading.stop_reason is not None,
        "stopReason": reading.stop_reason,
        "systemMessage": reading.message,
        "suppressOutput": reading.suppress and event != "BeforeToolSelection",
    }
