from collections.abc import Mapping
from pathlib import Path

import pytest

from hookline.settings._scripts import existing_files, possible_paths


@pytest.fixture(name="project")
def project_fixture(tmp_path: Path) -> Path:
    """A project with a space in its name and scripts in the places where people put them."""
    project = tmp_path / "my project"
    for name in (
        "guard.sh",
        "hooks/x.sh",
        "hooks/x.py",
        "hooks/my script.sh",
        "hooks/deep/y.sh",
        "hooks/pack/__init__.py",
        "hooks/pack/__main__.py",
        "node/index.js",
    ):
        file = project / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("true\n")
    return project


def named(command: str, project: Path, env: Mapping[str, str] | None = None) -> set[str]:
    paths = possible_paths(command, env or {}, str(project))
    found = {Path(name).resolve() for name, _ in existing_files(paths, str(project))}
    return {str(file.relative_to(project)) for file in found if file.is_relative_to(project)}


@pytest.mark.parametrize(
    ("command", "files"),
    [
        pytest.param("hooks/x.sh", {"hooks/x.sh"}, id="relative"),
        pytest.param("./guard.sh --flag", {"guard.sh"}, id="dot"),
        pytest.param("python3 hooks/x.py", {"hooks/x.py"}, id="interpreter"),
        pytest.param("bash -c 'hooks/x.sh --flag'", {"hooks/x.sh"}, id="nested-shell"),
        pytest.param("""bash -c "sh -c 'hooks/my\\ script.sh'" """, {"hooks/my script.sh"}, id="twice-nested-shell"),
        pytest.param('"$CLAUDE_PROJECT_DIR"/hooks/x.sh', {"hooks/x.sh"}, id="quoted-variable"),
        pytest.param("$LLXPRT_PROJECT_DIR/hooks/x.sh", {"hooks/x.sh"}, id="bare-variable"),
        pytest.param('"${GEMINI_PROJECT_DIR}/hooks/my script.sh"', {"hooks/my script.sh"}, id="braced-variable"),
        pytest.param("${CLAUDE_PROJECT_DIR%/}/hooks/x.sh", {"hooks/x.sh"}, id="trimmed-variable"),
        pytest.param("$ROOT/hooks/x.sh", {"hooks/x.sh"}, id="unknown-variable"),
        pytest.param("${GUARD:-hooks/x.sh}", {"hooks/x.sh"}, id="default-value"),
        pytest.param("$(git rev-parse --show-toplevel)/hooks/x.sh", {"hooks/x.sh"}, id="substitution"),
        pytest.param("`pwd`/hooks/x.sh", {"hooks/x.sh"}, id="backticks"),
        pytest.param("hooks/my\\ script.sh;guard.sh", {"hooks/my script.sh", "guard.sh"}, id="no-space-between"),
        pytest.param("'hooks/my script.sh'&&./guard.sh", {"hooks/my script.sh", "guard.sh"}, id="quoted-space"),
        pytest.param('ho""oks/x.sh', {"hooks/x.sh"}, id="quotes-inside-a-word"),
        pytest.param("sh<hooks/x.sh", {"hooks/x.sh"}, id="input-redirection"),
        pytest.param("awk -fhooks/x.sh", {"hooks/x.sh"}, id="attached-option"),
        pytest.param("tool --file=hooks/x.sh", {"hooks/x.sh"}, id="long-option"),
        pytest.param("F=hooks/x.sh; sh $F", {"hooks/x.sh"}, id="assignment"),
        pytest.param("curl -d @hooks/x.sh", {"hooks/x.sh"}, id="at-sign"),
        pytest.param("cd hooks && ./x.sh", {"hooks/x.sh"}, id="changed-directory"),
        pytest.param("cd hooks; cd deep; ./y.sh", {"hooks/deep/y.sh"}, id="changed-directory-twice"),
        pytest.param("(cd hooks/deep && ../x.sh)", {"hooks/x.sh"}, id="parent-directory"),
        pytest.param("sh hooks/*.sh", {"hooks/x.sh", "hooks/my script.sh"}, id="pattern"),
        pytest.param("sh hooks/{x,y}.sh hooks/x.sh", {"hooks/x.sh"}, id="braces-beside-a-name"),
        pytest.param("python3 -m hooks.x", {"hooks/x.py"}, id="module"),
        pytest.param(
            "python3 -Im hooks.pack", {"hooks/pack/__main__.py", "hooks/pack/__init__.py"}, id="package-as-module"
        ),
        pytest.param("python3 hooks/pack", {"hooks/pack/__main__.py"}, id="package-as-directory"),
        pytest.param("node node", {"node/index.js"}, id="node-directory"),
        pytest.param("hooks/x.sh 'it", {"hooks/x.sh"}, id="open-quote"),
        pytest.param("hooks/x.sh >> guard.sh", {"hooks/x.sh"}, id="only-written"),
        pytest.param("echo true >> guard.sh; sh guard.sh", {"guard.sh"}, id="written-and-run"),
        pytest.param("jq . /dev/null | grep -q '[' \0", set(), id="no-file"),
        pytest.param("", set(), id="empty"),
    ],
)
def test_every_file_that_a_command_names_is_found(project: Path, command: str, files: set[str]) -> None:
    """A script is found however the command spells it."""
    assert named(command, project) == files


@pytest.mark.parametrize(
    ("command", "env", "files"),
    [
        pytest.param("sh $GUARD", {"GUARD": "hooks/x.sh"}, {"hooks/x.sh"}, id="named-in-a-variable"),
        pytest.param("sh $DIR/x.sh", {"DIR": "hooks"}, {"hooks/x.sh"}, id="directory-in-a-variable"),
        pytest.param("true", {"BASH_ENV": "hooks/x.sh"}, {"hooks/x.sh"}, id="read-by-the-shell-itself"),
        pytest.param("x.sh", {"PATH": "/usr/bin:hooks"}, {"hooks/x.sh"}, id="search-path"),
        pytest.param("$(pwd)/hooks/x.sh", {"E": "", "R": "/"}, {"hooks/x.sh"}, id="values-that-begin-every-path"),
    ],
)
def test_the_environment_of_a_hook_names_files_too(
    project: Path, command: str, env: Mapping[str, str], files: set[str]
) -> None:
    """A file that the hook's own variables lead to is found."""
    assert named(command, project, env) == files


def test_home_is_expanded(project: Path, own_home: Path) -> None:
    """`~` and `$HOME` lead to the person's own directory, which need not be in the project."""
    script = own_home / "x.sh"
    script.write_text("true\n")
    for command in ("~/x.sh", "sh -c '~/x.sh'", "$HOME/x.sh", "sh --rcfile=~/x.sh"):
        paths = possible_paths(command, {}, str(project))
        assert [name for name, _ in existing_files(paths, str(project))] == [str(script)], command
