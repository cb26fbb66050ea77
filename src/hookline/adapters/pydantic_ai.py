"""Hooks for agents of Pydantic AI: `Agent(..., capabilities=[HooklineCapability(hooks)])`.

- It works for `run`, `run_sync`, `run_stream`, `run_stream_events` and `iter`.
- While AfterModel hooks exist, the model's answer is held back until they have answered, and streams replay it then.
- A conversation of Pydantic AI is a session with the conversation's id. A note of a hook on the last answer of a run
  goes with the first request of the conversation's next run in this process.
- When a hook stops the agent, its reason is the run's output; a run whose output is not text raises
  `hookline.errors.AgentStoppedError`.
- Hooks see the arguments as they were validated. Arguments that a hook rewrites are validated again.
- Output tools, realtime sessions and tools that the provider runs have no hooks.
- A hook can't choose another model, and `suppressOutput` hides nothing, because the program shows messages itself.
"""

import copy
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from hookline.adapters._notes import notes_of
from hookline.adapters._run import AgentRun, Said
from hookline.adapters.table import loaded, missing, report_once
from hookline.errors import AgentStoppedError
from hookline.hooks import Hooks
from hookline.triggers.results import ToolResult

try:
    from pydantic import ValidationError
    from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
    from pydantic_ai.messages import InstructionPart, ModelRequest, ModelResponse, ToolReturn
    from pydantic_ai.models import CompletedStreamedResponse
    from pydantic_ai.models.wrapper import WrapperModel
    from pydantic_ai.toolsets import WrapperToolset
    from pydantic_core import to_json, to_jsonable_python

    from hookline.formats import pydantic_ai as messages
except ModuleNotFoundError as error:
    raise missing("pydantic_ai") from error

__all__ = ["HooklineCapability"]

_SELF = loaded("pydantic_ai")
_NOT_RUN: Any = object()


@dataclass
class HooklineCapability(AbstractCapability[Any]):
    """The hooks of a program around every model call and every tool call of an agent.

    A conversation of Pydantic AI is a session with the conversation's id. `agent` is which of the program's agents it
    is, for the log. When a hook stops the agent, its reason is the run's output; a run whose output is not text ends
    with an AgentStoppedError.
    """

    hooks: Hooks
    agent: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self._run = self._new_run(None)
        _SELF.report(self.hooks)

    def get_ordering(self) -> CapabilityOrdering:
        """Outermost, so that no other capability shows or changes what hooks have not seen."""
        return CapabilityOrdering(position="outermost")

    async def for_run(self, ctx: Any) -> "HooklineCapability":
        """The capability with a session for this run."""
        _SELF.report(self.hooks)
        capability = copy.copy(self)
        capability._run = self._new_run(ctx.conversation_id or ctx.run_id)  # noqa: SLF001 - its own
        return capability

    def get_wrapper_model(self, model: Any) -> Any:
        """The model between its hooks."""
        return _HookedModel(model, self._run, self.hooks)

    def get_wrapper_toolset(self, toolset: Any) -> Any:
        """The tools between their hooks."""
        return _HookedToolset(toolset, self._run)

    def _new_run(self, session_id: str | None) -> AgentRun:
        session = self.hooks.session(session_id, agent=self.agent)
        return AgentRun(_SELF, messages, session, notes=notes_of(self.hooks))


class _HookedModel(WrapperModel):
    """A model between its hooks."""

    def __init__(self, wrapped: Any, run: AgentRun, hooks: Hooks) -> None:
        super().__init__(wrapped)
        self._run = run
        self._hooks = hooks

    async def request(self, given: Any, settings: Any, parameters: Any) -> ModelResponse:
        call = await self._before(given, settings, parameters)
        if isinstance(call, ModelResponse):
            return call
        answer = await self._run.after_model(await self.wrapped.request(*call))
        return _said(answer, parameters) if isinstance(answer, Said) else answer

    @asynccontextmanager
    async def request_stream(
        self, given: Any, settings: Any, parameters: Any, run_context: Any = None
    ) -> AsyncGenerator[Any]:
        if self._hooks.must_hold_stream:
            yield _replayed(await self.request(given, settings, parameters), parameters)
            return
        call = await self._before(given, settings, parameters)
        if isinstance(call, ModelResponse):
            yield _replayed(call, parameters)
            return
        async with self.wrapped.request_stream(*call, run_context) as stream:
            yield stream
        if await self._run.after_model(stream.get()) is not stream.get():
            report_once(
                "an AfterModel hook changed an answer that was streamed, because of streamDuringAfterModel; it stays"
            )

    async def _before(self, given: Any, settings: Any, parameters: Any) -> ModelResponse | tuple[Any, Any, Any]:
        """The arguments of the call to make, or the response in its place."""
        own = {
            "model": self.model_name,
            "messages": given,
            "instructions": _instructions(given, parameters),
            "tools": list(parameters.function_tools),
        }
        native = {**(settings or {}), **own}
        wanted = await self._run.before_model(native, messages.tool_names(native))
        if isinstance(wanted, Said):
            return _said(wanted, parameters)
        if wanted is native:
            return given, settings, parameters
        changed = {name: value for name, value in wanted.items() if name not in own}
        parts = {"function_tools": wanted.get("tools", []), "instruction_parts": wanted["instructions"]}
        return wanted["messages"], changed or settings, replace(parameters, **parts)


@dataclass
class _HookedToolset(WrapperToolset[Any]):
    """Tools between their hooks."""

    run: AgentRun

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        told, output = to_jsonable_python(tool_args, fallback=str), _NOT_RUN

        def invalid(arguments: Any) -> str | None:
            try:
                tool.args_validator.validate_python(arguments)
            except ValidationError as error:
                return str(error)
            return None

        async def call(arguments: dict[str, Any]) -> ToolResult:
            nonlocal output
            # Arguments that no hook rewrote keep their types.
            given = tool_args if arguments == told else tool.args_validator.validate_python(arguments)
            output = await self.wrapped.call_tool(name, given, ctx, tool)
            text = _text_of(output)
            return ToolResult(llm_content=text, return_display=text)

        result = await self.run.run_tool(name, told, call, call_id=ctx.tool_call_id, validate=invalid)
        return _with_text(output, result.llm_content)


def _instructions(given: Any, parameters: Any) -> list[Any]:
    if parameters.instruction_parts is not None:
        return list(parameters.instruction_parts)
    last = next((one for one in reversed(given) if isinstance(one, ModelRequest)), None)
    return [InstructionPart(last.instructions)] if last is not None and last.instructions else []


def _said(said: Said, parameters: Any) -> ModelResponse:
    is_text = parameters.output_mode == "text" and parameters.allow_text_output
    if not said.is_answer and not is_text:
        raise AgentStoppedError(said.text)
    return messages.from_hook_llm_response({"text": said.text})


def _replayed(response: ModelResponse, parameters: Any) -> Any:
    return CompletedStreamedResponse(response, model_request_parameters=parameters, replay_events=True)


def _text_of(output: Any) -> str:
    value = output.return_value if isinstance(output, ToolReturn) else output
    return value if isinstance(value, str) else to_json(value, fallback=str).decode()


def _with_text(output: Any, text: str) -> Any:
    """The tool's output, or the hooks' text in its place."""
    if output is _NOT_RUN:
        return text
    before = _text_of(output)
    if text == before:
        return output
    if isinstance(output, ToolReturn) and text.startswith(before):
        return replace(output, return_value=text)
    # A hook that hides the result also hides what the tool sends beside it.
    return text
