"""Where the three settings files live."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from hookline.contract.vocabulary import ConfigSource

_FOLDER = ".llxprt"
_FILE = "settings.json"
PROJECT_FILE = f"{_FOLDER}/{_FILE}"


class SettingsPaths(NamedTuple):
    """The settings files of a project, its user and the system."""

    project: Path
    user: Path
    system: Path
    environ: Mapping[str, str] | None = None
    """Where variables that move other agents' files are looked up, such as CODEX_HOME; None is this program's own."""

    def __repr__(self) -> str:
        # Not the environment: it may have secrets.
        return f"SettingsPaths(project={self.project!r}, user={self.user!r}, system={self.system!r})"

    @property
    def canary(self) -> Path:
        """Where `hookline prove` puts its canary, beside the user's settings."""
        return self.user.with_name("hookline-canary.json")

    def by_source(self) -> tuple[tuple[ConfigSource, Path], ...]:
        """The files with their sources, most specific first."""
        return (
            (ConfigSource.PROJECT, self.project),
            (ConfigSource.USER, self.user),
            (ConfigSource.SYSTEM, self.system),
        )


def default_paths(working_dir: str | Path, environ: Mapping[str, str] | None = None) -> SettingsPaths:
    """The usual places, each of which an environment variable can move."""
    env = os.environ if environ is None else environ
    home = home_of(env)

    def place(variable: str, usual: Path) -> Path:
        return Path(env[variable]) if env.get(variable) else usual

    return SettingsPaths(
        project=place("HOOKLINE_PROJECT_SETTINGS", Path(working_dir) / _FOLDER / _FILE),
        user=place("HOOKLINE_USER_SETTINGS", home / _FOLDER / _FILE),
        system=place("HOOKLINE_SYSTEM_SETTINGS", Path("/etc/llxprt-code") / _FILE),
        environ=environ,
    )


def home_of(environ: Mapping[str, str]) -> Path:
    """The user's home directory."""
    return Path(environ["HOME"]) if environ.get("HOME") else Path("~").expanduser()
