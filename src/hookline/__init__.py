"""Lifecycle hooks for AI agents.

The parts, in the order in which an event passes through them:

    1. contract    the words: events, inputs, outputs, results, messages
    2. settings    where hooks come from, and which are trusted
    3. formats     hook format ↔ google-genai
    4. engine      registry → planner → runner → aggregator → handler
    5. child       one hook as a process
    6. log, bus    the record of everything, messages between parts
    7. system      builds the parts once
    8. config      session facts and settings; makes a system only when hooks are enabled
    9. triggers    what an agent awaits, results already applied
    10. agent      a small coding agent on these triggers
    11. cli        the command line
"""

from importlib import import_module

TYPE_CHECKING = False  # typing.TYPE_CHECKING without typing: importing hookline costs next to nothing
if TYPE_CHECKING:
    from hookline.bus import InProcessBus
    from hookline.config import Config
    from hookline.contract.events import HookEventName
    from hookline.contract.llm import GenerateContentParameters
    from hookline.contract.outputs import DefaultHookOutput
    from hookline.contract.results import AggregatedHookResult
    from hookline.engine.handler import HookEventHandler
    from hookline.errors import HooklineError
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
    "GenerateContentParameters",
    "HookEventHandler",
    "HookEventName",
    "HookSystem",
    "HooklineError",
    "InProcessBus",
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
    "GenerateContentParameters": "contract.llm",
    "HookEventHandler": "engine.handler",
    "HookEventName": "contract.events",
    "HookSystem": "system",
    "HooklineError": "errors",
    "InProcessBus": "bus",
    "ToolResult": "triggers.tools",
    "execute_tool_with_hooks": "triggers.tools",
    "fire_after_model_hook": "triggers.model",
    "fire_after_tool_hook": "triggers.tools",
    "fire_before_model_hook": "triggers.model",
    "fire_before_tool_hook": "triggers.tools",
    "fire_before_tool_selection_hook": "triggers.model",
}


def __getattr__(name: str) -> object:
    # Each name is loaded when it is first asked for: importing hookline costs an idle program next to nothing.
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
