"""Which project a directory belongs to: itself, or the nearest parent that has settings."""

import os
from collections.abc import Mapping
from typing import NamedTuple

from hookline.settings.paths import PROJECT_FILE, home_of


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

    The home directory is no project of what is in it: its settings are the user's. Settings in a parent that somebody
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


def _fault(directory: str, file: str) -> str | None:
    """Why a parent's settings might be somebody else's, or None."""
    for path in (directory, os.path.dirname(file), file):  # noqa: PTH120 - as text
        try:
            owner = os.lstat(path).st_uid
        except OSError as error:
            return f"{path} can't be looked at ({error.strerror})"
        if owner not in (0, os.geteuid()):
            return f"{path} belongs to another user (uid {owner})"
    return None
