"""The hooks of Claude Code's plugins: those that its settings enable, from where they are installed."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

from hookline.protocol.answers import kind_of
from hookline.protocol.constants import ConfigSource
from hookline.settings.read.files import Layer, read_layer
from hookline.settings.read.merge import by_authority
from hookline.settings.read.source import FileWatch

_USUAL_FILE = "hooks/hooks.json"
_MANIFEST = ".claude-plugin/plugin.json"


def plugin_layers(settings: Sequence[Layer], project: Path, folder: Path, watch: FileWatch) -> Iterator[Layer]:
    """The hook files of the plugins that Claude Code's settings enable; `folder` is where its list of plugins is.

    A plugin has the source and the trust of the most trusted file that enables it.
    """
    for layer in settings:
        if not isinstance(given := layer.values.get("enabledPlugins"), Mapping | None):
            message = f"is {kind_of(given)}, expected an object, so no plugin of it is read; fix it"
            problem = layer.problem(("enabledPlugins",), message, is_error=True)
            yield Layer(source=layer.source, origin=layer.origin, dialect="claude", problems=(problem,))
    enabled = _enabled_plugins(settings)
    if not enabled:
        return
    file = folder / "installed_plugins.json"
    installed = watch.read(file, lambda path: read_layer(path, ConfigSource.USER, dialect="claude"))
    yield installed._replace(values={})
    plugins = installed.values.get("plugins")
    for name, layer in enabled.items():
        root = _root_of(plugins.get(name) if isinstance(plugins, Mapping) else None, project)
        if root is None:
            message = f"enables a plugin that {file} does not list, so its hooks do not run"
            problem = layer.problem(("enabledPlugins", name), f"{message}; install or disable it")
            yield Layer(source=layer.source, origin=f"plugin {name}", dialect="claude", problems=(problem,))
        else:
            yield from _plugin(root, layer, watch)


def _enabled_plugins(settings: Sequence[Layer]) -> dict[str, Layer]:
    """The enabled plugins, each with the most trusted file that enables it. A project's `false` disables nothing."""
    found: dict[str, Layer] = {}
    for layer in by_authority(settings):
        given = layer.values.get("enabledPlugins")
        for name, value in given.items() if isinstance(given, Mapping) else ():
            if value not in (False, None) and name not in found:
                found[str(name)] = layer
    return found


def _root_of(installations: Any, project: Path) -> Path | None:
    """Where a plugin is installed for a project: the list has one place, or one for each scope."""
    places = installations if isinstance(installations, list) else [installations]
    usable = [place for place in places if isinstance(place, Mapping) and _is_place(place.get("installPath"))]
    here = os.path.realpath(project)
    # The project's own copy first, then one for all projects.
    for place in sorted(usable, key=lambda place: place.get("projectPath") is None):
        other = place.get("projectPath")
        if not _is_place(other) or os.path.realpath(other) == here:
            return Path(place["installPath"])
    return None


def _is_place(path: Any) -> TypeGuard[str]:
    return isinstance(path, str) and path.startswith("/") and "\0" not in path


def _plugin(root: Path, enabling: Layer, watch: FileWatch) -> Iterator[Layer]:
    def read(path: Path) -> Layer:
        env = {"CLAUDE_PLUGIN_ROOT": str(root)}
        return read_layer(path, enabling.source, is_guest=enabling.is_guest, dialect="claude", env=env)

    manifest = watch.read(root / _MANIFEST, read)
    given = manifest.values.get("hooks")
    # The manifest may have hooks in it, or name files beside the usual one.
    inline = given.get("hooks", given) if isinstance(given, Mapping) else None
    named = given if isinstance(given, list) else [] if given is None or inline is not None else [given]
    files = {name: Path(os.path.normpath(root / name)) for name in named if isinstance(name, str) and "\0" not in name}
    inside = {name: file for name, file in files.items() if file.is_relative_to(os.path.normpath(root))}
    lost = [name for name in named if not isinstance(name, str) or name not in inside or not inside[name].is_file()]
    problems = tuple(
        manifest.problem(
            ("hooks",), f"names {name!r}, which is not a file of the plugin, so its hooks do not run; fix it"
        )
        for name in lost
    )
    hooks = {} if inline is None else {"hooks": inline}
    yield manifest._replace(values=hooks, problems=(*manifest.problems, *problems))
    for file in dict.fromkeys((root / _USUAL_FILE, *inside.values())):
        yield watch.read(file, read)
