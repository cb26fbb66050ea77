"""Help for tests of agents with hooks: ours, and those of programs that embed hookline.

`expect` judges what came of an event; `MakeHooks` makes hooks for a test, and `plugin` has it as a pytest fixture.
`cases` runs case files. `effects` is the table of effects for adapters; the other names are for tests on google-genai's
types. PYTEST_DONT_REWRITE
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hookline.testing import effects
    from hookline.testing.hooks import MakeHooks, expect
    from hookline.testing.scripted import Answer, Chunk, ScriptedModel, calls, says

__all__ = ["Answer", "Chunk", "MakeHooks", "ScriptedModel", "calls", "effects", "expect", "says"]

_HOOKS = ("MakeHooks", "expect")


def __getattr__(name: str) -> Any:
    if name == "effects":
        return import_module("hookline.testing.effects")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # On first use: pytest loads this package in every run, and the tests of an adapter need nothing of the agent.
    module = "hooks" if name in _HOOKS else "scripted"
    return getattr(import_module(f"hookline.testing.{module}"), name)


def __dir__() -> list[str]:
    return [*__all__]
