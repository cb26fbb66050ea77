"""Lifecycle hooks for AI agents.

An event passes through: Settings → plan() → run() → [Answer] → merge() → Verdict, which triggers, log, command line and
bus read. The README shows the first steps; docs/architecture.md says which folder holds what.
"""

TYPE_CHECKING = False  # typing.TYPE_CHECKING without typing: importing hookline must be quick
if TYPE_CHECKING:
    from hookline.bus import InProcessBus
    from hookline.config import Config
    from hookline.contract.events import HookEventName
    from hookline.contract.llm import GenerateContentParameters, LLMRequest, LLMResponse
    from hookline.contract.outputs import DefaultHookOutput
    from hookline.contract.results import AggregatedHookResult
    from hookline.engine.handler import HookEventHandler
    from hookline.errors import FormatError, HooklineError
    from hookline.hooks import Hooks, Session
    from hookline.system import HookSystem
    from hookline.triggers.model import fire_after_model_hook, fire_before_model_hook, fire_before_tool_selection_hook
    from hookline.triggers.tools import (
        ToolResult,
        execute_tool_with_hooks,
        fire_after_tool_hook,
        fire_before_tool_hook,
    )

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
    "AggregatedHookResult": "contract.results",
    "Config": "config",
    "DefaultHookOutput": "contract.outputs",
    "FormatError": "errors",
    "GenerateContentParameters": "contract.llm",
    "HookEventHandler": "engine.handler",
    "HookEventName": "contract.events",
    "HookSystem": "system",
    "HooklineError": "errors",
    "Hooks": "hooks",
    "InProcessBus": "bus",
    "LLMRequest": "contract.llm",
    "LLMResponse": "contract.llm",
    "Session": "hooks",
    "ToolResult": "triggers.tools",
    "execute_tool_with_hooks": "triggers.tools",
    "fire_after_model_hook": "triggers.model",
    "fire_after_tool_hook": "triggers.tools",
    "fire_before_model_hook": "triggers.model",
    "fire_before_tool_hook": "triggers.tools",
    "fire_before_tool_selection_hook": "triggers.model",
}


def __getattr__(name: str) -> object:
    # Each name is loaded when it is first asked for: importing hookline must be quick.
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - a script on hookline.hook has no need of it

    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    # The public names only: a module that was imported on the way is no part of the interface.
    return [*__all__]
