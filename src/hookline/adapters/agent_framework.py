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

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from hookline.adapters._notes import notes_of
from hookline.adapters._run import AgentRun, Said
from hookline.adapters.table import loaded, missing, report_once
from hookline.errors import HooklineError
from hookline.hooks import Hooks, ToolCall
from hookline.triggers.results import ToolResult

try:
    from agent_framework import (
        AgentMiddleware,
        ChatMiddleware,
        ChatMiddlewareLayer,
        ChatResponse,
        Content,
        FunctionInvocationLayer,
        FunctionMiddleware,
        ResponseStream,
    )

    from hookline.formats import agent_framework as messages
except ModuleNotFoundError as error:
    raise missing("agent_framework") from error

__all__ = ["hookline_middleware"]

_SELF = loaded("agent_framework")
_KEY = "hookline_run"
Next = Callable[[], Awaitable[None]]


def hookline_middleware(hooks: Hooks, *, agent: str | None = None) -> list[Any]:
    """The middleware for an agent, or for one run.

    `agent` is which of the program's agents it is, for the log; the agent's own name if it is not given.
    """
    _report(hooks)
    return [_Agent(hooks, agent), _Chat(hooks), _Function()]


def _report(hooks: Hooks) -> None:
    _SELF.report(hooks)
    if hooks.has_hooks("AfterModel") and not hooks.must_hold_stream:
        report_once("hooksConfig.streamDuringAfterModel is not used: Agent Framework would go on with what it streamed")


class _Run(AgentRun):
    """What the calls of one run share."""

    request: Mapping[str, Any] = {"messages": ()}


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
        session = self._hooks.session(session_id, agent=self._agent or context.agent.name)
        is_lasting = session_id is not None
        notes = notes_of(self._hooks) if is_lasting else None
        run = _Run(_SELF, messages, session, notes=notes, is_lasting=is_lasting)
        run.request = _native(context)
        context.client_kwargs[_KEY] = run
        context.function_invocation_kwargs[_KEY] = run
        await call_next()


class _Chat(ChatMiddleware):
    """One model call between its hooks."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks

    async def process(self, context: Any, call_next: Next) -> None:
        run, given = _run_of(context), _native(context)
        wanted = await run.before_model(given, messages.tool_names(given))
        if isinstance(wanted, Said):
            context.result = _stream(_said(wanted)) if context.stream else _said(wanted)
            return
        context.messages = wanted["messages"]
        context.options = {name: value for name, value in wanted.items() if name != "messages"}

        async def answered(response: Any) -> Any:
            answer = await run.after_model(response)
            if not messages.has_calls(response):
                run.end()
            return _said(answer) if isinstance(answer, Said) else answer

        if context.stream:
            context.stream_result_transforms.append(answered)
            if self._hooks.has_hooks("AfterModel"):
                context.stream_buffer_updates = True
                context.stream_result_to_updates = ChatResponse.to_updates
            await call_next()
        else:
            await call_next()
            context.result = await answered(context.result)


class _Function(FunctionMiddleware):
    """One tool call between its hooks."""

    async def process(self, context: Any, call_next: Next) -> None:
        run = _run_of(context)
        if run.session.selection is None:
            # A run after an approval begins with the tool calls of an answer from before.
            await run.select(run.request, messages.tool_names(run.request))

        async def call(call: ToolCall) -> ToolResult:
            context.arguments = call.arguments
            await call_next()
            return _tool_result(context.result)

        call_id = context.metadata.get("call_id")
        result = await run.call_tool(context.function.name, dict(context.arguments), call, call_id)
        context.result = _contents(result.llm_content)


def _run_of(context: Any) -> _Run:
    """What the run shares; it is not for the provider's client, and not for the tool."""
    run: _Run | None = context.kwargs.pop(_KEY, None)
    if run is None:
        raise HooklineError(
            "hookline_middleware is for an agent or its run, once; in a chat client a part of it would not run"
        )
    return run


def _native(context: Any) -> dict[str, Any]:
    return {**(context.options or {}), "messages": list(context.messages)}


def _said(said: Said) -> Any:
    return messages.from_hook_llm_response({"text": said.text})


def _stream(response: Any) -> Any:
    async def updates() -> AsyncIterator[Any]:
        for update in response.to_updates():
            yield update

    return ResponseStream(updates(), finalizer=ChatResponse.from_updates)


def _tool_result(output: Any) -> ToolResult:
    """A tool's output as hooks see it: contents that are texts as one text."""
    if isinstance(output, list) and all(isinstance(one, Content) and one.type == "text" for one in output):
        output = "".join(one.text for one in output)
    return ToolResult(llm_content=output, return_display=output if isinstance(output, str) else "")


def _contents(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    # A note that a hook added to a list of contents is a dictionary.
    return [Content.from_text(one["text"]) if isinstance(one, dict) else one for one in content]
