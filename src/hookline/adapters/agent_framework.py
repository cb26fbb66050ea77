"""Hooks for agents of Microsoft's Agent Framework: `Agent(..., middleware=hookline_middleware(hooks))`.

- A session of Agent Framework is a session of hooks with its id; a run without one is a session of its own. A note of
  a hook on the last answer of a run goes with the session's next request; without a session it is reported as dropped.
- Put other middleware before it, `[*mine, *hookline_middleware(hooks)]`, so that hooks judge what is really sent.
- While AfterModel hooks exist the framework holds a stream back until they have answered. It would go on with what it
  streamed, so `hooksConfig.streamDuringAfterModel` is not used.
- A tool that a hook restricted stays refused after a person approved the call.
- Tools that the provider runs itself have no tool hooks. An agent or a chat client that runs no middleware around its
  model and its tools is refused.
- `suppressOutput` hides nothing, because the program shows the answer itself.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from hookline.adapters.run import AgentRun, Said
from hookline.adapters.table import loading, report_once
from hookline.client import Hooks, ToolCall
from hookline.client.triggers.results import ToolResult
from hookline.errors import HooklineError

with loading("agent_framework") as _SELF:
    from agent_framework import (
        AgentMiddleware,
        ChatMiddleware,
        ChatMiddlewareLayer,
        ChatResponse,
        FunctionInvocationLayer,
        FunctionMiddleware,
    )

    from hookline.formats import agent_framework as messages

__all__ = ["hookline_middleware"]

_KEY = "hookline_run"
Next = Callable[[], Awaitable[None]]


def hookline_middleware(hooks: Hooks, *, agent: str | None = None) -> list[Any]:
    """The middleware for an agent, or for one run.

    `agent` is which of the program's agents it is, for the log; the agent's own name if it is not given.
    """
    _report(hooks)
    return [_Agent(hooks, agent), _Chat(), _Function()]


def _report(hooks: Hooks) -> None:
    _SELF.report(hooks)
    if hooks.has_hooks("AfterModel") and not hooks.must_hold_stream:
        report_once("hooksConfig.streamDuringAfterModel is not used: Agent Framework would go on with what it streamed")


class _Agent(AgentMiddleware):
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
        run = AgentRun(_SELF, messages, self._hooks, session_id, agent=self._agent or context.agent.name)
        context.client_kwargs[_KEY] = run
        context.function_invocation_kwargs[_KEY] = (run, messages.request_of(context))
        await call_next()


class _Chat(ChatMiddleware):
    """One model call between its hooks."""

    async def process(self, context: Any, call_next: Next) -> None:
        run: AgentRun = _shared(context)
        wanted = await run.before_model(messages.request_of(context))
        if isinstance(wanted, Said):
            context.result = messages.streamed(wanted.response()) if context.stream else wanted.response()
            return
        messages.put(context, wanted)

        async def answered(response: Any) -> Any:
            answer = await run.after_model(response)
            if not messages.has_calls(response):
                run.end()
            return answer.response() if isinstance(answer, Said) else answer

        if context.stream:
            context.stream_result_transforms.append(answered)
            if run.hooks.has_hooks("AfterModel"):
                context.stream_buffer_updates = True
                context.stream_result_to_updates = ChatResponse.to_updates
        await call_next()
        if not context.stream:
            context.result = await answered(context.result)


class _Function(FunctionMiddleware):
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
