import os
from pathlib import Path
from typing import Any

import pytest

from hookline.apps.agent.approval.scope import scope_of
from hookline.apps.agent.tool import ToolContext


def _scope(project: Path, command: str, **more: Any) -> tuple[tuple[str, ...], str]:
    context = ToolContext(project=project, environ=dict(os.environ))
    return scope_of("run_shell_command", {"command": command, **more}, context)


@pytest.mark.parametrize(
    ("command", "covers"),
    [
        ("git status", "git status …"),
        ("git status src", "git status …"),
        ("  git   'status'  ", "git status …"),
        ("npm run test", "npm run …"),
        ("./tool build", "./tool build …"),
        ("git", "exactly this command"),
        ("git -C /elsewhere push", "exactly this command"),
        ("git log ../other", "exactly this command"),
        ("git log --output=/etc/x", "exactly this command"),
        ("ls ~/x", "exactly this command"),
        ("git status; git push", "exactly this command"),
        ("git status && git push", "exactly this command"),
        ("git status & git push", "exactly this command"),
        ("git status | sh", "exactly this command"),
        ("git status > x", "exactly this command"),
        ("git status 2>&1", "exactly this command"),
        ("git status < x", "exactly this command"),
        ("git status $(git push)", "exactly this command"),
        ("git status `git push`", "exactly this command"),
        ('git status "$(git push)"', "exactly this command"),
        ("git status <(git push)", "exactly this command"),
        ("git status $X", "exactly this command"),
        ("git status ${X:-y}", "exactly this command"),
        ("git status *.py", "exactly this command"),
        ("git status {a,b}", "exactly this command"),
        ("git status $'\\x2e'", "exactly this command"),
        ("git archive -o/etc/x HEAD", "exactly this command"),
        ("git archive -vo/etc/x HEAD", "exactly this command"),
        ("git archive -o../x HEAD", "exactly this command"),
        ("gh api -F x=@/etc/passwd", "exactly this command"),
        ("git status --short src lib", "git status --short src …"),
        ("git log -n5 --format=%H", "git log -n5 --format=%H …"),
        ("git commit -m 'any text'", "git commit -m …"),
        ("make all CC=gcc x", "make all CC=gcc …"),
        ("tar xf a.tar --wildcards", "exactly this command"),
        ("docker exec web ls", "exactly this command"),
        ("git status\ngit push", "exactly this command"),
        ("git status # x", "exactly this command"),
        ("git status <<E\nx\nE", "exactly this command"),
        ("GIT_PAGER=x git status", "exactly this command"),
        ("(git status)", "exactly this command"),
        ("{ git status; }", "exactly this command"),
        ("if git status; then git push; fi", "exactly this command"),
        ("! git status", "exactly this command"),
        ("eval git status", "exactly this command"),
        ("command git status", "exactly this command"),
        ("env git status", "exactly this command"),
        ("sudo git status", "exactly this command"),
        ("/usr/bin/env git status", "exactly this command"),
        ("bash script", "exactly this command"),
        ("python3.11 script", "exactly this command"),
        ("python -c x", "exactly this command"),
        ("find src -delete", "exactly this command"),
        ("rm a", "exactly this command"),
        ("git 'status", "exactly this command"),
        ("git status\\", "exactly this command"),
        ("", "exactly this command"),
    ],
)
def test_always_covers_a_program_and_its_first_word(project: Path, command: str, covers: str) -> None:
    """And exactly the same text where a shell does more than to run one program with plain words."""
    assert _scope(project, command)[1] == covers


@pytest.mark.attack("30.F18", "a command beside the one that the user allowed always, which runs another program")
@pytest.mark.parametrize(
    ("allowed", "other"),
    [
        ("git status", "git push"),
        ("git status", "git status-x"),
        ("git status", "./git status"),
        ("git status", "git status; true"),
        ("git status; true", "git status; true "),
        ("git status; true", "git status"),
        ("git", "git status"),
        # Each of these runs another program.
        ("git grep x", "git grep -Oid x"),
        ("git grep x", "git grep --open-files-in-pager=id x"),
        ("git log --format=%H", "git log --format=%H --ext-diff"),
        ("git clone a", "git clone ext::id"),
        ("git submodule foreach", "git submodule foreach --recursive id"),
        ("git bisect -q run", "git bisect -q id"),
        ("tar xf a.tar", "tar xf a.tar --checkpoint=1 --checkpoint-action=exec=id"),
        ("tar xf a.tar --to-command true", "tar xf a.tar --to-command id"),
        ("make all", "make all SHELL=./x"),
        ("sort a", "sort a --compress-program=id"),
        ("rg x", "rg x --pre id"),
        ("git bisect start", "git bisect run id"),
        ("git submodule status", "git submodule foreach id"),
        ("git config user.name", "git config core.pager id"),
        ("tar cfI a.tar zstd sub", "tar cfI a.tar id sub"),
        ("docker exec web ls", "docker exec web id"),
        ("uv run ruff", "uv run id"),
        ("npx prettier a", "npx prettier b"),
        ("sqlite3 a.db .tables", "sqlite3 a.db '.shell id'"),
        ("tmux new ls", "tmux new id"),
        ("ip netns list", "ip netns exec x id"),
    ],
)
def test_always_does_not_cover_another(project: Path, allowed: str, other: str) -> None:
    """Another program, first word or shape is another scope."""
    assert _scope(project, allowed)[0] != _scope(project, other)[0]


def test_a_directory_is_part_of_the_scope(project: Path) -> None:
    """The same command elsewhere is asked about again."""
    (project / "sub").mkdir()
    key, text = _scope(project, "git status", directory="sub")
    assert text == "git status … in sub"
    assert key != _scope(project, "git status")[0]
    assert key != _scope(project, "git status", directory="/")[0]


def test_files_inside_and_outside(project: Path, tmp_path: Path) -> None:
    """Inside the project a tool is covered, outside only for the path that was named, also through a link."""
    context = ToolContext(project=project, environ={})
    outside = tmp_path / "out.txt"
    (project / "link").symlink_to(tmp_path)
    inside = scope_of("write_file", {"file_path": "a", "content": ""}, context)
    assert inside == scope_of("write_file", {"file_path": "b/c", "content": "x"}, context)
    assert inside.text == "write_file inside the project"
    assert inside.key != scope_of("replace", {"file_path": "a"}, context).key
    direct = scope_of("write_file", {"file_path": str(outside)}, context)
    linked = scope_of("write_file", {"file_path": "link/out.txt"}, context)
    assert direct.text == f"write_file of {outside}"
    assert direct.key == linked.key
    assert direct.key != scope_of("write_file", {"file_path": f"{outside}2"}, context).key
    assert scope_of("mcp__s__t", {"q": 1}, context).text == "every call of mcp__s__t"
