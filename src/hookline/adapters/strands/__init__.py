"""Hooks for agents of Strands: `Agent(..., hooks=[HooklineHooks(hooks)])`.

- An agent is a session with its `session_id`. Tool hooks also run for `agent.tool.name()`, which no selection of tools
  restricts: the program calls it, not the model.
- While AfterModel hooks exist the model's answer is held back until they have answered: no stream and no callback
  handler gets a piece of it before.
- A tool that a hook restricted stays refused after an interrupt that the user approved.
- `Agent.structured_output`, which Strands has deprecated, asks the model without any middleware, so it is refused while
  there are model hooks; `structured_output_model` works. Bidirectional agents are refused.
- A hook can't choose another model, its temperature and the like: in Strands they belong to the model. `suppressOutput`
  keeps an answer from callback handlers and from the pieces of a stream, but it stays in the agent's messages.
"""

from hookline.adapters.table import loading

with loading("strands"):
    from hookline.adapters.strands.adapter import HooklineHooks

__all__ = ["HooklineHooks"]
