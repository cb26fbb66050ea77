"""Hooks for agents of OpenAI's Agents SDK: `with_hooks(agent, hooks)`.

- It works for `run`, `run_sync` and `run_streamed`. While AfterModel hooks exist, the model is asked without
  streaming, and a streamed run has its answer as one piece, after they have answered.
- The copy has hooks around its model, its function tools and those of its `mcp_servers`, and so have the agents that
  it hands over to. A handoff is a tool call for BeforeTool hooks; if it is refused, the agent continues, and
  its model reads why.
- A run that a hook stops, or whose model call it blocks, ends with the reason as its output; with an `output_type` it
  ends with `AgentStoppedError`.
- An agent as a tool needs its hooks separately: `with_hooks(agent, hooks).as_tool(...)`. Its stop ends its own run, and
  the reason is the tool's result.
- Tools that are not functions have no tool events: those that the SDK runs here (shell, computer, patches, custom
  tools) are refused while tool hooks exist, those that OpenAI runs are named on stderr.
- `RunConfig.model` would take the place of the agent's model: a run with it fails if hooks for model calls exist. A
  model by name is found by `with_hooks(..., model_provider=...)`.
- With `previous_response_id` or `conversation_id` OpenAI keeps the conversation: hooks see only what is new, and the
  stored answers are as the model gave them.
"""

from hookline.adapters.table import loading

with loading("openai_agents"):
    from hookline.adapters.openai_agents.adapter import with_hooks

__all__ = ["with_hooks"]
