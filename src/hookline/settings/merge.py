"""Several layers, one answer: whether hooks are enabled, and which layer has a say over which."""

from collections.abc import Mapping, Sequence
from typing import Any

from hookline.contract.hooks import ConfigSource
from hookline.settings.load import Layer, Problem

# For one value the more trusted layer decides: a project cannot switch off its user's guards, nor a user the system's.
_AUTHORITY = {ConfigSource.SYSTEM: 3, ConfigSource.USER: 2, ConfigSource.PROJECT: 1, ConfigSource.EXTENSIONS: 1}


def authority(layer: Layer) -> int:
    """How much say a layer has; layers given by name or in code all have the same."""
    return _AUTHORITY[layer.source]


def by_authority(layers: Sequence[Layer]) -> list[Layer]:
    """The layers, the one with the last word first."""
    return sorted(layers, key=authority, reverse=True)


def hooks_enabled(layers: Sequence[Layer]) -> tuple[bool, tuple[Problem, ...]]:
    """Whether hooks are enabled at all, and what should be said about how that was configured."""
    problems: list[Problem] = []
    decided: bool | None = None
    for layer in by_authority(layers):
        enabled = _enabled_in(layer, problems)
        if decided is None:
            decided = enabled
    return decided is True, tuple(problems)


def _enabled_in(layer: Layer, problems: list[Problem]) -> bool | None:
    tools = layer.values.get("tools")
    older = tools.get("enableHooks") if isinstance(tools, Mapping) else None
    newer = layer.values.get("enableHooks")
    newer = _flag(layer, ("enableHooks",), newer, problems)
    older = _flag(layer, ("tools", "enableHooks"), older, problems)
    if newer is not None and older is not None and newer != older:
        said = (
            f"says {str(older).lower()} but enableHooks says {str(newer).lower()}, which counts; remove the older one"
        )
        problems.append(layer.problem(("tools", "enableHooks"), said))
    return older if newer is None else newer


def _flag(layer: Layer, path: tuple[str, ...], value: Any, problems: list[Problem]) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    # Somebody meant to say something about guards: unless it plainly means no, running them is the safer reading.
    meant = bool(value) and str(value).strip().lower() not in ("false", "no", "off", "0")
    said = f"is neither true nor false and is taken as {str(meant).lower()}; write true or false"
    problems.append(layer.problem(path, said))
    return meant
