"""`with_hooks`: where hooks run in agents of the OpenAI Agents SDK."""

import copy
import dataclasses
import json
import weakref
from typing import Any, TypeVar

from agents import Agent, Handoff, handoff
from agents.models.multi_provider import MultiProvider

from hookline.adapters.openai_agents import format as messages
from hookline.adapters.openai_agents.calls import CURRENT, HookedModel, Run, WatchedHooks, hooked_tool
from hookline.adapters.run import SharedRun
from hookline.adapters.table import adapter_named
from hookline.client import Hooks
from hookline.client.triggers.results import ToolResult

_ADAPTER = adapter_named("openai_agents")

AnyAgent = TypeVar("AnyAgent", bound="Agent[Any]")


def with_hooks(agent: AnyAgent, hooks: Hooks, *, session_id: str | None = None, model_provider: Any = None) -> AnyAgent:
    """A copy of the agent with hooks around its model and its tools, those of MCP servers too, and so for its handoffs.

    Args:
        agent: the agent; it stays as it is.
        hooks: the program's hooks.
        session_id: the session in the input of hooks; without it each run is a separate session, and a note of a hook
            on the last answer of a run is reported as dropped. With it the note goes with the next request.
        model_provider: finds the model of an agent that has only its name; the SDK's own if not given. That of a
            `RunConfig` is not asked, because the SDK does not show it to agents.
    """
    _ADAPTER.report(hooks)
    made: AnyAgent = _Hookline(hooks, session_id, model_provider or MultiProvider()).hooked(agent)
    return made


class _Hookline:
    """The state that an agent shares with all agents to which it hands over."""

    def __init__(self, hooks: Hooks, session_id: str | None, provider: Any) -> None:
        self.hooks = hooks
        self._session_id = session_id
        self._provider = provider
        self._agents: dict[int, tuple[Any, Any]] = {}
        self._kinds: dict[type, type] = {}
        self._runs: weakref.WeakKeyDictionary[Any, SharedRun] = weakref.WeakKeyDictionary()

    def hooked(self, agent: Any) -> Any:
        """The agent's copy with hooks; always the same."""
        if isinstance(agent, _Hooked):
            return agent
        if id(agent) not in self._agents:
            kind = type(agent)
            if kind not in self._kinds:
                self._kinds[kind] = type(f"Hooked{kind.__name__}", (_Hooked, kind), {"hookline": self})
            given = {one.name: getattr(agent, one.name) for one in dataclasses.fields(agent) if one.init}
            # Separate lists: what is added to one of the agents is not added to the other.
            lists = {name: list(value) for name, value in given.items() if isinstance(value, list)}
            made = self._kinds[kind](**{**given, **lists})
            self._agents[id(agent)] = (agent, made)
            made.hook_handoffs()
        return self._agents[id(agent)][1]

    def model(self, model: Any) -> Any:
        """The model between its hooks."""
        if isinstance(model, HookedModel):
            return model
        return HookedModel(model, self.hooks, self._provider, lambda: self._new_run(SharedRun(), None))

    def run(self, context: Any, agent: str) -> Run:
        """Return the state of an agent in the run of this context."""
        whole = self._runs.setdefault(context, SharedRun())
        run: Any = whole.agent(agent, lambda _: self._new_run(whole, agent))
        found: Run = run
        return found

    def _new_run(self, whole: SharedRun, agent: str | None) -> Run:
        run = Run(_ADAPTER, messages, self.hooks, self._session_id, agent=agent, stop=whole.stop)
        run.whole = whole
        return run


class _Hooked:
    """The methods that an agent with hooks overrides; a base of its class."""

    __slots__ = ()
    hookline: _Hookline

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "model":
            value = self.hookline.model(value)
        elif name == "hooks" and not isinstance(value, WatchedHooks):
            value = WatchedHooks(value, self.hookline.hooks)
        super().__setattr__(name, value)

    def hook_handoffs(self) -> None:
        """Gives hooks to every handoff, also to those that were added since."""
        agent: Any = self
        agent.handoffs[:] = [_hooked_handoff(one, self) for one in agent.handoffs]

    async def get_all_tools(self, run_context: Any) -> list[Any]:
        """The tools of a turn, which begins with this; those of MCP servers are among them."""
        agent: Any = self
        _ADAPTER.report(self.hookline.hooks)
        self.hook_handoffs()
        tools: list[Any] = await super().get_all_tools(run_context)  # type: ignore[misc] # the next class is an Agent
        run = self.hookline.run(run_context, agent.name)
        CURRENT.set(run)
        return [hooked_tool(tool, agent, run) for tool in tools]


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
    """A handoff is a tool call for hooks; if it is refused, the agent continues with the reason."""

    def __init__(self, inner: Any, agent: Any) -> None:
        self._inner = inner
        self._agent = agent

    async def __call__(self, context: Any, raw: str) -> Any:
        run = self._agent.hookline.run(context, self._agent.name)
        call = await run.before_tool(self._inner.tool_name, messages.arguments_of(raw))
        if isinstance(call, ToolResult):
            run.keep(f"{self._inner.tool_name} was not done: {call.llm_content}")
            return self._agent
        given = json.dumps(call.arguments) if call.changed else raw
        return self._agent.hookline.hooked(await self._inner.on_invoke_handoff(context, given))
