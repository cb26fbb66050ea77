"""Hooks for agents of OpenAI's Agents SDK: `with_hooks(agent, hooks)`.

- It works for `run`, `run_sync` and `run_streamed`. While AfterModel hooks exist, the model is asked without
  streaming, and a streamed run has its answer as one piece, after they have answered.
- The copy has hooks around its model, its function tools and those of its `mcp_servers`, and so have the agents that
  it hands over to. A handoff is a tool call for BeforeTool hooks; if it is refused, the agent goes on and is told
  why.
- A run that a hook stops, or whose model call it blocks, ends with the reason as its output; with an `output_type` it
  ends with `AgentStoppedError`.
- An agent as a tool needs hooks of its own: `with_hooks(agent, hooks).as_tool(...)`. Its stop ends its own run, and
  the reason is the tool's result.
- Tools that are no functions have no tool events: those that the SDK runs here (shell, computer, patches, custom
  tools) are refused while tool hooks exist, those that OpenAI runs are named on stderr.
- `RunConfig.model` would take the place of the agent's model: a run with it fails if hooks for model calls exist. A
  model by name is found by `with_hooks(..., model_provider=...)`.
- With `previous_response_id` or `conversation_id` OpenAI keeps the conversation: hooks see only what is new, and the
  stored answers are as the model gave them.
"""

import copy
import dataclasses
import json
import weakref
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hookline.adapters._notes import notes_of
from hookline.adapters._run import Stop
from hookline.adapters.table import MODEL_EVENTS, loaded, missing, report_once
from hookline.errors import HooklineError
from hookline.formats import openai
from hookline.hooks import Hooks, ToolCall
from hookline.triggers.results import ToolResult

try:
    from agents import Agent, AgentHooks, FunctionTool, Handoff, handoff
    from agents.models.multi_provider import MultiProvider
    from agents.tool import ApplyPatchTool, ComputerTool, CustomTool, LocalShellTool, ShellTool, ToolOutputText
    from agents.tool_context import ToolContext

    from hookline.adapters._openai_agents_model import CURRENT, HookedModel, ModelRun
except ModuleNotFoundError as error:
    raise missing("openai_agents") from error

__all__ = ["with_hooks"]

_SELF = loaded("openai_agents")
_LOCAL = (ApplyPatchTool, ComputerTool, CustomTool, LocalShellTool, ShellTool)
_OTHER_CALLBACKS = ("on_start", "on_handoff", "on_tool_start", "on_tool_end", "on_llm_start")
AnyAgent = TypeVar("AnyAgent", bound="Agent[Any]")


def with_hooks(agent: AnyAgent, hooks: Hooks, *, session_id: str | None = None, model_provider: Any = None) -> AnyAgent:
    """A copy of the agent with hooks around its model and its tools, those of MCP servers too, and so for its handoffs.

    Args:
        agent: the agent; it stays as it is.
        hooks: the program's hooks.
        session_id: the session that hooks are told; each run has one of its own if not given, and then a note of a
            hook on the last answer of a run is reported as dropped. With it the note goes with the next request.
        model_provider: finds the model of an agent that has only its name; the SDK's own if not given. That of a
            `RunConfig` is not asked, because the SDK does not show it to agents.
    """
    _SELF.report(hooks)
    made: AnyAgent = _Hookline(hooks, session_id, model_provider or MultiProvider()).hooked(agent)
    return made


@dataclass(slots=True, eq=False)
class _Run:
    """One run of the SDK's runner."""

    agents: dict[str, ModelRun] = field(default_factory=dict)
    stop: Stop = field(default_factory=Stop)


class _Hookline:
    """What an agent and all that it hands over to have in common."""

    def __init__(self, hooks: Hooks, session_id: str | None, provider: Any) -> None:
        self.hooks = hooks
        self._session_id = session_id
        self._provider = provider
        self._agents: dict[int, tuple[Any, Any]] = {}
        self._kinds: dict[type, type] = {}
        self._runs: weakref.WeakKeyDictionary[Any, _Run] = weakref.WeakKeyDictionary()

    def hooked(self, agent: Any) -> Any:
        """The agent's copy with hooks; always the same."""
        if isinstance(agent, _Hooked):
            return agent
        if id(agent) not in self._agents:
            kind = type(agent)
            if kind not in self._kinds:
                self._kinds[kind] = type(f"Hooked{kind.__name__}", (_Hooked, kind), {"hookline": self})
            given = {one.name: getattr(agent, one.name) for one in dataclasses.fields(agent) if one.init}
            # Lists of its own: what is added to one of the agents is not added to the other.
            lists = {name: list(value) for name, value in given.items() if isinstance(value, list)}
            made = self._kinds[kind](**{**given, **lists})
            self._agents[id(agent)] = (agent, made)
            made.hook_handoffs()
        return self._agents[id(agent)][1]

    def model(self, model: Any) -> Any:
        """The model between its hooks."""
        if isinstance(model, HookedModel):
            return model
        return HookedModel(model, self.hooks, self._provider, lambda: self._new_run(_Run(), None))

    def run(self, context: Any, agent: str) -> ModelRun:
        """What is known of an agent in the run of this context."""
        run = self._runs.setdefault(context, _Run())
        if agent not in run.agents:
            run.agents[agent] = self._new_run(run, agent)
        return run.agents[agent]

    def _new_run(self, run: _Run, agent: str | None) -> ModelRun:
        session, is_lasting = self.hooks.session(self._session_id, agent=agent), self._session_id is not None
        notes = notes_of(self.hooks) if is_lasting else None
        return ModelRun(_SELF, openai, session, run.stop, notes=notes, is_lasting=is_lasting, agents=run.agents)


class _Hooked:
    """What an agent with hooks does differently; a base of its class."""

    __slots__ = ()
    hookline: _Hookline

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "model":
            value = self.hookline.model(value)
        elif name == "hooks" and not isinstance(value, _Watch):
            value = _Watch(value, self.hookline.hooks)
        super().__setattr__(name, value)

    def hook_handoffs(self) -> None:
        """Gives hooks to every handoff, also to those that were added since."""
        agent: Any = self
        agent.handoffs[:] = [_hooked_handoff(one, self) for one in agent.handoffs]

    async def get_all_tools(self, run_context: Any) -> list[Any]:
        """The tools of a turn, which begins with this; those of MCP servers are among them."""
        agent: Any = self
        _SELF.report(self.hookline.hooks)
        self.hook_handoffs()
        tools: list[Any] = await super().get_all_tools(run_context)  # type: ignore[misc] # the next class is an Agent
        run = self.hookline.run(run_context, agent.name)
        CURRENT.set(run)
        return [_hooked_tool(tool, agent, run) for tool in tools]


class _Watch(AgentHooks[Any]):
    """The agent's own callbacks, and a look whether its model was really asked."""

    def __init__(self, inner: Any, hooks: Hooks) -> None:
        self._inner = inner
        self._hooks = hooks

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        run = CURRENT.get()
        if run is None or not run.is_asked:
            self._check_bypass()
        else:
            run.is_asked = False
        if self._inner is not None:
            await self._inner.on_llm_end(context, agent, response)

    async def on_end(self, context: Any, agent: Any, output: Any) -> None:
        if (run := CURRENT.get()) is not None:
            run.end_all()
        if self._inner is not None:
            await self._inner.on_end(context, agent, output)

    def _check_bypass(self) -> None:
        if events := [event for event in MODEL_EVENTS if self._hooks.has_hooks(event)]:
            raise HooklineError(
                f"RunConfig.model took the agent's model's place, so {' and '.join(events)} hooks were not asked;"
                " give the model to the agent"
            )


def _passed_on(name: str) -> Any:
    async def callback(self: _Watch, *given: Any, **named: Any) -> None:
        if self._inner is not None:
            await getattr(self._inner, name)(*given, **named)

    return callback


for _name in _OTHER_CALLBACKS:
    setattr(_Watch, _name, _passed_on(_name))


def _hooked_tool(tool: Any, agent: Any, run: ModelRun) -> Any:
    hookline = agent.hookline
    if not isinstance(tool, FunctionTool):
        _check_other(tool, hookline)
        return tool
    inner_agent = getattr(tool, "_agent_instance", None)
    if inner_agent is not None and not isinstance(inner_agent, _Hooked):
        report_once(
            f"the agent {inner_agent.name} is a tool and has no hooks of its own;"
            " use with_hooks(agent, hooks).as_tool(...)"
        )
    inner = tool.on_invoke_tool

    async def invoke(context: ToolContext[Any], raw: str) -> Any:
        return await _invoke(tool.name, inner, context, raw, agent, run)

    hooked = copy.copy(tool)
    hooked.on_invoke_tool = invoke
    return hooked


async def _invoke(name: str, inner: Any, context: Any, raw: str, agent: Any, run: ModelRun) -> Any:
    output: Any = None
    content: Any = None

    async def call(call: ToolCall) -> ToolResult:
        nonlocal output, content
        output = await inner(context, json.dumps(call.arguments) if call.changed else raw)
        content = _content(output)
        return ToolResult(llm_content=content, return_display=content)

    result = await run.call_tool(name, _arguments(raw), call, context.tool_call_id)
    changed = output if content is not None and result.llm_content == content else _output(result.llm_content)
    if not result.should_stop or content is None or agent.tool_use_behavior == "run_llm_again":
        return changed
    # Where the model is not asked again, the result is the run's last word.
    return f"{changed}\n\n{run.stop.reason}"


def _arguments(raw: str) -> Any:
    try:
        return json.loads(raw) if raw else {}
    except ValueError:
        return raw


def _content(output: Any) -> Any:
    """The output as hooks read it: its text, or its parts; the SDK writes any other value as a text, too."""
    parts = output if isinstance(output, list) else [output]
    if parts and all(_kind(part) in ("text", "image", "file") for part in parts):
        return [part if isinstance(part, dict) else part.model_dump(exclude_none=True) for part in parts]
    return str(output)


def _kind(part: Any) -> Any:
    return part.get("type") if isinstance(part, dict) else getattr(part, "type", None)


def _output(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    # A note that a hook added to a list of parts has no type.
    return [ToolOutputText(text=part["text"]) if part.keys() == {"text"} else part for part in content]


def _check_other(tool: Any, hookline: _Hookline) -> None:
    """Tools that are no functions run without hooks: here, which is refused, or at OpenAI."""
    events = [event for event in ("BeforeTool", "AfterTool") if hookline.hooks.has_hooks(event)]
    if not events:
        return
    if isinstance(tool, _LOCAL):
        raise HooklineError(
            f"{' and '.join(events)} hooks can't be applied to the tool {tool.name}: the Agents SDK runs a"
            f" {type(tool).__name__} itself; give the agent a function tool, or remove these hooks"
        )
    report_once(f"the tool {tool.name} runs at OpenAI, so {' and '.join(events)} hooks can't check it")


def _hooked_handoff(one: Any, agent: Any) -> Any:
    if isinstance(one, Agent):
        one = handoff(agent.hookline.hooked(one))
    if not isinstance(one, Handoff) or isinstance(one.on_invoke_handoff, _HandoffCall):
        return one
    hooked = copy.copy(one)
    hooked.on_invoke_handoff = _HandoffCall(one, agent)
    if (target := getattr(one, "_agent_ref", None)) is not None and target() is not None:
        hooked._agent_ref = weakref.ref(agent.hookline.hooked(target()))  # noqa: SLF001 - a resumed run finds its agents by it
    return hooked


class _HandoffCall:
    """A handoff is a tool call for hooks; if it is refused, the agent goes on and is told why."""

    def __init__(self, inner: Any, agent: Any) -> None:
        self._inner = inner
        self._agent = agent

    async def __call__(self, context: Any, raw: str) -> Any:
        run: ModelRun = self._agent.hookline.run(context, self._agent.name)
        call = await run.before_tool(self._inner.tool_name, _arguments(raw))
        if isinstance(call, ToolResult):
            run.keep(f"{self._inner.tool_name} was not done: {call.llm_content}")
            return self._agent
        given = json.dumps(call.arguments) if call.changed else raw
        return self._agent.hookline.hooked(await self._inner.on_invoke_handoff(context, given))
