"""Hooks for agents of Google's ADK: `Runner(..., plugins=[HooklinePlugin(hooks)])`, or `App(..., plugins=[...])`.

- It works for `run_async` and `run`. While AfterModel hooks exist, partial events are held back: a stream has the
  whole response only, as the hooks left it. Live runs are refused while hooks for model calls exist, because they
  send and show everything at once.
- ADK's sessions are the sessions of hooks. Agents that run side by side have a restriction of tools each of their
  own.
- A stop ends the run: the agents that would follow, loops and transfers too. In an `AgentTool` it ends the agent that
  is the tool, and its reason is that tool's result.
- Make it the last plugin: ADK asks plugins in their order, and an agent's own callbacks after them, so these can
  change what hooks have seen.
- Tools that Google runs itself (search, code execution) have no tool events, nor has the code of a `code_executor`;
  the plugin says so on stderr.
"""

import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hookline.adapters._run import AgentRun, Said, Stop
from hookline.adapters.table import MODEL_EVENTS, loaded, missing, report_once
from hookline.contract.llm import GenerateContentParameters
from hookline.errors import HooklineError
from hookline.formats import genai
from hookline.formats.genai import sdk
from hookline.hooks import Hooks, ToolCall
from hookline.triggers.results import ToolResult, to_tool_result

try:
    from google.adk.models.llm_response import LlmResponse
    from google.adk.plugins.base_plugin import BasePlugin

    types = sdk.types()
except ModuleNotFoundError as error:
    raise missing("adk") from error

__all__ = ["HooklinePlugin"]

_SELF = loaded("adk")
# What ADK keeps of a response beside its content; all of it quotes the text.
_QUOTES = ("grounding_metadata", "citation_metadata", "logprobs_result", "avg_logprobs", "output_transcription")


@dataclass(slots=True)
class _Run:
    """One invocation of the runner; its agents, or branches, may run side by side, each with its own tools."""

    agents: dict[tuple[str, str | None], AgentRun] = field(default_factory=dict)
    stop: Stop = field(default_factory=Stop)
    is_reason_shown: bool = False


class HooklinePlugin(BasePlugin):
    """The hooks of a program around every model call and every tool call of a runner; ADK's sessions are its sessions.

    ADK asks plugins in their order, and an agent's own callbacks after them: make this the last plugin, so that its
    hooks judge what will really be sent and run.
    """

    def __init__(self, hooks: Hooks, *, name: str = "hookline") -> None:
        """`name` is the plugin's name in ADK."""
        super().__init__(name)
        self._hooks = hooks
        self._runs: dict[str, _Run] = {}
        self._calls: weakref.WeakKeyDictionary[Any, ToolCall | None] = weakref.WeakKeyDictionary()
        _SELF.report(hooks)

    async def before_run_callback(self, *, invocation_context: Any) -> None:
        """Begins a run: nothing is restricted or stopped yet. HooklineError where model hooks could not be applied."""
        _SELF.report(self._hooks)
        config = invocation_context.run_config
        if invocation_context.live_request_queue is not None or (config is not None and config.support_cfc):
            self._check_live()
        key, run = invocation_context.invocation_id, _Run()
        self._runs[key] = run
        # A cancelled run calls nothing at its end.
        weakref.finalize(invocation_context, self._forget, key, run)

    async def before_agent_callback(self, *, agent: Any, callback_context: Any) -> Any:
        """Ends every further agent of a run that a hook has stopped."""
        if getattr(agent, "code_executor", None) is not None and self._hooks.has_hooks("BeforeTool"):
            report_once(
                f"Google ADK runs the code that its model writes for the code_executor of {agent.name} without asking"
                " any plugin, so BeforeTool hooks can't check it; remove the code_executor and give the agent a tool"
            )
        run = self._run(callback_context)
        reason = run.stop.reason
        return None if reason is None else _end(run, callback_context, "" if run.is_reason_shown else reason)

    async def after_agent_callback(self, *, agent: Any, callback_context: Any) -> Any:  # noqa: ARG002 - ADK's names
        """Shows why a hook has stopped the run, if nothing has shown it yet."""
        run = self._run(callback_context)
        reason = run.stop.reason
        return None if reason is None or run.is_reason_shown else _end(run, callback_context, reason)

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> Any:
        """The request with everything that hooks change of it, or the response in place of the model's."""
        agent = self._agent(callback_context)
        agent.note = _taken_note(callback_context)
        native = GenerateContentParameters(
            model=llm_request.model or "", contents=llm_request.contents, config=llm_request.config
        )
        wanted = await agent.before_model(native, llm_request.tools_dict)
        if isinstance(wanted, Said):
            _keep_note(callback_context, agent.note)
            return self._said(callback_context, wanted)
        # ADK sends this very request, so it is changed in place.
        llm_request.model, llm_request.contents, llm_request.config = wanted.model, wanted.contents, wanted.config
        return None

    async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> Any:
        """The response with the hooks' text; of a stream the whole only, while nothing else may be shown."""
        if llm_response.partial:
            return LlmResponse(partial=True) if self._hooks.must_hold_stream else None
        if llm_response.content is None:
            return None
        agent = self._agent(callback_context)
        candidate = types.Candidate(content=llm_response.content, finish_reason=llm_response.finish_reason)
        native = types.GenerateContentResponse(candidates=[candidate], usage_metadata=llm_response.usage_metadata)
        answer = await agent.after_model(native)
        _keep_note(callback_context, agent.note)
        if isinstance(answer, Said):
            return self._said(callback_context, answer)
        if answer is native:
            return None
        return llm_response.model_copy(update={"content": answer.candidates[0].content, **dict.fromkeys(_QUOTES)})

    async def before_tool_callback(self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any) -> Any:
        """Changes the arguments in place, or returns the refusal as the tool's result."""
        agent = self._agent(tool_context)
        call = await agent.before_tool(tool.name, tool_args, tool_context.function_call_id)
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
        given = to_tool_result(_plain(result))
        applied = await self._agent(tool_context).after_tool(call, given)
        if applied.llm_content == given.llm_content or (tool.is_long_running and not result):
            # A result for a long-running tool that has none yet would answer its call too early.
            return None
        return {"result": applied.llm_content}

    def _said(self, context: Any, said: Said) -> Any:
        run = self._run(context)
        return LlmResponse(
            content=types.ModelContent(said.text) if run.stop.reason is None else _end(run, context, said.text)
        )

    def _check_live(self) -> None:
        if events := [event for event in MODEL_EVENTS if self._hooks.has_hooks(event)]:
            raise HooklineError(
                f"{' and '.join(events)} hooks can't be applied to Google ADK's live runs, which send and show"
                " everything at once; use run_async, or remove these hooks"
            )

    def _run(self, context: Any) -> _Run:
        return self._runs.setdefault(context.invocation_id, _Run())

    def _agent(self, context: Any) -> AgentRun:
        run, key = self._run(context), (context.agent_name, context.branch)
        if key not in run.agents:
            session = self._hooks.session(context.session.id, agent=context.agent_name)
            run.agents[key] = AgentRun(_SELF, genai, session, run.stop)
        return run.agents[key]

    def _forget(self, key: str, run: _Run) -> None:
        if self._runs.get(key) is run:
            del self._runs[key]


def _keep_note(context: Any, note: str | None) -> None:
    """Keeps a note to the model for the agent's next request, which may be in another run of the session."""
    if note is not None:
        context.state[f"hookline:note:{context.agent_name}"] = note


def _taken_note(context: Any) -> str | None:
    key = f"hookline:note:{context.agent_name}"
    note: str | None = context.state.get(key)
    if note is not None:
        context.state[key] = None
    return note


def _plain(result: Any) -> Any:
    """A tool's result; ADK puts what is no dictionary into one."""
    is_wrapped = isinstance(result, Mapping) and result.keys() == {"result"} and isinstance(result["result"], str)
    return result["result"] if is_wrapped else result


def _end(run: _Run, context: Any, text: str) -> Any:
    """The content with which an agent ends; loops of agents end, too."""
    run.is_reason_shown = True
    context.actions.escalate = True
    return types.Content(role="model", parts=[types.Part(text=text)] if text else [])
