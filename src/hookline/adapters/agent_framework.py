"""Hooks for agents of Microsoft's Agent Framework: `Agent(..., middleware=hookline_middleware(hooks))`.

- A session of Agent Framework is a session of hooks with its id; a run without one is a session of its own.
- Put other middleware before it, `[*mine, *hookline_middleware(hooks)]`, so that hooks judge what is really sent.
- While AfterModel hooks exist the framework holds a stream back until they have answered. It would go on with what it
  streamed, so `hooksConfig.streamDuringAfterModel` is not used.
- A tool that a hook restricted stays refused after a person approved the call.
- Tools that the provider runs itself have no tool hooks. An agent or a chat client that runs no middleware around its
  model and its tools is refused.
- `suppressOutput` hides nothing, because the program shows the answer itself.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from hookline.adapters.table import adapter, missing, report_inabilities, report_once, report_suppression
from hookline.contract.llm import LLMRequest
from hookline.errors import HooklineError
from hookline.hooks import Hooks, Selection
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

    from hookline.adapters import _agent_framework_messages as messages
except ModuleNotFoundError as error:
    raise missing("agent_framework") from error

__all__ = ["hookline_middleware"]

_SELF = adapter("agent_framework")
_KEY = "hookline_run"
Next = Callable[[], Awaitable[None]]


def hookline_middleware(hooks: Hooks, *, agent: str | None = None) -> list[Any]:
    """The middleware for an agent, or for one run.

    `agent` is which of the program's agents it is, for the log; the agent's own name if it is not given.
    """
    _report(hooks)
    return [_Agent(hooks, agent), _Chat(hooks), _Function()]


def _report(hooks: Hooks) -> None:
    report_inabilities(hooks, _SELF.framework, _SELF.cannot)
    if hooks.has_hooks("AfterModel") and not hooks.must_hold_stream:
        report_once("hooksConfig.streamDuringAfterModel is not used: Agent Framework would go on with what it streamed")


class _Run:
    """What the calls of one run share."""

    def __init__(self, hooks: Hooks, session_id: str | None, agent: str | None) -> None:
        self.session = hooks.session(session_id, agent=agent)
        self.request: dict[str, Any] = {"messages": []}
        self.note: str | None = None
        self.stop: str | None = None

    async def select(self, native: dict[str, Any]) -> Selection:
        return await self.session.select_tools(messages.to_hook_request(native), messages.names_of(native))

    def end(self, reason: str | None) -> str:
        self.stop = reason or ""
        return self.stop


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
        run = _Run(self._hooks, session_id, self._agent or context.agent.name)
        run.request = messages.to_native(context.messages, context.options)
        context.client_kwargs[_KEY] = run
        context.function_invocation_kwargs[_KEY] = run
        await call_next()


class _Chat(ChatMiddleware):
    """One model call between its hooks."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks

    async def process(self, context: Any, call_next: Next) -> None:
        run = _run_of(context)
        request = await _gate(run, context)
        if isinstance(request, str):
            response = messages.answer(request)
            context.result = _stream(response) if context.stream else response
            return

        async def answered(response: Any) -> Any:
            return await _answer(run, request, response)

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
            await run.select(run.request)
        name, arguments = context.function.name, context.arguments
        given = arguments if isinstance(arguments, dict) else dict(arguments)
        call = await run.session.before_tool(name, given, call_id=context.metadata.get("call_id"))
        if call.blocked:
            result = call.refusal
        else:
            context.arguments = call.arguments
            await call_next()
            result = await run.session.after_tool(call, _tool_result(context.result))
        if result.suppress_display:
            report_suppression(_SELF.framework)
        if result.should_stop:
            run.end(result.stop_reason)
        context.result = _contents(result.llm_content)


def _run_of(context: Any) -> _Run:
    """What the run shares; it is not for the provider's client, and not for the tool."""
    run: _Run | None = context.kwargs.pop(_KEY, None)
    if run is None:
        raise HooklineError(
            "hookline_middleware is for an agent or its run, once; in a chat client a part of it would not run"
        )
    return run


async def _gate(run: _Run, context: Any) -> LLMRequest | str:
    """The request to send, or the text in place of an answer."""
    if run.stop is not None:
        return run.stop
    native = messages.to_native(context.messages, context.options, run.note)
    chosen = await run.select(native)
    if chosen.stop:
        return run.end(chosen.stop_reason)
    native = messages.with_note(native, chosen.note)
    gate = await run.session.before_model(messages.to_hook_request(native))
    if not gate.blocked:
        messages.apply_request(context, gate.request, native, gate.selection or chosen)
        return gate.request
    run.note = gate.note
    if gate.stop:
        return run.end(gate.stop_reason or gate.reason)
    return (gate.response or {}).get("text") or gate.reason or ""


async def _answer(run: _Run, request: LLMRequest, response: Any) -> Any:
    answer = await run.session.after_model(request, messages.to_hook_response(response))
    run.note = answer.note
    if answer.suppress:
        report_suppression(_SELF.framework)
    if answer.stop:
        return messages.answer(run.end(answer.text or answer.stop_reason))
    return response if answer.text is None else messages.with_text(response, answer.text)


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
