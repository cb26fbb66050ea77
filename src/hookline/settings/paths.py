"""Where the three settings files live."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hookline.contract.hooks import ConfigSource

_FOLDER = ".llxprt"
_FILE = "settings.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsPaths:
    """The settings files of a project, its user and the system."""

    project: Path
    user: Path
    system: Path
    environ: Mapping[str, str] | None = field(default=None, repr=False, compare=False)
    """Where variables that move other agents' files are looked up, such as CODEX_HOME; None is this program's own."""

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
    home = Path(env["HOME"]) if env.get("HOME") else Path("~").expanduser()

    def place(variable: str, usual: Path) -> Path:
        return Path(env[variable]) if env.get(variable) else usual

    return SettingsPaths(
        project=place("HOOKLINE_PROJECT_SETTINGS", Path(working_dir) / _FOLDER / _FILE),
        user=place("HOOKLINE_USER_SETTINGS", home / _FOLDER / _FILE),
        system=place("HOOKLINE_SYSTEM_SETTINGS", Path("/etc/llxprt-code") / _FILE),
        environ=environ,
    )
