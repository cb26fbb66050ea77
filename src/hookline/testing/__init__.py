"""Help for tests of agents with hooks: ours, and those of programs that embed hookline.

`effects` is the table of effects for adapters; the other names are for tests on google-genai's types.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hookline.testing import effects
    from hookline.testing.scripted import Answer, Chunk, ScriptedModel, calls, says

__all__ = ["Answer", "Chunk", "ScriptedModel", "calls", "effects", "says"]


def __getattr__(name: str) -> Any:
    if name == "effects":
        return import_module("hookline.testing.effects")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # On first use: the tests of an adapter need nothing of the agent.
    return getattr(import_module("hookline.testing.scripted"), name)


def __dir__() -> list[str]:
    return [*__all__]
