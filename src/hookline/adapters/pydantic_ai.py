"""Hooks for agents of Pydantic AI: `Agent(..., capabilities=[HooklineCapability(hooks)])`.

- It works for `run`, `run_sync`, `run_stream`, `run_stream_events` and `iter`.
- While AfterModel hooks exist, the model's answer is held back until they have answered, and streams replay it then.
- A conversation of Pydantic AI is a session with the conversation's id.
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

from hookline.adapters.table import adapter, missing, report_inabilities, report_once, report_suppression
from hookline.errors import AgentStoppedError
from hookline.hooks import Hooks, Session
from hookline.triggers.results import ToolResult

try:
    from pydantic import ValidationError
    from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
    from pydantic_ai.messages import ModelResponse, ToolReturn
    from pydantic_ai.models import CompletedStreamedResponse
    from pydantic_ai.models.wrapper import WrapperModel
    from pydantic_ai.toolsets import WrapperToolset
    from pydantic_core import to_json, to_jsonable_python

    from hookline.adapters import _pydantic_ai_messages as messages
except ModuleNotFoundError as error:
    raise missing("pydantic_ai") from error

__all__ = ["HooklineCapability"]

_SELF = adapter("pydantic_ai")
_NOT_RUN: Any = object()


@dataclass
class _Run:
    """What is remembered of one run of an agent."""

    hooks: Hooks
    session: Session
    note: str | None = None
    """A hook's note that goes with the next request."""
    stop: str | None = None
    """Why a hook has stopped the agent."""


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
        report_inabilities(self.hooks, _SELF.framework, _SELF.cannot)

    def get_ordering(self) -> CapabilityOrdering:
        """Outermost, so that no other capability shows or changes what hooks have not seen."""
        return CapabilityOrdering(position="outermost")

    async def for_run(self, ctx: Any) -> "HooklineCapability":
        """The capability with a session for this run."""
        report_inabilities(self.hooks, _SELF.framework, _SELF.cannot)
        capability = copy.copy(self)
        capability._run = self._new_run(ctx.conversation_id or ctx.run_id)  # noqa: SLF001 - its own
        return capability

    def get_wrapper_model(self, model: Any) -> Any:
        """The model between its hooks."""
        return _HookedModel(model, self._run)

    def get_wrapper_toolset(self, toolset: Any) -> Any:
        """The tools between their hooks."""
        return _HookedToolset(toolset, self._run)

    def _new_run(self, session_id: str | None) -> _Run:
        return _Run(self.hooks, self.hooks.session(session_id, agent=self.agent))


class _HookedModel(WrapperModel):
    """A model between its hooks."""

    def __init__(self, wrapped: Any, run: _Run) -> None:
        super().__init__(wrapped)
        self._run = run

    async def request(self, given: Any, settings: Any, parameters: Any) -> ModelResponse:
        call, response = await self._before(messages.Call(given, settings, parameters, self.model_name))
        if response is not None:
            return response
        response = await self.wrapped.request(call.messages, call.settings, call.parameters)
        return await self._after(call, response)

    @asynccontextmanager
    async def request_stream(
        self, given: Any, settings: Any, parameters: Any, run_context: Any = None
    ) -> AsyncGenerator[Any]:
        if self._run.hooks.must_hold_stream:
            yield _replayed(await self.request(given, settings, parameters), parameters)
            return
        call, response = await self._before(messages.Call(given, settings, parameters, self.model_name))
        if response is not None:
            yield _replayed(response, parameters)
            return
        async with self.wrapped.request_stream(call.messages, call.settings, call.parameters, run_context) as stream:
            yield stream
        judged = await self._after(call, stream.get())
        if judged is not stream.get():
            report_once(
                "an AfterModel hook changed an answer that was streamed, because of streamDuringAfterModel; it stays"
            )

    async def _before(self, call: messages.Call) -> tuple[messages.Call, ModelResponse | None]:
        """The call to make, or the response in its place."""
        run, native = self._run, call.native()
        if run.stop is not None:
            return call, self._ended(call, run.stop)
        sent = native if run.note is None else messages.with_note(native, run.note)
        run.note = None
        told = messages.to_hook_request(sent)
        chosen = await run.session.select_tools(told, [tool.name for tool in call.parameters.function_tools])
        if chosen.stop:
            return call, self._ended(call, chosen.stop_reason)
        gate = await run.session.before_model(told)
        if gate.stop:
            return call, self._ended(call, gate.stop_reason)
        if gate.blocked:
            run.note = gate.note
            return call, messages.said((gate.response or {}).get("text") or gate.reason or "", self.model_name)
        wanted = messages.offer(messages.apply_request(gate.request, sent), gate.selection or chosen)
        if chosen.note is not None:
            wanted = messages.with_note(wanted, chosen.note)
        return call if wanted is native else call.changed(wanted), None

    async def _after(self, call: messages.Call, response: ModelResponse) -> ModelResponse:
        sent = messages.to_hook_request(call.native())
        answer = await self._run.session.after_model(sent, messages.to_hook_response(response))
        self._run.note = answer.note
        if answer.suppress:
            report_suppression(_SELF.framework)
        if answer.stop:
            return self._ended(call, answer.stop_reason)
        return response if answer.text is None else messages.with_text(response, answer.text)

    def _ended(self, call: messages.Call, reason: str | None) -> ModelResponse:
        self._run.stop = reason or ""
        if call.parameters.output_mode != "text" or not call.parameters.allow_text_output:
            raise AgentStoppedError(self._run.stop)
        return messages.said(self._run.stop, self.model_name)


@dataclass
class _HookedToolset(WrapperToolset[Any]):
    """Tools between their hooks."""

    run: _Run

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        if self.run.stop is not None:
            return self.run.stop
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

        result = await self.run.session.run_tool(name, told, call, call_id=ctx.tool_call_id, validate=invalid)
        if result.suppress_display:
            report_suppression(_SELF.framework)
        if result.should_stop:
            self.run.stop = result.stop_reason or ""
        return _with_text(output, result.llm_content)


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
