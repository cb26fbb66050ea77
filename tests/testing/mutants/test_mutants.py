"""Attacks on one's own guards."""

import json
from pathlib import Path

import pytest

from hookline.cli.main import main
from hookline.testing.mutants import commands, paths
from hookline.testing.mutants.mutant import Kind
from hookline.testing.mutants.sandbox import Sandbox, is_safe

GREP_GUARD = """#!/bin/sh
grep -q '"command":"rm ' && { echo "rm is off limits" >&2; exit 2; }
exit 0
"""
CASE = """
[[case]]
name = "no deleting"
event = "BeforeTool"
tool = "run_shell_command"
arguments.command = "rm -rf /"
expect = { outcome = "blocked" }
"""


def test_other_forms_really_do_the_same() -> None:
    """Run on stand-ins, each form calls the same programs with the same arguments."""
    command = "git push -f origin main"
    forms = [each for each in commands.mutants_of(command) if each.kind is Kind.SAME and each.runnable]
    with Sandbox() as sandbox:
        different = [each.way for each in forms if sandbox.is_same(command, each.text) is not True]
    assert len(forms) > 30
    assert different == []


def test_a_form_that_does_something_else_is_seen() -> None:
    with Sandbox() as sandbox:
        assert sandbox.is_same("rm -rf build", "rm -rf other") is False
        assert sandbox.is_same("rm -rf build", "echo rm -rf build") is False


@pytest.mark.parametrize(
    "command",
    [
        "/bin/rm -rf x",
        "echo x > /etc/motd",
        "kill -9 -1",
        "$CMD",
        "exec rm x",
        "echo $(/bin/rm x)",
        "bash -c '/bin/rm x'",
    ],
)
def test_what_could_get_past_the_stand_ins_is_not_run(command: str) -> None:
    assert not is_safe(command)


def test_paths_have_other_forms() -> None:
    made = list(paths.mutants_of(".env", "/home/me/project", "/scratch/link"))
    assert {each.text for each in made if each.kind is Kind.SAME} >= {"./.env", "x/../.env", "/home/me/project/.env"}
    assert ".env.example" in {each.text for each in made if each.kind is Kind.HARMLESS}
    alike = list(paths.mutants_of(".env", "/home/me/project", "/scratch/link", ignores_case=True))
    assert {each.text for each in alike} - {each.text for each in made} == {".ENV"}


def mutate(folder: Path, settings: object, *more: str) -> int:
    (folder / "settings.json").write_text(json.dumps(settings))
    (folder / "guard.hooks.toml").write_text(CASE)
    words = ["test", str(folder / "guard.hooks.toml"), "--settings", str(folder / "settings.json")]
    return main([*words, "--project", str(folder), "--mutate", "--json", *more])


def test_a_guard_that_compares_text_has_many_holes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    guard = tmp_path / "guard.sh"
    guard.write_text(GREP_GUARD)
    guard.chmod(0o755)
    group = {"matcher": "shell", "hooks": [{"type": "command", "command": str(guard)}]}
    kept = tmp_path / "kept.hooks.toml"
    assert mutate(tmp_path, {"enableHooks": True, "hooks": {"BeforeTool": [group]}}, "--write", str(kept)) == 1
    found = json.loads(capsys.readouterr().out)
    run = [each["way"] for each in found["passed"] if each["checked"] == "run"]
    assert len(run) >= 5
    assert "bash -c" in kept.read_text()


def test_the_pack_about_commands_has_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert mutate(tmp_path, {"enableHooks": True, "use": ["hookline:shell"]}) == 0
    assert json.loads(capsys.readouterr().out)["tried"] > 30


def test_the_guard_of_init_withstands(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A link to the file is one that is there, and letters that look alike make another name in either case."""
    assert [
        main(["init", "--project", str(project)]),
        main(["trust", "--all", "--yes", "--project", str(project)]),
    ] == [0, 0]
    capsys.readouterr()
    code = main(["test", "--mutate", "--project", str(project), "--json"])
    report = json.loads(capsys.readouterr().out)
    assert (code, report["passed"], report["stopped"]) == (0, [], [])
    assert report["tried"] > 50
