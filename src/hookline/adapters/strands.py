"""Hooks for agents of Strands: `Agent(..., hooks=[HooklineHooks(hooks)])`.

- An agent is a session with its `session_id`. Tool hooks also run for `agent.tool.name()`, which no selection of tools
  restricts: the program calls it, not the model.
- While AfterModel hooks exist the model's answer is held back until they have answered: no stream and no callback
  handler gets a piece of it before.
- A tool that a hook restricted stays refused after an interrupt that a person approved.
- `Agent.structured_output`, which Strands has deprecated, asks the model without any middleware, so it is refused while
  there are model hooks; `structured_output_model` works. Bidirectional agents are refused.
- A hook can't choose another model, its temperature and the like: in Strands they belong to the model. `suppressOutput`
  keeps an answer from callback handlers and from the pieces of a stream, but it stays in the agent's messages.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from hookline.adapters._run import AgentRun, Said, Stop
from hookline.adapters.table import MODEL_EVENTS, loaded, missing
from hookline.errors import HooklineError
from hookline.formats import strands as messages
from hookline.hooks import Hooks
from hookline.triggers.results import ToolResult

try:
    from strands import Agent
    from strands.hooks import (
        AfterInvocationEvent,
        AgentInitializedEvent,
        BeforeInvocationEvent,
        BeforeModelCallEvent,
        BeforeToolCallEvent,
        HookProvider,
    )
    from strands.middleware import ExecuteToolStage, InvokeModelStage, ModelStopReason, ToolResultEvent, TypedEvent
except ModuleNotFoundError as error:
    raise missing("strands") from error

__all__ = ["HooklineHooks"]

_SELF = loaded("strands")
Next = Callable[[Any], AsyncIterator[Any]]


class HooklineHooks(HookProvider):
    """The hooks of a program around every model call and every tool call of an agent; one serves many agents."""

    def __init__(self, hooks: Hooks, *, agent: str | None = None) -> None:
        """`agent` is which of the program's agents it is, for the log; the agent's own name if it is not given."""
        self._hooks = hooks
        self._agent = agent
        self._attached: WeakKeyDictionary[Any, _Calls] = WeakKeyDictionary()
        _SELF.report(hooks)

    def register_hooks(self, registry: Any, **_: Any) -> None:
        """Adds the middleware when the agent is ready, or at its next event if it has been for long."""
        for event in (AgentInitializedEvent, BeforeInvocationEvent, BeforeModelCallEvent, BeforeToolCallEvent):
            registry.add_callback(event, self._attach)
        registry.add_callback(BeforeInvocationEvent, self._check)

    def _attach(self, event: Any) -> None:
        agent = event.agent
        if agent in self._attached:
            return
        if not isinstance(agent, Agent):
            raise HooklineError(f"hooks can't run in a {type(agent).__name__} of Strands; use strands.Agent")
        name = self._agent or agent.name
        self._attached[agent] = calls = _Calls(self._hooks, agent.session_id, name)
        agent.add_middleware(InvokeModelStage, calls.call_model)
        agent.add_middleware(ExecuteToolStage, calls.call_tool)
        agent.hooks.add_callback(AfterInvocationEvent, calls.after_invocation)

    def _check(self, event: Any) -> None:
        _SELF.report(self._hooks)
        # Only the deprecated `structured_output` has no messages here: it asks the model without any middleware.
        if event.messages is None and any(map(self._hooks.has_hooks, MODEL_EVENTS)):
            raise HooklineError(
                "Agent.structured_output of Strands runs no hooks; call the agent with structured_output_model instead"
            )


class _Calls:
    """The calls of one agent, which is one session."""

    def __init__(self, hooks: Hooks, session_id: str, agent: str) -> None:
        self._hooks = hooks
        self._run = AgentRun(_SELF, messages, hooks.session(session_id, agent=agent))

    async def call_model(self, context: Any, next_fn: Next) -> AsyncIterator[Any]:
        """The model call between its hooks."""
        given = _native(context.model, context.system_prompt, context.messages, context.tool_specs, context.tool_choice)
        wanted = await self._run.before_model(given, messages.tool_names(given))
        if isinstance(wanted, Said):
            for event in _says(messages.from_hook_llm_response({"text": wanted.text})):
                yield event
            return
        held: list[Any] | None = [] if self._hooks.must_hold_stream else None
        end = None
        async for event in next_fn(_changed(context, wanted)):
            if isinstance(event, ModelStopReason):
                end = event
            elif held is None:
                yield event
            else:
                held.append(event)
        for event in () if end is None else await self._answer(end, held):
            yield event

    async def call_tool(self, context: Any, next_fn: Next) -> AsyncIterator[Any]:
        """The tool call between its hooks."""
        use, run = context.tool_use, await self._run_of(context)
        call = await run.before_tool(use["name"], use["input"], use["toolUseId"])
        if isinstance(call, ToolResult):
            yield ToolResultEvent({"toolUseId": use["toolUseId"], "status": "error", **_content(call)})
            return
        end = None
        async for event in next_fn(context.replace(tool_use={**use, "input": call.arguments})):
            if isinstance(event, ToolResultEvent):
                end = event
            else:
                yield event
        if end is not None:
            result = await run.after_tool(call, _tool_result(end.tool_result))
            yield ToolResultEvent({**end.tool_result, **_content(result)}, exception=end.exception)

    def after_invocation(self, event: Any) -> None:
        """A stop is for one run; one that waits for a person's answer goes on later."""
        if event.result is None or event.result.stop_reason != "interrupt":
            self._run.stop = Stop()

    async def _answer(self, end: Any, held: list[Any] | None) -> list[Any]:
        """The last events of a model call, with the pieces that were held back."""
        given = {name: getattr(end, name) for name in ("stop_reason", "message", "usage", "metrics")}
        answer = await self._run.after_model(given)
        if isinstance(answer, Said):
            answer = messages.from_hook_llm_response({"text": answer.text})
        events = [*(held or ()), end] if answer is given else _says(answer)
        return events[-1:] if self._run.is_suppressed or held is None else events

    async def _run_of(self, context: Any) -> AgentRun:
        """The run for a tool call; a selection of tools is for the model's calls, not for the program's own."""
        session = self._run.session
        if "event_loop_cycle_id" not in context.invocation_state:
            return AgentRun(_SELF, messages, self._hooks.session(session.id, agent=session.get_agent()))
        if session.selection is None:
            # A run that goes on after an interrupt begins with the tool calls of an answer from before.
            agent = context.agent
            specs = agent.tool_registry.get_all_tool_specs()
            given = _native(agent.model, agent.system_prompt_content, agent.messages[:-1], specs, None)
            await self._run.select(given, messages.tool_names(given))
        return self._run


def _native(model: Any, system: Any, given: Any, tools: Any, choice: Any) -> dict[str, Any]:
    """A model call of Strands as one dictionary."""
    config = model.get_config()
    name = config.get("model_id") if isinstance(config, Mapping) else getattr(config, "model_id", None)
    own = {"system": system, "messages": list(given), "tools": list(tools), "tool_choice": choice}
    return {"model": name if isinstance(name, str) else "", **own}


def _changed(context: Any, wanted: Mapping[str, Any]) -> Any:
    """The model call with what hooks changed."""
    is_same = wanted["messages"] == context.messages
    return context.replace(
        messages=wanted["messages"],
        system_prompt=wanted.get("system"),
        tool_specs=wanted["tools"],
        tool_choice=wanted.get("tool_choice"),
        # They are counted from the end of the last message, which may be another one now.
        dynamic_trailing_blocks=context.dynamic_trailing_blocks if is_same else 0,
    )


def _says(end: Mapping[str, Any]) -> list[Any]:
    """The events of an answer: a piece for streams, and the end of the model call."""
    text = messages.to_hook_llm_response(end).get("text", "")
    return [TypedEvent({"data": text, "delta": {"text": text}}), ModelStopReason(**end)]


def _tool_result(given: Mapping[str, Any]) -> ToolResult:
    """A tool's result as hooks see it: a single text as such, anything else as Strands' blocks."""
    blocks = given["content"]
    content = blocks[0]["text"] if len(blocks) == 1 and set(blocks[0]) == {"text"} else list(blocks)
    error = str(content) if given.get("status") == "error" else None
    return ToolResult(llm_content=content, return_display=content, error=error)


def _content(result: ToolResult) -> dict[str, Any]:
    content = result.llm_content
    return {"content": content if isinstance(content, list) else [{"text": str(content)}]}
