"""The pytest plugin: fixtures for tests of hooks, and of agents with hooks.

pytest loads this module in every run of an environment that has hookline, so nothing of hookline is imported here
before a fixture is used. PYTEST_DONT_REWRITE
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from hookline.testing.hooks import MakeHooks

# Variables that lead to the settings of the user who runs the tests.
_OTHERS = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_SYSTEM_SETTINGS_PATH")
_SETTINGS = ("HOOKLINE_USER_SETTINGS", "HOOKLINE_PROJECT_SETTINGS")


@pytest.fixture
def hookline_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory of the test's own; settings, trust and log of the real one are out of reach."""
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("HOOKLINE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("HOOKLINE_SYSTEM_SETTINGS", str(tmp_path / "etc" / "settings.json"))
    monkeypatch.setenv("HOOKLINE_ETC", str(tmp_path / "etc"))
    # No server that outlives the test.
    monkeypatch.setenv("HOOKLINE_SERVE", "0")
    for name in list(os.environ):
        if name in _OTHERS or name in _SETTINGS or name.endswith("_PROJECT_DIR"):
            monkeypatch.delenv(name)
    return home


@pytest.fixture
def hookline_project(hookline_home: Path, tmp_path: Path) -> Path:
    """An empty project directory, with a home of the test's own."""
    del hookline_home
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    return project


@pytest.fixture
def hookline_hooks(hookline_project: Path) -> "Iterator[MakeHooks]":
    """Makes `Hooks` in the project, with settings in code if given, which log to memory; closed after the test."""
    from hookline.testing.hooks import MakeHooks  # noqa: PLC0415 - only tests that use it pay for it

    maker = MakeHooks(hookline_project)
    yield maker
    maker.close()
