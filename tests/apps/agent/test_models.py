"""Each model API through its vendor's client, against a local server that sends its streams."""

import asyncio
import json
import re
import shlex
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.apps.agent.model_server import ModelServer, Reply, model_server

from hookline.apps.agent.conversation.contents import (
    answer_calls,
    content_from_json,
    function_calls,
    spoken_text,
    user_content,
)
from hookline.apps.agent.conversation.transcript import TranscriptWriter, transcript_path
from hookline.apps.agent.events import AgentEvent, ModelText, TurnEnded
from hookline.apps.agent.loop import Agent
from hookline.apps.agent.models.anthropic import AnthropicModel
from hookline.apps.agent.models.client import ClientModel
from hookline.apps.agent.models.collect import collect
from hookline.apps.agent.models.gemini import GeminiModel
from hookline.apps.agent.models.openai import OpenAIModel
from hookline.apps.agent.tool import CallStatus, success
from hookline.apps.agent.toolbox import default_toolbox
from hookline.client.config import Config
from hookline.errors import MissingExtraError, ModelError
from hookline.formats.genai import sdk
from hookline.protocol.llm import GenerateContentParameters
from hookline.testing import says

HookScript = Callable[..., Path]
Body = dict[str, Any]
WRITE: Body = {"file_path": "a.txt", "content": "hi\n"}


@dataclass(frozen=True)
class Vendor:
    """An API: its model, its path, and its streams."""

    make: Callable[..., ClientModel]
    path: str
    base: str
    """What the base URL has after the host."""
    greeting: list[Any]
    """`Hello` in two pieces, without an ending."""
    ending: list[Any]
    calling: list[Any]
    """A whole answer that calls write_file, whose arguments come in two pieces."""
    halved: list[Any]
    """The end of the same with arguments that are not JSON; empty where they are never text."""
    malformed: bytes
    in_band: Any
    results: Callable[[Body], list[str]]
    """The tool results in a request."""
    tools: Callable[[Body], list[str]]


def _completion(delta: Body, finish: str | None = None) -> Body:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]}


def _completion_call(*pieces: str) -> list[Any]:
    first = {"index": 0, "id": "c1", "type": "function", "function": {"name": "write_file", "arguments": ""}}
    more = [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces]
    return [*map(_completion, [{"tool_calls": [first]}, *more]), _completion({}, "tool_calls"), "[DONE]"]


def _message(*blocks: tuple[Body, Sequence[Body]]) -> list[Any]:
    facts = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": None}
    usage = {"input_tokens": 10, "output_tokens": 0}
    events: list[Any] = [{"type": "message_start", "message": {**facts, "content": [], "usage": usage}}]
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return events


def _message_end(reason: str) -> list[Any]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [{"type": "message_delta", "delta": delta, "usage": {"output_tokens": 2}}, {"type": "message_stop"}]


def _message_call(*pieces: str) -> list[Any]:
    block = {"type": "tool_use", "id": "c1", "name": "write_file", "input": {}}
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return [*_message((block, deltas)), *_message_end("tool_use")]


_GEMINI_PART = {"functionCall": {"id": "c1", "name": "write_file", "args": WRITE}}
_GEMINI_CALL = {"candidates": [{"content": {"role": "model", "parts": [_GEMINI_PART]}, "finishReason": "STOP"}]}
HALVES = json.dumps(WRITE)[:9], json.dumps(WRITE)[9:]
VENDORS = {
    "gemini": Vendor(
        make=GeminiModel,
        path="/v1/models/m:streamGenerateContent?alt=sse",
        base="",
        greeting=[says("Hel", finish=None), says("lo", finish=None)],
        ending=[says("", tokens=12)],
        calling=[_GEMINI_CALL],
        halved=[],
        malformed=b"data: {nonsense\n\n",
        in_band={"error": {"code": 503, "message": "overloaded"}},
        results=lambda body: [
            part["functionResponse"]["response"].get("output") or part["functionResponse"]["response"]["error"]
            for one in body["contents"]
            for part in one["parts"]
            if "functionResponse" in part
        ],
        tools=lambda body: sorted(body["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"], reverse=True),
    ),
    "openai": Vendor(
        make=OpenAIModel,
        path="/v1/chat/completions",
        base="/v1",
        greeting=[_completion({"role": "assistant", "content": "Hel"}), _completion({"content": "lo"})],
        ending=[
            _completion({}, "stop"),
            {
                **_completion({}),
                "choices": [],
                "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
            },
            "[DONE]",
        ],
        calling=_completion_call(*HALVES),
        halved=_completion_call(HALVES[0]),
        malformed=b"data: {nonsense\n\n",
        in_band={"error": {"message": "overloaded", "type": "server_error"}},
        results=lambda body: [one["content"] for one in body["messages"] if one["role"] == "tool"],
        tools=lambda body: [tool["function"]["name"] for tool in body["tools"]],
    ),
    "anthropic": Vendor(
        make=AnthropicModel,
        path="/v1/messages",
        base="",
        greeting=_message(
            (
                {"type": "text", "text": ""},
                [{"type": "text_delta", "text": "Hel"}, {"type": "text_delta", "text": "lo"}],
            )
        ),
        ending=_message_end("end_turn"),
        calling=_message_call(*HALVES),
        halved=_message_call(HALVES[0]),
        malformed=b"event: message_delta\ndata: {nonsense\n\n",
        in_band={"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}},
        results=lambda body: [
            block["content"] for one in body["messages"] for block in one["content"] if block["type"] == "tool_result"
        ],
        tools=lambda body: [tool["name"] for tool in body["tools"]],
    ),
}
each_vendor = pytest.mark.parametrize("vendor", VENDORS.values(), ids=VENDORS)
REQUEST = GenerateContentParameters(model="m", contents="Hi")


@pytest.fixture(autouse=True)
def _local(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("GEMINI_API_KEY", "a-key")
    for name in (
        "GOOGLE_API_KEY",
        "GOOGLE_GENAI_USE_VERTEXAI",
        "GOOGLE_GENAI_USE_ENTERPRISE",
        "GOOGLE_GEMINI_BASE_URL",
        "http_proxy",
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "OPENAI_BASE_URL",
        "ANTHROPIC_BASE_URL",
    ):
        monkeypatch.delenv(name, raising=False)


def ask(model: ClientModel, request: GenerateContentParameters = REQUEST) -> list[Any]:
    """The chunks of one answer."""

    async def stream() -> list[Any]:
        try:
            async with aclosing(model.stream(request)) as chunks:
                return [chunk async for chunk in chunks]
        finally:
            await model.aclose()

    return asyncio.run(stream())


def model_of(vendor: Vendor, server: ModelServer, **options: Any) -> ClientModel:
    """The vendor's model, at this server, without a key."""
    return vendor.make("m", base_url=server.url + vendor.base, first_pause_s=0.01, **options)


def fail(vendor: Vendor, *replies: Reply) -> tuple[str, ModelServer]:
    """The error of one call to a server with these replies."""
    with model_server(replies) as server, pytest.raises(ModelError) as caught:
        ask(model_of(vendor, server, attempts=3))
    return str(caught.value), server


@each_vendor
def test_an_answer_comes_in_chunks(vendor: Vendor) -> None:
    """Text is passed on as it comes; the end has the reason and the token counts."""
    with model_server([Reply(chunks=[*vendor.greeting, *vendor.ending])]) as server:
        chunks = ask(model_of(vendor, server))
    assert [spoken_text(chunk) for chunk in chunks] == ["Hel", "lo", ""]
    whole: Any = collect(chunks)
    assert (whole.text, whole.candidates[0].finish_reason.value) == ("Hello", "STOP")
    assert whole.usage_metadata.total_token_count == 12
    assert server.paths == [vendor.path]


@each_vendor
@pytest.mark.parametrize("status", [429, 503])
def test_a_refused_request_is_made_again(vendor: Vendor, status: int) -> None:
    """Too many requests and server errors pass: the request is made again, and that is told."""
    told: list[str] = []
    with model_server([Reply(status=status, error="busy"), Reply(chunks=[*vendor.greeting, *vendor.ending])]) as server:
        chunks = ask(model_of(vendor, server, on_retry=told.append))
    assert "".join(map(spoken_text, chunks)) == "Hello"
    assert (len(server.paths), len(told)) == (2, 1)
    assert re.match(rf"m answered {status}.*: busy; retrying in ", told[0])


@each_vendor
@pytest.mark.parametrize(("status", "attempts"), [(429, 3), (400, 1)], ids=["bounded", "not-again"])
def test_a_refusal_is_an_error(vendor: Vendor, status: int, attempts: int) -> None:
    """After the last attempt, or at once for what would be refused again, it says what the server said."""
    message, server = fail(vendor, *[Reply(status=status, error="no")] * attempts)
    assert re.fullmatch(rf"m gave no answer: {status}.*: no", message)
    assert len(server.paths) == attempts


@pytest.mark.req("HOOK-207")
@each_vendor
@pytest.mark.parametrize("fault", ["cut", "looks-like-an-end", "malformed", "in-band", "halved-arguments"])
def test_a_broken_stream_is_an_error_and_not_retried(vendor: Vendor, fault: str) -> None:
    """Once a chunk has arrived, a stream that breaks is an error, and the request is not made a second time."""
    begun = vendor.greeting
    reply = {
        "cut": Reply(chunks=begun, is_cut=True),
        "looks-like-an-end": Reply(chunks=begun, announces_length=False),
        "malformed": Reply(chunks=[*begun, vendor.malformed]),
        "in-band": Reply(chunks=[*begun, vendor.in_band]),
        "halved-arguments": Reply(chunks=[*begun, *vendor.halved[-4:]]),
    }[fault]
    message, server = fail(vendor, reply)
    assert message.startswith("the answer of m was cut off: ")
    assert len(server.paths) == 1


@each_vendor
def test_a_malformed_chunk_at_once_is_an_error(vendor: Vendor) -> None:
    """Nothing has arrived, and nothing is tried again."""
    message, server = fail(vendor, Reply(chunks=[vendor.malformed]))
    assert message.startswith("m gave no answer: ")
    assert len(server.paths) == 1


@each_vendor
def test_an_error_of_the_network_names_the_address(vendor: Vendor) -> None:
    """A person sees where the request went."""
    with model_server([]) as server:
        model = model_of(vendor, server)
    with pytest.raises(ModelError) as caught:
        ask(model)
    assert str(caught.value) == f"m gave no answer: All connection attempts failed ({server.url})"


@each_vendor
@pytest.mark.parametrize("is_cancelled", [False, True], ids=["waited-for", "cancelled"])
def test_a_slow_first_byte(vendor: Vendor, is_cancelled: bool) -> None:
    """The loop stays free while the model thinks, and cancelling leaves no task."""
    release = threading.Event()

    async def wait() -> list[str]:
        model = model_of(vendor, server)
        stream = model.stream(REQUEST)
        first = asyncio.ensure_future(anext(stream))
        await asyncio.to_thread(server.asked.wait, 15)
        assert not first.done()
        if is_cancelled:
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
        release.set()
        texts = [] if is_cancelled else [spoken_text(await first), *[spoken_text(chunk) async for chunk in stream]]
        await model.aclose()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return texts

    with model_server([Reply(chunks=[*vendor.greeting, *vendor.ending], release=release)]) as server:
        assert asyncio.run(wait()) == ([] if is_cancelled else ["Hel", "lo", ""])


@each_vendor
def test_a_call_comes_in_pieces(vendor: Vendor) -> None:
    """Its arguments are put together, and its id is the API's own."""
    with model_server([Reply(chunks=vendor.calling)]) as server:
        whole: Any = collect(ask(model_of(vendor, server)))
    (call,) = function_calls(whole.candidates[0].content, "new")
    assert (call.id, call.name, call.arguments) == ("c1", "write_file", WRITE)


def conversation() -> GenerateContentParameters:
    """A request with everything that the agent sends: of Gemini's sessions, whose calls have no ids."""
    types = sdk.types()
    parts = [{"text": "I write."}, {"text": "hm", "thought": True}]
    called = content_from_json({"role": "model", "parts": [*parts, {"functionCall": {"name": "ls", "args": {"a": 1}}}]})
    (call,) = function_calls(called, "x")
    done = type(call)(id=call.id, name="ls", arguments={}, status=CallStatus.SUCCESS, result=success("b.txt"))
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    declared = [{"name": name, "description": f"{name}!", "parameters_json_schema": schema} for name in ("ls", "rm")]
    calling = {"function_calling_config": {"mode": "ANY", "allowed_function_names": ["ls"]}}
    config = types.GenerateContentConfig(
        system_instruction="Be brief.",
        tools=[types.Tool(function_declarations=declared)],
        temperature=0.5,
        tool_config=types.ToolConfig.model_validate(calling),
    )
    contents = [user_content(["Hi"]), called, answer_calls(called, [done], ["[System] Mind."])]
    return GenerateContentParameters(model="m", contents=contents, config=config)


def test_a_request_in_openais_words() -> None:
    """The conversation, the tools that hooks permit, and the parameters that they set."""
    vendor = VENDORS["openai"]
    with model_server([Reply(chunks=[*vendor.greeting, *vendor.ending])]) as server:
        ask(model_of(vendor, server), conversation())
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    call = {"id": "call_1_2", "type": "function", "function": {"name": "ls", "arguments": '{"a": 1}'}}
    assert server.bodies == [
        {
            "model": "m",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": "I write.", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "call_1_2", "content": "b.txt"},
                {"role": "user", "content": "[System] Mind."},
            ],
            "tools": [{"type": "function", "function": {"name": "ls", "description": "ls!", "parameters": schema}}],
            "tool_choice": "required",
            "temperature": 0.5,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    ]


def test_a_request_in_anthropics_words() -> None:
    """The same; a request without tools, for a summary, declares those that were called."""
    vendor, request = VENDORS["anthropic"], conversation()
    bare = GenerateContentParameters(model="m", contents=request.contents)
    with model_server([Reply(chunks=[*vendor.greeting, *vendor.ending])] * 2) as server:
        ask(model_of(vendor, server), request)
        ask(model_of(vendor, server), bare)
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    result = {"type": "tool_result", "tool_use_id": "call_1_2", "content": "b.txt"}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I write."},
                {"type": "tool_use", "id": "call_1_2", "name": "ls", "input": {"a": 1}},
            ],
        },
        {"role": "user", "content": [result, {"type": "text", "text": "[System] Mind."}]},
    ]
    common = {"model": "m", "max_tokens": 32000, "messages": messages, "stream": True}
    assert server.bodies == [
        {
            **common,
            "system": "Be brief.",
            "tools": [{"name": "ls", "description": "ls!", "input_schema": schema}],
            "tool_choice": {"type": "any"},
            "temperature": 0.5,
        },
        {**common, "tools": [{"name": "ls", "input_schema": {"type": "object"}}], "tool_choice": {"type": "none"}},
    ]


class Scene:
    """The agent with a vendor's model and hooks given as answers."""

    def __init__(self, project: Path, write: HookScript, vendor: Vendor) -> None:
        self.events: list[AgentEvent] = []
        self.bodies: list[Body] = []
        self._project = project
        self._write = write
        self._vendor = vendor

    def run(self, *answers: list[Any], **hooks: Body) -> TurnEnded:
        """One prompt; the server gives these answers."""
        entries = {
            event: [{"hooks": [{"type": "command", "name": "guard", "command": self._script(event, answer)}]}]
            for event, answer in hooks.items()
        }
        settings = {"enableHooks": True, "hooks": entries}

        async def session() -> TurnEnded:
            model = model_of(self._vendor, server)
            agent = Agent(
                config=Config(self._project, session_id="s1", settings=settings),
                model=model,
                toolbox=default_toolbox(),
                approves_all=True,
                transcript=TranscriptWriter(transcript_path("s1")),
                listener=self.events.append,
            )
            agent.start()
            try:
                return await agent.run("my card is 4711")
            finally:
                await agent.close()
                await model.aclose()

        with model_server([Reply(chunks=answer) for answer in answers]) as server:
            ended = asyncio.run(session())
        self.bodies = server.bodies
        return ended

    def shown(self) -> str:
        """The model's text that a person was shown."""
        return "".join(event.text for event in self.events if isinstance(event, ModelText))

    def _script(self, event: str, answer: Body) -> str:
        return str(self._write(f"cat >/dev/null; echo {shlex.quote(json.dumps(answer))}", f"{event}.sh"))


@pytest.fixture
def scene(project: Path, hook_script: HookScript, vendor: Vendor) -> Scene:
    """An empty project."""
    return Scene(project, hook_script, vendor)


def candidate(text: str) -> Body:
    """A hook's response of the model."""
    return {"candidates": [{"content": {"role": "model", "parts": [text]}, "finishReason": "STOP"}]}


@each_vendor
def test_tools_run_and_hooks_restrict_them(vendor: Vendor, scene: Scene, project: Path) -> None:
    """The call is run, its result goes back under its id, and only what hooks permit is offered."""
    only = {"hookSpecificOutput": {"toolConfig": {"mode": "AUTO", "allowedFunctionNames": ["write_file", "glob"]}}}
    done = [*vendor.greeting, *vendor.ending]
    ended = scene.run(vendor.calling, done, BeforeToolSelection=only)
    assert (ended.response, ended.turns, (project / "a.txt").read_text()) == ("Hello", 2, "hi\n")
    assert [vendor.tools(body) for body in scene.bodies] == [["write_file", "glob"]] * 2
    assert vendor.results(scene.bodies[1]) == ["Created a.txt with 1 line."]
    pieces = [event.text for event in scene.events if isinstance(event, ModelText) and not event.is_final]
    assert pieces == ["Hel", "lo"]


@each_vendor
def test_hooks_redact_what_goes_out_and_comes_in(vendor: Vendor, scene: Scene) -> None:
    """The server never gets the prompt's number, and the person sees the hooks' text."""
    request = {"hookSpecificOutput": {"llm_request": {"messages": [{"role": "user", "content": "my card is [gone]"}]}}}
    response = {"hookSpecificOutput": {"llm_response": candidate("[redacted]")}}
    ended = scene.run([*vendor.greeting, *vendor.ending], BeforeModel=request, AfterModel=response)
    assert "4711" not in json.dumps(scene.bodies)
    assert "my card is [gone]" in json.dumps(scene.bodies)
    assert (ended.response, scene.shown()) == ("[redacted]", "[redacted]")


def test_a_base_url_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gemini's SDK has a variable for it."""
    vendor = VENDORS["gemini"]
    with model_server([Reply(chunks=[*vendor.greeting, *vendor.ending])]) as server:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9")
        assert len(ask(model_of(vendor, server))) == 3


def test_a_blocked_prompt_is_a_complete_answer() -> None:
    """Gemini's answer has a reason and no candidate then."""
    with model_server([Reply(chunks=[{"promptFeedback": {"blockReason": "SAFETY"}}])]) as server:
        assert [spoken_text(chunk) for chunk in ask(model_of(VENDORS["gemini"], server))] == [""]


@pytest.mark.parametrize(
    ("make", "remedy"),
    [
        (GeminiModel, "Set GEMINI_API_KEY, or work without a key: --model replay:FILE"),
        (OpenAIModel, "--base-url URL"),
        (AnthropicModel, "Set ANTHROPIC_API_KEY"),
    ],
    ids=VENDORS,
)
def test_a_missing_key_is_reported_with_the_remedy(
    make: Callable[[str], ClientModel], remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, and not with the first request."""
    monkeypatch.delenv("GEMINI_API_KEY")
    with pytest.raises(ModelError, match=remedy):
        make("m")


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_without_the_package_one_line_says_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra has the package's name."""
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=rf"\[agent,{name}\]"):
        VENDORS[name].make("m")
