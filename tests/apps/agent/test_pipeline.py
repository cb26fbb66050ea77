import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hookline.apps.agent.conversation.contents import to_json
from hookline.apps.agent.events import AgentEvent, ModelText
from hookline.apps.agent.pipeline import ModelCallResult, call_model
from hookline.client.config import Config
from hookline.errors import ModelError
from hookline.formats.genai import sdk
from hookline.protocol.llm import GenerateContentParameters
from hookline.testing import ScriptedModel, calls, says

HookScript = Callable[..., Path]
Answers = dict[str, dict[str, Any]]

TOOLS = ("read_file", "write_file")


class Stage:
    """A model between hooks that each give one answer and keep what they were told."""

    def __init__(self, project: Path, hook_script: HookScript, model: ScriptedModel, answers: Answers) -> None:
        self.model = model
        self.shown: list[str] = []
        self.told = project / "told.jsonl"
        hooks = {}
        options = answers.pop("hooksConfig", {})
        for event, answer in answers.items():
            body = f"printf '%s\\n' \"$(cat)\" >> told.jsonl\ncat <<'END'\n{json.dumps(answer)}\nEND"
            script = hook_script(body, f"{event}.sh")
            hooks[event] = [{"hooks": [{"type": "command", "command": str(script)}]}]
        self.config = Config(project, settings={"enableHooks": True, "hooks": hooks, "hooksConfig": options})

    def call(self, *, has_tools: bool = True) -> ModelCallResult:
        """One call of the model with a short conversation."""
        types = sdk.types()
        tools = [types.Tool(function_declarations=[{"name": name} for name in TOOLS])] if has_tools else None
        request = GenerateContentParameters(
            model="scripted",
            contents=[types.Content(role="user", parts=[types.Part(text="Hi")])],
            config=types.GenerateContentConfig(tools=tools),
        )
        return asyncio.run(call_model(self.config, self.model, request, listener=self._listen))

    def _listen(self, event: AgentEvent) -> None:
        assert isinstance(event, ModelText)
        self.shown.append(event.text)

    def told_to_hooks(self) -> list[dict[str, Any]]:
        """What the hooks were told, in the order in which they ran."""
        return [json.loads(line) for line in self.told.read_text().splitlines()] if self.told.exists() else []

    def sent(self) -> dict[str, Any]:
        """The only request that reached the model: its contents and its tool configuration."""
        (request,) = self.model.requests
        config = to_json(request.config)
        return {
            "contents": [to_json(content) for content in request.contents],
            "calling": config.get("toolConfig", {}).get("functionCallingConfig"),
        }


@pytest.fixture
def stage(project: Path, hook_script: HookScript) -> Callable[..., Stage]:
    """Makes a stage from the model's answer and the hooks' answers."""

    def make(*chunks: Any, **answers: dict[str, Any]) -> Stage:
        return Stage(project, hook_script, ScriptedModel([chunks]), answers)

    return make


def specific(**fields: Any) -> dict[str, Any]:
    """An answer that is all about its own event."""
    return {"hookSpecificOutput": fields}


HELLO = [{"role": "user", "parts": [{"text": "Hi"}]}]


@pytest.mark.req("HOOK-033", "HOOK-043", "HOOK-050", "HOOK-053", "HOOK-134", "HOOK-172")
def test_events_come_in_order(stage: Callable[..., Stage]) -> None:
    """Tool selection is asked first, then BeforeModel, and AfterModel once about the whole response."""
    here = stage(says("Hel", finish=None), says("lo"), BeforeToolSelection={}, BeforeModel={}, AfterModel={})
    answer = here.call()
    told = here.told_to_hooks()
    assert [one["hook_event_name"] for one in told] == ["BeforeToolSelection", "BeforeModel", "AfterModel"]
    assert told[2]["llm_response"]["text"] == "Hello"
    assert answer.response is not None
    assert to_json(answer.response) == says("Hello")


@pytest.mark.req("HOOK-053")
def test_tool_selection_is_asked_only_where_there_are_tools(stage: Callable[..., Stage]) -> None:
    """A request without tools, such as for a summary, has nothing to select."""
    here = stage(says("Hello"), BeforeToolSelection={}, BeforeModel={})
    here.call(has_tools=False)
    assert [one["hook_event_name"] for one in here.told_to_hooks()] == ["BeforeModel"]


@pytest.mark.req("HOOK-033")
def test_before_model_sees_the_assembled_request(stage: Callable[..., Stage]) -> None:
    """What tool selection changed is part of the request that BeforeModel hooks are shown."""
    choice = {"mode": "ANY", "allowedFunctionNames": ["read_file"]}
    here = stage(
        says("x"), BeforeToolSelection={**specific(toolConfig=choice), "systemMessage": "note"}, BeforeModel={}
    )
    here.call()
    request = here.told_to_hooks()[1]["llm_request"]
    assert request["toolConfig"] == choice
    assert request["messages"] == [{"role": "user", "content": "Hi[System] note"}]


@pytest.mark.req("HOOK-055", "HOOK-056", "HOOK-057", "HOOK-140")
@pytest.mark.parametrize(
    ("choice", "sent", "allowed"),
    [
        pytest.param(
            {"mode": "AUTO", "allowedFunctionNames": ["read_file"]},
            {"mode": "VALIDATED", "allowedFunctionNames": ["read_file"]},
            {"read_file"},
            id="auto-with-a-list-is-validated",
        ),
        pytest.param(
            {"allowedFunctionNames": ["read_file"]},
            {"mode": "VALIDATED", "allowedFunctionNames": ["read_file"]},
            {"read_file"},
            id="list-alone",
        ),
        pytest.param(
            {"mode": "ANY", "allowedFunctionNames": ["read_file"]},
            {"mode": "ANY", "allowedFunctionNames": ["read_file"]},
            {"read_file"},
            id="any-with-a-list",
        ),
        pytest.param(
            {"mode": "AUTO", "allowedFunctionNames": ["read_file", "unheard_of"]},
            {"mode": "VALIDATED", "allowedFunctionNames": ["read_file"]},
            {"read_file", "unheard_of"},
            id="only-declared-names-are-sent",
        ),
        pytest.param(
            {"mode": "AUTO", "allowedFunctionNames": ["unheard_of"]},
            {"mode": "NONE"},
            {"unheard_of"},
            id="no-declared-name-is-none",
        ),
        pytest.param({"mode": "ANY"}, {"mode": "ANY"}, None, id="any"),
        pytest.param({"mode": "AUTO"}, {"mode": "AUTO"}, None, id="auto"),
        pytest.param({"mode": "NONE"}, {"mode": "NONE"}, set(), id="none"),
        pytest.param(
            {"mode": "NONE", "allowedFunctionNames": ["read_file"]}, {"mode": "NONE"}, set(), id="none-beats-a-list"
        ),
        pytest.param({"allowedFunctionNames": []}, {"mode": "NONE"}, set(), id="empty-list"),
    ],
)
@pytest.mark.parametrize("event", ["BeforeToolSelection", "BeforeModel"])
def test_the_choice_of_tools_is_sent_and_returned(
    event: str,
    choice: dict[str, Any],
    sent: dict[str, Any],
    allowed: set[str] | None,
    stage: Callable[..., Stage],
) -> None:
    """The request carries the choice in a form that the API takes, and the caller is told what to enforce."""
    answer = (
        specific(toolConfig=choice) if event == "BeforeToolSelection" else specific(llm_request={"toolConfig": choice})
    )
    here = stage(says("x"), **{event: answer})
    called = here.call()
    assert called.allowed == allowed
    assert [len(called.restricted_by), event in str(called.restricted_by)] == [1, True]
    assert here.sent()["calling"] == sent


def test_without_a_choice_nothing_is_restricted(stage: Callable[..., Stage]) -> None:
    """Hooks that say nothing about tools leave the request without a tool configuration."""
    here = stage(says("x"), BeforeToolSelection={})
    assert here.call().allowed is None
    assert here.sent()["calling"] is None


@pytest.mark.req("HOOK-036", "HOOK-138", "HOOK-174")
def test_a_block_with_a_response_opens_no_stream(stage: Callable[..., Stage]) -> None:
    """The hook's response is used as the model's, no call is made, and AfterModel is not asked about it."""
    response = {"candidates": [{"content": {"role": "model", "parts": ["Not today."]}, "finishReason": "STOP"}]}
    here = stage(BeforeModel={"decision": "block", **specific(llm_response=response)}, AfterModel={})
    answer = here.call()
    assert here.model.requests == []
    assert answer.response is not None
    assert to_json(answer.response)["candidates"][0]["content"] == {"role": "model", "parts": [{"text": "Not today."}]}
    assert (answer.shown, answer.should_stop) == ("Not today.", False)
    assert [one["hook_event_name"] for one in here.told_to_hooks()] == ["BeforeModel"]


@pytest.mark.req("HOOK-037", "HOOK-174", "HOOK-202")
def test_a_block_without_a_response_is_an_empty_one(stage: Callable[..., Stage]) -> None:
    """Where the hook gives no response, there is one candidate without content, and no call."""
    here = stage(BeforeModel={"decision": "deny", "reason": "no"})
    answer = here.call()
    assert here.model.requests == []
    assert answer.response is not None
    assert to_json(answer.response) == {
        "candidates": [{"content": {"parts": [], "role": "model"}, "finishReason": "STOP", "index": 0}]
    }
    assert (answer.shown, answer.should_stop, answer.blocked, answer.reason) == ("", False, True, "no")


@pytest.mark.req("HOOK-038", "HOOK-039", "HOOK-134", "HOOK-139", "HOOK-141")
def test_a_modified_request_is_sent(stage: Callable[..., Stage]) -> None:
    """The call is made with the hook's messages and parameters, in the SDK's types."""
    messages = [{"role": "user", "content": "Hi"}, {"role": "user", "content": "and be brief"}]
    here = stage(says("x"), BeforeModel=specific(llm_request={"messages": messages, "config": {"temperature": 0}}))
    here.call()
    assert here.sent()["contents"] == [*HELLO, {"role": "user", "parts": [{"text": "and be brief"}]}]
    assert here.model.requests[0].config.temperature == 0


@pytest.mark.req("HOOK-159")
@pytest.mark.parametrize("event", ["BeforeToolSelection", "BeforeModel"])
def test_a_system_message_goes_with_this_request(event: str, stage: Callable[..., Stage]) -> None:
    """The model reads it as a last text part; the person is not shown it."""
    here = stage(says("x"), **{event: {"systemMessage": "Mind the gap."}})
    answer = here.call()
    assert here.sent()["contents"] == [{"role": "user", "parts": [{"text": "Hi"}, {"text": "[System] Mind the gap."}]}]
    assert (here.shown, answer.shown, answer.note) == (["x"], "x", None)


@pytest.mark.req("HOOK-159")
def test_a_system_message_after_the_model_is_for_the_next_request(stage: Callable[..., Stage]) -> None:
    """It comes back as a note for the caller to pass on, and is not shown."""
    here = stage(says("x"), AfterModel={"systemMessage": "Mind the gap."})
    answer = here.call()
    assert (answer.note, answer.shown, here.shown) == ("Mind the gap.", "x", [])


@pytest.mark.req("HOOK-040", "HOOK-058")
@pytest.mark.parametrize("event", ["BeforeToolSelection", "BeforeModel"])
def test_a_stop_before_the_call_makes_none(event: str, stage: Callable[..., Stage]) -> None:
    """`continue: false` before the call ends it there, with its reason."""
    here = stage(**{event: {"continue": False, "stopReason": "enough"}})
    answer = here.call()
    assert (answer.should_stop, answer.stop_reason, here.model.requests) == (True, "enough", [])


@pytest.mark.req("HOOK-048")
def test_a_stop_after_the_call_replaces_the_response(stage: Callable[..., Stage]) -> None:
    """`continue: false` after the call leaves a response that says the reason, and none of the model's calls."""
    here = stage(calls(("write_file", {})), AfterModel={"continue": False, "stopReason": "enough"})
    answer = here.call()
    assert (answer.should_stop, answer.stop_reason, answer.shown) == (True, "enough", "enough")
    assert answer.response is not None
    assert to_json(answer.response)["candidates"][0]["content"]["parts"] == [{"text": "enough"}]


@pytest.mark.req("HOOK-046", "HOOK-047")
def test_a_rewritten_response_is_gone_on_with(stage: Callable[..., Stage]) -> None:
    """The hook's text takes the place of the model's, and the model's function calls stay."""
    chunk = says("secret", finish=None)
    response = {"candidates": [{"content": {"role": "model", "parts": ["[redacted]"]}}]}
    here = stage(chunk, calls(("read_file", {"a": 1})), AfterModel=specific(llm_response=response))
    answer = here.call()
    assert answer.response is not None
    assert to_json(answer.response)["candidates"][0]["content"]["parts"] == [
        {"text": "[redacted]"},
        {"functionCall": {"name": "read_file", "args": {"a": 1}}},
    ]
    assert (answer.shown, here.shown) == ("[redacted]", [])


@pytest.mark.req("HOOK-049")
def test_a_suppressed_response_is_not_shown(stage: Callable[..., Stage]) -> None:
    """Nothing was shown while it came, nothing is to be shown now, and the response is there all the same."""
    here = stage(says("a", finish=None), says("b"), AfterModel={"suppressOutput": True})
    answer = here.call()
    assert (here.shown, answer.shown, answer.was_streamed) == ([], "", False)
    assert answer.response is not None
    assert to_json(answer.response) == says("ab")


@pytest.mark.req("HOOK-173")
def test_streaming_can_be_restored(stage: Callable[..., Stage]) -> None:
    """With streamDuringAfterModel the text is shown as it comes, and what the hook changes is what is kept."""
    response = {"candidates": [{"content": {"role": "model", "parts": ["changed"]}}]}
    here = stage(
        says("a", finish=None),
        says("b"),
        AfterModel=specific(llm_response=response),
        hooksConfig={"streamDuringAfterModel": True},
    )
    answer = here.call()
    assert (here.shown, answer.shown, answer.was_streamed) == (["a", "b"], "ab", True)
    assert answer.response is not None
    assert to_json(answer.response)["candidates"][0]["content"]["parts"] == [{"text": "changed"}]


def test_without_a_hook_after_it_the_text_is_shown_as_it_comes(stage: Callable[..., Stage]) -> None:
    """Nothing is held back while no AfterModel hook would run; thoughts are not shown."""
    thought = {"candidates": [{"content": {"role": "model", "parts": [{"text": "hm", "thought": True}]}}]}
    here = stage(thought, says("a", finish=None), says("b"), BeforeModel={})
    answer = here.call()
    assert (here.shown, answer.shown, answer.was_streamed) == (["a", "b"], "ab", True)


@pytest.mark.req("HOOK-207")
def test_a_broken_stream_asks_no_hook(stage: Callable[..., Stage]) -> None:
    """A stream that breaks off is the caller's error, and AfterModel hooks never hear of it."""
    here = stage(says("a", finish=None), ModelError("cut"), BeforeModel={}, AfterModel={})
    with pytest.raises(ModelError, match="cut"):
        here.call()
    assert [one["hook_event_name"] for one in here.told_to_hooks()] == ["BeforeModel"]


def test_a_hook_that_fails_changes_nothing(project: Path, hook_script: HookScript) -> None:
    """Hooks that crash leave request and response as they are."""
    script = str(hook_script("exit 1"))
    hooks = {
        event: [{"hooks": [{"type": "command", "command": script}]}]
        for event in ("BeforeToolSelection", "BeforeModel", "AfterModel")
    }
    here = Stage(project, hook_script, ScriptedModel([[says("x")]]), {})
    here.config = Config(project, settings={"enableHooks": True, "hooks": hooks})
    answer = here.call()
    assert here.sent() == {"contents": HELLO, "calling": None}
    assert (answer.shown, answer.allowed, answer.should_stop) == ("x", None, False)
