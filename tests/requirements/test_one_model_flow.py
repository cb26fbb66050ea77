"""The same verdicts around model calls have the same effect in every program: the table of effects, compared.

Each host runs the conversations of `hookline.testing.effects`. What ran, what the model was sent, which tools it was
offered and what the user was shown has to be the same in all of them.
"""

import asyncio
import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hookline import Config, Hooks, execute_tool_with_hooks
from hookline.adapters.blocking import Blocking, finished
from hookline.adapters.run import AgentRun, CannedResponse
from hookline.adapters.table import Adapter
from hookline.apps.agent.conversation.contents import (
    answer_calls,
    function_calls,
    model_content,
    spoken_text,
    user_content,
)
from hookline.apps.agent.conversation.transcript import TranscriptWriter
from hookline.apps.agent.events import AgentEvent, ModelText
from hookline.apps.agent.loop import Agent
from hookline.apps.agent.pipeline import call_model
from hookline.apps.agent.tool import AgentTool, ToolContext
from hookline.apps.agent.toolbox import ToolBox
from hookline.client.triggers.results import ToolResult
from hookline.formats import openai
from hookline.formats.genai import sdk
from hookline.protocol.llm import GenerateContentParameters
from hookline.testing import ScriptedModel, effects
from hookline.testing.effects import Conversation, EffectCase, Turn

SYSTEM = "You help."
NAMES = ("write_file", "delete_file")
WRITE = ("write_file", {"path": "a.txt", "text": "x"})
# Programs word the refusal of a tool that hooks took from the model differently.
RESTRICTED = ("were restricted by", "restricted the tools")


class Sent(NamedTuple):
    """One request to the model."""

    texts: frozenset[str]
    results: tuple[str, ...]
    tools: frozenset[str]


class Facts(NamedTuple):
    """The outcome of a conversation."""

    ran: tuple[tuple[str, str], ...]
    sent: tuple[Sent, ...]
    shown: frozenset[str]


@dataclass
class Program:
    """The program around a conversation."""

    settings: Mapping[str, Any]
    conversation: Conversation
    project: Path
    ran: list[tuple[str, str]] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.turns = iter(self.conversation.turns)

    def tool(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Both tools."""
        self.ran.append((name, json.dumps(arguments, sort_keys=True)))
        return f"{'Wrote' if name == 'write_file' else 'Deleted'} {arguments['path']}."

    def ask(self, texts: list[str], results: list[str], tools: Any) -> Turn:
        """The model."""
        kept = frozenset(text for text in texts if text and not text.startswith(SYSTEM))
        told = ["(restricted)" if any(words in text for words in RESTRICTED) else text for text in results]
        self.sent.append(Sent(kept, tuple(told), frozenset(tools)))
        return next(self.turns)

    def facts(self) -> Facts:
        """The outcome of the call."""
        return Facts(tuple(self.ran), tuple(self.sent), frozenset(filter(None, self.shown)))

    def hooks(self) -> Hooks:
        """The program's hooks."""
        return Hooks(self.project, settings=self.settings, quiet=True, log_file=False)

    def config(self) -> Config:
        """The program's settings."""
        return Config(self.project, settings=self.settings, quiet=True, log_file=False)


# ------------------------------------------------------------------------------------------------------ hosts


async def _converse(program: Program, calls: Any) -> None:
    """A loop on the neutral API."""
    messages = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": program.conversation.prompt},
    ]
    results: list[str] = []
    while True:
        request = {"model": "m", "messages": list(messages)}
        chosen = await calls.select_tools(request, NAMES)
        if chosen.stop:
            return program.shown.append(chosen.stop_reason)
        gate = await calls.before_model(request)
        if gate.blocked:
            return program.shown.append(gate.stop_reason or (gate.response or {}).get("text") or gate.reason)
        offered = gate.selection or chosen
        texts = [message["content"] for message in gate.request["messages"]]
        answer = program.ask(texts, results, [name for name in NAMES if offered.permits(name)])
        after = await calls.after_model(request, {"text": answer.text})
        if after.stop:
            return program.shown.append(after.stop_reason)
        text = answer.text if after.text is None else after.text
        program.shown.append(text)
        messages += [{"role": "model", "content": text}] if text else []
        if answer.call is None:
            return None
        name, arguments = answer.call
        result = await calls.run_tool(name, arguments, lambda given, name=name: program.tool(name, given))
        results.append(str(result.llm_content))
        if result.should_stop:
            return program.shown.append(result.stop_reason)


def session(program: Program) -> None:
    with program.hooks() as hooks:
        asyncio.run(_converse(program, hooks.session()))


def sync(program: Program) -> None:
    with program.hooks() as hooks:
        finished(_converse(program, Blocking(hooks.session())))


ADAPTER = Adapter(name="own", framework="Own", extra="", package="own", since="1", front="own", use="own", go_on="on")


async def _adapted(program: Program, run: AgentRun) -> None:
    """A loop on OpenAI's requests, as an adapter runs it."""
    messages: list[Any] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": program.conversation.prompt},
    ]
    tools = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in NAMES]
    while True:
        native = await run.before_model({"model": "m", "messages": list(messages), "tools": tools})
        if isinstance(native, CannedResponse):
            return program.shown.append(native.text)
        said = native["messages"]
        texts = [one["content"] for one in said if one["role"] != "tool" and one.get("content")]
        results = [one["content"] for one in said if one["role"] == "tool"]
        is_off = native.get("tool_choice") == "none"
        answer = program.ask(texts, results, [] if is_off else openai.tool_names(native))
        response = await run.after_model({"choices": [{"message": {"role": "assistant", "content": answer.text}}]})
        if isinstance(response, CannedResponse):
            return program.shown.append(response.text)
        text = response["choices"][0]["message"]["content"]
        program.shown.append(text)
        if answer.call is None:
            return None
        name, arguments = answer.call
        call = {"id": "1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        messages.append({"role": "assistant", "content": text or None, "tool_calls": [call]})

        async def tool(call: Any, name: str = name) -> str:
            return program.tool(name, call.arguments)

        result = await run.call_tool(name, arguments, tool)
        messages.append({"role": "tool", "tool_call_id": "1", "content": str(result.llm_content)})
        if run.stop.reason is not None:
            return program.shown.append(run.stop.reason)


def adapter(program: Program) -> None:
    with program.hooks() as hooks:
        asyncio.run(_adapted(program, AgentRun(ADAPTER, openai, hooks, "s-1")))


class Model(ScriptedModel):
    """The model of a program on Gemini's types."""

    def __init__(self, program: Program) -> None:
        super().__init__(())
        self._program = program

    async def stream(self, request: GenerateContentParameters) -> Any:
        """The conversation's next turn."""
        parts = [part for content in request.contents for part in content.parts or ()]
        texts = [part.text for part in parts if part.text]
        results = [next(iter(part.function_response.response.values())) for part in parts if part.function_response]
        answer = self._program.ask(texts, results, _offered(request))
        types = sdk.types()
        said = [types.Part(text=answer.text)] if answer.text else []
        if answer.call is not None:
            said.append(types.Part(function_call=types.FunctionCall(name=answer.call[0], args=dict(answer.call[1]))))
        content = types.Content(role="model", parts=said)
        yield types.GenerateContentResponse(candidates=[types.Candidate(content=content, finish_reason="STOP")])


def _offered(request: GenerateContentParameters) -> list[str]:
    config = request.config
    declared = [one.name for tool in config.tools or () for one in tool.function_declarations or ()]
    calling = config.tool_config and config.tool_config.function_calling_config
    if calling and calling.mode is not None and calling.mode.value == "NONE":
        return []
    names = calling.allowed_function_names if calling else None
    return declared if names is None else [name for name in declared if name in names]


def triggers(program: Program) -> None:
    """A loop on the specification's trigger functions."""

    async def run() -> None:
        config, model, types = program.config(), Model(program), sdk.types()
        contents = [user_content([program.conversation.prompt])]
        declarations = [{"name": name, "description": "", "parameters_json_schema": {}} for name in NAMES]
        while True:
            settings = types.GenerateContentConfig(tools=[types.Tool(function_declarations=declarations)])
            request = GenerateContentParameters(model="m", contents=list(contents), config=settings)
            answer = await call_model(config, model, request)
            shown = "" if answer.response is None else spoken_text(answer.response)
            program.shown.append((answer.stop_reason if answer.should_stop else shown or answer.reason) or "")
            content = None if answer.response is None else model_content(answer.response)
            calls = function_calls(content, "c")
            if answer.should_stop or content is None or not calls:
                return None
            contents.append(content)
            (call,) = calls

            async def tool(arguments: dict[str, Any], name: str = call.name) -> str:
                return program.tool(name, arguments)

            result = await execute_tool_with_hooks(config, call.name, call.arguments, tool)
            contents.append(answer_calls(content, [replace(call, result=result)]))
            if result.should_stop:
                return program.shown.append(result.stop_reason or "")

    asyncio.run(run())


@dataclass(frozen=True, kw_only=True)
class OwnTool(AgentTool):
    """A tool in hookline's agent."""

    program: Program

    def needs_approval(self, _arguments: Mapping[str, Any], _context: ToolContext) -> None:
        """Never."""

    async def execute(self, arguments: Mapping[str, Any], _context: ToolContext) -> ToolResult:
        """Runs it."""
        text = self.program.tool(self.name, arguments)
        return ToolResult(llm_content=text, return_display=text)


def agent(program: Program) -> None:
    events: list[AgentEvent] = []
    tools = [
        OwnTool(name=name, description="", parameters={"type": "object"}, is_read_only=False, program=program)
        for name in NAMES
    ]

    async def run() -> None:
        own = Agent(
            config=program.config(),
            model=Model(program),
            toolbox=ToolBox(tools),
            approves_all=True,
            transcript=TranscriptWriter(program.project / "transcript.jsonl"),
            listener=events.append,
        )
        own.start()
        ended = await own.run(program.conversation.prompt)
        await own.close()
        if ended.stopped:
            program.shown.append(ended.stop_reason or "")
        elif ended.blocked and not ended.response:
            program.shown.append(ended.reason or "")

    asyncio.run(run())
    program.shown += [event.text for event in events if isinstance(event, ModelText)]


HOSTS: Mapping[str, Callable[[Program], None]] = {
    host.__name__: host for host in (session, sync, adapter, triggers, agent)
}


# ------------------------------------------------------------------------------------------------------- rows


def _rewrites(name: str, request: Mapping[str, Any]) -> tuple[str, Mapping[str, Any], Conversation]:
    answer = {"hookSpecificOutput": {"llm_request": request}}
    # Not the first request: hookline's agent sends none that has nothing left.
    command = f"if grep -q 'I write'; then printf %s {shlex.quote(json.dumps(answer))}; fi"
    hooks = {"BeforeModel": [{"hooks": [{"type": "command", "name": "guard", "command": command}]}]}
    return (
        name,
        {"enableHooks": True, "hooks": hooks},
        Conversation((Turn("I write.", WRITE), Turn("All done."))),
    )


def rows() -> list[Any]:
    """Every case of the table of effects, and rewrites of the request that it has no case for."""
    cases: list[tuple[str, EffectCase]] = [(f"{row}: {case}", case) for row in effects.ROWS for case in row.cases]
    made = [(name, case.settings, case.conversation) for name, case in cases]
    made += [
        _rewrites("no messages", {"messages": []}),
        _rewrites("other messages", {"messages": [{"role": "user", "content": "Only this."}]}),
        _rewrites("no tools", {"toolConfig": {"mode": "NONE"}}),
        _rewrites("one tool", {"toolConfig": {"mode": "AUTO", "allowedFunctionNames": ["write_file"]}}),
    ]
    return [pytest.param(settings, conversation, id=name) for name, settings, conversation in made]


@pytest.mark.req("DELTA-FLOW-007")
@pytest.mark.parametrize(("settings", "conversation"), rows())
def test_every_program_does_the_same(tmp_path: Path, settings: Mapping[str, Any], conversation: Conversation) -> None:
    """All of them agree on what ran, what the model was sent and offered, and what the user was shown."""
    came_to: dict[str, Facts] = {}
    for name, host in HOSTS.items():
        program = Program(settings, conversation, tmp_path)
        host(program)
        came_to[name] = program.facts()
    for name, facts in came_to.items():
        assert facts == came_to["session"], name
