"""The settings files of other agents, read in place: their hooks, and what switches hooks off there."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from hookline.dialects.files import AGENT_FILES, AgentFile, agent_home, path_of
from hookline.dialects.registry import FOREIGN_DIALECTS, dialect_of
from hookline.protocol.constants import ConfigSource
from hookline.settings.agents.plugins import plugin_layers
from hookline.settings.decode.settings import decode_settings
from hookline.settings.read.files import NOTHING_RUNS, Layer, Problem, read_layer
from hookline.settings.read.merge import authority
from hookline.settings.read.source import FileWatch

# The keys beside the events in `hooks`.
_NO_EVENTS: Mapping[str, frozenset[str]] = {
    "claude": frozenset(),
    "codex": frozenset(("state", "managed_dir", "windows_managed_dir", "allow_managed_hooks_only")),
    "gemini": frozenset(("enabled", "disabled", "notifications")),
}


def read_agents(
    dialects: Iterable[str], project: Path, environ: Mapping[str, str], watch: FileWatch
) -> tuple[Layer, ...]:
    """The layers of all files of these agents, a project's first; a file that does not exist is an empty layer."""
    return tuple(layer for dialect in dialects for layer in _agent_layers(dialect, project, environ, watch))


class UnreadAgent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that has hooks here which are not read."""

    dialect: str
    agent: str
    """Its name, for people."""
    files: tuple[str, ...]
    hooks: int
    is_in_project: bool
    """Whether some of these files are the project's."""


def unread_agents(read: Collection[str], project: Path, environ: Mapping[str, str]) -> tuple[UnreadAgent, ...]:
    """The agents besides these that have hooks in their files; hookline's own bridge is not included."""
    found = []
    for dialect in (name for name in FOREIGN_DIALECTS if name not in read):
        layers = read_agents((dialect,), project, environ, FileWatch())
        settings = decode_settings(layers)
        files = [hook.origin for hook in settings.hooks] + [hook.origin for hook in settings.unused]
        guests = {layer.origin for layer in layers if layer.is_guest}
        if files:
            unread = UnreadAgent(
                dialect=dialect,
                agent=dialect_of(dialect).agent,
                files=tuple(dict.fromkeys(files)),
                hooks=len(files),
                is_in_project=not guests.isdisjoint(files),
            )
            found.append(unread)
    return tuple(found)


def read_as(dialect: str, path: Path, source: ConfigSource, *, is_guest: bool = False) -> Layer:
    """One file of an agent, wherever it is."""
    return _in_our_shape(read_layer(path, source, is_guest=is_guest, dialect=dialect))


def _agent_layers(dialect: str, project: Path, environ: Mapping[str, str], watch: FileWatch) -> Iterator[Layer]:
    found: list[Layer] = []
    for file, path in agent_paths(dialect, project, environ):
        try:
            files = _files_in(path, watch) if file.is_directory else [path]
        except OSError as error:
            message = f"can't be listed ({error.strerror}), {NOTHING_RUNS}; check its permissions"
            problem = Problem(origin=str(path), path="", message=message, is_error=True)
            found.append(Layer(source=file.source, origin=str(path), dialect=dialect, problems=(problem,)))
        else:
            found += [watch.read(each, _reader(file)) for each in files]
    yield from map(_in_our_shape, found)
    if dialect == "claude":
        for layer in plugin_layers(found, project, agent_home(dialect, environ) / "plugins", watch):
            yield _in_our_shape(layer)


def agent_paths(dialect: str, project: Path, environ: Mapping[str, str]) -> Iterator[tuple[AgentFile, Path]]:
    """The files of an agent; in the home directory the project's file is the user's own, which needs no trust."""
    files = [(file, path_of(file, project, environ).absolute()) for file in AGENT_FILES if file.dialect == dialect]
    more_trusted = {os.path.realpath(path) for file, path in files if file.source is not ConfigSource.PROJECT}
    for file, path in files:
        if file.source is not ConfigSource.PROJECT or os.path.realpath(path) not in more_trusted:
            yield file, path


def _reader(file: AgentFile) -> Callable[[Path], Layer]:
    is_guest = file.source is ConfigSource.PROJECT
    return lambda path: read_layer(path, file.source, is_guest=is_guest, dialect=file.dialect)


def _files_in(directory: Path, watch: FileWatch) -> list[Path]:
    watch.watch(directory)
    try:
        return sorted(path for path in directory.iterdir() if path.suffix == ".json")
    except (FileNotFoundError, NotADirectoryError):
        return []


def _in_our_shape(layer: Layer) -> Layer:
    """Return the layer with only the values about hooks, under hookline's keys.

    Everything else in such a file belongs to the other agent: no option applies here, whatever its name.
    """
    given, values = layer.values, {}
    hooks = given.get("hooks")
    if isinstance(hooks, Mapping):
        values["hooks"] = {name: groups for name, groups in hooks.items() if name not in _NO_EVENTS[layer.dialect]}
    elif hooks is not None:
        values["hooks"] = hooks
    if disabled := _disabled_names(layer):
        values["hooksConfig"] = {"disabled": disabled}
    return layer._replace(values=values, silences_below=_silences_below(layer))


def _disabled_names(layer: Layer) -> list[str]:
    if layer.dialect != "gemini":
        return []
    # Older files have it inside `hooks`.
    lists = [_object(layer.values, place).get("disabled") for place in ("hooksConfig", "hooks")]
    return [name for names in lists if isinstance(names, list) for name in names if isinstance(name, str)]


def _silences_below(layer: Layer) -> int:
    """Return the authority below which this file disables hooks: above its own if it disables all, else its own or 0.

    Unlike in those agents, a less trusted file never disables a more trusted one. A value that is neither true nor
    false is ignored: an extra guard is safer than a missing one.
    """
    given, own = layer.values, authority(layer)
    switches = {
        "claude": given.get("disableAllHooks") is True,
        "codex": False,
        "gemini": any(_object(given, place).get("enabled") is False for place in ("hooksConfig", "hooks")),
    }
    if switches[layer.dialect]:
        return own + 1
    only_managed = (
        given.get("allowManagedHooksOnly"),
        given.get("allow_managed_hooks_only"),
        _object(given, "hooks").get("allow_managed_hooks_only"),
    )
    return own if layer.source is ConfigSource.SYSTEM and True in only_managed else 0


def _object(values: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = values.get(key)
    return value if isinstance(value, Mapping) else {}
