"""Hooks in other people's agents: one module per framework, on the neutral API alone.

A module imports its framework, so import it by its own name; `table` knows all of them without importing any. `run` has
what all of them decide alike, for an adapter of your own.
"""

__all__ = [
    "adk",
    "agent_framework",
    "blocking",
    "claude_agent",
    "langchain",
    "openai_agents",
    "pydantic_ai",
    "run",
    "strands",
    "table",
]


def __dir__() -> list[str]:
    return [*__all__]
