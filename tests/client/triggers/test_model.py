import asyncio
import json
import os
import shlex
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, NoReturn

import pytest
from google.genai import types
from tests.answers import says

from hookline.client.config import Config
from hookline.client.triggers.model import (
    AfterModelHookResult,
    BeforeModelHookResult,
    BeforeToolSelectionHookResult,
    fire_after_model_hook,
    fire_before_model_hook,
    fire_before_tool_selection_hook,
)
from hookline.errors import MissingExtraError, install_command
from hookline.log.write.logger import MemorySink
from hookline.protocol.llm import GenerateContentParameters
from hookline.protocol.records import LogLevel


def text(role: str, said: str) -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=said)])


CALL = types.Part(function_call=types.FunctionCall(name="ls", args={"path": "."}))
ANSWER = types.Part(function_response=types.FunctionResponse(name="ls", response={"output": "a.txt"}))
TOOLS: list[Any] = [types.Tool(function_declarations=[types.FunctionDeclaration(name=name) for name in ("ls", "rm")])]
CONTENTS = [
    text("user", "What is here?"),
    types.Content(role="model", parts=[CALL]),
    types.Content(role="user", parts=[ANSWER]),
    text("user", "And my password is 1234."),
]
REQUEST = GenerateContentParameters(
    model="gemini",
    contents=CONTENTS,
    config=types.GenerateContentConfig(temperature=0.5, tools=TOOLS, system_instruction="Be kind."),
)
RESPONSE = types.GenerateContentResponse(
    candidates=[
        types.Candidate(
            content=types.Content(role="model", parts=[types.Part(text="Your password is 1234."), CALL]),
            finish_reason=types.FinishReason.STOP,
        )
    ]
)

SYNTHETIC = {"candidates": [{"content": {"role": "model", "parts": ["Not today."]}, "finishReason": "STOP"}]}

Trigger = Callable[[Config], Coroutine[Any, Any, Any]]


def before_model(config: Config) -> Coroutine[Any, Any, BeforeModelHookResult]:
    return fire_before_model_hook(config, REQUEST)


def after_model(config: Config) -> Coroutine[Any, Any, AfterModelHookResult]:
    return fire_after_model_hook(config, REQUEST, RESPONSE)


def tool_selection(config: Config) -> Coroutine[Any, Any, BeforeToolSelectionHookResult]:
    return fire_before_tool_selection_hook(config, REQUEST)


# Each trigger, its event, and what it gives when there is nothing to apply.
TRIGGERS: list[Any] = [
    pytest.param(before_model, "BeforeModel", BeforeModelHookResult(), id="BeforeModel"),
    pytest.param(after_model, "AfterModel", AfterModelHookResult(response=RESPONSE), id="AfterModel"),
    pytest.param(tool_selection, "BeforeToolSelection", BeforeToolSelectionHookResult(), id="BeforeToolSelection"),
]


def config_of(project: Path, event: str, *commands: str, sink: MemorySink | None = None, **options: Any) -> Config:
    """A config with hooks for one event."""
    entries = [{"type": "command", "command": command, **options} for command in commands]
    settings = {
        "enableHooks": True,
        "hooks": {event: [{"hooks": entries, "matcher": "never"}]},
        "hooksConfig": {"log": {"enabled": False}},
    }
    return Config(project, settings=settings, log_sinks=[sink] if sink else [])


def before(project: Path, answer: dict[str, Any]) -> BeforeModelHookResult:
    return asyncio.run(before_model(config_of(project, "BeforeModel", says(answer))))


def after(project: Path, answer: dict[str, Any]) -> AfterModelHookResult:
    return asyncio.run(after_model(config_of(project, "AfterModel", says(answer))))


def selection(
    project: Path, answer: dict[str, Any], request: GenerateContentParameters | None = None
) -> BeforeToolSelectionHookResult:
    config = config_of(project, "BeforeToolSelection", says(answer))
    return asyncio.run(fire_before_tool_selection_hook(config, request or REQUEST))


def texts(response: types.GenerateContentResponse | None) -> list[str | None]:
    assert response is not None
    assert response.candidates is not None
    (candidate,) = response.candidates
    assert candidate.content is not None
    return [part.text for part in candidate.content.parts or []]


@pytest.mark.req("HOOK-002", "HOOK-010", "HOOK-011", "HOOK-013", "HOOK-176")
@pytest.mark.parametrize("enabled", [False, True], ids=["disabled", "no hooks"])
@pytest.mark.parametrize(("trigger", "event", "default"), TRIGGERS)
def test_without_hooks_nothing_is_awaited(
    project: Path, trigger: Trigger, event: str, default: Any, enabled: bool
) -> None:
    """Where there is nothing to run, the caller continues at once with its own values."""
    del event
    with pytest.raises(StopIteration) as ended:
        trigger(Config(project, settings={"enableHooks": enabled})).send(None)
    assert ended.value.value == default


@pytest.mark.req(
    "HOOK-034", "HOOK-041", "HOOK-044", "HOOK-050", "HOOK-051", "HOOK-054", "HOOK-059", "HOOK-141", "HOOK-205"
)
@pytest.mark.parametrize(("trigger", "event", "default"), TRIGGERS)
def test_hooks_read_the_stable_form(project: Path, trigger: Trigger, event: str, default: Any) -> None:
    """The hook runs with any matcher; it reads the real request, and after the call the whole response."""
    assert asyncio.run(trigger(config_of(project, event, "cat > told"))) == default
    told = json.loads((project / "told").read_text())
    assert told["llm_request"] == {
        "model": "gemini",
        "messages": [
            {"role": "user", "content": "What is here?"},
            {"role": "user", "content": "And my password is 1234."},
        ],
        "config": {"temperature": 0.5},
    }
    assert told.get("llm_response") == (
        {
            "text": "Your password is 1234.",
            "candidates": [{"content": {"role": "model", "parts": ["Your password is 1234."]}, "finishReason": "STOP"}],
        }
        if event == "AfterModel"
        else None
    )


@pytest.mark.req("HOOK-023", "HOOK-042", "HOOK-052", "HOOK-060", "HOOK-110")
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(
            says({"decision": "block", "continue": False, "suppressOutput": True, "systemMessage": "m"}) + "; exit 1",
            id="exit 1",
        ),
        pytest.param("kill -9 $$", id="killed"),
        pytest.param("exec sleep 9", id="timeout", marks=pytest.mark.req("HOOK-119")),
    ],
)
@pytest.mark.parametrize(("trigger", "event", "default"), TRIGGERS)
def test_a_failing_hook_changes_nothing(
    project: Path, trigger: Trigger, event: str, default: Any, command: str
) -> None:
    """However a hook fails and whatever it printed, the call continues as it is, and the log warns."""
    memory = MemorySink()
    timeout = 300 if "sleep" in command else 30_000
    assert asyncio.run(trigger(config_of(project, event, command, sink=memory, timeout=timeout))) == default
    (warning,) = [record for record in memory.records if record.level is LogLevel.WARN]
    assert warning.message.endswith("the operation proceeds without it")


@pytest.mark.req("HOOK-111", "HOOK-113", "HOOK-116")
@pytest.mark.usefixtures("unreadable")
@pytest.mark.parametrize(("trigger", "event", "default"), TRIGGERS)
def test_a_fault_of_ours_gives_the_safe_default(
    project: Path, trigger: Trigger, event: str, default: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """When the hooks cannot even be read, the call is made as it is, and stderr says what is wrong."""
    del event
    assert asyncio.run(trigger(Config(project, settings={"enableHooks": True}))) == default
    said = capsys.readouterr().err
    assert said.startswith("hookline: hooks had no effect, because of a fault in hookline: OSError('unreadable')")


class _Odd:
    """Cannot be looked at."""

    @property
    def parts(self) -> NoReturn:
        raise OSError("gone")


@pytest.mark.req("HOOK-111", "HOOK-116", "DELTA-HPAY-004")
def test_a_payload_that_cannot_be_translated_gives_the_safe_default(project: Path) -> None:
    """A request that fails when it is looked at goes to the model as it is."""
    odd = GenerateContentParameters(model="m", contents=[_Odd()])
    block = says({"decision": "block"})
    results = [
        asyncio.run(fire_before_model_hook(config_of(project, "BeforeModel", block), odd)),
        asyncio.run(fire_after_model_hook(config_of(project, "AfterModel", block), odd, RESPONSE)),
        asyncio.run(fire_before_tool_selection_hook(config_of(project, "BeforeToolSelection", block), odd)),
    ]
    assert results == [default for _, _, default in (param.values for param in TRIGGERS)]


class _Vanishing:
    """Something that can be read until a file is there."""

    def __init__(self, value: object, gone: Path) -> None:
        self._value = value
        self._gone = gone

    def __getattr__(self, name: str) -> Any:
        if self._gone.exists():
            raise OSError("gone")
        return getattr(self._value, name)


@pytest.mark.req("HOOK-111", "HOOK-116")
def test_a_fault_in_applying_an_answer_gives_the_safe_default(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """When an answer cannot be applied, the call continues as it is, and stderr has the error."""
    gone = project / "gone"
    odd: Any = _Vanishing(RESPONSE, gone)
    request = GenerateContentParameters(
        model="m", contents=[_Vanishing(CONTENTS[0], gone)], config=_Vanishing(REQUEST.config, gone)
    )
    answer = {
        "llm_request": {"messages": [{"role": "user", "content": "ho"}]},
        "llm_response": SYNTHETIC,
        "toolConfig": {"mode": "ANY"},
    }
    command = f"touch gone; {says({'hookSpecificOutput': answer})}"
    for event, fire, default in (
        ("BeforeModel", lambda config: fire_before_model_hook(config, request), BeforeModelHookResult()),
        ("AfterModel", lambda config: fire_after_model_hook(config, request, odd), AfterModelHookResult(response=odd)),
        (
            "BeforeToolSelection",
            lambda config: fire_before_tool_selection_hook(config, request),
            BeforeToolSelectionHookResult(),
        ),
    ):
        gone.unlink(missing_ok=True)
        assert asyncio.run(fire(config_of(project, event, command))) == default
        assert "because of a fault in hookline: OSError('gone')" in capsys.readouterr().err


@pytest.mark.req("HOOK-111", "HOOK-116")
def test_a_rewrite_that_cannot_be_applied_costs_nothing_else(project: Path) -> None:
    """The note and the suppression of the same answer are still applied."""
    odd: Any = _Vanishing(RESPONSE, project / "gone")
    answer = {"systemMessage": "n", "suppressOutput": True, "hookSpecificOutput": {"llm_response": SYNTHETIC}}
    config = config_of(project, "AfterModel", f"touch gone; {says(answer)}")
    result = asyncio.run(fire_after_model_hook(config, REQUEST, odd))
    assert result == AfterModelHookResult(response=odd, system_message="n", suppress_output=True)


@pytest.mark.parametrize(("trigger", "event", "default"), TRIGGERS)
def test_a_cancellation_is_not_swallowed(project: Path, trigger: Trigger, event: str, default: Any) -> None:
    """A caller that cancels a call while a hook runs gets the cancellation."""
    del default
    ready = project / "ready"
    os.mkfifo(ready)

    async def main() -> None:
        task = asyncio.create_task(trigger(config_of(project, event, "echo > ready; exec sleep 30")))
        await asyncio.to_thread(ready.read_text)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


@pytest.mark.req("HOOK-036", "HOOK-135", "HOOK-152", "HOOK-156", "HOOK-179")
@pytest.mark.parametrize("decision", ["block", "deny"])
def test_a_block_with_a_response(project: Path, decision: str) -> None:
    """A block that brings a response gives it to the caller in the SDK's own type."""
    answer = {"decision": decision, "reason": "no", "hookSpecificOutput": {"llm_response": SYNTHETIC}}
    result = before(project, answer)
    assert isinstance(result.synthetic_response, types.GenerateContentResponse)
    assert texts(result.synthetic_response) == ["Not today."]
    assert result == BeforeModelHookResult(
        blocked=True, reason="no", synthetic_response=result.synthetic_response, decided_by=result.decided_by
    )


@pytest.mark.req("HOOK-037", "HOOK-110", "HOOK-135", "HOOK-179")
@pytest.mark.parametrize(
    ("command", "reason"),
    [
        pytest.param(says({"decision": "deny", "reason": "no"}), "no", id="deny"),
        pytest.param("echo no >&2; exit 2", "no", id="exit 2"),
        pytest.param(
            says({"decision": "block", "hookSpecificOutput": {"llm_response": {}}}), "No reason given", id="{}"
        ),
        pytest.param(
            says({"decision": "block", "hookSpecificOutput": {"llm_request": {"model": "other"}}}),
            "No reason given",
            id="request",
        ),
    ],
)
def test_a_block_without_a_response(project: Path, command: str, reason: str) -> None:
    """A block without one gives the caller neither a response nor a request to send."""
    result = asyncio.run(before_model(config_of(project, "BeforeModel", command)))
    assert result == BeforeModelHookResult(blocked=True, reason=reason, decided_by=result.decided_by)
    assert len(result.decided_by) == 1


@pytest.mark.req("HOOK-040", "HOOK-179", "HOOK-184", "HOOK-194", "DELTA-HAPP-001", "DELTA-HAPP-002", "DELTA-HRUN-002")
def test_a_stop_before_the_call(project: Path) -> None:
    """`continue: false` blocks and stops; a response is there only if the hook sent one."""
    stop = {"continue": False, "stopReason": "enough"}
    bare = before(project, stop)
    assert bare == BeforeModelHookResult(
        blocked=True, reason="enough", should_stop=True, stop_reason="enough", decided_by=bare.decided_by
    )
    with_response = before(project, {**stop, "hookSpecificOutput": {"llm_response": SYNTHETIC}})
    assert texts(with_response.synthetic_response) == ["Not today."]
    assert (with_response.blocked, with_response.should_stop) == (True, True)


@pytest.mark.req("HOOK-038", "HOOK-135", "HOOK-141", "HOOK-156", "HOOK-179")
def test_a_rewritten_request_keeps_the_conversation(project: Path) -> None:
    """A changed message changes that text alone: calls, responses, tools and instructions stay where they were."""
    messages = [
        {"role": "user", "content": "What is here?"},
        {"role": "user", "content": "And my password is ****."},
    ]
    result = before(project, {"hookSpecificOutput": {"llm_request": {"messages": messages}}})
    assert result == BeforeModelHookResult(modified_request=result.modified_request)
    assert isinstance(result.modified_request, GenerateContentParameters)
    assert result.modified_request.contents == [*CONTENTS[:3], text("user", "And my password is ****.")]
    assert result.modified_request.config is REQUEST.config
    assert CONTENTS[3] == text("user", "And my password is 1234.")


@pytest.mark.req("HOOK-039", "HOOK-179")
def test_added_messages_follow_the_others(project: Path) -> None:
    """A message that a hook adds at the end comes last in the conversation."""
    messages = [{"role": "user", "content": said} for said in ("What is here?", "And my password is 1234.", "Hurry.")]
    result = before(project, {"hookSpecificOutput": {"llm_request": {"messages": messages}}})
    assert result.modified_request is not None
    assert result.modified_request.contents == [*CONTENTS, text("user", "Hurry.")]


@pytest.mark.req("HOOK-038")
def test_a_rewritten_configuration(project: Path) -> None:
    """Model and parameters change, and what the hook form cannot say stays."""
    answer = {"hookSpecificOutput": {"llm_request": {"model": "small", "config": {"temperature": 0, "topP": 0.5}}}}
    result = before(project, answer)
    assert result.modified_request == GenerateContentParameters(
        model="small",
        contents=CONTENTS,
        config=types.GenerateContentConfig(temperature=0, top_p=0.5, tools=TOOLS, system_instruction="Be kind."),
    )


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"decision": "allow"},
        {"hookSpecificOutput": {"llm_request": {}}},
        {"hookSpecificOutput": {"llm_request": {"model": "gemini", "config": {"temperature": 0.5}}}},
        {"hookSpecificOutput": {"llm_request": "nonsense", "llm_response": SYNTHETIC}},
    ],
)
def test_an_answer_that_changes_nothing(project: Path, answer: dict[str, Any]) -> None:
    """Where a hook changes nothing, the result has no modified request."""
    assert before(project, answer) == BeforeModelHookResult()


@pytest.mark.req("DELTA-HRUN-003")
def test_a_note_to_the_request(project: Path) -> None:
    """A system message becomes a last text part of this request only; the caller's contents stay as they are."""
    result = before(project, {"systemMessage": "It is late.", "suppressOutput": True})
    assert result == BeforeModelHookResult(modified_request=result.modified_request, suppress_output=True)
    assert result.modified_request is not None
    *earlier, last = result.modified_request.contents
    assert earlier == CONTENTS[:3]
    assert [part.text for part in last.parts] == ["And my password is 1234.", "[System] It is late."]
    assert len(CONTENTS[3].parts or []) == 1


@pytest.mark.req("HOOK-105")
def test_a_chain_before_the_call(project: Path) -> None:
    """In a chain the request that is sent has the changes of all hooks."""
    answers = [{"model": "small"}, {"config": {"temperature": 0}}]
    entries = [{"type": "command", "command": says({"hookSpecificOutput": {"llm_request": a}})} for a in answers]
    hooks = {"BeforeModel": [{"hooks": entries, "sequential": True}]}
    result = asyncio.run(before_model(Config(project, settings={"enableHooks": True, "hooks": hooks})))
    assert result.modified_request is not None
    assert (result.modified_request.model, result.modified_request.config.temperature) == ("small", 0)


@pytest.mark.req("HOOK-046", "HOOK-047", "HOOK-136", "HOOK-153", "HOOK-156", "HOOK-180")
@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"candidates": [{"content": {"role": "model", "parts": ["Hidden."]}}]}, id="edited"),
        pytest.param({"candidates": [{"content": {"parts": [{"text": "Hidden."}]}, "index": 0}]}, id="own"),
    ],
)
def test_a_replaced_response_keeps_the_calls(project: Path, given: dict[str, Any]) -> None:
    """The hook's text takes the place of the model's; the function call, which no hook saw, stays."""
    result = after(project, {"hookSpecificOutput": {"llm_response": given}})
    assert isinstance(result.response, types.GenerateContentResponse)
    assert texts(result.response) == ["Hidden.", None]
    assert [call.name for call in result.response.function_calls or []] == ["ls"]
    assert result == AfterModelHookResult(response=result.response)
    assert texts(RESPONSE) == ["Your password is 1234.", None]


@pytest.mark.req("HOOK-048", "HOOK-180", "HOOK-194", "DELTA-HAPP-001", "DELTA-HAPP-002", "DELTA-HRUN-002")
def test_a_stop_after_the_call(project: Path) -> None:
    """A stop takes the place of the whole response, calls included, and says its reason."""
    result = after(project, {"continue": False, "stopReason": "enough"})
    assert texts(result.response) == ["enough"]
    assert result == AfterModelHookResult(
        response=result.response, should_stop=True, stop_reason="enough", decided_by=result.decided_by
    )


@pytest.mark.req("HOOK-180", "DELTA-HRUN-003")
def test_what_else_an_after_model_hook_can_ask_for(project: Path) -> None:
    """The caller gets suppression and a message for the model; a block blocks nothing."""
    answer = {"decision": "block", "reason": "no", "suppressOutput": True, "systemMessage": "note"}
    assert after(project, answer) == AfterModelHookResult(
        response=RESPONSE, suppress_output=True, system_message="note"
    )


@pytest.mark.req("HOOK-055", "HOOK-056", "HOOK-057", "HOOK-137", "HOOK-154", "HOOK-156", "HOOK-181")
@pytest.mark.parametrize(
    ("tool_config", "mode", "names"),
    [
        pytest.param({"mode": "ANY", "allowedFunctionNames": ["ls"]}, "ANY", ["ls"], id="both"),
        pytest.param({"allowedFunctionNames": ["ls"]}, "AUTO", ["ls"], id="list"),
        pytest.param({"mode": "ANY"}, "ANY", None, id="mode"),
        pytest.param({"mode": "AUTO"}, "AUTO", None, id="AUTO"),
        pytest.param({"mode": "NONE", "allowedFunctionNames": ["ls"]}, "NONE", [], id="NONE"),
        pytest.param({"allowedFunctionNames": []}, "NONE", [], id="empty list"),
    ],
)
def test_a_tool_selection(project: Path, tool_config: dict[str, Any], mode: str, names: list[str] | None) -> None:
    """Mode and names come back as the SDK's tool configuration; the definitions are handed back untouched."""
    result = selection(project, {"hookSpecificOutput": {"toolConfig": tool_config}})
    wanted = types.FunctionCallingConfig(mode=types.FunctionCallingConfigMode(mode), allowed_function_names=names)
    assert result == BeforeToolSelectionHookResult(
        tool_config=types.ToolConfig(function_calling_config=wanted), tools=TOOLS, restricted_by=result.restricted_by
    )
    assert len(result.restricted_by) == 1
    assert result.tools is REQUEST.config.tools
    assert REQUEST.config.tool_config is None


def test_a_selection_takes_tools_that_the_api_runs(project: Path) -> None:
    """The API's tool configuration is for functions alone, so a search that no hook allowed is taken from the tools."""
    search = types.Tool(google_search=types.GoogleSearch())
    request = GenerateContentParameters(
        model="m", contents="hi", config=types.GenerateContentConfig(tools=[*TOOLS, search])
    )
    only = {"hookSpecificOutput": {"toolConfig": {"allowedFunctionNames": ["ls"]}}}
    assert selection(project, only, request).tools == TOOLS
    both = {"hookSpecificOutput": {"toolConfig": {"allowedFunctionNames": ["ls", "google_search"]}}}
    assert selection(project, both, request).tools == [*TOOLS, search]


@pytest.mark.parametrize(
    ("own", "tool_config", "mode", "names"),
    [
        pytest.param("NONE", {"allowedFunctionNames": ["ls"]}, "NONE", ["ls"], id="names-alone"),
        pytest.param("NONE", {"mode": "bogus", "allowedFunctionNames": ["ls"]}, "NONE", ["ls"], id="unreadable"),
        pytest.param("AUTO", {"mode": "none "}, "NONE", [], id="a-space-too-many"),
        pytest.param("NONE", {"mode": "AUTO"}, "AUTO", None, id="given"),
    ],
)
def test_a_mode_that_no_hook_gave_undoes_nothing(
    project: Path, own: str, tool_config: dict[str, Any], mode: str, names: list[str] | None
) -> None:
    """A request that allows no tool does not allow them all because a hook named some."""
    calling = types.FunctionCallingConfig(mode=types.FunctionCallingConfigMode(own))
    config = types.GenerateContentConfig(tool_config=types.ToolConfig(function_calling_config=calling), tools=TOOLS)
    request = GenerateContentParameters(model="m", contents="hi", config=config)
    result = selection(project, {"hookSpecificOutput": {"toolConfig": tool_config}}, request)
    made = (result.tool_config or config.tool_config).function_calling_config  # type: ignore[union-attr]
    assert made is not None
    assert (made.mode, made.allowed_function_names) == (mode, names)


def test_a_stop_is_kept_for_a_request_in_another_form(project: Path) -> None:
    """A hook that ends the session ends it with any request."""
    request: Any = {"model": "m", "contents": "hi"}
    assert selection(project, {"continue": False}, request).should_stop


@pytest.mark.req("HOOK-060", "HOOK-137", "HOOK-181")
@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"decision": "block", "reason": "no"},
        {"hookSpecificOutput": {"toolConfig": {}}},
        {"hookSpecificOutput": {"toolConfig": "nonsense", "tools": []}},
    ],
)
def test_a_selection_that_says_nothing(project: Path, answer: dict[str, Any]) -> None:
    """Without a usable word about tools, a block included, the request's own configuration stays."""
    assert selection(project, answer) == BeforeToolSelectionHookResult(tools=TOOLS)


def test_a_request_in_plain_json(project: Path) -> None:
    """A configuration in its dictionary form is read in either spelling."""
    allowed = {"function_calling_config": {"mode": "AUTO"}}
    for name in ("tool_config", "toolConfig"):
        request = GenerateContentParameters(model="m", contents="hi", config={name: allowed, "tools": TOOLS})
        answer = says({"hookSpecificOutput": {"toolConfig": {"mode": "NONE"}}})
        config = config_of(project, "BeforeToolSelection", answer)
        result = asyncio.run(fire_before_tool_selection_hook(config, request))
        assert result.tools is TOOLS
        calling: Any = result.tool_config
        assert calling["function_calling_config"]["mode"] == "NONE"
        assert allowed == {"function_calling_config": {"mode": "AUTO"}}


@pytest.mark.req("HOOK-058", "HOOK-181", "DELTA-HAPP-002", "DELTA-HRUN-002", "DELTA-HRUN-003")
def test_a_stop_at_the_selection(project: Path) -> None:
    """A stop, its reason and a message survive beside the tool configuration of another hook."""
    hooks = [
        says({"continue": False, "stopReason": "enough", "systemMessage": "note"}),
        says({"hookSpecificOutput": {"toolConfig": {"mode": "ANY"}}}),
    ]
    result = asyncio.run(tool_selection(config_of(project, "BeforeToolSelection", *hooks)))
    assert (result.should_stop, result.stop_reason, result.system_message) == (True, "enough", "note")
    assert result.tool_config is not None


def test_a_block_needs_no_sdk(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where google-genai is not installed, a hook's own response can't be made; its block and its stop stand."""

    def missing() -> NoReturn:
        raise MissingExtraError("google-genai", "genai")

    monkeypatch.setattr("hookline.formats.genai.sdk.types", missing)
    answer = {"decision": "block", "reason": "secret", "hookSpecificOutput": {"llm_response": SYNTHETIC}}
    request = GenerateContentParameters(model="m", contents=[{"role": "user", "parts": [{"text": "hi"}]}])
    config = config_of(project, "BeforeModel", f"printf %s {shlex.quote(json.dumps(answer))}")
    before = asyncio.run(fire_before_model_hook(config, request))
    assert (before.blocked, before.reason, before.synthetic_response) == (True, "secret", None)
    stop = {"continue": False, "stopReason": "enough"}
    config = config_of(project, "AfterModel", f"printf %s {shlex.quote(json.dumps(stop))}")
    response: Any = {"candidates": [{"content": {"role": "model", "parts": [{"text": "yo"}]}}]}
    after = asyncio.run(fire_after_model_hook(config, request, response))
    assert (after.should_stop, after.stop_reason, after.response) == (True, "enough", response)
    remedy = "a hook's changes are not used: this needs the package google-genai, which is not installed"
    said = capsys.readouterr().err
    assert said.count(remedy) == said.count(install_command("genai")) == 2
    assert "fault in hookline" not in said


def test_a_rewrite_that_needs_a_package_is_logged_as_that(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log says what is missing and how to get it, and does not ask for a report."""

    def missing() -> NoReturn:
        raise MissingExtraError("google-genai", "genai")

    monkeypatch.setattr("hookline.formats.genai.sdk.types", missing)
    sink = MemorySink()
    hook = {"type": "command", "command": says({"hookSpecificOutput": {"llm_response": {"text": "[gone]"}}})}
    settings = {"enableHooks": True, "hooks": {"AfterModel": [{"hooks": [hook]}]}}
    config = Config(project, settings=settings, log_sinks=[sink])
    response: Any = {"candidates": [{"content": {"role": "model", "parts": [{"text": "yo"}]}}]}
    asyncio.run(fire_after_model_hook(config, REQUEST, response))
    (record,) = [record for record in sink.records if install_command("genai") in record.message]
    assert (record.level, record.event, record.message.partition(":")[0]) == (LogLevel.WARN, "AfterModel", "AfterModel")
    assert not any("please report" in record.message for record in sink.records)


def test_contents_of_another_api_are_reported(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """OpenAI's messages in genai's type never become an empty conversation, and the user gets one message."""
    sink = MemorySink()
    hook = {"type": "command", "command": "touch ran"}
    settings = {"enableHooks": True, "hooks": {"BeforeModel": [{"hooks": [hook]}]}}
    config = Config(project, settings=settings, log_sinks=[sink])
    odd = GenerateContentParameters(model="m", contents=[{"role": "user", "content": "my password is 1234"}])
    for _ in range(2):
        assert asyncio.run(fire_before_model_hook(config, odd)) == BeforeModelHookResult()
    assert not (project / "ran").exists()
    assert capsys.readouterr().err.count("BeforeModel: contents[0] is an object with role, content; expected") == 1
    warned = [record.level for record in sink.records if "contents[0] is an object" in record.message]
    assert warned == [LogLevel.WARN] * 2
    strict = Config(project, settings=settings, on_fault="block")
    assert asyncio.run(fire_before_model_hook(strict, odd)).blocked


@pytest.mark.req("DELTA-GUARD-006")
def test_an_answer_that_cannot_be_applied_blocks_where_faults_do(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The module that applies it can't be loaded any more, as when descriptors have run out."""
    hook = {"type": "command", "command": 'echo \'{"systemMessage": "note"}\''}
    settings = {"enableHooks": True, "hooks": {"BeforeModel": [{"hooks": [hook]}]}}
    request = GenerateContentParameters(model="m", contents="hi")
    for on_fault, blocks in (("allow", False), ("block", True)):
        config = Config(project, settings=settings, on_fault=on_fault)
        assert not asyncio.run(fire_before_model_hook(config, request)).blocked
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, "hookline.formats.genai.request", None)
            assert asyncio.run(fire_before_model_hook(config, request)).blocked is blocks
