"""`hookline_middleware`: where hooks run in agents of Agent Framework."""

from collections.abc import Awaitable, Callable
from typing import Any

from agent_framework import (
    AgentMiddleware,
    ChatMiddleware,
    ChatMiddlewareLayer,
    ChatResponse,
    FunctionInvocationLayer,
    FunctionMiddleware,
)

from hookline.adapters.agent_framework import format as messages
from hookline.adapters.run import AgentRun, CannedResponse
from hookline.adapters.table import adapter_named, report_once
from hookline.client import Hooks, ToolCall
from hookline.client.triggers.results import ToolResult
from hookline.errors import HooklineError

_ADAPTER = adapter_named("agent_framework")

_KEY = "hookline_run"
Next = Callable[[], Awaitable[None]]


def hookline_middleware(hooks: Hooks, *, agent: str | None = None) -> list[Any]:
    """The middleware for an agent, or for one run.

    `agent` is which of the program's agents it is, for the log; the agent's own name if it is not given.
    """
    _report(hooks)
    return [_AgentHooks(hooks, agent), _ChatHooks(), _FunctionHooks()]


def _report(hooks: Hooks) -> None:
    _ADAPTER.report(hooks)
    if hooks.has_hooks("AfterModel") and not hooks.must_hold_stream:
        report_once("hooksConfig.streamDuringAfterModel is not used: Agent Framework would go on with what it streamed")


class _AgentHooks(AgentMiddleware):
    """Gives the calls of a run what they share."""

    def __init__(self, hooks: Hooks, agent: str | None) -> None:
        self._hooks = hooks
        self._agent = agent

    async def process(self, context: Any, call_next: Next) -> None:
        _report(self._hooks)
        client = getattr(context.agent, "client", None)
        if not isinstance(client, ChatMiddlewareLayer) or not isinstance(client, FunctionInvocationLayer):
            name = type(context.agent if client is None else client).__name__
            raise HooklineError(
                f"{name} runs no middleware around its model and its tools, so hooks would not run;"
                " use an Agent with a chat client that has both"
            )
        session_id = None if context.session is None else context.session.session_id
        run = AgentRun(_ADAPTER, messages, self._hooks, session_id, agent=self._agent or context.agent.name)
        context.client_kwargs[_KEY] = run
        context.function_invocation_kwargs[_KEY] = (run, messages.request_of(context))
        await call_next()


class _ChatHooks(ChatMiddleware):
    """One model call between its hooks."""

    async def process(self, context: Any, call_next: Next) -> None:
        run: AgentRun = _shared(context)
        wanted = await run.before_model(messages.request_of(context))
        if isinstance(wanted, CannedResponse):
            context.result = messages.streamed(wanted.response()) if context.stream else wanted.response()
            return
        messages.put(context, wanted)

        async def answered(response: Any) -> Any:
            answer = await run.after_model(response)
            if not messages.has_calls(response):
                run.end()
            return answer.response() if isinstance(answer, CannedResponse) else answer

        if context.stream:
            context.stream_result_transforms.append(answered)
            if run.hooks.has_hooks("AfterModel"):
                context.stream_buffer_updates = True
                context.stream_result_to_updates = ChatResponse.to_updates
        await call_next()
        if not context.stream:
            context.result = await answered(context.result)


class _FunctionHooks(FunctionMiddleware):
    """One tool call between its hooks."""

    async def process(self, context: Any, call_next: Next) -> None:
        run, request = _shared(context)
        # A run after an approval begins with the tool calls of an answer from before.
        await run.resume(lambda: request)

        async def call(call: ToolCall) -> ToolResult:
            context.arguments = call.arguments
            await call_next()
            output = messages.to_tool_content(context.result)
            return ToolResult(llm_content=output, return_display=output if isinstance(output, str) else "")

        call_id = context.metadata.get("call_id")
        result = await run.call_tool(context.function.name, dict(context.arguments), call, call_id)
        context.result = messages.from_tool_content(result.llm_content)


def _shared(context: Any) -> Any:
    """State that the run shares; neither the provider's client nor the tool gets it."""
    if (shared := context.kwargs.pop(_KEY, None)) is None:
        raise HooklineError(
            "hookline_middleware is for an agent or its run, once; in a chat client a part of it would not run"
        )
    return shared
