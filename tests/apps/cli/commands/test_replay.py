"""`hookline replay --save` and `replay`: from what happened to cases, and from cases to what would happen now."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.apps.cli.conftest import Workbench

from hookline.apps.cli.main import main
from hookline.testing.cases.read import read_cases

GUARD = "if grep -q secret; then echo off limits >&2; exit 2; fi; exit 0"


@pytest.fixture
def guarded(workbench: Workbench) -> Workbench:
    """A user's guard that has judged three calls."""
    hook = {"type": "command", "name": "guard", "command": str(workbench.script(GUARD))}
    workbench.write(workbench.user_file, {"hooks": {"BeforeTool": [{"hooks": [hook]}]}})
    for name in ("secret.txt", "notes.txt", "secret.txt"):
        workbench.fire("read_file", file_path=name)
    return workbench


def test_events_of_the_log_become_cases_that_pass(guarded: Workbench) -> None:
    """Each event once, with what was decided; `test` runs the file as it is."""
    printed = guarded.run("replay", "--save", "-")
    file = guarded.project / "real.hooks.toml"
    file.write_text(printed)
    cases = read_cases([file])
    assert [(case.fields["tool_input"]["file_path"], case.expected.outcome) for case in cases] == [
        ("secret.txt", "blocked"),
        ("notes.txt", "allowed"),
    ]
    assert cases[0].expected.by == ("guard",)
    assert "2 passed" in guarded.run("test", str(file))


def test_filters_choose_events(guarded: Workbench) -> None:
    """The filters of `log`, and how many."""
    assert guarded.run("replay", "--save", "-", "--decision", "blocked").count("[[case]]") == 1
    assert guarded.run("replay", "--save", "-", "-n", "2").count("[[case]]") == 2
    assert guarded.run("replay", "--save", "-", "--tool", "ls", code=1).startswith("hookline: no such event is in ")


def test_a_file_is_added_to_and_never_twice(guarded: Workbench, capsys: pytest.CaptureFixture[str]) -> None:
    """Existing content stays; known events are not repeated; a wrong file is not touched."""
    file = guarded.project / "real.hooks.toml"
    file.write_text('# mine\n[[case]]\ntool = "x"\nexpect = "allowed"')
    for _ in range(2):
        assert main(["replay", "--save", str(file)]) == 0
    said = capsys.readouterr().err
    assert "2 cases added to" in said
    assert "nothing was added: " in said
    assert file.read_text().startswith('# mine\n[[case]]\ntool = "x"\nexpect = "allowed"\n\n[[case]]')
    assert len(read_cases([file])) == 3
    file.write_text("x = 1")
    assert "mend" in guarded.run("replay", "--save", str(file), code=1)
    assert file.read_text() == "x = 1"
    assert "ends with .hooks.toml" in guarded.run("replay", "--save", "x.toml", code=1)


def test_secrets_are_not_recorded(guarded: Workbench) -> None:
    """The log has replaced them, and so have the cases."""
    guarded.fire("write_file", content="API_KEY=sk-1234567890abcdefghijkl")
    printed = guarded.run("replay", "--save", "-", "--tool", "write_file")
    assert "sk-1234567890" not in printed
    assert "[redacted]" in printed
    assert "# The log has hidden a secret" in printed


def test_events_of_other_projects_are_left_out(guarded: Workbench, tmp_path: Path) -> None:
    """Unless they are asked for."""
    other = tmp_path / "other"
    other.mkdir()
    assert "3 events of other projects (--all-projects)" in guarded.run(
        "replay", "--save", "-", "--project", str(other), code=1
    )
    assert guarded.run("replay", "--save", "-", "--project", str(other), "--all-projects").count("[[case]]") == 2


def test_new_events_are_taken_as_they_come(guarded: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--follow` adds each event of a live session."""
    waits = 0

    def wait(_: float) -> None:
        nonlocal waits
        waits += 1
        if waits == 1:
            main(["fire", "BeforeTool", "--input", json.dumps({"tool_name": "live", "tool_input": {}})])
        if waits > 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("hookline.log.read.reader.time.sleep", wait)
    guarded.run("replay", "--follow", "--save", "live.hooks.toml", code=130)
    names = [case.fields["tool_name"] for case in read_cases([Path("live.hooks.toml")])]
    assert names == ["read_file", "read_file", "live"]


def test_replay_says_what_would_be_different(guarded: Workbench) -> None:
    """With the same hooks nothing; with a changed script the events that it decides differently, and exit code 1."""
    assert "Nothing would be decided differently of 3 events." in guarded.run("replay")
    guarded.script("if grep -q notes; then exit 2; fi; exit 0")
    shown = guarded.run("replay", code=1)
    assert "      - blocked: off limits\n      + allowed\n" in shown
    assert "3 of 3 events would be decided differently: 1 more blocked, 2 fewer." in shown
    report = guarded.json("replay", "--decision", "blocked", code=1)
    assert [(one["before"], one["outcome"]) for one in report["different"]] == [("blocked", "allowed")] * 2
    assert guarded.json("log", "--stats")["hooks"][0]["runs"] == 3


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("""grep -q secret && exit 2; echo '{"hookSpecificOutput": {"tool_input": {"a": 1}}}'""", "changed:"),
        ("grep -q secret && exit 2; exit 5", "failures:"),
    ],
)
def test_replay_sees_rewrites_and_failures(body: str, what: str, guarded: Workbench) -> None:
    """A call that proceeds with other arguments, or past a guard that failed, is decided differently."""
    guarded.script(body)
    shown = guarded.run("replay", code=1)
    assert what in shown
    assert "1 of 3 events" in shown


def test_replay_of_a_case_file(guarded: Workbench) -> None:
    """Recorded cases are replayed like events of the log."""
    file = guarded.project / "real.hooks.toml"
    file.write_text(guarded.run("replay", "--save", "-"))
    assert "Nothing would be decided differently of 2 events." in guarded.run("replay", "--from", str(file))
    file.write_text("x = 1")
    assert "there is no key x here" in guarded.run("replay", "--from", str(file), code=1)


def test_without_an_event_nothing_is_replayed(workbench: Workbench) -> None:
    """An empty log is a failure; so are hooks that are disabled."""
    assert "hooks are disabled" in workbench.run("replay", code=1)
    settings: dict[str, Any] = {"hooks": {}}
    workbench.write(workbench.user_file, settings)
    assert "no such event is in" in workbench.run("replay", code=1)
