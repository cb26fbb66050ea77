"""The repository's files for CI systems hold commands that work."""

import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from hookline.apps.cli.main import main

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent


def action_steps() -> list[str]:
    """The commands of the action, without the one that installs hookline."""
    text = (ROOT / "action.yml").read_text()
    blocks = re.findall(r"^      run: (?:\|\n)?((?:.|\n {8})*)", text, re.MULTILINE)
    return [dedent(block) for block in blocks if "pip" not in block]


def run(command: str, project: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command],
        cwd=project,
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=45,
    )


@pytest.fixture
def checkout(project: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A project as `init --pack shell` makes it."""
    assert main(["init", "--pack", "shell", "--project", str(project)]) == 0
    capsys.readouterr()
    return project


def test_the_action_checks_and_tests(checkout: Path) -> None:
    """Its commands pass on a good project, and leave SARIF and JUnit files."""
    trust, check, test = action_steps()
    environ = {"PROJECT": ".", "SARIF": "found.sarif", "JUNIT": "cases.xml"}
    for command in (trust, check, test):
        done = run(command, checkout, **environ)
        assert done.returncode == 0, (command, done.stderr)
    assert '"2.1.0"' in (checkout / "found.sarif").read_text()
    assert "<testsuite" in (checkout / "cases.xml").read_text()
    settings = checkout / ".llxprt" / "settings.json"
    settings.write_text(settings.read_text().replace("hookline:shell", "hookline:shel"))
    failed = run(check, checkout, **environ)
    assert failed.returncode == 1
    assert "hookline:shel" in failed.stdout, "the log of the job shows the finding"
    assert "hookline:shel" in (checkout / "found.sarif").read_text()


def test_the_hooks_of_pre_commit_work(checkout: Path) -> None:
    """The same commands, without file names."""
    assert main(["trust", "--all", "--yes", "--project", str(checkout)]) == 0
    entries = re.findall(r"^  entry: (.*)$", (ROOT / ".pre-commit-hooks.yaml").read_text(), re.MULTILINE)
    assert len(entries) == 2
    for entry in entries:
        assert run(entry, checkout).returncode == 0, entry


def test_the_image_is_made_of_what_is_there() -> None:
    """Every file that is copied into it exists, and none of its steps needs more."""
    text = (ROOT / "Dockerfile").read_text()
    copied = [word for line in re.findall(r"^COPY (?!--)(.*)$", text, re.MULTILINE) for word in line.split()[:-1]]
    assert {"pyproject.toml", "README.md", "LICENSE", "src"} == {*copied}
    assert all((ROOT / name).exists() for name in copied)
