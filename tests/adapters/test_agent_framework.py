"""Agents of Agent Framework with hooks: the table of effects, for runs and for streams."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest

pytest.importorskip("agent_framework", reason="Agent Framework is not installed here: `make adapters` runs these tests")

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    tool,
)
from agent_framework._types import ContentType

from hookline import Hooks
from hookline.adapters.agent_framework import format as agent_framework
from hookline.adapters.agent_framework import hookline_middleware
from hookline.adapters.table import adapter_named
from hookline.errors import FormatError, HooklineError
from hookline.log.paths import default_log_path
from hookline.testing import effects
from hookline.testing.effects import Conversation, Request, RunOutcome, Turn


class BareClient(BaseChatClient):
    """Answers with the turns of a script, piece by piece in a stream, and remembers its requests."""

    def __init__(self, *, turns: Sequence[Turn], piece: int = 8, **given: Any) -> None:
        super().__init__(**given)
        self.turns = iter(turns)
        self.piece = piece
        self.requests: list[Request] = []
        self.options: list[Any] = []
        self.kwargs: list[Any] = []

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **kwargs: Any) -> Any:
        self.options.append(options)
        self.kwargs.append(kwargs)
        contents = [content for message in messages for content in message.contents]
        instructions = options.get("instructions") or ""
        self.requests.append(
            Request(
                texts=(instructions, *(one.text for one in contents if one.type == "text")),
                results=tuple(str(one.result) for one in contents if one.type == "function_result"),
                tools=tuple(tool.name for tool in options.get("tools") or ()),
            )
        )
        turn = next(self.turns, None)
        assert turn is not None, "the model was asked more often than the script says"
        return self._streamed(turn) if stream else self._complete(turn)

    async def _complete(self, turn: Turn) -> Any:
        contents = [*([Content.from_text(turn.text)] if turn.text else []), *self._calls(turn)]
        message = Message("assistant", contents, raw_representation={"raw": turn.text})
        return ChatResponse(messages=[message], raw_representation={"raw": turn.text})

    def _streamed(self, turn: Turn) -> Any:
        async def updates() -> AsyncIterator[Any]:
            for at in range(0, len(turn.text), self.piece):
                piece = turn.text[at : at + self.piece]
                yield ChatResponseUpdate(
                    role="assistant", contents=[Content.from_text(piece)], raw_representation={"raw": piece}
                )
            yield ChatResponseUpdate(role="assistant", contents=self._calls(turn))

        return ResponseStream(updates(), finalizer=ChatResponse.from_updates)

    def _calls(self, turn: Turn) -> list[Any]:
        if turn.call is None:
            return []
        name, arguments = turn.call
        return [Content.from_function_call(f"c{len(self.requests)}", name, arguments=json.dumps(dict(arguments)))]


class FakeClient(FunctionInvocationLayer, ChatMiddlewareLayer, BareClient):
    """The same with the layers that a provider's client has."""


def said(response: Any) -> list[str]:
    """The agent's texts, in order."""
    return [message.text for message in response.messages if message.role == "assistant" and message.text]


async def run(agent: Any, prompt: str) -> list[str]:
    """The whole response."""
    return said(await agent.run(prompt))


async def stream(agent: Any, prompt: str) -> list[str]:
    """Pieces of text."""
    return [update.text async for update in agent.run(prompt, stream=True) if update.role == "assistant"]


async def final_response(agent: Any, prompt: str) -> list[str]:
    """The texts of a stream."""
    return said(await agent.run(prompt, stream=True).get_final_response())


async def every_field(agent: Any, prompt: str) -> list[str]:
    """Everything that a stream has."""
    streamed = agent.run(prompt, stream=True)
    updates = [update async for update in streamed]
    final = await streamed.get_final_response()
    return dumped([*updates, final])


async def raw(agent: Any, prompt: str) -> list[str]:
    """Everything that a response has."""
    return dumped([await agent.run(prompt)])


def dumped(values: Sequence[Any]) -> list[str]:
    """The values with everything that they hold, as texts and as JSON."""
    messages = [message for value in values for message in getattr(value, "messages", ())]
    return [str(form) for value in (*values, *messages) for form in (vars(value), value.to_dict())]


Mode = Callable[[Any, str], Any]


@dataclass
class AgentFrameworkHost:
    """An agent with a fake client."""

    mode: Mode
    piece: int = 8

    async def run(self, hooks: Hooks, conversation: Conversation, tools: Sequence[Callable[..., str]]) -> RunOutcome:
        """The conversation in a new agent."""
        client = FakeClient(turns=conversation.turns, piece=self.piece)
        agent = new_agent(client, tools, hooks, instructions=conversation.system)
        shown = await self.mode(agent, conversation.prompt)
        return RunOutcome(shown=tuple(shown), requests=tuple(client.requests))


def new_agent(client: Any, tools: Sequence[Callable[..., str]], hooks: Hooks, **given: Any) -> Any:
    wrapped = [tool(one, approval_mode="never_require") for one in tools]
    return Agent(client=client, tools=wrapped, middleware=hookline_middleware(hooks), **given)


def check(host: AgentFrameworkHost, effect: effects.Effect) -> None:
    asyncio.run(effects.check(host, effect, cannot=adapter_named("agent_framework").cannot))


@pytest.mark.parametrize("effect", effects.ROWS, ids=str)
@pytest.mark.parametrize("mode", [run, stream, final_response], ids=lambda mode: mode.__name__)
def test_every_effect_holds(mode: Mode, effect: effects.Effect) -> None:
    """Each way to run an agent has all the effects."""
    check(AgentFrameworkHost(mode), effect)


@pytest.mark.parametrize("mode", [stream, final_response, every_field, raw], ids=lambda mode: mode.__name__)
def test_nothing_leaks(mode: Mode) -> None:
    """No update, raw representation or final response shows the text that an AfterModel hook redacts."""
    check(AgentFrameworkHost(mode, piece=100), effects.NO_LEAK)


def test_without_after_model_hooks_pieces_are_streamed() -> None:
    """Holding back is for AfterModel hooks alone."""
    conversation = Conversation((Turn("one two three four"),))
    with Hooks(".", settings={}) as hooks:
        outcome = asyncio.run(AgentFrameworkHost(stream).run(hooks, conversation, ()))
    assert outcome.shown == ("one two ", "three fo", "ur", "")


def test_the_example_prints_what_is_shown() -> None:
    """The example runs as a reader would run it."""
    example = Path(__file__).parents[2] / "examples" / "adapters" / "agent_framework_agent.py"
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, check=False, timeout=120)
    assert (done.stdout, done.stderr) == (example.with_suffix(".txt").read_text(), "")


def settings(event: str, answer: dict[str, Any]) -> dict[str, Any]:
    command = f"printf %s '{json.dumps(answer)}'"
    return {"enableHooks": True, "hooks": {event: [{"hooks": [{"type": "command", "command": command}]}]}}


def test_streams_are_held_back_in_any_case(capsys: pytest.CaptureFixture[str]) -> None:
    """`streamDuringAfterModel` is not obeyed, which is reported: the agent would go on with the old text."""
    rules = settings("AfterModel", {"hookSpecificOutput": {"llm_response": {"text": "[redacted]"}}})
    rules["hooksConfig"] = {"streamDuringAfterModel": True}
    with Hooks(".", settings=rules) as hooks:
        outcome = asyncio.run(AgentFrameworkHost(stream).run(hooks, Conversation((Turn("It is s3cret."),)), ()))
    assert outcome.text == "[redacted]"
    assert "streamDuringAfterModel is not used" in capsys.readouterr().err


def delete_file(path: str) -> str:
    """Deletes a file."""
    return f"Deleted {path}."


def test_a_restriction_holds_over_an_approval() -> None:
    """A tool call that the user approved after the run's end is refused if the tools were restricted."""
    ran: list[str] = []

    @tool(approval_mode="always_require")
    def delete_file(path: str) -> str:
        """Deletes a file."""
        ran.append(path)
        return "Gone."

    only = settings("BeforeToolSelection", {"hookSpecificOutput": {"toolConfig": {"allowedFunctionNames": ["w"]}}})
    client = FakeClient(turns=[Turn(call=("delete_file", {"path": "a"})), Turn("All done.")])

    async def converse(hooks: Hooks) -> None:
        agent = Agent(client=client, tools=[delete_file], middleware=hookline_middleware(hooks))
        session = agent.create_session()
        paused = await agent.run("go", session=session)
        (request,) = paused.user_input_requests
        await agent.run(Message("user", [request.to_function_approval_response(approved=True)]), session=session)

    with Hooks(".", settings=only) as hooks:
        asyncio.run(converse(hooks))
    assert not ran
    assert "delete_file is not allowed now" in client.requests[1].results[0]


def test_what_the_run_shares_reaches_no_client_and_no_tool() -> None:
    """Neither the provider's client nor a tool gets an argument of hookline's."""
    given: list[Any] = []

    def look(**kwargs: Any) -> str:
        """Looks."""
        given.append(kwargs)
        return "ok"

    client = FakeClient(turns=[Turn(call=("look", {})), Turn("done")])
    with Hooks(".", settings={}) as hooks:
        asyncio.run(new_agent(client, [look], hooks).run("go", function_invocation_kwargs={"user": "me"}))
    assert not any("hookline" in str(kwargs) for kwargs in (*client.kwargs, *given))


def test_a_session_of_the_framework_is_a_session_of_hooks(tmp_path: Any) -> None:
    """The input of hooks has the session's id."""
    told = tmp_path / "told.json"
    hook = {"type": "command", "command": f"cat > {told}"}
    rules = {"enableHooks": True, "hooks": {"BeforeModel": [{"hooks": [hook]}]}}

    async def converse(hooks: Hooks) -> None:
        agent = new_agent(FakeClient(turns=[Turn("hi")]), (), hooks)
        await agent.run("go", session=agent.create_session(session_id="s-1"))

    with Hooks(".", settings=rules) as hooks:
        asyncio.run(converse(hooks))
    assert json.loads(told.read_text())["session_id"] == "s-1"


def test_before_model_hooks_restrict_tools_too() -> None:
    """A BeforeModel hook that forbids tools is obeyed when the model calls one."""
    none = settings("BeforeModel", {"hookSpecificOutput": {"llm_request": {"toolConfig": {"mode": "NONE"}}}})
    client = FakeClient(turns=[Turn(call=("delete_file", {"path": "a"})), Turn("done")])
    with Hooks(".", settings=none) as hooks:
        asyncio.run(new_agent(client, [delete_file], hooks).run("go"))
    assert client.options[0]["tool_choice"] == "none"
    assert "delete_file is not allowed now" in client.requests[1].results[0]


def test_a_note_reaches_the_next_request() -> None:
    """AfterModel's note comes with the next request of the run."""
    client = FakeClient(turns=[Turn(call=("delete_file", {"path": "a"})), Turn("done")])
    with Hooks(".", settings=settings("AfterModel", {"systemMessage": "Be careful."})) as hooks:
        asyncio.run(new_agent(client, [delete_file], hooks).run("go"))
    assert client.requests[1].texts[-1] == "[System] Be careful."


def test_results_that_are_no_text_keep_their_contents() -> None:
    """Context is added beside an image."""
    image = Content.from_uri("data:image/png;base64,iVBORw==", media_type="image/png")

    @tool(approval_mode="never_require")
    def look() -> list[Content]:
        """Looks."""
        return [Content.from_text("A cat."), image]

    context = settings("AfterTool", {"hookSpecificOutput": {"additionalContext": "It is a dog."}})
    client = FakeClient(turns=[Turn(call=("look", {})), Turn("done")])
    with Hooks(".", settings=context) as hooks:
        agent = Agent(client=client, tools=[look], middleware=hookline_middleware(hooks))
        response = asyncio.run(agent.run("go"))
    (result,) = [one for message in response.messages for one in message.contents if one.type == "function_result"]
    assert "A cat." in str(result.result)
    assert "It is a dog." in str(result.result)
    assert any(item.type == "data" for item in result.items)


def test_a_client_without_middleware_is_refused() -> None:
    """Hooks that would silently not run are an error."""
    with Hooks(".", settings={}) as hooks:
        agent = Agent(client=BareClient(turns=[Turn("hi")]), middleware=hookline_middleware(hooks))
        with pytest.raises(HooklineError, match="BareClient runs no middleware"):
            asyncio.run(agent.run("go"))


def test_a_client_does_not_take_it_in_part() -> None:
    """The middleware is for agents: a client would leave the agent's part out."""
    with Hooks(".", settings={}) as hooks:
        client = FakeClient(turns=[Turn("hi")], middleware=hookline_middleware(hooks))
        with pytest.raises(HooklineError, match="for an agent"):
            asyncio.run(client.get_response([Message("user", ["x"])]))


def test_rewrites_keep_what_hooks_do_not_see() -> None:
    """The other contents stay, and nothing shows the old text."""
    call = Content.from_function_call("c1", "look", arguments="{}")
    message = Message("assistant", [Content.from_text("secret"), call], raw_representation="secret")
    given = ChatResponse(messages=[message], raw_representation="secret")
    response = agent_framework.from_hook_llm_response({"text": "[x]"}, given)
    assert response.raw_representation is None
    (changed,) = response.messages
    assert (changed.text, changed.contents[1], changed.raw_representation) == ("[x]", call, None)


def test_an_unknown_message_is_an_error() -> None:
    """It is never read as an empty conversation."""
    with pytest.raises(FormatError, match=r"messages\[0\]"):
        agent_framework.to_hook_llm_request({"messages": ["hi"]})


def test_every_content_of_agent_framework_is_known() -> None:
    """A new version with a new type of content fails here first; any other is an error, and never hidden."""
    kinds = get_args(ContentType)
    assert len(kinds) >= 26
    for kind in kinds:
        agent_framework.to_hook_llm_request({"messages": [Message("user", [Content(kind, text="a")])]})
        agent_framework.to_hook_llm_response(ChatResponse(messages=[Message("assistant", [Content(kind, text="a")])]))
    mystery: Any = "mystery"
    unknown = Content(mystery, text="a")
    with pytest.raises(FormatError, match=r"messages\[0\]\.contents\[0\] is of the unknown type 'mystery'"):
        agent_framework.to_hook_llm_request({"messages": [Message("user", [unknown])]})
    with pytest.raises(FormatError, match=r"messages\[0\]\.contents\[0\] is of the unknown type 'mystery'"):
        agent_framework.to_hook_llm_response(ChatResponse(messages=[Message("assistant", [unknown])]))
    with pytest.raises(FormatError, match=r"instructions\[1\] is"):
        agent_framework.to_hook_llm_request({"messages": [], "instructions": ["Hi.", {"mystery": "a"}]})


@pytest.mark.parametrize("stream", [False, True])
def test_a_note_on_the_last_answer_waits_for_the_session(
    stream: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session's next run has it, once. A run without a session drops it, which stderr and the log report."""
    monkeypatch.setattr("hookline.adapters.table._reported", set())
    client = FakeClient(turns=[Turn("one"), Turn("two"), Turn("three"), Turn("four")])

    async def ask(agent: Any, **given: Any) -> None:
        if stream:
            await agent.run("go", stream=True, **given).get_final_response()
        else:
            await agent.run("go", **given)

    async def converse(hooks: Hooks) -> None:
        agent = new_agent(client, (), hooks)
        session = agent.create_session(session_id="s-1")
        await ask(agent, session=session)
        await ask(new_agent(client, (), hooks), session=session)
        assert capsys.readouterr().err == ""
        await ask(agent)
        await ask(agent)

    with Hooks(tmp_path, settings=settings("AfterModel", {"systemMessage": "Be careful."})) as hooks:
        asyncio.run(converse(hooks))
    noted = ["[System] Be careful." in request.texts for request in client.requests]
    assert noted == [False, True, False, False]
    assert capsys.readouterr().err.count("the model never reads it; run the agent with a session") == 1
    assert default_log_path().read_text().count("the model never reads it") == 2
