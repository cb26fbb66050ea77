"""Attacks on one's own guards."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hookline.apps.cli.main import main
from hookline.testing.mutants import commands, paths
from hookline.testing.mutants.mutant import MutantKind

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

# The events that Python itself reports when it starts a program.
STARTING = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "os.fork", "os.forkpty")

NOTING = """#!/bin/sh
{ printf '%s' "${0##*/}"; for word in "$@"; do printf ' <%s>' "$word"; done; printf '\\n'; } >> "$NOTES"
"""


class Recorder:
    """Runs commands with a program that notes how it was called, and does nothing else."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name, text in {"tidy": NOTING, "sudo": '#!/bin/sh\nexec "$@"\n'}.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)

    def notes(self, command: str) -> str:
        """How the program was called."""
        notes = self._folder / "notes"
        notes.write_text("")
        env = {"PATH": f"{self._folder}:{os.environ['PATH']}", "NOTES": str(notes)}
        subprocess.run(["bash", "-c", command], cwd=self._folder, env=env, check=False, stdin=subprocess.DEVNULL)
        return notes.read_text()


@pytest.mark.req("DELTA-MUTANT-001")
def test_other_forms_really_do_the_same(tmp_path: Path) -> None:
    """A real shell calls the same program with the same arguments, whatever the form."""
    recorder = Recorder(tmp_path)
    command = "tidy push -rf origin main"
    wanted = recorder.notes(command)
    forms = [each for each in commands.mutants_of(command) if each.kind is MutantKind.SAME]
    # There the program is not in PATH, or not in that directory.
    elsewhere = ("behind env -i", "the program by its path")
    different = [each.way for each in forms if each.way not in elsewhere and recorder.notes(each.text) != wanted]
    assert wanted == "tidy <push> <-rf> <origin> <main>\n"
    assert len(forms) > 35
    assert different == []


@pytest.mark.req("DELTA-MUTANT-001")
@pytest.mark.parametrize(
    "command",
    [
        "tidy a # b",
        "tidy a; tidy 'b c'",
        "tidy <<X\nEND\nX",
        "tidy a \\\n b",
        "for i in a b; do tidy $i; done",
        "x=1; tidy $x",
        "tidy a,b -c,d",
        "tidy -n -e a",
        "tidy -am message",
        "tidy 'END' \"$(echo f)\"",
        "tidy a &\nwait",
        "tidy 'it''s' | cat",
    ],
)
def test_forms_of_unusual_commands_do_the_same(tmp_path: Path, command: str) -> None:
    recorder = Recorder(tmp_path)
    wanted = recorder.notes(command)
    forms = [each for each in commands.mutants_of(command) if each.kind is MutantKind.SAME]
    elsewhere = ("behind env -i", "the program by its path")
    different = [each.text for each in forms if each.way not in elsewhere and recorder.notes(each.text) != wanted]
    assert wanted
    assert different == []


@pytest.mark.parametrize("command", ["export A=1", "cd build", "if true", "time tidy"])
def test_what_the_shell_does_itself_gets_no_other_program(command: str) -> None:
    assert not [each.way for each in commands.mutants_of(command) if each.way.startswith(("behind", "a quoted prog"))]


def test_flags_change_places_only_where_they_have_no_value() -> None:
    ways = {each.way for each in commands.mutants_of("git commit -am message")}
    assert "flags in another order" not in ways


@pytest.mark.req("DELTA-MUTANT-001")
@pytest.mark.attack("30.C1", "a clone's case file with a command, for test --mutate to run")
@pytest.mark.parametrize(
    "command",
    [
        "printf %b '\\0057usr\\0057bin\\0057touch made' | xargs env",
        "touch made",
        "/usr/bin/touch made",
        "echo x > made",
        "$(printf touch) made",
        "python3 -c \"open('made', 'w')\"",
        ": $(touch made)",
        "exec 3> made",
    ],
)
def test_no_input_is_executed(tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    """Neither the input of a case nor one of its forms runs, in a project whose hooks are not trusted."""
    monkeypatch.chdir(project)
    started: list[object] = []
    sys.addaudithook(lambda name, given: started.append(given) if name in STARTING and watching else None)
    watching = True
    case = CASE.replace('"rm -rf /"', json.dumps(command))
    try:
        mutate(tmp_path, {"enableHooks": True, "use": ["hookline:shell"]}, case=case)
    finally:
        watching = False
    assert started == []
    assert not [*tmp_path.rglob("made"), *project.rglob("made")]


@pytest.mark.attack("30.C1", "commands that agents tried, from the log, for test --mutate to run")
def test_no_input_of_the_log_is_executed(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    log = tmp_path / "log.jsonl"
    settings = {"enableHooks": True, "use": ["hookline:shell"], "telemetry": {"hookLog": str(log)}}
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    common = ["--settings", str(tmp_path / "settings.json"), "--project", str(project)]
    given = {"tool_name": "run_shell_command", "tool_input": {"command": "touch made; rm -rf /"}}
    main(["fire", "BeforeTool", "--input", json.dumps(given), *common])
    main(["test", "--mutate", "--from", "log", *common])
    capsys.readouterr()
    assert not [*project.rglob("made")]


def test_paths_have_other_forms() -> None:
    made = list(paths.mutants_of(".env", "/home/me/project", "/scratch/link"))
    assert {each.text for each in made if each.kind is MutantKind.SAME} >= {
        "./.env",
        "x/../.env",
        "/home/me/project/.env",
    }
    assert ".env.example" in {each.text for each in made if each.kind is MutantKind.HARMLESS}
    alike = list(paths.mutants_of(".env", "/home/me/project", "/scratch/link", ignores_case=True))
    assert {each.text for each in alike} - {each.text for each in made} == {".ENV"}


def mutate(folder: Path, settings: object, *more: str, case: str = CASE) -> int:
    (folder / "settings.json").write_text(json.dumps(settings))
    (folder / "guard.hooks.toml").write_text(case)
    words = ["test", str(folder / "guard.hooks.toml"), "--settings", str(folder / "settings.json")]
    return main([*words, "--project", str(folder), "--mutate", "--json", *more])


def test_a_guard_that_compares_text_has_many_holes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    guard = tmp_path / "guard.sh"
    guard.write_text(GREP_GUARD)
    guard.chmod(0o755)
    group = {"matcher": "shell", "hooks": [{"type": "command", "command": str(guard)}]}
    kept = tmp_path / "kept.hooks.toml"
    assert mutate(tmp_path, {"enableHooks": True, "hooks": {"BeforeTool": [group]}}, "--save", str(kept)) == 1
    found = json.loads(capsys.readouterr().out)
    assert len(found["passed"]) >= 20
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
