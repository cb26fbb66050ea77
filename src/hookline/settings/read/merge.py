"""Which of several layers decides, and whether hooks are enabled. Loaded while hooks are disabled, so no msgspec."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hookline.extensions import lazy_module
from hookline.protocol.constants import OWN_DIALECT, ConfigSource, OnError
from hookline.protocol.events import HookEventName
from hookline.protocol.text.strings import nearest
from hookline.settings.read.files import Layer, Problem

if TYPE_CHECKING:
    from hookline.dialects import registry
else:
    registry = lazy_module("hookline.dialects.registry")  # few settings name any

# A single value is decided by the more trusted layer: a project can't switch off a user's guards.
_AUTHORITY = {
    ConfigSource.POLICY: 4,
    ConfigSource.SYSTEM: 3,
    ConfigSource.USER: 2,
    ConfigSource.PROJECT: 1,
    ConfigSource.EXTENSIONS: 1,
}
_TOP_LEVEL_KEYS = ("enableHooks", "hooks", "hooksConfig", "use")
# A project inside another one can't undo what the outer one decides.
_NESTED_RANK = 0
# The program could ignore every verdict anyway, and no project may undo the guards that it brings itself.
PROGRAM_RANK = _AUTHORITY[ConfigSource.SYSTEM]


def authority(layer: Layer) -> int:
    """The rank of a layer and of its hooks; layers given by name or in code all have the same."""
    return _AUTHORITY[layer.source] if layer.project is None else _NESTED_RANK


def by_authority(layers: Sequence[Layer]) -> list[Layer]:
    """The layers, the most trusted first."""
    return sorted(layers, key=authority, reverse=True)


def hooks_enabled(layers: Sequence[Layer]) -> tuple[bool, tuple[Problem, ...]]:
    """Whether hooks are enabled at all, and what is wrong with how that is configured."""
    problems: list[Problem] = []
    return _enabled(layers, problems, otherwise=any(layer.policy is not None for layer in layers)), tuple(problems)


def local_hooks_enabled(layers: Sequence[Layer]) -> bool:
    """Whether hooks besides those of a policy are enabled: a policy enables its own by being there."""
    return _enabled(layers, [], otherwise=False)


def _enabled(layers: Sequence[Layer], problems: list[Problem], *, otherwise: bool) -> bool:
    words: dict[bool, bool] = {}
    for layer in by_authority(layers):
        if (word := _enabled_in(layer, problems)) is not None:
            words.setdefault(layer.policy is not None, word)
    # Only the policy itself can switch its own hooks off.
    return words.get(True, otherwise or words.get(False, False))


def policy_problems(layers: Sequence[Layer]) -> tuple[Problem, ...]:
    """Return the warnings about the policy; not errors, because the policy's own settings decide what follows."""
    found = ((layer, words) for layer in layers if layer.policy is not None for words in layer.policy.warnings)
    return tuple(Problem(origin=layer.origin, path="", message=words) for layer, words in found)


def without_effect(layers: Sequence[Layer]) -> tuple[Problem, ...]:
    """Return the settings that have no effect: another agent's switch, and hooks that nothing enables."""
    try:
        switches = [problem for layer in layers for problem in others_switch(layer)]
        own = [layer for layer in layers if layer.policy is None]
        return (*switches, *(() if local_hooks_enabled(layers) else _all_off(own)))
    except Exception:  # noqa: BLE001 - settings in code can be anything; decoding them reports it
        return ()


def _all_off(layers: Sequence[Layer]) -> tuple[Problem, ...]:
    counts = [(layer, count) for layer in layers if (count := _count_hooks(layer.values))]
    if not counts:
        return ()
    total = sum(count for _, count in counts)
    words = f"{total} hook{'' if total == 1 else 's'} configured, all off"
    refusing = next((layer for layer in by_authority(layers) if _enabled_in(layer, []) is False), None)
    if refusing is not None:
        return (refusing.problem((), f"{words}: enableHooks is false here"),)
    own = next((layer for layer, _ in counts if layer.dialect == OWN_DIALECT), None)
    where = "" if own is not None else " in a settings file of yours"
    return ((own or counts[0][0]).problem((), f'{words}: set "enableHooks": true{where}'),)


def _count_hooks(values: Mapping[str, Any]) -> int:
    """How many hooks and packs raw settings have, as far as they have the right shape."""
    hooks, packs = values.get("hooks"), values.get("use")
    lists = [groups for groups in hooks.values() if isinstance(groups, list)] if isinstance(hooks, Mapping) else []
    members = [group.get("hooks") for groups in lists for group in groups if isinstance(group, Mapping)]
    return sum(len(each) for each in (*members, packs) if isinstance(each, list))


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
    """Whether the settings choose which other agents' files are read, even none."""
    return any(_dialects_in(layer) is not None for layer in layers)


def named_dialects(layers: Sequence[Layer]) -> tuple[str, ...]:
    """The other agents whose files shall be read; from the raw settings, because it decides what else is read."""
    named = [name for layer in layers for name in _dialects_in(layer) or ()]
    return tuple(dialect for dialect in registry.FOREIGN_DIALECTS if dialect in named) if named else ()


def _dialects_in(layer: Layer) -> Sequence[Any] | None:
    options = layer.values.get("hooksConfig") if may_name_dialects(layer) else None
    given = options.get("dialects") if isinstance(options, Mapping) else None
    return given if isinstance(given, list | tuple) else None


def others_switch(layer: Layer) -> Iterator[Problem]:
    """That Gemini CLI's switch does nothing here."""
    options = layer.values.get("hooksConfig")
    if layer.dialect == OWN_DIALECT and isinstance(options, Mapping) and "enabled" in options:
        message = "is Gemini CLI's switch and has no effect here; use enableHooks, at the top of the file"
        yield layer.problem(("hooksConfig", "enabled"), message)


def misplaced_keys(layer: Layer) -> Iterator[Problem]:
    """Yield the ignored keys that look like hookline's, each with a suggestion; other keys belong to other programs."""
    for key in map(str, layer.values):
        meant = nearest(key, _TOP_LEVEL_KEYS, cutoff=0.8)
        if key in set(HookEventName):
            yield layer.problem((key,), f'is ignored here; put it inside "hooks": {{"{key}": …}}')
        elif key == "disableAllHooks":  # Claude Code's
            advice = 'write "enableHooks": false' if layer.values[key] else "remove it"
            yield layer.problem((key,), f"is ignored; {advice}")
        elif meant and key not in _TOP_LEVEL_KEYS:
            yield layer.problem((key,), f"is ignored; did you mean {meant}?")


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
