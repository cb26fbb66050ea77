"""`hookline replay`: what happened, judged by today's hooks, or by two versions of them."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hookline.apps.cli.main import main

EVIL = "<script>x</script> | `[a](b)` @all \x1b[31m"


def guard(word: str, reason: str = "no") -> str:
    return f"case \"$(cat)\" in *{word}*) echo '{reason}' >&2; exit 2;; esac"


def settings(command: str) -> str:
    hook = {"type": "command", "name": "guard", "command": command}
    return json.dumps({"enableHooks": True, "hooks": {"BeforeTool": [{"hooks": [hook]}]}})


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    """Calls of Claude Code: three that ran, two of them the same, and one that was refused."""
    file = tmp_path / "s.jsonl"
    lines: list[dict[str, Any]] = []
    for number, command in enumerate(["ls", "ls", "rm x", "rm y"]):
        use = {"type": "tool_use", "id": str(number), "name": "Bash", "input": {"command": f"{command} # {EVIL}"}}
        lines.append({"sessionId": "s", "cwd": "/p", "timestamp": "t", "message": {"content": [use]}})
        end: dict[str, Any] = {"message": {"content": [{"type": "tool_result", "tool_use_id": str(number)}]}}
        lines.append(end | ({"toolDenialKind": "person"} if command == "rm y" else {}))
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


@pytest.fixture
def user(own_home: Path) -> Path:
    file = own_home / ".llxprt" / "settings.json"
    file.parent.mkdir()
    file.write_text(settings(guard("rm")))
    return file


def run(capsys: pytest.CaptureFixture[str], project: Path, *words: str) -> tuple[int, dict[str, Any]]:
    code = main(["replay", "--json", "--project", str(project), *words])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("user")
def test_calls_that_were_made_and_would_now_be_refused(
    transcript: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A call that the user refused then is judged, and compared with nothing; the same input is judged once."""
    code, report = run(capsys, project, "--from", str(transcript))
    numbers = {name: report[name] for name in ("events", "inputs", "made", "refusedNow", "blocks", "frees")}
    assert numbers == {"events": 4, "inputs": 3, "made": 3, "refusedNow": 1, "blocks": 1, "frees": 0}
    assert code == 1
    (change,) = report["changes"]
    assert (change["decidedBy"], change["reason"], change["before"]) == (["guard"], "no", "allowed")


@pytest.mark.attack("30.F17", "secrets of other agents' transcripts in the text, JSON, Markdown and page of a backtest")
@pytest.mark.usefixtures("user")
def test_reports_have_no_secrets(
    transcript: Path, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither those of the calls nor those that a hook repeats."""
    secret = "sw0rdfish-9"  # noqa: S105 - of this test
    use = {"type": "tool_use", "id": "9", "name": "Bash", "input": {"command": f"rm z; export DB_PASSWORD={secret}"}}
    line = {"sessionId": "s", "cwd": "/p", "timestamp": "t", "message": {"content": [use]}}
    end = {"message": {"content": [{"type": "tool_result", "tool_use_id": "9"}]}}
    transcript.write_text("".join(json.dumps(each) + "\n" for each in (line, end)))
    (Path.home() / ".llxprt" / "settings.json").write_text(settings(guard("rm", f"not with {secret}")))
    page = tmp_path / "page.html"
    for words in ([], ["--json"], ["--markdown"], ["--html", str(page)]):
        assert main(["replay", "--project", str(project), "--from", str(transcript), *words]) == 1
        shown = capsys.readouterr().out
        assert secret not in shown
        assert "not with" in shown
    assert secret not in page.read_text()


@pytest.mark.usefixtures("user")
def test_two_settings_files(
    transcript: Path, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "old.json"
    old.write_text(settings(guard("ls")))
    _, report = run(capsys, project, "--from", str(transcript), "--against", str(old))
    assert (report["blocks"], report["frees"]) == (2, 2)


def test_a_revision_with_its_own_script(transcript: Path, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The scripts of the revision run, in a copy that is gone afterwards, and the project is untouched."""
    folder = project / ".llxprt"
    folder.mkdir()
    script = folder / "guard.sh"
    script.write_text(f"#!/bin/sh\n{guard('ls')}\n")
    script.chmod(0o755)
    (folder / "settings.json").write_text(settings("$LLXPRT_PROJECT_DIR/.llxprt/guard.sh"))
    git = ["git", "-C", str(project), "-c", "user.name=n", "-c", "user.email=e@x"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True)
    script.write_text(f"#!/bin/sh\n{guard('rm')}\n")
    assert main(["trust", "--all", "--yes", "--project", str(project)]) == 0
    capsys.readouterr()
    _, report = run(capsys, project, "--from", str(transcript), "--against", "HEAD")
    assert (report["blocks"], report["frees"], report["notTried"]) == (2, 2, 0)
    assert main(["replay", "--project", str(project), "--against", "nothing"]) == 1
    assert "neither a file nor a revision" in capsys.readouterr().err


@pytest.fixture
def repository(project: Path) -> Path:
    """A project in git whose guard writes beside itself, and blocks what names a file that is not there."""
    folder = project / ".llxprt"
    folder.mkdir()
    (folder / "settings.json").write_text(settings("sh .llxprt/guard.sh"))
    (folder / "guard.sh").write_text(SEES)
    (project / "kept").write_text("")
    (project / ".gitignore").write_text("ignored\n")
    git = ["git", "-C", str(project), "-c", "user.name=n", "-c", "user.email=e@x"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True)
    (project / "kept").unlink()
    (project / "new").write_text("")
    (project / "ignored").mkdir()
    (project / "ignored" / "tool").write_text("")
    return project


SEES = """cat > seen
for name in kept new ignored/tool .git/HEAD; do [ -e $name ] && echo $name; done >&2
grep -q "$PWD/src" seen && echo moved >&2
exit 2
"""


def happened(tmp_path: Path, project: Path) -> str:
    use = {"type": "tool_use", "id": "1", "name": "Write", "input": {"file_path": f"{project}/src"}}
    made = {"sessionId": "s", "cwd": str(project), "timestamp": "t", "message": {"content": [use]}}
    done = {"message": {"content": [{"type": "tool_result", "tool_use_id": "1"}]}}
    file = tmp_path / "one.jsonl"
    file.write_text(f"{json.dumps(made)}\n{json.dumps(done)}\n")
    return str(file)


def test_scripts_run_in_a_copy_of_the_project_as_it_is(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what is not committed and what git ignores, and with paths that lead there; the project is untouched."""
    assert main(["trust", "--all", "--yes", "--project", str(repository)]) == 0
    capsys.readouterr()
    _, report = run(capsys, repository, "--from", happened(tmp_path, repository))
    (change,) = report["changes"]
    assert change["reason"].split() == ["new", "ignored/tool", ".git/HEAD", "moved"]
    assert not (repository / "seen").exists()


def test_a_hook_that_is_not_trusted_does_not_run_in_a_copy_either(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, report = run(capsys, repository, "--from", happened(tmp_path, repository))
    assert (report["notTried"], report["changes"]) == (1, [])


def test_without_git_that_is_said(
    project: Path, transcript: Path, user: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert user.exists()
    assert main(["replay", "--project", str(project), "--from", str(transcript)]) == 1
    assert "the scripts run in the project itself" in capfd.readouterr().err


@pytest.mark.usefixtures("user")
def test_the_log_itself(project: Path, capsys: pytest.CaptureFixture[str], user: Path) -> None:
    """A call that a hook denied then and allows now is listed."""
    main(["fire", "BeforeTool", "--project", str(project), "--input", '{"tool_name":"x","tool_input":{"a":"rm"}}'])
    user.write_text(settings("true"))
    capsys.readouterr()
    code, report = run(capsys, project, "--from", "log", "--from", "hookline")
    assert (code, report["events"], report["frees"]) == (1, 1, 1)


@pytest.mark.usefixtures("user")
def test_nothing_of_a_stranger_acts_on_a_page(
    transcript: Path, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    words = ["--from", str(transcript), "--project", str(project)]
    assert main(["replay", *words, "--markdown", "--html", str(page)]) == 1
    for text in (capsys.readouterr().out, page.read_text()):
        assert "<script>" not in text
        assert "\x1b" not in text
        assert "blocks 1 more, frees 0; of 3 calls that were made, 1 would now be refused" in text
    rows = [line for line in page.read_text().splitlines() if "&lt;script&gt;" in line]
    assert len(rows) == 1
    assert "http:" not in page.read_text().replace("http-equiv", "")


@pytest.mark.usefixtures("user")
def test_a_page_that_cannot_be_written_is_said(
    transcript: Path, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message names the file; it is not a bug of hookline."""
    page = tmp_path / "missing" / "page.html"
    assert main(["replay", "--project", str(project), "--from", str(transcript), "--html", str(page)]) == 1
    shown = " ".join(capsys.readouterr().err.split())
    assert "page.html can't be written: No such file or directory; name another file" in shown
    assert "bug in hookline" not in shown


@pytest.mark.usefixtures("user")
def test_the_calls_of_subagents_are_judged_too(
    transcript: Path, project: Path, own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From their own files; a repeated call counts once, and a place that is not known is named."""
    folder = own_home / ".claude/projects/p"
    subagent, other = folder / "s/subagents/agent-1.jsonl", folder / "s/elsewhere/x.jsonl"
    for path in (subagent, other):
        path.parent.mkdir(parents=True)
        path.write_bytes(transcript.read_bytes())
    _, alone = run(capsys, project, "--from", str(transcript))
    _, report = run(capsys, project, "--from", "claude", "--all-projects")
    assert report["made"] == alone["made"] > 0
    assert report["leftOut"]["unknownPlaces"] == [str(other)]
