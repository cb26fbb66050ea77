from pathlib import Path
from typing import Any

import pytest

from hookline import Config
from hookline.agent.protected import ProtectedPlaces
from hookline.agent.tool import ToolContext


def _touched(project: Path, tool: str, **arguments: Any) -> str | None:
    config = Config(project, settings={})
    return ProtectedPlaces(config).touched_by(tool, arguments, ToolContext.of(config))


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        ".git",
        "sub/../.git/hooks/pre-commit",
        "./.GIT/config",
        ".g\u200cit/config",
        "vendor/lib/.git/config",
        ".llxprt/settings.json",
        ".claude/settings.json",
        ".gemini/x",
        ".codex/x",
        "~/.bashrc",
        ".zshrc",
        ".profile",
        "~/.config/fish/config.fish",
        "~/.ssh/authorized_keys",
        "~/.gitconfig",
        "/etc/cron.d/x",
        "/etc/crontab",
        "/var/spool/cron/root",
        "/etc/profile.d/x.sh",
        "link/config",
        "state-link/trust.json",
        "settings-link",
    ],
)
@pytest.mark.parametrize("tool", ["write_file", "replace", "run_shell_command", "mcp__files__write"])
def test_protected_places_are_recognized(project: Path, tmp_path: Path, tool: str, path: str) -> None:
    """However they are spelled: with dots, in another case, through a link, in a command or a foreign argument."""
    (project / ".git").mkdir()
    (project / "link").symlink_to(project / ".git")
    (project / "state-link").symlink_to(tmp_path / "state")
    (project / "settings-link").symlink_to(tmp_path / "etc" / "settings.json")
    arguments: dict[str, Any] = {"file_path": path}
    if tool == "run_shell_command":
        arguments = {"command": f"echo x > {path}"}
    elif tool.startswith("mcp__"):
        arguments = {"edits": [{"target": path}]}
    assert _touched(project, tool, **arguments) is not None


@pytest.mark.parametrize(
    "path", [".gitignore", ".github/workflows/x.yml", "src/git", "profile", "bashrc", "a.git.txt", "docs/.config/x", ""]
)
def test_other_places_are_not(project: Path, path: str) -> None:
    """Names that only look similar are like any others."""
    assert _touched(project, "write_file", file_path=path) is None
    assert _touched(project, "run_shell_command", command=f"echo x > {path or 'y'}") is None


@pytest.mark.parametrize(
    "command",
    [
        "cd .git && echo x > config",
        "echo x > .g'i't/config",
        'echo x > ".git"/config',
        "echo x > .gi?/config",
        "rm -rf .*",
        "tee $HOME/.bashrc",
        "tee ${HOME}/.bashrc",
        "cp x --target-directory=.git/hooks",
        "bash -c 'echo x > .git/config'",
        """python3 -c "open('.git/config', 'w')" """,
        "crontab -",
        "echo x > link/config",
        "x" * 30_000 + " > .git/config",
    ],
)
def test_commands_that_name_a_protected_place(project: Path, command: str) -> None:
    """A command is read as trust reads it: too much is found rather than too little."""
    (project / ".git").mkdir()
    (project / "link").symlink_to(".git")
    assert _touched(project, "run_shell_command", command=command) is not None


def test_the_directory_of_a_command_counts(project: Path) -> None:
    """A relative path starts where the command runs."""
    assert _touched(project, "run_shell_command", command="rm config", directory=".git") is not None
    (project / "sub").mkdir()
    (project / "sub" / "link").symlink_to(project / ".git")
    assert _touched(project, "run_shell_command", command="rm link/config", directory="sub") is not None


def test_a_project_below_such_a_directory_can_be_worked_in(tmp_path: Path) -> None:
    """Worktrees are often kept below `.claude`: only the path inside the project counts."""
    project = tmp_path / ".claude" / "worktrees" / "x"
    project.mkdir(parents=True)
    assert _touched(project, "write_file", file_path="a.txt") is None
    assert _touched(project, "write_file", file_path=str(project / "a.txt")) is None
    assert _touched(project, "write_file", file_path=".git") is not None
    assert _touched(project, "write_file", file_path="../../settings.json") is not None


def test_settings_files_that_were_named_are_protected(project: Path, tmp_path: Path) -> None:
    """The guards of this session are in them."""
    file = tmp_path / "mine.json"
    file.write_text("{}")
    config = Config(project, settings_files=[file])
    places = ProtectedPlaces(config)
    assert places.touched_by("write_file", {"file_path": str(file)}, ToolContext.of(config)) == str(file)
