"""Which project a directory belongs to: itself, or the nearest parent that has settings."""

import os
from collections.abc import Mapping
from typing import NamedTuple

from hookline.settings.read.paths import PROJECT_FILE, home_of


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
    """The nearest directory with a project's settings, from `start` up to the repository's root.

    The home directory is not a project: its settings are the user's. Settings in a parent that somebody
    else could have put there are not used, such as those in /tmp.
    """
    env = os.environ if environ is None else environ
    here = FoundProject(os.path.abspath(start), has_settings=False)  # noqa: PTH100 - not resolved
    if env.get("HOOKLINE_PROJECT_SETTINGS"):
        return here._replace(has_settings=True)
    home = os.path.realpath(home_of(env))
    directory = here.directory
    while os.path.realpath(directory) != home:
        file = os.path.join(directory, PROJECT_FILE)  # noqa: PTH118 - as text
        if os.path.lexists(file):
            is_parent = directory != here.directory
            fault = _fault(directory, file) if is_parent else None
            if fault is not None:
                return here._replace(
                    refused=f"{file} is not used here, because {fault}; to use it: --project {directory}"
                )
            return FoundProject(directory, is_parent)
        above = os.path.dirname(directory)  # noqa: PTH120 - as text
        if above == directory or os.path.lexists(os.path.join(directory, ".git")):  # noqa: PTH118 - as text
            break
        directory = above
    return here


def find_projects(start: str, root: str | None, environ: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """The project of an agent that works in `start`, and the projects inside of it whose guards count as well.

    The root that the agent names comes first. Neither a repository nor settings in a directory below it, which an agent
    could make itself, put the guards of an outer project out of force whose hooks the user has trusted.
    """
    named = root if root and os.path.isabs(root) and os.path.isdir(root) else start  # noqa: PTH112, PTH117 - as text
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


def _with_settings(start: str, environ: Mapping[str, str]) -> list[str]:
    """The directory and its parents that have a project's settings, the innermost first.

    If a link leads to the directory, its real parents follow: a link must not lift their guards.
    """
    home = os.path.realpath(home_of(environ))
    found: dict[str, str] = {}
    for first in dict.fromkeys((os.path.abspath(start), os.path.realpath(start))):  # noqa: PTH100 - not resolved
        directory = first
        while (real := os.path.realpath(directory)) != home:
            file = os.path.join(directory, PROJECT_FILE)  # noqa: PTH118 - as text
            if os.path.lexists(file) and (directory == start or _fault(directory, file) is None):
                found.setdefault(real, directory)
            if (above := os.path.dirname(directory)) == directory:  # noqa: PTH120 - as text
                break
            directory = above
    return list(found.values())


def _trusted(directories: list[str]) -> list[str]:
    """Return the directories in which the user has trusted a hook."""
    from hookline.settings.trust.store import TrustStore, default_trust_path  # noqa: PLC0415 - most projects are not nested

    store = TrustStore(default_trust_path())
    return [one for one in directories if store.knows(one)]


def _fault(directory: str, file: str) -> str | None:
    """Return why a parent's settings might be another user's, or None."""
    for path in (directory, os.path.dirname(file), file):  # noqa: PTH120 - as text
        try:
            owner = os.lstat(path).st_uid
        except OSError as error:
            return f"{path} can't be looked at ({error.strerror})"
        if owner not in (0, os.geteuid()):
            return f"{path} belongs to another user (uid {owner})"
    return None
