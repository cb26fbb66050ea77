"""How hooks are read: each test reproduces one reading that was wrong once, exactly as it was seen.

    1   a block of BeforeModel without a response is shown
    2   the text of an AfterModel answer replaces the response's text
    3   text that the engine made from a failure erases nothing
    4   a value of a wrong type undoes nothing
    5   the reasons of all hooks that block are shown
    6   a system message becomes the system instruction
    7   a systemMessage beside a block, a stop or a bad rewrite reaches the model
    8   stop and reason are read in the same way on all events
    9   blank texts are ignored
    10  `fire` says what the agent would do
    11  the next hook of a chain reads the request as it would be sent

The number is at the beginning of each test's name. `test_readings_embedded.py` has the others.
"""

import asyncio
import json
import shlex
from typing import TYPE_CHECKING, Any

import pytest
from google.genai import types

from hookline import (
    GenerateContentParameters,
    ToolResult,
    execute_tool_with_hooks,
    fire_before_model_hook,
    fire_before_tool_selection_hook,
)
from hookline.testing import says

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Bench

REQUEST: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "user", "content": "hi"}],
    "config": {"maxOutputTokens": 9},
}
RESPONSE: dict[str, Any] = {"text": "ho", "candidates": [{"content": {"role": "model", "parts": ["ho"]}}]}
FIELDS: dict[str, dict[str, Any]] = {
    "BeforeTool": {"tool_name": "ls", "tool_input": {"path": "a"}},
    "AfterTool": {"tool_name": "ls", "tool_input": {}, "tool_response": {"llmContent": "a"}},
    "BeforeModel": {"llm_request": REQUEST},
    "AfterModel": {"llm_request": REQUEST, "llm_response": RESPONSE},
    "BeforeToolSelection": {"llm_request": REQUEST},
}
SDK_REQUEST = GenerateContentParameters(
    model="m",
    contents=[types.Content(role="user", parts=[types.Part(text="hi")])],
    config=types.GenerateContentConfig(system_instruction="Be kind.", max_output_tokens=9),
)
BLOCK = {"decision": "block", "reason": "Not here."}
STOP = {"continue": False, "stopReason": "Enough."}
NOTE = "Mind the gap."


def specific(**fields: Any) -> dict[str, Any]:
    """An answer about its own event."""
    return {"hookSpecificOutput": fields}


async def done(_arguments: dict[str, Any]) -> ToolResult:
    """A tool."""
    return ToolResult(llm_content="done")


@pytest.mark.parametrize(
    ("prompt", "options"),
    [
        pytest.param("go", (), id="prompt"),
        pytest.param("go", ("--headless",), id="headless"),
        pytest.param(None, (), id="piped"),
    ],
)
def test_01_people_read_why_the_model_was_not_called(
    prompt: str | None, options: tuple[str, ...], bench: "Bench"
) -> None:
    """A BeforeModel hook blocks without a response: `agent` prints the reason in every mode."""
    bench.answers("BeforeModel", BLOCK)
    assert "Not here." in bench.agent(prompt=prompt, options=options).stdout


@pytest.mark.parametrize("mode", ["json", "stream-json"])
def test_01_programs_read_why_the_model_was_not_called(mode: str, bench: "Bench") -> None:
    """A BeforeModel hook blocks without a response: the JSON has `blocked` and `reason`."""
    bench.answers("BeforeModel", BLOCK)
    result = json.loads(bench.agent(options=(f"--{mode}",)).stdout.splitlines()[-1])
    assert (result.get("blocked"), result.get("reason")) == (True, "Not here.")


TEXT_ALONE = {"hookSpecificOutput": {"llm_response": {"text": "REDACTED"}}}
CHANGED_TEXT = """
import json, sys
response = json.load(sys.stdin)["llm_response"]
print(json.dumps({"hookSpecificOutput": {"llm_response": {**response, "text": "REDACTED"}}}))
"""


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(f"echo {shlex.quote(json.dumps(TEXT_ALONE))}", id="text-alone"),
        pytest.param(f"python3 -c {shlex.quote(CHANGED_TEXT)}", id="text-changed-beside-unchanged-candidates"),
    ],
)
def test_02_an_after_model_text_replaces_the_response(command: str, bench: "Bench") -> None:
    """AfterModel answers with a text: it is shown and kept, and the secret is not."""
    bench.hook("AfterModel", command)
    assert bench.agent([says("The secret is 1234.")]).stdout == "REDACTED\n"
    assert "1234" not in json.dumps(bench.transcript())


@pytest.mark.parametrize("event", ["BeforeModel", "AfterModel"])
@pytest.mark.parametrize(
    ("command", "added"),
    [
        pytest.param("echo broken >&2; exit 1", "Warning: broken", id="crash"),
        pytest.param("echo hello", "hello", id="plain-text"),
    ],
)
def test_03_what_the_engine_made_replaces_no_message(event: str, command: str, added: str, bench: "Bench") -> None:
    """On model events a crashed hook, or one that prints plain text, adds to an earlier hook's systemMessage."""
    bench.answers(event, {"systemMessage": NOTE})
    bench.hook(event, command)
    _, report = bench.fire(event, FIELDS[event])
    assert report["processed"]["systemMessage"] == f"{NOTE}\n{added}"


@pytest.mark.parametrize(
    ("event", "first", "second", "place", "expected"),
    [
        pytest.param(
            "AfterModel",
            {"suppressOutput": True},
            {"suppressOutput": "yes"},
            ("processed", "suppressOutput"),
            True,
            id="suppressOutput-text",
        ),
        pytest.param(
            "AfterModel",
            {"suppressOutput": True},
            {"suppressOutput": 0},
            ("processed", "suppressOutput"),
            True,
            id="suppressOutput-number",
        ),
        pytest.param(
            "BeforeModel",
            {"systemMessage": NOTE},
            {"systemMessage": False},
            ("processed", "systemMessage"),
            NOTE,
            id="systemMessage",
        ),
        pytest.param(
            "AfterModel", STOP, {"stopReason": False}, ("processed", "stopReason"), "Enough.", id="stopReason"
        ),
        pytest.param("BeforeModel", BLOCK, {"reason": False}, ("verdict", "reason"), "Not here.", id="reason"),
    ],
)
def test_04_a_value_of_a_wrong_type_undoes_nothing(
    event: str, first: object, second: object, place: tuple[str, str], expected: object, bench: "Bench"
) -> None:
    """AfterModel's `suppressOutput: "yes"` does not undo an earlier `true`; the same holds for every field."""
    bench.answers(event, first, second)
    _, report = bench.fire(event, FIELDS[event])
    part, field = place
    assert report[part][field] == expected


PERMISSION = "printf %s " + shlex.quote(
    json.dumps(specific(permissionDecision="deny", permissionDecisionReason="Not by permission."))
)
DENIALS = [
    pytest.param("""echo '{"decision": "deny", "reason": "Not by decision."}'""", "Not by decision.", id="decision"),
    pytest.param("echo 'Not by exit code.' >&2; exit 2", "Not by exit code.", id="exit-2"),
]


@pytest.mark.parametrize("is_reversed", [False, True], ids=["permission-last", "permission-first"])
@pytest.mark.parametrize(("command", "reason"), DENIALS)
def test_05_the_reasons_of_all_who_block_are_shown(
    command: str, reason: str, is_reversed: bool, bench: "Bench"
) -> None:
    """Two denies, one by `decision` or exit 2, one by `permissionDecision`: model and user read both reasons."""
    for one in (PERMISSION, command) if is_reversed else (command, PERMISSION):
        bench.hook("BeforeTool", one)
    result = asyncio.run(execute_tool_with_hooks(bench.config(), "ls", {}, done))
    for shown in (result.llm_content, result.return_display):
        assert reason in shown
        assert "Not by permission." in shown


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param(
            [{"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]}],
            id="system-message",
        ),
        pytest.param(
            [{"messages": [{"role": "user", "content": "hi!"}]}, {"systemInstruction": "Be brief."}],
            id="systemInstruction-beside-messages",
        ),
        pytest.param(
            [{"systemInstruction": "Be brief."}, {"messages": [{"role": "user", "content": "hi!"}]}],
            id="messages-beside-systemInstruction",
        ),
    ],
)
def test_06_a_system_message_becomes_the_system_instruction(answers: list[dict[str, Any]], bench: "Bench") -> None:
    """The system message of a hook is sent as the system instruction, never as a content with the role `system`."""
    bench.answers("BeforeModel", *(specific(llm_request=answer) for answer in answers))
    sent = asyncio.run(fire_before_model_hook(bench.config(), SDK_REQUEST)).modified_request
    assert sent is not None
    assert [content.role for content in sent.contents] == ["user"]
    assert "Be brief." in str(sent.config.system_instruction)


@pytest.mark.parametrize("answer", [pytest.param(BLOCK, id="block"), pytest.param(STOP, id="stop")])
def test_07_a_message_beside_a_block_or_a_stop_goes_with_the_next_one(answer: dict[str, Any], bench: "Bench") -> None:
    """A systemMessage beside a BeforeModel block or stop reaches the model with the next message."""
    once = "test -e seen || { touch seen; echo %s; }"
    bench.hook("BeforeModel", once % shlex.quote(json.dumps({**answer, "systemMessage": NOTE})))
    bench.agent()
    bench.agent([says("Two.")], prompt="again", options=("--resume",))
    asked = [record["content"]["parts"] for record in bench.transcript() if record["type"] == "user"]
    assert [[part["text"] for part in parts] for parts in asked] == [["go"], ["again", f"[System] {NOTE}"]]


def test_07_a_message_beside_a_rewrite_that_fails_validation_is_kept(bench: "Bench") -> None:
    """A systemMessage beside arguments that are not valid reaches the model with the call's result."""
    bench.answers("BeforeTool", {"systemMessage": NOTE, **specific(tool_input={"path": 3})})
    result = asyncio.run(
        execute_tool_with_hooks(bench.config(), "ls", {"path": "a"}, done, validate=lambda _: "path must be a string")
    )
    assert result.error is not None
    assert "path must be a string" in result.llm_content
    assert f"[System] {NOTE}" in result.llm_content


UNSTOPPED = {"continue": False, "reason": "The budget is spent."}


def test_08_before_tool_selection_stops_with_its_reason(bench: "Bench") -> None:
    """BeforeToolSelection `{"continue": false, "reason": …}` has that reason for callers and programs."""
    bench.answers("BeforeToolSelection", UNSTOPPED)
    selection = asyncio.run(fire_before_tool_selection_hook(bench.config(), SDK_REQUEST))
    assert (selection.should_stop, selection.stop_reason) == (True, "The budget is spent.")
    _, report = bench.fire("BeforeToolSelection", FIELDS["BeforeToolSelection"])
    assert (report["processed"]["shouldStop"], report["processed"]["stopReason"]) == (True, "The budget is spent.")


def test_08_people_read_why_before_tool_selection_stopped(bench: "Bench") -> None:
    """The reason of BeforeToolSelection's stop is shown by the agent."""
    bench.answers("BeforeToolSelection", UNSTOPPED)
    assert "The budget is spent." in bench.agent().stdout


BLANK_PERMISSION = {"reason": "Real.", **specific(permissionDecision="deny", permissionDecisionReason=" ")}


@pytest.mark.parametrize(
    ("event", "answers", "place", "expected"),
    [
        pytest.param(
            "BeforeTool",
            [{"decision": "deny", "reason": "   "}],
            ("verdict", "reason"),
            "No reason given",
            id="reason",
        ),
        pytest.param("BeforeTool", [BLANK_PERMISSION], ("verdict", "reason"), "Real.", id="permissionDecisionReason"),
        pytest.param("BeforeModel", [BLOCK, {"reason": "   "}], ("verdict", "reason"), "Not here.", id="second-reason"),
        pytest.param(
            "AfterModel", [STOP, {"stopReason": " "}], ("processed", "stopReason"), "Enough.", id="stopReason"
        ),
        pytest.param(
            "AfterTool",
            [{"systemMessage": NOTE}, {"systemMessage": " "}],
            ("processed", "systemMessage"),
            NOTE,
            id="systemMessage",
        ),
    ],
)
def test_09_blank_texts_are_none(
    event: str, answers: list[object], place: tuple[str, str], expected: str | None, bench: "Bench"
) -> None:
    """`{"reason": "   "}` is ignored, and so is every other blank text."""
    bench.answers(event, *answers)
    _, report = bench.fire(event, FIELDS[event])
    part, field = place
    assert report[part][field] == expected


def test_10_fire_says_that_after_tool_cannot_block(bench: "Bench") -> None:
    """AfterTool's deny blocks nothing: the tool has run. `verdict` still says that the hook denied."""
    bench.answers("AfterTool", BLOCK)
    code, report = bench.fire("AfterTool", FIELDS["AfterTool"])
    assert code == 0
    assert report["verdict"] == {"blocked": True, "reason": "Not here."}
    assert report["outcome"] == {"blocked": False, "stopped": False, "ask": False, "reason": "Not here."}


def test_10_fire_says_that_a_stop_keeps_the_tool_from_running(bench: "Bench") -> None:
    """BeforeTool's `continue: false` means that the tool is not run. `verdict` still says that no hook denied."""
    bench.answers("BeforeTool", STOP)
    code, report = bench.fire("BeforeTool", FIELDS["BeforeTool"])
    assert code == 2
    assert report["verdict"]["blocked"] is False
    assert report["outcome"] == {"blocked": True, "stopped": True, "ask": False, "reason": "Enough."}


def test_10_fire_shows_that_an_empty_allow_list_allows_nothing(bench: "Bench") -> None:
    """`allowedFunctionNames: []` is not shown as AUTO, which would mean that every tool may be called."""
    bench.answers("BeforeToolSelection", specific(toolConfig={"allowedFunctionNames": []}))
    words = bench.fire_for_people("BeforeToolSelection", FIELDS["BeforeToolSelection"])
    assert "The model may call no tool." in words
    assert "AUTO" not in words


def test_11_the_next_hook_is_told_the_request_as_it_would_be_sent(bench: "Bench") -> None:
    """In a sequential BeforeModel the second hook reads the `config` that is sent: the request's and the first's."""
    bench.answers("BeforeModel", specific(llm_request={"config": {"temperature": 0.5}}), sequential=True)
    bench.hook("BeforeModel", "cat > told", sequential=True)
    sent = asyncio.run(fire_before_model_hook(bench.config(), SDK_REQUEST)).modified_request
    assert sent is not None
    assert (sent.config.temperature, sent.config.max_output_tokens) == (0.5, 9)
    told = json.loads((bench.project / "told").read_text())["llm_request"]["config"]
    assert (told.get("temperature"), told.get("maxOutputTokens")) == (0.5, 9)


@pytest.mark.parametrize("is_sequential", [True, False], ids=["chain", "merge"])
def test_11_config_is_laid_over_key_by_key(is_sequential: bool, bench: "Bench") -> None:
    """The keys of `config` that different hooks set are all sent, in a chain and in parallel alike."""
    changes = [{"temperature": 0.5}, {"topP": 0.25}]
    bench.answers(
        "BeforeModel", *(specific(llm_request={"config": change}) for change in changes), sequential=is_sequential
    )
    sent = asyncio.run(fire_before_model_hook(bench.config(), SDK_REQUEST)).modified_request
    assert sent is not None
    assert (sent.config.temperature, sent.config.top_p, sent.config.max_output_tokens) == (0.5, 0.25, 9)
