"""Which files other agents keep their hooks in: one row for each file."""

import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from hookline.protocol.constants import ConfigSource


class AgentFile(msgspec.Struct, frozen=True, kw_only=True):
    """One settings file of another agent."""

    dialect: str
    source: ConfigSource
    name: str
    """Below the project, the agent's own directory in the home, or its directory of the system."""
    is_directory: bool = False
    """True if every .json file in it is read."""


class _Folders(msgspec.Struct, frozen=True, kw_only=True):
    """Where an agent's files are, besides the project."""

    variable: str | None
    """The environment variable that moves its directory in the home."""
    home: str
    system: str
    mac: str | None = None


_FOLDERS: Mapping[str, _Folders] = {
    "claude": _Folders(variable="CLAUDE_CONFIG_DIR", home=".claude", system="claude-code", mac="ClaudeCode"),
    "codex": _Folders(variable="CODEX_HOME", home=".codex", system="codex"),
    "gemini": _Folders(variable=None, home=".gemini", system="gemini-cli", mac="GeminiCli"),
}
# Names that an agent lets its environment give to a file of the system.
_MOVED = {
    ("gemini", "settings.json"): "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
    ("gemini", "system-defaults.json"): "GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
}

_PROJECT, _USER, _SYSTEM = ConfigSource.PROJECT, ConfigSource.USER, ConfigSource.SYSTEM
AGENT_FILES: tuple[AgentFile, ...] = (
    AgentFile(dialect="claude", source=_PROJECT, name=".claude/settings.local.json"),
    AgentFile(dialect="claude", source=_PROJECT, name=".claude/settings.json"),
    AgentFile(dialect="claude", source=_USER, name="settings.json"),
    AgentFile(dialect="claude", source=_SYSTEM, name="managed-settings.json"),
    AgentFile(dialect="claude", source=_SYSTEM, name="managed-settings.d", is_directory=True),
    AgentFile(dialect="codex", source=_PROJECT, name=".codex/hooks.json"),
    AgentFile(dialect="codex", source=_PROJECT, name=".codex/config.toml"),
    AgentFile(dialect="codex", source=_USER, name="hooks.json"),
    AgentFile(dialect="codex", source=_USER, name="config.toml"),
    AgentFile(dialect="codex", source=_SYSTEM, name="hooks.json"),
    AgentFile(dialect="codex", source=_SYSTEM, name="config.toml"),
    AgentFile(dialect="codex", source=_SYSTEM, name="requirements.toml"),
    AgentFile(dialect="gemini", source=_PROJECT, name=".gemini/settings.json"),
    AgentFile(dialect="gemini", source=_USER, name="settings.json"),
    AgentFile(dialect="gemini", source=_SYSTEM, name="settings.json"),
    AgentFile(dialect="gemini", source=_SYSTEM, name="system-defaults.json"),
)


def path_of(file: AgentFile, project: Path, environ: Mapping[str, str]) -> Path:
    """Where a file is for a project and an environment."""
    if file.source is ConfigSource.PROJECT:
        return project / file.name
    if file.source is ConfigSource.USER:
        return agent_home(file.dialect, environ) / file.name
    moved = environ.get(_MOVED.get((file.dialect, file.name), ""))
    return Path(moved) if moved else _system_folder(file.dialect, environ) / file.name


def agent_home(dialect: str, environ: Mapping[str, str]) -> Path:
    """The directory in which an agent keeps the user's settings."""
    folders = _FOLDERS[dialect]
    if folders.variable and (moved := environ.get(folders.variable)):
        return Path(moved)
    home = environ.get("HOME")
    return (Path(home) if home else Path("~").expanduser()) / folders.home


def _system_folder(dialect: str, environ: Mapping[str, str]) -> Path:
    folders = _FOLDERS[dialect]
    if moved := environ.get("HOOKLINE_ETC"):
        return Path(moved) / folders.system
    if sys.platform == "darwin" and folders.mac:
        return Path("/Library/Application Support") / folders.mac
    return Path("/etc") / folders.system
