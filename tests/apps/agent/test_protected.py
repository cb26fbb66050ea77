from pathlib import Path
from typing import Any

import pytest

from hookline import Config
from hookline.apps.agent.approval.protected import ProtectedPlaces
from hookline.apps.agent.tool import ToolContext
from hookline.settings.read.paths import default_paths


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
        "echo x > $'.g\\x69t/config'",
        "echo x > .{git,x}/config",
        "echo x > {x,.git}/config",
        "echo x > {" + ",".join(map(str, range(99))) + ",.g}it/config",
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
    assert places.touched_by("write_file", {"file_path": str(file)}, ToolContext.of(config)) == f"{file} is protected"


_LONG = "./" * 2100


@pytest.mark.attack("30.F15", "a path longer than PATH_MAX that leads to a protected place")
@pytest.mark.parametrize("place", [".git/hooks/pre-commit", "~/.bashrc", "{user}", "{state}/trust.json"])
@pytest.mark.parametrize("tool", ["write_file", "replace", "run_shell_command", "mcp__files__write"])
def test_a_long_path_is_checked(project: Path, tmp_path: Path, tool: str, place: str) -> None:
    """Size limits refuse; they never skip a check."""
    config = Config(project, settings={})
    user = next(str(path) for source, path in default_paths(config.get_working_dir()).by_source() if source == "user")
    place = place.format(user=user, state=tmp_path / "state")
    first, _, rest = place.partition("/")
    path = f"{first}/{_LONG}{rest}"
    arguments = {"command": f"echo x > {path}"} if tool == "run_shell_command" else {"file_path": path}
    assert ProtectedPlaces(config).touched_by(tool, arguments, ToolContext.of(config)) is not None


@pytest.mark.attack("30.F15", "a path that is too long to open by itself")
def test_a_path_that_stays_long_needs_a_yes(project: Path) -> None:
    """Our file tools can open it, one directory at a time, so it counts as protected."""
    assert _touched(project, "write_file", file_path="a/" * 3000 + "x") is not None


@pytest.mark.attack("30.F15", "a command that is too long to be read")
@pytest.mark.parametrize("written", [".g''it/hooks/x", "x"])
def test_a_long_command_needs_a_yes(project: Path, written: str) -> None:
    """A command that is not read is asked about, whatever it contains."""
    why = _touched(project, "run_shell_command", command=f"echo {'x' * 20_000} > {written}")
    assert why == "the command is longer than 20000 characters and was not checked"


@pytest.mark.attack("30.F18", "a protected path as a key, or in a patch, for an MCP server's tool")
@pytest.mark.parametrize(
    "arguments",
    [
        {"files": {".git/hooks/pre-commit": "x"}},
        {"edits": [{"a": {"b": {"~/.bashrc": None}}}]},
        {"patch": "*** Begin Patch\n*** Add File: .git/hooks/pre-commit\n+x\n*** End Patch\n"},
        {"patch": "*** Begin Patch\n*** Update File: a\n*** Move to: .git/hooks/x\n*** End Patch\n"},
        {"patch": "x" * 5000 + "\n   *** Add File: .git/hooks/pre-commit\n+x\n"},
        {"diff": "--- /dev/null\n+++ b/.git/hooks/pre-commit\n@@ -0,0 +1 @@\n+x\n"},
        {"diff": "--- a/x\n+++ .git/hooks/pre-commit\t2026-01-01\n"},
        {"diff": "diff --git a/x b/.git/y\nrename from x\nrename to .git/y\n"},
        {"diff": "diff --git a/.git/hooks/x b/.git/hooks/x\nnew mode 100755\n"},
        {"diff": 'diff --git a/x "b/\\056git/hooks/x"\n--- /dev/null\n+++ "b/\\056git/hooks/x"\n'},
        {"diff": "Index: .git/hooks/x\n"},
        {"diff": "rename from .git/hooks/x\nrename to x\n"},
        {"patch": "\u2028*** Delete File: .git/hooks/pre-commit"},
    ],
)
def test_every_place_of_a_path_in_foreign_arguments(project: Path, arguments: dict[str, Any]) -> None:
    """Keys are paths for some servers, and a patch names files in its lines."""
    assert _touched(project, "mcp__files__write", **arguments) is not None


def test_a_long_text_is_no_path(project: Path) -> None:
    """A document that mentions such a place is content."""
    assert _touched(project, "mcp__files__write", path="a.md", content="See ~/.ssh/config.\n" * 1000) is None


def test_deep_arguments_are_read(project: Path) -> None:
    """Nesting does not end the search."""
    deep: Any = ".git/config"
    for _ in range(5000):
        deep = [deep]
    assert _touched(project, "mcp__files__write", a=deep) == ".git/config is protected"
