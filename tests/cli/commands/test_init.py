import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hookline.cli.main import main
from hookline.config import Config
from hookline.hooks import Hooks

BIN = Path(sys.executable).parent


@pytest.fixture(autouse=True)
def in_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test is run from the project's directory."""
    monkeypatch.chdir(project)


def init(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    assert main(["init", "--json", *options]) == 0
    return dict(json.loads(capsys.readouterr().out))


def shell(command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Runs a command as a person would who copies it into a shell."""
    return subprocess.run(
        ["bash", "-c", command],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
    )


@pytest.mark.parametrize(("language", "suffix"), [("sh", ".sh"), ("python", ".py")])
def test_a_settings_file_and_a_hook_are_written(
    language: str, suffix: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both are in the project, and the hook can be executed."""
    folder = project / ".llxprt"
    hook = folder / "hooks" / f"guard-secrets{suffix}"
    assert init(capsys, "--language", language)["written"] == [str(folder / "settings.json"), str(hook)]
    assert hook.stat().st_mode & stat.S_IXUSR
    assert sorted(path for path in project.rglob("*") if path.is_file()) == [hook, folder / "settings.json"]


@pytest.mark.parametrize("language", ["sh", "python"])
@pytest.mark.parametrize("where", [[], ["--user"]], ids=["project", "user"])
def test_what_is_written_has_nothing_wrong(
    where: list[str], language: str, project: Path, own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`check` has nothing to say about it, not even after a dry run."""
    init(capsys, "--language", language, *where)
    file = (own_home if where else project) / ".llxprt" / "settings.json"
    assert main(["check", "--strict", "--run", "--settings", str(file)]) == 0
    assert capsys.readouterr().out == "Nothing wrong with 1 hook in 1 file.\n"


@pytest.mark.parametrize("existing", [".llxprt/settings.json", ".llxprt/hooks/guard-secrets.sh"])
def test_nothing_is_overwritten(existing: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where one file is there already, neither is written, and the message says what to do."""
    path = project / existing
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    assert main(["init"]) == 1
    assert [found.read_text() for found in project.rglob("*") if found.is_file()] == ["mine"]
    assert capsys.readouterr().err == (
        f"hookline: {path} exists, and nothing is overwritten; "
        "edit it and run hookline check, or move it away and try again\n"
    )


def test_what_cannot_be_written_leaves_nothing_behind(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both files or none."""
    (project / ".llxprt").mkdir()
    (project / ".llxprt" / "hooks").write_text("not a folder")
    assert main(["init"]) == 1
    assert not (project / ".llxprt" / "settings.json").exists()
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("language", ["sh", "python"])
def test_the_next_steps_for_a_user_work_as_printed(language: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command does what it says: one call is refused, one passes, and nothing is wrong."""
    denied, passed, check, log = init(capsys, "--user", "--language", language)["next"]
    done = shell(denied["command"])
    assert done.returncode == 2, done.stderr
    assert "Blocked: Files with secrets are off limits" in done.stdout
    done = shell(passed["command"])
    assert done.returncode == 0, done.stderr
    assert "Goes on." in done.stdout
    done = shell(check["command"])
    assert (done.returncode, done.stdout) == (0, "Nothing wrong with 1 hook in 1 file.\n")
    done = shell(log["command"])
    assert done.returncode == 0, done.stderr
    assert "guard-secrets" in done.stdout


def test_the_next_steps_for_a_project_start_with_trust(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From another directory the commands name the project, and after `trust` the guard works."""
    monkeypatch.chdir(tmp_path)
    project.rename(tmp_path / "my project")
    trust, denied, passed, *_ = init(capsys, "--project", "my project")["next"]
    assert trust["command"] == "hookline trust --project 'my project'"
    assert shell(denied["command"]).returncode == 0
    done = shell(f"{trust['command']} --all --yes")
    assert done.returncode == 0, done.stderr
    assert shell(denied["command"]).returncode == 2
    assert shell(passed["command"]).returncode == 0


def test_people_are_told_what_was_written_and_what_is_next(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The commands stand on lines of their own, to be copied."""
    assert main(["init"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"wrote {project}/.llxprt/settings.json"
    assert "  hookline trust" in lines
    assert "  hookline check" in lines


def test_hooks_that_stay_off_are_said_to(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """When the user's own file says no, a new project file does not change that."""
    (own_home / ".llxprt").mkdir()
    (own_home / ".llxprt" / "settings.json").write_text('{"enableHooks": false}')
    assert main(["init"]) == 0
    assert "Another settings file disables hooks" in capsys.readouterr().out


def test_files_in_other_places_are_named_in_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where an environment variable moves the settings, the command names the hook by its whole path, quoted."""
    moved = tmp_path / "it's here" / "settings.json"
    monkeypatch.setenv("HOOKLINE_USER_SETTINGS", str(moved))
    denied = init(capsys, "--user")["next"][0]["command"]
    assert moved.exists()
    assert shell(denied).returncode == 2


def test_colour_is_for_terminals(on_terminal: Callable[..., str]) -> None:
    """On a terminal the words are coloured."""
    assert "\x1b[32mwrote\x1b[0m" in on_terminal("init")


@pytest.mark.parametrize("where", [[], ["--user"]], ids=["project", "user"])
def test_what_is_written_applies_lifecycle_hooks(
    where: list[str], project: Path, own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A guard of prompts that is added to the file counts at once."""
    init(capsys, *where)
    file = (own_home if where else project) / ".llxprt" / "settings.json"
    guard = '"hooks": { "BeforeAgent": [{ "hooks": [{ "type": "command", "command": "exit 2" }] }],'
    file.write_text(file.read_text().replace('"hooks": {', guard, 1))
    assert [hook.is_applied for hook in Config(project).get_settings().hooks] == [True, True]


@pytest.mark.parametrize(
    "language",
    [
        "sh",
        "python",
        pytest.param("node", marks=pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")),
    ],
)
def test_a_worker_is_written_that_guards(language: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Started once, it refuses one call and lets another pass; docs/workers.md has the same program."""
    report = init(capsys, "--user", "--worker", "--language", language)
    config = Config(".")
    with Hooks.from_config(config) as hooks:
        session = hooks.session().sync
        results = [session.before_tool("read_file", {"file_path": path}) for path in (".env", "notes.txt", "a.pem")]
    assert [result.blocked for result in results] == [True, False, True]
    assert str(results[0].reason).startswith("Files with secrets are off limits")
    page = (Path(__file__).parents[3] / "docs" / "workers.md").read_text()
    assert Path(report["written"][1]).read_text() in page


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
def test_a_hook_in_node(capsys: pytest.CaptureFixture[str]) -> None:
    """The plain one."""
    init(capsys, "--user", "--language", "node")
    denied = ["fire", "BeforeTool", "--input", '{"tool_name": "read_file", "tool_input": {"file_path": ".env"}}']
    assert main(denied) == 2
