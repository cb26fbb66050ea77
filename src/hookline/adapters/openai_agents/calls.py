"""The calls of an agent of OpenAI's Agents SDK, between their hooks: those of its model, and those of its tools."""

import copy
import json
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from typing import Any

from agents import AgentHooks, FunctionTool, Model, ModelProvider, ModelResponse
from agents.tool import ApplyPatchTool, ComputerTool, CustomTool, LocalShellTool, ShellTool

from hookline.adapters.openai_agents import format as messages
from hookline.adapters.run import AgentRun, CannedResponse, SharedRun, tool_result
from hookline.adapters.table import MODEL_EVENTS, configured, report_once
from hookline.client import Hooks, ToolCall
from hookline.client.triggers.results import ToolResult
from hookline.errors import HooklineError

_LOCAL = (ApplyPatchTool, ComputerTool, CustomTool, LocalShellTool, ShellTool)


class Run(AgentRun):
    """One agent in one run."""

    whole: SharedRun
    is_asked = False
    """Whether its model was asked in this turn."""


CURRENT: ContextVar[Run | None] = ContextVar("hookline_agent_run", default=None)
"""The agent whose turn it is, for its model, which the SDK tells nothing about the run."""


class HookedModel(Model):
    """A model that asks hooks before and after each call."""

    def __init__(self, inner: Any, hooks: Hooks, provider: ModelProvider, new_run: Callable[[], Run]) -> None:
        self.inner = inner
        self._hooks = hooks
        self._provider = provider
        self._new_run = new_run

    @property
    def _model(self) -> Any:
        if not isinstance(self.inner, Model):
            self.inner = self._provider.get_model(self.inner)
        return self.inner

    async def get_response(self, *given: Any, **named: Any) -> ModelResponse:
        """The model's response, as hooks leave it, or the one in its place."""
        run, call, others = self._run(), *messages.call_of(given, named)
        if (ended := await self._before(run, call)) is not None:
            return ended
        response = await self._model.get_response(*call.arguments, **others)
        changed: ModelResponse = await _after(run, call, response)
        return changed

    async def stream_response(self, *given: Any, **named: Any) -> AsyncIterator[Any]:
        """The events of the response; while AfterModel hooks exist, those of the whole response as they left it."""
        run, call, others = self._run(), *messages.call_of(given, named)
        is_held = self._hooks.must_hold_stream
        whole = await self.get_response(*given, **named) if is_held else await self._before(run, call)
        if whole is not None:
            for event in messages.events_of(whole):
                yield event
            return
        async for event in self._model.stream_response(*call.arguments, **others):
            if event.type == "response.completed":
                event.response = await _after(run, call, event.response)
            yield event

    def get_retry_advice(self, request: Any) -> Any:
        """The model's own."""
        return self._model.get_retry_advice(request)

    async def close(self) -> None:
        """Closes the model."""
        if isinstance(self.inner, Model):
            await self.inner.close()

    async def _cleanup_on_run_end(self, owner: object) -> None:
        if isinstance(self.inner, Model):
            await self.inner._cleanup_on_run_end(owner)  # noqa: SLF001 - the SDK calls it on models, and this one stands for another

    def _run(self) -> Run:
        run = CURRENT.get() or self._new_run()
        run.is_asked = True
        return run

    async def _before(self, run: Run, call: messages.CallArguments) -> ModelResponse | None:
        """Changes the call as hooks want it, or returns the response in place of the model's."""
        native = messages.request_of(self._model, call)
        wanted = await run.before_model(native)
        if isinstance(wanted, CannedResponse):
            said: ModelResponse = wanted.response(is_text=call.is_text)
            return said
        if wanted is not native:
            messages.put(call, wanted, native)
        return None


async def _after(run: Run, call: messages.CallArguments, response: Any) -> Any:
    native = messages.native_of(response)
    answer = await run.after_model(native)
    if answer is native:
        return response
    is_end = isinstance(answer, CannedResponse)
    return messages.with_output(response, answer.response(is_text=call.is_text).output if is_end else answer["output"])


class WatchedHooks(AgentHooks[Any]):
    """The agent's own callbacks, and a look whether its model was really asked."""

    def __init__(self, inner: Any, hooks: Hooks) -> None:
        self._inner = inner or AgentHooks()
        self._hooks = hooks
        for name in {one for one in dir(AgentHooks) if one.startswith("on_")} - vars(WatchedHooks).keys():
            setattr(self, name, getattr(self._inner, name))

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        """Fails a run whose model calls went past the hooks."""
        run = CURRENT.get()
        if (run is None or not run.is_asked) and (events := configured(self._hooks, *MODEL_EVENTS)):
            raise HooklineError(
                f"RunConfig.model took the agent's model's place, so {events} hooks were not asked;"
                " give the model to the agent"
            )
        if run is not None:
            run.is_asked = False
        await self._inner.on_llm_end(context, agent, response)

    async def on_end(self, context: Any, agent: Any, output: Any) -> None:
        """The run has ended."""
        if (run := CURRENT.get()) is not None:
            run.whole.end()
        await self._inner.on_end(context, agent, output)


def hooked_tool(tool: Any, agent: Any, run: Run) -> Any:
    """The tool between its hooks, if it is a function."""
    if not isinstance(tool, FunctionTool):
        _check_other(tool, run.hooks)
        return tool
    inner_agent = getattr(tool, "_agent_instance", None)
    if inner_agent is not None and not hasattr(inner_agent, "hookline"):
        report_once(
            f"the agent {inner_agent.name} is a tool and has no hooks of its own;"
            " use with_hooks(agent, hooks).as_tool(...)"
        )
    hooked = copy.copy(tool)
    hooked.on_invoke_tool = lambda context, raw: _invoke(tool, context, raw, agent, run)
    return hooked


async def _invoke(tool: FunctionTool, context: Any, raw: str, agent: Any, run: Run) -> Any:
    output: Any = None
    content: Any = None

    async def call(call: ToolCall) -> ToolResult:
        nonlocal output, content
        output = await tool.on_invoke_tool(context, json.dumps(call.arguments) if call.changed else raw)
        content = messages.to_tool_content(output)
        return tool_result(content)

    result = await run.call_tool(tool.name, messages.arguments_of(raw), call, context.tool_call_id)
    is_same = content is not None and result.llm_content == content
    changed = output if is_same else messages.from_tool_content(result.llm_content)
    if not result.should_stop or content is None or agent.tool_use_behavior == "run_llm_again":
        return changed
    # Where the model is not asked again, the result is the run's last word.
    return f"{changed}\n\n{run.stop.reason}"


def _check_other(tool: Any, hooks: Hooks) -> None:
    """Tools that are not functions run without hooks: here, which is refused, or at OpenAI."""
    events = configured(hooks, "BeforeTool", "AfterTool")
    if events and isinstance(tool, _LOCAL):
        raise HooklineError(
            f"{events} hooks can't be applied to the tool {tool.name}: the Agents SDK runs a"
            f" {type(tool).__name__} itself; give the agent a function tool, or remove these hooks"
        )
    if events:
        report_once(f"the tool {tool.name} runs at OpenAI, so {events} hooks can't check it")
