"""`HooklineHooks`: where hooks run in agents of Strands."""

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from strands import Agent
from strands import hooks as events
from strands.middleware import ExecuteToolStage, InvokeModelStage, ModelStopReason, ToolResultEvent, TypedEvent

from hookline.adapters.run import AgentRun, CannedResponse, StopFlag, tool_result
from hookline.adapters.strands import format as messages
from hookline.adapters.table import MODEL_EVENTS, adapter_named
from hookline.client import Hooks
from hookline.client.triggers.results import ToolResult
from hookline.errors import HooklineError

_ADAPTER = adapter_named("strands")

Next = Callable[[Any], AsyncIterator[Any]]


class HooklineHooks(events.HookProvider):
    """The hooks of a program around every model call and every tool call of an agent; one serves many agents."""

    def __init__(self, hooks: Hooks, *, agent: str | None = None) -> None:
        """`agent` is which of the program's agents it is, for the log; the agent's own name if it is not given."""
        self._hooks = hooks
        self._agent = agent
        self._attached: WeakKeyDictionary[Any, _AgentCalls] = WeakKeyDictionary()
        _ADAPTER.report(hooks)

    def register_hooks(self, registry: Any, **_: Any) -> None:
        """Adds the middleware when the agent is ready, or at its next event if it has been for long."""
        for name in ("AgentInitialized", "BeforeInvocation", "BeforeModelCall", "BeforeToolCall"):
            registry.add_callback(getattr(events, f"{name}Event"), self._attach)
        registry.add_callback(events.BeforeInvocationEvent, self._check)

    def _attach(self, event: Any) -> None:
        agent = event.agent
        if agent in self._attached:
            return
        if not isinstance(agent, Agent):
            raise HooklineError(f"hooks can't run in a {type(agent).__name__} of Strands; use strands.Agent")
        self._attached[agent] = calls = _AgentCalls(self._hooks, agent.session_id, self._agent or agent.name)
        agent.add_middleware(InvokeModelStage, calls.call_model)
        agent.add_middleware(ExecuteToolStage, calls.call_tool)
        agent.hooks.add_callback(events.AfterInvocationEvent, calls.after_invocation)

    def _check(self, event: Any) -> None:
        _ADAPTER.report(self._hooks)
        # Only the deprecated `structured_output` has no messages here: it asks the model without any middleware.
        if event.messages is None and self._hooks.has_hooks(*MODEL_EVENTS):
            raise HooklineError(
                "Agent.structured_output of Strands runs no hooks; call the agent with structured_output_model instead"
            )


class _AgentCalls:
    """The calls of one agent, which is one session."""

    def __init__(self, hooks: Hooks, session_id: str, name: str) -> None:
        self._new_run = partial(AgentRun, _ADAPTER, messages, hooks, session_id, agent=name)
        self._run = self._new_run()

    async def call_model(self, context: Any, next_fn: Next) -> AsyncIterator[Any]:
        """The model call between its hooks."""
        parts = (context.model, context.system_prompt, context.messages, context.tool_specs, context.tool_choice)
        wanted = await self._run.before_model(messages.request_of(*parts))
        if isinstance(wanted, CannedResponse):
            for event in _says(wanted.response()):
                yield event
            return
        end, held, is_held = None, list[Any](), self._run.hooks.must_hold_stream
        async for event in next_fn(messages.changed(context, wanted)):
            if isinstance(event, ModelStopReason):
                end = event
            elif is_held:
                held.append(event)
            else:
                yield event
        for event in () if end is None else await self._answer(end, held, is_held=is_held):
            yield event

    async def _answer(self, end: Any, held: list[Any], *, is_held: bool) -> list[Any]:
        """The last events of a model call, with the pieces that were held back."""
        given = {name: getattr(end, name) for name in ("stop_reason", "message", "usage", "metrics")}
        answer = await self._run.after_model(given)
        said = answer.response() if isinstance(answer, CannedResponse) else answer
        all_events = [*held, end] if said is given else _says(said)
        return all_events if is_held and not self._run.is_suppressed else all_events[-1:]

    async def call_tool(self, context: Any, next_fn: Next) -> AsyncIterator[Any]:
        """The tool call between its hooks; a selection of tools is for the model's calls, not for the program's own."""
        use, agent, end = context.tool_use, context.agent, None
        run = self._run if "event_loop_cycle_id" in context.invocation_state else self._new_run()
        if run is self._run:  # a run that continues after an interrupt begins with the calls of an answer from before
            specs, earlier = agent.tool_registry.get_all_tool_specs, agent.messages[:-1]
            await run.resume(lambda: messages.request_of(agent.model, agent.system_prompt_content, earlier, specs()))
        call = await run.before_tool(use["name"], use["input"], use["toolUseId"])
        if isinstance(call, ToolResult):
            yield _result(call, {"toolUseId": use["toolUseId"], "status": "error"})
            return
        async for event in next_fn(context.replace(tool_use={**use, "input": call.arguments})):
            if isinstance(event, ToolResultEvent):
                end = event
            else:
                yield event
        if end is not None:
            given = end.tool_result
            output = tool_result(messages.to_tool_content(given["content"]), is_error=given.get("status") == "error")
            yield _result(await run.after_tool(call, output), given, end.exception)

    def after_invocation(self, event: Any) -> None:
        """A stop ends one run; a run that waits for the user's answer continues later."""
        if event.result is None or event.result.stop_reason != "interrupt":
            self._run.stop = StopFlag()


def _result(result: ToolResult, given: Any, exception: Exception | None = None) -> Any:
    return ToolResultEvent({**given, "content": messages.from_tool_content(result.llm_content)}, exception=exception)


def _says(end: dict[str, Any]) -> list[Any]:
    """The events of an answer: a piece for streams, and the end of the model call."""
    text = messages.to_hook_llm_response(end).get("text", "")
    return [TypedEvent({"data": text, "delta": {"text": text}}), ModelStopReason(**end)]
