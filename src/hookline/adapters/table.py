"""Which adapters there are, and what their hosts can't do; read by `doctor`, docs/adapters.md and `make adapters`."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.metadata import version
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from hookline.errors import HooklineError, MissingExtraError, install_command
from hookline.protocol.events import HookEventName
from hookline.stderr import warn_user

if TYPE_CHECKING:
    from hookline.client import Hooks


class EffectName(StrEnum):
    """The effects that a hook can have on an agent."""

    DENY = "deny"
    INPUT_REWRITE = "input rewrite"
    CONTEXT = "context"
    REQUEST_REWRITE = "request rewrite"
    RESPONSE_REDACTION = "response redaction"
    SYNTHETIC_RESPONSE = "synthetic response"
    TOOL_RESTRICTION = "tool restriction"
    STOP = "stop"


MODEL_EVENTS = ("BeforeToolSelection", "BeforeModel", "AfterModel")
EVENTS: Mapping[EffectName, tuple[str, ...]] = {
    EffectName.DENY: ("BeforeTool",),
    EffectName.INPUT_REWRITE: ("BeforeTool",),
    EffectName.CONTEXT: ("BeforeTool", "AfterTool"),
    EffectName.REQUEST_REWRITE: ("BeforeModel",),
    EffectName.RESPONSE_REDACTION: ("AfterModel",),
    EffectName.SYNTHETIC_RESPONSE: ("BeforeModel",),
    EffectName.TOOL_RESTRICTION: ("BeforeToolSelection",),
    EffectName.STOP: (*MODEL_EVENTS, "BeforeTool", "AfterTool"),
}
"""The events whose hooks have an effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """The facts about an adapter; a new one needs its framework's name, and the effects that it lacks."""

    name: str = ""
    """Its module in `hookline.adapters`."""
    framework: str
    """The framework's name."""
    extra: str = ""
    package: str = ""
    """The distribution that is installed if the framework is."""
    since: str = ""
    """Its oldest version that asks all the hooks; pyproject.toml has the same."""
    front: str = ""
    """The name to import from its module."""
    use: str = ""
    """How a program uses it, in one line."""
    cannot: Mapping[str, str] = field(default_factory=dict)
    """Why the host can't apply an effect, by its name; for one event of it, with a colon and the event."""
    can_choose_model: bool = False
    """Whether a hook's choice of a model has an effect."""
    suppression: str = ""
    """The effect of `suppressOutput` on the model's answer; empty if it hides nothing."""
    go_on: str = ""
    """How a program passes a session that outlives the run, where the framework needs one."""

    def too_old(self) -> str | None:
        """Return a message if the framework is too old, which would silently skip hooks; else None."""
        installed = version(self.package)
        if _numbers(installed) >= _numbers(self.since):
            return None
        need = f"hookline.adapters.{self.name} needs {self.since} or newer"
        return f"{self.package} {installed} is installed; {need}: {install_command(self.extra)}"

    def report(self, hooks: "Hooks") -> None:
        """Says on stderr which configured hooks the host can't apply."""
        report_inabilities(hooks, self.framework, self.cannot)


_CLAUDE_ASKS = "the model is asked by Claude Code, which has no hooks there"

ADAPTERS: tuple[Adapter, ...] = (
    Adapter(
        name="langchain",
        framework="LangChain",
        extra="langchain",
        package="langchain",
        since="1.4",
        front="HooklineMiddleware",
        use="create_agent(..., middleware=[HooklineMiddleware(hooks)])",
        go_on="give the agent a checkpointer and its runs a thread_id",
    ),
    Adapter(
        name="pydantic_ai",
        framework="Pydantic AI",
        extra="pydantic-ai",
        package="pydantic-ai-slim",
        since="2.62",
        front="HooklineCapability",
        use="Agent(..., capabilities=[HooklineCapability(hooks)])",
    ),
    Adapter(
        name="adk",
        framework="Google ADK",
        extra="adk",
        package="google-adk",
        since="2.13",
        front="HooklinePlugin",
        use="Runner(..., plugins=[HooklinePlugin(hooks)])",
        can_choose_model=True,
    ),
    Adapter(
        name="openai_agents",
        framework="OpenAI Agents SDK",
        extra="openai-agents",
        package="openai-agents",
        since="0.24",
        front="with_hooks",
        use="with_hooks(agent, hooks)",
        go_on="give with_hooks a session_id",
    ),
    Adapter(
        name="claude_agent",
        framework="Claude Agent SDK",
        extra="claude-agent",
        package="claude-agent-sdk",
        since="0.2.182",
        front="hookline_hooks",
        use="ClaudeAgentOptions(hooks=hookline_hooks(hooks))",
        cannot={
            "request rewrite": _CLAUDE_ASKS,
            "response redaction": _CLAUDE_ASKS,
            "synthetic response": _CLAUDE_ASKS,
            "tool restriction": f"{_CLAUDE_ASKS}; deny the tools in a BeforeTool hook",
            "stop: BeforeToolSelection": _CLAUDE_ASKS,
            "stop: BeforeModel": _CLAUDE_ASKS,
            "stop: AfterModel": _CLAUDE_ASKS,
        },
    ),
    Adapter(
        name="strands",
        framework="Strands",
        extra="strands",
        package="strands-agents",
        since="1.62",
        front="HooklineHooks",
        use="Agent(..., hooks=[HooklineHooks(hooks)])",
        suppression="keeps the answer from Strands' callback handler, but not from its messages",
    ),
    Adapter(
        name="agent_framework",
        framework="Agent Framework",
        extra="agent-framework",
        package="agent-framework-core",
        since="1.23",
        front="hookline_middleware",
        use="Agent(..., middleware=hookline_middleware(hooks))",
        go_on="run the agent with a session",
        can_choose_model=True,
    ),
)


_reported: set[str] = set()
_said: "WeakKeyDictionary[Hooks, set[str]]" = WeakKeyDictionary()


def adapter_named(name: str) -> Adapter:
    """The adapter of this name."""
    return next(one for one in ADAPTERS if one.name == name)


@contextmanager
def loading(name: str) -> Iterator[Adapter]:
    """Wrap the imports of an adapter: MissingExtraError without its framework, HooklineError if that is too old."""
    found = adapter_named(name)
    try:
        problem = found.too_old()
        if problem is None:
            yield found
    except ModuleNotFoundError as error:  # PackageNotFoundError is one
        if (error.name or "").startswith("hookline"):
            raise
        raise MissingExtraError(found.package, found.extra) from error
    if problem is not None:
        raise HooklineError(problem)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.match(r"\d+(?:\.\d+)*", text)[0].split(".")))  # type: ignore[index] # versions begin so


def events_of(key: str) -> tuple[str, ...]:
    """The events that an inability is about; ValueError for a key that names no effect."""
    name, _, event = key.partition(": ")
    events = EVENTS[EffectName(name)]
    if event and event not in events:
        raise ValueError(f"{key!r} is no inability: {name} is an effect of {', '.join(events)}")
    return (event,) if event else events


def configured(hooks: "Hooks", *events: str) -> str:
    """The events that have hooks, as in "BeforeTool and AfterTool"; empty if none has any."""
    return " and ".join(filter(hooks.has_hooks, events))


def report_inabilities(hooks: "Hooks", framework: str, cannot: Mapping[str, str]) -> None:
    """Says on stderr which configured hooks the host can't apply, each once.

    An adapter calls it when it gets its hooks, and for every run, because functions can be registered later.
    """
    for message in _inabilities(hooks, framework, cannot):
        if message not in _said.setdefault(hooks, set()):
            _said[hooks].add(message)
            warn_user(message)


def _inabilities(hooks: "Hooks", framework: str, cannot: Mapping[str, str]) -> Iterator[str]:
    for key, why in cannot.items():
        if events := configured(hooks, *events_of(key)):
            yield f"{framework} can't apply the {key.partition(': ')[0]} of {events} hooks: {why}"
    served = {event for events in EVENTS.values() for event in events}
    if idle := [event for event in HookEventName if event not in served and hooks.has_hooks(event)]:
        yield f"the adapter for {framework} does not fire {', '.join(idle)}, so hooks of these events never run"


def report_once(message: str) -> None:
    """Says something on stderr, once in this process: what a hook asks for and the host can't do."""
    if message not in _reported:
        _reported.add(message)
        warn_user(message)
