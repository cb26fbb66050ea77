"""`hookline test`: case files run on the hooks of this project."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.apps.cli.conftest import Workbench

GUARD = """\
if grep -q secret; then echo "secret files are off limits" >&2; exit 2; fi
exit 0"""
CASES = """\
[defaults]
tool = "read_file"

[[case]]
name = "secrets stay secret"
each.arguments.file_path = ["secret.txt", "a/secret"]
expect = { outcome = "blocked", reason = "off limits", by = "guard" }

[[case]]
name = "notes are read"
arguments.file_path = "notes.txt"
expect = "allowed"
"""


def hooks(command: str, **more: Any) -> dict[str, Any]:
    return {"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "name": "guard", "command": command, **more}]}]}}


@pytest.fixture
def guarded(workbench: Workbench) -> Workbench:
    """A user's guard, and a case file beside the user's settings."""
    script = workbench.script(GUARD)
    workbench.write(workbench.user_file, hooks(str(script)))
    (workbench.user_file.parent / "guard.hooks.toml").write_text(CASES)
    return workbench


def test_case_files_beside_the_settings_are_run(guarded: Workbench) -> None:
    """Without any word the cases of the user and of the project are found; nothing of it is in the log."""
    shown = guarded.run("test", "--jobs", "1")
    assert "guard  blocked 2, allowed 1; not shown: rewrite, failure" in shown
    assert shown.splitlines()[-1].startswith("3 passed in ")
    assert "No run of a hook is recorded" in guarded.run("log", "--stats")


def test_a_failure_is_shown_with_both_sides_and_what_the_hook_did(guarded: Workbench) -> None:
    """The place, the difference, and the hook's own output; the exit code is 1."""
    file = guarded.project / "x.hooks.toml"
    file.write_text('[[case]]\nname = "n"\ntool = "t"\narguments.a = "secret"\nexpect = "allowed"\n')
    shown = guarded.run("test", str(file), code=1)
    assert shown.splitlines()[:5] == [
        "FAILED x.hooks.toml:1 n",
        "    outcome:",
        "      - allowed",
        "      + blocked: secret files are off limits",
        shown.splitlines()[4],
    ]
    assert "      stderr: secret files are off limits" in shown
    assert shown.splitlines()[-1].startswith("1 failed in ")


def test_programs_get_everything(guarded: Workbench) -> None:
    """Results and coverage as JSON."""
    report = guarded.json("test")
    assert (report["passed"], report["failed"]) == (3, 0)
    first = report["results"][0]
    assert (first["name"], first["input"], first["line"]) == ("secrets stay secret", "secret.txt", 4)
    assert (first["outcome"], first["decidedBy"], first["differences"]) == ("blocked", ["guard"], [])
    assert report["coverage"][0]["shown"] == {"block": 2, "allow": 1, "rewrite": 0, "failure": 0}


def test_a_filter_chooses_by_name_input_or_file(guarded: Workbench) -> None:
    """And a filter without matches is a failure."""
    assert [result["name"] for result in guarded.json("test", "--filter", "NOTES")["results"]] == ["notes are read"]
    assert len(guarded.json("test", "--filter", "a/secret")["results"]) == 1
    assert "none of the 3 inputs in 1 file fits --filter" in guarded.run("test", "--filter", "xyz", code=1)


def test_ci_gets_junit_xml(guarded: Workbench) -> None:
    """One testcase per input, and what was different in those that failed."""
    file = guarded.project / "x.hooks.toml"
    file.write_text('[[case]]\nname = "\\u001b<&>"\neach.tool = ["a", "b"]\nexpect = "blocked"\n')
    guarded.run("test", str(file), "--junit", "out.xml", code=1)
    root = ET.fromstring(Path("out.xml").read_bytes())  # noqa: S314 - written by us
    (suite,) = root
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "2", "0")
    assert [case.get("name") for case in suite] == ["\\x1b<&> [a]", "\\x1b<&> [b]"]
    assert suite[0][0].get("message") == "outcome: expected blocked, got allowed"
    assert "can't be written" in guarded.run("test", "--junit", "no/such/dir/x.xml", code=1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "there is no case file (*.hooks.toml) in "),
        (("no.hooks.toml",), "the case file no.hooks.toml does not exist"),
        ((".",), "there is no case file (*.hooks.toml) in ."),
    ],
)
def test_no_case_is_no_success(words: tuple[str, ...], message: str, workbench: Workbench) -> None:
    """CI must not be green because a file was moved."""
    workbench.write(workbench.user_file, hooks("exit 0"))
    assert message in workbench.run("test", *words, code=1)


def test_a_wrong_case_file_runs_nothing(guarded: Workbench) -> None:
    """Problems are listed with their places, and the exit code is 1."""
    (guarded.user_file.parent / "b.hooks.toml").write_text('[[case]]\ntool = "x"\nexpects = "blocked"\n')
    shown = guarded.run("test", code=1)
    assert "b.hooks.toml:3: there is no key expects here; did you mean expect?" in shown
    assert "passed" not in shown


def test_hooks_that_are_off_are_told(guarded: Workbench) -> None:
    """Every harmless case would pass without any guard."""
    guarded.write(guarded.user_file, json.dumps(hooks("exit 0")))
    assert "hooks are disabled" in guarded.run("test", code=1)


def test_a_project_s_hooks_need_trust_and_its_cases_may_not_set_variables(workbench: Workbench) -> None:
    """A clone's cases run when its hooks are trusted; variables of a file that was not named are refused."""
    workbench.write(workbench.project_file, hooks("./guard.sh"))
    workbench.script(GUARD)
    cases = workbench.project_file.parent / "guard.hooks.toml"
    cases.write_text(CASES)
    shown = workbench.run("test", code=1)
    assert "not tried, because a hook does not run: guard: untrusted: " in shown
    assert "(the same for 2 more)" in shown
    assert "3 not tried in " in shown
    workbench.run("trust", "--all", "--yes")
    workbench.run("test")
    cases.write_text(f"{CASES}environment.LD_PRELOAD = 'evil.so'\n")
    assert "it sets variables, which can change what your hooks run" in workbench.run("test", code=1)
    cases.write_text(f"{CASES}environment.WHO = 'me'\n")
    workbench.run("test", str(cases))


def test_a_named_settings_file_has_its_cases_beside_it(workbench: Workbench) -> None:
    """Naming it means trusting it, as in `fire`."""
    script = workbench.script(GUARD)
    file = workbench.project / "other" / "hooks.json"
    workbench.write(file, hooks(str(script)))
    (file.parent / "deep").mkdir()
    (file.parent / "deep" / "no.hooks.toml").write_text("not read")
    (file.parent / "guard.hooks.toml").write_text(CASES)
    assert "3 passed" in workbench.run("test", "--settings", "other/hooks.json")


def test_a_vacuous_pass_is_told(guarded: Workbench) -> None:
    """A case without a hook passes, with a note."""
    file = guarded.project / "x.hooks.toml"
    file.write_text('[[case]]\nevent = "AfterTool"\ntool = "t"\nexpect = "allowed"\n')
    assert "No hook ran for 1 input that passed" in guarded.run("test", str(file))


def test_watching_runs_again_when_a_script_changes(guarded: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second run sees the changed script, and Ctrl-C ends it."""
    looks = 0

    def sleep(_: float) -> None:
        nonlocal looks
        looks += 1
        if looks == 1:
            guarded.script("exit 0 # nobody is guarded")
        if looks > 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("hookline.apps.cli.commands.test.time.sleep", sleep)
    shown = guarded.run("test", "--watch", code=130)
    assert shown.count("A file has changed.") == 1
    assert "2 failed, 1 passed" in shown


@pytest.mark.usefixtures("guarded")
def test_a_terminal_has_a_progress_bar(person: Callable[..., Any]) -> None:
    """It is drawn on the terminal and removed at the end."""
    somebody = person("test")
    somebody.expect("3 passed in ")
    assert somebody.leaves_with() == 0
    assert b"] 3/3" in somebody.raw
    assert b"\r\x1b[K" in somebody.raw
