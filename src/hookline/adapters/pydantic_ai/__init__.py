"""Hooks for agents of Pydantic AI: `Agent(..., capabilities=[HooklineCapability(hooks)])`.

- It works for `run`, `run_sync`, `run_stream`, `run_stream_events` and `iter`.
- While AfterModel hooks exist, the model's answer is held back until they have answered, and streams replay it then.
- A conversation of Pydantic AI is a session with the conversation's id. A note of a hook on the last answer of a run
  goes with the first request of the conversation's next run in this process.
- When a hook stops the agent, its reason is the run's output; a run whose output is not text raises
  `hookline.errors.AgentStoppedError`.
- Hooks see the arguments as they were validated. Arguments that a hook rewrites are validated again.
- Output tools, realtime sessions and tools that the provider runs have no hooks.
- A hook can't choose another model, and `suppressOutput` hides nothing, because the program shows messages itself.
"""

from hookline.adapters.table import loading

with loading("pydantic_ai"):
    from hookline.adapters.pydantic_ai.adapter import HooklineCapability

__all__ = ["HooklineCapability"]
