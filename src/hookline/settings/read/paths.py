"""Where the three settings files live."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from hookline.protocol.constants import ConfigSource
from hookline.settings.read.files import read_layer

_FOLDER = ".llxprt"
_FILE = "settings.json"
PROJECT_FILE = f"{_FOLDER}/{_FILE}"
SYSTEM_FILE = Path("/etc/llxprt-code") / _FILE
_SYSTEM_VARIABLE = "HOOKLINE_SYSTEM_SETTINGS"


class SettingsPaths(NamedTuple):
    """The settings files of a project, its user and the system."""

    project: Path
    user: Path
    system: Path
    environ: Mapping[str, str] | None = None
    """Where variables that move other agents' files are looked up, such as CODEX_HOME; None is this program's own."""
    nested: tuple[Path, ...] = ()
    """The settings files of projects inside the project, whose hooks run as well."""
    refused: str | None = None
    """Why an environment variable does not move the system's file, or None."""

    def __repr__(self) -> str:
        # Not the environment: it may have secrets.
        return f"SettingsPaths(project={self.project!r}, user={self.user!r}, system={self.system!r})"

    @property
    def canary(self) -> Path:
        """Where `hookline doctor --prove` puts its canary, beside the user's settings."""
        return self.user.with_name("hookline-canary.json")

    def by_source(self) -> tuple[tuple[ConfigSource, Path], ...]:
        """The files with their sources, most specific first."""
        return (
            (ConfigSource.PROJECT, self.project),
            (ConfigSource.USER, self.user),
            (ConfigSource.SYSTEM, self.system),
        )


def default_paths(working_dir: str | Path, environ: Mapping[str, str] | None = None) -> SettingsPaths:
    """The usual places, each of which an environment variable can move; but not a system's file with a policy."""
    env = os.environ if environ is None else environ
    home = home_of(env)

    def place(variable: str, usual: Path) -> Path:
        return Path(env[variable]) if env.get(variable) else usual

    refused = _why_unmovable(env[_SYSTEM_VARIABLE]) if env.get(_SYSTEM_VARIABLE) else None
    return SettingsPaths(
        project=place("HOOKLINE_PROJECT_SETTINGS", Path(working_dir) / _FOLDER / _FILE),
        user=place("HOOKLINE_USER_SETTINGS", home / _FOLDER / _FILE),
        system=SYSTEM_FILE if refused is not None else place(_SYSTEM_VARIABLE, SYSTEM_FILE),
        environ=environ,
        refused=refused,
    )


def _why_unmovable(given: str) -> str | None:
    """Return why a variable can't move the system's file, or None.

    An agent that writes a shell's start-up file could set the variable, and a company's guards would be gone
    unnoticed. A file that can't be read may name a policy.
    """
    system = read_layer(SYSTEM_FILE, ConfigSource.SYSTEM)
    options = system.values.get("hooksConfig")
    names_policy = isinstance(options, Mapping) and options.get("policy") is not None
    if not names_policy and not any(problem.is_error for problem in system.problems):
        return None
    why = "names a company's policy" if names_policy else "can't be read, and may name a company's policy"
    return f"{_SYSTEM_VARIABLE} ({given}) is not used, because {SYSTEM_FILE} {why}; unset it"


def home_of(environ: Mapping[str, str]) -> Path:
    """The user's home directory."""
    return Path(environ["HOME"]) if environ.get("HOME") else Path("~").expanduser()
