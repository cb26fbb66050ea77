"""Which project a directory belongs to."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from hookline.settings.read.project import find_project


def settings_in(folder: Path) -> Path:
    file = folder / ".llxprt" / "settings.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"enableHooks": True}))
    return file


@pytest.fixture
def below(project: Path) -> Path:
    """A directory two levels below the project."""
    path = project / "src" / "deep"
    path.mkdir(parents=True)
    return path


def test_a_directory_with_settings_is_the_project(project: Path, below: Path) -> None:
    """The nearest one counts, and that is the directory itself if it has some."""
    settings_in(project)
    settings_in(below)
    assert find_project(str(below)) == (str(below), False, None, True)


def test_a_parents_settings_are_found(project: Path, below: Path) -> None:
    """Also above directories that are not projects."""
    settings_in(project)
    assert find_project(str(below)) == (str(project), True, None, True)


def test_nothing_is_found_where_nothing_is(below: Path) -> None:
    """Then the directory itself is the project."""
    assert find_project(str(below)) == (str(below), False, None, False)


@pytest.mark.parametrize("kind", ["directory", "file"])
def test_the_search_ends_at_the_repository(kind: str, project: Path, below: Path) -> None:
    """Directories above the root belong to another project; a worktree has a file `.git`."""
    settings_in(project)
    git = below.parent / ".git"
    git.mkdir() if kind == "directory" else git.write_text("gitdir: elsewhere")
    assert find_project(str(below)) == (str(below), False, None, False)
    settings_in(below.parent)
    assert find_project(str(below)) == (str(below.parent), True, None, True)


def test_the_search_ends_at_home(own_home: Path) -> None:
    """The file in the home directory is the user's own, and what is above it belongs to others."""
    settings_in(own_home)
    below = own_home / "work" / "deep"
    below.mkdir(parents=True)
    assert find_project(str(below)) == (str(below), False, None, False)
    assert find_project(str(own_home)) == (str(own_home), False, None, False)


@pytest.mark.parametrize("part", [".", ".llxprt", ".llxprt/settings.json"])
def test_a_strangers_settings_are_not_used(
    part: str, project: Path, below: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In /tmp every user can make a directory `.llxprt`; the reason names the option to use it."""
    file = settings_in(project)
    stranger = project / part
    real = os.lstat

    def lstat(path: str, **options: Any) -> os.stat_result:
        status = real(path, **options)
        return os.stat_result((*status[:4], 12345, *status[5:])) if Path(path) == stranger else status

    monkeypatch.setattr(os, "lstat", lstat)
    found = find_project(str(below))
    assert (found.directory, found.is_parent) == (str(below), False)
    assert str(found.refused) == (
        f"{file} is not used here, because {stranger} belongs to another user (uid 12345); "
        f"to use it: --project {project}"
    )


def test_settings_that_were_moved_are_not_looked_for(project: Path, below: Path) -> None:
    """A variable says where the project's file is."""
    settings_in(project)
    environ = {"HOOKLINE_PROJECT_SETTINGS": "/elsewhere.json"}
    assert find_project(str(below), environ) == (str(below), False, None, True)
