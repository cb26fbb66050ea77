"""`HooklineCapability`: where hooks run in agents of Pydantic AI."""

import copy
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import CompletedStreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.toolsets import WrapperToolset
from pydantic_core import to_jsonable_python

from hookline.adapters.pydantic_ai import format as messages
from hookline.adapters.run import AgentRun, CannedResponse, tool_result
from hookline.adapters.table import adapter_named, report_once
from hookline.client import Hooks
from hookline.client.triggers.results import ToolResult

_ADAPTER = adapter_named("pydantic_ai")

_NOT_RUN: Any = object()


@dataclass
class HooklineCapability(AbstractCapability[Any]):
    """The hooks of a program around every model call and every tool call of an agent.

    `agent` is which of the program's agents it is, for the log.
    """

    hooks: Hooks
    agent: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self._run = AgentRun(_ADAPTER, messages, self.hooks, None, agent=self.agent)
        _ADAPTER.report(self.hooks)

    def get_ordering(self) -> CapabilityOrdering:
        """Outermost, so that no other capability shows or changes what hooks have not seen."""
        return CapabilityOrdering(position="outermost")

    async def for_run(self, ctx: Any) -> "HooklineCapability":
        """The capability with a session for this run."""
        _ADAPTER.report(self.hooks)
        capability = copy.copy(self)
        capability._run = AgentRun(_ADAPTER, messages, self.hooks, ctx.conversation_id or ctx.run_id, agent=self.agent)  # noqa: SLF001 - its own
        return capability

    def get_wrapper_model(self, model: Any) -> Any:
        """The model between its hooks."""
        return _HookedModel(model, self._run)

    def get_wrapper_toolset(self, toolset: Any) -> Any:
        """The tools between their hooks."""
        return _HookedToolset(toolset, self._run)


class _HookedModel(WrapperModel):
    """A model between its hooks."""

    def __init__(self, wrapped: Any, run: AgentRun) -> None:
        super().__init__(wrapped)
        self._run = run

    async def request(self, given: Any, settings: Any, parameters: Any) -> ModelResponse:
        call = await self._before(given, settings, parameters)
        if isinstance(call, ModelResponse):
            return call
        return _response(await self._run.after_model(await self.wrapped.request(*call)), parameters)

    @asynccontextmanager
    async def request_stream(
        self, given: Any, settings: Any, parameters: Any, run_context: Any = None
    ) -> AsyncGenerator[Any]:
        is_held = self._run.hooks.must_hold_stream
        call = await (self.request if is_held else self._before)(given, settings, parameters)
        if isinstance(call, ModelResponse):
            yield CompletedStreamedResponse(call, model_request_parameters=parameters, replay_events=True)
            return
        async with self.wrapped.request_stream(*call, run_context) as stream:
            yield stream
        response = stream.get()  # another object each time
        if await self._run.after_model(response) is not response:
            report_once(
                "an AfterModel hook changed an answer that was streamed, because of streamDuringAfterModel; it stays"
            )

    async def _before(self, given: Any, settings: Any, parameters: Any) -> ModelResponse | tuple[Any, Any, Any]:
        """The arguments of the call to make, or the response in its place."""
        native = messages.request_of(self.model_name, given, settings, parameters)
        wanted = await self._run.before_model(native)
        if isinstance(wanted, CannedResponse):
            return _response(wanted, parameters)
        return (
            (given, settings, parameters) if wanted is native else messages.arguments_of(wanted, settings, parameters)
        )


def _response(answer: Any, parameters: Any) -> ModelResponse:
    is_text = parameters.output_mode == "text" and parameters.allow_text_output
    response: ModelResponse = answer.response(is_text=is_text) if isinstance(answer, CannedResponse) else answer
    return response


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
            return tool_result(messages.to_tool_content(output))

        result = await self.run.run_tool(name, told, call, call_id=ctx.tool_call_id, validate=invalid)
        text = result.llm_content
        return text if output is _NOT_RUN else messages.from_tool_content(text, output)
