"""Which project a directory belongs to: itself, or the nearest parent that has settings."""

import os
from collections.abc import Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hookline.extensions import lazy_module
from hookline.settings.read.paths import PROJECT_FILE, home_of

if TYPE_CHECKING:
    from hookline.settings.trust import store as trust
else:
    trust = lazy_module("hookline.settings.trust.store")  # most projects are not nested


class FoundProject(NamedTuple):
    """The project of a directory."""

    directory: str
    """Absolute, and not resolved."""
    is_parent: bool = False
    refused: str | None = None
    """Why the settings of a parent are not used, if there are some."""
    has_settings: bool = True
    """False outside of any project: then the directory is only the one that was asked for."""


def find_project(start: str, environ: Mapping[str, str] | None = None) -> FoundProject:
    """Return the nearest directory with a project's settings, from `start` up to the repository's root.

    The home directory is not a project: its settings are the user's. Settings in a parent that another user could have
    put there are not used, such as those in /tmp.
    """
    env = os.environ if environ is None else environ
    directory = _absolute(start)
    here = FoundProject(str(directory), has_settings=False)
    if env.get("HOOKLINE_PROJECT_SETTINGS"):
        return here._replace(has_settings=True)
    for folder in _below_home(directory, env):
        file = folder / PROJECT_FILE
        if os.path.lexists(file):
            is_parent = folder != directory
            fault = _fault(folder, file) if is_parent else None
            if fault is not None:
                return here._replace(refused=f"{file} is not used here, because {fault}; to use it: --project {folder}")
            return FoundProject(str(folder), is_parent)
        if os.path.lexists(folder / ".git"):
            break
    return here


def find_projects(start: str, root: str | None, environ: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """The project of an agent that works in `start`, and the projects inside of it whose guards count as well.

    The root that the agent names comes first. Neither a repository nor settings in a directory below it, which an agent
    could make itself, put the guards of an outer project out of force whose hooks the user has trusted.
    """
    named = root if root and root.startswith("/") and Path(root).is_dir() else start
    usual = find_project(named, environ)
    if environ.get("HOOKLINE_PROJECT_SETTINGS"):
        return usual.directory, ()
    above = _with_settings(named, environ)
    trusted = _trusted(above) if any(one != usual.directory for one in above) else []
    outer = trusted[-1] if trusted else usual.directory
    inside = [one for one in above if one != outer and (one in trusted or is_below(one, outer))]
    inside += [one for one in _with_settings(start, environ) if one != outer and one not in above]
    return outer, tuple(inside)


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a directory or something in it, without a look at links."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _absolute(path: str) -> Path:
    return Path(os.path.abspath(path))  # without `..`, and not resolved


def _below_home(directory: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield a directory and its parents, as far as they are not the home directory."""
    home = os.path.realpath(home_of(environ))
    return takewhile(lambda folder: os.path.realpath(folder) != home, (directory, *directory.parents))


def _with_settings(start: str, environ: Mapping[str, str]) -> list[str]:
    """Return the directory and its parents that have a project's settings, the innermost first.

    If a link leads to the directory, its real parents follow: a link must not lift their guards.
    """
    found: dict[str, str] = {}
    for first in (_absolute(start), Path(os.path.realpath(start))):
        for folder in _below_home(first, environ):
            file = folder / PROJECT_FILE
            if os.path.lexists(file) and (str(folder) == start or _fault(folder, file) is None):
                found.setdefault(os.path.realpath(folder), str(folder))
    return list(found.values())


def _trusted(directories: list[str]) -> list[str]:
    """Return the directories in which the user has trusted a hook."""
    store = trust.TrustStore(trust.default_trust_path())
    return [one for one in directories if store.knows(one)]


def _fault(directory: Path, file: Path) -> str | None:
    """Return why a parent's settings might be another user's, or None."""
    for path in (directory, file.parent, file):
        try:
            owner = os.lstat(path).st_uid
        except OSError as error:
            return f"{path} can't be looked at ({error.strerror})"
        if owner not in (0, os.geteuid()):
            return f"{path} belongs to another user (uid {owner})"
    return None
