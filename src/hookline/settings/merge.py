"""Which of several layers decides, and whether hooks are enabled. Loaded while hooks are disabled, so no msgspec."""

from collections.abc import Mapping, Sequence
from typing import Any

from hookline.contract.vocabulary import ConfigSource, OnError
from hookline.settings.read import Layer, Problem

# A single value is decided by the more trusted layer: a project can't switch off a user's guards.
_AUTHORITY = {ConfigSource.SYSTEM: 3, ConfigSource.USER: 2, ConfigSource.PROJECT: 1, ConfigSource.EXTENSIONS: 1}
# The program could ignore every verdict anyway, and no project may undo the guards that it brings itself.
PROGRAM_RANK = _AUTHORITY[ConfigSource.SYSTEM]


def authority(layer: Layer) -> int:
    """The rank of a layer and of its hooks; layers given by name or in code all have the same."""
    return _AUTHORITY[layer.source]


def by_authority(layers: Sequence[Layer]) -> list[Layer]:
    """The layers, the most trusted first."""
    return sorted(layers, key=authority, reverse=True)


def hooks_enabled(layers: Sequence[Layer]) -> tuple[bool, tuple[Problem, ...]]:
    """Whether hooks are enabled at all, and what is wrong with how that is configured."""
    problems: list[Problem] = []
    words = [_enabled_in(layer, problems) for layer in by_authority(layers)]
    return next((word for word in words if word is not None), False), tuple(problems)


def blocks_on_fault(layers: Sequence[Layer]) -> bool:
    """Whether a fault of hookline blocks, from the raw settings: decoding them may be what fails."""
    for layer in by_authority(layers):
        options = layer.values.get("hooksConfig")
        given = options.get("onFault") if isinstance(options, Mapping) and not layer.is_guest else None
        if given is not None:
            return bool(given != OnError.ALLOW)
    return False


def may_name_dialects(layer: Layer) -> bool:
    """Whether a layer can have other agents' files read: the user's and the system's settings can."""
    return layer.source in (ConfigSource.USER, ConfigSource.SYSTEM)


def names_dialects(layers: Sequence[Layer]) -> bool:
    """Whether somebody has decided which other agents' files are read, be it none."""
    return any(_dialects_in(layer) is not None for layer in layers)


def named_dialects(layers: Sequence[Layer]) -> tuple[str, ...]:
    """The other agents whose files shall be read; from the raw settings, because it decides what else is read."""
    named = [name for layer in layers for name in _dialects_in(layer) or ()]
    if not named:
        return ()
    from hookline.dialects.known import FOREIGN_DIALECTS  # noqa: PLC0415 - few settings name any

    return tuple(dialect for dialect in FOREIGN_DIALECTS if dialect in named)


def _dialects_in(layer: Layer) -> Sequence[Any] | None:
    options = layer.values.get("hooksConfig") if may_name_dialects(layer) else None
    given = options.get("dialects") if isinstance(options, Mapping) else None
    return given if isinstance(given, list | tuple) else None


def _enabled_in(layer: Layer, problems: list[Problem]) -> bool | None:
    tools = layer.values.get("tools")
    newer = _flag(layer, ("enableHooks",), layer.values.get("enableHooks"), problems)
    older = tools.get("enableHooks") if isinstance(tools, Mapping) else None
    older = _flag(layer, ("tools", "enableHooks"), older, problems)
    if newer is not None and older is not None and newer != older:
        message = f"is {str(older).lower()} but enableHooks is {str(newer).lower()} and is used; remove the older one"
        problems.append(layer.problem(("tools", "enableHooks"), message))
    return older if newer is None else newer


def _flag(layer: Layer, path: tuple[str, ...], value: Any, problems: list[Problem]) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    # Unless it plainly means no, running the hooks is the safer reading.
    meant = bool(value) and str(value).strip().lower() not in ("false", "no", "off", "0")
    message = f"is neither true nor false and is read as {str(meant).lower()}; write true or false"
    problems.append(layer.problem(path, message))
    return meant
