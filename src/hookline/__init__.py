"""Lifecycle hooks for AI agents.

An event passes through: Settings → plan() → run() → [Answer] → merge() → Verdict, which triggers, log, command line and
bus read. The README shows the first steps; docs/architecture.md says which folder holds what.
"""

TYPE_CHECKING = False  # typing.TYPE_CHECKING without typing: importing hookline must be quick
if TYPE_CHECKING:
    from hookline.client import Hooks, Session
    from hookline.client.bus import InProcessBus
    from hookline.client.config import Config
    from hookline.client.triggers.model import (
        fire_after_model_hook,
        fire_before_model_hook,
        fire_before_tool_selection_hook,
    )
    from hookline.client.triggers.tools import (
        ToolResult,
        execute_tool_with_hooks,
        fire_after_tool_hook,
        fire_before_tool_hook,
    )
    from hookline.engine.handler import HookEventHandler
    from hookline.engine.system import HookSystem
    from hookline.errors import FormatError, HooklineError
    from hookline.protocol.events import HookEventName
    from hookline.protocol.llm import GenerateContentParameters, LLMRequest, LLMResponse
    from hookline.protocol.results import AggregatedHookResult, DefaultHookOutput

__all__ = [
    "AggregatedHookResult",
    "Config",
    "DefaultHookOutput",
    "FormatError",
    "GenerateContentParameters",
    "HookEventHandler",
    "HookEventName",
    "HookSystem",
    "HooklineError",
    "Hooks",
    "InProcessBus",
    "LLMRequest",
    "LLMResponse",
    "Session",
    "ToolResult",
    "execute_tool_with_hooks",
    "fire_after_model_hook",
    "fire_after_tool_hook",
    "fire_before_model_hook",
    "fire_before_tool_hook",
    "fire_before_tool_selection_hook",
]

_HOMES = {
    "AggregatedHookResult": "protocol.results",
    "Config": "client.config",
    "DefaultHookOutput": "protocol.results",
    "FormatError": "errors",
    "GenerateContentParameters": "protocol.llm",
    "HookEventHandler": "engine.handler",
    "HookEventName": "protocol.events",
    "HookSystem": "engine.system",
    "HooklineError": "errors",
    "Hooks": "client.hooks",
    "InProcessBus": "client.bus",
    "LLMRequest": "protocol.llm",
    "LLMResponse": "protocol.llm",
    "Session": "client.session",
    "ToolResult": "client.triggers.tools",
    "execute_tool_with_hooks": "client.triggers.tools",
    "fire_after_model_hook": "client.triggers.model",
    "fire_after_tool_hook": "client.triggers.tools",
    "fire_before_model_hook": "client.triggers.model",
    "fire_before_tool_hook": "client.triggers.tools",
    "fire_before_tool_selection_hook": "client.triggers.model",
}


def __getattr__(name: str) -> object:
    # Each name is loaded when it is first asked for: importing hookline must be quick.
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - a script on hookline.hook has no need of it

    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    # The public names only: a module that was imported on the way is not part of the interface.
    return [*__all__]
