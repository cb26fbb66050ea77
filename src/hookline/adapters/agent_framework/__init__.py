"""Hooks for agents of Microsoft's Agent Framework: `Agent(..., middleware=hookline_middleware(hooks))`.

- A session of Agent Framework is a session of hooks with its id; a run without one is a separate session. A note of
  a hook on the last answer of a run goes with the session's next request; without a session it is reported as dropped.
- Put other middleware before it, `[*mine, *hookline_middleware(hooks)]`, so that hooks judge what is really sent.
- While AfterModel hooks exist the framework holds a stream back until they have answered. It would go on with what it
  streamed, so `hooksConfig.streamDuringAfterModel` is not used.
- A tool that a hook restricted stays refused after the user approved the call.
- Tools that the provider runs itself have no tool hooks. An agent or a chat client that runs no middleware around its
  model and its tools is refused.
- `suppressOutput` hides nothing, because the program shows the answer itself.
"""

from hookline.adapters.table import loading

with loading("agent_framework"):
    from hookline.adapters.agent_framework.adapter import hookline_middleware

__all__ = ["hookline_middleware"]
