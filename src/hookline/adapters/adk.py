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

from hookline.adapters.table import adapter, missing, report_inabilities, report_once, report_suppression
from hookline.contract.llm import GenerateContentParameters, LLMRequest
from hookline.errors import HooklineError
from hookline.formats import genai
from hookline.formats.genai import sdk
from hookline.hooks import Hooks, ModelGate, Session, ToolCall
from hookline.triggers.results import to_tool_result

try:
    from google.adk.models.llm_response import LlmResponse
    from google.adk.plugins.base_plugin import BasePlugin

    types = sdk.types()
except ModuleNotFoundError as error:
    raise missing("adk") from error

__all__ = ["HooklinePlugin"]

_SELF = adapter("adk")
_MODEL_EVENTS = ("BeforeToolSelection", "BeforeModel", "AfterModel")
# What ADK keeps of a response beside its content; all of it quotes the text.
_QUOTES = ("grounding_metadata", "citation_metadata", "logprobs_result", "avg_logprobs", "output_transcription")


@dataclass(slots=True)
class _Agent:
    """One agent of a run, or one branch of it: agents may run side by side, each with its own tools."""

    session: Session
    sent: LLMRequest = field(default_factory=LLMRequest)


@dataclass(slots=True)
class _Run:
    """One invocation of the runner."""

    agents: dict[tuple[str, str | None], _Agent] = field(default_factory=dict)
    stop: str | None = None
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
        report_inabilities(hooks, _SELF.framework, _SELF.cannot)

    async def before_run_callback(self, *, invocation_context: Any) -> None:
        """Begins a run: nothing is restricted or stopped yet. HooklineError where model hooks could not be applied."""
        report_inabilities(self._hooks, _SELF.framework, _SELF.cannot)
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
        return None if run.stop is None else _end(run, callback_context, "" if run.is_reason_shown else run.stop)

    async def after_agent_callback(self, *, agent: Any, callback_context: Any) -> Any:  # noqa: ARG002 - ADK's names
        """Shows why a hook has stopped the run, if nothing has shown it yet."""
        run = self._run(callback_context)
        return None if run.stop is None or run.is_reason_shown else _end(run, callback_context, run.stop)

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> Any:
        """The request with everything that hooks change of it, or the response in place of the model's."""
        run, agent = self._run(callback_context), self._agent(callback_context)
        if run.stop is not None:
            return LlmResponse(content=_end(run, callback_context, run.stop))
        native = _with_note(_native(llm_request), _taken_note(callback_context))
        told = genai.to_hook_llm_request(native)
        chosen = await agent.session.select_tools(told, llm_request.tools_dict)
        if chosen.stop:
            return _stop(run, callback_context, chosen.stop_reason)
        gate = await agent.session.before_model(told)
        if gate.blocked:
            _keep_note(callback_context, gate.note)
            return _stop(run, callback_context, gate.stop_reason) if gate.stop else _synthetic(gate)
        agent.sent = gate.request
        native = genai.from_hook_llm_request(gate.request, native) if gate.changed else native
        native = _with_note(genai.offer(native, chosen.permits, chosen.mode), chosen.note)
        # ADK sends this very request, so it is changed in place.
        llm_request.model, llm_request.contents, llm_request.config = native.model, native.contents, native.config
        return None

    async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> Any:
        """The response with the hooks' text; of a stream the whole only, while nothing else may be shown."""
        if llm_response.partial:
            return LlmResponse(partial=True) if self._hooks.must_hold_stream else None
        if llm_response.content is None:
            return None
        run, agent = self._run(callback_context), self._agent(callback_context)
        candidate = types.Candidate(content=llm_response.content, finish_reason=llm_response.finish_reason)
        native = types.GenerateContentResponse(candidates=[candidate], usage_metadata=llm_response.usage_metadata)
        answer = await agent.session.after_model(agent.sent, genai.to_hook_llm_response(native))
        _keep_note(callback_context, answer.note)
        if answer.stop:
            return _stop(run, callback_context, answer.text or answer.stop_reason)
        if answer.suppress:
            report_suppression(_SELF.framework)
        if answer.response is None:
            return None
        content = genai.from_hook_llm_response(answer.response, native).candidates[0].content
        return llm_response.model_copy(update={"content": content, **dict.fromkeys(_QUOTES)})

    async def before_tool_callback(self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any) -> Any:
        """Changes the arguments in place, or returns the refusal as the tool's result."""
        run, agent = self._run(tool_context), self._agent(tool_context)
        if run.stop is not None:
            return self._refuse(tool_context, run.stop)
        call = await agent.session.before_tool(tool.name, tool_args, call_id=tool_context.function_call_id)
        if call.stop:
            run.stop = call.stop_reason or ""
        if call.blocked:
            return self._refuse(tool_context, call.refusal.llm_content)
        if run.stop is not None:  # by another call, while hooks were asked about this one
            return self._refuse(tool_context, run.stop)
        self._calls[tool_context] = call
        if call.changed:
            tool_args.clear()
            tool_args.update(call.arguments)
        return None

    async def after_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, result: Any
    ) -> dict[str, Any] | None:
        """The result with everything that hooks add to it; ADK asks this for a refused tool, too, which did not run."""
        run, agent = self._run(tool_context), self._agent(tool_context)
        # Another plugin may have answered in place of the tool, before ours was asked.
        call = self._calls.pop(tool_context, ToolCall(name=tool.name, arguments=dict(tool_args)))
        if call is None:
            return None
        given = to_tool_result(_plain(result))
        applied = await agent.session.after_tool(call, given)
        if applied.should_stop:
            run.stop = applied.stop_reason or ""
        if applied.llm_content == given.llm_content or (tool.is_long_running and not result):
            # A result for a long-running tool that has none yet would answer its call too early.
            return None
        return {"result": applied.llm_content}

    def _refuse(self, context: Any, text: str) -> dict[str, Any]:
        self._calls[context] = None
        return {"error": text}

    def _check_live(self) -> None:
        if events := [event for event in _MODEL_EVENTS if self._hooks.has_hooks(event)]:
            raise HooklineError(
                f"{' and '.join(events)} hooks can't be applied to Google ADK's live runs, which send and show"
                " everything at once; use run_async, or remove these hooks"
            )

    def _run(self, context: Any) -> _Run:
        return self._runs.setdefault(context.invocation_id, _Run())

    def _agent(self, context: Any) -> _Agent:
        agents, key = self._run(context).agents, (context.agent_name, context.branch)
        if key not in agents:
            agents[key] = _Agent(self._hooks.session(context.session.id, agent=context.agent_name))
        return agents[key]

    def _forget(self, key: str, run: _Run) -> None:
        if self._runs.get(key) is run:
            del self._runs[key]


def _native(request: Any) -> GenerateContentParameters:
    return GenerateContentParameters(model=request.model or "", contents=request.contents, config=request.config)


def _with_note(native: GenerateContentParameters, note: str | None) -> GenerateContentParameters:
    return native if note is None else genai.with_note(native, note)


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


def _synthetic(gate: ModelGate) -> Any:
    response = gate.response or {}
    return LlmResponse(content=types.ModelContent(response.get("text") or gate.reason or ""))


def _stop(run: _Run, context: Any, reason: str | None) -> Any:
    run.stop = reason or ""
    return LlmResponse(content=_end(run, context, run.stop))


def _end(run: _Run, context: Any, text: str) -> Any:
    """The content with which an agent ends; loops of agents end, too."""
    run.is_reason_shown = True
    context.actions.escalate = True
    return types.Content(role="model", parts=[types.Part(text=text)] if text else [])
