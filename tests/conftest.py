import os
import stat
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

# A slow machine is not a fault of the code: each test has its own time limit anyway.
hypothesis.settings.register_profile(
    "hookline", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], print_blob=True
)
hypothesis.settings.load_profile("hookline")

HookScript = Callable[..., Path]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test has a home, a state directory and settings files of its own; the real ones are out of reach."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("HOOKLINE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("HOOKLINE_SYSTEM_SETTINGS", str(tmp_path / "etc" / "settings.json"))
    for name in list(os.environ):
        if name.endswith("_PROJECT_DIR") or name in ("HOOKLINE_USER_SETTINGS", "HOOKLINE_PROJECT_SETTINGS"):
            monkeypatch.delenv(name)
    return home


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty project directory."""
    path = tmp_path / "project"
    path.mkdir()
    return path


@pytest.fixture
def hook_script(tmp_path: Path) -> HookScript:
    """Writes an executable script: a shell script from its lines, or any text that starts with `#!`."""

    def write(body: str, name: str = "hook.sh") -> Path:
        path = tmp_path / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(body if body.startswith("#!") else f"#!/bin/sh\n{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return write
