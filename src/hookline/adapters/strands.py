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

from hookline.adapters.table import adapter, missing, report_inabilities, report_once, report_suppression
from hookline.contract.llm import LLMRequest
from hookline.errors import HooklineError
from hookline.hooks import Hooks, Selection, Session
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

    from hookline.adapters import _strands_messages as messages
except ModuleNotFoundError as error:
    raise missing("strands") from error

__all__ = ["HooklineHooks"]

_SELF = adapter("strands")
_MODEL_EVENTS = ("BeforeToolSelection", "BeforeModel", "AfterModel")
Next = Callable[[Any], AsyncIterator[Any]]


class HooklineHooks(HookProvider):
    """The hooks of a program around every model call and every tool call of an agent; one serves many agents."""

    def __init__(self, hooks: Hooks, *, agent: str | None = None) -> None:
        """`agent` is which of the program's agents it is, for the log; the agent's own name if it is not given."""
        self._hooks = hooks
        self._agent = agent
        self._attached: WeakKeyDictionary[Any, _Calls] = WeakKeyDictionary()
        report_inabilities(hooks, _SELF.framework, _SELF.cannot)

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
        report_inabilities(self._hooks, _SELF.framework, _SELF.cannot)
        # Only the deprecated `structured_output` has no messages here: it asks the model without any middleware.
        if event.messages is None and any(map(self._hooks.has_hooks, _MODEL_EVENTS)):
            raise HooklineError(
                "Agent.structured_output of Strands runs no hooks; call the agent with structured_output_model instead"
            )


class _Calls:
    """The calls of one agent, which is one session."""

    def __init__(self, hooks: Hooks, session_id: str, agent: str) -> None:
        self._hooks = hooks
        self._session = hooks.session(session_id, agent=agent)
        self._note: str | None = None
        self._stop: str | None = None

    async def call_model(self, context: Any, next_fn: Next) -> AsyncIterator[Any]:
        """The model call between its hooks."""
        gated = await self._gate(context)
        if isinstance(gated, str):
            for event in _says(gated):
                yield event
            return
        sent, request = gated
        held: list[Any] | None = [] if self._hooks.must_hold_stream else None
        end = None
        async for event in next_fn(sent):
            if isinstance(event, ModelStopReason):
                end = event
            elif held is None:
                yield event
            else:
                held.append(event)
        for event in () if end is None else await self._answer(request, end, held):
            yield event

    async def call_tool(self, context: Any, next_fn: Next) -> AsyncIterator[Any]:
        """The tool call between its hooks."""
        use, session = context.tool_use, await self._session_of(context)
        call = await session.before_tool(use["name"], use["input"], call_id=use["toolUseId"])
        if call.blocked:
            given = {"toolUseId": use["toolUseId"], "status": "error"}
            yield ToolResultEvent(self._result(given, call.refusal, session))
            return
        end = None
        async for event in next_fn(context.replace(tool_use={**use, "input": call.arguments})):
            if isinstance(event, ToolResultEvent):
                end = event
            else:
                yield event
        if end is not None:
            result = await session.after_tool(call, _tool_result(end.tool_result))
            yield ToolResultEvent(self._result(end.tool_result, result, session), exception=end.exception)

    def after_invocation(self, event: Any) -> None:
        """A stop is for one run; one that waits for a person's answer goes on later."""
        if event.result is None or event.result.stop_reason != "interrupt":
            self._stop = None

    async def _gate(self, context: Any) -> tuple[Any, LLMRequest] | str:
        """The call to make and its request, or the text in place of an answer."""
        if self._stop is not None:
            return self._stop
        native = messages.with_note(_native(context), self._note)
        chosen = await self._select(native)
        if chosen.stop:
            return self._ended(chosen.stop_reason)
        native = messages.with_note(native, chosen.note)
        gate = await self._session.before_model(messages.to_hook_request(native))
        if not gate.blocked:
            allowed = gate.selection or chosen
            return messages.apply_request(context, gate.request, native, allowed), gate.request
        self._note = gate.note
        if gate.stop:
            return self._ended(gate.stop_reason or gate.reason)
        return (gate.response or {}).get("text") or gate.reason or ""

    async def _answer(self, request: LLMRequest, end: Any, held: list[Any] | None) -> list[Any]:
        """The last events of a model call, with the pieces that were held back."""
        answer = await self._session.after_model(request, messages.to_hook_response(end))
        self._note = answer.note
        events = [*(held or ()), end]
        if answer.stop:
            events = _says(self._ended(answer.text or answer.stop_reason))
        elif answer.text is not None:
            changed = messages.with_text(end.message, answer.text)
            events = _says(answer.text, changed, end)
        if answer.suppress:
            report_once(
                "a hook's suppressOutput keeps the answer from Strands' callback handler, but not from its messages"
            )
        return events[-1:] if answer.suppress or held is None else events

    async def _session_of(self, context: Any) -> Session:
        """The session for a tool call; a selection of tools is for the model's calls, not for the program's own."""
        if "event_loop_cycle_id" not in context.invocation_state:
            return self._hooks.session(self._session.id, agent=self._session.get_agent())
        if self._session.selection is None:
            # A run that goes on after an interrupt begins with the tool calls of an answer from before.
            agent = context.agent
            specs = agent.tool_registry.get_all_tool_specs()
            system = agent.system_prompt_content
            await self._select(messages.to_native(agent.model, system, agent.messages[:-1], specs, None))
        return self._session

    async def _select(self, native: Mapping[str, Any]) -> Selection:
        return await self._session.select_tools(messages.to_hook_request(native), messages.names_of(native))

    def _result(self, given: Mapping[str, Any], result: ToolResult, session: Session) -> dict[str, Any]:
        if result.suppress_display:
            report_suppression(_SELF.framework)
        if result.should_stop and session is self._session:
            self._ended(result.stop_reason)
        content = result.llm_content
        return {**given, "content": content if isinstance(content, list) else [{"text": str(content)}]}

    def _ended(self, reason: str | None) -> str:
        self._stop = reason or ""
        return self._stop


def _native(context: Any) -> dict[str, Any]:
    prompt, specs, choice = context.system_prompt, context.tool_specs, context.tool_choice
    return messages.to_native(context.model, prompt, context.messages, specs, choice)


def _says(text: str, message: Any = None, end: Any = None) -> list[Any]:
    """An answer with this text: a piece for streams, and the end of the model call."""
    shown = TypedEvent({"data": text, "delta": {"text": text}})
    return [
        shown,
        ModelStopReason(
            stop_reason="end_turn" if end is None else end.stop_reason,
            message=message or {"role": "assistant", "content": [{"text": text}]},
            usage={"inputTokens": 0, "outputTokens": 0, "totalTokens": 0} if end is None else end.usage,
            metrics={"latencyMs": 0} if end is None else end.metrics,
        ),
    ]


def _tool_result(given: Mapping[str, Any]) -> ToolResult:
    """A tool's result as hooks see it: a single text as such, anything else as Strands' blocks."""
    blocks = given["content"]
    content = blocks[0]["text"] if len(blocks) == 1 and set(blocks[0]) == {"text"} else list(blocks)
    error = str(content) if given.get("status") == "error" else None
    return ToolResult(llm_content=content, return_display=content, error=error)
