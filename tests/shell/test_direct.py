from pathlib import Path

import pytest

from hookline.shell.direct import direct_argv, find_program

ENV = {"HOME": "/home/me", "LLXPRT_PROJECT_DIR": "/my project", "OTHER": "x"}


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        pytest.param("a  'b c'\t\"d\" e\\ f", ("a", "b c", "d", "e f"), id="quotes"),
        pytest.param("$LLXPRT_PROJECT_DIR/a ~/b", ("/my project/a", "/home/me/b"), id="variables"),
        pytest.param("'~/a' b~ \\~/c", None, id="tilde-inside-a-word"),
        pytest.param("'~/a' \\~/c", ("~/a", "~/c"), id="quoted-tilde"),
        pytest.param("a $OTHER", None, id="another-variable"),
        pytest.param("A=b c", None, id="assignment"),
        pytest.param("a > b", None, id="redirection"),
        pytest.param("a;", None, id="operator-at-the-end"),
        pytest.param("a # b", None, id="comment"),
        pytest.param("a b\\", None, id="backslash-at-the-end"),
        pytest.param("a 'b", None, id="open-quote"),
        pytest.param("cd /", None, id="builtin"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_simple_commands_are_understood(command: str, argv: tuple[str, ...] | None) -> None:
    """A simple command has its arguments; everything else is for a shell."""
    assert direct_argv(command, ENV) == argv


def test_without_a_home_bash_decides() -> None:
    """Bash asks the system for the home directory then."""
    assert direct_argv("a ~/b", {}) is None


def test_a_program_is_found_as_bash_finds_it(tmp_path: Path) -> None:
    """The first executable file is started; bash resolves relative and home directories on PATH."""
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "tool").touch(0o755 if place == "two" else 0o644)
    one, two = tmp_path / "one", tmp_path / "two"
    found = [
        find_program("tool", str(tmp_path), {"PATH": path}) for path in (f"{one}:{two}", f"two:{two}", f"~/x:{two}")
    ]
    assert found == [f"{two}/tool", None, None]
