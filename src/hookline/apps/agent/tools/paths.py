"""Resolves paths of the model, and checks whether they are inside the project."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hookline.apps.agent.tool import ToolContext

_PATH_ARGUMENTS = ("file_path", "path", "directory")


def locate(path: str, context: ToolContext) -> Path:
    """Return the absolute path, relative to the project; links are not resolved."""
    if path == "~" or path.startswith("~/"):
        path = context.environ.get("HOME", "~") + path[1:]
    return Path(os.path.normpath(context.project / path))


def leaves_project(arguments: Mapping[str, Any], context: ToolContext) -> bool:
    """Return True if any path argument leads out of the project, links included."""
    return any(is_outside(path, context) for path in path_arguments(arguments))


def path_arguments(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield the arguments that are paths."""
    given = (arguments.get(name) for name in _PATH_ARGUMENTS)
    return (path for path in given if isinstance(path, str))


def short(path: str, context: ToolContext) -> str:
    """Return a path for the user: relative inside the project, `~/…` inside the home directory."""
    home = context.environ.get("HOME", "").rstrip("/")
    for base, prefix in ((os.path.normpath(context.project), ""), (home, "~/")):
        if base.strip("/") and path.startswith(f"{base}/"):
            return prefix + (path.removeprefix(f"{base}/") or ".")
    return path


def with_short_paths(arguments: Mapping[str, Any], context: ToolContext) -> Mapping[str, Any]:
    """Return the arguments with short paths."""
    paths = {name: short(path, context) for name in _PATH_ARGUMENTS if isinstance(path := arguments.get(name), str)}
    return {**arguments, **paths}


def shown(path: Path, context: ToolContext) -> str:
    """Return a path for messages: relative inside the project."""
    project = os.path.normpath(context.project)
    name = os.path.relpath(path, project) if path.is_relative_to(project) else str(path)
    return "the project's directory" if name == "." else printable(name)


def missing(path: Path, context: ToolContext) -> str:
    """Return the message about a missing file, with the nearest directory that exists."""
    parent = path.parent
    while not parent.is_dir():
        parent = parent.parent
    return f"There is no {shown(path, context)}; the nearest directory that exists is {shown(parent, context)}."


def printable(text: str) -> str:
    """Replace bytes of file names that are not UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def is_outside(path: str, context: ToolContext) -> bool:
    """Return True if a path leads out of the project, links included."""
    real = resolved(path, context)
    return real is None or not Path(real).is_relative_to(os.path.realpath(context.project))


def resolved(path: str, context: ToolContext) -> str | None:
    """Return the real path as first resolved in this call, or None if it can't be resolved."""
    if (known := context.real_paths.get(path)) is not None:
        return known
    try:
        real = os.path.realpath(locate(path, context))
        if os.path.islink(real):  # links in a circle can't be resolved
            return None
    except (OSError, ValueError):
        return None
    return context.real_paths.setdefault(path, real)


def real_path(path: str, context: ToolContext) -> str:
    """Return the real path to open. Raises OSError or ValueError if it can't be resolved."""
    return resolved(path, context) or os.path.realpath(locate(path, context), strict=True)


def resolve_paths(arguments: Mapping[str, Any], context: ToolContext) -> None:
    """Resolve the path arguments, so that every later check and the tool use the same real paths."""
    for path in path_arguments(arguments):
        resolved(path, context)
