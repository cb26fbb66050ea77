import os
from pathlib import Path

import pytest

from hookline.inspect.lint.programs import program_fault
from hookline.protocol.constants import ConfigSource
from hookline.protocol.events import HookEventName
from hookline.protocol.hook_entry import CommandLine, HookEntry


def fault(command: str, project: Path, **env: str) -> str | None:
    hook = HookEntry(
        event=HookEventName.BEFORE_TOOL,
        source=ConfigSource.USER,
        origin="f",
        location="l",
        run=CommandLine(command),
        env=env,
    )
    return program_fault(hook, str(project), os.environ)


def write(path: Path, text: str, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, newline="")
    path.chmod(mode)
    return path


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("true", id="program-on-path"),
        pytest.param("exit 2", id="builtin"),
        pytest.param("./good.sh --flag", id="file-in-the-project"),
        pytest.param("$LLXPRT_PROJECT_DIR/good.sh", id="project-variable"),
        pytest.param('"${CLAUDE_PROJECT_DIR}/good.sh"', id="quoted-project-variable"),
        pytest.param("~/at-home.sh", id="home"),
        pytest.param("FOO=bar ./good.sh", id="assignment"),
        pytest.param("FOO=bar", id="nothing-but-an-assignment"),
        pytest.param("sh plain.sh", id="script-of-an-interpreter"),
        pytest.param("sh -c 'true; not_there() { :; }; not_there'", id="program-text"),
        pytest.param("perl -e 'not-there'", id="program-text-of-another"),
        pytest.param("[ -f ~/not-there ] && . ~/not-there; exit 0", id="read-if-it-is-there"),
        pytest.param("case x in not-there|other) exit 2;; esac | cat", id="pattern"),
        pytest.param("[[ -n x && not-there == y ]] && exit 2", id="condition"),
        pytest.param("x=(not-there too); cat | cat", id="list"),
        pytest.param("sha256sum not-there", id="no-interpreter"),
        pytest.param("python3 -m json.tool", id="module"),
        pytest.param("sh -e plain.sh && echo 'not-there'", id="for-the-shell"),
        pytest.param("./by-env.py", id="found-by-env"),
        pytest.param("./no-shebang", id="no-shebang"),
        pytest.param("timeout 5 ./good.sh && env A=b sh plain.sh 2>/dev/null | cat", id="wrapped-parts"),
        pytest.param("cd sub && ./moved.sh", id="elsewhere"),
        pytest.param("true || ./none.sh", id="in-case-of-a-failure"),
        pytest.param("d=sub; $d/none.sh; $(pick)/none.sh; *.sh; $NO_SUCH/none.sh", id="known-to-the-shell-only"),
        pytest.param("guard() { exit 2; }; guard", id="a-function"),
        pytest.param("if [ -f none.sh ]; then exit 2; fi", id="a-test"),
        pytest.param("python3 -W ignore plain.sh", id="option-with-a-value"),
        pytest.param("cat <<< none.sh > out/none.sh", id="redirections"),
    ],
)
def test_what_can_be_started_is_fine(command: str, project: Path, own_home: Path) -> None:
    """Whatever the runner would start has no fault."""
    write(project / "good.sh", "#!/bin/sh\n")
    write(project / "plain.sh", "", mode=0o644)
    write(project / "by-env.py", "#!/usr/bin/env python3\n")
    write(project / "no-shebang", "true\n")
    write(own_home / "at-home.sh", "#!/bin/sh\n")
    assert fault(command, project) is None


@pytest.mark.parametrize(
    ("command", "said"),
    [
        pytest.param("./none.sh", "./none.sh, which does not exist; create the file, or fix the path", id="missing"),
        pytest.param(
            "A=b ./none.sh x", "./none.sh, which does not exist; create the file, or fix the path", id="assigned"
        ),
        pytest.param(
            "./plain.sh", "./plain.sh, which is not executable; run: chmod +x ./plain.sh", id="not-executable"
        ),
        pytest.param("./folder", "./folder, which is a directory; name a program", id="directory"),
        pytest.param(
            "no-such-program --x",
            "no-such-program, which is neither on PATH nor a builtin of bash; install it or write its path",
            id="not-on-path",
        ),
        pytest.param(
            "plain.sh", "plain.sh, which is not on PATH; for the file in the project write ./plain.sh", id="no-slash"
        ),
        pytest.param(
            "sh none.sh", "none.sh, which does not exist; create the file, or fix the path", id="missing-script"
        ),
        pytest.param(
            "python3 -u none.py",
            "none.py, which does not exist, so everything is blocked; create the file, or fix the path",
            id="missing-python-script",
        ),
        pytest.param(
            "./windows.sh",
            "./windows.sh, which has Windows line ends, so its interpreter is not found; save it with Unix line ends",
            id="carriage-returns",
        ),
        pytest.param(
            "./strange.sh",
            "./strange.sh, whose first line asks for /no/such/sh, which does not exist; install it or fix that line",
            id="no-interpreter",
        ),
        pytest.param(
            "./by-env.sh",
            "./by-env.sh, whose first line asks for no-such-sh, which does not exist; install it or fix that line",
            id="no-interpreter-by-env",
        ),
    ],
)
def test_what_cannot_be_started_is_told(command: str, said: str, project: Path) -> None:
    """Each fault says what is wrong and what to do."""
    write(project / "plain.sh", "#!/bin/sh\n", mode=0o644)
    write(project / "windows.sh", "#!/bin/sh\r\ntrue\r\n")
    write(project / "strange.sh", "#!/no/such/sh\n")
    write(project / "by-env.sh", "#!/usr/bin/env no-such-sh\n")
    (project / "folder").mkdir()
    assert fault(command, project) == f"names {said}"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        pytest.param('"$HOME/none.sh"', "none.sh, which does not exist", id="a-quoted-variable"),
        pytest.param("sh $HOME/none.sh --x", "none.sh, which does not exist", id="a-variable"),
        pytest.param("python3 none.py || exit 2", "none.py, which does not exist", id="before-an-or"),
        pytest.param("[ -x none.sh ] && ./none.sh", "./none.sh, which does not exist", id="behind-a-test"),
        pytest.param("cat | sh none.sh 2>/dev/null", "none.sh, which does not exist", id="in-a-pipe"),
        pytest.param("if ./none.sh; then exit 2; fi", "./none.sh, which does not exist", id="a-condition"),
        pytest.param("exec ./none.sh", "./none.sh, which does not exist", id="exec"),
        pytest.param("timeout 5 ./none.sh", "./none.sh, which does not exist", id="timeout"),
        pytest.param("env A=b python3 none.py", "none.py, which does not exist", id="env"),
        pytest.param("cd / && /none/x.sh", "/none/x.sh, which does not exist", id="elsewhere-by-its-whole-path"),
    ],
)
def test_a_file_that_a_part_of_a_command_names_has_to_be_there(command: str, said: str, project: Path) -> None:
    """Behind variables, wrappers and the signs of a shell, too."""
    assert said in (fault(command, project) or "")


def test_a_command_that_the_shell_cannot_read_is_told(project: Path) -> None:
    """An open quote is found without running anything."""
    said = fault(f"touch {project}/ran; echo 'open", project)
    assert said is not None
    assert "cannot be parsed by bash" in said
    assert not (project / "ran").exists()


def test_the_path_of_the_hook_counts(project: Path, tmp_path: Path) -> None:
    """A hook's own PATH is where its program is looked for."""
    write(tmp_path / "bin" / "my-guard", "#!/bin/sh\n")
    assert fault("my-guard", project) is not None
    assert fault("my-guard", project, PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}") is None


@pytest.mark.parametrize(
    ("command", "env", "said"),
    [
        pytest.param("echo 'a\0b' | cat", {}, "cannot be started: embedded null byte; fix it", id="null-character"),
        pytest.param(
            "true | cat",
            {"A=B": "c"},
            "cannot be started: 'A=B' is not a name of an environment variable; fix it",
            id="strange-variable",
        ),
    ],
)
def test_what_no_process_can_be_given_is_told(command: str, env: dict[str, str], said: str, project: Path) -> None:
    """The odd is a fault of the hook, never of the command that looks at it."""
    assert fault(command, project, **env) == said


@pytest.mark.parametrize(
    ("command", "taken"),
    [("./my hooks/guard.sh", "./my"), ("sh ./my hooks/guard.sh --strict", "./my")],
    ids=["program", "script"],
)
def test_a_path_with_a_space_wants_quotes(command: str, taken: str, project: Path) -> None:
    """The words together name a file, so that is what was meant."""
    (project / "my hooks").mkdir()
    guard = project / "my hooks" / "guard.sh"
    guard.write_text("#!/bin/sh\n")
    guard.chmod(0o755)
    assert fault(command, project) == (
        f"names a file that has a space in it, so only {taken} is taken; quote it: './my hooks/guard.sh'"
    )
    assert fault(command.replace("./my hooks/guard.sh", "'./my hooks/guard.sh'"), project) is None


def test_a_command_to_run_is_quoted(tmp_path: Path) -> None:
    """A person copies it."""
    write(tmp_path / "sp ace" / "ok.py", "#!/bin/sh\n", mode=0o644)
    assert fault("'sp ace/ok.py'", tmp_path) == (
        "names sp ace/ok.py, which is not executable; run: chmod +x 'sp ace/ok.py'"
    )
