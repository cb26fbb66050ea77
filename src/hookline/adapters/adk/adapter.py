"""`HooklinePlugin`: where hooks run in agents of Google ADK."""

import weakref
from dataclasses import dataclass
from typing import Any

from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin

from hookline.adapters.adk import format as messages
from hookline.adapters.run import AgentRun, CannedResponse, SharedRun
from hookline.adapters.table import MODEL_EVENTS, adapter_named, configured, report_once
from hookline.client import Hooks, ToolCall
from hookline.client.triggers.results import ToolResult, to_tool_result
from hookline.errors import HooklineError
from hookline.formats import genai

_ADAPTER = adapter_named("adk")


@dataclass(slots=True, eq=False)
class _Invocation(SharedRun):
    """One invocation of the runner; its agents, or branches, may run side by side."""

    is_reason_shown: bool = False

    def ended(self, context: Any, text: str | None = None, *, is_again: bool = True) -> Any:
        """The content with which an agent and its loops end; None while the run continues.

        Its text, if none is given, is the reason of the stop, unless that was shown; then `is_again` says if it ends.
        """
        if self.stop.reason is None or (self.is_reason_shown and not is_again):
            return None
        shown = "" if self.is_reason_shown else self.stop.reason
        self.is_reason_shown = context.actions.escalate = True
        return messages.content_of(shown if text is None else text)


class HooklinePlugin(BasePlugin):
    """The hooks of a program around every model call and every tool call of a runner; make it the last plugin."""

    def __init__(self, hooks: Hooks, *, name: str = "hookline") -> None:
        """`name` is the plugin's name in ADK."""
        super().__init__(name)
        self._hooks = hooks
        self._runs: dict[str, _Invocation] = {}
        self._calls: weakref.WeakKeyDictionary[Any, ToolCall | None] = weakref.WeakKeyDictionary()
        _ADAPTER.report(hooks)

    async def before_run_callback(self, *, invocation_context: Any) -> None:
        """Begins a run: nothing is restricted or stopped yet. HooklineError where model hooks could not be applied."""
        _ADAPTER.report(self._hooks)
        config = invocation_context.run_config
        is_live = invocation_context.live_request_queue is not None or (config is not None and config.support_cfc)
        if is_live and (events := configured(self._hooks, *MODEL_EVENTS)):
            raise HooklineError(
                f"{events} hooks can't be applied to Google ADK's live runs, which send and show everything at once;"
                " use run_async, or remove these hooks"
            )
        key, run = invocation_context.invocation_id, _Invocation()
        self._runs[key] = run
        # A cancelled run calls nothing at its end.
        weakref.finalize(invocation_context, lambda: self._runs.get(key) is run and self._runs.pop(key))

    async def before_agent_callback(self, *, agent: Any, callback_context: Any) -> Any:
        """Ends every further agent of a run that a hook has stopped."""
        if getattr(agent, "code_executor", None) is not None and self._hooks.has_hooks("BeforeTool"):
            report_once(
                f"Google ADK runs the code that its model writes for the code_executor of {agent.name} without asking"
                " any plugin, so BeforeTool hooks can't check it; remove the code_executor and give the agent a tool"
            )
        return self._run(callback_context).ended(callback_context, is_again=True)

    async def after_agent_callback(self, *, agent: Any, callback_context: Any) -> Any:  # noqa: ARG002 - ADK's names
        """Shows why a hook has stopped the run, if nothing has shown it yet."""
        return self._run(callback_context).ended(callback_context, is_again=False)

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> Any:
        """The request with everything that hooks change of it, or the response in place of the model's."""
        agent = self._agent(callback_context)
        agent.note = messages.take_note(callback_context)
        wanted = await agent.before_model(messages.request_of(llm_request))
        if isinstance(wanted, CannedResponse):
            messages.keep_note(callback_context, agent.note)
            return self._said(callback_context, wanted)
        messages.put(llm_request, wanted)
        return None

    async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> Any:
        """The response with the hooks' text; of a stream the whole only, while nothing else may be shown."""
        if llm_response.partial:
            return LlmResponse(partial=True) if self._hooks.must_hold_stream else None
        if llm_response.content is None:
            return None
        agent, native = self._agent(callback_context), messages.response_of(llm_response)
        answer = await agent.after_model(native)
        messages.keep_note(callback_context, agent.note)
        if isinstance(answer, CannedResponse):
            return self._said(callback_context, answer)
        return None if answer is native else messages.with_answer(llm_response, answer)

    async def before_tool_callback(self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any) -> Any:
        """Changes the arguments in place, or returns the refusal as the tool's result."""
        call = await self._agent(tool_context).before_tool(tool.name, tool_args, tool_context.function_call_id)
        if isinstance(call, ToolResult):
            self._calls[tool_context] = None
            return {"error": call.llm_content}
        self._calls[tool_context] = call
        if call.changed:
            tool_args.clear()
            tool_args.update(call.arguments)
        return None

    async def after_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, result: Any
    ) -> dict[str, Any] | None:
        """The result with everything that hooks add to it; ADK asks this for a refused tool, too, which did not run."""
        # Another plugin may have answered in place of the tool, before ours was asked.
        call = self._calls.pop(tool_context, ToolCall(name=tool.name, arguments=dict(tool_args)))
        if call is None:
            return None
        given = to_tool_result(messages.to_tool_content(result))
        applied = await self._agent(tool_context).after_tool(call, given)
        # A result for a long-running tool that has none yet would answer its call too early.
        is_same = applied.llm_content == given.llm_content or (tool.is_long_running and not result)
        return None if is_same else {"result": applied.llm_content}

    def _said(self, context: Any, said: CannedResponse) -> Any:
        return LlmResponse(content=self._run(context).ended(context, said.text) or messages.content_of(said.text))

    def _run(self, context: Any) -> _Invocation:
        return self._runs.setdefault(context.invocation_id, _Invocation())

    def _agent(self, context: Any) -> AgentRun:
        session_id, name = context.session.id, context.agent_name
        return self._run(context).agent(
            (name, context.branch),
            lambda stop: AgentRun(_ADAPTER, genai, self._hooks, session_id, agent=name, stop=stop, keeps_notes=False),
        )
