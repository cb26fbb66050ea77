"""Hooks for agents of Google's ADK: `Runner(..., plugins=[HooklinePlugin(hooks)])`, or `App(..., plugins=[...])`.

- It works for `run_async` and `run`. While AfterModel hooks exist, partial events are held back: a stream has the
  whole response only, as the hooks left it. Live runs are refused while hooks for model calls exist, because they
  send and show everything at once.
- ADK's sessions are the sessions of hooks. Agents that run side by side have separate restrictions of tools.
- A stop ends the run: the agents that would follow, loops and transfers too. In an `AgentTool` it ends the agent that
  is the tool, and its reason is that tool's result.
- Make it the last plugin: ADK asks plugins in their order, and an agent's own callbacks after them, so these can
  change what hooks have seen.
- Tools that Google runs itself (search, code execution) have no tool events, nor has the code of a `code_executor`;
  the plugin reports that on stderr.
"""

from hookline.adapters.table import loading

with loading("adk"):
    from hookline.adapters.adk.adapter import HooklinePlugin

__all__ = ["HooklinePlugin"]
