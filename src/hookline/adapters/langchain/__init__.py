"""Hooks for agents of LangChain: `create_agent(..., middleware=[HooklineMiddleware(hooks)])`.

- It works for `invoke`, `ainvoke` and every kind of stream.
- While AfterModel hooks exist, the model's answer is held back until they have answered: a stream has it as one
  message, and callbacks that read tokens do not see the model calls. Tracers do, and see what the model really said.
- Put it last in the list of middleware: it then sees requests and arguments as they are sent.
- A thread of LangGraph is a session with the thread's id; a run without one is a separate session. What the
  middleware remembers of a run is private state of the graph, so a checkpointer keeps it.
- When a hook stops the agent, or blocks a model call, the run ends with that text as its last message. There is no
  structured output then, nor when a hook changed the text that it was read from.
- A hook can't choose another model, and `suppressOutput` hides nothing, because LangChain shows messages itself.
"""

from hookline.adapters.table import loading

with loading("langchain"):
    from hookline.adapters.langchain.adapter import HooklineMiddleware

__all__ = ["HooklineMiddleware"]
